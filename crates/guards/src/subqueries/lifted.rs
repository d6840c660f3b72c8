//! Plans subqueries in GROUP BY, aggregates, windows, ORDER BY and the conditions of outer joins.
//!
//! A projection below the node computes them.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::logical_plan::{
    Aggregate, Join, JoinConstraint, Projection, Sort, Window,
};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};

use super::{Names, is_subquery, join_conditions, outer, shape};
use crate::rewrite::Rewrite;

/// Returns true if a projection must compute subqueries of an expression. DataFusion runs uncorrelated scalar
/// subqueries anywhere.
pub(super) fn to_be_lifted(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(is_subquery(expr) && !is_constant(expr))).unwrap_or(true)
}

fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarSubquery(subquery) => {
            shape::is_known_to_be_null(&subquery.subquery)
                && outer::references(&subquery.subquery).is_ok_and(|found| found.is_empty())
        }
        _ => false,
    }
}

/// Returns an aggregate over columns that hold the results of subqueries.
pub(super) fn aggregate(aggregate: Aggregate, names: &Names) -> Result<LogicalPlan> {
    let Aggregate { input, group_expr, aggr_expr, schema, .. } = aggregate;
    let mut lifted = LiftedSubqueries::default();
    let groups = lifted.all(group_expr, names)?;
    let aggregates = lifted.all(aggr_expr, names)?;
    let input = lifted.below(Arc::unwrap_or_clone(input), names)?;
    let made = Aggregate::try_new(Arc::new(input), groups, aggregates)?;
    named_as_before(LogicalPlan::Aggregate(made), &schema)
}

/// Returns a window over columns that hold the results of subqueries.
pub(super) fn window(window: Window, names: &Names) -> Result<LogicalPlan> {
    let Window { input, window_expr, schema } = window;
    let mut lifted = LiftedSubqueries::default();
    let exprs = lifted.all(window_expr, names)?;
    let more = lifted.added.len();
    let own = input.schema().fields().len();
    let input = lifted.below(Arc::unwrap_or_clone(input), names)?;
    let made = LogicalPlan::Window(Window::try_new(exprs, Arc::new(input))?);
    let columns = made.schema().columns().into_iter().enumerate();
    let kept = columns.filter(|(at, _)| *at < own || *at >= own + more).map(|(_, column)| column);
    let exprs = kept
        .zip(schema.iter())
        .map(|(column, (qualifier, field))| renamed(column, qualifier.cloned(), field.name()));
    project(exprs.collect(), made)
}

/// Returns ORDER BY columns that hold the results of subqueries.
pub(super) fn sort(sort: Sort, names: &Names) -> Result<LogicalPlan> {
    let Sort { expr, input, fetch } = sort;
    let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    let mut lifted = LiftedSubqueries::default();
    let mut order = Vec::with_capacity(expr.len());
    for mut by in expr {
        by.expr = lifted.one(by.expr, names)?;
        order.push(by);
    }
    let input = with_columns(Arc::unwrap_or_clone(input), &lifted.named()?)?;
    let input = lifted.below(input, names)?;
    let sorted = LogicalPlan::Sort(Sort { expr: order, input: Arc::new(input), fetch });
    project(columns, sorted)
}

/// Adds columns of its input to a projection that lacks them.
fn with_columns(plan: LogicalPlan, named: &[Column]) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(projection) = plan else { return Ok(plan) };
    let lacks = |column: &&Column| {
        !projection.schema.has_column(column) && projection.input.schema().has_column(column)
    };
    let more: Vec<Expr> = named.iter().filter(lacks).cloned().map(Expr::Column).collect();
    let mut exprs = projection.expr;
    exprs.extend(more);
    project(exprs, Arc::unwrap_or_clone(projection.input))
}

