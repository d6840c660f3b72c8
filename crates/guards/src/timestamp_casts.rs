//! Corrects casts of timestamps to coarser units, and between local times and instants.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::compute::{CastOptions, cast as plain_cast, cast_with_options, is_null};
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use arrow::error::ArrowError;
use arrow::util::display::FormatOptions;
use chrono::{DateTime, Duration, NaiveDateTime, Offset, TimeZone};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{ColumnarValue, Expr, ExprSchemable, Operator, binary_expr};

use super::columnar_values::mapped;
use super::exact::places;
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "Casts of timestamps round up before 1970, show UTC as local time, and fail where clocks change",
    upstream: &["datafusion#25084", "arrow-rs#11039", "datafusion#25162"],
    ours: "A cast to a coarser unit drops the fraction of a second before 1970, too. A cast of TIMESTAMPTZ to TIMESTAMP is \
           the local time of its time zone. A local time that clocks skip is read with the offset before the change, and \
           one that occurs twice with the offset after it, as in PostgreSQL and DuckDB.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT CAST(arrow_cast(t, 'Timestamp(ms)') AS TIMESTAMP(0)) \
                  FROM (VALUES ('0001-01-01T12:34:56.120'), ('1969-12-31T23:59:59.5')) v(t)",
            right: CaseOutcome::Rows(&["0001-01-01T12:34:56", "1969-12-31T23:59:59"]),
            theirs: CaseOutcome::Rows(&["0001-01-01T12:34:57", "1970-01-01T00:00:00"]),
        },
        Case {
            setup: &[
                "SET datafusion.execution.time_zone = 'Europe/Berlin'",
                "CREATE TABLE instants AS SELECT TIMESTAMPTZ '2024-07-01 23:30:00Z' AS t, \
                 TIMESTAMP '2024-07-02 01:30:00' AS n",
            ],
            sql: "SELECT CAST(t AS TIMESTAMP), CAST(t - n AS VARCHAR), t = n, t > DATE '2024-07-02' FROM instants",
            right: CaseOutcome::Rows(&[
                "2024-07-02T01:30:00, 0 days 0 hours 0 mins 0.000000000 secs, true, true",
            ]),
            theirs: CaseOutcome::Rows(&[
                "2024-07-01T23:30:00, 0 days -2 hours 0 mins 0.000000000 secs, true, false",
            ]),
        },
        Case {
            setup: &["SET datafusion.execution.time_zone = 'Europe/Berlin'"],
            sql: "SELECT CAST(CAST(t AS TIMESTAMP) AS TIMESTAMPTZ) AS a, CAST(t AS TIMESTAMPTZ) AS b \
                  FROM (VALUES ('2024-03-31 02:30:00'), ('2024-10-27 02:30:00')) v(t)",
            right: CaseOutcome::Rows(&[
                "2024-03-31T03:30:00+02:00, 2024-03-31T03:30:00+02:00",
                "2024-10-27T02:30:00+01:00, 2024-10-27T02:30:00+01:00",
            ]),
            theirs: CaseOutcome::Error("timezone"),
        },
    ],
};

/// Returns the difference of an instant and a local time, with the local time cast to an instant in the other's time
/// zone.
pub(super) fn difference(
    left: &Expr,
    op: Operator,
    right: &Expr,
    schema: &DFSchema,
) -> Option<Expr> {
    if op != Operator::Minus {
        return None;
    }
    let (from, to) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
    let instant = |expr: &Expr, unit: TimeUnit, zone: &Arc<str>| {
        let to = DataType::Timestamp(unit, Some(Arc::clone(zone)));
        Expr::Cast(Cast::new(Box::new(expr.clone()), to))
    };
    let (left, right) = match (from, to) {
        (DataType::Timestamp(_, Some(zone)), DataType::Timestamp(unit, None)) => {
            (left.clone(), instant(right, unit, &zone))
        }
        (DataType::Timestamp(unit, None), DataType::Timestamp(_, Some(zone))) => {
            (instant(left, unit, &zone), right.clone())
        }
        _ => return None,
    };
    Some(binary_expr(left, op, right))
}

