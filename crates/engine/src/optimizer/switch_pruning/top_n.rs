//! ORDER BY … LIMIT.
//!
//! ```text
//! SortExec: TopK(fetch=n)          SortExec: TopK(fetch=n)
//!   X                        ─►      SwitchPruneExec: top_n_randomized | top_n_deterministic
//!                                      X
//! ```
//!
//! The switch looks at the first sort column only and keeps ties, so further columns do not matter.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::sorts::sort::SortExec;
use sluicegate_pruning::Ties;
use sluicegate_pruning::algorithm::top_n;
use sluicegate_pruning::theory::{Configuration, Goal};

use super::{Knowledge, Refusable, rewrite_workers};
use crate::physical_plan::switch_prune::SwitchPruneExec;
use crate::switch::planner::{Placed, Planner, narrow, reason};
use crate::switch::{Algorithm, Field, Optimum, Order, SwitchPlan};

/// Serves `node` if it is a sort with a limit.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(sort) = node.downcast_ref::<SortExec>() else { return Ok(None) };
    let Some(n) = sort.fetch().filter(|n| *n > 0) else { return Ok(None) };
    let plan = match plan(sort, n as u64, planner)? {
        Ok(plan) => plan,
        Err(why) => {
            planner.refuse("ORDER BY LIMIT", why);
            return Ok(None);
        }
    };
    let below = rewrite_workers(Arc::clone(sort.input()), planner)?;
    let pruned = Arc::new(SwitchPruneExec::new(below, Arc::new(plan)));
    Ok(Some(replace_children_if_necessary(Arc::clone(node), vec![pruned])?))
}

fn plan(sort: &SortExec, n: u64, planner: &mut Planner) -> Result<Refusable<SwitchPlan>> {
    let input = sort.input();
    let schema = input.schema();
    let first = sort.expr().first();
    let known = Knowledge::of(input)?;
    let Some(order) = Order::new(&first.expr, &schema, known.of_column(&first.expr))? else {
        let data_type = first.expr.data_type(&schema)?;
        return Ok(Err(format!("values of type {data_type} have no order code")));
    };
    // The switch keeps the greatest words: the first rows of the order must have them.
    let null = if first.options.nulls_first { u32::MAX } else { 0 };
    let order = order.reversed(!first.options.descending).with_null(null);
    let randomized = planner.delta() > 0.0;
    let found = match randomized.then(|| place_randomized(n, known.rows, planner)) {
        Some(Ok(placed)) => Ok((placed, order)),
        refused => match place_deterministic(n, known.rows, planner) {
            Ok(placed) => Ok((placed, order.above_zero(&schema)?)),
            Err(why) => Err(refused.and_then(Refusable::err).unwrap_or(why)),
        },
    };
    Ok(found.map(|(placed, order)| SwitchPlan {
        algorithm: placed.algorithm,
        optimum: planner.counted(Optimum::TopN { n: n as usize }),
        fields: vec![Field::Order(order)],
        resources: placed.resources,
        failure: placed.failure,
        trusted_rows: None,
        patience: planner.patience(),
    }))
}

fn place_randomized(n: u64, entries: u64, planner: &mut Planner) -> Refusable<Placed> {
    let goal = Goal::TopN { n, entries, value_bits: 32, delta: planner.delta() };
    let polynomial = planner.polynomial();
    planner.place(&goal, |plan| {
        let Configuration::TopNRandomized { rows, columns, .. } = plan.configuration else {
            return Err("no configuration of TOP N".to_owned());
        };
        let (rows, columns) = (narrow(rows), narrow(columns));
        let config = top_n::randomized::Config::new(rows, columns, Ties::Keep, polynomial);
        Ok(Algorithm::TopNRandomized(config.map_err(reason)?))
    })
}

fn place_deterministic(n: u64, entries: u64, planner: &mut Planner) -> Refusable<Placed> {
    let goal = Goal::TopN { n, entries, value_bits: 32, delta: 0.0 };
    planner.place(&goal, |plan| {
        let Configuration::TopNDeterministic { thresholds, .. } = plan.configuration else {
            return Err("no configuration of TOP N".to_owned());
        };
        let config = top_n::deterministic::Config::new(narrow(n), thresholds);
        Ok(Algorithm::TopNDeterministic(config.map_err(reason)?))
    })
}
