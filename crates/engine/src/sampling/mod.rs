//! ORDER BY … LIMIT with a sample: which rows are looked at first, and what they tell about the
//! others.
//!
//! | step | where |
//! |---|---|
//! | a sample of the sort columns: parts of the table at random places | [`pieces`], [`plan`], [`key_scan`] |
//! | its K-th best row bounds the answer | [`bound`] |
//! | if rows are wide, the sort columns of the rows within that bound: their K-th best row is that of the table, and parts of the table without a better one are not asked again | [`exact`] |
//! | the scan sends that bound; if fewer than K rows keep it, the others are fetched, too | [`TopKSampleExec`](crate::physical_plan::top_k_sample::TopKSampleExec) |
//!
//! So the answer never rests on the sample. A bad one, of data that is clustered or of records that
//! a part cuts differently than the scan, costs time. That a part of the table has no better row is
//! known from a complete answer about this very part, as a scan with a filter knows it.

pub mod bound;
pub mod exact;
pub mod key_scan;
pub mod pieces;
pub mod plan;

use std::fmt;
use std::sync::Arc;

use datafusion::physical_expr::{LexOrdering, PhysicalExpr};

/// What to sample, and what for. All expressions are over the table's columns.
#[derive(Debug, Clone)]
pub struct Sampling {
    /// The order of the answer.
    pub keys: LexOrdering,
    /// How many rows of that order are wanted: those of the answer, and those that OFFSET skips.
    pub k: usize,
    /// What is evaluated here between the scan and the sort.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    /// How many rows to sample, ...
    pub rows: usize,
    /// ... of so many that the scan would send, estimated.
    pub of: usize,
    /// Whether only the sort columns are read of the rows that the sample leaves, before the rows of
    /// the answer are.
    pub late: bool,
    /// Seed of the random places.
    pub seed: u64,
}

impl Sampling {
    /// The seed of every plan: a query repeated is the same requests again.
    pub const SEED: u64 = 1024;
}

/// `k=10, by=[price@5 DESC], rows=77460 of 6000000`
impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "k={}, by=[{}], rows={} of {}", self.k, self.keys, self.rows, self.of)?;
        if self.late { f.write_str(", late") } else { Ok(()) }
    }
}
