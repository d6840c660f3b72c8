//! What a store answered to one question.

use std::collections::BTreeSet;

use sluicegate_s3select::profile::Extension;

/// A complete answer, not decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawAnswer {
    /// The bytes of all its records.
    pub records: Vec<u8>,
    /// How many Progress events came.
    pub progress_events: u64,
    /// Whether its Stats event came.
    pub reported: bool,
    /// The version of the object, if the answer's head names it.
    pub e_tag: Option<String>,
    /// The extensions that the answer's head names.
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
        /// Whether it would refuse every other statement as well.
        every_statement: bool,
    },
    /// The request failed, or the answer makes no sense: nothing is learned about the statement.
    Failed {
        /// The store's error code, or `BadAnswer`.
        code: String,
        /// What went wrong.
        message: String,
    },
}
