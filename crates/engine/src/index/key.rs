//! Encodes values as bytes that sort as the values do.
//!
//! Integers, decimals, dates and times are a byte with sign and length, followed by the number without leading zeros.
//! Text is its UTF-8. Floating-point numbers are a byte followed by their bits, changed so that they sort from -NaN
//! to NaN, as DataFusion compares them. NULL is a byte that no other key begins with, and the greatest key.

use arrow::array::{Array, ArrayRef, AsArray, LargeStringArray};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use datafusion::common::{Result, ScalarValue, exec_err};
use sluicegate_index::key::{NULL, write_number};

/// Returns the name of a type in index objects, if its values have keys. All types of text have the same name.
#[must_use]
pub fn type_name(data_type: &DataType) -> Option<String> {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some("Utf8".to_owned()),
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Date32
        | DataType::Date64
        | DataType::Timestamp(..)
        | DataType::Decimal128(..)
        | DataType::Float32
        | DataType::Float64 => Some(data_type.to_string()),
        _ => None,
    }
}

/// The values of a column, ready to be written as keys.
#[derive(Debug)]
pub enum Keys {
    /// Types that are numbers inside; none is NULL.
    Numbers(Vec<Option<i128>>),
    /// Keys of a fixed length; none is NULL.
    Bits(Vec<Option<Bits>>),
    /// The values of a text column.
    Text(LargeStringArray),
}

/// The key of a floating-point number.
type Bits = [u8; 9];

impl Keys {
    /// Returns the keys of a column.
    ///
    /// # Errors
    ///
    /// If values of this type have no keys.
    pub fn from_array(array: &ArrayRef) -> Result<Self> {
        let numbers = match array.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                let text = cast(array, &DataType::LargeUtf8)?;
                return Ok(Self::Text(text.as_string::<i64>().clone()));
            }
            DataType::Int8 => numbers::<Int8Type>(array),
            DataType::Int16 => numbers::<Int16Type>(array),
            DataType::Int32 => numbers::<Int32Type>(array),
            DataType::Int64 => numbers::<Int64Type>(array),
            DataType::UInt8 => numbers::<UInt8Type>(array),
            DataType::UInt16 => numbers::<UInt16Type>(array),
            DataType::UInt32 => numbers::<UInt32Type>(array),
            DataType::UInt64 => numbers::<UInt64Type>(array),
            DataType::Date32 => numbers::<Date32Type>(array),
            DataType::Date64 => numbers::<Date64Type>(array),
            DataType::Decimal128(..) => numbers::<Decimal128Type>(array),
            DataType::Float32 => {
                let values = array.as_primitive::<Float32Type>();
                return Ok(Self::Bits(values.iter().map(|it| it.map(of_f32)).collect()));
            }
            DataType::Float64 => {
                let values = array.as_primitive::<Float64Type>();
                return Ok(Self::Bits(values.iter().map(|it| it.map(of_f64)).collect()));
            }
            DataType::Timestamp(unit, _) => match unit {
                TimeUnit::Second => numbers::<TimestampSecondType>(array),
                TimeUnit::Millisecond => numbers::<TimestampMillisecondType>(array),
                TimeUnit::Microsecond => numbers::<TimestampMicrosecondType>(array),
                TimeUnit::Nanosecond => numbers::<TimestampNanosecondType>(array),
            },
            other => return exec_err!("values of type {other} have no keys"),
        };
        Ok(Self::Numbers(numbers))
    }

    /// Appends the key of a row to `out`. Returns true if the row has a value.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> bool {
        let written = match self {
            Self::Numbers(numbers) => numbers.get(row).copied().flatten().map(|number| {
                write_number(number, out);
            }),
            Self::Bits(bits) => bits.get(row).copied().flatten().map(|bits| {
                out.extend_from_slice(&bits);
            }),
            Self::Text(text) => text.is_valid(row).then(|| {
                out.extend_from_slice(text.value(row).as_bytes());
            }),
        };
        if written.is_none() {
            out.extend_from_slice(&NULL);
        }
        written.is_some()
    }
}

fn numbers<T>(array: &ArrayRef) -> Vec<Option<i128>>
where
    T: ArrowPrimitiveType<Native: Into<i128>>,
{
    array.as_primitive::<T>().iter().map(|value| value.map(Into::into)).collect()
}

/// The first byte of keys of floating-point numbers.
const FIXED: u8 = 0x80;

/// Returns the key of a double. Read as an integer, the bits of numbers sort as the numbers do, once those of
/// negative numbers are inverted.
fn of_f64(number: f64) -> Bits {
    let bits = number.to_bits();
    let ordered = if number.is_sign_negative() { !bits } else { bits | 1 << 63 };
    let mut key = [FIXED; 9];
    key[1..].copy_from_slice(&ordered.to_be_bytes());
    key
}

/// Returns the key of a 32-bit number, like [`of_f64`]; the last bytes are zero.
fn of_f32(number: f32) -> Bits {
    let bits = number.to_bits();
    let ordered = if number.is_sign_negative() { !bits } else { bits | 1 << 31 };
    let mut key = [0; 9];
    key[0] = FIXED;
    key[1..5].copy_from_slice(&ordered.to_be_bytes());
    key
}

/// A constant that is compared with a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constant {
    /// NULL, which compares with no value.
    Null,
    /// A key: values compare with the constant as their keys do with this key.
    Key(Vec<u8>),
    /// The first and the last key of a span whose values may be less, equal or greater: zeros of both signs, or NaNs.
    Between(Vec<u8>, Vec<u8>),
}

