//! What types are called in SQL.

use std::borrow::Cow;

use arrow::datatypes::{DataType, TimeUnit};

/// A type as SQL names it, where it has a name there.
pub(crate) fn sql_type(data_type: &DataType) -> Cow<'static, str> {
    let name = match data_type {
        DataType::Null => "NULL",
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INT",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "TINYINT UNSIGNED",
        DataType::UInt16 => "SMALLINT UNSIGNED",
        DataType::UInt32 => "INT UNSIGNED",
        DataType::UInt64 => "BIGINT UNSIGNED",
        DataType::Float32 => "REAL",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "BYTEA",
        DataType::Date32 => "DATE",
        DataType::Time32(_) | DataType::Time64(_) => "TIME",
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL",
        DataType::Timestamp(_, Some(_)) => "TIMESTAMPTZ",
        DataType::Timestamp(TimeUnit::Second, None) => "TIMESTAMP(0)",
        DataType::Timestamp(TimeUnit::Millisecond, None) => "TIMESTAMP(3)",
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP(6)",
        DataType::Timestamp(TimeUnit::Nanosecond, None) => "TIMESTAMP(9)",
        DataType::Decimal32(digits, places)
        | DataType::Decimal64(digits, places)
        | DataType::Decimal128(digits, places)
        | DataType::Decimal256(digits, places) => {
            return format!("DECIMAL({digits},{places})").into();
        }
        DataType::Dictionary(_, values) => return sql_type(values),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            return format!("{}[]", sql_type(item.data_type())).into();
        }
        DataType::Struct(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|it| format!("{} {}", it.name(), sql_type(it.data_type())));
            return format!("STRUCT({})", fields.collect::<Vec<_>>().join(", ")).into();
        }
        other => return other.to_string().into(),
    };
    name.into()
}
