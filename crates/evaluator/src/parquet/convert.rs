//! From Arrow arrays to the evaluator's values.

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, GenericByteArray, PrimitiveArray, StructArray,
};
use arrow::datatypes::{
    ByteArrayType, DataType, Date32Type, Decimal128Type, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};

use super::parquet_error;
use crate::vector::{Heap, Kind, Span, Tag, Truth, Vector};
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::{Decimal, Timestamp, Value};

/// The representation of a type.
pub(super) fn kind(data_type: &DataType) -> Kind {
    use DataType as D;
    match data_type {
        D::Boolean => Kind::Bool,
        D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32 => Kind::Int,
        D::UInt64 | D::Decimal128(..) => Kind::Decimal,
        D::Float16 | D::Float32 | D::Float64 => Kind::Float,
        D::Date32 | D::Timestamp(..) => Kind::Timestamp,
        D::Utf8 | D::Binary => Kind::Text,
        _ => Kind::Dynamic,
    }
}

/// Whether the type's values can be converted.
pub(super) fn is_supported(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null => true,
        DataType::List(element) => is_supported(element.data_type()),
        DataType::Map(entries, _) => is_supported(entries.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_supported(field.data_type())),
        DataType::Decimal128(precision, _) => *precision <= 38,
        scalar => kind(scalar) != Kind::Dynamic,
    }
}

/// Converts a whole array, in the representation that [`kind`] promises.
pub(super) fn fill(array: &ArrayRef, out: &mut Vector) -> Result<(), SelectError> {
    use DataType as D;
    match array.data_type() {
        D::Boolean => {
            let array = array.as_boolean();
            let truths = out.bools(array.len()).0;
            for (row, truth) in truths.iter_mut().enumerate() {
                *truth = if array.is_null(row) { Truth::Null } else { array.value(row).into() };
            }
            Ok(())
        }
        D::Int8 => ints::<Int8Type>(array, out),
        D::Int16 => ints::<Int16Type>(array, out),
        D::Int32 => ints::<Int32Type>(array, out),
        D::Int64 => ints::<Int64Type>(array, out),
        D::UInt8 => ints::<UInt8Type>(array, out),
        D::UInt16 => ints::<UInt16Type>(array, out),
        D::UInt32 => ints::<UInt32Type>(array, out),
        D::UInt64 => decimals(array.as_primitive::<UInt64Type>(), out, |int| {
            Decimal::new(i128::from(int), 0)
        }),
        D::Decimal128(_, scale) => {
            let scale = *scale;
            decimals(array.as_primitive::<Decimal128Type>(), out, |unscaled| {
                Decimal::new(unscaled, scale)
            })
        }
        D::Float16 => floats(array.as_primitive::<Float16Type>(), out, f64::from),
        D::Float32 => floats(array.as_primitive::<Float32Type>(), out, f64::from),
        D::Float64 => floats(array.as_primitive::<Float64Type>(), out, |float| float),
        D::Date32 => timestamps(array.as_primitive::<Date32Type>(), out, |days| {
            Timestamp::from_days(i64::from(days))
        }),
        D::Timestamp(unit, _) => match unit {
            TimeUnit::Second => {
                timestamps(array.as_primitive::<TimestampSecondType>(), out, |n| instant(n, 0))
            }
            TimeUnit::Millisecond => {
                timestamps(array.as_primitive::<TimestampMillisecondType>(), out, |n| instant(n, 3))
            }
            TimeUnit::Microsecond => {
                timestamps(array.as_primitive::<TimestampMicrosecondType>(), out, |n| instant(n, 6))
            }
            TimeUnit::Nanosecond => {
                timestamps(array.as_primitive::<TimestampNanosecondType>(), out, |n| instant(n, 9))
            }
        },
        D::Utf8 => texts(array.as_string::<i32>(), out),
        D::Binary => texts(array.as_binary::<i32>(), out),
        _ => {
            for row in 0..array.len() {
                let value = value(array, row)?;
                out.values(array.len()).0[row] = value;
            }
            Ok(())
        }
    }
}

