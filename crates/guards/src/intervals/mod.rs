//! Compares and computes intervals and differences of timestamps by their length.
//!
//! A difference of timestamps is an Arrow Duration, and an INTERVAL has three numbers: months, days and nanoseconds.
//! Both are compared by their length, with months of 30 days and days of 24 hours.

mod arithmetic;
mod extremes;
mod fields;
mod ordered;
mod sums;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, PrimitiveArray};
use arrow::compute::cast as cast_array;
use arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Int64Type, IntervalDayTimeType,
    IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType, TimeUnit,
};
use arrow::error::ArrowError;
use datafusion::common::{DFSchema, Result, exec_err, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, binary_expr, cast,
};

pub(super) use self::arithmetic::GUARD as ARITHMETIC;
pub(super) use self::fields::{GUARD as PARTS, of_duration};
pub(super) use self::ordered::{GUARD as ORDERED, ordered};
pub(super) use self::sums::GUARD as SUMS;
use super::columnar_values::mapped;
use super::exact::places;
use super::{Case, CaseOutcome, Guard};

pub(super) const COMPARED: Guard = Guard {
    title: "Intervals are compared by their months first, and differences of timestamps have no days",
    upstream: &[],
    ours: "Intervals and differences of timestamps are compared by their length, in which a month has 30 days and a day \
           24 hours, as in PostgreSQL and DuckDB: `shipped - ordered > INTERVAL '2 days'`. A difference that becomes an \
           interval, as in COALESCE or UNION, has days and a time.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT b - a > INTERVAL '2 days', b - a BETWEEN INTERVAL '2 days' AND INTERVAL '3 days', \
                  b - a IN (INTERVAL '58 hours 30 minutes'), INTERVAL '40 days' < b - a \
                  FROM (VALUES (TIMESTAMP '2020-01-01 10:00:00', TIMESTAMP '2020-01-03 20:30:00')) t(a, b)",
            right: CaseOutcome::Rows(&["true, true, true, false"]),
            theirs: CaseOutcome::Rows(&["false, false, true, false"]),
        },
        Case {
            setup: &[],
            sql: "SELECT INTERVAL '1 month' = x, x > INTERVAL '720 hours', x IS DISTINCT FROM INTERVAL '1 month' \
                  FROM (VALUES (INTERVAL '30 days')) t(x)",
            right: CaseOutcome::Rows(&["true, false, false"]),
            theirs: CaseOutcome::Rows(&["false, true, true"]),
        },
        Case {
            setup: &[],
            sql: "SELECT greatest(b - a, INTERVAL '1 day'), coalesce(b - a, INTERVAL '1 day') \
                  FROM (VALUES (TIMESTAMP '2020-01-01 10:00:00', TIMESTAMP '2020-01-03 12:30:00')) t(a, b)",
            right: CaseOutcome::Rows(&["2 days 2 hours 30 mins, 2 days 2 hours 30 mins"]),
            theirs: CaseOutcome::Rows(&["1 days, 50 hours 30 mins"]),
        },
    ],
};

/// Adds the functions and aggregates to a session that is being built.
pub(super) fn install(builder: &mut SessionStateBuilder) {
    arithmetic::install(builder);
    extremes::install(builder);
    sums::install(builder);
    let functions = builder.scalar_functions().get_or_insert_default();
    functions.extend([function(Convert::Length), function(Convert::Interval)]);
}

/// Type of intervals in statements.
const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// Nanoseconds of a day.
const DAY: i64 = 86_400_000_000_000;

/// Days of a month, for comparisons with days.
const MONTH: i64 = 30;

fn is_span(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_) | DataType::Duration(_))
}

/// Returns `left op right` by lengths, or `None` if DataFusion compares the two correctly.
pub(super) fn compared(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (one, other) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
    if !differ(&one, &other) {
        return None;
    }
    Some(binary_expr(length(left, &one)?, op, length(right, &other)?))
}

/// Returns true if values of two types are compared by their length.
pub(super) fn differ(one: &DataType, other: &DataType) -> bool {
    match (one, other) {
        (DataType::Duration(unit), DataType::Duration(other)) => unit != other,
        _ => {
            is_span(one) && (is_span(other) || other.is_string())
                || is_span(other) && one.is_string()
        }
    }
}

/// Returns the length of an expression of such a type. A text is parsed as an interval.
pub(super) fn length(expr: &Expr, data_type: &DataType) -> Option<Expr> {
    let expr = match data_type {
        it if is_span(it) => expr.clone(),
        it if it.is_string() => cast(expr.clone(), INTERVAL),
        _ => return None,
    };
    Some(call(Convert::Length, expr))
}

/// Returns the common type of differences of timestamps and intervals.
pub(super) fn common<'a>(types: impl IntoIterator<Item = &'a DataType>) -> Option<DataType> {
    let (mut durations, mut intervals) = (false, false);
    for data_type in types {
        match data_type {
            DataType::Null => {}
            DataType::Duration(_) => durations = true,
            DataType::Interval(_) => intervals = true,
            _ => return None,
        }
    }
    (durations && intervals).then_some(INTERVAL)
}

