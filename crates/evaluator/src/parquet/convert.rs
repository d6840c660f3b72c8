//! Converts Arrow arrays to the evaluator's values.

use std::io::Write as _;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, FixedSizeBinaryArray, GenericByteArray,
    PrimitiveArray, StructArray,
};
use arrow::datatypes::{
    ByteArrayType, DataType, Date32Type, Decimal128Type, Field, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};

use super::layout::is_uuid;
use super::parquet_error;
use crate::selection::Rows;
use crate::vector::{Heap, Kind, Span, Tag, Truth, Vector};
use sluicegate_s3select::dialect::ast::PathStep;
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::{Decimal, Timestamp, Value};

/// Returns the representation of a type's values.
pub(super) fn kind(data_type: &DataType) -> Kind {
    use DataType as D;
    match data_type {
        D::Boolean => Kind::Bool,
        D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32 => Kind::Int,
        D::UInt64 | D::Decimal128(..) => Kind::Decimal,
        D::Float16 | D::Float32 | D::Float64 => Kind::Float,
        D::Date32 | D::Timestamp(..) => Kind::Timestamp,
        D::Utf8 | D::Binary | D::FixedSizeBinary(_) | D::Time32(_) | D::Time64(_) => Kind::Text,
        _ => Kind::Dynamic,
    }
}

/// Returns whether the type's values can be converted.
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

/// Converts the given rows of an array, in the representation returned by [`kind`].
pub(super) fn fill(
    array: &ArrayRef,
    field: &Field,
    rows: Rows<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    use DataType as D;
    match array.data_type() {
        D::Boolean => {
            let array = array.as_boolean();
            let truths = out.bools(array.len()).0;
            rows.for_each(|row| {
                truths[row] =
                    if array.is_null(row) { Truth::Null } else { array.value(row).into() };
            });
            Ok(())
        }
        D::Int8 => ints::<Int8Type>(array, rows, out),
        D::Int16 => ints::<Int16Type>(array, rows, out),
        D::Int32 => ints::<Int32Type>(array, rows, out),
        D::Int64 => ints::<Int64Type>(array, rows, out),
        D::UInt8 => ints::<UInt8Type>(array, rows, out),
        D::UInt16 => ints::<UInt16Type>(array, rows, out),
        D::UInt32 => ints::<UInt32Type>(array, rows, out),
        D::UInt64 => decimals(array.as_primitive::<UInt64Type>(), rows, out, |int| {
            Decimal::new(i128::from(int), 0)
        }),
        D::Decimal128(_, scale) => {
            let scale = *scale;
            decimals(array.as_primitive::<Decimal128Type>(), rows, out, |unscaled| {
                Decimal::new(unscaled, scale)
            })
        }
        D::Float16 => floats(array.as_primitive::<Float16Type>(), rows, out, f64::from),
        D::Float32 => floats(array.as_primitive::<Float32Type>(), rows, out, f64::from),
        D::Float64 => floats(array.as_primitive::<Float64Type>(), rows, out, |float| float),
        D::Date32 => timestamps(array.as_primitive::<Date32Type>(), rows, out, |days| {
            Timestamp::from_days(i64::from(days))
        }),
        D::Timestamp(unit, _) => match unit {
            TimeUnit::Second => {
                timestamps(array.as_primitive::<TimestampSecondType>(), rows, out, |n| {
                    instant(n, 0)
                })
            }
            TimeUnit::Millisecond => {
                timestamps(array.as_primitive::<TimestampMillisecondType>(), rows, out, |n| {
                    instant(n, 3)
                })
            }
            TimeUnit::Microsecond => {
                timestamps(array.as_primitive::<TimestampMicrosecondType>(), rows, out, |n| {
                    instant(n, 6)
                })
            }
            TimeUnit::Nanosecond => {
                timestamps(array.as_primitive::<TimestampNanosecondType>(), rows, out, |n| {
                    instant(n, 9)
                })
            }
        },
        D::Utf8 => texts(array.as_string::<i32>(), rows, out),
        D::Binary => texts(array.as_binary::<i32>(), rows, out),
        D::FixedSizeBinary(_) => fixed(array.as_fixed_size_binary(), is_uuid(field), rows, out),
        D::Time32(TimeUnit::Second) => {
            times(array.as_primitive::<Time32SecondType>(), 0, rows, out)
        }
        D::Time32(_) => times(array.as_primitive::<Time32MillisecondType>(), 3, rows, out),
        D::Time64(TimeUnit::Nanosecond) => {
            times(array.as_primitive::<Time64NanosecondType>(), 9, rows, out)
        }
        D::Time64(_) => times(array.as_primitive::<Time64MicrosecondType>(), 6, rows, out),
        _ => {
            let values = out.values(array.len()).0;
            rows.try_for_each(|row| {
                values[row] = value(array, field, row)?;
                Ok(())
            })
        }
    }
}

