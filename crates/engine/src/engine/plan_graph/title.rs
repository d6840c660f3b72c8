//! Titles of operators, a word or two each.

use datafusion::datasource::sink::DataSinkExec;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;

use crate::operators::s3_aggregate::S3AggregateExec;
use crate::operators::s3_group_by::S3GroupByExec;
use crate::operators::switch_drain::SwitchDrainExec;
use crate::operators::switch_prune::SwitchPruneExec;
use crate::operators::top_k_sample::TopKSampleExec;

/// Nodes that change no row.
const HANDS_ON: [&str; 7] = [
    "CoalesceBatchesExec",
    "CoalescePartitionsExec",
    "CooperativeExec",
    "OutputRequirementExec",
    "RepartitionExec",
    "SortPreservingMergeExec",
    "SwitchExec",
];

/// Returns whether a node only passes on the rows that it is given.
pub(crate) fn hands_on(plan: &dyn ExecutionPlan) -> bool {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return projection.expr().iter().all(|it| it.expr.is::<Column>());
    }
    HANDS_ON.contains(&plan.name())
}

/// Returns the title of a node.
pub(crate) fn title(plan: &dyn ExecutionPlan) -> String {
    let words = if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let grouped = !aggregate.group_expr().is_true_no_grouping();
        match (grouped, *aggregate.mode()) {
            (true, AggregateMode::Partial) => "Group, in parts",
            (false, AggregateMode::Partial) => "Aggregate, in parts",
            (true, _) => "Group",
            (false, _) => "Aggregate",
        }
    } else if let Some(sort) = plan.downcast_ref::<SortExec>() {
        match sort.fetch() {
            Some(rows) => return format!("Top {rows}"),
            None => "Sort",
        }
    } else if let Some(limit) = plan.downcast_ref::<LocalLimitExec>() {
        return format!("First {} of each part", limit.fetch());
    } else if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        match limit.fetch() {
            Some(rows) => return format!("First {rows}"),
            None => "Skip rows",
        }
    } else if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return format!("Join ({})", join.join_type());
    } else if let Some(prune) = plan.downcast_ref::<SwitchPruneExec>() {
        let algorithm = prune.plan().algorithm.to_string();
        let name = algorithm.split('(').next().unwrap_or_default().trim();
        return format!("Prune: {name}");
    } else if plan.is::<SwitchDrainExec>() {
        "Read what the switch holds"
    } else if plan.is::<ProjectionExec>() {
        "Compute"
    } else if plan.is::<DataSinkExec>() {
        "Write"
    } else if plan.is::<S3AggregateExec>() {
        "Aggregate in the store"
    } else if plan.is::<S3GroupByExec>() {
        "Group in the store"
    } else if plan.is::<TopKSampleExec>() {
        "Scan within a bound"
    } else {
        match plan.name() {
            "AnalyzeExec" => "EXPLAIN ANALYZE",
            "BoundedWindowAggExec" | "WindowAggExec" => "Window",
            "CrossJoinExec" => "Cross join",
            "DataSourceExec" => "Scan",
            "ExplainExec" => "EXPLAIN",
            "FilterExec" => "Filter",
            "InterleaveExec" | "UnionExec" => "Union",
            "NestedLoopJoinExec" => "Join by comparing all",
            "PlaceholderRowExec" => "One row",
            "EmptyExec" => "No rows",
            "SortMergeJoinExec" => "Join by merging",
            other => return other.strip_suffix("Exec").unwrap_or(other).to_owned(),
        }
    };
    words.to_owned()
}
