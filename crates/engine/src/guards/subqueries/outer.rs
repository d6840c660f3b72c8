//! Columns of the outer query in a subquery.

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, not_impl_err};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// A column of the outer query.
pub(super) type Reference = (FieldRef, Column);

/// The columns of outer queries that a subquery names, each once.
pub(super) fn references(plan: &LogicalPlan) -> Result<Vec<Reference>> {
    let mut found = Vec::new();
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::OuterReferenceColumn(field, column) = expr {
                    add(&mut found, (FieldRef::clone(field), column.clone()));
                }
                if let Some(inner) = subquery_of(expr) {
                    for reference in references(&inner.subquery)? {
                        // What the node has is named by its own subquery.
                        if !has(node, &reference.1) {
                            add(&mut found, reference);
                        }
                    }
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

fn add(found: &mut Vec<Reference>, reference: Reference) {
    if !found.iter().any(|(_, column)| *column == reference.1) {
        found.push(reference);
    }
}

fn has(node: &LogicalPlan, column: &Column) -> bool {
    node.inputs().iter().any(|input| input.schema().has_column(column))
}

pub(super) fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. })
        | Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    }
}

/// Whether an expression names columns of the outer query, or has subqueries, which may.
pub(super) fn may_refer(expr: &Expr) -> bool {
    expr.contains_outer() || expr.exists(|expr| Ok(subquery_of(expr).is_some())).unwrap_or(true)
}

/// An expression over columns of the outer query, for use in a subquery.
pub(super) fn seen_from_inside(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    expr.transform(|expr| match expr {
        Expr::Column(column) => {
            let field = FieldRef::clone(schema.field_from_column(&column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        expr => Ok(Transformed::no(expr)),
    })
    .data()
}

/// An expression of a subquery with columns in place of those of the outer query.
pub(super) fn replaced(expr: Expr, by: &[(Column, Column)]) -> Result<Expr> {
    let name = expr.schema_name().to_string();
    let replaced = expr.transform(|expr| match expr {
        Expr::OuterReferenceColumn(_, column) => {
            match by.iter().find(|(outer, _)| *outer == column) {
                Some((_, inner)) => Ok(Transformed::yes(Expr::Column(inner.clone()))),
                None => not_impl_err!(
                    "a subquery in a subquery may not name `{column}`, a column of a query around both of them"
                ),
            }
        }
        expr => Ok(Transformed::no(expr)),
    })?;
    Ok(match (replaced.transformed, &replaced.data) {
        (false, _) | (true, Expr::Alias(_)) => replaced.data,
        (true, _) => replaced.data.alias(name),
    })
}
