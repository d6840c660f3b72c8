//! Widens the key of RANGE frames whose bounds are beyond its type.

use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{
    Expr, ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits, cast,
};

use super::exact::{Number, places};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "RANGE frames at the edge of a type hold the rows of NULL, and those of parts of a second other rows",
    upstream: &[],
    ours: "The key of `RANGE n PRECEDING` and `RANGE n FOLLOWING` is computed in a type that has room for the bounds.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT x, count(*) OVER (ORDER BY x RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) \
                  FROM (SELECT CAST(x AS INT) AS x FROM (VALUES (2147483647), (NULL), (2147483646), (-2147483648)) t(x)) u",
            right: CaseOutcome::Rows(&[
                "-2147483648, 1",
                "2147483646, 2",
                "2147483647, 2",
                "NULL, 1",
            ]),
            theirs: CaseOutcome::Rows(&[
                "-2147483648, 1",
                "2147483646, 2",
                "2147483647, 3",
                "NULL, 1",
            ]),
        },
        Case {
            setup: &[],
            sql: "SELECT x, count(*) OVER (ORDER BY x RANGE BETWEEN CURRENT ROW AND 5 FOLLOWING) \
                  FROM (VALUES (9223372036854775807), (NULL), (9223372036854775806)) t(x)",
            right: CaseOutcome::Rows(&[
                "9223372036854775806, 2",
                "9223372036854775807, 1",
                "NULL, 1",
            ]),
            theirs: CaseOutcome::Rows(&[
                "9223372036854775806, 3",
                "9223372036854775807, 2",
                "NULL, 1",
            ]),
        },
        Case {
            setup: &[],
            sql: "SELECT count(*) OVER (ORDER BY d RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) \
                  FROM (VALUES (CAST('0.5' AS DECIMAL(17, 17)))) t(d)",
            right: CaseOutcome::Rows(&["1"]),
            theirs: CaseOutcome::Error("too large"),
        },
        Case {
            setup: &[],
            sql: "SELECT count(*) OVER (ORDER BY t RANGE BETWEEN INTERVAL '500 milliseconds' PRECEDING AND CURRENT ROW) \
                  FROM (SELECT arrow_cast(t, 'Timestamp(s)') AS t \
                  FROM (VALUES ('2020-01-01T00:00:00'), ('2020-01-01T00:00:01')) v(t)) q",
            right: CaseOutcome::Rows(&["1", "1"]),
            theirs: CaseOutcome::Rows(&["1", "2"]),
        },
    ],
};

/// Returns a window with a key whose type has room for the bounds of its frame, or `None` if it has.
pub(super) fn widened(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::WindowFunction(window) = expr else { return None };
    let [key] = window.params.order_by.as_slice() else { return None };
    let frame = &window.params.window_frame;
    let wide = match key.expr.get_type(schema).ok()? {
        DataType::Timestamp(unit, zone) => DataType::Timestamp(finer(unit, frame)?, zone),
        other => wide(&other, &distances(frame)?)?,
    };
    let mut window = window.clone();
    if let [key] = window.params.order_by.as_mut_slice() {
        key.expr = cast(std::mem::take(&mut key.expr), wide);
    }
    Some(Expr::WindowFunction(window))
}

/// Returns the distances of the bounds of a RANGE frame.
fn bounds(frame: &WindowFrame) -> impl Iterator<Item = &ScalarValue> {
    let bounds = match frame.units {
        WindowFrameUnits::Range => [Some(&frame.start_bound), Some(&frame.end_bound)],
        _ => [None, None],
    };
    bounds.into_iter().flatten().filter_map(|bound| match bound {
        WindowFrameBound::Preceding(value) | WindowFrameBound::Following(value) => {
            (!value.is_null()).then_some(value)
        }
        WindowFrameBound::CurrentRow => None,
    })
}

/// Returns the distances as numbers, or `None` if there are none.
fn distances(frame: &WindowFrame) -> Option<Vec<Number>> {
    let all: Vec<Number> = bounds(frame).map(number).collect::<Option<_>>()?;
    (!all.is_empty()).then_some(all)
}

/// Returns a finer unit in which the distances are whole, or `None` if they are whole in the unit of the key.
fn finer(unit: TimeUnit, frame: &WindowFrame) -> Option<TimeUnit> {
    if !matches!(unit, TimeUnit::Second | TimeUnit::Millisecond) {
        return None;
    }
    let one = 10_i64.pow((9 - places(unit)).unsigned_abs());
    let has_part = |bound: &ScalarValue| {
        let interval = match bound.try_as_str() {
            Some(text) => ScalarValue::try_from_string(text?.to_owned(), &INTERVAL).ok()?,
            None => bound.clone(),
        };
        match interval {
            ScalarValue::IntervalMonthDayNano(Some(it)) => Some(it.nanoseconds % one != 0),
            _ => None,
        }
    };
    bounds(frame).any(|bound| has_part(bound) == Some(true)).then_some(TimeUnit::Microsecond)
}

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// Returns a bound as a number. The planner keeps it as text.
fn number(value: &ScalarValue) -> Option<Number> {
    match value.try_as_str() {
        Some(text) => Number::parse(text?),
        None => Number::of_literal(value),
    }
}

/// Returns a type that has room for every value plus or minus each distance, or `None` if the type itself has.
fn wide(key: &DataType, distances: &[Number]) -> Option<DataType> {
    use DataType as D;
    // Digits before the point, decimal places, and whether a sum may need one more digit than the type holds.
    let (whole, places, full) = match key {
        D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16 | D::UInt32 => (10_u8, 0_u8, true),
        D::Int64 => (19, 0, true),
        D::UInt64 => (20, 0, true),
        D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal128(p, s) => {
            let places = u8::try_from(*s).ok()?;
            (p.checked_sub(places)?, places, *p >= 38)
        }
        _ => return None,
    };
    let mut most = (whole, places);
    for distance in distances {
        let ScalarValue::Decimal128(_, precision, scale) = distance.to_literal()? else {
            return None;
        };
        let scale = u8::try_from(scale).ok()?;
        most = (most.0.max(precision.checked_sub(scale)?), most.1.max(scale));
    }
    if !full && most == (whole, places) {
        return None;
    }
    if whole == 10 && most == (10, 0) {
        return Some(D::Int64);
    }
    let places = i8::try_from(most.1).ok()?;
    match most.0 + 1 + most.1 {
        ..=38 => Some(D::Decimal128(38, places)),
        39..=76 => Some(D::Decimal256(76, places)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_room_for_their_frames() {
        use DataType as D;
        for (key, distance, expected) in [
            (D::Int32, "1", Some(D::Int64)),
            (D::Int8, "1.5", Some(D::Decimal128(38, 1))),
            (D::Int64, "1", Some(D::Decimal128(38, 0))),
            (D::Decimal128(9, 2), "1", None),
            (D::Decimal128(9, 2), "1.125", Some(D::Decimal128(38, 3))),
            (D::Decimal128(17, 17), "1", Some(D::Decimal128(38, 17))),
            (D::Decimal128(38, 0), "1", Some(D::Decimal256(76, 0))),
            (D::Float64, "1", None),
            (D::Date32, "1", None),
        ] {
            let distance = Number::parse(distance).unwrap();
            assert_eq!(wide(&key, &[distance]), expected, "{key}");
        }
    }
}
