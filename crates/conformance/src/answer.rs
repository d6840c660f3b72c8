//! The possible outcomes of one question to a store.

use std::collections::BTreeSet;

use sluicegate_s3select::capabilities::Extension;

/// A complete answer as received.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawAnswer {
    /// The bytes of all records in the answer.
    pub records: Vec<u8>,
    /// The number of Progress events.
    pub progress_events: u64,
    /// True if the answer had a Stats event.
    pub reported: bool,
    /// The version of the object, if the head of the answer names it.
    pub e_tag: Option<String>,
    /// The extensions that the head of the answer names.
    pub extensions: BTreeSet<Extension>,
}

/// The reason why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The store refuses the statement.
    Refused {
        /// The store's error code.
        code: String,
        /// The message of the store.
        message: String,
        /// True if the store refuses every other statement as well.
        every_statement: bool,
    },
    /// The request failed, or the answer cannot be used. The statement itself may be fine.
    Failed {
        /// The store's error code, or `BadAnswer`.
        code: String,
        /// The description of the failure.
        message: String,
    },
}
