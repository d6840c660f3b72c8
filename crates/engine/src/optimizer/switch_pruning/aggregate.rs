//! Functions shared by the shapes with groups.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;

use super::{NotSwitched, SwitchResult};
use crate::operators::switch::Key;
use crate::operators::switch::planner::Planner;

/// Returns the lower half of a grouped aggregate whose upper half is `node`, if it has no grouping sets and no
/// FILTER.
///
/// A LIMIT may choose among groups. It may then choose among those that the switch let pass, which are all.
pub(super) fn lower_half(node: &Arc<dyn ExecutionPlan>) -> Option<&AggregateExec> {
    let plain = |aggregate: &AggregateExec| {
        aggregate.group_expr().is_single()
            && !aggregate.group_expr().is_empty()
            && aggregate.filter_expr().iter().all(Option::is_none)
    };
    let upper = node.downcast_ref::<AggregateExec>()?;
    let is_upper = matches!(*upper.mode(), AggregateMode::Final | AggregateMode::FinalPartitioned);
    let lower = upper.input().downcast_ref::<AggregateExec>()?;
    let is_lower = *lower.mode() == AggregateMode::Partial;
    (is_upper && is_lower && plain(upper) && plain(lower)).then_some(lower)
}

/// Assumed rows per group, for ranking configurations.
pub(super) const ASSUMED_GROUP_ROWS: u64 = 16;

/// Returns true for SUM or COUNT without DISTINCT.
pub(super) fn adds_up(aggregate: &Arc<AggregateFunctionExpr>) -> bool {
    matches!(aggregate.fun().name(), "sum" | "count") && !aggregate.is_distinct()
}

/// Returns both halves of an aggregate over another input.
pub(super) fn above(
    upper: &Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let lower = upper.children().first().map_or(upper, |lower| *lower);
    let lower = replace_children_if_necessary(Arc::clone(lower), vec![input])?;
    replace_children_if_necessary(Arc::clone(upper), vec![lower])
}

/// Returns a key that separates all values, or all except for collisions that δ allows.
pub(super) fn exact_or_fingerprint(
    keys: &[Arc<dyn PhysicalExpr>],
    input: &Arc<dyn ExecutionPlan>,
    row: bool,
    planner: &Planner,
) -> SwitchResult<Key> {
    let schema = input.schema();
    Key::with_code(keys, &schema)??;
    if let Some(key) = Key::exact(keys, &schema)? {
        return Ok(key);
    }
    if planner.delta() == 0.0 {
        return Err(NotSwitched::from(
            "the key has no code of 64 bits, and sluice.switch_delta = 0 forbids fingerprints",
        ));
    }
    Ok(Key::fingerprint(keys, planner.seed(), row))
}
