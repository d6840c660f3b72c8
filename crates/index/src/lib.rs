//! Index objects as bytes: for every record of a data object, a key and where the record is, sorted
//! by key in blocks, with a sparse top at the end.
//!
//! Keys are bytes that sort as the values do; which types of values have keys is for the engine to
//! know.
//! Whatever the bytes are, reading them ends with entries or an [`Damaged`]: they come from a bucket.
//!
//! | file | holds |
//! |---|---|
//! | [`layout`] | an index object, byte by byte |
//! | [`name`] | what the names of index objects say |
//! | [`key`] | numbers and NULL as keys |
//! | [`span`] | ranges of keys |
//! | [`ranges`] | the parts of a data object that hold some of its records |
//! | [`statement`] | which statements of S3 Select a store answers by indexes |

pub mod key;
pub mod layout;
pub mod name;
pub mod ranges;
pub mod span;
pub mod statement;

/// What is wrong with an index object, said of "it".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Damaged(pub String);

/// This crate's result.
pub type Result<T> = std::result::Result<T, Damaged>;
