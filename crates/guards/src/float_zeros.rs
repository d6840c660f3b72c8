//! Treats −0.0 and 0.0 as equal.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{
    BinaryExpr, Distinct, Expr, ExprSchemable, JoinConstraint, LogicalPlan, Operator, lit,
};

use super::comparisons::is_comparison;
use super::{Case, CaseOutcome, Guard, nested_floats};
use crate::rewrite::Rewrite;

pub(super) const GUARD: Guard = Guard {
    title: "−0.0 is not found where 0.0 is asked for",
    upstream: &["datafusion#22835", "datafusion#25186"],
    ours: "IN over FLOAT and DOUBLE asks for both zeros. Keys of joins, of windows, of ORDER BY before other keys (also in \
           aggregates and after DISTINCT ON), and arguments of count(DISTINCT …) of these types are used as `key + 0.0`, which is 0.0 for both.",
    cases: &[
        Case {
            setup: &[
                "CREATE TABLE zeros AS SELECT * FROM (VALUES (1, -0.0), (2, 0.0), (3, 1.5)) t(id, x)",
            ],
            sql: "SELECT id FROM zeros WHERE x IN (0.0, 7.5, 8.5, 9.5)",
            right: CaseOutcome::Rows(&["1", "2"]),
            theirs: CaseOutcome::Rows(&["2"]),
        },
        Case {
            setup: &[
                "CREATE TABLE zeros AS SELECT * FROM (VALUES (1, -0.0), (2, 0.0), (3, 1.5)) t(id, x)",
            ],
            sql: "SELECT id FROM zeros WHERE x = 0.0 AND x = -0.0",
            right: CaseOutcome::Rows(&["1", "2"]),
            theirs: CaseOutcome::Rows(&[]),
        },
        Case {
            setup: &[
                "CREATE TABLE zeros AS SELECT * FROM (VALUES (1, 0.0), (2, -0.0), (3, 1.5)) t(id, x)",
            ],
            sql: "SELECT id FROM zeros ORDER BY x, id",
            right: CaseOutcome::Rows(&["1", "2", "3"]),
            theirs: CaseOutcome::Rows(&["2", "1", "3"]),
        },
        Case {
            setup: &[
                "CREATE TABLE zeros AS SELECT * FROM (VALUES (1, 0.0), (2, -0.0), (3, 1.5)) t(id, x)",
            ],
            sql: "SELECT id, rank() OVER (ORDER BY x), count(*) OVER (PARTITION BY x) FROM zeros",
            right: CaseOutcome::Rows(&["1, 1, 2", "2, 1, 2", "3, 3, 1"]),
            theirs: CaseOutcome::Rows(&["1, 2, 1", "2, 1, 1", "3, 3, 1"]),
        },
        Case {
            setup: &[
                "CREATE TABLE zeros AS SELECT * FROM (VALUES (1, 0.0), (2, -0.0), (3, 1.5)) t(id, x)",
            ],
            sql: "SELECT count(DISTINCT x), count(DISTINCT id) FROM zeros",
            right: CaseOutcome::Rows(&["2, 3"]),
            theirs: CaseOutcome::Rows(&["3, 3"]),
        },
        Case {
            setup: &[
                "CREATE TABLE zeros AS SELECT * FROM (VALUES (1, 0.0), (2, -0.0), (3, 1.5)) t(id, x)",
            ],
            sql: "SELECT DISTINCT ON (id > 0) id, x FROM zeros ORDER BY id > 0, x, id",
            right: CaseOutcome::Rows(&["1, 0.0"]),
            theirs: CaseOutcome::Rows(&["2, -0.0"]),
        },
        Case {
            setup: &[
                "CREATE TABLE zeros AS SELECT * FROM (VALUES (1, 0.0), (2, -0.0), (3, 1.5)) t(id, x)",
            ],
            sql: "SELECT array_agg(id ORDER BY x, id) FROM zeros",
            right: CaseOutcome::Rows(&["[1, 2, 3]"]),
            theirs: CaseOutcome::Rows(&["[2, 1, 3]"]),
        },
        Case {
            setup: &[
                "CREATE TABLE zeros AS SELECT id, named_struct('x', x) AS n FROM (VALUES (1, -0.0), (2, 1.5)) t(id, x)",
                "CREATE TABLE others AS SELECT named_struct('x', x) AS n FROM (VALUES (0.0), (1.5)) t(x)",
            ],
            sql: "SELECT a.id FROM zeros a JOIN others b ON a.n.x = b.n.x WHERE a.n.x IN (SELECT n.x FROM others)",
            right: CaseOutcome::Rows(&["1", "2"]),
            theirs: CaseOutcome::Varies,
        },
    ],
};

/// Returns true if a value is a zero of either sign.
fn is_zero(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float16(Some(x)) => x.to_f32() == 0.0,
        ScalarValue::Float32(Some(x)) => *x == 0.0,
        ScalarValue::Float64(Some(x)) => *x == 0.0,
        _ => false,
    }
}

fn zero(data_type: &DataType) -> Option<ScalarValue> {
    data_type.is_floating().then(|| ScalarValue::new_zero(data_type).ok())?
}

/// Rewrites `x = -0.0` to `x = 0.0`. DataFusion compares the values as equal, but the literals as different.
pub(super) fn positive(expr: &Expr) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return None };
    let Expr::Literal(value, metadata) = right.as_ref() else { return None };
    if !is_comparison(*op) || !is_zero(value) {
        return None;
    }
    let zero = zero(&value.data_type()).filter(|zero| zero != value)?;
    let right = Box::new(Expr::Literal(zero, metadata.clone()));
    Some(Expr::BinaryExpr(BinaryExpr { left: left.clone(), op: *op, right }))
}

