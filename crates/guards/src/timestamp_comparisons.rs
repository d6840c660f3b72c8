//! Compares timestamps and dates with instants of finer units, or beyond the range of nanoseconds in 64 bits.

use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, timezone::Tz};
use arrow::compute::cast;
use arrow::compute::kernels::cast_utils::string_to_datetime;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, TimeUnit};
use chrono::{DateTime, TimeZone, Utc};
use datafusion::common::{
    DFSchema, Result, ScalarValue, exec_err, internal_err, plan_datafusion_err, plan_err,
};
use datafusion::logical_expr::expr::{Cast, InList, ScalarFunction};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};

use super::columnar_values::mapped;
use super::exact::{Number, UnitType, places};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "Timestamps and dates are compared with a rounded instant, or fail beyond the year 2262",
    upstream: &["datafusion#25135"],
    ours: "An instant in a statement is compared with timestamps and dates of every unit as it is written, and so are \
           columns of different units. Years from 0000 to 9999 never overflow in a comparison.",
    cases: &[
        Case {
            setup: &[
                "CREATE TABLE seconds AS SELECT arrow_cast('2001-01-14T00:00:00', 'Timestamp(s)') AS ts",
            ],
            sql: "SELECT ts = TIMESTAMP '2001-01-14 00:00:00.5', ts < TIMESTAMP '2001-01-14 00:00:00.5', \
                  ts IN (TIMESTAMP '2001-01-14 00:00:00.5') FROM seconds",
            right: CaseOutcome::Rows(&["false, true, false"]),
            theirs: CaseOutcome::Rows(&["true, false, true"]),
        },
        Case {
            setup: &[
                "CREATE TABLE for_ever AS SELECT arrow_cast('9999-12-31T00:00:00', 'Timestamp(s)') AS valid_to",
            ],
            sql: "SELECT valid_to = '9999-12-31' FROM for_ever",
            right: CaseOutcome::Rows(&["true"]),
            theirs: CaseOutcome::Error("9999-12-31"),
        },
        Case {
            setup: &["CREATE TABLE now_and_then AS SELECT CAST('2024-01-01' AS TIMESTAMP(6)) AS t"],
            sql: "SELECT t < TIMESTAMPTZ '9999-12-31 12:34:56+01:00', t > TIMESTAMPTZ '0001-01-01 00:00:00' FROM now_and_then",
            right: CaseOutcome::Rows(&["true, true"]),
            theirs: CaseOutcome::Error("9999-12-31"),
        },
        Case {
            setup: &["CREATE TABLE for_ever AS SELECT DATE '9999-12-31' AS valid_to"],
            sql: "SELECT valid_to > now() FROM for_ever",
            right: CaseOutcome::Rows(&["true"]),
            theirs: CaseOutcome::Error("Date32"),
        },
    ],
};

