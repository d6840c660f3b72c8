//! Serves GROUP BY with SUM and COUNT of whole numbers, one or several.
//!
//! ```text
//! AggregateExec: mode=Final              AggregateExec: mode=Final
//!   AggregateExec: mode=Partial    ─►      SwitchDrainExec                 (the sums of the switch, at the end)
//!     X                                      AggregateExec: mode=Partial
//!                                              SwitchPruneExec: group_sum
//!                                                X
//! ```
//!
//! The switch adds up and drops the rows of the groups that it has cells for. The other rows pass. Both arrive at the
//! upper half as partial states, which it adds like those of the partitions. A row whose key or values do not fit
//! words of 32 bits bypasses the switch.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::group_sum::Config;
use sluicegate_pruning::algorithm::group_sum::plan::Goal;

use super::aggregate::{ASSUMED_GROUP_ROWS, adds_up, lower_half};
use super::{NotSwitched, PlanStatistics, SwitchResult, rewrite_workers};
use crate::operators::switch::planner::{Planner, narrow, reason};
use crate::operators::switch::{Amount, Field, Key};
use crate::operators::switch_drain::SwitchDrainExec;
use crate::operators::switch_prune::SwitchPruneExec;

/// Serves `node` if it is the upper half of such an aggregate.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<Arc<dyn ExecutionPlan>> {
    let partial = lower_half(node).ok_or(NotSwitched::Other)?;
    let aggregates = partial.aggr_expr();
    if !aggregates.iter().any(adds_up) {
        return Err(NotSwitched::Other);
    }
    if !aggregates.iter().all(adds_up) {
        return Err(
            "only SUM and COUNT can be added up, and what is beside them needs every row".into()
        );
    }
    let (input, schema) = (partial.input(), partial.input().schema());
    let known = PlanStatistics::from_plan(input)?;
    let mut fields = vec![Field::Key(Key::near(&partial.group_expr().input_exprs(), &schema)??)];
    for aggregate in aggregates {
        let values = aggregate.expressions();
        let [value] = values.as_slice() else {
            return Err("a COUNT of several columns is not one of rows".into());
        };
        let amounts = match aggregate.fun().name() {
            "sum" => Amount::exact(value, &schema, |expr| known.of_column(expr))??,
            _ => vec![Amount::present(value)],
        };
        fields.extend(amounts.into_iter().map(Field::Amount));
    }
    let sums = fields.len() as u64 - 1;
    let groups = (known.rows / ASSUMED_GROUP_ROWS).clamp(1, 1 << 16);
    let goal = Goal { entries: known.rows, keys: groups, word_bits: 32, sums };
    let hashing = planner.hashing();
    let plan = planner.place_programs(&goal, fields, |size| {
        let config = Config::new(narrow(size.rows), narrow(size.tables));
        let config = config.and_then(|config| config.with_sums(narrow(size.sums)));
        Ok(Configured::GroupSum(config.map_err(reason)?.with_hashing(hashing)))
    })?;
    let below = rewrite_workers(Arc::clone(input), planner)?;
    let crossing: Arc<dyn ExecutionPlan> = Arc::new(SwitchPruneExec::new(below, plan));
    let lower = node.children().first().map_or(node, |lower| *lower);
    let lower = replace_children_if_necessary(Arc::clone(lower), vec![crossing])?;
    let drain = Arc::new(SwitchDrainExec::try_new(lower)?);
    Ok(replace_children_if_necessary(Arc::clone(node), vec![drain])?)
}
