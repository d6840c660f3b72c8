//! S3 Select: the language and the protocol that a client and a server share.
//!
//! An S3 store with *S3 Select* (`SelectObjectContent`) runs a small SQL statement over one object and returns only
//! the requested rows and columns. The crate neither sends nor evaluates statements, and it has no query plans: a
//! client and an evaluator build on it.
//!
//! Read in this order:
//!
//! * [`dialect`] parses, checks and prints statements.
//! * [`value`] defines the values and the semantics of operators and functions.
//! * [`request`] holds the options around a statement.
//! * [`error`] has the service's error codes.
//! * [`capabilities`] describes what each kind of store supports.
//! * [`byteranges`] reads and writes several ranges of an object in one GET.

mod arrow_output;
pub mod byteranges;
pub mod capabilities;
pub mod dialect;
pub mod error;
pub mod request;
pub mod value;

pub use error::{SelectError, SelectErrorCode};
pub use request::SelectRequest;
pub use value::Value;
