//! Arrow columns as 64-bit codes, one per row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use datafusion::common::{Result, internal_err};
use serde::{Deserialize, Serialize};
use sluicegate_pruning::encoding::{
    fingerprint, from_decimal, from_f32, from_f64, from_i32, from_i64,
};

/// Decimals of at most this many digits fit 64 bits.
const WHOLE_DIGITS: u8 = 18;

/// Returns the number of bits of a type's one-to-one code, or `None` if 64 bits do not suffice.
pub(crate) fn exact_bits(data_type: &DataType) -> Option<u32> {
    Some(match data_type {
        DataType::Boolean => 1,
        DataType::Int8 | DataType::UInt8 => 8,
        DataType::Int16 | DataType::UInt16 => 16,
        DataType::Int32
        | DataType::UInt32
        | DataType::Float32
        | DataType::Date32
        | DataType::Time32(_) => 32,
        DataType::Int64
        | DataType::UInt64
        | DataType::Float64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..) => 64,
        DataType::Decimal128(digits, _) if *digits <= WHOLE_DIGITS => 64,
        _ => return None,
    })
}

/// Returns true if rows of a type have a one-to-one code or a fingerprint.
pub(crate) fn has_key_code(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_key_code(values),
        DataType::Decimal128(..) => true,
        other => exact_bits(other).is_some() || is_text(other),
    }
}

/// Returns the number of bits of a type's order-preserving code, and whether equal codes mean equal values; `None` if
/// the type has no such code.
pub(crate) fn order_bits(data_type: &DataType) -> Option<(u32, bool)> {
    match data_type {
        // Equal codes are shared by -0 and 0, and by texts with equal first bytes.
        DataType::Float32 => Some((32, false)),
        DataType::Float64 | DataType::Decimal128(..) => Some((64, false)),
        DataType::Dictionary(_, values) => order_bits(values),
        text if is_text(text) => Some((64, false)),
        other => exact_bits(other).map(|bits| (bits, true)),
    }
}

/// Returns true if a type is text or bytes.
pub(crate) fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
    )
}

/// Selects the floats that share a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Floats {
    /// Floats with equal bits share a code.
    Raw,
    /// Floats with equal bits share a code, and so do -0 and 0. Codes keep the total order.
    Ordered,
    /// All floats that any definition of equality treats as equal share a code: -0 and 0, and all NaNs.
    Conflated,
}

/// The representation of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// A fingerprint of all bytes with this seed.
    Fingerprint(u64),
    /// The first eight bytes, which keep the order.
    Prefix,
}

/// Writes the code of each row. The code of a NULL is unspecified.
pub(crate) fn codes(
    array: &ArrayRef,
    floats: Floats,
    text: Text,
    out: &mut Vec<u64>,
) -> Result<()> {
    out.clear();
    match array.data_type() {
        DataType::Dictionary(_, values) => return codes(&cast(array, values)?, floats, text, out),
        DataType::Boolean => out.extend(array.as_boolean().values().iter().map(u64::from)),
        DataType::Int8 => each::<Int8Type>(array, out, |v| u64::from(v as u8 ^ 1 << 7)),
        DataType::Int16 => each::<Int16Type>(array, out, |v| u64::from(v as u16 ^ 1 << 15)),
        DataType::Int32 => each::<Int32Type>(array, out, |v| from_i32(v).into()),
        DataType::Int64 => each::<Int64Type>(array, out, from_i64),
        DataType::UInt8 => each::<UInt8Type>(array, out, u64::from),
        DataType::UInt16 => each::<UInt16Type>(array, out, u64::from),
        DataType::UInt32 => each::<UInt32Type>(array, out, u64::from),
        DataType::UInt64 => each::<UInt64Type>(array, out, |v| v),
        DataType::Float32 if floats == Floats::Raw => {
            each::<Float32Type>(array, out, |v| v.to_bits().into());
        }
        DataType::Float32 if floats == Floats::Conflated => {
            each::<Float32Type>(array, out, |v| {
                from_f32(if v.is_nan() { f32::NAN } else { v }).into()
            });
        }
        DataType::Float32 => each::<Float32Type>(array, out, |v| from_f32(v).into()),
        DataType::Float64 if floats == Floats::Raw => each::<Float64Type>(array, out, f64::to_bits),
        DataType::Float64 if floats == Floats::Conflated => {
            each::<Float64Type>(array, out, |v| from_f64(if v.is_nan() { f64::NAN } else { v }));
        }
        DataType::Float64 => each::<Float64Type>(array, out, from_f64),
        DataType::Date32 => each::<Date32Type>(array, out, |v| from_i32(v).into()),
        DataType::Date64 => each::<Date64Type>(array, out, from_i64),
        DataType::Time32(TimeUnit::Second) => {
            each::<Time32SecondType>(array, out, |v| from_i32(v).into());
        }
        DataType::Time32(_) => each::<Time32MillisecondType>(array, out, |v| from_i32(v).into()),
        DataType::Time64(TimeUnit::Microsecond) => {
            each::<Time64MicrosecondType>(array, out, from_i64);
        }
        DataType::Time64(_) => each::<Time64NanosecondType>(array, out, from_i64),
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => each::<TimestampSecondType>(array, out, from_i64),
            TimeUnit::Millisecond => each::<TimestampMillisecondType>(array, out, from_i64),
            TimeUnit::Microsecond => each::<TimestampMicrosecondType>(array, out, from_i64),
            TimeUnit::Nanosecond => each::<TimestampNanosecondType>(array, out, from_i64),
        },
        DataType::Decimal128(digits, _) => match text {
            Text::Fingerprint(seed) if *digits > WHOLE_DIGITS => {
                each::<Decimal128Type>(array, out, |v| fingerprint(&v.to_le_bytes(), seed));
            }
            _ => each::<Decimal128Type>(array, out, from_decimal),
        },
        DataType::Utf8 => bytes(array.as_string::<i32>().iter(), text, out),
        DataType::LargeUtf8 => bytes(array.as_string::<i64>().iter(), text, out),
        DataType::Utf8View => bytes(array.as_string_view().iter(), text, out),
        DataType::Binary => bytes(array.as_binary::<i32>().iter(), text, out),
        DataType::LargeBinary => bytes(array.as_binary::<i64>().iter(), text, out),
        DataType::BinaryView => bytes(array.as_binary_view().iter(), text, out),
        other => return internal_err!("no code for a column of {other}"),
    }
    Ok(())
}

