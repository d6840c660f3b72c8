//! Serves SELECT DISTINCT.
//!
//! ```text
//! AggregateExec: mode=Final              AggregateExec: mode=Final
//!   AggregateExec: mode=Partial    ─►      AggregateExec: mode=Partial
//!     X                                      SwitchPruneExec: distinct
//!                                              X
//! ```
//!
//! Both halves run on the master, which has as many cores as there are partitions.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::distinct::plan::Goal;
use sluicegate_pruning::algorithm::distinct::{Config, Policy, Width};

use super::aggregate::{above, exact_or_fingerprint, lower_half};
use super::{NotSwitched, PlanStatistics, SwitchResult, rewrite_workers};
use crate::operators::switch::planner::{Planner, narrow, reason, trusted_keys};
use crate::operators::switch::{Field, SwitchPlan};
use crate::operators::switch_prune::SwitchPruneExec;

/// Serves `node` if it is the upper half of an aggregate that has groups only.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<Arc<dyn ExecutionPlan>> {
    let partial = lower_half(node).ok_or(NotSwitched::Other)?;
    if !partial.aggr_expr().is_empty() {
        return Err(NotSwitched::Other);
    }
    let (input, keys) = (partial.input(), partial.group_expr().input_exprs());
    let key = exact_or_fingerprint(&keys, input, true, planner)?;
    let known = PlanStatistics::from_plan(input)?;
    let (distinct, hashing) = (known.rows, planner.hashing());
    let (wide, fingerprint) = (key.is_wide(), key.is_fingerprint());
    let (width, key_bits) = if wide { (Width::Bits64, 64) } else { (Width::Bits32, 32) };
    let goal = Goal { distinct, key_bits, delta: 0.0 };
    let plan = planner.place_programs(&goal, vec![Field::Key(key)], |size| {
        let config = Config::new(narrow(size.rows), narrow(size.columns), width, Policy::Lru);
        let config = config.map_err(reason)?;
        // Collisions are limited to one row of the matrix only if the row is independent of the fingerprints.
        Ok(Configured::Distinct(if fingerprint {
            config.with_row_value()
        } else {
            config.with_hashing(hashing)
        }))
    })?;
    let plan = match &plan.algorithm {
        Configured::Distinct(config) if fingerprint => {
            let rows = u64::from(config.rows());
            let most = trusted_keys(planner.share(), rows);
            let plan = SwitchPlan::with_fingerprints(plan, known.most_rows, most, rows);
            planner.spend(plan.failure);
            plan
        }
        _ => plan,
    };
    let below = rewrite_workers(Arc::clone(input), planner)?;
    Ok(above(node, Arc::new(SwitchPruneExec::new(below, plan)))?)
}
