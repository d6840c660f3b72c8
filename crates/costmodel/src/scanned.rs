//! What a store does to answer statements.

use crate::{Bytes, Format, Rows, Terms};

/// What statements have the store read and evaluate: one of them, or several together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Scanned {
    /// How the objects are stored.
    pub format: Format,
    /// Bytes read.
    pub bytes: Bytes,
    /// Rows read.
    pub rows: Rows,
    /// What is evaluated for each of them: the condition.
    pub terms: Terms,
    /// Rows that pass the condition.
    pub passing: Rows,
    /// What is evaluated for each of these: what the statement selects, aggregates and groups by.
    pub items: Terms,
    /// What is [`answered`](crate::answered).
    pub answered: f64,
    /// Bytes of the answers, as [`Format::Json`] or as CSV.
    pub returned: Bytes,
    /// Constants in lists of the statements, which are read before the first row is.
    pub constants: u64,
}