/// Plans an outer join whose condition has subqueries. Each is computed for the side whose columns it references, or
/// for both.
pub(super) fn join(join: Join, names: &Names) -> Result<LogicalPlan> {
    let columns: Vec<Expr> = join.schema.columns().into_iter().map(Expr::Column).collect();
    let Join { left, right, on, filter, join_type, join_constraint, schema, null_equality, .. } =
        join;
    let own = left.schema().fields().len();
    let (mut sides, mut both) =
        ((LiftedSubqueries::default(), LiftedSubqueries::default()), LiftedSubqueries::default());
    let filter = filter.map(|filter| {
        filter
            .rewrite_down(&mut |expr| {
                if !is_subquery(&expr) || is_constant(&expr) {
                    return Ok(Transformed::no(expr));
                }
                let named = named_by(&expr)?;
                let all = |schema: &DFSchema| named.iter().all(|column| schema.has_column(column));
                let side = if all(left.schema()) {
                    &mut sides.0
                } else if all(right.schema()) {
                    &mut sides.1
                } else {
                    &mut both
                };
                Ok(Transformed::new(side.add(expr, names), true, TreeNodeRecursion::Jump))
            })
            .data()
    });
    let filter = filter.transpose()?;
    let mut keys = Vec::with_capacity(on.len());
    for (one, other) in on {
        keys.push((sides.0.one(one, names)?, sides.1.one(other, names)?));
    }
    let left = sides.0.below(Arc::unwrap_or_clone(left), names)?;
    let right = sides.1.below(Arc::unwrap_or_clone(right), names)?;
    if !both.added.is_empty() {
        let join = Join {
            left: Arc::new(left),
            right: Arc::new(right),
            on: keys,
            filter,
            join_type,
            join_constraint,
            schema,
            null_equality,
            null_aware: false,
        };
        return project(columns, join_conditions::join(&join, own, both, names)?);
    }
    let constraint = match join_constraint {
        JoinConstraint::Using if keys.iter().any(|(one, _)| !matches!(one, Expr::Column(_))) => {
            JoinConstraint::On
        }
        constraint => constraint,
    };
    let joined = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        keys,
        filter,
        join_type,
        constraint,
        null_equality,
        false,
    )?;
    project(columns, LogicalPlan::Join(joined))
}

/// Returns true if the condition of an outer join has subqueries that a projection must compute.
pub(super) fn is_outer_join_with_subqueries(join: &Join) -> bool {
    join.join_type != JoinType::Inner
        && (join.filter.as_ref().is_some_and(to_be_lifted)
            || join.on.iter().any(|(one, other)| to_be_lifted(one) || to_be_lifted(other)))
}

/// Returns the columns of the node that an expression with a subquery references.
fn named_by(expr: &Expr) -> Result<Vec<Column>> {
    let mut named: Vec<Column> = expr.column_refs().into_iter().cloned().collect();
    expr.apply(|expr| {
        if let Some(inner) = outer::subquery_of(expr) {
            let found = outer::references(&inner.subquery)?;
            named.extend(found.into_iter().map(|(_, column)| column));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(named)
}

/// Subqueries that have become columns.
#[derive(Default)]
pub(super) struct LiftedSubqueries {
    added: Vec<(Expr, String)>,
}

impl LiftedSubqueries {
    fn all(&mut self, exprs: Vec<Expr>, names: &Names) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.one(expr, names)).collect()
    }

    fn one(&mut self, expr: Expr, names: &Names) -> Result<Expr> {
        expr.rewrite_down(&mut |expr| match is_subquery(&expr) && !is_constant(&expr) {
            true => Ok(Transformed::new(self.add(expr, names), true, TreeNodeRecursion::Jump)),
            false => Ok(Transformed::no(expr)),
        })
        .data()
    }

    /// Returns the column that an expression becomes. Equal expressions share a column.
    fn add(&mut self, expr: Expr, names: &Names) -> Expr {
        let known = self.added.iter().find(|(other, _)| *other == expr);
        let name = match known {
            Some((_, name)) => name.clone(),
            None => {
                let name = names.next("subquery");
                self.added.push((expr, name.clone()));
                name
            }
        };
        Expr::Column(Column::new_unqualified(name))
    }

    /// Returns the new columns.
    pub(super) fn names(&self) -> impl Iterator<Item = Column> {
        self.added.iter().map(|(_, name)| Column::new_unqualified(name))
    }

    /// Returns the columns that the subqueries reference.
    pub(super) fn named(&self) -> Result<Vec<Column>> {
        let mut named = Vec::new();
        for (expr, _) in &self.added {
            named.extend(named_by(expr)?);
        }
        Ok(named)
    }

    /// Returns a projection that computes the subqueries.
    pub(super) fn below(self, input: LogicalPlan, names: &Names) -> Result<LogicalPlan> {
        if self.added.is_empty() {
            return Ok(input);
        }
        let mut exprs: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
        exprs.extend(self.added.into_iter().map(|(expr, name)| expr.alias(name)));
        Ok(super::rewritten(project(exprs, input)?, names)?.data)
    }
}

/// Restores the column names of a node.
fn named_as_before(plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    let columns = plan.schema().columns().into_iter();
    let exprs = columns
        .zip(schema.iter())
        .map(|(column, (qualifier, field))| renamed(column, qualifier.cloned(), field.name()));
    project(exprs.collect(), plan)
}

fn renamed(
    column: Column,
    qualifier: Option<datafusion::common::TableReference>,
    name: &str,
) -> Expr {
    match column.relation == qualifier && column.name == name {
        true => Expr::Column(column),
        false => Expr::Column(column).alias_qualified(qualifier, name),
    }
}

pub(super) fn project(columns: Vec<Expr>, input: LogicalPlan) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?))
}
