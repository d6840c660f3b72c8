//! GROUP BY with one MIN or MAX.
//!
//! ```text
//! AggregateExec: mode=Final              AggregateExec: mode=Final
//!   AggregateExec: mode=Partial    ─►      AggregateExec: mode=Partial
//!     X                                      SwitchPruneExec: group_by_max | group_by_min
//!                                              X
//! ```

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use sluicegate_pruning::Ties;
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::group_by::plan::Goal;
use sluicegate_pruning::algorithm::group_by::{Config, Extreme};

use super::aggregate::{above, exact_or_fingerprint, lower_half};
use super::{Knowledge, Served, Unserved, rewrite_workers};
use crate::physical_plan::switch_prune::SwitchPruneExec;
use crate::switch::planner::{Planner, narrow, reason, trusted_keys};
use crate::switch::{Field, Order};

/// Rows of a group, where nothing is known: it ranks configurations.
const ASSUMED_GROUP_ROWS: u64 = 16;

const ONE_EXTREME: &str = "only groups with a single MIN or MAX can be pruned";

/// Serves `node` if it is the upper half of such an aggregate.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> Served<Arc<dyn ExecutionPlan>> {
    let partial = lower_half(node).ok_or(Unserved::Other)?;
    let [aggregate] = partial.aggr_expr() else {
        // Without any it is a DISTINCT.
        let distinct = partial.aggr_expr().is_empty();
        return Err(if distinct { Unserved::Other } else { ONE_EXTREME.into() });
    };
    let extreme = match aggregate.fun().name() {
        "max" => Extreme::Max,
        "min" => Extreme::Min,
        _ => return Err(ONE_EXTREME.into()),
    };
    let values = aggregate.expressions();
    let [value] = values.as_slice() else { return Err(Unserved::Other) };
    let (input, keys) = (partial.input(), partial.group_expr().input_exprs());
    let key = exact_or_fingerprint(&keys, input, false, planner)?;
    let known = Knowledge::of(input)?;
    let order = Order::new(value, &input.schema(), known.of_column(value))??;
    // A NULL decides nothing, but its group must arrive: the worst value does just that. After a
    // NaN, DataFusion takes the next value even if it is not the best so far.
    let worst = if extreme == Extreme::Max { 0 } else { u32::MAX };
    let order = order.with_null(worst).with_neutral(worst).stop_at_nan();
    let ties = if order.is_exact() { Ties::Prune } else { Ties::Keep };
    let (wide, fingerprint) = (key.is_wide(), key.is_fingerprint());
    let groups = (known.rows / ASSUMED_GROUP_ROWS).clamp(1, 1 << 16);
    let goal = Goal { entries: known.rows, keys: groups, pair_bits: 64 };
    let fields = vec![Field::Key(key), Field::Order(order)];
    let hashing = planner.hashing();
    let mut plan = planner.place(&goal, fields, |size| {
        let config = Config::new(narrow(size.rows), narrow(size.tables), extreme, ties, wide);
        Ok(Configured::GroupBy(config.map_err(reason)?.with_hashing(hashing)))
    })?;
    if value.data_type(&input.schema())?.is_floating() {
        // A worker that bypasses the program would not notice a NaN.
        plan.patience = 0;
    }
    if fingerprint {
        // Here a cell is chosen by the fingerprint itself: all keys must differ.
        plan = plan.with_fingerprints(known.most_rows, trusted_keys(planner.share(), 1), 1);
        planner.spend(plan.failure);
    }
    let below = rewrite_workers(Arc::clone(input), planner)?;
    Ok(above(node, Arc::new(SwitchPruneExec::new(below, plan)))?)
}
