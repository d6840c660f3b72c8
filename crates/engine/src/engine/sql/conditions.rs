//! Refuses numbers and texts as conditions where DataFusion converts them to booleans: CASE WHEN, FILTER (WHERE …) and
//! IS TRUE. It refuses them itself in WHERE, HAVING and ON.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{AggregateFunctionParams, WindowFunctionParams};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};

use crate::context::error::not_a_condition;

/// Checks the conditions in the expressions of a plan before it is optimized.
///
/// # Errors
///
/// If a condition is neither true nor false.
pub(crate) fn check(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        let mut schema = DFSchema::empty();
        for input in node.inputs() {
            schema.merge(input.schema());
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                conditions(expr)
                    .into_iter()
                    .try_for_each(|condition| check_type(condition, &schema))
                    .map(|()| TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(())
}

/// Returns the conditions directly in an expression.
fn conditions(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Case(case) if case.expr.is_none() => {
            case.when_then_expr.iter().map(|(when, _)| when.as_ref()).collect()
        }
        Expr::AggregateFunction(call) => {
            let AggregateFunctionParams { filter, .. } = &call.params;
            filter.iter().map(AsRef::as_ref).collect()
        }
        Expr::WindowFunction(call) => {
            let WindowFunctionParams { filter, .. } = &call.params;
            filter.iter().map(AsRef::as_ref).collect()
        }
        Expr::IsTrue(of)
        | Expr::IsNotTrue(of)
        | Expr::IsFalse(of)
        | Expr::IsNotFalse(of)
        | Expr::IsUnknown(of)
        | Expr::IsNotUnknown(of) => vec![of],
        _ => Vec::new(),
    }
}

fn check_type(condition: &Expr, schema: &DFSchema) -> Result<()> {
    // Expressions without a type are refused elsewhere.
    match condition.get_type(schema) {
        Ok(DataType::Boolean | DataType::Null) | Err(_) => Ok(()),
        Ok(other) => Err(not_a_condition(&other.to_string()).into()),
    }
}
