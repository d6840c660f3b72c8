//! An item of the demo, measured twice.

use crate::commands::embedded_store::measure::Run;

/// The runs of a query with pushdown off and on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    pub(super) name: &'static str,
    /// The strategies of the query's operators with pushdown on.
    pub(super) strategy: String,
    /// True if both runs returned the same rows.
    pub(super) equal: bool,
    pub(super) off: Run,
    pub(super) on: Run,
}
