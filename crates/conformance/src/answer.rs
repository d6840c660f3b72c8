//! The answer of a store to one question.

use std::collections::BTreeSet;

use sluicegate_s3select::profile::Extension;

/// A complete answer as received.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawAnswer {
    /// The bytes of all its records.
    pub records: Vec<u8>,
    /// The number of Progress events.
    pub progress_events: u64,
    /// Whether there was a Stats event.
    pub reported: bool,
    /// The version of the object, if the head of the answer names it.
    pub e_tag: Option<String>,
    /// The extensions that the head of the answer names.
    pub extensions: BTreeSet<Extension>,
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The store refuses the statement.
    Refused {
        /// The store's error code.
        code: String,
        /// The store's explanation.
        message: String,
        /// Whether it refuses every other statement as well.
        every_statement: bool,
    },
    /// The request failed, or the answer cannot be used: this says nothing about the statement.
    Failed {
        /// The store's error code, or `BadAnswer`.
        code: String,
        /// What went wrong.
        message: String,
    },
}
