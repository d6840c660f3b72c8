//! Plans the values that columns of the outer query may have.

use std::sync::Arc;

use crate::rewrite::Rewrite;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{
    Column, ExprSchema, JoinType, Result, ScalarValue, TableReference, not_impl_err,
};
use datafusion::logical_expr::logical_plan::{Distinct, Projection};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};

/// Most nodes of a plan that is run twice. Adjacent subqueries multiply the nodes.
const MOST: usize = 500;

/// Returns the distinct values of columns of `input`, or a superset, under these names.
///
/// # Errors
///
/// If `input` may return other rows each time, or has too many nodes.
pub(super) fn distinct(
    input: &LogicalPlan,
    columns: &[Column],
    named: Vec<(Option<TableReference>, String)>,
) -> Result<LogicalPlan> {
    let exprs = columns.iter().cloned().map(Expr::Column).collect();
    let Some(values) = values(input, exprs)? else {
        return not_impl_err!(
            "such a correlated subquery is not supported beside LIMIT or random(): the rows around it are read twice, \
             and may differ; store them with CREATE TABLE … AS first"
        );
    };
    if is_large(&values)? {
        return not_impl_err!(
            "such a correlated subquery is not supported beside so many others; store what is around it with CREATE TABLE \
             … AS first"
        );
    }
    let exprs = values.schema().columns().into_iter().zip(named);
    let exprs = exprs
        .map(|(column, (table, name))| Expr::Column(column).alias_qualified(table, name))
        .collect();
    let projection = Projection::try_new(exprs, Arc::new(values))?;
    LogicalPlanBuilder::from(LogicalPlan::Projection(projection)).distinct()?.build()
}

