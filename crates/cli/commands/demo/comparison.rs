//! An item, measured twice.

use crate::commands::embedded::measure::Run;

/// A query with pushdown off and on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    pub(super) name: &'static str,
    /// What was chosen for each of its operators.
    pub(super) strategy: String,
    /// Whether the answers are equal.
    pub(super) equal: bool,
    pub(super) off: Run,
    pub(super) on: Run,
}
