//! A subquery for all values of the outer query's columns at once.
//!
//! The distinct values of these columns are joined to the subquery's tables, and stay columns of each of its nodes:
//! aggregates group by them, windows and limits are separate for each of them. In the end, the outer query is joined
//! with the rows that have its values, of which NULL is one.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result, not_impl_err};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::{Sort as SortExpr, WindowFunction};
use datafusion::logical_expr::logical_plan::{
    Aggregate, Distinct, Join, JoinConstraint, Limit, Projection, Sort, SubqueryAlias, Union,
    Window,
};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprFunctionExt, ExprSchemable, FetchType, Filter, LogicalPlan,
    LogicalPlanBuilder, Operator, SkipType, lit, when,
};

use super::outer::{Reference, replaced};
use super::{Names, outer};

/// The outer query's input with the only value of a subquery for each row, or NULL.
pub(super) fn scalar(
    input: LogicalPlan,
    subquery: &LogicalPlan,
    references: &[Reference],
    names: &Names,
) -> Result<(LogicalPlan, Column)> {
    let outer = Outer::new(&input, references, names)?;
    let inner = outer.inside(subquery.clone())?;
    let name = names.next("subquery");
    let value = Expr::Column(Column::from(inner.plan.schema().qualified_field(0)));
    let columns = inner.values.iter().cloned().map(Expr::Column);
    let columns = std::iter::once(value.alias(&name)).chain(columns).collect();
    let right = project(columns, inner.plan)?;
    let on = references.iter().map(|(_, column)| Expr::Column(column.clone()));
    let on = on.zip(inner.values.iter().cloned().map(Expr::Column)).collect();
    let joined = join(input, right, on, None, JoinType::Left)?;
    Ok((joined, Column::new_unqualified(name)))
}

/// A lateral join: each row with those of a subquery for it.
pub(super) fn lateral(
    lateral: Join,
    subquery: &super::Subquery,
    names: &Names,
) -> Result<LogicalPlan> {
    let references = outer::references(&subquery.subquery)?;
    let outer = Outer::new(&lateral.left, &references, names)?;
    let inner = outer.inside(subquery.subquery.as_ref().clone())?;
    let inner = match lateral.right.as_ref() {
        LogicalPlan::SubqueryAlias(alias) => inner.aliased(&alias.alias)?,
        _ => inner,
    };
    let columns: Vec<Expr> = lateral.schema.columns().into_iter().map(Expr::Column).collect();
    let same = references.iter().zip(&inner.values).map(|((_, column), value)| {
        same(Expr::Column(column.clone()), Expr::Column(value.clone()))
    });
    let filter = conjunction(same.chain(lateral.filter));
    let left = Arc::unwrap_or_clone(lateral.left);
    let joined = Join::try_new(
        Arc::new(left),
        Arc::new(inner.plan),
        lateral.on,
        filter,
        lateral.join_type,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )?;
    project(columns, LogicalPlan::Join(joined))
}

/// The distinct values of columns of the outer query.
struct Outer<'a> {
    columns: Vec<Column>,
    distinct: LogicalPlan,
    names: &'a Names,
}

/// A part of the subquery, with the outer query's values as columns of it.
struct Inner {
    plan: LogicalPlan,
    values: Vec<Column>,
}

impl Inner {
    fn aliased(self, alias: &datafusion::common::TableReference) -> Result<Self> {
        let plan = SubqueryAlias::try_new(Arc::new(self.plan), alias.clone())?;
        let values = self.values.into_iter();
        let values = values.map(|value| Column::new(Some(alias.clone()), value.name)).collect();
        Ok(Self { plan: LogicalPlan::SubqueryAlias(plan), values })
    }
}

impl<'a> Outer<'a> {
    fn new(input: &LogicalPlan, references: &[Reference], names: &'a Names) -> Result<Self> {
        let columns: Vec<Column> = references.iter().map(|(_, column)| column.clone()).collect();
        if let Some(column) = columns.iter().find(|column| !input.schema().has_column(column)) {
            return not_impl_err!(
                "a subquery in a subquery may not name `{column}`, a column of a query around both of them"
            );
        }
        // Values too many do no harm.
        let base = unlimited(input);
        if !is_repeatable(base)? {
            return not_impl_err!(
                "such a correlated subquery is not supported beside LIMIT or random(): the rows around it are read \
                 twice, and may differ; store them with CREATE TABLE … AS first"
            );
        }
        let exprs = columns.iter().cloned().map(Expr::Column);
        let exprs = exprs.map(|expr| expr.alias(names.next("outer"))).collect();
        let distinct =
            LogicalPlanBuilder::from(project(exprs, base.clone())?).distinct()?.build()?;
        Ok(Self { columns, distinct, names })
    }