/// Returns true if this guard computes another value for a cast than DataFusion.
pub(super) fn differs(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match (from, to) {
        (D::Timestamp(unit, from), D::Timestamp(other, to)) => {
            places(*other) < places(*unit)
                || match (from.as_deref(), to.as_deref()) {
                    (Some(from), None) => !is_utc(from),
                    (None, Some(to)) => !is_utc(to),
                    _ => false,
                }
        }
        (from, D::Timestamp(_, Some(to))) => from.is_string() && is_named(to),
        _ => false,
    }
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "+00:00")
}

/// Returns true if the offset of a time zone may change.
fn is_named(zone: &str) -> bool {
    !is_utc(zone) && !zone.starts_with(['+', '-'])
}

/// Computes a cast that [`differs`]; returns `None` for others. A value that does not fit is NULL if `safe`, and an
/// error otherwise.
pub(super) fn cast(
    value: &ColumnarValue,
    to: &DataType,
    safe: bool,
) -> Result<Option<ColumnarValue>> {
    if !differs(&value.data_type(), to) {
        return Ok(None);
    }
    mapped(value, |array| Ok(converted(array, to, safe)?)).map(Some)
}

fn converted(array: &ArrayRef, to: &DataType, safe: bool) -> Result<ArrayRef, ArrowError> {
    let DataType::Timestamp(finer, zone) = to else { return plain_cast(array, to) };
    let DataType::Timestamp(unit, from) = array.data_type() else {
        return of_texts(array, *finer, to, safe);
    };
    let counts = plain_cast(array, &DataType::Int64)?;
    let counts = counts.as_primitive::<Int64Type>();
    let none = |count: i64, unit: TimeUnit| {
        let from = DataType::Timestamp(unit, None);
        ArrowError::CastError(format!("the timestamp of {from}: {count} has no value in {to}"))
    };
    let local = match (from, zone) {
        (Some(from), None) => {
            let zone: Tz = from.parse()?;
            each(counts, safe, |count| {
                local_of(count, *unit, &zone).ok_or_else(|| none(count, *unit))
            })?
        }
        _ => counts.clone(),
    };
    let scaled =
        each(&local, safe, |count| scaled(count, *unit, *finer).ok_or_else(|| none(count, *unit)))?;
    let all = match (from, zone) {
        (None, Some(zone)) => {
            let zone: Tz = zone.parse()?;
            let instant = |it| match it {
                // Comparisons use these for all earlier, or all later, instants.
                i64::MIN | i64::MAX => Some(it),
                it => instant_of(it, *finer, &zone),
            };
            each(&scaled, safe, |it| instant(it).ok_or_else(|| none(it, *finer)))?
        }
        _ => scaled,
    };
    plain_cast(&all, to)
}

/// Reads texts without an offset whose local time clocks skip or repeat. Arrow reads all others.
fn of_texts(
    array: &ArrayRef,
    unit: TimeUnit,
    to: &DataType,
    safe: bool,
) -> Result<ArrayRef, ArrowError> {
    let format_options = FormatOptions::default();
    let options = CastOptions { safe: true, format_options };
    let read = cast_with_options(array, to, &options)?;
    if read.null_count() == array.null_count() {
        return Ok(read);
    }
    let local = cast_with_options(
        array,
        &DataType::Timestamp(unit, None),
        &CastOptions { safe, ..options },
    )?;
    let others = converted(&local, to, safe)?;
    arrow::compute::kernels::zip::zip(&is_null(&read)?, &others, &read)
}

fn each(
    counts: &Int64Array,
    safe: bool,
    convert: impl Fn(i64) -> Result<i64, ArrowError>,
) -> Result<Int64Array, ArrowError> {
    if safe {
        return Ok(counts.unary_opt(|count| convert(count).ok()));
    }
    counts.try_unary(convert)
}

fn per_second(unit: TimeUnit) -> i64 {
    10_i64.pow(places(unit).unsigned_abs())
}