/// Returns the instant of a text, or of a cast of one, that is compared with a column of this type.
pub(super) fn constant(expr: &Expr, beside: &DataType) -> Option<Number> {
    let zone = match beside {
        DataType::Timestamp(_, zone) => zone.as_deref(),
        DataType::Date32 => None,
        _ => return None,
    };
    match expr {
        // DataFusion reads a text beside a date as a date.
        Expr::Literal(value, _) if value.data_type().is_string() => {
            let text = value.try_as_str().flatten()?;
            matches!(beside, DataType::Timestamp(..)).then(|| instant(text, zone))?
        }
        Expr::Literal(value @ ScalarValue::Date32(_), _) => {
            (zone.is_none() && *beside != DataType::Date32).then(|| Number::of_literal(value))?
        }
        Expr::Literal(value, _) => match value.data_type() {
            DataType::Timestamp(_, other) if other.as_deref() == zone => Number::of_literal(value),
            _ => None,
        },
        Expr::Cast(Cast { expr, field }) => {
            let Expr::Literal(value, _) = expr.as_ref() else { return None };
            let text = value.try_as_str().flatten()?;
            match field.data_type() {
                DataType::Timestamp(TimeUnit::Nanosecond, other)
                    if other.is_some() == zone.is_some() || other.is_none() =>
                {
                    // A text without a zone is in the column's zone.
                    instant(text, other.as_deref().or(zone))
                }
                // A column without a zone holds local times of the literal's zone. DataFusion compares them correctly
                // within its range.
                DataType::Timestamp(TimeUnit::Nanosecond, Some(other)) if zone.is_none() => {
                    let local = string_to_datetime(&other.parse::<Tz>().ok()?, text).ok()?;
                    let is_near = local.timestamp_nanos_opt().is_some();
                    (!is_near).then(|| of_time(&local.naive_local().and_utc()))
                }
                DataType::Date32 if zone.is_none() && *beside != DataType::Date32 => {
                    (text.len() == 10).then(|| instant(text, None))?
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn of_time<Z: TimeZone>(time: &DateTime<Z>) -> Number {
    Number::of_instant(time.timestamp(), time.timestamp_subsec_nanos())
}

fn instant(text: &str, zone: Option<&str>) -> Option<Number> {
    fn read<Z: TimeZone>(zone: &Z, text: &str) -> Option<Number> {
        string_to_datetime(zone, text).ok().map(|read| of_time(&read))
    }
    match zone {
        Some(zone) => read(&zone.parse::<Tz>().ok()?, text),
        None => read(&Utc, text),
    }
}

/// Returns an expression in a form that is compared with another one without overflow, or `None` if it has that form.
///
/// The coarser of two timestamps is converted to the finer unit; values out of its range become its first or last
/// instant. A date becomes its first instant, and a timestamp that it is compared with becomes local time.
pub(super) fn widened(expr: &Expr, data_type: &DataType, beside: &DataType) -> Option<Expr> {
    use DataType as D;
    let to = match (data_type, beside) {
        (D::Timestamp(unit, zone), D::Timestamp(other, _)) if places(*unit) < places(*other) => {
            D::Timestamp(*other, zone.clone())
        }
        (D::Date32, D::Timestamp(unit, _)) => D::Timestamp(*unit, None),
        (D::Timestamp(unit, Some(_)), D::Date32) => {
            let local = D::Timestamp(*unit, None);
            return Some(Expr::Cast(Cast::new(Box::new(expr.clone()), local)));
        }
        _ => return None,
    };
    let arguments = vec![expr.clone(), lit(to.to_string())];
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(instant_function(), arguments)))
}

/// Returns a comparison with an instant that the optimizer computed, such as now(), as one on the column itself.
pub(super) fn narrowed(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (left.as_ref(), right.as_ref()) {
            (call, Expr::Literal(value, _)) => compared(call, *op, value, schema),
            (Expr::Literal(value, _), call) => compared(call, op.swap()?, value, schema),
            _ => None,
        },
        Expr::InList(InList { expr, list, negated }) => {
            let (inner, counted) = counted(expr, schema)?;
            let mut values = Vec::with_capacity(list.len());
            for item in list {
                let Expr::Literal(value, _) = item else { return None };
                values.extend(counted.value(&Number::of_literal(value)?).map(lit));
            }
            counted.one_of(inner.clone(), values, *negated)
        }
        _ => None,
    }
}

fn compared(call: &Expr, op: Operator, value: &ScalarValue, schema: &DFSchema) -> Option<Expr> {
    let (inner, counted) = counted(call, schema)?;
    counted.compare(inner.clone(), op, &Number::of_literal(value)?)
}

/// Returns the expression that a call widens, and its type.
fn counted<'a>(call: &'a Expr, schema: &DFSchema) -> Option<(&'a Expr, UnitType)> {
    let Expr::ScalarFunction(call) = call else { return None };
    let inner = call.args.first().filter(|_| call.func.name() == NAME)?;
    Some((inner, UnitType::from_type(&inner.get_type(schema).ok()?)?))
}

const NAME: &str = "sluice_instant";

/// Returns the function, to be registered with a session.
pub(super) fn instant_function() -> Arc<ScalarUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Instant { signature }))
}

