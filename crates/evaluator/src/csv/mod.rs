//! Reads CSV objects.
//!
//! The reader fills a block and finds its delimiters 64 bytes at a time ([`structure`]). It clears the delimiters
//! inside quotes ([`quotes`]) and separates the records ([`records`]). Fields are only found among the delimiters
//! ([`fields`]) for the rows and columns that an expression requests. Records with quotes other than a field's first
//! and last character are split by a state machine ([`quoting`]).

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