/// Returns the values of one-to-one codes of whole numbers, as written by [`codes`], in a column of their type.
pub(crate) fn values(codes: &[u64], data_type: &DataType) -> Result<ArrayRef> {
    let long = |code: u64| (code ^ 1 << 63) as i64;
    let int = |code: u64| (code as u32 ^ 1 << 31) as i32;
    Ok(match data_type {
        DataType::Boolean => {
            Arc::new(codes.iter().map(|code| Some(*code != 0)).collect::<BooleanArray>())
        }
        DataType::Int8 => decode::<Int8Type>(codes, data_type, |code| (code as u8 ^ 1 << 7) as i8),
        DataType::Int16 => {
            decode::<Int16Type>(codes, data_type, |code| (code as u16 ^ 1 << 15) as i16)
        }
        DataType::Int32 => decode::<Int32Type>(codes, data_type, int),
        DataType::Int64 => decode::<Int64Type>(codes, data_type, long),
        DataType::UInt8 => decode::<UInt8Type>(codes, data_type, |code| code as u8),
        DataType::UInt16 => decode::<UInt16Type>(codes, data_type, |code| code as u16),
        DataType::UInt32 => decode::<UInt32Type>(codes, data_type, |code| code as u32),
        DataType::UInt64 => decode::<UInt64Type>(codes, data_type, |code| code),
        DataType::Date32 => decode::<Date32Type>(codes, data_type, int),
        DataType::Date64 => decode::<Date64Type>(codes, data_type, long),
        DataType::Time32(TimeUnit::Second) => decode::<Time32SecondType>(codes, data_type, int),
        DataType::Time32(_) => decode::<Time32MillisecondType>(codes, data_type, int),
        DataType::Time64(TimeUnit::Microsecond) => {
            decode::<Time64MicrosecondType>(codes, data_type, long)
        }
        DataType::Time64(_) => decode::<Time64NanosecondType>(codes, data_type, long),
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => decode::<TimestampSecondType>(codes, data_type, long),
            TimeUnit::Millisecond => decode::<TimestampMillisecondType>(codes, data_type, long),
            TimeUnit::Microsecond => decode::<TimestampMicrosecondType>(codes, data_type, long),
            TimeUnit::Nanosecond => decode::<TimestampNanosecondType>(codes, data_type, long),
        },
        DataType::Decimal128(..) => {
            decode::<Decimal128Type>(codes, data_type, |code| long(code).into())
        }
        other => return internal_err!("no values of {other} for codes"),
    })
}

fn decode<T: ArrowPrimitiveType>(
    codes: &[u64],
    data_type: &DataType,
    value: impl Fn(u64) -> T::Native,
) -> ArrayRef {
    let values = PrimitiveArray::<T>::from_iter_values(codes.iter().map(|code| value(*code)));
    Arc::new(values.with_data_type(data_type.clone()))
}

fn each<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    out: &mut Vec<u64>,
    code: impl Fn(T::Native) -> u64,
) {
    out.extend(array.as_primitive::<T>().values().iter().map(|value| code(*value)));
}

fn bytes<V: AsRef<[u8]>>(values: impl Iterator<Item = Option<V>>, text: Text, out: &mut Vec<u64>) {
    match text {
        Text::Fingerprint(seed) => {
            let code = |value: V| fingerprint(value.as_ref(), seed);
            out.extend(values.map(|value| value.map_or(0, code)));
        }
        Text::Prefix => {
            let code = |value: V| prefix(value.as_ref());
            out.extend(values.map(|value| value.map_or(0, code)));
        }
    }
}

/// Returns the first eight bytes as a number, padded with zeros.
fn prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}
