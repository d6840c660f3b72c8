//! Keeps casts that change values in conditions.

use std::sync::Arc;

use arrow::compute::CastOptions;
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::util::display::FormatOptions;
use datafusion::common::{DFSchema, Result, exec_err, internal_err};
use datafusion::logical_expr::expr::{Cast, ScalarFunction, TryCast};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, lit,
};

use super::exact::places;
use super::timestamp_comparisons::named_type;
use super::{Case, CaseOutcome, Guard, decimal_floats, decimal_texts, timestamp_casts};

pub(super) const GUARD: Guard = Guard {
    title: "Conditions on casts that round or fail are tested on the value before the cast",
    upstream: &["datafusion#23095", "datafusion#14303", "datafusion#25095"],
    ours: "Casts to fewer digits, places or bits, between time zones, and TRY_CAST are computed before they are \
           compared. Casts that lose nothing are still removed, so such conditions are pushed down.",
    cases: &[
        Case {
            setup: &["CREATE TABLE cents AS SELECT CAST(d AS DECIMAL(15,2)) AS d \
                 FROM (VALUES ('1.16'), ('1.20'), ('1.24'), ('1.25')) t(d)"],
            sql: "SELECT d FROM cents WHERE CAST(d AS DECIMAL(15,1)) = 1.2",
            right: CaseOutcome::Rows(&["1.16", "1.20", "1.24"]),
            theirs: CaseOutcome::Rows(&["1.20"]),
        },
        Case {
            setup: &["CREATE TABLE cents AS SELECT CAST(d AS DECIMAL(15,2)) AS d \
                 FROM (VALUES ('1.16'), ('1.24'), ('2.01')) t(d)"],
            sql: "SELECT d FROM cents WHERE CAST(d AS INT) = 1",
            right: CaseOutcome::Rows(&["1.16", "1.24"]),
            theirs: CaseOutcome::Rows(&[]),
        },
        Case {
            setup: &["CREATE TABLE large AS SELECT 1000000 AS a"],
            sql: "SELECT TRY_CAST(a AS SMALLINT) > 1 FROM large",
            right: CaseOutcome::Rows(&["NULL"]),
            theirs: CaseOutcome::Rows(&["true"]),
        },
        Case {
            setup: &[
                "SET datafusion.execution.time_zone = '+02:00'",
                "CREATE TABLE local AS SELECT TIMESTAMP '2024-01-01 12:00:00' AS ts",
            ],
            sql: "SELECT ts = TIMESTAMPTZ '2024-01-01 12:00:00+02:00' FROM local",
            right: CaseOutcome::Rows(&["true"]),
            theirs: CaseOutcome::Rows(&["false"]),
        },
    ],
};

/// Replaces a cast that changes values, and that DataFusion would remove from a comparison, by a function that it
/// does not move.
pub(super) fn keep(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (inner, to, safe) = match expr {
        Expr::Cast(Cast { expr, field }) => (expr.as_ref(), field.data_type().clone(), false),
        Expr::TryCast(TryCast { expr, field }) => (expr.as_ref(), field.data_type().clone(), true),
        // The optimizer turns these calls into casts.
        Expr::ScalarFunction(call) => {
            let [inner, Expr::Literal(to, _)] = call.args.as_slice() else { return None };
            let safe = match call.func.name() {
                "arrow_cast" => false,
                "arrow_try_cast" => true,
                _ => return None,
            };
            (inner, to.try_as_str().flatten()?.parse().ok()?, safe)
        }
        _ => return None,
    };
    let from = inner.get_type(schema).ok()?;
    let constant = inner.column_refs().is_empty() && !inner.contains_outer();
    let other = timestamp_casts::differs(&from, &to)
        || decimal_texts::concerns(&from, &to)
        || decimal_floats::concerns(&from, &to);
    if !other && (constant || !loses(&from, &to)) {
        return None;
    }
    let function = if safe { try_cast_function() } else { cast_function() };
    let arguments = vec![inner.clone(), lit(to.to_string())];
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(function, arguments)))
}

/// Returns true if DataFusion removes a cast from comparisons although it changes them: some value of `from` has no
/// counterpart in `to` in the same order, or some literal of `to` has none in `from`.
pub(super) fn loses(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    if from == to {
        return false;
    }
    match (from, to) {
        (D::Timestamp(unit, zone), D::Timestamp(other, other_zone)) => {
            let utc = |zone: &Option<Arc<str>>| {
                zone.as_deref().is_none_or(|zone| matches!(zone, "UTC" | "+00:00"))
            };
            // DataFusion keeps casts to coarser units, and rounds literals for casts to finer ones.
            let local = zone.is_some() != other_zone.is_some() && !(utc(zone) && utc(other_zone));
            local || places(*unit) < places(*other)
        }
        (D::Int64, D::Timestamp(..)) | (D::Timestamp(..), D::Int64) => false,
        (D::Int32, D::Date32) | (D::Date32, D::Int32 | D::Int64) => false,
        (D::Timestamp(..), to) | (to, D::Timestamp(..)) => to.is_integer() || to.is_decimal(),
        (from, to) => match (range(from), range(to)) {
            (Some(from), Some(to)) => !from.is_within(to),
            _ => false,
        },
    }
}