fn is_large(plan: &LogicalPlan) -> Result<bool> {
    let mut nodes = 0;
    plan.apply_with_subqueries(|_| {
        nodes += 1;
        Ok(if nodes > MOST { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(nodes > MOST)
}

/// Returns a plan of the values of expressions over `input`, or of a superset. Returns `None` if it might lack a
/// value.
///
/// The plan runs beside `input`, so it must return the same rows each time. If `input` does not, as below LIMIT, the
/// plan skips operators that only select rows.
fn values(input: &LogicalPlan, exprs: Vec<Expr>) -> Result<Option<LogicalPlan>> {
    let plan = unlimited(input);
    if is_repeatable(plan, &exprs)? {
        let projection = Projection::try_new(exprs, Arc::new(plan.clone()))?;
        return Ok(Some(LogicalPlan::Projection(projection)));
    }
    if exprs.iter().any(Expr::is_volatile) {
        return Ok(None);
    }
    match plan {
        LogicalPlan::Limit(limit) => values(&limit.input, exprs),
        LogicalPlan::Sort(sort) => values(&sort.input, exprs),
        LogicalPlan::Filter(filter) => values(&filter.input, exprs),
        LogicalPlan::Distinct(Distinct::All(input)) => values(input, exprs),
        LogicalPlan::SubqueryAlias(alias) => {
            let below = alias.input.schema().columns();
            let above = alias.schema.columns();
            let pairs: Vec<_> =
                above.into_iter().zip(below.into_iter().map(Expr::Column)).collect();
            values(&alias.input, replaced(exprs, &pairs)?)
        }
        LogicalPlan::Projection(projection) => {
            let above = projection.schema.columns().into_iter();
            let below = projection.expr.iter().map(|expr| expr.clone().unalias());
            let pairs: Vec<_> = above.zip(below).collect();
            let exprs = replaced(exprs, &pairs)?;
            match exprs.iter().any(super::has_subquery) {
                true => Ok(None),
                false => values(&projection.input, exprs),
            }
        }
        LogicalPlan::Window(window) => match seen(&exprs, &window.input) {
            true => values(&window.input, exprs),
            false => Ok(None),
        },
        LogicalPlan::Aggregate(aggregate) => {
            let above = aggregate.schema.columns();
            let groups = aggregate.group_expr.iter().cloned();
            let plain = !aggregate.group_expr.iter().any(|it| matches!(it, Expr::GroupingSet(_)));
            let pairs: Vec<_> = above.into_iter().zip(groups.map(Expr::unalias)).collect();
            let named = exprs.iter().flat_map(Expr::column_refs);
            let are_groups = |column: &Column| pairs.iter().any(|(group, _)| group == column);
            match plain && named.into_iter().all(are_groups) {
                true => values(&aggregate.input, replaced(exprs, &pairs)?),
                false => Ok(None),
            }
        }
        LogicalPlan::Join(join) => {
            // The side that has the columns, and a row of NULLs if an outer join may add one.
            let (side, outer) = if seen(&exprs, &join.left) {
                (&join.left, matches!(join.join_type, JoinType::Right | JoinType::Full))
            } else if seen(&exprs, &join.right) {
                (&join.right, matches!(join.join_type, JoinType::Left | JoinType::Full))
            } else {
                return Ok(None);
            };
            let nulls = match outer {
                true => Some(of_nulls(&exprs, side)?),
                false => None,
            };
            let Some(plan) = values(side, exprs)? else { return Ok(None) };
            Ok(Some(match nulls {
                Some(nulls) => LogicalPlanBuilder::from(plan).union(nulls)?.build()?,
                None => plan,
            }))
        }
        _ => Ok(None),
    }
}

fn seen(exprs: &[Expr], plan: &LogicalPlan) -> bool {
    exprs.iter().flat_map(Expr::column_refs).all(|column| plan.schema().has_column(column))
}

fn replaced(exprs: Vec<Expr>, pairs: &[(Column, Expr)]) -> Result<Vec<Expr>> {
    use datafusion::common::tree_node::{Transformed, TransformedResult};
    let replaced = |expr: Expr| {
        expr.rewrite_up(&mut |expr| match &expr {
            Expr::Column(column) => Ok(match pairs.iter().find(|(above, _)| above == column) {
                Some((_, below)) => Transformed::new(below.clone(), true, TreeNodeRecursion::Jump),
                None => Transformed::no(expr),
            }),
            _ => Ok(Transformed::no(expr)),
        })
        .data()
    };
    exprs.into_iter().map(replaced).collect()
}

/// Returns one row with the values of the expressions if every column is NULL.
fn of_nulls(exprs: &[Expr], side: &LogicalPlan) -> Result<LogicalPlan> {
    let schema = side.schema();
    let mut nulls = Vec::new();
    for column in exprs.iter().flat_map(Expr::column_refs) {
        let null = ScalarValue::try_from(schema.field_from_column(column)?.data_type())?;
        nulls.push((column.clone(), lit(null)));
    }
    let exprs = replaced(exprs.to_vec(), &nulls)?;
    LogicalPlanBuilder::empty(true).project(exprs)?.build()
}

/// Returns the plan below LIMIT, ORDER BY and conditions with subqueries, which only select rows.
fn unlimited(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Limit(limit) => unlimited(&limit.input),
        LogicalPlan::Sort(sort) => unlimited(&sort.input),
        LogicalPlan::Filter(filter) if super::has_subquery(&filter.predicate) => {
            unlimited(&filter.input)
        }
        LogicalPlan::Projection(projection)
            if projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) =>
        {
            unlimited(&projection.input)
        }
        plan => plan,
    }
}

/// Returns true if a plan returns the same values each time.
fn is_repeatable(plan: &LogicalPlan, exprs: &[Expr]) -> Result<bool> {
    let mut repeatable = !exprs.iter().any(Expr::is_volatile);
    plan.apply_with_subqueries(|node| {
        let exprs = node.expressions();
        repeatable &=
            !matches!(node, LogicalPlan::Limit(_)) && !exprs.iter().any(Expr::is_volatile);
        Ok(match repeatable {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    })?;
    Ok(repeatable)
}
