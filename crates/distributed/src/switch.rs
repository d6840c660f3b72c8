//! Rows that a switch drops: they meet in one process, the switch's.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion_distributed::NetworkCoalesceExec;
use sluicegate_engine::parts;

use crate::over;

/// The plan with a boundary between the workers and the switch: what is below it, workers do, each of whom
/// the switch sees as so many partitions. What is above runs with the switch, at the coordinator. A side of a
/// query that cannot be divided among workers stays at the coordinator, too.
///
/// # Errors
///
/// If a node refuses its input.
pub(crate) fn behind_workers(
    plan: Arc<dyn ExecutionPlan>,
    workers: usize,
) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    plan.transform_up(|node| {
        if !parts::is_pruned_by_switch(node.as_ref()) {
            return Ok(Transformed::no(node));
        }
        let input = Arc::clone(node.children()[0]);
        if workers < 2 || !can_be_divided(&input) {
            return Ok(Transformed::no(node));
        }
        let boundary = NetworkCoalesceExec::try_new(input, workers, 1)?;
        Ok(Transformed::yes(over(node, vec![Arc::new(boundary)])?))
    })
}

/// Whether the rows of a plan are those of parts of its files put together, whichever parts.
fn can_be_divided(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let partial = |it: &AggregateExec| *it.mode() == AggregateMode::Partial;
    let each_row = plan.is::<ProjectionExec>()
        || plan.downcast_ref::<FilterExec>().is_some_and(|it| it.fetch().is_none())
        || plan.downcast_ref::<AggregateExec>().is_some_and(partial);
    match plan.children().as_slice() {
        [] => parts::bytes(plan.as_ref()).is_some(),
        [input] => each_row && can_be_divided(input),
        _ => false,
    }
}
