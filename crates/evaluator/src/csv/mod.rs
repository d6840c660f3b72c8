//! CSV objects.
//!
//! A block is read, its delimiters are found 64 bytes at a time ([`structure`]), those inside
//! quotes are cleared ([`quotes`]), its records are separated ([`records`]), and only then, for
//! the rows and columns that an expression asks for, fields are found among the delimiters
//! ([`fields`]). Records in which quotes are more than a field's first and last character are
//! split by a state machine instead ([`quoting`]).

mod fields;
mod header;
mod quotes;
mod quoting;
mod reader;
mod records;
mod simd;
mod structure;
mod syntax;

pub use header::CsvColumns;
pub(super) use reader::CsvReader;
#[cfg(test)]
pub(super) use simd::tests::levels;
pub(super) use simd::{Level, WORD_BYTES};
