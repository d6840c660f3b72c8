//! Detection of plans that cannot be sent to workers unchanged. DataFusion 55.2 encodes some of its nodes
//! incompletely, and arrow-flight 59.3 changes some batches. A worker would return other rows, or none.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::expr::NullTreatment;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::memory::LazyMemoryExec;
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use sluicegate_engine::codec;

/// Returns whether a query contains anything that would be lost on the way to workers.
///
/// # Errors
///
/// None. The traversal of a plan does not fail.
pub(crate) fn is_any(plan: &Arc<dyn ExecutionPlan>, logical: &LogicalPlan) -> Result<bool> {
    Ok(plan.exists(|node| Ok(of_node(node)))? || any_expression(logical, is_lost)?)
}

/// Returns the window expressions of a node.
pub(crate) fn windows(node: &dyn ExecutionPlan) -> &[Arc<dyn WindowExpr>] {
    if let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() {
        return window.window_expr();
    }
    node.downcast_ref::<WindowAggExec>().map_or(&[], WindowAggExec::window_expr)
}

/// Returns true for empty grouping sets, generated series without columns, scalar sub-queries, reversed window
/// functions and lists with 64-bit offsets.
fn of_node(node: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
        let groups = aggregate.group_expr();
        if groups.has_grouping_set() && groups.is_empty() {
            return true;
        }
    }
    node.is::<LazyMemoryExec>() && node.schema().fields().is_empty()
        || node.is::<ScalarSubqueryExec>()
        || windows(node.as_ref()).iter().any(is_reversed)
        || node.schema().fields().iter().any(|field| has_large_list(field))
}

/// Returns true if the planner reversed a window function such as LAG. Only the function's `Debug` text reveals this.
fn is_reversed(window: &Arc<dyn WindowExpr>) -> bool {
    format!("{window:?}").contains("is_reversed: true")
}

fn has_large_list(field: &Field) -> bool {
    match field.data_type() {
        DataType::LargeList(_) => true,
        DataType::List(inner)
        | DataType::FixedSizeList(inner, _)
        | DataType::ListView(inner)
        | DataType::LargeListView(inner)
        | DataType::Map(inner, _) => has_large_list(inner),
        DataType::Struct(fields) => fields.iter().any(|field| has_large_list(field)),
        DataType::Dictionary(_, values) => matches!(values.as_ref(), DataType::LargeList(_)),
        _ => false,
    }
}

/// Returns true for window functions with FILTER or IGNORE NULLS, 16-bit floats, and literals or functions with
/// metadata.
fn is_lost(expr: &Expr) -> bool {
    match expr {
        Expr::WindowFunction(window) => {
            let ignores = window.params.null_treatment == Some(NullTreatment::IgnoreNulls);
            ignores || window.params.filter.is_some()
        }
        Expr::Literal(ScalarValue::Float16(_), _) => true,
        Expr::Literal(_, metadata) => metadata.is_some(),
        Expr::ScalarFunction(function) => function.name() == "with_metadata",
        _ => false,
    }
}

/// Returns whether `is_one` holds for any expression of a query or its sub-queries.
///
/// # Errors
///
/// None. The traversal of a plan does not fail.
pub(crate) fn any_expression(
    logical: &LogicalPlan,
    is_one: impl Fn(&Expr) -> bool,
) -> Result<bool> {
    let mut found = false;
    logical.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.exists(|it| Ok(is_one(it)))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}

/// Returns true if the plan can be encoded and decoded again. Some nodes have no encoding, and deeply nested plans
/// are not decoded.
pub(crate) fn comes_back(plan: &Arc<dyn ExecutionPlan>, context: &TaskContext) -> bool {
    let come_back = codec::encode(plan).and_then(|bytes| codec::decode(&bytes, context));
    if let Err(error) = &come_back {
        tracing::debug!(%error, "the plan stays at the coordinator");
    }
    come_back.is_ok()
}
