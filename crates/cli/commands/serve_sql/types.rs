//! Arrow's types as those of PostgreSQL.

use arrow::datatypes::{DataType, Schema};
use sluicegate_postgres::{Column, PgType, Scalar};

/// Returns the columns of an answer.
pub(super) fn columns(schema: &Schema) -> Vec<Column> {
    let column = |field: &arrow::datatypes::FieldRef| {
        let (kind, modifier) = of_arrow(field.data_type());
        Column { name: field.name().clone(), kind, modifier }
    };
    schema.fields().iter().map(column).collect()
}

/// Returns PostgreSQL's type and its modifier, -1 without one. Numbers without a sign have the next larger type.
/// Nested types other than lists of scalars are JSON.
pub(super) fn of_arrow(kind: &DataType) -> (PgType, i32) {
    match kind {
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::FixedSizeList(element, _) => match of_arrow(element.data_type()) {
            (PgType { scalar: Scalar::Json, .. } | PgType { is_array: true, .. }, _) => {
                (Scalar::Json.into(), -1)
            }
            (PgType { scalar, .. }, modifier) => (PgType::array(scalar), modifier),
        },
        DataType::Dictionary(_, values) => of_arrow(values),
        DataType::RunEndEncoded(_, values) => of_arrow(values.data_type()),
        kind => {
            let (scalar, modifier) = scalar(kind);
            (scalar.into(), modifier)
        }
    }
}

fn scalar(kind: &DataType) -> (Scalar, i32) {
    let scalar = match kind {
        DataType::Boolean => Scalar::Bool,
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => Scalar::Int2,
        DataType::Int32 | DataType::UInt16 => Scalar::Int4,
        DataType::Int64 | DataType::UInt32 => Scalar::Int8,
        DataType::UInt64 => return (Scalar::Numeric, digits(20, 0)),
        DataType::Float16 | DataType::Float32 => Scalar::Float4,
        DataType::Float64 => Scalar::Float8,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => {
            return (Scalar::Numeric, digits(*precision, *scale));
        }
        DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Scalar::Text,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => Scalar::Bytea,
        DataType::Date32 | DataType::Date64 => Scalar::Date,
        DataType::Time32(_) | DataType::Time64(_) => Scalar::Time,
        DataType::Timestamp(_, None) => Scalar::Timestamp,
        DataType::Timestamp(_, Some(_)) => Scalar::Timestamptz,
        DataType::Duration(_) | DataType::Interval(_) => Scalar::Interval,
        _ => Scalar::Json,
    };
    (scalar, -1)
}

/// Returns the modifier of `numeric(precision, scale)`. A negative scale has none that all clients understand.
fn digits(precision: u8, scale: i8) -> i32 {
    match scale {
        ..0 => -1,
        scale => ((i32::from(precision) << 16) | i32::from(scale)) + 4,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{Field, TimeUnit};

    use super::*;

    #[test]
    fn types_are_those_that_hold_every_value() {
        for (arrow, expected) in [
            (DataType::UInt8, "smallint"),
            (DataType::UInt32, "bigint"),
            (DataType::UInt64, "numeric"),
            (DataType::Utf8View, "text"),
            (
                DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
                "timestamp with time zone",
            ),
            (DataType::new_list(DataType::Int32, true), "integer[]"),
            (DataType::new_list(DataType::new_list(DataType::Int32, true), true), "json"),
            (DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), "text"),
            (DataType::Struct(vec![Field::new("a", DataType::Int8, true)].into()), "json"),
        ] {
            assert_eq!(of_arrow(&arrow).0.sql(), expected);
        }
        assert_eq!(of_arrow(&DataType::Decimal128(12, 2)).1, (12 << 16) + 6);
        let schema = Schema::new(vec![Arc::new(Field::new("a", DataType::Int64, true))]);
        assert_eq!(columns(&schema)[0].name, "a");
    }
}
