//! Rules out row groups by the Bloom filters of their column chunks (Parquet's `BloomFilter.md`).

use std::collections::BTreeSet;

use arrow::datatypes::DataType;
use parquet::basic::Type as PhysicalType;
use parquet::bloom_filter::Sbbf;
use parquet::file::reader::ChunkReader;

use super::schema::ParquetFile;
use super::source::ParquetSource;
use super::{guarded, headers, parquet_error, thrift};
use crate::program::Condition;
use sluicegate_s3select::dialect::ast::BinaryOp;
use sluicegate_s3select::value::Value;

/// The longest filter that is read, in bytes. One of a million values has 1.2 MiB.
const MAX_BYTES: u64 = 4 << 20;

/// The most digits of a decimal.
const MAX_DIGITS: u8 = 38;

/// The memory that a filter takes, as a multiple of its bytes.
const TIMES: u64 = 2;

/// Returns true if a condition requires a value that is not in the row group. Adds the bytes that it reads to `read`.
pub(super) fn rules_out(
    file: &ParquetFile,
    group: usize,
    conditions: &[Condition],
    read: &mut u64,
) -> bool {
    let equal = || conditions.iter().filter(|condition| condition.op == BinaryOp::Eq);
    let columns: BTreeSet<usize> = equal().map(|condition| condition.column).collect();
    columns.into_iter().any(|column| {
        let on_column = equal().filter(|condition| condition.column == column);
        may_hold(file, (group, column), on_column, read) == Some(false)
    })
}

/// Returns false if a row group has none of the values of a condition on a column, and `None` if that is not known.
fn may_hold<'a>(
    file: &ParquetFile,
    (group, column): (usize, usize),
    conditions: impl Iterator<Item = &'a Condition>,
    read: &mut u64,
) -> Option<bool> {
    let column = file.columns.get(column).filter(|column| column.path.is_empty())?;
    let leaf = file.leaves(column.root).next()?;
    let chunk = file.metadata.metadata().row_group(group).column(leaf);
    let (offset, length) = chunk.bloom_filter_offset().zip(chunk.bloom_filter_length())?;
    let (offset, length) = (u64::try_from(offset).ok()?, u64::try_from(length).ok()?);
    let (physical, data_type) = (chunk.column_type(), file.field(column.root).data_type());
    let key = |value| Key::of(value, physical, data_type);
    let keys: Vec<Vec<Key<'_>>> =
        conditions.filter_map(|condition| condition.values.iter().map(key).collect()).collect();
    if length > MAX_BYTES || keys.is_empty() {
        return None;
    }
    let _held = file.reader.reserve_more_throughout(length * TIMES)?;
    *read += length;
    let holds = guarded(|| {
        let source = ParquetSource::pages(&file.source);
        let bytes = source.get_bytes(offset, length as usize).map_err(parquet_error)?;
        thrift::check_struct(&*bytes, headers::BLOOM_FILTER).map_err(parquet_error)?;
        let filter = Sbbf::from_bytes(&bytes).map_err(parquet_error)?;
        Ok(keys.iter().all(|keys| keys.iter().any(|key| key.is_in(&filter))))
    });
    holds.ok()
}

/// A value as the filter of a column contains it.
#[derive(Debug, Clone, PartialEq)]
enum Key<'a> {
    Int32(i32),
    Int64(i64),
    Text(&'a str),
}

impl<'a> Key<'a> {
    /// Returns the only representation of a value; `None` if there are several, or it is not known.
    fn of(value: &'a Value, physical: PhysicalType, data_type: &DataType) -> Option<Self> {
        let scale = match data_type {
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => 0,
            DataType::Decimal128(_, scale) => u8::try_from(*scale).ok()?,
            DataType::Utf8 => {
                let Value::String(text) = value else { return None };
                return (physical == PhysicalType::BYTE_ARRAY).then_some(Self::Text(text));
            }
            _ => return None,
        };
        let unscaled = match value {
            Value::Int(int) => i128::from(*int).checked_mul(10_i128.checked_pow(scale.into())?)?,
            Value::Decimal(decimal) => decimal.unscaled_at(MAX_DIGITS, scale)?,
            _ => return None,
        };
        match physical {
            PhysicalType::INT32 => i32::try_from(unscaled).ok().map(Self::Int32),
            PhysicalType::INT64 => i64::try_from(unscaled).ok().map(Self::Int64),
            _ => None,
        }
    }

    fn is_in(&self, filter: &Sbbf) -> bool {
        match self {
            Self::Int32(int) => filter.check(int),
            Self::Int64(int) => filter.check(int),
            Self::Text(text) => filter.check(*text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_s3select::value::Decimal;

    #[test]
    fn values_have_the_keys_of_their_columns() {
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text.as_bytes()).unwrap());
        let cents = DataType::Decimal128(9, 2);
        let text = Value::String("a".to_owned());
        for (value, physical, data_type, expected) in [
            (Value::Int(7), PhysicalType::INT32, &DataType::Int16, Some(Key::Int32(7))),
            (Value::Int(7), PhysicalType::INT64, &DataType::Int64, Some(Key::Int64(7))),
            (decimal("7.00"), PhysicalType::INT64, &DataType::Int64, Some(Key::Int64(7))),
            (Value::Int(-7), PhysicalType::INT32, &cents, Some(Key::Int32(-700))),
            (decimal("0.5"), PhysicalType::INT64, &cents, Some(Key::Int64(50))),
            (text.clone(), PhysicalType::BYTE_ARRAY, &DataType::Utf8, Some(Key::Text("a"))),
            (decimal("0.005"), PhysicalType::INT64, &cents, None),
            (decimal("7.5"), PhysicalType::INT64, &DataType::Int64, None),
            (Value::Int(1 << 40), PhysicalType::INT32, &DataType::Int32, None),
            (Value::Int(7), PhysicalType::FIXED_LEN_BYTE_ARRAY, &cents, None),
            (Value::Float(7.0), PhysicalType::INT64, &DataType::Int64, None),
            (Value::Int(7), PhysicalType::DOUBLE, &DataType::Float64, None),
            (text, PhysicalType::INT64, &DataType::Int64, None),
            (Value::Int(7), PhysicalType::BYTE_ARRAY, &DataType::Utf8, None),
        ] {
            assert_eq!(Key::of(&value, physical, data_type), expected, "{value:?} {data_type}");
        }
    }
}
