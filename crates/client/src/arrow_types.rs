//! The types of Arrow that S3 Select can answer in, and their names on the wire.

use arrow::datatypes::{DataType, TimeUnit};
use sluicegate_s3select::request::{ArrowTimeUnit, ArrowType};

/// Returns the type in which a store sends the values of a column of this type; `None` if it cannot.
///
/// Text is sent as `utf8`, which the client converts to the type of the column, or with a dictionary for views, which
/// share its texts. Timestamps of other zones than UTC are not sent: their statements are not tested.
#[must_use]
pub fn arrow_type(of: &DataType) -> Option<ArrowType> {
    Some(match of {
        DataType::Boolean => ArrowType::Boolean,
        DataType::Int8 => ArrowType::Int8,
        DataType::Int16 => ArrowType::Int16,
        DataType::Int32 => ArrowType::Int32,
        DataType::Int64 => ArrowType::Int64,
        DataType::UInt8 => ArrowType::UInt8,
        DataType::UInt16 => ArrowType::UInt16,
        DataType::UInt32 => ArrowType::UInt32,
        DataType::UInt64 => ArrowType::UInt64,
        DataType::Float32 => ArrowType::Float32,
        DataType::Float64 => ArrowType::Float64,
        DataType::Decimal128(precision, scale) => {
            let scale = u8::try_from(*scale).ok().filter(|scale| scale <= precision)?;
            ArrowType::Decimal128 { precision: *precision, scale }
        }
        DataType::Date32 => ArrowType::Date32,
        DataType::Timestamp(unit, zone) => {
            let unit = match unit {
                TimeUnit::Second => ArrowTimeUnit::Second,
                TimeUnit::Millisecond => ArrowTimeUnit::Millisecond,
                TimeUnit::Microsecond => ArrowTimeUnit::Microsecond,
                TimeUnit::Nanosecond => ArrowTimeUnit::Nanosecond,
            };
            match zone.as_deref() {
                None => ArrowType::Timestamp { unit, utc: false },
                Some("UTC") => ArrowType::Timestamp { unit, utc: true },
                Some(_) => return None,
            }
        }
        DataType::Utf8 | DataType::LargeUtf8 => ArrowType::Utf8,
        DataType::Utf8View => ArrowType::Dictionary,
        _ => return None,
    })
}

/// Returns Arrow's own name for a type on the wire.
pub(crate) fn data_type(of: ArrowType) -> DataType {
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
        // Both are at most 38.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_on_the_wire_stands_for_itself() {
        let header = "boolean;int8;int16;int32;int64;uint8;uint16;uint32;uint64;float32;float64;\
                      decimal128(38,0);decimal128(5,5);date32;timestamp(s);timestamp(ms,UTC);\
                      timestamp(us);timestamp(ns,UTC);utf8";
        for name in header.split(';') {
            let of: ArrowType = name.parse().unwrap();
            assert_eq!(arrow_type(&data_type(of)), Some(of), "{name}");
        }
        assert_eq!(arrow_type(&DataType::LargeUtf8), Some(ArrowType::Utf8));
        assert_eq!(arrow_type(&DataType::Utf8View), Some(ArrowType::Dictionary));
    }

    #[test]
    fn other_types_are_not_sent() {
        let zoned = DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into()));
        for of in [DataType::Decimal128(5, -1), DataType::Binary, DataType::Null, zoned] {
            assert_eq!(arrow_type(&of), None, "{of}");
        }
    }
}
