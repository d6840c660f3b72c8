//! Plans with a switch, whose rows must all pass through one process.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::analyze::AnalyzeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::prelude::SessionConfig;
use datafusion_distributed::NetworkCoalesceExec;
use sluicegate_engine::leaf_tasks;

use crate::coalesce::{coalesce_partitions, is_single};
use crate::leaves::of_leaf;
use crate::over;

/// Inserts a network boundary below each switch. Workers run the nodes below the boundary, and the switch receives a
/// set of partitions from each worker. The switch and everything above it run at the coordinator. An input that
/// cannot be divided among workers stays at the coordinator, too.
///
/// # Errors
///
/// If a node refuses its input.
pub(crate) fn behind_workers(
    plan: Arc<dyn ExecutionPlan>,
    workers: usize,
    config: &SessionConfig,
) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    plan.transform_up(|node| {
        if workers < 2 || !leaf_tasks::is_pruned_by_switch(node.as_ref()) {
            return Ok(Transformed::no(node));
        }
        // The boundary has as many partitions as all the workers' parts together.
        let Some(input) = divided(node.children()[0], workers, config)? else {
            return Ok(Transformed::no(node));
        };
        let boundary = NetworkCoalesceExec::try_new(input, workers, 1)?;
        let single = is_single(&node);
        let node = over(node, vec![Arc::new(boundary)])?;
        // Nodes above expect the number of partitions that the switch had before.
        Ok(Transformed::yes(if single { coalesce_partitions(node, None) } else { node }))
    })?
    .transform_data(|plan| match plan.children().as_slice() {
        [input] if plan.is::<AnalyzeExec>() => {
            let input = Arc::clone(input);
            Ok(Transformed::no(over(plan, vec![in_one(input)])?))
        }
        _ => Ok(Transformed::no(in_one(plan))),
    })
}

/// Merges the plan into one partition, because the coordinator runs only one.
fn in_one(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    match is_single(&plan) {
        true => plan,
        false => coalesce_partitions(plan, None),
    }
}

/// Divides a plan into a part for each worker. `None` if the plan contains a node that needs all rows, or its scan
/// cannot be divided.
fn divided(
    plan: &Arc<dyn ExecutionPlan>,
    workers: usize,
    config: &SessionConfig,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let partial = |it: &AggregateExec| *it.mode() == AggregateMode::Partial;
    let each_row = plan.is::<ProjectionExec>()
        || plan.downcast_ref::<FilterExec>().is_some_and(|it| it.fetch().is_none())
        || plan.downcast_ref::<AggregateExec>().is_some_and(partial);
    match plan.children().as_slice() {
        [] => of_leaf(plan, workers, config),
        [input] if each_row => match divided(input, workers, config)? {
            Some(input) => Ok(Some(over(Arc::clone(plan), vec![input])?)),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}
