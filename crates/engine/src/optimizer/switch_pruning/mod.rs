//! A switch between the workers and the final stage, where it spares the final stage rows.
//!
//! One file for each query shape. A rewrite keeps DataFusion's own operators above the switch, because
//! pruning may forward too much, the partial aggregates among them: reducing rows before they are sent
//! is what the switch does for the workers.

mod aggregate;
mod filter;
mod having;
mod join;
mod skyline;
mod top_n;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::{ColumnStatistics, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};

use crate::config::SluiceOptions;
use crate::physical_plan::switch_note::SwitchNoteExec;
use crate::switch::planner::Planner;

/// Puts [`SwitchPruneExec`](crate::physical_plan::switch_prune::SwitchPruneExec) into plans, if the
/// session has a switch.
#[derive(Debug)]
pub struct SwitchPruning;

impl PhysicalOptimizerRule for SwitchPruning {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = SluiceOptions::of(options);
        let Some(target) = options.switch.target() else { return Ok(plan) };
        let mut planner = Planner::new(target, &options);
        let plan = rewrite(plan, &mut planner)?;
        if planner.refusals().is_empty() {
            return Ok(plan);
        }
        Ok(Arc::new(SwitchNoteExec::new(plan, planner.refusals().to_vec())))
    }

    fn name(&self) -> &str {
        "switch_pruning"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Serves a node and all below it.
fn rewrite(node: Arc<dyn ExecutionPlan>, planner: &mut Planner) -> Result<Arc<dyn ExecutionPlan>> {
    let shapes = [
        having::rewrite,
        skyline::rewrite,
        aggregate::rewrite,
        top_n::rewrite,
        join::rewrite,
        filter::rewrite,
    ];
    for shape in shapes {
        if let Some(rewritten) = shape(&node, planner)? {
            return Ok(rewritten);
        }
    }
    rewrite_children(node, planner, rewrite)
}

/// Serves what lies below an operator whose input crosses the switch: filters and projections there
/// are the workers'.
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

/// Serves a node and all below it, in its own way.
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

/// Rows of a plan where nothing is known about them.
const ASSUMED_ROWS: u64 = 10_000_000;

/// Fewer rows are planned for as so many: estimates err, and small tables need small switches anyway.
const LEAST_ROWS: u64 = 1 << 16;

/// Something, or why the switch cannot serve it.
type Refusable<T> = Result<T, String>;

/// What is known of a plan's rows: how many, and each column.
struct Knowledge {
    rows: u64,
    columns: Vec<ColumnStatistics>,
}

impl Knowledge {
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Self> {
        let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new())?;
        let rows = statistics.num_rows.get_value().map_or(ASSUMED_ROWS, |rows| *rows as u64);
        Ok(Self { rows: rows.max(LEAST_ROWS), columns: statistics.column_statistics.clone() })
    }

    /// What is known of an expression that is a column.
    fn of_column(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<&ColumnStatistics> {
        self.columns.get(expr.downcast_ref::<Column>()?.index())
    }
}
