//! What the bytes of a plan would not carry to workers: DataFusion's encoding of its own nodes (55.2) has no place
//! for it, and what is decoded would give other rows.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::NullTreatment;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::memory::LazyMemoryExec;

/// Whether a query has something that would be lost.
///
/// # Errors
///
/// None: looking into a plan does not fail.
pub(crate) fn is_any(plan: &Arc<dyn ExecutionPlan>, logical: &LogicalPlan) -> Result<bool> {
    Ok(plan.exists(|node| Ok(of_node(node)))? || of_windows(logical)?)
}

/// Grouping sets that are all empty, and a generated series of which no column is needed.
fn of_node(node: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
        let groups = aggregate.group_expr();
        return groups.has_grouping_set() && groups.is_empty();
    }
    node.is::<LazyMemoryExec>() && node.schema().fields().is_empty()
}

/// FILTER and IGNORE NULLS of a window.
fn of_windows(logical: &LogicalPlan) -> Result<bool> {
    let is_lost = |expr: &Expr| match expr {
        Expr::WindowFunction(window) => {
            let ignores = window.params.null_treatment == Some(NullTreatment::IgnoreNulls);
            ignores || window.params.filter.is_some()
        }
        _ => false,
    };
    let mut found = false;
    logical.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= expr.exists(|it| Ok(is_lost(it)))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}
