//! Explicit nodes where the rows of all workers must meet.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::Distribution;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use sluicegate_engine::leaf_tasks;

use crate::over;

/// Inserts a merging node wherever rows must meet in one partition. On one machine, an input with a single partition
/// needs no such node. In a stage, however, every worker has a partition of its own, and datafusion-distributed cuts
/// a plan only at merging nodes.
///
/// # Errors
///
/// If a node refuses its input.
pub(crate) fn explicitly(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let said = plan.transform_up(|node| {
        if leaf_tasks::needs_its_scan(node.as_ref()) {
            return Ok(Transformed::no(node));
        }
        let wanted = node.input_distribution_requirements().into_per_child();
        let meets = |(input, wanted): (&Arc<dyn ExecutionPlan>, &Distribution)| {
            !matches!(wanted, Distribution::UnspecifiedDistribution)
                && is_single(input)
                && is_divisible(input)
        };
        let inputs: Vec<_> = node.children().into_iter().cloned().collect();
        let said = inputs.iter().zip(&wanted).any(meets);
        let node = match said {
            true => {
                let inputs = inputs.iter().zip(&wanted).map(|it| match meets(it) {
                    true => coalesce_partitions(Arc::clone(it.0), None),
                    false => Arc::clone(it.0),
                });
                over(node, inputs.collect())?
            }
            false => node,
        };
        // The limit applies to the rows of all workers together.
        match node.fetch().filter(|_| is_single(&node) && is_divisible(&node)) {
            Some(fetch) => Ok(Transformed::yes(coalesce_partitions(node, Some(fetch)))),
            None if said => Ok(Transformed::yes(node)),
            None => Ok(Transformed::no(node)),
        }
    })?;
    Ok(said.data)
}

/// Merges the partitions of a plan into one, keeps their common order, and returns at most `fetch` rows.
pub(crate) fn coalesce_partitions(
    plan: Arc<dyn ExecutionPlan>,
    fetch: Option<usize>,
) -> Arc<dyn ExecutionPlan> {
    match plan.output_ordering().cloned() {
        Some(order) => Arc::new(SortPreservingMergeExec::new(order, plan).with_fetch(fetch)),
        None => Arc::new(CoalescePartitionsExec::new(plan).with_fetch(fetch)),
    }
}

/// Returns true if the plan has a single partition.
pub(crate) fn is_single(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.output_partitioning().partition_count() == 1
}

/// Returns true if the rows may be divided among several workers.
fn is_divisible(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if plan.is::<CoalescePartitionsExec>() || plan.is::<SortPreservingMergeExec>() {
        return false;
    }
    match plan.children().as_slice() {
        [] => leaf_tasks::bytes(plan.as_ref()).is_some(),
        inputs => inputs.iter().any(|input| is_divisible(input)),
    }
}
