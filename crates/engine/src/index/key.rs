//! Values as bytes that sort as the values do.
//!
//! Integers, decimals, dates and times are a byte that says sign and length, and then the number
//! without leading zeros; text is its UTF-8. NULL has no key: no comparison finds it.

use arrow::array::{Array, ArrayRef, AsArray, LargeStringArray};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Date64Type, Decimal128Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::common::{Result, ScalarValue, exec_err};

/// The name under which an index keeps a type, if values of the type have keys. All types of text
/// are one.
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
        | DataType::Decimal128(..) => Some(data_type.to_string()),
        _ => None,
    }
}

/// The values of a column, ready to be written as keys.
#[derive(Debug)]
pub enum Keys {
    /// Whatever is a number inside; none is NULL.
    Numbers(Vec<Option<i128>>),
    /// Text.
    Text(LargeStringArray),
}

impl Keys {
    /// The keys of a column.
    ///
    /// # Errors
    ///
    /// If values of this type have none.
    pub fn of(array: &ArrayRef) -> Result<Self> {
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

    /// Appends the key of a row to `out`; whether it has one.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Numbers(numbers) => match numbers.get(row).copied().flatten() {
                Some(number) => write_number(number, out),
                None => return false,
            },
            Self::Text(text) if text.is_null(row) => return false,
            Self::Text(text) => out.extend_from_slice(text.value(row).as_bytes()),
        }
        true
    }
}

fn numbers<T>(array: &ArrayRef) -> Vec<Option<i128>>
where
    T: ArrowPrimitiveType<Native: Into<i128>>,
{
    array.as_primitive::<T>().iter().map(|value| value.map(Into::into)).collect()
}

/// More bytes sort higher if the number is positive, and lower if it is negative.
fn write_number(number: i128, out: &mut Vec<u8>) {
    let negative = number < 0;
    let bytes = if negative { !number } else { number }.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let significant = bytes.len() - zeros;
    // At most 16.
    let length = u8::try_from(significant).unwrap_or(u8::MAX);
    if negative {
        out.push(0x7f - length);
        out.extend(bytes[zeros..].iter().map(|byte| !byte));
    } else {
        out.push(0x80 + length);
        out.extend_from_slice(&bytes[zeros..]);
    }
}

/// The key of a constant that is compared with a column of a type: `Some(None)` if it is NULL, and
/// `None` if the two are not of one type.
#[must_use]
pub fn of_scalar(value: &ScalarValue, column: &DataType) -> Option<Option<Vec<u8>>> {
    if type_name(&value.data_type()) != type_name(column) {
        return value.is_null().then_some(None);
    }
    let keys = Keys::of(&value.to_array().ok()?).ok()?;
    let mut key = Vec::new();
    Some(keys.write(0, &mut key).then_some(key))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Decimal128Array, Int64Array, StringViewArray};
    use proptest::prelude::*;

    use super::*;

    fn keys(array: ArrayRef) -> Vec<Option<Vec<u8>>> {
        let keys = Keys::of(&array).unwrap();
        (0..array.len())
            .map(|row| {
                let mut key = Vec::new();
                keys.write(row, &mut key).then_some(key)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn keys_of_numbers_sort_as_the_numbers_do(a: i128, b: i128, shift in 0_u32..127) {
            let (a, b) = (a >> shift, b >> shift);
            let key = |number| {
                let mut key = Vec::new();
                write_number(number, &mut key);
                key
            };
            prop_assert_eq!(key(a).cmp(&key(b)), a.cmp(&b), "{} {}", a, b);
            prop_assert!(key(a.saturating_sub(1)) <= key(a));
        }
    }

    #[test]
    fn null_has_no_key_and_types_of_text_are_one() {
        let numbers = keys(Arc::new(Int64Array::from(vec![Some(-1), None, Some(0), Some(256)])));
        let expected = [Some(vec![0x7f]), None, Some(vec![0x80]), Some(vec![0x82, 1, 0])];
        assert_eq!(numbers, expected);
        let text = keys(Arc::new(StringViewArray::from(vec![Some("é"), None, Some("")])));
        assert_eq!(text, [Some("é".as_bytes().to_vec()), None, Some(Vec::new())]);
        let text = ScalarValue::Utf8View(Some("é".to_owned()));
        assert_eq!(of_scalar(&text, &DataType::Utf8), Some(Some("é".as_bytes().to_vec())));
    }

    #[test]
    fn a_constant_of_another_type_has_no_key() {
        let cents: ArrayRef =
            Arc::new(Decimal128Array::from(vec![250]).with_precision_and_scale(9, 2).unwrap());
        let constant = ScalarValue::Decimal128(Some(250), 9, 2);
        let key = of_scalar(&constant, cents.data_type()).unwrap();
        assert_eq!(vec![key], keys(cents));
        assert_eq!(of_scalar(&constant, &DataType::Decimal128(9, 1)), None);
        assert_eq!(of_scalar(&constant, &DataType::Int64), None);
        assert_eq!(of_scalar(&ScalarValue::Null, &DataType::Int64), Some(None));
        assert_eq!(of_scalar(&ScalarValue::Int64(None), &DataType::Int64), Some(None));
        assert_eq!(type_name(&DataType::Float64), None);
    }
}
