//! Defines the bytes of index objects.
//!
//! For every record of a data object, an index object holds a key and the position of the record. Entries are sorted
//! by key in blocks, with a sparse top at the end. Keys are bytes that sort in the order of the values; the engine
//! decides which types have keys. Index objects come from a bucket, so reading arbitrary bytes ends with entries or
//! with [`Damaged`].
//!
//! | file | contents |
//! |---|---|
//! | [`layout`] | the bytes of an index object |
//! | [`name`] | the names of index objects |
//! | [`key`] | numbers and NULL as keys |
//! | [`span`] | ranges of keys |
//! | [`ranges`] | the parts of a data object that hold some of its records |
//! | [`statement`] | the S3 Select statements that a store answers with indexes |

pub mod key;
pub mod layout;
pub mod name;
pub mod ranges;
pub mod span;
pub mod statement;

/// Describes the damage of an index object; the text refers to the object as "it".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Damaged(pub String);

/// A result with the error [`Damaged`].
pub type Result<T> = std::result::Result<T, Damaged>;
