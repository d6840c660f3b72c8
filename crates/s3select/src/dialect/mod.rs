//! The S3 Select dialect: one `SELECT` over one object.
//!
//! * [`parse()`] reads a statement into the tree of [`ast`].
//! * [`check()`] refuses statements that cannot be evaluated over a given format.
//! * `Display` prints a statement in a canonical form that every store with a complete dialect can parse.
//!
//! ```
//! use sluicegate_s3select::dialect::parse;
//!
//! let query = parse("select s.name from s3object s where s._3 <> '' limit 5;")?;
//! assert_eq!(query.to_string(), "SELECT s.name FROM S3Object s WHERE s._3 != '' LIMIT 5");
//! # Ok::<(), sluicegate_s3select::SelectError>(())
//! ```

pub mod ast;
mod build;
mod check;
mod extras;
pub mod keyword;
mod lexer;
mod parse;
mod print;
mod resolve;
mod walk;

pub use build::ROW;
pub use check::check;
pub use extras::Extras;
pub use parse::{MAX_DEPTH, MAX_LENGTH, MAX_OPERATORS, parse, parse_with};