/// Converts a count to another unit. Fractions are rounded down.
fn scaled(count: i64, from: TimeUnit, to: TimeUnit) -> Option<i64> {
    let (from, to) = (per_second(from), per_second(to));
    if from > to { Some(count.div_euclid(from / to)) } else { count.checked_mul(to / from) }
}

/// Returns the local time of an instant.
fn local_of(count: i64, unit: TimeUnit, zone: &Tz) -> Option<i64> {
    let ones = per_second(unit);
    let instant = DateTime::from_timestamp(count.div_euclid(ones), 0)?.naive_utc();
    let offset = zone.offset_from_utc_datetime(&instant).fix().local_minus_utc();
    count.checked_add(i64::from(offset).checked_mul(ones)?)
}

/// Returns the instant of a local time.
fn instant_of(count: i64, unit: TimeUnit, zone: &Tz) -> Option<i64> {
    let ones = per_second(unit);
    let local = DateTime::from_timestamp(count.div_euclid(ones), 0)?.naive_utc();
    let offset = offset_at(local, zone)?;
    count.checked_sub(i64::from(offset).checked_mul(ones)?)
}

/// Returns the offset from UTC in seconds at a local time. If clocks repeat the time, it is the later offset; if they
/// skip it, the offset before the change.
fn offset_at(local: NaiveDateTime, zone: &Tz) -> Option<i32> {
    // Clocks skip less than a day, except at the date line, where whole days were skipped.
    let hours = (0..=48).filter_map(|hours| local.checked_sub_signed(Duration::hours(hours)));
    let mut found = hours.filter_map(|it| zone.offset_from_local_datetime(&it).latest());
    found.next().map(|it| it.fix().local_minus_utc())
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;
    use arrow::util::display::array_value_to_string;

    use super::*;

    #[test]
    fn local_times_have_an_instant() {
        let berlin = || Some(Arc::from("Europe/Berlin"));
        let zoned = |unit| DataType::Timestamp(unit, berlin());
        for (text, expected) in [
            ("2024-03-31T02:30:00", "2024-03-31T03:30:00+02:00"),
            ("2024-10-27T02:30:00", "2024-10-27T02:30:00+01:00"),
            ("2024-10-27T01:59:59.5", "2024-10-27T01:59:59.500+02:00"),
            ("1901-01-01T00:00:00.25", "1901-01-01T00:00:00.250+01:00"),
        ] {
            let texts: ArrayRef = Arc::new(StringArray::from(vec![Some(text), None]));
            let read = converted(&texts, &zoned(TimeUnit::Millisecond), false).unwrap();
            assert_eq!(array_value_to_string(&read, 0).unwrap(), expected, "{text}");
            assert!(read.is_null(1));
            let local = DataType::Timestamp(TimeUnit::Microsecond, None);
            let local = plain_cast(&texts, &local).unwrap();
            let read = converted(&local, &zoned(TimeUnit::Millisecond), false).unwrap();
            assert_eq!(array_value_to_string(&read, 0).unwrap(), expected, "{text}");
        }
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "2024-03-31T02:30:00"]));
        let second = zoned(TimeUnit::Second);
        assert!(converted(&texts, &second, false).is_err());
        assert_eq!(converted(&texts, &second, true).unwrap().null_count(), 1);
    }

    #[test]
    fn fractions_are_dropped_towards_the_past() {
        for (count, from, to, expected) in [
            (-1, TimeUnit::Millisecond, TimeUnit::Second, -1),
            (-1_000, TimeUnit::Millisecond, TimeUnit::Second, -1),
            (1_999, TimeUnit::Millisecond, TimeUnit::Second, 1),
            (-7, TimeUnit::Nanosecond, TimeUnit::Microsecond, -1),
        ] {
            assert_eq!(scaled(count, from, to), Some(expected), "{count}");
        }
        assert_eq!(scaled(i64::MAX, TimeUnit::Second, TimeUnit::Nanosecond), None);
    }
}
