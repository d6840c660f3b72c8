//! Rows that no other dominates: `QUALIFY skyline(x, y) OVER ()`.
//!
//! ```text
//! FilterExec: skyline(x, y)        FilterExec: skyline(x, y)
//!   WindowAggExec: skyline(x, y)     WindowAggExec: skyline(x, y)
//!     X                        ─►      SwitchPruneExec: skyline
//!                                        X
//! ```

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::window::StandardWindowExpr;
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::windows::{WindowAggExec, WindowUDFExpr};
use sluicegate_pruning::Ties;
use sluicegate_pruning::algorithm::skyline::{Config, Score};
use sluicegate_pruning::theory::{Configuration, Goal, Projection};

use super::{Knowledge, Refusable, rewrite_workers};
use crate::physical_plan::switch_prune::SwitchPruneExec;
use crate::skyline::NAME;
use crate::switch::planner::{Planner, reason};
use crate::switch::{Algorithm, Field, Optimum, Order, SwitchPlan};

/// Serves `node` if it keeps a skyline.
pub(super) fn rewrite(
    node: &Arc<dyn ExecutionPlan>,
    planner: &mut Planner,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(None) };
    let projection = filter.input().downcast_ref::<ProjectionExec>();
    let node_of_window = projection.map_or(filter.input(), ProjectionExec::input);
    let Some(window) = node_of_window.downcast_ref::<WindowAggExec>() else { return Ok(None) };
    let Some(dimensions) = dimensions(window) else { return Ok(None) };
    // The window function's column comes after the input's.
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
        return Ok(None);
    }
    let plan = match plan(&dimensions, window.input(), planner)? {
        Ok(plan) => plan,
        Err(why) => {
            planner.refuse("SKYLINE", why);
            return Ok(None);
        }
    };
    let below = rewrite_workers(Arc::clone(window.input()), planner)?;
    let pruned = Arc::new(SwitchPruneExec::new(below, Arc::new(plan)));
    let mut input = replace_children_if_necessary(Arc::clone(node_of_window), vec![pruned])?;
    if projection.is_some() {
        input = replace_children_if_necessary(Arc::clone(filter.input()), vec![input])?;
    }
    Ok(Some(replace_children_if_necessary(Arc::clone(node), vec![input])?))
}

/// The arguments of a skyline of all rows.
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
) -> Result<Refusable<SwitchPlan>> {
    let schema = input.schema();
    let known = Knowledge::of(input)?;
    let (mut orders, mut unsigned) = (Vec::new(), true);
    for dimension in dimensions {
        let data_type = dimension.data_type(&schema)?;
        let Some(order) = Order::new(dimension, &schema, known.of_column(dimension))? else {
            return Ok(Err(format!("values of type {data_type} have no order code")));
        };
        unsigned &= data_type.is_unsigned_integer() || data_type == DataType::Boolean;
        orders.push(order.let_null_pass().let_nan_pass());
    }
    let exact = orders.iter().all(Order::is_exact);
    let ties = if exact { Ties::Prune } else { Ties::Keep };
    let count = orders.len() as u32;
    let placed = planner.place(&Goal::Skyline { dimensions: count, value_bits: 32 }, |plan| {
        let Configuration::Skyline { points, projection, .. } = plan.configuration else {
            return Err("no configuration of SKYLINE".to_owned());
        };
        let score = match projection {
            Projection::Sum => Score::Sum,
            Projection::ApproximateProduct if unsigned => Score::Product,
            // The codes of signed values lie far from zero: their product ranks like their sum.
            Projection::ApproximateProduct => return Err("signed values are summed".to_owned()),
        };
        Ok(Algorithm::Skyline(Config::new(count, points, score, ties).map_err(reason)?))
    });
    Ok(placed.map(|placed| SwitchPlan {
        algorithm: placed.algorithm,
        optimum: planner.counted(Optimum::Skyline),
        fields: orders.into_iter().map(Field::Order).collect(),
        resources: placed.resources,
        failure: 0.0,
        trusted_rows: None,
        patience: planner.patience(),
    }))
}