/// Adds the other zero to a list that has one. If the list has non-constant items, they are compared one by one.
pub(super) fn both(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::InList(InList { expr, list, negated }) = expr else { return None };
    let data_type = expr.get_type(schema).ok().filter(DataType::is_floating)?;
    if list.iter().any(|item| item.any_column_refs() || item.contains_outer()) {
        if expr.is_volatile() {
            return None;
        }
        let op = if *negated { Operator::NotEq } else { Operator::Eq };
        let each = list.iter().map(|item| {
            Expr::BinaryExpr(BinaryExpr::new(expr.clone(), op, Box::new(item.clone())))
        });
        return each.reduce(|all, one| if *negated { all.and(one) } else { all.or(one) });
    }
    let zeros: Vec<&ScalarValue> = list
        .iter()
        .filter_map(|item| match item {
            Expr::Literal(value, _) if is_zero(value) => Some(value),
            _ => None,
        })
        .collect();
    let positive = zero(&data_type)?;
    let negative = positive.arithmetic_negate().ok()?;
    if zeros.is_empty() || list.len() == 1 {
        return None;
    }
    let missing = [positive, negative].into_iter().find(|it| !zeros.contains(&it))?;
    let list = list.iter().cloned().chain([lit(missing)]).collect();
    Some(Expr::InList(InList { expr: expr.clone(), list, negated: *negated }))
}

/// Adds 0.0 to floats that rows are joined, grouped or sorted by.
pub(super) fn summed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    Ok(match plan {
        LogicalPlan::Aggregate(aggregate) => nested_floats::grouped(aggregate)?,
        LogicalPlan::Join(mut join) => {
            let mut any = false;
            let (left, right) = (join.left.schema().clone(), join.right.schema().clone());
            for (key, schema) in
                join.on.iter_mut().flat_map(|(one, other)| [(one, &left), (other, &right)])
            {
                if sum(key, schema) {
                    *key = qualified(std::mem::take(key), schema)?;
                    any = true;
                }
            }
            if any {
                // Keys of USING must be columns. The output columns are already decided.
                join.join_constraint = JoinConstraint::On;
            }
            Transformed::new_transformed(LogicalPlan::Join(join), any)
        }
        LogicalPlan::Sort(mut sort) => {
            let schema = sort.input.schema().clone();
            // The last key needs no sum, because rows that only differ in the sign of a zero may come in any order.
            let before_others = sort.expr.len().saturating_sub(1);
            let keys = sort.expr.iter_mut().take(before_others);
            let any = keys.fold(false, |any, key| sum(&mut key.expr, &schema) | any);
            Transformed::new_transformed(LogicalPlan::Sort(sort), any)
        }
        LogicalPlan::Distinct(Distinct::On(mut on)) => {
            let schema = on.input.schema().clone();
            // The other expressions of ORDER BY decide which row of each key is first.
            let others = on.sort_expr.iter_mut().flatten().skip(on.on_expr.len());
            let any = others.fold(false, |any, by| sum(&mut by.expr, &schema) | any);
            Transformed::new_transformed(LogicalPlan::Distinct(Distinct::On(on)), any)
        }
        other => Transformed::no(other),
    })
}

/// Adds 0.0 to the keys of windows, the arguments of DISTINCT aggregates, and the sort keys of aggregates.
pub(super) fn summed_within(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr {
        Expr::WindowFunction(window) => {
            let mut window = window.clone();
            let params = &mut window.params;
            let mut any = false;
            for key in &mut params.partition_by {
                any |= sum(key, schema);
            }
            for key in &mut params.order_by {
                any |= sum(&mut key.expr, schema);
            }
            any.then_some(Expr::WindowFunction(window))
        }
        Expr::AggregateFunction(aggregate) => {
            let is_of_distinct =
                aggregate.params.distinct || aggregate.func.name() == "approx_distinct";
            let mut aggregate = aggregate.clone();
            let params = &mut aggregate.params;
            let mut any = false;
            if is_of_distinct {
                any = params.args.iter_mut().fold(false, |any, it| sum(it, schema) | any);
            } else {
                let before_others = params.order_by.len().saturating_sub(1);
                for by in params.order_by.iter_mut().take(before_others) {
                    any |= sum(&mut by.expr, schema);
                }
            }
            any.then_some(Expr::AggregateFunction(aggregate))
        }
        _ => None,
    }
}

/// Returns a key with the tables of its columns. DataFusion's planner looks up the sum by its name and adds missing
/// tables to it, as in struct fields that it has extracted.
fn qualified(key: Expr, schema: &DFSchema) -> Result<Expr> {
    key.rewrite_up(&mut |part| {
        let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
        let table = match &column.relation {
            Some(_) => None,
            None => schema
                .qualified_field_with_unqualified_name(&column.name)
                .ok()
                .and_then(|(table, _)| table),
        };
        Ok(match table {
            Some(table) => {
                let column = Column::new(Some(table.clone()), column.name.clone());
                Transformed::yes(Expr::Column(column))
            }
            None => Transformed::no(part),
        })
    })
    .data()
}

/// Makes an expression one without negative zeros; returns true if it changed.
fn sum(key: &mut Expr, schema: &DFSchema) -> bool {
    let current: &Expr = key;
    let summed = matches!(current, Expr::BinaryExpr(BinaryExpr { op: Operator::Plus, right, .. })
        if matches!(right.as_ref(), Expr::Literal(value, _) if is_zero(value)));
    if summed || matches!(current, Expr::Literal(..)) {
        return false;
    }
    if nested_floats::make_plain(key, schema) {
        return true;
    }
    let zero = key.get_type(schema).ok().and_then(|data_type| zero(&data_type));
    let Some(zero) = zero else { return false };
    *key = std::mem::take(key) + lit(zero);
    true
}