/// The digits before and after the point that a type can hold, and its sign.
#[derive(Debug, Clone, Copy)]
struct Range {
    bits: Option<(bool, u32)>,
    whole: i16,
    places: i16,
}

impl Range {
    fn is_within(self, to: Self) -> bool {
        if self.places < 0 || to.places < 0 {
            // DataFusion panics on literals of such types.
            return false;
        }
        match (self.bits, to.bits) {
            (Some((signed, bits)), Some((to_signed, to_bits))) => match (signed, to_signed) {
                (true, false) => false,
                (false, true) => bits < to_bits,
                _ => bits <= to_bits,
            },
            (_, None) => self.whole <= to.whole && self.places <= to.places,
            (None, Some(_)) => false,
        }
    }
}

fn range(data_type: &DataType) -> Option<Range> {
    use DataType as D;
    let whole = |signed: bool, bits: u32, whole: i16| Range {
        bits: Some((signed, bits)),
        whole,
        places: 0,
    };
    Some(match data_type {
        D::Int8 => whole(true, 8, 3),
        D::Int16 => whole(true, 16, 5),
        D::Int32 => whole(true, 32, 10),
        D::Int64 => whole(true, 64, 19),
        D::UInt8 => whole(false, 8, 3),
        D::UInt16 => whole(false, 16, 5),
        D::UInt32 => whole(false, 32, 10),
        D::UInt64 => whole(false, 64, 20),
        D::Date32 => whole(true, 32, 10),
        D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal128(p, s) => {
            Range { bits: None, whole: i16::from(*p) - i16::from(*s), places: i16::from(*s) }
        }
        _ => return None,
    })
}

const CAST: &str = "sluice_cast";
const TRY_CAST: &str = "sluice_try_cast";

/// Returns CAST as a function, to be registered with a session.
pub(super) fn cast_function() -> Arc<ScalarUDF> {
    function(false)
}

/// Returns TRY_CAST as a function, to be registered with a session.
pub(super) fn try_cast_function() -> Arc<ScalarUDF> {
    function(true)
}

fn function(safe: bool) -> Arc<ScalarUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(OpaqueCast { signature, safe }))
}

/// `sluice_cast(x, 'type')`: CAST in a form that no rule takes apart, and with the answers of the guards of casts.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OpaqueCast {
    signature: Signature,
    /// True if values that the type cannot hold become NULL.
    safe: bool,
}

impl ScalarUDFImpl for OpaqueCast {
    fn name(&self) -> &str {
        if self.safe { TRY_CAST } else { CAST }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type is in an argument")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field = named_type(self.name(), &args)?;
        let nullable = self.safe || field.is_nullable();
        Ok(Arc::new(Field::clone(&field).with_nullable(nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value, _] = args.args.as_slice() else {
            return exec_err!("{} takes a value and a type", self.name());
        };
        if let Some(cast) = timestamp_casts::cast(value, args.return_field.data_type(), self.safe)?
        {
            return Ok(cast);
        }
        if let Some(cast) = decimal_texts::casted(value, args.return_field.data_type(), self.safe)?
        {
            return Ok(cast);
        }
        if let Some(cast) = decimal_floats::casted(value, args.return_field.data_type())? {
            return Ok(cast);
        }
        let options = CastOptions { safe: self.safe, format_options: FormatOptions::default() };
        value.cast_to(args.return_field.data_type(), Some(&options))
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn casts_that_lose_nothing_are_told() {
        use DataType as D;
        let zone = |zone: &str| D::Timestamp(TimeUnit::Nanosecond, Some(zone.into()));
        let plain = |unit| D::Timestamp(unit, None);
        for (from, to, expected) in [
            (D::Int32, D::Int64, false),
            (D::Int64, D::Int32, true),
            (D::UInt32, D::Int64, false),
            (D::UInt64, D::Int64, true),
            (D::Int8, D::UInt64, true),
            (D::Int64, D::Decimal128(20, 0), false),
            (D::Int64, D::Decimal128(19, 1), true),
            (D::Decimal128(15, 2), D::Decimal128(17, 4), false),
            (D::Decimal128(15, 2), D::Decimal128(15, 1), true),
            (D::Decimal128(15, 2), D::Decimal128(16, 4), true),
            (D::Decimal128(5, 0), D::Int64, true),
            (D::Decimal128(5, -1), D::Decimal128(9, 0), true),
            (D::Int32, D::Date32, false),
            (D::Int64, D::Date32, true),
            (D::Utf8, D::Int32, false),
            (D::Int32, D::Utf8, false),
            (D::Int64, D::Float64, false),
            (plain(TimeUnit::Second), plain(TimeUnit::Nanosecond), true),
            (plain(TimeUnit::Nanosecond), plain(TimeUnit::Second), false),
            (plain(TimeUnit::Nanosecond), zone("+02:00"), true),
            (plain(TimeUnit::Nanosecond), zone("UTC"), false),
            (zone("+01:00"), zone("+02:00"), false),
            (plain(TimeUnit::Second), D::Int64, false),
            (plain(TimeUnit::Second), D::Int32, true),
            (plain(TimeUnit::Second), D::Date32, false),
        ] {
            assert_eq!(loses(&from, &to), expected, "{from} to {to}");
        }
    }
}
