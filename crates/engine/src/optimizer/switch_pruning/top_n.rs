//! Serves ORDER BY … LIMIT.
//!
//! ```text
//! SortExec: TopK(fetch=n)          SortExec: TopK(fetch=n)
//!   X                        ─►      SwitchPruneExec: top_n_randomized | top_n_deterministic
//!                                      X
//! ```
//!
//! The switch uses the first sort column only and keeps ties, so further columns do not matter.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use sluicegate_pruning::Ties;
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::top_n;

use super::{NotSwitched, PlanStatistics, SwitchResult, pruned, rewrite_workers};
use crate::operators::switch::planner::{Planner, narrow, reason};
use crate::operators::switch::{Field, Order, SwitchPlan};

/// Serves `node` if it is a sort with a limit.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<Arc<dyn ExecutionPlan>> {
    let sort = node.downcast_ref::<SortExec>().ok_or(NotSwitched::Other)?;
    let n = sort.fetch().filter(|n| *n > 0).ok_or(NotSwitched::Other)? as u64;
    let plan = plan(sort, n, planner)?;
    let below = rewrite_workers(Arc::clone(sort.input()), planner)?;
    Ok(pruned(node, below, plan)?)
}

fn plan(sort: &SortExec, n: u64, planner: &mut Planner) -> SwitchResult<SwitchPlan> {
    let schema = sort.input().schema();
    let first = sort.expr().first();
    let known = PlanStatistics::from_plan(sort.input())?;
    let order = Order::new(&first.expr, &schema, known.of_column(&first.expr))??;
    // The switch keeps the greatest words, so the first rows of the order must have them.
    let null = if first.options.nulls_first { u32::MAX } else { 0 };
    let order = order.reversed(!first.options.descending).with_null(null);
    let mut refused = None;
    if planner.delta() > 0.0 {
        let (delta, seed) = (planner.delta(), planner.seed());
        let goal = top_n::plan::Probable { n, entries: known.rows, value_bits: 32, delta };
        let fields = vec![Field::Order(order.clone())];
        let placed = planner.place_programs(&goal, fields, |size| {
            let (rows, columns) = (narrow(size.rows), narrow(size.columns));
            let config = top_n::randomized::Config::new(rows, columns, Ties::Keep, seed);
            Ok(Configured::TopNRandomized(config.map_err(reason)?.returning(narrow(n))))
        });
        match placed {
            Ok(plan) => return Ok(plan),
            Err(why) => refused = Some(why),
        }
    }
    let fields = vec![Field::Order(order.above_zero(&schema)?)];
    let placed =
        planner.place_programs(&top_n::plan::Certain { n, value_bits: 32 }, fields, |size| {
            let config = top_n::deterministic::Config::new(narrow(n), size.thresholds);
            Ok(Configured::TopNDeterministic(config.map_err(reason)?))
        });
    placed.map_err(|why| NotSwitched::Refused(refused.unwrap_or(why)))
}
