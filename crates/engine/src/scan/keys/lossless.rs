//! Columns under lossless conversions, where a key of the converted type stands for exactly one value of the column
//! or for none.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::{CastExpr, Column};

/// A column, and the types that it is converted to, the last one first.
pub(super) struct LosslessCast {
    pub(super) column: usize,
    declared: DataType,
    types: Vec<DataType>,
}

impl LosslessCast {
    /// Recognizes an expression that is a column of a comparable type under lossless conversions. Returns `None` for
    /// others.
    pub(super) fn from_expr(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Self> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            let declared = schema.fields().get(column.index())?.data_type().clone();
            return is_key(&declared).then(|| Self {
                column: column.index(),
                declared,
                types: Vec::new(),
            });
        }
        let cast = expr.downcast_ref::<CastExpr>()?;
        let mut inner = Self::from_expr(cast.expr(), schema)?;
        let from = inner.types.first().unwrap_or(&inner.declared);
        let to = cast.cast_type().clone();
        if !loses_nothing(from, &to) {
            return None;
        }
        inner.types.insert(0, to);
        Some(inner)
    }

    /// Returns the value of the column that is converted to a key, or `None` if there is no such value.
    ///
    /// # Errors
    ///
    /// If the key is not of the converted type, so that nothing is known about it.
    pub(super) fn back(&self, key: &ScalarValue) -> Result<Option<ScalarValue>, IncomparableKey> {
        let mut value = key.clone();
        let declared = std::iter::once(&self.declared);
        let below = self.types.iter().skip(1).chain(declared);
        if value.data_type() != *self.types.first().unwrap_or(&self.declared) {
            return Err(IncomparableKey);
        }
        // Only integers are converted to floats, and there is no integer -0.
        if let ScalarValue::Float64(Some(x)) = &mut value
            && *x == 0.0
        {
            *x = 0.0;
        }
        if !self.types.is_empty() {
            for of in below {
                let Ok(back) = value.cast_to(of) else { return Ok(None) };
                if back.is_null() || back.cast_to(&value.data_type()).ok().as_ref() != Some(&value)
                {
                    return Ok(None);
                }
                value = back;
            }
        }
        Ok(Some(value))
    }
}

/// The error for a constant that is not of the type of the expression that it is compared with.
#[derive(Debug)]
pub(super) struct IncomparableKey;

/// Returns true if values of a type are equal exactly if they are identical, and have a total order.
fn is_key(data_type: &DataType) -> bool {
    data_type.is_integer()
        || is_text(data_type)
        || matches!(data_type, DataType::Date32 | DataType::Decimal128(..))
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn loses_nothing(from: &DataType, to: &DataType) -> bool {
    if from == to || (is_text(from) && is_text(to)) {
        return true;
    }
    match (from, to) {
        (DataType::Decimal128(p1, s1), DataType::Decimal128(p2, s2)) => {
            s2 >= s1 && i16::from(*p2) - i16::from(*s2) >= i16::from(*p1) - i16::from(*s1)
        }
        (_, DataType::Float64) => integer(from).is_some_and(|(bits, _)| bits <= 32),
        (_, DataType::Decimal128(precision, scale)) => integer(from).is_some_and(|(bits, _)| {
            let digits = match bits {
                8 => 3,
                16 => 5,
                32 => 10,
                _ => 20,
            };
            *scale >= 0 && i16::from(*precision) - i16::from(*scale) >= digits
        }),
        _ => match (integer(from), integer(to)) {
            (Some((from, true)), Some((to, true))) | (Some((from, false)), Some((to, false))) => {
                from <= to
            }
            (Some((from, false)), Some((to, true))) => from < to,
            _ => false,
        },
    }
}

/// Returns the bits of an integer type, and whether it is signed.
fn integer(data_type: &DataType) -> Option<(u8, bool)> {
    Some(match data_type {
        DataType::Int8 => (8, true),
        DataType::Int16 => (16, true),
        DataType::Int32 => (32, true),
        DataType::Int64 => (64, true),
        DataType::UInt8 => (8, false),
        DataType::UInt16 => (16, false),
        DataType::UInt32 => (32, false),
        DataType::UInt64 => (64, false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Field;

    use super::*;

    fn convert(from: DataType, to: DataType) -> Option<LosslessCast> {
        let schema = Schema::new(vec![Field::new("k", from, true)]);
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new("k", 0));
        let cast: Arc<dyn PhysicalExpr> = Arc::new(CastExpr::new(column, to, None));
        LosslessCast::from_expr(&cast, &schema)
    }

    #[test]
    fn what_may_lose_something_is_not_looked_through() {
        use DataType::{Date32, Decimal128, Float64, Int16, Int32, Int64, UInt32, Utf8, Utf8View};
        for (from, to) in [
            (Int32, Int64),
            (UInt32, Int64),
            (Int32, Float64),
            (Utf8, Utf8View),
            (Int64, Decimal128(22, 2)),
            (Decimal128(10, 2), Decimal128(12, 3)),
        ] {
            assert!(convert(from.clone(), to.clone()).is_some(), "{from} as {to}");
        }
        for (from, to) in [
            (Int64, Int32),
            (Int64, Float64),
            (Int32, UInt32),
            (UInt32, Int32),
            (Int64, Decimal128(20, 2)),
            (Decimal128(12, 2), Decimal128(12, 3)),
            (Int32, Utf8),
            (Utf8, Int32),
            (Float64, Float64),
            (Date32, Utf8),
            (Int16, DataType::Boolean),
        ] {
            assert!(convert(from.clone(), to.clone()).is_none(), "{from} as {to}");
        }
    }

    #[test]
    fn a_key_stands_for_one_value_or_none() {
        let of = |to: DataType, key: ScalarValue| {
            convert(DataType::Int32, to).unwrap().back(&key).ok().flatten()
        };
        let int = |x| Some(ScalarValue::Int32(Some(x)));
        assert_eq!(of(DataType::Int64, ScalarValue::from(7_i64)), int(7));
        assert_eq!(of(DataType::Int64, ScalarValue::from(i64::MAX)), None);
        assert_eq!(of(DataType::Float64, ScalarValue::from(-3.0)), int(-3));
        assert_eq!(of(DataType::Float64, ScalarValue::from(1.5)), None);
        assert_eq!(of(DataType::Float64, ScalarValue::from(-0.0)), int(0));
        assert_eq!(of(DataType::Float64, ScalarValue::from(f64::NAN)), None);
        assert_eq!(of(DataType::Int64, ScalarValue::Int64(None)), None);
        let other = convert(DataType::Int32, DataType::Int64).unwrap();
        assert!(other.back(&ScalarValue::from(7_i32)).is_err());
    }
}
