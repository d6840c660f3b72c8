//! Computes a subquery for all values of the outer query's columns at once.
//!
//! The distinct values of these columns are joined to the subquery's tables, and stay columns of each of its nodes.
//! Aggregates group by them, and windows and limits apply per value. Finally the outer query is joined with the rows
//! that have its values. NULL counts as a value.

mod union;

use crate::rewrite::Rewrite;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result, not_impl_err};
use datafusion::functions::expr_fn::coalesce;
use datafusion::functions_aggregate::expr_fn::{count, first_value};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::{Sort as SortExpr, WindowFunction};
use datafusion::logical_expr::logical_plan::{
    Aggregate, Distinct, Join, JoinConstraint, Limit, Projection, Sort, SubqueryAlias, Unnest,
    Window,
};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprFunctionExt, ExprSchemable, FetchType, Filter, LogicalPlan,
    LogicalPlanBuilder, Operator, SkipType, lit, when,
};

use super::one_row::one_row;
use super::outer::{Reference, replaced};
use super::{Names, domain, outer, shape};

/// Returns the outer query's input with the result of a subquery for each row, or NULL, and the expression of that
/// result. It fails at run time if a subquery has more than one row. `before` has all values of the referenced
/// columns.
pub(super) fn scalar(
    input: LogicalPlan,
    before: &LogicalPlan,
    subquery: &LogicalPlan,
    references: &[Reference],
    names: &Names,
) -> Result<(LogicalPlan, Expr)> {
    let outer = Outer::new(before, references, names)?;
    let inner = outer.inside(subquery.clone())?;
    let name = names.next("subquery");
    let value = Expr::Column(Column::from(inner.plan.schema().qualified_field(0)));
    let values: Vec<Expr> = inner.values.iter().cloned().map(Expr::Column).collect();
    let value_column = Expr::Column(Column::new_unqualified(&name));
    let (right, value) = match shape::has_one_row_at_most(subquery) {
        true => {
            let columns = std::iter::once(value.alias(&name)).chain(values).collect();
            (project(columns, inner.plan)?, value_column)
        }
        false => {
            let number = names.next("rows");
            let first = first_value(value, Vec::new()).alias(&name);
            let exprs = vec![first, count(lit(1_i64)).alias(&number)];
            let grouped = Aggregate::try_new(Arc::new(inner.plan), values, exprs)?;
            let number = Expr::Column(Column::new_unqualified(number));
            (LogicalPlan::Aggregate(grouped), one_row(value_column, number))
        }
    };
    let on = references.iter().map(|(_, column)| Expr::Column(column.clone()));
    let on = on.zip(inner.values.iter().cloned().map(Expr::Column)).collect();
    let joined = join(input, right, on, None, JoinType::Left)?;
    Ok((joined, value))
}

/// Plans a lateral join: each row is joined with the rows of its subquery.
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

/// A part of the subquery that also has the outer query's values as columns.
struct UnnestedPart {
    plan: LogicalPlan,
    values: Vec<Column>,
}

