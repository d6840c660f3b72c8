//! Sorts, groups and partitions intervals by their length.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, Result};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, SortExpr,
};

use super::length;
use crate::comparisons::rewritten;
use crate::rewrite::Rewrite;
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "ORDER BY, MIN, MAX and GROUP BY of intervals look at the months first",
    upstream: &[],
    ours: "Intervals are sorted by their length, and those of the same length are equal: a month and 30 days are one \
           group, which is shown as one of its members.",
    cases: &[
        Case {
            setup: &[INTERVALS],
            sql: "SELECT x FROM spans ORDER BY x DESC LIMIT 1",
            right: CaseOutcome::Rows(&["40 days"]),
            theirs: CaseOutcome::Rows(&["1 mons"]),
        },
        Case {
            setup: &[INTERVALS],
            sql: "SELECT min(x), max(x), count(DISTINCT x) FROM spans",
            right: CaseOutcome::Rows(&["20 days, 40 days, 3"]),
            theirs: CaseOutcome::Rows(&["20 days, 1 mons, 4"]),
        },
        Case {
            setup: &[INTERVALS],
            sql: "SELECT count(*), rank() OVER (ORDER BY x) FROM spans GROUP BY x",
            right: CaseOutcome::Rows(&["1, 1", "2, 2", "1, 3"]),
            theirs: CaseOutcome::Error("range queries"),
        },
        Case {
            setup: &[INTERVALS],
            sql: "SELECT count(*) FROM (SELECT DISTINCT x FROM spans) d",
            right: CaseOutcome::Rows(&["3"]),
            theirs: CaseOutcome::Rows(&["4"]),
        },
    ],
};

const INTERVALS: &str = "CREATE TABLE spans AS SELECT * FROM (VALUES (INTERVAL '40 days'), (INTERVAL '1 month'), \
                         (INTERVAL '30 days'), (INTERVAL '20 days')) v(x)";

/// Returns the node with lengths instead of intervals as keys.
pub(crate) fn ordered(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Sort(sort) => {
            let schema = Arc::clone(sort.input.schema());
            if !sort.expr.iter().any(|it| is_interval(&it.expr, &schema)) {
                return Ok(Transformed::no(LogicalPlan::Sort(sort)));
            }
            rewritten(LogicalPlan::Sort(sort), |_| true, |expr, schema| Ok(keyed(expr, schema)))
        }
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let columns: Vec<Expr> =
                input.schema().columns().into_iter().map(Expr::Column).collect();
            if !columns.iter().any(|it| is_interval(it, input.schema())) {
                return Ok(Transformed::no(LogicalPlan::Distinct(Distinct::All(input))));
            }
            grouped(Aggregate::try_new(input, columns, Vec::new())?)
        }
        LogicalPlan::Aggregate(aggregate) => {
            let plan = LogicalPlan::Aggregate(aggregate);
            let within = rewritten(plan, has_keys, |expr, schema| {
                expr.rewrite_up(&mut |expr| within(expr, schema))
            })?;
            within.transform_data(|plan| match plan {
                LogicalPlan::Aggregate(aggregate) => grouped(aggregate),
                other => Ok(Transformed::no(other)),
            })
        }
        LogicalPlan::Window(_) => rewritten(plan, has_keys, |expr, schema| {
            expr.rewrite_up(&mut |expr| within(expr, schema))
        }),
        other => Ok(Transformed::no(other)),
    }
}

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_)))
}

fn has_keys(expr: &Expr) -> bool {
    match expr {
        Expr::WindowFunction(call) => {
            !call.params.order_by.is_empty() || !call.params.partition_by.is_empty()
        }
        Expr::AggregateFunction(call) => call.params.distinct || !call.params.order_by.is_empty(),
        _ => false,
    }
}

/// Returns the length of an interval. Other expressions stay as they are.
fn keyed(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let data_type = expr.get_type(schema).ok().filter(|it| matches!(it, DataType::Interval(_)));
    match data_type.and_then(|data_type| length(&expr, &data_type)) {
        Some(length) => Transformed::yes(length),
        None => Transformed::no(expr),
    }
}

/// Returns a window or an aggregate with lengths as keys.
fn within(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut changed = false;
    let mut replace = |key: &mut Expr| {
        let keyed = keyed(std::mem::take(key), schema);
        changed |= keyed.transformed;
        *key = keyed.data;
    };
    let each = |order: &mut Vec<SortExpr>, replace: &mut dyn FnMut(&mut Expr)| {
        order.iter_mut().for_each(|it| replace(&mut it.expr));
    };
    match &mut expr {
        Expr::WindowFunction(call) => {
            call.params.partition_by.iter_mut().for_each(&mut replace);
            each(&mut call.params.order_by, &mut replace);
        }
        Expr::AggregateFunction(AggregateFunction { func, params }) => {
            each(&mut params.order_by, &mut replace);
            if params.distinct && func.name() == "count" {
                params.args.iter_mut().for_each(&mut replace);
            }
        }
        _ => {}
    }
    Ok(Transformed { transformed: changed, ..Transformed::no(expr) })
}

/// Groups by lengths, and returns the first interval of each group.
fn grouped(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(aggregate.input.schema());
    let is_set = matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSet(_)]);
    if is_set || !aggregate.group_expr.iter().any(|it| is_interval(it, &schema)) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let before = Arc::clone(&aggregate.schema);
    let mut aggregates = aggregate.aggr_expr;
    let mut shown = Vec::with_capacity(before.fields().len());
    let mut keys = Vec::with_capacity(aggregate.group_expr.len());
    for (at, key) in aggregate.group_expr.into_iter().enumerate() {
        let (relation, field) = before.qualified_field(at);
        let keyed = keyed(key.clone(), &schema);
        if !keyed.transformed {
            shown.push(Expr::Column(Column::from((relation, field))));
            keys.push(key);
            continue;
        }
        let first = format!("sluice_first_{at}");
        let value = first_value_udaf().call(vec![key]);
        aggregates.push(value.alias(first.clone()));
        keys.push(keyed.data.alias(format!("sluice_key_{at}")));
        let column = Expr::Column(Column::from_name(first));
        shown.push(column.alias_qualified(relation.cloned(), field.name().clone()));
    }
    let rest = before.iter().skip(shown.len());
    shown.extend(rest.map(|(relation, field)| Expr::Column(Column::from((relation, field)))));
    let plan = LogicalPlan::Aggregate(Aggregate::try_new(aggregate.input, keys, aggregates)?);
    let plan = LogicalPlanBuilder::from(plan).project(shown)?.build()?;
    Ok(Transformed::yes(plan))
}
