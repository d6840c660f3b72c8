//! The types of columns, as Arrow's types and as collectors of values.

use arrow::datatypes::{
    DataType, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};

use super::boolean::BooleanColumn;
use super::column::Column;
use super::conversion::{Conversion, Day, Double, Fixed, Instant, Single, Whole};
use super::dictionary::DictionaryColumn;
use super::primitive::PrimitiveColumn;
use super::text::TextColumn;
use sluicegate_s3select::request::{ArrowTimeUnit, ArrowType};

/// Returns Arrow's type.
pub(super) fn data_type(of: ArrowType) -> DataType {
    match of {
        ArrowType::Boolean => DataType::Boolean,
        ArrowType::Int8 => DataType::Int8,
        ArrowType::Int16 => DataType::Int16,
        ArrowType::Int32 => DataType::Int32,
        ArrowType::Int64 => DataType::Int64,
        ArrowType::UInt8 => DataType::UInt8,
        ArrowType::UInt16 => DataType::UInt16,
        ArrowType::UInt32 => DataType::UInt32,
        ArrowType::UInt64 => DataType::UInt64,
        ArrowType::Float32 => DataType::Float32,
        ArrowType::Float64 => DataType::Float64,
        ArrowType::Decimal128 { precision, scale } => {
            DataType::Decimal128(precision, scale.cast_signed())
        }
        ArrowType::Date32 => DataType::Date32,
        ArrowType::Timestamp { unit, utc } => {
            let unit = match unit {
                ArrowTimeUnit::Second => TimeUnit::Second,
                ArrowTimeUnit::Millisecond => TimeUnit::Millisecond,
                ArrowTimeUnit::Microsecond => TimeUnit::Microsecond,
                ArrowTimeUnit::Nanosecond => TimeUnit::Nanosecond,
            };
            DataType::Timestamp(unit, utc.then(|| "UTC".into()))
        }
        ArrowType::Utf8 => DataType::Utf8,
        ArrowType::Dictionary => {
            DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8))
        }
    }
}

/// Returns the bytes of a value, of a text's offset, or of a text's position in its dictionary.
pub(super) fn width(of: ArrowType) -> usize {
    match of {
        ArrowType::Dictionary => size_of::<u16>(),
        of => data_type(of).primitive_width().unwrap_or(size_of::<i32>()),
    }
}

/// Returns a collector of the type's values, which keeps a converted dictionary of at most `budget` bytes.
pub(super) fn new_column(of: ArrowType, budget: usize) -> Box<dyn Column> {
    fn primitive<C: Conversion + 'static>(
        conversion: C,
        (of, budget): (ArrowType, usize),
    ) -> Box<dyn Column> {
        Box::new(PrimitiveColumn::new(conversion, data_type(of), budget))
    }
    let how = (of, budget);
    match of {
        ArrowType::Boolean => Box::new(BooleanColumn::new()),
        ArrowType::Utf8 => Box::new(TextColumn::new(budget)),
        ArrowType::Dictionary => Box::new(DictionaryColumn::new(budget)),
        ArrowType::Int8 => primitive(Whole::<Int8Type>::NEW, how),
        ArrowType::Int16 => primitive(Whole::<Int16Type>::NEW, how),
        ArrowType::Int32 => primitive(Whole::<Int32Type>::NEW, how),
        ArrowType::Int64 => primitive(Whole::<Int64Type>::NEW, how),
        ArrowType::UInt8 => primitive(Whole::<UInt8Type>::NEW, how),
        ArrowType::UInt16 => primitive(Whole::<UInt16Type>::NEW, how),
        ArrowType::UInt32 => primitive(Whole::<UInt32Type>::NEW, how),
        ArrowType::UInt64 => primitive(Whole::<UInt64Type>::NEW, how),
        ArrowType::Float32 => primitive(Single, how),
        ArrowType::Float64 => primitive(Double, how),
        ArrowType::Decimal128 { precision, scale } => primitive(Fixed { precision, scale }, how),
        ArrowType::Date32 => primitive(Day, how),
        ArrowType::Timestamp { unit, .. } => match unit {
            ArrowTimeUnit::Second => primitive(Instant::<TimestampSecondType>::new(unit), how),
            ArrowTimeUnit::Millisecond => {
                primitive(Instant::<TimestampMillisecondType>::new(unit), how)
            }
            ArrowTimeUnit::Microsecond => {
                primitive(Instant::<TimestampMicrosecondType>::new(unit), how)
            }
            ArrowTimeUnit::Nanosecond => {
                primitive(Instant::<TimestampNanosecondType>::new(unit), how)
            }
        },
    }
}
