//! Supports intervals and differences of timestamps times numbers, and dates plus differences.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveBuilder};
use arrow::compute::cast as cast_array;
use arrow::datatypes::{
    DataType, Field, FieldRef, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
};
use datafusion::common::{DFSchema, Result, ScalarValue, exec_datafusion_err, exec_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::sums::rounded;
use super::{DAY, INTERVAL, MONTH, is_span, with_fractions};
use crate::exact::{Number, places};
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "Intervals and differences of timestamps cannot be multiplied or divided, nor differences added to dates",
    upstream: &[],
    ours: "`2 * (b - a)`, `INTERVAL '1 day' / 4` and `DATE '2024-01-01' + (b - a)` are computed as in PostgreSQL: a \
           fraction of a month is days of a month of 30 days, and one of a day is a time.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT a + 2 * (b - a), a + (b - a) / 4, a + (b - a) * 1.5 \
                  FROM (VALUES (TIMESTAMP '2020-01-01 10:00:00', TIMESTAMP '2020-01-03 12:30:00')) t(a, b)",
            right: CaseOutcome::Rows(&[
                "2020-01-05T15:00:00, 2020-01-01T22:37:30, 2020-01-04T13:45:00",
            ]),
            theirs: CaseOutcome::Error("Duration"),
        },
        Case {
            setup: &[],
            sql: "SELECT b - a > '2 days', '60 hours' < b - a, INTERVAL '1 month' = '30 days' \
                  FROM (VALUES (TIMESTAMP '2020-01-01 10:00:00', TIMESTAMP '2020-01-03 12:30:00')) t(a, b)",
            right: CaseOutcome::Rows(&["true, false, true"]),
            theirs: CaseOutcome::Error("Utf8"),
        },
        Case {
            setup: &[],
            sql: "SELECT INTERVAL '1 month' / 4, INTERVAL '1 year 2 days' * 2, 1.5 * INTERVAL '1 day'",
            right: CaseOutcome::Rows(&["7 days 12 hours, 24 mons 4 days, 1 days 12 hours"]),
            theirs: CaseOutcome::Error("interval arithmetic"),
        },
        Case {
            setup: &[],
            sql: "SELECT DATE '2020-02-01' + (b - a) \
                  FROM (VALUES (TIMESTAMP '2020-01-01 10:00:00', TIMESTAMP '2020-01-03 12:30:00')) t(a, b)",
            right: CaseOutcome::Rows(&["2020-02-03T02:30:00"]),
            theirs: CaseOutcome::Error("Duration"),
        },
    ],
};

/// Adds the planner and its functions to a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    builder.expr_planners().get_or_insert_default().insert(0, Arc::new(Products));
    let functions = builder.scalar_functions().get_or_insert_default();
    functions.extend([function(Product::Times), function(Product::Divided)]);
}

#[derive(Debug)]
struct Products;

impl ExprPlanner for Products {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator as B;
        let comparison = comparison(&expr.op);
        if comparison.is_none() && !matches!(expr.op, B::Multiply | B::Divide | B::Plus | B::Minus)
        {
            return Ok(PlannerResult::Original(expr));
        }
        let Ok(right) = expr.right.get_type(schema) else {
            return Ok(PlannerResult::Original(expr));
        };
        // Only the right side's type is computed, because the left side of a long sum is long itself.
        let is_of_numbers = match expr.op {
            B::Plus | B::Minus => !is_date(&right) && !is_span(&right),
            // A product of an interval is a call of a function.
            B::Multiply | B::Divide => right.is_numeric() && is_product(&expr.left),
            _ => false,
        };
        if is_of_numbers {
            return Ok(PlannerResult::Original(expr));
        }
        let Ok(left) = expr.left.get_type(schema) else {
            return Ok(PlannerResult::Original(expr));
        };
        let RawBinaryExpr { op, left: a, right: b } = expr;
        if let Some(comparison) = comparison {
            // A text beside an interval or a difference of timestamps is an interval.
            let planned = match (&left, &right) {
                (span, text) if is_span(span) && text.is_string() => {
                    binary(a, comparison, cast(b, INTERVAL))
                }
                (text, span) if text.is_string() && is_span(span) => {
                    binary(cast(a, INTERVAL), comparison, b)
                }
                _ => return Ok(PlannerResult::Original(RawBinaryExpr { op, left: a, right: b })),
            };
            return Ok(PlannerResult::Planned(planned));
        }
        let planned = match (&op, &left, &right) {
            (B::Multiply, span, number) if is_span(span) && number.is_numeric() => {
                product(Product::Times, a, b)
            }
            (B::Multiply, number, span) if is_span(span) && number.is_numeric() => {
                product(Product::Times, a, b)
            }
            (B::Divide, span, number) if is_span(span) && number.is_numeric() => {
                product(Product::Divided, a, b)
            }
            (B::Plus, date, DataType::Duration(unit)) if is_date(date) => {
                binary(cast(a, DataType::Timestamp(*unit, None)), Operator::Plus, b)
            }
            (B::Minus, date, DataType::Duration(unit)) if is_date(date) => {
                binary(cast(a, DataType::Timestamp(*unit, None)), Operator::Minus, b)
            }
            (B::Plus, DataType::Duration(unit), date) if is_date(date) => {
                binary(a, Operator::Plus, cast(b, DataType::Timestamp(*unit, None)))
            }
            _ => return Ok(PlannerResult::Original(RawBinaryExpr { op, left: a, right: b })),
        };
        Ok(PlannerResult::Planned(planned))
    }
}

