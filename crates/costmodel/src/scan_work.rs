//! The store's part of S3 Select statements.

use crate::{AnswerFormat, Bytes, Format, Rows, Terms};

/// The amounts that a store reads and evaluates for one statement, or for several together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScanWork {
    /// The format of the objects.
    pub format: Format,
    /// Bytes that the store reads.
    pub bytes: Bytes,
    /// Rows that the store reads.
    pub rows: Rows,
    /// The terms of the condition, evaluated for each row.
    pub terms: Terms,
    /// Rows that pass the condition.
    pub passing: Rows,
    /// The terms evaluated for each passing row: select items, aggregates and group keys.
    pub items: Terms,
    /// The format of the answers.
    pub answer: AnswerFormat,
    /// The number of values that the store writes; see [`answered`](crate::answered).
    pub answered: f64,
    /// Bytes of the answers.
    pub returned: Bytes,
    /// Constants in the lists of the statements, which the store parses before it reads the first row.
    pub constants: u64,
}
