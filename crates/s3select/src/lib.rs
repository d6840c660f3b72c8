//! S3 Select: what both sides of the wire must agree on.
//!
//! An S3 store that speaks *S3 Select* (`SelectObjectContent`) runs a small SQL statement over one
//! object and returns only the rows and columns asked for. This crate holds the [`dialect`]
//! (parse, check, print), the semantics of its [`value`]s, the [`request`] around a statement, the
//! service's [`error`] codes, and the [`profile`]s of what each kind of store may be sent.
//!
//! It sends nothing and runs nothing: a client and an evaluator stand on it. It knows nothing of
//! query plans.

pub mod dialect;
pub mod error;
pub mod profile;
pub mod request;
pub mod value;

pub use error::{SelectError, SelectErrorCode};
pub use request::SelectRequest;
pub use value::Value;
