//! What does not reach workers as it is: DataFusion's encoding of its own nodes (55.2) has no place for it, or the
//! encoding of batches (arrow-flight 59.3) changes it. What is decoded would give other rows, or none.

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

/// Whether a query has something that would be lost.
///
/// # Errors
///
/// None: looking into a plan does not fail.
pub(crate) fn is_any(plan: &Arc<dyn ExecutionPlan>, logical: &LogicalPlan) -> Result<bool> {
    Ok(plan.exists(|node| Ok(of_node(node)))? || any_expression(logical, is_lost)?)
}

/// The windows of a node.
pub(crate) fn windows(node: &dyn ExecutionPlan) -> &[Arc<dyn WindowExpr>] {
    if let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() {
        return window.window_expr();
    }
    node.downcast_ref::<WindowAggExec>().map_or(&[], WindowAggExec::window_expr)
}

/// Grouping sets that are all empty, a generated series of which no column is needed, values of sub-queries, windows
/// that go backwards, and lists with offsets of 64 bits.
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

/// Whether a function such as LAG runs backwards, for the planner has turned its order. Nothing but its Debug text
/// says so.
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

/// FILTER and IGNORE NULLS of a window, numbers of 16 bits, and metadata that a function adds.
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

/// Whether any expression of a query is such a one, also in its sub-queries.
///
/// # Errors
///
/// None: looking into a plan does not fail.
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

/// Whether a plan can be read again when it is written: some nodes have no encoding, and what nests too deeply is
/// not read.
pub(crate) fn comes_back(plan: &Arc<dyn ExecutionPlan>, context: &TaskContext) -> bool {
    let come_back = codec::encode(plan).and_then(|bytes| codec::decode(&bytes, context));
    if let Err(error) = &come_back {
        tracing::debug!(%error, "the plan stays at the coordinator");
    }
    come_back.is_ok()
}
