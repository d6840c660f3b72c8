//! What the fuzz targets share: how bytes become a request for an object, what must hold of
//! every answer, and a served store.
//!
//! An input is [`OPTIONS`] bytes that choose options (zeros are the service's defaults), a statement,
//! a zero byte, and the object. It is plain, so that seeds are easily written and a mutation of the
//! object leaves the statement alone.

mod options;
mod question;
pub mod sign;
pub mod store;

pub use options::{OPTIONS, Options};
pub use question::{Question, seed};
