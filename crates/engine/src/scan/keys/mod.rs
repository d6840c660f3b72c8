//! The keys of a join's build side, as conditions that a scan of the other side sends to the store.
//!
//! DataFusion's joins pass their build side's keys to the probe side in a dynamic filter, which arrives while the
//! query runs. It contains bounds and, if the build side is small enough, the keys themselves. (Our sessions raise
//! that limit.) The steps are:
//!
//! 1. `at_open` waits for the filter when a file is opened.
//! 2. `extract` extracts the [`Keys`] from the filter, also under lossless casts (`lossless`). [`EnumerableFilter`]
//!    counts the keys out if that is expected to pay ([`KeyEstimate`]).
//! 3. `decide` chooses by predicted cost. [`push_down_keys`] builds the cheapest condition that the store accepts
//!    (`column_predicate`, `pushed`): bounds, a list or a Bloom filter (`hashing`, [`bloom`]).
//! 4. If the keys are too many for one statement, `by_range` assigns them to ranges of a file. `ordered` and
//!    `range_sampler` find the keys that a range may have.
//!
//! `key_metrics` shows the result in EXPLAIN ANALYZE.
//!
//! Each step may only weaken the filter: the join checks the rows again.

use datafusion::common::DataFusionError;
use tokio::task::JoinError;

mod at_open;
pub mod bloom;
mod by_range;
mod column_predicate;
mod decide;
mod enumerated;
mod estimate;
mod extract;
mod hashing;
mod key_metrics;
mod lossless;
mod ordered;
mod pushdown;
mod pushed;
mod range_sampler;

pub use self::at_open::{KeysAtOpen, Opening};
pub use self::by_range::{KeysByRange, RangeEstimate};
pub use self::decide::{KeyDecision, decide};
pub use self::enumerated::EnumerableFilter;
pub use self::estimate::KeyEstimate;
pub(crate) use self::estimate::{LISTED_KEYS, PAPER_P};
pub use self::extract::{ColumnKeys, Keys};
pub use self::hashing::Hashing;
pub use self::key_metrics::{KeyMetrics, key_texts};
pub use self::ordered::{OrderedKeys, Span, Split};
pub use self::pushdown::{KeyFilterForm, KeyStatement, KeysByColumn, Spans, push_down_keys};
pub use self::pushed::{PushedKeyFilter, PushedKeys};
pub use self::range_sampler::{RangeSampler, sample_bytes};

/// Converts the error of a task that was stopped with its runtime.
fn gone(error: JoinError) -> DataFusionError {
    DataFusionError::ExecutionJoin(Box::new(error))
}