impl UnnestedPart {
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
        let named = columns.iter().map(|_| (None, names.next("outer"))).collect();
        let distinct = domain::distinct(input, &columns, named)?;
        Ok(Self { columns, distinct, names })
    }

    /// Returns the values as a table with unique column names.
    fn values(&self) -> Result<UnnestedPart> {
        let columns = self.distinct.schema().columns().into_iter().map(Expr::Column);
        let exprs = columns.map(|expr| expr.alias(self.names.next("outer"))).collect();
        let plan = project(exprs, self.distinct.clone())?;
        let values = plan.schema().columns();
        Ok(UnnestedPart { plan, values })
    }

    /// Returns an expression over the columns of a part. Its own subqueries then reference the columns of the part
    /// instead of those of the outer query.
    fn expr(&self, expr: Expr, part: &DFSchema, values: &[Column]) -> Result<Expr> {
        let by: Vec<_> = self.columns.iter().cloned().zip(values.iter().cloned()).collect();
        let expr = outer::replaced_in_subqueries(expr, &by, &|column| part.has_column(column))?;
        replaced(expr, &by)
    }

    /// Rewrites the subqueries of a node, whose columns are now all present.
    fn finished(&self, plan: LogicalPlan, values: Vec<Column>) -> Result<UnnestedPart> {
        let plan = super::rewritten(plan, self.names)?.data;
        Ok(UnnestedPart { plan, values })
    }

    fn exprs(&self, exprs: Vec<Expr>, part: &DFSchema, values: &[Column]) -> Result<Vec<Expr>> {
        exprs.into_iter().map(|expr| self.expr(expr, part, values)).collect()
    }

    /// Returns the subquery for each of the values.
    fn inside(&self, plan: LogicalPlan) -> Result<UnnestedPart> {
        if outer::references(&plan)?.is_empty() {
            let UnnestedPart { plan: all, values } = self.values()?;
            let plan = LogicalPlanBuilder::from(plan).cross_join(all)?.build()?;
            return Ok(UnnestedPart { plan, values });
        }
        match plan {
            LogicalPlan::Filter(filter) => {
                let UnnestedPart { plan, values } = self.input(filter.input)?;
                let predicate = self.expr(filter.predicate, plan.schema(), &values)?;
                let filter = Filter::try_new(unaliased(predicate), Arc::new(plan))?;
                self.finished(LogicalPlan::Filter(filter), values)
            }
            LogicalPlan::Projection(projection) => {
                let schema = Arc::clone(&projection.schema);
                let UnnestedPart { plan, values } = self.input(projection.input)?;
                self.projected(projection.expr, &schema, plan, values)
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let name = alias.alias.clone();
                self.input(alias.input)?.aliased(&name)
            }
            LogicalPlan::Sort(Sort { input, fetch: None, .. }) => self.input(input),
            LogicalPlan::Limit(limit) => self.limited(&limit, limit.input.as_ref().clone()),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let UnnestedPart { plan, values } = self.input(input)?;
                let plan = LogicalPlanBuilder::from(plan).distinct()?.build()?;
                Ok(UnnestedPart { plan, values })
            }
            LogicalPlan::Aggregate(aggregate) => match aggregate.group_expr.as_slice() {
                [Expr::GroupingSet(sets)] => self.grouped_by_sets(&aggregate, sets),
                _ => self.aggregated(aggregate),
            },
            LogicalPlan::Window(window) => self.windowed(window),
            LogicalPlan::Join(join) => self.joined(join),
            LogicalPlan::Union(union) => self.united(union),
            LogicalPlan::Values(list) => self.listed(list),
            LogicalPlan::Unnest(unnest) => {
                let UnnestedPart { plan, values } = self.input(unnest.input)?;
                let made = Unnest::try_new(Arc::new(plan), unnest.exec_columns, unnest.options)?;
                Ok(UnnestedPart { plan: LogicalPlan::Unnest(made), values })
            }
            plan => {
                not_impl_err!("a correlated subquery with {} is not supported", plan.display())
            }
        }
    }

    fn input(&self, input: Arc<LogicalPlan>) -> Result<UnnestedPart> {
        self.inside(Arc::unwrap_or_clone(input))
    }

    /// Returns a projection of a part with the names of the subquery's projection.
    fn projected(
        &self,
        exprs: Vec<Expr>,
        schema: &DFSchema,
        plan: LogicalPlan,
        values: Vec<Column>,
    ) -> Result<UnnestedPart> {
        let mut columns = Vec::with_capacity(exprs.len() + values.len());
        for (expr, (qualifier, field)) in exprs.into_iter().zip(schema.iter()) {
            columns.push(match expr.contains_outer() {
                true => unaliased(self.expr(expr, plan.schema(), &values)?)
                    .alias_qualified(qualifier.cloned(), field.name()),
                false => self.expr(expr, plan.schema(), &values)?,
            });
        }
        columns.extend(values.iter().cloned().map(Expr::Column));
        self.finished(project(columns, plan)?, values)
    }

    /// Applies LIMIT per value, by numbering rows in the order of the subquery.
    fn limited(&self, limit: &Limit, input: LogicalPlan) -> Result<UnnestedPart> {
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
                let UnnestedPart { plan, values } = self.limited(limit, input)?;
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
        let UnnestedPart { plan, values } = self.inside(input)?;
        let columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        let order = order.into_iter().map(|sort| {
            let expr = self.expr(sort.expr, plan.schema(), &values)?.unalias();
            Ok(SortExpr::new(expr, sort.asc, sort.nulls_first))
        });
        let mut order = order.collect::<Result<Vec<_>>>()?;
        // An expression that is constant per value does not affect the order.
        order.retain(|by| {
            by.expr.column_refs().into_iter().any(|it| !is_one_of(it, &plan, &values))
        });
        let partition = values.iter().cloned().map(Expr::Column).collect();
        let name = self.names.next("row");
        let number = match order.is_empty() {
            true => row_number().partition_by(partition).build()?,
            false => row_number().partition_by(partition).order_by(order).build()?,
        };
        let window = Window::try_new(vec![number.alias(&name)], Arc::new(plan))?;
        let window = super::rewritten(LogicalPlan::Window(window), self.names)?.data;
        let number = Expr::Column(Column::new_unqualified(name));
        let skip = skip as u64;
        let mut condition = number.clone().gt(lit(skip));
        if let Some(fetch) = fetch {
            condition = condition.and(number.lt_eq(lit(skip.saturating_add(fetch as u64))));
        }
        let filter = Filter::try_new(condition, Arc::new(window))?;
        Ok(UnnestedPart { plan: project(columns, LogicalPlan::Filter(filter))?, values })
    }

    fn aggregated(&self, aggregate: Aggregate) -> Result<UnnestedPart> {
        let Aggregate { input, group_expr, aggr_expr, schema, .. } = aggregate;
        let UnnestedPart { plan, values } = self.input(input)?;
        let one_row = group_expr.is_empty();
        let mut groups = self.exprs(group_expr, plan.schema(), &values)?;
        groups.extend(values.iter().cloned().map(Expr::Column));
        let input_schema = Arc::clone(plan.schema());
        let exprs = self.exprs(aggr_expr, &input_schema, &values)?;
        let defaults = exprs.iter().map(|expr| of_no_rows(expr, &input_schema));
        let defaults = defaults.collect::<Result<Vec<_>>>()?;
        let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(plan), groups, exprs)?);
        let plan = super::rewritten(plan, self.names)?.data;
        if !one_row {
            return Ok(UnnestedPart { plan, values });
        }
        // Values without rows also get a row.
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
        Ok(UnnestedPart { plan: project(columns, plan)?, values: all.values })
    }

    fn windowed(&self, window: Window) -> Result<UnnestedPart> {
        let UnnestedPart { plan, values } = self.input(window.input)?;
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
        self.finished(LogicalPlan::Window(window), values)
    }

    fn joined(&self, join: Join) -> Result<UnnestedPart> {
        use JoinType::{
            Full, Inner as Both, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark,
            RightSemi,
        };
        let refers =
            |plan: &LogicalPlan| -> Result<bool> { Ok(!outer::references(plan)?.is_empty()) };
        let joined_type = join.join_type;
        let (left, right) = match joined_type {
            Both => {
                let right = refers(&join.right)?;
                (refers(&join.left)? || !right, right)
            }
            Left | LeftSemi | LeftAnti | LeftMark => (true, refers(&join.right)?),
            Right | RightSemi | RightAnti | RightMark => (refers(&join.left)?, true),
            Full => (true, true),
        };
        if outer::lateral(&join).is_some() {
            return self.with_lateral(join);
        }
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
        let joined = super::rewritten(LogicalPlan::Join(joined), self.names)?.data;
        match joined_type {
            Full => self.of_either_side(joined, &left_values, &right_values),
            _ => Ok(UnnestedPart { plan: joined, values: kept }),
        }
    }

    /// Plans a lateral join whose right side may reference the values like the columns of its left side.
    fn with_lateral(&self, join: Join) -> Result<UnnestedPart> {
        let named: Vec<Column> = join.left.schema().columns();
        let UnnestedPart { plan: left, values } = self.input(join.left)?;
        let by = self.columns.iter().cloned().zip(values.iter().cloned());
        let by: Vec<_> = by.filter(|(outer, _)| !named.contains(outer)).collect();
        let replaced = |sub: super::Subquery| -> Result<LogicalPlan> {
            let plan = outer::replaced_in_plan(Arc::unwrap_or_clone(sub.subquery), &by)?;
            Ok(LogicalPlan::Subquery(super::subquery(plan)))
        };
        let right = match Arc::unwrap_or_clone(join.right) {
            LogicalPlan::Subquery(sub) => replaced(sub)?,
            LogicalPlan::SubqueryAlias(alias) => match Arc::unwrap_or_clone(alias.input) {
                LogicalPlan::Subquery(sub) => {
                    let aliased = SubqueryAlias::try_new(Arc::new(replaced(sub)?), alias.alias)?;
                    LogicalPlan::SubqueryAlias(aliased)
                }
                plan => return not_impl_err!("a lateral {} is not supported", plan.display()),
            },
            plan => return not_impl_err!("a lateral {} is not supported", plan.display()),
        };
        let both = left.schema().join(right.schema())?;
        let filter = join.filter.map(|filter| self.expr(filter, &both, &values)).transpose()?;
        let joined = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            join.on,
            filter.map(unaliased),
            join.join_type,
            join.join_constraint,
            join.null_equality,
            false,
        )?;
        self.finished(LogicalPlan::Join(joined), values)
    }

    /// Plans a FULL JOIN, in which one of the sides may lack the values.
    fn of_either_side(
        &self,
        joined: LogicalPlan,
        left: &[Column],
        right: &[Column],
    ) -> Result<UnnestedPart> {
        let columns = joined.schema().columns().into_iter();
        let columns = columns.filter(|it| !left.contains(it) && !right.contains(it));
        let mut exprs: Vec<Expr> = columns.map(Expr::Column).collect();
        // NULL counts as a value; both sides are then NULL.
        let names: Vec<String> = left.iter().map(|_| self.names.next("outer")).collect();
        for ((left, right), name) in left.iter().zip(right).zip(&names) {
            let either = vec![Expr::Column(left.clone()), Expr::Column(right.clone())];
            exprs.push(coalesce(either).alias(name));
        }
        let values = names.into_iter().map(Column::new_unqualified).collect();
        Ok(UnnestedPart { plan: project(exprs, joined)?, values })
    }
}

pub(super) fn project(columns: Vec<Expr>, input: LogicalPlan) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?))
}

/// Returns a join in which NULL equals NULL.
pub(super) fn join(
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

pub(super) fn same(left: Expr, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), Operator::IsNotDistinctFrom, Box::new(right)))
}

fn unaliased(expr: Expr) -> Expr {
    match expr {
        Expr::Alias(alias) => *alias.expr,
        expr => expr,
    }
}

/// Returns true if a column is one of the values, maybe under another name.
fn is_one_of(column: &Column, plan: &LogicalPlan, values: &[Column]) -> bool {
    if values.contains(column) {
        return true;
    }
    let LogicalPlan::Projection(projection) = plan else { return false };
    let at = projection.schema.maybe_index_of_column(column);
    match at.and_then(|at| projection.expr.get(at)).map(|expr| expr.clone().unalias()) {
        Some(Expr::Column(column)) => is_one_of(&column, &projection.input, values),
        _ => false,
    }
}

/// Returns the value of an aggregate over no rows, unless it is NULL.
fn of_no_rows(expr: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let value = expr
        .clone()
        .rewrite_up(&mut |expr| match &expr {
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