/// A count of units, `digits` of them behind the second, as a point in time.
fn instant(count: i64, digits: u8) -> Option<Timestamp> {
    let nanos_per_unit = 10_i128.pow(9 - u32::from(digits));
    Timestamp::from_nanos(i128::from(count) * nanos_per_unit, digits)
}

fn set_nulls(array: &dyn Array, tags: &mut crate::vector::Tags) {
    if let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) {
        for (row, valid) in nulls.iter().enumerate() {
            if !valid {
                tags.set(row, Tag::Null, array.len());
            }
        }
    }
}

fn ints<T: ArrowPrimitiveType>(array: &ArrayRef, out: &mut Vector) -> Result<(), SelectError>
where
    i64: From<T::Native>,
{
    let array = array.as_primitive::<T>();
    let (ints, tags) = out.ints(array.len());
    for (int, native) in ints.iter_mut().zip(array.values()) {
        *int = i64::from(*native);
    }
    set_nulls(array, tags);
    Ok(())
}

fn floats<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    out: &mut Vector,
    convert: impl Fn(T::Native) -> f64,
) -> Result<(), SelectError> {
    let (floats, tags) = out.floats(array.len());
    for (float, native) in floats.iter_mut().zip(array.values()) {
        *float = convert(*native);
    }
    set_nulls(array, tags);
    Ok(())
}

fn decimals<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    out: &mut Vector,
    convert: impl Fn(T::Native) -> Option<Decimal>,
) -> Result<(), SelectError> {
    let (decimals, tags) = out.decimals(array.len());
    for (row, native) in array.values().iter().enumerate() {
        if array.is_valid(row) {
            decimals[row] = convert(*native)
                .ok_or_else(|| parquet_error("a decimal has more than 38 digits"))?;
        }
    }
    set_nulls(array, tags);
    Ok(())
}

fn timestamps<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    out: &mut Vector,
    convert: impl Fn(T::Native) -> Option<Timestamp>,
) -> Result<(), SelectError> {
    let (timestamps, tags) = out.timestamps(array.len());
    for (row, native) in array.values().iter().enumerate() {
        if array.is_valid(row) {
            timestamps[row] = convert(*native)
                .ok_or_else(|| parquet_error("a timestamp is beyond the years 1 to 9999"))?;
        }
    }
    set_nulls(array, tags);
    Ok(())
}

fn texts<T: ByteArrayType<Offset = i32>>(
    array: &GenericByteArray<T>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let spans = out.texts(array.len(), Heap::Shared(array.values().clone()));
    for (row, offsets) in array.value_offsets().windows(2).enumerate() {
        let (start, end) = (offsets[0].cast_unsigned(), offsets[1].cast_unsigned());
        spans[row] = if array.is_null(row) { Span::NULL } else { Span::new(start, end - start) };
    }
    Ok(())
}

/// One value of an array of any supported type.
pub(super) fn value(array: &ArrayRef, row: usize) -> Result<Value, SelectError> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::List(_) => list(&array.as_list::<i32>().value(row))?,
        DataType::Map(..) => {
            let entries: ArrayRef = std::sync::Arc::new(array.as_map().value(row));
            list(&entries)?
        }
        DataType::Struct(_) => group(array.as_struct(), row)?,
        _ => {
            let mut vector = Vector::default();
            fill(&array.slice(row, 1), &mut vector)?;
            vector.value(0, &[]).ok_or_else(crate::output::invalid_text)?
        }
    })
}

fn list(elements: &ArrayRef) -> Result<Value, SelectError> {
    (0..elements.len()).map(|row| value(elements, row)).collect::<Result<_, _>>().map(Value::List)
}

fn group(array: &StructArray, row: usize) -> Result<Value, SelectError> {
    let fields = array.fields().iter().zip(array.columns());
    fields
        .map(|(field, column)| Ok((field.name().clone(), value(column, row)?)))
        .collect::<Result<_, _>>()
        .map(Value::Struct)
}
