//! Supports dates after 2262 beside timestamps of nanoseconds, which do not cover them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Field, FieldRef, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow::error::ArrowError;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::columnar_values::mapped;
use super::exact::UnitType;
use super::timestamp_comparisons;

const MICROSECONDS: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const NANOSECONDS: DataType = DataType::Timestamp(TimeUnit::Nanosecond, None);

/// Casts expressions of these types to timestamps of microseconds, if one is a constant date that nanoseconds do not
/// cover.
pub(super) fn unified(all: &[&Expr], types: &[DataType]) -> Option<Vec<Expr>> {
    let fits = |it: &DataType| {
        matches!(it, DataType::Null | DataType::Date32 | DataType::Timestamp(_, None))
    };
    if !types.contains(&NANOSECONDS) || !types.iter().all(fits) {
        return None;
    }
    if !all.iter().zip(types).any(|(expr, it)| *it == DataType::Date32 && is_far(expr)) {
        return None;
    }
    let each = all.iter().zip(types).map(|(expr, data_type)| {
        let expr = Expr::clone(expr);
        match data_type {
            DataType::Null => expr,
            it if *it == NANOSECONDS => {
                Expr::ScalarFunction(ScalarFunction::new_udf(function(), vec![expr]))
            }
            _ => Expr::Cast(Cast::new(Box::new(expr), MICROSECONDS)),
        }
    });
    Some(each.collect())
}

fn is_far(expr: &Expr) -> bool {
    let number = timestamp_comparisons::constant(expr, &NANOSECONDS);
    let counted = UnitType::from_type(&NANOSECONDS);
    number.zip(counted).is_some_and(|(number, counted)| counted.value(&number).is_none())
}

const NAME: &str = "sluice_microseconds";

/// Returns the function, to be registered with a session.
pub(super) fn function() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Microseconds { signature }))
}

/// The function `sluice_microseconds(t)`, which converts a timestamp of nanoseconds to microseconds. It fails if a
/// fraction would be lost.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Microseconds {
    signature: Signature,
}

impl ScalarUDFImpl for Microseconds {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(MICROSECONDS)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(NAME, MICROSECONDS, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else {
            return exec_err!("{NAME} takes a timestamp");
        };
        mapped(value, |array| Ok(in_microseconds(array)?))
    }
}

fn in_microseconds(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let counts = array.as_primitive::<TimestampNanosecondType>();
    let all = counts.try_unary::<_, TimestampMicrosecondType, _>(|count| {
        if count % 1_000 == 0 {
            return Ok(count / 1_000);
        }
        let message = "a timestamp has nanoseconds, and beside dates after 2262 only microseconds \
                       have room: cast it to TIMESTAMP(6)";
        Err(ArrowError::ComputeError(message.to_owned()))
    })?;
    Ok(Arc::new(all))
}