/// The function `sluice_instant(x, 'type')`, which converts a date or a timestamp to a timestamp of a finer unit.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Instant {
    signature: Signature,
}

impl ScalarUDFImpl for Instant {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type is in an argument")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        named_type(NAME, &args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, _] = args.args.as_slice() else {
            return exec_err!("{NAME} takes a value and a type");
        };
        let to = args.return_field.data_type();
        let DataType::Timestamp(finer, _) = to else {
            return exec_err!("{NAME} makes timestamps, not {to}");
        };
        let seconds = 10_i64.pow(places(*finer).unsigned_abs());
        let factor = match value.data_type() {
            DataType::Date32 => 86_400 * seconds,
            DataType::Timestamp(unit, _) => {
                seconds / 10_i64.pow(places(unit).unsigned_abs()).max(1)
            }
            other => return exec_err!("{NAME} takes dates and timestamps, not {other}"),
        };
        mapped(value, |array| {
            let counts = match array.data_type() {
                DataType::Date32 => cast(&cast(array, &DataType::Int32)?, &DataType::Int64)?,
                _ => cast(array, &DataType::Int64)?,
            };
            let counts: Int64Array =
                counts.as_primitive::<Int64Type>().unary(|count| count.saturating_mul(factor));
            Ok(cast(&counts, to)?)
        })
    }
}

/// Returns the result field of a function that takes a value and the name of a type.
pub(super) fn named_type(function: &str, args: &ReturnFieldArgs) -> Result<FieldRef> {
    let ([value, _], [_, Some(name)]) = (args.arg_fields, args.scalar_arguments) else {
        return plan_err!("{function} takes a value and the name of a type");
    };
    let name = name.try_as_str().flatten().unwrap_or_default();
    let to: DataType = name
        .parse()
        .map_err(|error| plan_datafusion_err!("{function}: `{name}` is no type: {error}"))?;
    Ok(Arc::new(Field::new(value.name(), to, value.is_nullable())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_the_last_instant() {
        let function = instant_function();
        let to = DataType::Timestamp(TimeUnit::Nanosecond, None);
        for (value, expected) in [
            (ScalarValue::Date32(Some(1)), 86_400_000_000_000),
            (ScalarValue::Date32(Some(2_932_896)), i64::MAX),
            (ScalarValue::Date32(Some(-719_529)), i64::MIN),
            (ScalarValue::TimestampSecond(Some(-1), None), -1_000_000_000),
            (ScalarValue::TimestampMicrosecond(Some(7), None), 7_000),
        ] {
            let from = Arc::new(Field::new("x", value.data_type(), true));
            let name = Arc::new(Field::new("type", DataType::Utf8, false));
            let args = ScalarFunctionArgs {
                args: vec![
                    ColumnarValue::Scalar(value.clone()),
                    ColumnarValue::Scalar(ScalarValue::from(to.to_string())),
                ],
                arg_fields: vec![from, name],
                number_rows: 1,
                return_field: Arc::new(Field::new("x", to.clone(), true)),
                config_options: Arc::default(),
            };
            match function.invoke_with_args(args).unwrap() {
                ColumnarValue::Scalar(ScalarValue::TimestampNanosecond(Some(it), None)) => {
                    assert_eq!(it, expected, "{value}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn types_are_read_as_they_are_shown() {
        for data_type in [
            DataType::Timestamp(TimeUnit::Nanosecond, None),
            DataType::Timestamp(TimeUnit::Microsecond, Some("+02:00".into())),
            DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into())),
        ] {
            assert_eq!(data_type.to_string().parse::<DataType>().unwrap(), data_type);
        }
    }
}
