//! A plan cut into stages.

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

use super::clock::{Clock, Clocked};
use crate::picture::scan::Reads;
use crate::picture::title;

/// What an operator is to the model of stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Reads a table.
    Scan,
    /// A filter or projection of a scan's rows.
    FilterProject,
    /// Hands on the rows of a scan, so that a filter above it is still one of a scan's rows.
    HandsOn,
    /// Anything else.
    Other,
}

/// An operator of a plan, with its clock.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) title: String,
    pub(super) part: Part,
    /// If it reads a table: in words, and its objects.
    pub(super) reads: Option<(String, Vec<String>)>,
    /// Whether it has taken all of its input when it gives its first row.
    pub(super) gathers: bool,
    /// Those that it wants all of before it looks at the others come first.
    pub(super) inputs: Vec<Input>,
    pub(super) clock: Arc<Clock>,
    /// The operator without its clock.
    pub(super) plan: Arc<dyn ExecutionPlan>,
}

/// What an operator takes rows from.
#[derive(Debug)]
pub(super) struct Input {
    /// Whether a stage ends there.
    pub(super) ends: bool,
    /// Whether it must be over before the operator looks at other inputs.
    pub(super) first: bool,
    pub(super) node: Node,
}

/// The plan with a clock on each operator, and its operators.
///
/// # Errors
///
/// If an operator does not take its own inputs back.
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
    let reads = Reads::of(plan).filter(|_| inputs.is_empty());
    let clock = Clock::new(began);
    let with_clocks = replace_children_if_necessary(Arc::clone(plan), children)?;
    let node = Node {
        title: title::of(plan.as_ref()),
        part: part(plan.as_ref(), &inputs, reads.is_some()),
        reads: reads.map(|it| (it.subject, it.objects)),
        gathers: gathers(plan.as_ref()),
        inputs,
        clock: Arc::clone(&clock),
        plan: Arc::clone(&with_clocks),
    };
    Ok((Arc::new(Clocked::new(with_clocks, clock)), node))
}

fn part(plan: &dyn ExecutionPlan, inputs: &[Input], reads: bool) -> Part {
    if reads {
        return Part::Scan;
    }
    match inputs {
        [Input { ends: false, node, .. }] if node.part != Part::Other => {
            if plan.is::<FilterExec>() || plan.is::<ProjectionExec>() {
                Part::FilterProject
            } else if title::hands_on(plan) {
                Part::HandsOn
            } else {
                Part::Other
            }
        }
        _ => Part::Other,
    }
}

/// Operators that take all of their input before they give a row.
fn gathers(plan: &dyn ExecutionPlan) -> bool {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return aggregate.group_expr().is_true_no_grouping()
            || *aggregate.input_order_mode() == InputOrderMode::Linear;
    }
    plan.is::<SortExec>() || plan.is::<WindowAggExec>()
}

/// Operators that take all of one input before they look at another: the build side of a join, and
/// subqueries of which a value is wanted.
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

/// Seconds of threads that take no part in a `poll_next`: DataFusion hashes rows to partitions in tasks
/// of their own.
pub(super) fn aside(plan: &dyn ExecutionPlan) -> f64 {
    if !plan.is::<RepartitionExec>() {
        return 0.0;
    }
    let metric = plan.metrics().and_then(|it| it.sum_by_name("repartition_time"));
    metric.map_or(0.0, |nanos| nanos.as_usize() as f64 / 1e9)
}
