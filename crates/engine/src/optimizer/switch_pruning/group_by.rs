//! Serves GROUP BY with one or several MIN and MAX.
//!
//! ```text
//! AggregateExec: mode=Final              AggregateExec: mode=Final
//!   AggregateExec: mode=Partial    ─►      AggregateExec: mode=Partial
//!     X                                      SwitchPruneExec: group_by_max | group_by_min
//!                                              X
//! ```

use std::sync::Arc;

use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::ExecutionPlan;
use sluicegate_pruning::Ties;
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::group_by::plan::Goal;
use sluicegate_pruning::algorithm::group_by::{Config, Extreme};

use super::aggregate::{ASSUMED_GROUP_ROWS, above, adds_up, exact_or_fingerprint, lower_half};
use super::{NotSwitched, PlanStatistics, SwitchResult, rewrite_workers};
use crate::operators::switch::planner::{Planner, narrow, reason, trusted_keys};
use crate::operators::switch::{Field, Order};
use crate::operators::switch_prune::SwitchPruneExec;

const EXTREMES: &str =
    "only groups with nothing but MIN and MAX, or with nothing but SUM and COUNT, can be pruned";

/// Serves `node` if it is the upper half of such an aggregate.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<Arc<dyn ExecutionPlan>> {
    let partial = lower_half(node).ok_or(NotSwitched::Other)?;
    let aggregates = partial.aggr_expr();
    if aggregates.is_empty() || aggregates.iter().any(adds_up) {
        // DISTINCT and aggregates with sums have shapes of their own.
        return Err(NotSwitched::Other);
    }
    let of = |aggregate: &Arc<AggregateFunctionExpr>| {
        let extreme = match aggregate.fun().name() {
            "max" => Extreme::Max,
            "min" => Extreme::Min,
            _ => return Err(NotSwitched::from(EXTREMES)),
        };
        let values = aggregate.expressions();
        let [value] = values.as_slice() else { return Err(NotSwitched::Other) };
        Ok((extreme, Arc::clone(value)))
    };
    let wanted = aggregates.iter().map(of).collect::<SwitchResult<Vec<_>>>()?;
    let (input, keys) = (partial.input(), partial.group_expr().input_exprs());
    let key = exact_or_fingerprint(&keys, input, false, planner)?;
    let known = PlanStatistics::from_plan(input)?;
    let (wide, fingerprint) = (key.is_wide(), key.is_fingerprint());
    let (mut fields, mut exact, mut floating) = (vec![Field::Key(key)], true, false);
    for (extreme, value) in &wanted {
        let order = Order::new(value, &input.schema(), known.of_column(value))??;
        // A NULL decides nothing, but its group must arrive, which the worst value ensures. After a NaN, DataFusion
        // takes the next value even if it is not the best so far.
        let worst = if *extreme == Extreme::Max { 0 } else { u32::MAX };
        let order = order.with_null(worst).with_neutral(worst).stop_at_nan();
        exact &= order.is_exact();
        floating |= value.data_type(&input.schema())?.is_floating();
        fields.push(Field::Order(order));
    }
    let extremes: Vec<Extreme> = wanted.iter().map(|(extreme, _)| *extreme).collect();
    let ties = if exact { Ties::Prune } else { Ties::Keep };
    let groups = (known.rows / ASSUMED_GROUP_ROWS).clamp(1, 1 << 16);
    let goal = Goal { entries: known.rows, keys: groups, pair_bits: 64 };
    let hashing = planner.hashing();
    let mut plan = planner.place_programs(&goal, fields, |size| {
        let config = Config::new(narrow(size.rows), narrow(size.tables), extremes[0], ties, wide);
        let config = config.and_then(|config| config.with_others(&extremes[1..]));
        Ok(Configured::GroupBy(config.map_err(reason)?.with_hashing(hashing)))
    })?;
    // The optimum is only known for one value.
    plan.count_optimum &= extremes.len() == 1;
    if floating {
        // A worker that bypasses the program would not notice a NaN.
        plan.patience = 0;
    }
    if fingerprint {
        // The fingerprint itself selects the cell, so all keys must differ.
        plan = plan.with_fingerprints(known.most_rows, trusted_keys(planner.share(), 1), 1);
        planner.spend(plan.failure);
    }
    let below = rewrite_workers(Arc::clone(input), planner)?;
    Ok(above(node, Arc::new(SwitchPruneExec::new(below, plan)))?)
}
