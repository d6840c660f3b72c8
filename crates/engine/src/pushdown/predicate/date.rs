//! Dates. The store has instants: a date is the half-open day that starts at midnight UTC.

use std::sync::Arc;

use chrono::{Datelike, Duration, NaiveDate};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::Literal as PhysicalLiteral;
use sluicegate_s3select::dialect::ast::{BinaryOp, DatePart, Expr, Function, Type};

use super::value::{Kind, Value};

/// Translates `date op literal` to a comparison of instants.
pub(super) fn compare_date(value: &Value, op: BinaryOp, days: i32) -> Option<Expr> {
    if value.kind != Kind::Date {
        return None;
    }
    let start = || timestamp(days);
    let end = || timestamp(days.checked_add(1)?);
    let is = |op: BinaryOp, bound: Expr| value.expr.clone().binary(op, bound);
    Some(match op {
        BinaryOp::Lt => is(BinaryOp::Lt, start()?),
        BinaryOp::LtEq => is(BinaryOp::Lt, end()?),
        BinaryOp::Gt => is(BinaryOp::GtEq, end()?),
        BinaryOp::GtEq => is(BinaryOp::GtEq, start()?),
        BinaryOp::Eq => is(BinaryOp::GtEq, start()?).and(is(BinaryOp::Lt, end()?)),
        BinaryOp::NotEq => is(BinaryOp::Lt, start()?).or(is(BinaryOp::GtEq, end()?)),
        _ => return None,
    })
}

/// Returns the number of the day that contains an instant, where 0 is the first day of year 1. From that day on,
/// DATE_DIFF never rounds up.
pub(super) fn day_of(instant: Expr) -> Expr {
    let first = Expr::string("0001-01-01").cast(Type::Timestamp);
    Expr::Call { function: Function::DateDiff(DatePart::Day), args: vec![first, instant] }
}

/// Converts a day counted from 1970-01-01 to the number that `day_of` computes.
#[must_use]
pub fn day_number(days: i32) -> i64 {
    const BEFORE_1970: i64 = 719_162;
    i64::from(days) + BEFORE_1970
}

/// Midnight UTC of a day counted from 1970-01-01, or `None` for years without four digits.
fn timestamp(days: i32) -> Option<Expr> {
    let epoch = NaiveDate::from_ymd_opt(1970, 1, 1)?;
    let date = epoch.checked_add_signed(Duration::days(i64::from(days)))?;
    (1..=9999)
        .contains(&date.year())
        .then(|| Expr::string(date.format("%Y-%m-%d").to_string()).cast(Type::Timestamp))
}

/// Returns the days since 1970-01-01 of a constant date.
pub(super) fn date_literal(expr: &Arc<dyn PhysicalExpr>) -> Option<i32> {
    match expr.downcast_ref::<PhysicalLiteral>()?.value() {
        ScalarValue::Date32(days) => *days,
        _ => None,
    }
}
