//! Serves the skyline, which are the rows that no other row dominates: `QUALIFY skyline(x, y) OVER ()`.
//!
//! ```text
//! FilterExec: skyline(x, y)        FilterExec: skyline(x, y)
//!   WindowAggExec: skyline(x, y)     WindowAggExec: skyline(x, y)
//!     X                        ─►      SwitchPruneExec: skyline
//!                                        X
//! ```

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::window::StandardWindowExpr;
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::windows::{WindowAggExec, WindowUDFExpr};
use sluicegate_pruning::Ties;
use sluicegate_pruning::algorithm::catalog::Configured;
use sluicegate_pruning::algorithm::skyline::plan::Goal;
use sluicegate_pruning::algorithm::skyline::{Config, Score};

use super::{NotSwitched, PlanStatistics, SwitchResult, pruned, rewrite_workers};
use crate::operators::skyline::NAME;
use crate::operators::switch::planner::{Planner, reason};
use crate::operators::switch::{Field, Order, SwitchPlan};

/// Serves `node` if it keeps a skyline.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<Arc<dyn ExecutionPlan>> {
    let filter = node.downcast_ref::<FilterExec>().ok_or(NotSwitched::Other)?;
    let projection = filter.input().downcast_ref::<ProjectionExec>();
    let node_of_window = projection.map_or(filter.input(), ProjectionExec::input);
    let window = node_of_window.downcast_ref::<WindowAggExec>().ok_or(NotSwitched::Other)?;
    let dimensions = dimensions(window).ok_or(NotSwitched::Other)?;
    // The window function's column follows those of the input.
    let last = window.input().schema().fields().len();
    let is_last = |expr: &Arc<dyn PhysicalExpr>| {
        expr.downcast_ref::<Column>().is_some_and(|column| column.index() == last)
    };
    let kept = split_conjunction(filter.predicate()).into_iter().any(|conjunct| match projection {
        None => is_last(conjunct),
        Some(projection) => conjunct.downcast_ref::<Column>().is_some_and(|column| {
            projection.expr().get(column.index()).is_some_and(|output| is_last(&output.expr))
        }),
    });
    if !kept {
        return Err(NotSwitched::Other);
    }
    let plan = plan(&dimensions, window.input(), planner)?;
    let below = rewrite_workers(Arc::clone(window.input()), planner)?;
    let mut input = pruned(node_of_window, below, plan)?;
    if projection.is_some() {
        input = replace_children_if_necessary(Arc::clone(filter.input()), vec![input])?;
    }
    Ok(replace_children_if_necessary(Arc::clone(node), vec![input])?)
}

/// Returns the arguments of a skyline over all rows.
fn dimensions(window: &WindowAggExec) -> Option<Vec<Arc<dyn PhysicalExpr>>> {
    let [expr] = window.window_expr() else { return None };
    let function = expr.as_any().downcast_ref::<StandardWindowExpr>()?.get_standard_func_expr();
    let function = function.as_any().downcast_ref::<WindowUDFExpr>()?;
    let is_skyline = function.fun().name() == NAME && expr.partition_by().is_empty();
    is_skyline.then(|| function.args().to_vec())
}

fn plan(
    dimensions: &[Arc<dyn PhysicalExpr>],
    input: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> SwitchResult<SwitchPlan> {
    let schema = input.schema();
    let known = PlanStatistics::from_plan(input)?;
    let (mut orders, mut unsigned) = (Vec::new(), true);
    for dimension in dimensions {
        let data_type = dimension.data_type(&schema)?;
        let order = Order::new(dimension, &schema, known.of_column(dimension))??;
        unsigned &= data_type.is_unsigned_integer() || data_type == DataType::Boolean;
        orders.push(order.let_null_pass().let_nan_pass());
    }
    let exact = orders.iter().all(Order::is_exact);
    let ties = if exact { Ties::Prune } else { Ties::Keep };
    let count = orders.len() as u32;
    let goal = Goal { dimensions: count, value_bits: 32 };
    let fields = orders.into_iter().map(Field::Order).collect();
    Ok(planner.place_programs(&goal, fields, |size| {
        if size.score == Score::Product && !unsigned {
            // The codes of signed values are far from zero, so their product ranks points like their sum.
            return Err("signed values are summed".into());
        }
        let config = Config::new(count, size.points, size.score, ties);
        Ok(Configured::Skyline(config.map_err(reason)?))
    })?)
}
