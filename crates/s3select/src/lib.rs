//! S3 Select: the protocol, on both sides of the wire.
//!
//! An S3 store that speaks *S3 Select* (`SelectObjectContent`) runs a small SQL statement over one
//! object and returns only the rows and columns asked for. This crate holds everything that the
//! two sides share: the [`dialect`] (parse, check, print), the value semantics and the evaluator
//! that a server runs ([`evaluate`]), the [`client`] that turns an answer into Arrow batches,
//! the [`profile`]s of what each kind of store may be sent, and the service's error codes.
//!
//! It knows nothing of query plans.

pub mod client;
pub mod conformance;
pub mod dialect;
pub mod error;
pub mod evaluate;
pub mod profile;
pub mod request;
pub mod value;

pub use error::{SelectError, SelectErrorCode};
pub use request::SelectRequest;
pub use value::Value;
