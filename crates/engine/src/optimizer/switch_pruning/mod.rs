//! Puts a switch between the workers and the final stage of queries whose final stage does not need all rows.
//!
//! There is one file per query shape. A rewrite keeps DataFusion's own operators, because pruning may forward too
//! much. Partial aggregates move above the switch with the rest, and the switch reduces rows instead. If the switch
//! holds sums of the rows that it drops, [`SwitchDrainExec`] returns them at the end.
//!
//! [`SwitchDrainExec`]: crate::operators::switch_drain::SwitchDrainExec

mod aggregate;
mod distinct;
mod filter;
mod group_by;
mod group_sum;
mod having;
mod join;
mod skyline;
mod top_n;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};

use crate::context::choice::Reason;
use crate::context::config::SluiceOptions;
use crate::operators::switch::SwitchPlan;
use crate::operators::switch::planner::Planner;
use crate::operators::switch_exec::SwitchExec;
use crate::operators::switch_prune::SwitchPruneExec;

/// Puts [`SwitchPruneExec`] into plans, and [`SwitchExec`] above them, if the session has a switch.
#[derive(Debug)]
pub(crate) struct SwitchPruning;

impl PhysicalOptimizerRule for SwitchPruning {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let ours = SluiceOptions::from_options(options);
        let Some(target) = ours.switch.target() else { return Ok(plan) };
        let new = || Planner::new(target, &ours, options);
        let mut planner = new();
        let mut served = rewrite(Arc::clone(&plan), &mut planner)?;
        if planner.is_contended() {
            let mut survey = new().surveying();
            rewrite(Arc::clone(&plan), &mut survey)?;
            planner = new().informed(survey);
            served = rewrite(Arc::clone(&plan), &mut planner)?;
        }
        planner.write_to_journal();
        if planner.is_idle() {
            return Ok(plan);
        }
        let switch = SwitchExec::new(served, planner.rereads());
        Ok(Arc::new(switch.packed(ours.switch_packed)))
    }

    fn name(&self) -> &str {
        "switch_pruning"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The result of serving a node by the switch, or the reason against it.
type SwitchResult<T> = Result<T, NotSwitched>;

/// The reason why a shape does not serve a node.
enum NotSwitched {
    /// The node has another shape.
    Other,
    /// The switch cannot serve it, for this reason.
    Refused(Reason),
    /// Planning failed with an error.
    Failed(DataFusionError),
}

impl From<DataFusionError> for NotSwitched {
    fn from(error: DataFusionError) -> Self {
        Self::Failed(error)
    }
}

impl From<Reason> for NotSwitched {
    fn from(why: Reason) -> Self {
        Self::Refused(why)
    }
}

impl From<&'static str> for NotSwitched {
    fn from(why: &'static str) -> Self {
        Self::Refused(why.into())
    }
}

/// Returns the plan that serves a node of some shape.
type Shape = fn(&Arc<dyn ExecutionPlan>, &mut Planner) -> SwitchResult<Arc<dyn ExecutionPlan>>;

/// All shapes, with their names in EXPLAIN.
const SHAPES: [(&str, Shape); 8] = [
    ("HAVING", having::rewrite),
    ("SKYLINE", skyline::rewrite),
    ("DISTINCT", distinct::rewrite),
    ("GROUP BY", group_by::rewrite),
    ("GROUP BY SUM", group_sum::rewrite),
    ("ORDER BY LIMIT", top_n::rewrite),
    ("JOIN", join::rewrite),
    ("WHERE", filter::rewrite),
];

/// Serves a node and all nodes below it.
fn rewrite(node: Arc<dyn ExecutionPlan>, planner: &mut Planner) -> Result<Arc<dyn ExecutionPlan>> {
    for (name, shape) in SHAPES {
        match shape(&node, planner) {
            Ok(rewritten) => return Ok(rewritten),
            Err(NotSwitched::Other) => {}
            Err(NotSwitched::Refused(why)) => planner.refuse(name, why),
            Err(NotSwitched::Failed(error)) => return Err(error),
        }
    }
    if let Some(query) = node.downcast_ref::<RecursiveQueryExec>() {
        // Each iteration executes the recursive term anew.
        let fixed = rewrite(Arc::clone(query.static_term()), planner)?;
        let repeated = rewrite(Arc::clone(query.recursive_term()), planner)?;
        let repeated = Arc::new(SwitchExec::new(repeated, false));
        return replace_children_if_necessary(node, vec![fixed, repeated]);
    }
    rewrite_children(node, planner, rewrite)
}

/// Returns a node with its only input `below`, whose rows cross the switch.
fn pruned(
    node: &Arc<dyn ExecutionPlan>,
    below: Arc<dyn ExecutionPlan>,
    plan: SwitchPlan,
) -> Result<Arc<dyn ExecutionPlan>> {
    let below = Arc::new(SwitchPruneExec::new(below, plan));
    replace_children_if_necessary(Arc::clone(node), vec![below])
}

/// Serves the nodes below an operator whose input crosses the switch. Filters and projections there run on the
/// workers.
fn rewrite_workers(
    node: Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> Result<Arc<dyn ExecutionPlan>> {
    if node.is::<FilterExec>() || node.is::<ProjectionExec>() {
        rewrite_children(node, planner, rewrite_workers)
    } else {
        rewrite(node, planner)
    }
}

/// A function that serves a node and all nodes below it.
type Rewrite = fn(Arc<dyn ExecutionPlan>, &mut Planner) -> Result<Arc<dyn ExecutionPlan>>;

fn rewrite_children(
    node: Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
    rewrite: Rewrite,
) -> Result<Arc<dyn ExecutionPlan>> {
    let children: Vec<Arc<dyn ExecutionPlan>> = node.children().into_iter().cloned().collect();
    let children =
        children.into_iter().map(|child| rewrite(child, planner)).collect::<Result<Vec<_>>>()?;
    replace_children_if_necessary(node, children)
}

/// Assumed rows of a plan if their number is unknown.
const ASSUMED_ROWS: u64 = 10_000_000;

/// Least number of rows that plans are made for, because estimates err and small tables need small switches anyway.
const LEAST_ROWS: u64 = 1 << 16;

/// Statistics of a plan's rows and columns.
struct PlanStatistics {
    rows: u64,
    /// Exact number of rows, if known; estimates do not count.
    most_rows: Option<u64>,
    columns: Vec<ColumnStatistics>,
}

impl PlanStatistics {
    fn from_plan(plan: &Arc<dyn ExecutionPlan>) -> Result<Self> {
        let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new())?;
        let rows = statistics.num_rows.get_value().map_or(ASSUMED_ROWS, |rows| *rows as u64);
        let most_rows = match statistics.num_rows {
            Precision::Exact(rows) => Some(rows as u64),
            Precision::Inexact(_) | Precision::Absent => None,
        };
        Ok(Self {
            rows: rows.max(LEAST_ROWS),
            most_rows,
            columns: statistics.column_statistics.clone(),
        })
    }

    /// Returns the statistics of an expression, if it is a column.
    fn of_column(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<&ColumnStatistics> {
        self.columns.get(expr.downcast_ref::<Column>()?.index())
    }
}