/// Returns a cast of a difference of timestamps to an interval as one with days.
pub(super) fn cast_to_interval(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::Cast(Cast { expr: inner, field }) = expr else { return None };
    let from = inner.get_type(schema).ok()?;
    let days = *field.data_type() == INTERVAL && matches!(from, DataType::Duration(_));
    days.then(|| call(Convert::Interval, inner.as_ref().clone()))
}

fn call(convert: Convert, expr: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(function(convert), vec![expr]))
}

fn function(convert: Convert) -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(SpanFunction { convert, signature }))
}

/// The result of a function of an interval or a difference of timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Convert {
    /// `sluice_length(x)` returns nanoseconds as a decimal.
    Length,
    /// `sluice_interval(x)` returns a difference of timestamps as days and a time.
    Interval,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SpanFunction {
    convert: Convert,
    signature: Signature,
}

impl ScalarUDFImpl for SpanFunction {
    fn name(&self) -> &str {
        match self.convert {
            Convert::Length => "sluice_length",
            Convert::Interval => "sluice_interval",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(match self.convert {
            Convert::Length => LENGTH,
            Convert::Interval => INTERVAL,
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.return_type(&[])?, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else {
            return exec_err!("{} takes an interval", self.name());
        };
        mapped(value, |array| {
            let lengths = lengths(array)?;
            Ok(match self.convert {
                Convert::Length => Arc::new(lengths),
                Convert::Interval => Arc::new(intervals(&lengths)?),
            })
        })
    }
}

/// Type of lengths. The longest intervals have 2³¹ months, which are 25 digits of nanoseconds.
const LENGTH: DataType = DataType::Decimal128(38, 0);

/// Returns lengths in nanoseconds.
fn lengths(array: &ArrayRef) -> Result<Decimal128Array> {
    let lengths: Decimal128Array = match array.data_type() {
        DataType::Null => Decimal128Array::new_null(array.len()),
        DataType::Duration(unit) => {
            let ones = 10_i128.pow((9 - places(*unit)).unsigned_abs());
            let counts = cast_array(array, &DataType::Int64)?;
            let counts = counts.as_primitive::<Int64Type>();
            counts.unary::<_, Decimal128Type>(|count| i128::from(count) * ones)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => array
            .as_primitive::<IntervalMonthDayNanoType>()
            .unary(|it| nanoseconds(it.months, it.days, it.nanoseconds)),
        DataType::Interval(IntervalUnit::DayTime) => array
            .as_primitive::<IntervalDayTimeType>()
            .unary(|it| nanoseconds(0, it.days, i64::from(it.milliseconds) * 1_000_000)),
        DataType::Interval(IntervalUnit::YearMonth) => {
            array.as_primitive::<IntervalYearMonthType>().unary(|months| nanoseconds(months, 0, 0))
        }
        other => return internal_err!("{other} has no length in time"),
    };
    Ok(lengths.with_precision_and_scale(38, 0)?)
}

fn nanoseconds(months: i32, days: i32, nanoseconds: i64) -> i128 {
    let days = i128::from(months) * i128::from(MONTH) + i128::from(days);
    days * i128::from(DAY) + i128::from(nanoseconds)
}

/// Returns lengths as days and a time.
fn intervals(
    lengths: &Decimal128Array,
) -> Result<PrimitiveArray<IntervalMonthDayNanoType>, ArrowError> {
    lengths.try_unary(interval)
}

fn interval(length: i128) -> Result<IntervalMonthDayNano, ArrowError> {
    let day = i128::from(DAY);
    let days = i32::try_from(length / day);
    let nanoseconds = i64::try_from(length % day);
    match (days, nanoseconds) {
        (Ok(days), Ok(nanoseconds)) => Ok(IntervalMonthDayNano { months: 0, days, nanoseconds }),
        _ => Err(ArrowError::ComputeError(format!("no interval has {length} ns"))),
    }
}

/// Returns the unit of an average or a fraction of differences of timestamps, which must not lose fractions.
fn with_fractions(unit: TimeUnit) -> TimeUnit {
    match unit {
        TimeUnit::Nanosecond => TimeUnit::Nanosecond,
        _ => TimeUnit::Microsecond,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_months_of_30_days() {
        for (months, days, nanos, expected) in [
            (1, 0, 0, i128::from(MONTH * DAY)),
            (0, 30, 0, i128::from(MONTH * DAY)),
            (-1, 31, -DAY, 0),
            (
                i32::MAX,
                0,
                i64::MAX,
                i128::from(i32::MAX) * i128::from(MONTH * DAY) + i128::from(i64::MAX),
            ),
        ] {
            assert_eq!(nanoseconds(months, days, nanos), expected);
        }
        let found = interval(-i128::from(DAY) - 5).unwrap();
        assert_eq!((found.months, found.days, found.nanoseconds), (0, -1, -5));
        assert!(interval(i128::MAX).is_err());
    }
}