/// Converts a count of units to a point in time. A unit has `digits` digits after the second.
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

fn ints<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    rows: Rows<'_>,
    out: &mut Vector,
) -> Result<(), SelectError>
where
    i64: From<T::Native>,
{
    let array = array.as_primitive::<T>();
    let (ints, tags) = out.ints(array.len());
    let natives = &array.values()[..];
    rows.for_each(|row| ints[row] = i64::from(natives[row]));
    set_nulls(array, tags);
    Ok(())
}

fn floats<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    rows: Rows<'_>,
    out: &mut Vector,
    convert: impl Fn(T::Native) -> f64,
) -> Result<(), SelectError> {
    let (floats, tags) = out.floats(array.len());
    let natives = &array.values()[..];
    rows.for_each(|row| floats[row] = convert(natives[row]));
    set_nulls(array, tags);
    Ok(())
}

fn decimals<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    rows: Rows<'_>,
    out: &mut Vector,
    convert: impl Fn(T::Native) -> Option<Decimal>,
) -> Result<(), SelectError> {
    let (decimals, tags) = out.decimals(array.len());
    let natives = &array.values()[..];
    set_nulls(array, tags);
    let has_nulls = array.null_count() > 0;
    rows.try_for_each(|row| {
        if !has_nulls || array.is_valid(row) {
            decimals[row] = convert(natives[row])
                .ok_or_else(|| parquet_error("a decimal has more than 38 digits"))?;
        }
        Ok(())
    })
}

fn timestamps<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    rows: Rows<'_>,
    out: &mut Vector,
    convert: impl Fn(T::Native) -> Option<Timestamp>,
) -> Result<(), SelectError> {
    let (timestamps, tags) = out.timestamps(array.len());
    let natives = &array.values()[..];
    set_nulls(array, tags);
    rows.try_for_each(|row| {
        if array.is_valid(row) {
            timestamps[row] = convert(natives[row])
                .ok_or_else(|| parquet_error("a timestamp is beyond the years 1 to 9999"))?;
        }
        Ok(())
    })
}

fn texts<T: ByteArrayType<Offset = i32>>(
    array: &GenericByteArray<T>,
    rows: Rows<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let spans = out.texts(array.len(), Heap::Shared(array.values().clone()));
    let offsets = array.value_offsets();
    rows.for_each(|row| {
        let (start, end) = (offsets[row].cast_unsigned(), offsets[row + 1].cast_unsigned());
        spans[row] = if array.is_null(row) { Span::NULL } else { Span::new(start, end - start) };
    });
    Ok(())
}

/// Converts bytes of fixed length: to text as they are, or to the text form of UUIDs.
fn fixed(
    array: &FixedSizeBinaryArray,
    is_uuid: bool,
    rows: Rows<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let write = |row, text: &mut Vec<u8>| {
        let bytes = array.value(row);
        if !is_uuid {
            text.extend_from_slice(bytes);
            return Ok(());
        }
        for (place, byte) in bytes.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                text.push(b'-');
            }
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            text.extend([byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]));
        }
        Ok(())
    };
    written(array, rows, out, write)
}

