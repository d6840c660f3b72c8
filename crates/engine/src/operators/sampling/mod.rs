//! ORDER BY … LIMIT with a sample, which bounds the rows that the scan requests.
//!
//! | step | module |
//! |---|---|
//! | a sample of the sort columns: parts of the table at random places | [`ranges`], [`plan`], [`key_scan`] |
//! | its K-th best row bounds the answer | [`bound`] |
//! | for wide rows, the sort columns of the rows within that bound: their K-th best row is that of the table, and parts of the table without a better row are not requested again | [`exact`] |
//! | the scan sends that bound; if fewer than K rows keep it, the other rows are fetched, too | [`TopKSampleExec`](crate::operators::top_k_sample::TopKSampleExec) |
//!
//! The answer never depends on the sample. A bad sample only costs time, for example if the data is clustered or if a
//! part cuts records differently than the scan does. A part of the table is skipped only after a complete answer
//! about this very part, as from a scan with a filter.

pub mod bound;
pub mod exact;
pub mod key_scan;
pub mod plan;
pub mod ranges;

use std::fmt;
use std::sync::Arc;

use datafusion::physical_expr::{LexOrdering, PhysicalExpr};

/// The sample to take, and the query that it is for. All expressions are over the table's columns.
#[derive(Debug, Clone)]
pub struct Sampling {
    /// The order of the answer.
    pub keys: LexOrdering,
    /// Number of rows wanted of that order: those of the answer, and those that OFFSET skips.
    pub k: usize,
    /// Conditions that are evaluated locally between the scan and the sort.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Number of rows to sample.
    pub rows: usize,
    /// Estimated number of rows that the scan would send.
    pub of: usize,
    /// True if only the sort columns are read of the rows within the sample's bound, before the rows of the answer
    /// are read.
    pub late: bool,
    /// Seed of the random places.
    pub seed: u64,
}

impl Sampling {
    /// Seed of every plan, so that a repeated query sends the same requests.
    pub const SEED: u64 = 1024;
}

/// Writes `k=10, by=[price@5 DESC], rows=77460 of 6000000`.
impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k={}, by=[{}], rows={} of {}", self.k, self.keys, self.rows, self.of)?;
        if self.late { f.write_str(", late") } else { Ok(()) }
    }
}
