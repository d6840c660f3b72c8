//! Removal of join filters that would have to cross from one stage to another.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{DistributedLeafExec, NetworkBoundaryExt};
use sluicegate_engine::leaf_tasks;

use crate::over;

/// Removes from scans the join filters that another stage produces, and returns the plan and the number of removed
/// filters. Scans in the coordinator's own stage are also made whole again, because that stage has one task.
///
/// # Errors
///
/// If a node refuses its input.
pub(crate) fn within_stages(
    plan: Arc<dyn ExecutionPlan>,
) -> Result<(Arc<dyn ExecutionPlan>, usize)> {
    let mut dropped = 0;
    let plan = keep_known_keys(whole_at_head(plan)?, &BTreeSet::new(), &mut dropped)?;
    Ok((plan, dropped))
}

/// Restores the undivided scans above all network boundaries, because that stage would run only the first part of
/// each.
fn whole_at_head(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(leaf) = plan.downcast_ref::<DistributedLeafExec>() {
        return Ok(Arc::clone(leaf.original()));
    }
    if plan.is_network_boundary() || plan.children().is_empty() {
        return Ok(plan);
    }
    let children = plan.children().into_iter().cloned().map(whole_at_head);
    let children = children.collect::<Result<Vec<_>>>()?;
    let same = plan.children().iter().zip(&children).all(|(old, new)| Arc::ptr_eq(old, new));
    if same { Ok(plan) } else { over(plan, children) }
}

/// Keeps the join filters whose ids are in `above`, those that nodes above the plan in the same stage produce, and
/// removes all others. `dropped` is increased by their number.
fn keep_known_keys(
    plan: Arc<dyn ExecutionPlan>,
    above: &BTreeSet<u64>,
    dropped: &mut usize,
) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(leaf) = plan.downcast_ref::<DistributedLeafExec>() {
        let mut changed = None;
        let variants =
            leaf.variants().iter().map(|variant| {
                match leaf_tasks::without_unknown_keys(variant, above) {
                    Some((variant, without)) => {
                        changed = Some(without);
                        variant
                    }
                    None => Arc::clone(variant),
                }
            });
        let variants: Vec<_> = variants.collect();
        let Some(without) = changed else { return Ok(plan) };
        *dropped += without;
        let original = leaf_tasks::without_unknown_keys(leaf.original(), above);
        let original = original.map_or_else(|| Arc::clone(leaf.original()), |(plan, _)| plan);
        return Ok(Arc::new(DistributedLeafExec::try_new(original, variants)?));
    }
    if plan.children().is_empty() {
        return Ok(match leaf_tasks::without_unknown_keys(&plan, above) {
            Some((leaf, without)) => {
                *dropped += without;
                leaf
            }
            None => plan,
        });
    }
    let mut below = above.clone();
    if plan.is_network_boundary() {
        below.clear();
    }
    let found_out = plan.dynamic_expressions_produced();
    below.extend(found_out.iter().filter_map(|filter| filter.expression_id()));
    let children = plan.children().into_iter().cloned();
    let children = children.map(|child| keep_known_keys(child, &below, dropped));
    let children = children.collect::<Result<Vec<_>>>()?;
    if *dropped == 0 {
        return Ok(plan);
    }
    over(plan, children)
}
