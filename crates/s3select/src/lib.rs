//! S3 Select: what a client and a server must agree on.
//!
//! An S3 store that speaks *S3 Select* (`SelectObjectContent`) runs a small SQL statement over one
//! object and returns only the rows and columns asked for. This crate holds the [`dialect`]
//! (parse, check, print), the semantics of its [`value`]s, the [`request`] around a statement, the
//! service's [`error`] codes, several ranges in one GET ([`byteranges`]), and [`profile`]s that say what
//! each kind of store supports.
//!
//! It neither sends nor evaluates statements: a client and an evaluator build on it. It knows
//! nothing of query plans.

pub mod byteranges;
pub mod dialect;
pub mod error;
pub mod profile;
pub mod request;
pub mod value;

pub use error::{SelectError, SelectErrorCode};
pub use request::SelectRequest;
pub use value::Value;
