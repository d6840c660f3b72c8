//! Supports `date_trunc` of dates and timestamps beyond the range of nanoseconds in 64 bits.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use chrono::{DateTime, Datelike, Days, NaiveDate};
use datafusion::common::Result;
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::{ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF};

use super::columnar_values::mapped;
use super::date_trunc;
use super::exact::places;
use super::wrapped_functions::{Change, changed};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "date_trunc fails before 1677 and after 2262",
    upstream: &["datafusion#25135"],
    ours: "Weeks, months, quarters and years of timestamps of seconds, milliseconds and microseconds are truncated \
           without a detour through nanoseconds. A date becomes a timestamp of seconds.",
    cases: &[Case {
        setup: &["CREATE TABLE for_ever AS SELECT DATE '9999-12-31' AS d, \
                 arrow_cast('0001-01-03T10:00:00.5', 'Timestamp(ms)') AS t"],
        sql: "SELECT date_trunc('month', d), date_trunc('year', t) FROM for_ever",
        right: CaseOutcome::Rows(&["9999-12-01T00:00:00, 0001-01-01T00:00:00"]),
        theirs: CaseOutcome::Error("range"),
    }],
};

/// Returns the guarded function.
pub(super) fn guarded(functions: &[Arc<ScalarUDF>]) -> Option<Arc<ScalarUDF>> {
    let function = functions.iter().find(|it| it.name() == "date_trunc")?;
    Some(changed(function, Truncated))
}

/// Returns a call whose date is cast to a timestamp of seconds, before DataFusion casts it to nanoseconds.
pub(super) fn of_date(expr: &Expr, schema: &datafusion::common::DFSchema) -> Option<Expr> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let [part, date] = call.args.as_slice() else { return None };
    if call.func.name() != "date_trunc" || date.get_type(schema).ok()? != DataType::Date32 {
        return None;
    }
    let second = DataType::Timestamp(TimeUnit::Second, None);
    let date = Expr::Cast(Cast::new(Box::new(date.clone()), second));
    let args = vec![part.clone(), date];
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&call.func), args)))
}

/// Truncates by the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Truncated;

impl Change for Truncated {
    fn invoke(self, inner: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (part, value) = match args.args.as_slice() {
            [ColumnarValue::Scalar(part), value] => (part.try_as_str().flatten(), value),
            _ => return date_trunc::invoke(inner, args),
        };
        let (Some(first), DataType::Timestamp(unit, None)) =
            (part.and_then(first_day), value.data_type())
        else {
            return date_trunc::invoke(inner, args);
        };
        if unit == TimeUnit::Nanosecond {
            return date_trunc::invoke(inner, args);
        }
        let day = 86_400 * 10_i64.pow(places(unit).unsigned_abs());
        mapped(value, |array| {
            let counts = cast(array, &DataType::Int64)?;
            let counts = counts.as_primitive::<Int64Type>();
            // A day beyond the calendar keeps its timestamp at midnight.
            let starts = counts.unary::<_, Int64Type>(|count| {
                let days = count.div_euclid(day);
                truncated(days, first).unwrap_or(days).saturating_mul(day)
            });
            Ok(cast(&starts, array.data_type())?)
        })
    }
}

type First = fn(NaiveDate) -> Option<NaiveDate>;

/// Returns the function that finds the first day of a calendar part.
fn first_day(part: &str) -> Option<First> {
    Some(match part.to_ascii_lowercase().as_str() {
        "week" => |day: NaiveDate| {
            day.checked_sub_days(Days::new(day.weekday().num_days_from_monday().into()))
        },
        "month" => |day: NaiveDate| day.with_day(1),
        "quarter" => |day: NaiveDate| day.with_day(1)?.with_month0(day.month0() / 3 * 3),
        "year" => |day: NaiveDate| NaiveDate::from_ymd_opt(day.year(), 1, 1),
        _ => return None,
    })
}

/// Returns the first day, in days since 1970.
fn truncated(days: i64, first: First) -> Option<i64> {
    let day = DateTime::from_timestamp(days.checked_mul(86_400)?, 0)?.date_naive();
    Some(first(day)?.and_hms_opt(0, 0, 0)?.and_utc().timestamp().div_euclid(86_400))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_begin_where_the_calendar_says() {
        let days = |text: &str| {
            let day: NaiveDate = text.parse().unwrap();
            day.and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp() / 86_400
        };
        for (part, day, expected) in [
            ("week", "9999-12-31", "9999-12-27"),
            ("WEEK", "1969-12-31", "1969-12-29"),
            ("month", "0001-01-31", "0001-01-01"),
            ("quarter", "2024-12-31", "2024-10-01"),
            ("quarter", "1900-03-31", "1900-01-01"),
            ("year", "9999-12-31", "9999-01-01"),
        ] {
            let first = first_day(part).unwrap();
            assert_eq!(truncated(days(day), first), Some(days(expected)), "{part} {day}");
        }
        assert!(first_day("day").is_none());
    }
}
