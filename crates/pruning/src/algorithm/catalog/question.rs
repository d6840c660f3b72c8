//! The question behind an algorithm.

use crate::algorithm::group_by::Extreme;
use crate::switch::Relation;

/// The question that a query asks about the entries it sends: what an algorithm must not change the
/// answer of. [`trial`](crate::experiment::trial) answers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Values with this relation to the constant.
    Filter(Relation, u32),
    /// The keys.
    Distinct,
    /// The greatest values, so many.
    TopN(usize),
    /// The best value of each key; keys are all columns but the last.
    GroupBy(Extreme),
    /// The entries of flow [`PROBE_B`](crate::algorithm::join::PROBE_B) whose key also occurs in flow
    /// [`BUILD_A`](crate::algorithm::join::BUILD_A).
    Join,
    /// The keys whose sum exceeds this.
    HavingSum(u64),
    /// The keys with a value of this relation to the constant.
    HavingExtreme(Relation, u32),
    /// The points that no other dominates, greater is better.
    Skyline,
}
