//! Shared code of the fuzz targets: the conversion of bytes to a request for an object, checks of every answer, and a
//! served store.
//!
//! An input is [`OPTIONS`] bytes that choose options (zeros are the service's defaults), a statement, a zero byte,
//! and the object. The format is plain, so that seeds are easily written and a mutation of the object leaves the
//! statement unchanged.

mod options;
mod question;
pub mod sign;
pub mod store;

pub use options::{OPTIONS, Options};
pub use question::{Question, seed};