    /// The values as a table with names of its own.
    fn values(&self) -> Result<Inner> {
        let columns = self.distinct.schema().columns().into_iter().map(Expr::Column);
        let exprs = columns.map(|expr| expr.alias(self.names.next("outer"))).collect();
        let plan = project(exprs, self.distinct.clone())?;
        let values = plan.schema().columns();
        Ok(Inner { plan, values })
    }

    /// An expression over the columns of a part.
    fn expr(&self, expr: Expr, part: &DFSchema, values: &[Column]) -> Result<Expr> {
        let by: Vec<_> = self.columns.iter().cloned().zip(values.iter().cloned()).collect();
        if expr.exists(|expr| names_foreign(expr, part))? {
            return not_impl_err!(
                "a subquery in a correlated subquery may not name columns of the query around both of them"
            );
        }
        replaced(expr, &by)
    }

    fn exprs(&self, exprs: Vec<Expr>, part: &DFSchema, values: &[Column]) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.expr(expr, part, values)).collect()
    }

    /// The subquery for each of the values.
    fn inside(&self, plan: LogicalPlan) -> Result<Inner> {
        if outer::references(&plan)?.is_empty() {
            let Inner { plan: all, values } = self.values()?;
            let plan = LogicalPlanBuilder::from(plan).cross_join(all)?.build()?;
            return Ok(Inner { plan, values });
        }
        match plan {
            LogicalPlan::Filter(filter) => {
                let Inner { plan, values } = self.input(filter.input)?;
                let predicate = self.expr(filter.predicate, plan.schema(), &values)?;
                let filter = Filter::try_new(unaliased(predicate), Arc::new(plan))?;
                Ok(Inner { plan: LogicalPlan::Filter(filter), values })
            }
            LogicalPlan::Projection(projection) => {
                let schema = Arc::clone(&projection.schema);
                let Inner { plan, values } = self.input(projection.input)?;
                self.projected(projection.expr, &schema, plan, values)
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let name = alias.alias.clone();
                self.input(alias.input)?.aliased(&name)
            }
            LogicalPlan::Sort(Sort { input, fetch: None, .. }) => self.input(input),
            LogicalPlan::Limit(limit) => self.limited(&limit, limit.input.as_ref().clone()),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let Inner { plan, values } = self.input(input)?;
                let plan = LogicalPlanBuilder::from(plan).distinct()?.build()?;
                Ok(Inner { plan, values })
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregated(aggregate),
            LogicalPlan::Window(window) => self.windowed(window),
            LogicalPlan::Join(join) => self.joined(join),
            LogicalPlan::Union(union) => self.united(union),
            plan => {
                not_impl_err!("a correlated subquery with {} is not supported", plan.display())
            }
        }
    }

    fn input(&self, input: Arc<LogicalPlan>) -> Result<Inner> {
        self.inside(Arc::unwrap_or_clone(input))
    }

    /// A projection of a part, with the names that the projection of the subquery has.
    fn projected(
        &self,
        exprs: Vec<Expr>,
        schema: &DFSchema,
        plan: LogicalPlan,
        values: Vec<Column>,
    ) -> Result<Inner> {
        let mut columns = Vec::with_capacity(exprs.len() + values.len());
        for (expr, (qualifier, field)) in exprs.into_iter().zip(schema.iter()) {
            columns.push(match expr.contains_outer() {
                true => unaliased(self.expr(expr, plan.schema(), &values)?)
                    .alias_qualified(qualifier.cloned(), field.name()),
                false => self.expr(expr, plan.schema(), &values)?,
            });
        }
        columns.extend(values.iter().cloned().map(Expr::Column));
        Ok(Inner { plan: project(columns, plan)?, values })
    }

    /// LIMIT for each of the values: rows are numbered in the order of the subquery.
    fn limited(&self, limit: &Limit, input: LogicalPlan) -> Result<Inner> {
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) =
            (limit.get_skip_type()?, limit.get_fetch_type()?)
        else {
            return not_impl_err!(
                "a correlated subquery with a LIMIT that is no number is not supported"
            );
        };
        let (order, input) = match input {
            LogicalPlan::Projection(projection) => {
                let schema = Arc::clone(&projection.schema);
                let input = projection.input.as_ref().clone();
                let Inner { plan, values } = self.limited(limit, input)?;
                return self.projected(projection.expr, &schema, plan, values);
            }
            LogicalPlan::SubqueryAlias(alias) => {
                return self.limited(limit, alias.input.as_ref().clone())?.aliased(&alias.alias);
            }
            LogicalPlan::Sort(Sort { expr, input, fetch: None }) => {
                (expr, Arc::unwrap_or_clone(input))
            }
            input => (Vec::new(), input),
        };
        let Inner { plan, values } = self.inside(input)?;
        let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        let order = order.into_iter().map(|sort| {
            let expr = unaliased(self.expr(sort.expr, plan.schema(), &values)?);
            Ok(SortExpr::new(expr, sort.asc, sort.nulls_first))
        });
        let order = order.collect::<Result<Vec<_>>>()?;
        let partition = values.iter().cloned().map(Expr::Column).collect();
        let name = self.names.next("row");
        let number = match order.is_empty() {
            true => row_number().partition_by(partition).build()?,
            false => row_number().partition_by(partition).order_by(order).build()?,
        };
        let window = Window::try_new(vec![number.alias(&name)], Arc::new(plan))?;
        let number = Expr::Column(Column::new_unqualified(name));
        let skip = skip as u64;
        let mut condition = number.clone().gt(lit(skip));
        if let Some(fetch) = fetch {
            condition = condition.and(number.lt_eq(lit(skip.saturating_add(fetch as u64))));
        }
        let filter = Filter::try_new(condition, Arc::new(LogicalPlan::Window(window)))?;
        Ok(Inner { plan: project(columns, LogicalPlan::Filter(filter))?, values })
    }

    fn aggregated(&self, aggregate: Aggregate) -> Result<Inner> {
        let Aggregate { input, group_expr, aggr_expr, schema, .. } = aggregate;
        if group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
            return not_impl_err!(
                "a correlated subquery with ROLLUP, CUBE or GROUPING SETS is not supported"
            );
        }
        let Inner { plan, values } = self.input(input)?;
        let one_row = group_expr.is_empty();
        let mut groups = self.exprs(group_expr, plan.schema(), &values)?;
        groups.extend(values.iter().cloned().map(Expr::Column));
        let input_schema = Arc::clone(plan.schema());
        let exprs = self.exprs(aggr_expr, &input_schema, &values)?;
        let defaults = exprs.iter().map(|expr| of_no_rows(expr, &input_schema));
        let defaults = defaults.collect::<Result<Vec<_>>>()?;
        let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(plan), groups, exprs)?);
        if !one_row {
            return Ok(Inner { plan, values });
        }
        // Values without rows have a row, too.
        let hit = self.names.next("hit");
        let mut columns: Vec<Expr> =
            plan.schema().columns().into_iter().map(Expr::Column).collect();
        columns.push(lit(true).alias(&hit));
        let right = project(columns, plan)?;
        let all = self.values()?;
        let on = all.values.iter().cloned().map(Expr::Column);
        let on = on.zip(values.into_iter().map(Expr::Column)).collect();
        let plan = join(all.plan, right, on, None, JoinType::Left)?;
        let missed = Expr::Column(Column::new_unqualified(hit)).is_null();
        let mut columns = Vec::new();
        for ((qualifier, field), default) in schema.iter().zip(defaults) {
            let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
            columns.push(match default {
                Some(default) => when(missed.clone(), default)
                    .otherwise(column)?
                    .alias_qualified(qualifier.cloned(), field.name()),
                None => column,
            });
        }
        columns.extend(all.values.iter().cloned().map(Expr::Column));
        Ok(Inner { plan: project(columns, plan)?, values: all.values })
    }

    fn windowed(&self, window: Window) -> Result<Inner> {
        let Inner { plan, values } = self.input(window.input)?;
        let exprs = window.window_expr.into_iter().map(|expr| {
            let name = expr.schema_name().to_string();
            let expr = unaliased(self.expr(expr, plan.schema(), &values)?);
            let Expr::WindowFunction(mut function) = expr else {
                return not_impl_err!("a correlated subquery with {expr} is not supported");
            };
            let WindowFunction { params, .. } = function.as_mut();
            params.partition_by.extend(values.iter().cloned().map(Expr::Column));
            Ok(Expr::WindowFunction(function).alias(name))
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        let window = Window::try_new(exprs, Arc::new(plan))?;
        Ok(Inner { plan: LogicalPlan::Window(window), values })
    }

    fn joined(&self, join: Join) -> Result<Inner> {
        use JoinType::{
            Full, Inner as Both, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark,
            RightSemi,
        };
        let refers =
            |plan: &LogicalPlan| -> Result<bool> { Ok(!outer::references(plan)?.is_empty()) };
        let (left, right) = match join.join_type {
            Both => {
                let right = refers(&join.right)?;
                (refers(&join.left)? || !right, right)
            }
            Left | LeftSemi | LeftAnti | LeftMark => (true, refers(&join.right)?),
            Right | RightSemi | RightAnti | RightMark => (refers(&join.left)?, true),
            Full => {
                return not_impl_err!("a correlated subquery with a FULL JOIN is not supported");
            }
        };
        if join.null_aware {
            return not_impl_err!("a correlated subquery with NOT IN in it is not supported");
        }
        let part = |plan: Arc<LogicalPlan>, inside: bool| match inside {
            true => self.input(plan).map(|inner| (inner.plan, inner.values)),
            false => Ok((Arc::unwrap_or_clone(plan), Vec::new())),
        };
        let (left, left_values) = part(join.left, left)?;
        let (right, right_values) = part(join.right, right)?;
        let kept = match join.join_type {
            Right | RightSemi | RightAnti | RightMark => &right_values,
            _ if left_values.is_empty() => &right_values,
            _ => &left_values,
        };
        let kept = kept.clone();
        let pairs = left_values
            .iter()
            .zip(&right_values)
            .map(|(left, right)| same(Expr::Column(left.clone()), Expr::Column(right.clone())));
        let seen = if left_values.is_empty() { &right_values } else { &left_values };
        let both = left.schema().join(right.schema())?;
        let filter = join.filter.map(|filter| self.expr(filter, &both, seen)).transpose()?;
        let filter = conjunction(filter.map(unaliased).into_iter().chain(pairs));
        let joined = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            join.on,
            filter,
            join.join_type,
            JoinConstraint::On,
            join.null_equality,
            false,
        )?;
        Ok(Inner { plan: LogicalPlan::Join(joined), values: kept })
    }

    fn united(&self, union: Union) -> Result<Inner> {
        let names: Vec<String> = self.columns.iter().map(|_| self.names.next("outer")).collect();
        let inputs = union.inputs.into_iter().map(|input| {
            let columns = input.schema().columns();
            let Inner { plan, values } = self.input(input)?;
            let values = values.into_iter().zip(&names);
            let values = values.map(|(value, name)| Expr::Column(value).alias(name));
            let columns = columns.into_iter().map(Expr::Column).chain(values).collect();
            Ok(Arc::new(project(columns, plan)?))
        });
        let union = Union::try_new(inputs.collect::<Result<Vec<_>>>()?)?;
        let values = names.into_iter().map(Column::new_unqualified).collect();
        Ok(Inner { plan: LogicalPlan::Union(union), values })
    }
}