fn is_product(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { op, .. }) = expr else { return false };
    matches!(op, Operator::Multiply | Operator::Divide | Operator::Modulo)
}

fn is_date(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Date64)
}

/// Returns the comparison for an operator.
fn comparison(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

fn product(product: Product, left: Expr, right: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(function(product), vec![left, right]))
}

fn function(product: Product) -> Arc<ScalarUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(IntervalByNumber { product, signature }))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Product {
    Times,
    Divided,
}

/// The functions `sluice_times(x, n)` and `sluice_divided(x, n)` of an interval or a difference of timestamps, and a
/// number.
#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalByNumber {
    product: Product,
    signature: Signature,
}

impl IntervalByNumber {
    /// Returns the result type. For fractions of a difference, it has a unit with room for them.
    fn result(&self, left: &DataType, right: &DataType) -> DataType {
        let (span, number) = if is_span(left) { (left, right) } else { (right, left) };
        match span {
            DataType::Duration(unit) => {
                let whole = self.product == Product::Times && number.is_integer();
                DataType::Duration(if whole { *unit } else { with_fractions(*unit) })
            }
            _ => INTERVAL,
        }
    }
}

impl ScalarUDFImpl for IntervalByNumber {
    fn name(&self) -> &str {
        match self.product {
            Product::Times => "sluice_times",
            Product::Divided => "sluice_divided",
        }
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let sign = if self.product == Product::Times { '*' } else { '/' };
        let names: Vec<String> = args.iter().map(|it| it.schema_name().to_string()).collect();
        Ok(names.join(&format!(" {sign} ")))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [left, right] => Ok(self.result(left, right)),
            _ => exec_err!("{} takes an interval and a number", self.name()),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> =
            args.arg_fields.iter().map(|it| it.data_type().clone()).collect();
        let nullable = args.arg_fields.iter().any(|it| it.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = args.args.iter().all(|it| matches!(it, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = arrays.as_slice() else {
            return exec_err!("{} takes an interval and a number", self.name());
        };
        let (span, number) = if is_span(left.data_type()) { (left, right) } else { (right, left) };
        let all = self.products(span, number, args.return_field.data_type())?;
        Ok(match scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&all, 0)?),
            false => ColumnarValue::Array(all),
        })
    }
}

