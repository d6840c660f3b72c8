//! Finds and replaces columns of the outer query in a subquery.

use crate::rewrite::{Rewrite, RewritePlan};
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, not_impl_err};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Subquery;
use datafusion::logical_expr::{Expr, Join, LogicalPlan};

/// A column of the outer query.
pub(super) type Reference = (FieldRef, Column);

/// Returns the columns of outer queries that a subquery references, without repetitions.
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
                        // A column of the node itself is not outer.
                        if !has(node, &reference.1) {
                            add(&mut found, reference);
                        }
                    }
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        let LogicalPlan::Join(join) = node else { return Ok(TreeNodeRecursion::Continue) };
        let Some(lateral) = lateral(join) else { return Ok(TreeNodeRecursion::Continue) };
        for reference in references(&join.left)? {
            add(&mut found, reference);
        }
        for reference in references(&lateral.subquery)? {
            if !join.left.schema().has_column(&reference.1) {
                add(&mut found, reference);
            }
        }
        Ok(TreeNodeRecursion::Jump)
    })?;
    Ok(found)
}

/// Returns the lateral subquery on the right of a join.
pub(super) fn lateral(join: &Join) -> Option<&Subquery> {
    match join.right.as_ref() {
        LogicalPlan::Subquery(subquery) => Some(subquery),
        LogicalPlan::SubqueryAlias(alias) => match alias.input.as_ref() {
            LogicalPlan::Subquery(subquery) => Some(subquery),
            _ => None,
        },
        _ => None,
    }
}

/// Returns true if a node has a subquery that references columns of a query outside of the node.
pub(super) fn has_foreign_subquery(node: &LogicalPlan) -> bool {
    if let LogicalPlan::Join(join) = node
        && let Some(lateral) = lateral(join)
    {
        let has = |column: &Column| join.left.schema().has_column(column);
        return references(&lateral.subquery)
            .map_or(true, |found| !found.iter().all(|(_, column)| has(column)));
    }
    let foreign = |expr: &Expr| {
        let compared = matches!(expr, Expr::InSubquery(it) if it.expr.contains_outer());
        let inner = subquery_of(expr).is_some_and(|inner| {
            references(&inner.subquery)
                .map_or(true, |found| !found.iter().all(|(_, column)| has(node, column)))
        });
        compared || inner
    };
    node.expressions().iter().any(|expr| expr.exists(|expr| Ok(foreign(expr))).unwrap_or(true))
}

fn add(found: &mut Vec<Reference>, reference: Reference) {
    if !found.iter().any(|(_, column)| *column == reference.1) {
        found.push(reference);
    }
}

fn has(node: &LogicalPlan, column: &Column) -> bool {
    let within = |plan: &LogicalPlan| plan.schema().has_column(column);
    node.inputs().into_iter().any(|input| match (node, input) {
        // ORDER BY may reference columns that SELECT lacks.
        (LogicalPlan::Sort(_), LogicalPlan::Projection(projection)) => {
            within(input) || within(&projection.input)
        }
        _ => within(input),
    })
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

/// Returns true if an expression references columns of the outer query, or contains subqueries, which may do so.
pub(super) fn may_refer(expr: &Expr) -> bool {
    expr.contains_outer() || expr.exists(|expr| Ok(subquery_of(expr).is_some())).unwrap_or(true)
}

/// Turns an expression over columns of the outer query into one for use in a subquery.
pub(super) fn seen_from_inside(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    expr.rewrite_up(&mut |expr| match expr {
        Expr::Column(column) => {
            let field = FieldRef::clone(schema.field_from_column(&column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        expr => Ok(Transformed::no(expr)),
    })
    .data()
}

/// Replaces columns of the outer query in an expression of a subquery.
pub(super) fn replaced(expr: Expr, by: &[(Column, Column)]) -> Result<Expr> {
    let name = expr.schema_name().to_string();
    let replaced = expr.rewrite_up(&mut |expr| match expr {
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

/// Replaces columns of the outer query in the subqueries of an expression. Columns for which `own` returns true stay.
pub(super) fn replaced_in_subqueries(
    expr: Expr,
    by: &[(Column, Column)],
    own: &dyn Fn(&Column) -> bool,
) -> Result<Expr> {
    let by: Vec<_> = by.iter().filter(|(outer, _)| !own(outer)).cloned().collect();
    expr.rewrite_down(&mut |expr| {
        let Some(subquery) = subquery_of(&expr) else { return Ok(Transformed::no(expr)) };
        let refers = references(&subquery.subquery)?;
        if !refers.iter().any(|(_, column)| by.iter().any(|(outer, _)| outer == column)) {
            return Ok(Transformed::no(expr));
        }
        let plan = replaced_in_plan(subquery.subquery.as_ref().clone(), &by)?;
        let subquery = super::subquery(plan);
        Ok(Transformed::yes(match expr {
            Expr::Exists(Exists { negated, .. }) => Expr::Exists(Exists { subquery, negated }),
            Expr::InSubquery(InSubquery { expr, negated, .. }) => {
                Expr::InSubquery(InSubquery { expr, subquery, negated })
            }
            Expr::SetComparison(comparison) => {
                Expr::SetComparison(SetComparison { subquery, ..comparison })
            }
            _ => Expr::ScalarSubquery(subquery),
        }))
    })
    .data()
}

/// Replaces columns of the outer query in a subquery by inner columns.
pub(super) fn replaced_in_plan(plan: LogicalPlan, by: &[(Column, Column)]) -> Result<LogicalPlan> {
    plan.rewrite_up(&mut |node| {
        let names = NamePreserver::new(&node);
        let inputs: Vec<_> = node.inputs().iter().map(|it| Arc::clone(it.schema())).collect();
        let own = |column: &Column| inputs.iter().any(|schema| schema.has_column(column));
        let node = node.rewrite_expressions(&mut |expr| {
            let name = names.save(&expr);
            let expr = replaced_in_subqueries(expr, by, &own)?;
            let expr = expr.rewrite_up(&mut |expr| match &expr {
                Expr::OuterReferenceColumn(field, column) => {
                    Ok(match by.iter().find(|(outer, _)| outer == column) {
                        Some((_, inner)) => {
                            let field = Arc::new(field.as_ref().clone().with_nullable(true));
                            Transformed::yes(Expr::OuterReferenceColumn(field, inner.clone()))
                        }
                        None => Transformed::no(expr),
                    })
                }
                _ => Ok(Transformed::no(expr)),
            })?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        node.map_data(LogicalPlan::recompute_schema)
    })
    .data()
}