fn project(columns: Vec<Expr>, input: LogicalPlan) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?))
}

/// A join in which NULL is equal to NULL.
fn join(
    left: LogicalPlan,
    right: LogicalPlan,
    on: Vec<(Expr, Expr)>,
    filter: Option<Expr>,
    join_type: JoinType,
) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Join(Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        filter,
        join_type,
        JoinConstraint::On,
        NullEquality::NullEqualsNull,
        false,
    )?))
}

fn same(left: Expr, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), Operator::IsNotDistinctFrom, Box::new(right)))
}

fn unaliased(expr: Expr) -> Expr {
    match expr {
        Expr::Alias(alias) => *alias.expr,
        expr => expr,
    }
}

/// Whether an expression is a subquery that names other columns than those of the part that it is in.
fn names_foreign(expr: &Expr, part: &DFSchema) -> Result<bool> {
    match outer::subquery_of(expr) {
        Some(inner) => {
            let named = outer::references(&inner.subquery)?;
            Ok(named.iter().any(|(_, column)| !part.has_column(column)))
        }
        None => Ok(false),
    }
}

/// The value of an aggregate over no rows, unless it is NULL.
fn of_no_rows(expr: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let value = expr
        .clone()
        .transform_up(|expr| match &expr {
            Expr::AggregateFunction(aggregate) => {
                let value = aggregate.func.default_value(&expr.get_type(schema)?)?;
                Ok(Transformed::yes(Expr::Literal(value, None)))
            }
            _ => Ok(Transformed::no(expr)),
        })
        .data()?;
    let value = unaliased(value);
    Ok(match &value {
        Expr::Literal(literal, _) if literal.is_null() => None,
        _ => Some(value),
    })
}

/// The plan below LIMIT, ORDER BY and conditions with subqueries, which only choose among its rows.
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

/// Whether a plan has the same rows each time.
fn is_repeatable(plan: &LogicalPlan) -> Result<bool> {
    let mut repeatable = true;
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