/// Returns a constant that is compared with a column of a type, or `None` if the two have different types.
#[must_use]
pub fn of_scalar(value: &ScalarValue, column: &DataType) -> Option<Constant> {
    if value.is_null() {
        return Some(Constant::Null);
    }
    if type_name(&value.data_type()) != type_name(column) {
        return None;
    }
    let between = |first: Bits, last: Bits| Constant::Between(first.to_vec(), last.to_vec());
    match value {
        ScalarValue::Float64(Some(0.0)) => return Some(between(of_f64(-0.0), of_f64(0.0))),
        ScalarValue::Float32(Some(0.0)) => return Some(between(of_f32(-0.0), of_f32(0.0))),
        ScalarValue::Float64(Some(number)) if number.is_nan() => {
            let (first, last) = (f64::INFINITY.to_bits() + 1, u64::MAX >> 1);
            let sign = number.to_bits() & 1 << 63;
            let ends = [first | sign, last | sign].map(|bits| of_f64(f64::from_bits(bits)));
            return Some(between(ends[0].min(ends[1]), ends[0].max(ends[1])));
        }
        ScalarValue::Float32(Some(number)) if number.is_nan() => {
            let (first, last) = (f32::INFINITY.to_bits() + 1, u32::MAX >> 1);
            let sign = number.to_bits() & 1 << 31;
            let ends = [first | sign, last | sign].map(|bits| of_f32(f32::from_bits(bits)));
            return Some(between(ends[0].min(ends[1]), ends[0].max(ends[1])));
        }
        _ => {}
    }
    let keys = Keys::from_array(&value.to_array().ok()?).ok()?;
    let mut key = Vec::new();
    Some(if keys.write(0, &mut key) { Constant::Key(key) } else { Constant::Null })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Decimal128Array, Int64Array, StringViewArray};
    use proptest::prelude::*;

    use super::*;

    fn keys(array: ArrayRef) -> Vec<Vec<u8>> {
        let keys = Keys::from_array(&array).unwrap();
        (0..array.len())
            .map(|row| {
                let mut key = Vec::new();
                assert_eq!(keys.write(row, &mut key), array.is_valid(row));
                key
            })
            .collect()
    }

    proptest! {
        #[test]
        fn keys_of_floats_sort_from_minus_nan_to_nan(a: u64, b: u64) {
            let (x, y) = (f64::from_bits(a), f64::from_bits(b));
            prop_assert_eq!(of_f64(x).cmp(&of_f64(y)), x.total_cmp(&y), "{} {}", x, y);
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            prop_assert_eq!(of_f32(x).cmp(&of_f32(y)), x.total_cmp(&y), "{} {}", x, y);
            prop_assert!(of_f64(f64::from_bits(a)).as_slice() < NULL.as_slice());
        }
    }

    #[test]
    fn null_is_the_greatest_and_types_of_text_are_one() {
        let numbers = keys(Arc::new(Int64Array::from(vec![Some(-1), None, Some(0), Some(256)])));
        assert_eq!(numbers, [vec![0x7f], NULL.to_vec(), vec![0x80], vec![0x82, 1, 0]]);
        let text = keys(Arc::new(StringViewArray::from(vec![Some("é"), None, Some("")])));
        assert_eq!(text, ["é".as_bytes().to_vec(), NULL.to_vec(), Vec::new()]);
        let greatest = "\u{10ffff}".as_bytes();
        assert!(greatest < NULL.as_slice());
        let text = ScalarValue::Utf8View(Some("é".to_owned()));
        let key = Constant::Key("é".as_bytes().to_vec());
        assert_eq!(of_scalar(&text, &DataType::Utf8), Some(key));
    }

    #[test]
    fn zeros_and_nans_of_one_sign_are_not_told_apart() {
        let between = |value: f64| match of_scalar(&value.into(), &DataType::Float64) {
            Some(Constant::Between(first, last)) => (first, last),
            other => panic!("{other:?}"),
        };
        let zeros = (of_f64(-0.0).to_vec(), of_f64(0.0).to_vec());
        assert_eq!([between(0.0), between(-0.0)], [zeros.clone(), zeros]);
        let (first, last) = between(f64::NAN);
        assert!(of_f64(f64::INFINITY).to_vec() < first && first < last);
        assert!(last.as_slice() < NULL.as_slice());
        let (first, last) = between(-f64::NAN);
        assert!(first < last && last < of_f64(f64::NEG_INFINITY).to_vec());
        let one = of_scalar(&1.0_f64.into(), &DataType::Float64);
        assert_eq!(one, Some(Constant::Key(of_f64(1.0).to_vec())));
        assert_eq!(of_scalar(&1.0_f64.into(), &DataType::Float32), None);
    }

    #[test]
    fn a_constant_of_another_type_has_no_key() {
        let cents: ArrayRef =
            Arc::new(Decimal128Array::from(vec![250]).with_precision_and_scale(9, 2).unwrap());
        let constant = ScalarValue::Decimal128(Some(250), 9, 2);
        let key = of_scalar(&constant, cents.data_type()).unwrap();
        assert_eq!(key, Constant::Key(keys(cents).remove(0)));
        assert_eq!(of_scalar(&constant, &DataType::Decimal128(9, 1)), None);
        assert_eq!(of_scalar(&constant, &DataType::Int64), None);
        let null = Some(Constant::Null);
        assert_eq!(of_scalar(&ScalarValue::Null, &DataType::Int64), null);
        assert_eq!(of_scalar(&ScalarValue::Int64(None), &DataType::Int64), null);
        assert_eq!(type_name(&DataType::Boolean), None);
    }
}