impl IntervalByNumber {
    fn products(&self, span: &ArrayRef, number: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
        let ratio = |row: usize| -> Result<Ratio> {
            let number = ScalarValue::try_from_array(number, row)?;
            let factor = Ratio::from_scalar(&number).ok_or_else(beyond)?;
            match self.product {
                Product::Times => Ok(factor),
                Product::Divided if factor.0 == 0 => exec_err!("Divide by zero error"),
                Product::Divided => Ok(Ratio(factor.1, factor.0)),
            }
        };
        let valid = |row: usize| span.is_valid(row) && number.is_valid(row);
        if let (DataType::Duration(from), DataType::Duration(unit)) = (span.data_type(), to) {
            let counts = cast_array(span, &DataType::Int64)?;
            let counts = counts.as_primitive::<Int64Type>();
            let ones = 10_i128.pow((places(*unit) - places(*from)).unsigned_abs());
            let mut all = PrimitiveBuilder::<Int64Type>::with_capacity(counts.len());
            for row in 0..counts.len() {
                if valid(row) {
                    let product = ratio(row)?.times(i128::from(counts.value(row)) * ones);
                    let product = product.and_then(|it| i64::try_from(it).ok());
                    all.append_value(product.ok_or_else(beyond)?);
                } else {
                    all.append_null();
                }
            }
            return Ok(cast_array(&all.finish(), to)?);
        }
        let spans = cast_array(span, &INTERVAL)?;
        let spans = spans.as_primitive::<IntervalMonthDayNanoType>();
        let mut all = PrimitiveBuilder::<IntervalMonthDayNanoType>::with_capacity(spans.len());
        for row in 0..spans.len() {
            if valid(row) {
                all.append_value(ratio(row)?.of_interval(spans.value(row)).ok_or_else(beyond)?);
            } else {
                all.append_null();
            }
        }
        Ok(Arc::new(all.finish()))
    }
}

fn beyond() -> datafusion::common::DataFusionError {
    exec_datafusion_err!("an interval is out of range")
}

/// A number as a dividend and a divisor.
struct Ratio(i128, i128);

impl Ratio {
    fn from_scalar(number: &ScalarValue) -> Option<Self> {
        let number = match number {
            ScalarValue::Float32(Some(x)) => Number::parse(&format!("{x:e}"))?,
            ScalarValue::Float16(Some(x)) => Number::of_double(f64::from(*x))?,
            other => Number::of_literal(other)?,
        };
        // Digits below 10⁻¹⁸ have no effect.
        let places = if number.is_whole() { 0 } else { 18 };
        let dividend = number.to_decimal(38, places)?;
        Some(Self(dividend, 10_i128.pow(u32::from(places.unsigned_abs()))))
    }

    fn times(&self, value: i128) -> Option<i128> {
        rounded(value.checked_mul(self.0)?, self.1)
    }

    /// Multiplies an interval. Fractions of months become days, and fractions of days become nanoseconds.
    fn of_interval(&self, value: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
        let times = |value: i128| value.checked_mul(self.0);
        let months = times(i128::from(value.months))?;
        let rest = months.checked_rem(self.1)?.checked_mul(i128::from(MONTH))?;
        let days = times(i128::from(value.days))?.checked_add(rest)?;
        let rest = days.checked_rem(self.1)?.checked_mul(i128::from(DAY))?;
        let nanoseconds = times(i128::from(value.nanoseconds))?.checked_add(rest)?;
        Some(IntervalMonthDayNano {
            months: i32::try_from(months.checked_div(self.1)?).ok()?,
            days: i32::try_from(days.checked_div(self.1)?).ok()?,
            nanoseconds: i64::try_from(rounded(nanoseconds, self.1)?).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_postgresql() {
        let of = |months, days, nanoseconds| IntervalMonthDayNano { months, days, nanoseconds };
        let half = DAY / 2;
        for (value, number, divided, expected) in [
            (of(1, 0, 0), "4", true, of(0, 7, half)),
            (of(1, 0, 0), "0.5", false, of(0, 15, 0)),
            (of(12, 2, 0), "2", false, of(24, 4, 0)),
            (of(0, 1, 0), "-1.5", false, of(0, -1, -half)),
            (of(0, 0, 7), "2", true, of(0, 0, 4)),
            (of(0, 0, -7), "2", true, of(0, 0, -4)),
        ] {
            let number = Number::parse(number).and_then(Number::to_literal).unwrap();
            let Ratio(dividend, divisor) = Ratio::from_scalar(&number).unwrap();
            let ratio = if divided { Ratio(divisor, dividend) } else { Ratio(dividend, divisor) };
            assert_eq!(ratio.of_interval(value), Some(expected), "{value:?} {number}");
        }
        assert!(Ratio(i128::MAX, 1).of_interval(of(1, 1, 1)).is_none());
    }
}
