//! The kinds of a plan's operators, for counts and comparisons.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use sluicegate_costmodel::storage::{OperatorCounts, OperatorKind};

use crate::engine::plan_graph::scan::ScanNode;
use crate::engine::plan_graph::title;

/// Counts the operators of a plan.
pub(super) fn counts(plan: &Arc<dyn ExecutionPlan>) -> OperatorCounts {
    let mut counts = OperatorCounts::default();
    count(plan, &mut counts);
    counts
}

fn count(plan: &Arc<dyn ExecutionPlan>, counts: &mut OperatorCounts) {
    if let Some(kind) = kind(plan) {
        counts.add(kind);
    }
    plan.children().into_iter().for_each(|child| count(child, counts));
}

/// Returns the kind of an operator, or `None` if it only forwards or chooses columns of its input.
pub(super) fn kind(plan: &Arc<dyn ExecutionPlan>) -> Option<OperatorKind> {
    if plan.is::<ProjectionExec>() {
        return (!title::hands_on(plan.as_ref())).then_some(OperatorKind::Project);
    }
    Some(match plan.name() {
        "CoalesceBatchesExec" | "CooperativeExec" | "OutputRequirementExec" | "SwitchExec" => {
            return None;
        }
        "CoalescePartitionsExec" | "RepartitionExec" | "SortPreservingMergeExec" => {
            OperatorKind::Exchange
        }
        "FilterExec" => OperatorKind::Filter,
        "AggregateExec" => OperatorKind::Aggregate,
        "SortExec" | "SortExec(TopK)" | "PartialSortExec" => OperatorKind::Sort,
        "BoundedWindowAggExec" | "WindowAggExec" => OperatorKind::Window,
        "UnionExec" | "InterleaveExec" => OperatorKind::Union,
        "GlobalLimitExec" | "LocalLimitExec" => OperatorKind::Limit,
        name if name.ends_with("JoinExec") => OperatorKind::Join,
        _ if plan.children().is_empty() && ScanNode::from_plan(plan).is_some() => {
            OperatorKind::Scan
        }
        _ => OperatorKind::Other,
    })
}
