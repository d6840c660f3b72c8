//! Cuts a plan into stages.

use std::sync::Arc;
use std::time::Instant;

use datafusion::common::Result;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PiecewiseMergeJoinExec,
};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use sluicegate_costmodel::storage;

use super::clock::{Clock, TimedExec};
use super::offload::{has_footers, rows_in_footers};
use crate::engine::plan_graph::scan::{self, ScanNode};
use crate::engine::plan_graph::title;
use crate::engine::research::operators::kind;

/// The role of an operator in the model of stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperatorKind {
    /// Reads a table.
    Scan,
    /// Filters or projects a scan's rows.
    FilterProject,
    /// Passes on the rows of a scan, so that a filter above it still counts as one of a scan's rows.
    HandsOn,
    /// Any other operator.
    Other,
}

/// An operator of a plan, with its clock.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) title: String,
    pub(super) part: OperatorKind,
    /// Its kind in counts; `None` if it is not counted.
    pub(super) counted: Option<storage::OperatorKind>,
    /// The table that it reads, if any: a description, and its objects.
    pub(super) reads: Option<(String, Vec<String>)>,
    /// The number of rows of that table, if files tell it.
    pub(super) rows: Option<u64>,
    /// True if a scan returns all rows of its table.
    pub(super) reads_all: bool,
    /// True if it consumes all of its input before its first output row.
    pub(super) gathers: bool,
    /// The inputs; those that are consumed completely before the others come first.
    pub(super) inputs: Vec<Input>,
    pub(super) clock: Arc<Clock>,
    /// The operator without its clock.
    pub(super) plan: Arc<dyn ExecutionPlan>,
}

/// An input of an operator.
#[derive(Debug)]
pub(super) struct Input {
    /// True if a stage ends at this input.
    pub(super) ends: bool,
    /// True if it must end before the operator polls other inputs.
    pub(super) first: bool,
    pub(super) node: Node,
}

/// Returns the plan with a clock on each operator, and its operators.
///
/// # Errors
///
/// If an operator cannot be rebuilt with clocked inputs.
pub(super) fn clocked(
    plan: &Arc<dyn ExecutionPlan>,
    began: Instant,
) -> Result<(Arc<dyn ExecutionPlan>, Node)> {
    let mut children = Vec::new();
    let mut inputs = Vec::new();
    for (place, child) in plan.children().into_iter().enumerate() {
        let (child, node) = clocked(child, began)?;
        let first = waits_for(plan.as_ref(), place);
        inputs.push(Input { ends: node.gathers || first, first, node });
        children.push(child);
    }
    inputs.sort_by_key(|input| !input.first);
    let reads = ScanNode::from_plan(plan).filter(|_| inputs.is_empty());
    let config = scan::config(plan);
    let clock = Clock::new(began);
    let with_clocks = replace_children_if_necessary(Arc::clone(plan), children)?;
    let node = Node {
        title: title::title(plan.as_ref()),
        part: operator_kind(plan.as_ref(), &inputs, reads.is_some()),
        counted: kind(plan),
        reads: reads.map(|it| (it.subject, it.objects)),
        rows: config.and_then(rows_in_footers),
        reads_all: config.is_some_and(|it| !has_footers(it)),
        gathers: gathers(plan.as_ref()),
        inputs,
        clock: Arc::clone(&clock),
        plan: Arc::clone(&with_clocks),
    };
    Ok((Arc::new(TimedExec::new(with_clocks, clock)), node))
}

fn operator_kind(plan: &dyn ExecutionPlan, inputs: &[Input], reads: bool) -> OperatorKind {
    if reads {
        return OperatorKind::Scan;
    }
    match inputs {
        [Input { ends: false, node, .. }] if node.part != OperatorKind::Other => {
            if plan.is::<FilterExec>() || plan.is::<ProjectionExec>() {
                OperatorKind::FilterProject
            } else if title::hands_on(plan) {
                OperatorKind::HandsOn
            } else {
                OperatorKind::Other
            }
        }
        _ => OperatorKind::Other,
    }
}

/// Returns whether an operator consumes all of its input before its first output row.
fn gathers(plan: &dyn ExecutionPlan) -> bool {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return aggregate.group_expr().is_true_no_grouping()
            || *aggregate.input_order_mode() == InputOrderMode::Linear;
    }
    plan.is::<SortExec>() || plan.is::<WindowAggExec>()
}

/// Returns whether an operator consumes all of one input before it polls another: the build side of a join, and
/// scalar subqueries.
fn waits_for(plan: &dyn ExecutionPlan, input: usize) -> bool {
    if plan.is::<ScalarSubqueryExec>() {
        return input > 0;
    }
    let builds = plan.is::<HashJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<CrossJoinExec>()
        || plan.is::<PiecewiseMergeJoinExec>();
    builds && input == 0
}

/// Returns the seconds of threads outside of `poll_next`: DataFusion hashes rows to partitions in separate tasks.
pub(super) fn aside(plan: &dyn ExecutionPlan) -> f64 {
    if !plan.is::<RepartitionExec>() {
        return 0.0;
    }
    let metric = plan.metrics().and_then(|it| it.sum_by_name("repartition_time"));
    metric.map_or(0.0, |nanos| nanos.as_usize() as f64 / 1e9)
}
