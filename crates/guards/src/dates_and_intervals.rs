//! Makes the sum of a DATE and an INTERVAL a TIMESTAMP, so that no time of day is lost.

use std::sync::Arc;

use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "A DATE plus or minus an INTERVAL loses hours, minutes and seconds",
    upstream: &[],
    ours: "The sum is a TIMESTAMP, as in other databases. It stays a DATE if the statement shows that the interval has \
           whole days, as `INTERVAL '3 months'`.",
    cases: &[Case {
        setup: &[],
        sql: "SELECT d - INTERVAL '1 second', d + INTERVAL '36 hours', INTERVAL '1 month' + d, d - INTERVAL '24 hours' \
              FROM (VALUES (DATE '2024-01-01')) t(d)",
        right: CaseOutcome::Rows(&[
            "2023-12-31T23:59:59, 2024-01-02T12:00:00, 2024-02-01, 2023-12-31",
        ]),
        theirs: CaseOutcome::Rows(&["2024-01-01, 2024-01-02, 2024-02-01, 2023-12-31"]),
    }],
};

/// Adds the planner of sums to a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    builder.expr_planners().get_or_insert_default().insert(0, Arc::new(Sums));
}

#[derive(Debug)]
struct Sums;

impl ExprPlanner for Sums {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let op = match expr.op {
            BinaryOperator::Plus => Operator::Plus,
            BinaryOperator::Minus => Operator::Minus,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let is_date = |it: &DataType| matches!(it, DataType::Date32 | DataType::Date64);
        // Only the right side's type is computed, because the left side of a long sum is long itself.
        let Ok(right) = expr.right.get_type(schema) else {
            return Ok(PlannerResult::Original(expr));
        };
        if !is_date(&right) && !matches!(right, DataType::Interval(_)) {
            return Ok(PlannerResult::Original(expr));
        }
        let Ok(left) = expr.left.get_type(schema) else {
            return Ok(PlannerResult::Original(expr));
        };
        let has_time = |data_type: &DataType, it: &Expr| {
            matches!(data_type, DataType::Interval(_)) && !has_whole_days(data_type, it)
        };
        let RawBinaryExpr { left: mut a, right: mut b, .. } = expr.clone();
        if is_date(&left) && has_time(&right, &b) {
            a = cast(a, INSTANT);
        } else if has_time(&left, &a) && is_date(&right) {
            b = cast(b, INSTANT);
        } else {
            return Ok(PlannerResult::Original(expr));
        }
        let sum = Expr::BinaryExpr(BinaryExpr::new(Box::new(a), op, Box::new(b)));
        Ok(PlannerResult::Planned(sum))
    }
}

/// The result type in microseconds, which cover all dates.
const INSTANT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

fn has_whole_days(data_type: &DataType, interval: &Expr) -> bool {
    const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;
    match interval {
        _ if *data_type == DataType::Interval(IntervalUnit::YearMonth) => true,
        Expr::Literal(ScalarValue::IntervalMonthDayNano(value), _) => {
            value.is_none_or(|it| it.nanoseconds % DAY == 0)
        }
        Expr::Literal(ScalarValue::IntervalDayTime(value), _) => {
            value.is_none_or(|it| i64::from(it.milliseconds) * 1_000_000 % DAY == 0)
        }
        Expr::Negative(inner) => has_whole_days(data_type, inner),
        _ => false,
    }
}