/// Converts times of a day, with `digits` digits after the second: `09:05:00.000`.
fn times<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    digits: u32,
    rows: Rows<'_>,
    out: &mut Vector,
) -> Result<(), SelectError>
where
    i64: From<T::Native>,
{
    let units = 10_i64.pow(digits);
    let write = |row, text: &mut Vec<u8>| {
        let time = i64::from(array.value(row));
        if !(0..86_400 * units).contains(&time) {
            return Err(parquet_error("a time is not one of a day"));
        }
        let (seconds, part) = (time / units, time % units);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        // Writing to memory does not fail.
        let _ = write!(text, "{hour:02}:{minute:02}:{second:02}");
        if digits > 0 {
            let _ = write!(text, ".{part:0width$}", width = digits as usize);
        }
        Ok(())
    };
    written(array, rows, out, write)
}

/// Calls `write` to append a text for each row with a value.
fn written(
    array: &dyn Array,
    rows: Rows<'_>,
    out: &mut Vector,
    write: impl Fn(usize, &mut Vec<u8>) -> Result<(), SelectError>,
) -> Result<(), SelectError> {
    let mut text = Vec::new();
    let spans = out.texts(array.len(), Heap::Block);
    rows.try_for_each(|row| {
        spans[row] = if array.is_null(row) {
            Span::NULL
        } else {
            let start = text.len();
            write(row, &mut text)?;
            Span::new(start as u32, (text.len() - start) as u32)
        };
        Ok::<_, SelectError>(())
    })?;
    out.set_heap(Heap::Owned(text));
    Ok(())
}

/// Converts one value of an array of any supported type.
pub(super) fn value(array: &ArrayRef, field: &Field, row: usize) -> Result<Value, SelectError> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::List(item) | DataType::Map(item, _) => list(&elements(array, row), item)?,
        DataType::Struct(_) => group(array.as_struct(), row)?,
        _ => plain(&array.slice(row, 1), field)?.remove(0),
    })
}

/// Converts a part of a nested value; MISSING if there is no such part.
pub(super) fn part(
    array: &ArrayRef,
    field: &Field,
    row: usize,
    path: &[PathStep],
) -> Result<Value, SelectError> {
    let Some((step, rest)) = path.split_first() else { return value(array, field, row) };
    if array.is_null(row) {
        return Ok(Value::Missing);
    }
    match (step, array.data_type()) {
        (PathStep::Field(name), DataType::Struct(fields)) => {
            match fields.iter().position(|field| name.matches(field.name())) {
                Some(place) => part(array.as_struct().column(place), &fields[place], row, rest),
                None => Ok(Value::Missing),
            }
        }
        (PathStep::Index(index), DataType::List(item) | DataType::Map(item, _)) => {
            let elements = elements(array, row);
            match usize::try_from(*index) {
                Ok(index) if index < elements.len() => part(&elements, item, index, rest),
                _ => Ok(Value::Missing),
            }
        }
        _ => Ok(Value::Missing),
    }
}

/// Returns the elements of a list, or the entries of a map.
fn elements(array: &ArrayRef, row: usize) -> ArrayRef {
    match array.as_list_opt::<i32>() {
        Some(lists) => lists.value(row),
        None => Arc::new(array.as_map().value(row)),
    }
}

fn list(elements: &ArrayRef, item: &Field) -> Result<Value, SelectError> {
    let is_nested = elements.data_type().is_nested() || *elements.data_type() == DataType::Null;
    if !is_nested {
        return plain(elements, item).map(|values| Value::List(values.into()));
    }
    let values = (0..elements.len()).map(|row| value(elements, item, row));
    values.collect::<Result<_, _>>().map(Value::List)
}

/// Converts values that are not nested.
fn plain(array: &ArrayRef, field: &Field) -> Result<Vec<Value>, SelectError> {
    let mut vector = Vector::default();
    fill(array, field, Rows::All(array.len()), &mut vector)?;
    let value = |row| vector.value(row, &[]).ok_or_else(crate::output::invalid_text);
    (0..array.len()).map(value).collect()
}

fn group(array: &StructArray, row: usize) -> Result<Value, SelectError> {
    let fields = array.fields().iter().zip(array.columns());
    fields
        .map(|(field, column)| Ok((field.name().clone(), value(column, field, row)?)))
        .collect::<Result<_, _>>()
        .map(Value::Struct)
}
