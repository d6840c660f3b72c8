//! Rules out row groups by the dictionaries of their column chunks.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, StringArray,
};
use arrow::datatypes::DataType;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::serialized_reader::SerializedPageReader;

use super::schema::ParquetFile;
use super::source::ParquetSource;
use super::{convert, guarded, sizes};
use crate::program::Condition;
use crate::selection::Rows;
use crate::vector::Vector;
use sluicegate_s3select::dialect::ast::BinaryOp;
use sluicegate_s3select::value;

/// The most comparisons of a dictionary's values with those of a condition.
const MOST_COMPARISONS: usize = 1 << 18;

/// Checks whether a condition requires a value that is not in the row group's dictionary. Returns the number of bytes
/// read for that if so, and `None` if the row group must be read.
pub(super) fn rules_out(file: &ParquetFile, group: usize, conditions: &[Condition]) -> Option<u64> {
    conditions.iter().filter(|condition| condition.op == BinaryOp::Eq).find_map(|condition| {
        let column = file.columns.get(condition.column).filter(|column| column.path.is_empty())?;
        let leaf = file.leaves(column.root).next()?;
        let chunk = file.metadata.metadata().row_group(group).column(leaf);
        let field = file.field(column.root);
        let most = MOST_COMPARISONS / condition.values.len().max(1);
        let values = guarded(|| Ok(read(file, group, chunk, field.data_type(), most)));
        let values = values.ok().flatten()?;
        let mut vector = Vector::default();
        convert::fill(&values, field, Rows::All(values.len()), &mut vector).ok()?;
        let holds = (0..values.len()).any(|row| {
            vector.value(row, &[]).is_none_or(|value| {
                let mut wanted = condition.values.iter();
                wanted.any(|wanted| value::compare(&value, wanted).is_none_or(|o| o.is_eq()))
            })
        });
        let (start, _) = chunk.byte_range();
        (!holds).then(|| chunk.data_page_offset().unsigned_abs().saturating_sub(start))
    })
}

/// Returns whether a whole chunk is encoded with a dictionary.
pub(super) fn is_whole(chunk: &ColumnChunkMetaData) -> bool {
    let encodings = [Encoding::RLE_DICTIONARY, Encoding::PLAIN_DICTIONARY];
    let used = chunk.page_encoding_stats_mask();
    chunk.dictionary_page_offset().is_some()
        && used.is_some_and(|used| encodings.iter().any(|encoding| used.is_only(*encoding)))
}

/// Returns the values of a chunk's dictionary, if the whole chunk is encoded with it and there are at most so many.
fn read(
    file: &ParquetFile,
    group: usize,
    chunk: &ColumnChunkMetaData,
    data_type: &DataType,
    most: usize,
) -> Option<ArrayRef> {
    if !is_whole(chunk) {
        return None;
    }
    let rows = file.metadata.metadata().row_group(group).num_rows().unsigned_abs() as usize;
    let source = ParquetSource::located_pages(&file.source);
    let source = Arc::new(source.bounded(sizes::page_bytes(chunk), &file.reader));
    // With the location of the first data page, the library reads only the dictionary before it.
    let first = PageLocation {
        offset: chunk.data_page_offset(),
        compressed_page_size: 0,
        first_row_index: 0,
    };
    if first.offset.unsigned_abs() <= chunk.byte_range().0 {
        return None;
    }
    let mut pages = SerializedPageReader::new(source, chunk, rows, Some(vec![first])).ok()?;
    let Page::DictionaryPage { buf, num_values, .. } = pages.get_next_page().ok()?? else {
        return None;
    };
    if num_values as usize > most {
        return None;
    }
    decode(&buf, num_values as usize, chunk.column_type(), data_type)
}

/// Decodes PLAIN values of the types that dictionaries mostly have.
pub(super) fn decode(
    bytes: &[u8],
    count: usize,
    physical: PhysicalType,
    data_type: &DataType,
) -> Option<ArrayRef> {
    let ints = |width: usize| bytes.chunks_exact(width).take(count);
    let i32s = || ints(4).map(|bytes| bytes.try_into().map_or(0, i32::from_le_bytes));
    let i64s = || ints(8).map(|bytes| bytes.try_into().map_or(0, i64::from_le_bytes));
    let complete = match physical {
        PhysicalType::INT32 => bytes.len() / 4 >= count,
        PhysicalType::INT64 => bytes.len() / 8 >= count,
        _ => true,
    };
    if !complete {
        return None;
    }
    let decimals = |values: Decimal128Array, precision, scale| {
        values.with_precision_and_scale(precision, scale).ok()
    };
    Some(match (physical, data_type) {
        (PhysicalType::INT32, DataType::Int32) => Arc::new(Int32Array::from_iter_values(i32s())),
        (PhysicalType::INT64, DataType::Int64) => Arc::new(Int64Array::from_iter_values(i64s())),
        (PhysicalType::INT32, DataType::Date32) => Arc::new(Date32Array::from_iter_values(i32s())),
        (PhysicalType::INT32, DataType::Decimal128(precision, scale)) => {
            let values = Decimal128Array::from_iter_values(i32s().map(i128::from));
            Arc::new(decimals(values, *precision, *scale)?)
        }
        (PhysicalType::INT64, DataType::Decimal128(precision, scale)) => {
            let values = Decimal128Array::from_iter_values(i64s().map(i128::from));
            Arc::new(decimals(values, *precision, *scale)?)
        }
        (PhysicalType::BYTE_ARRAY, DataType::Utf8) => Arc::new(strings(bytes, count)?),
        _ => return None,
    })
}

/// Decodes texts, each after its length in four bytes.
fn strings(mut bytes: &[u8], count: usize) -> Option<StringArray> {
    let mut texts = Vec::with_capacity(count.min(bytes.len()));
    for _ in 0..count {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let (text, rest) = rest.split_at_checked(length)?;
        texts.push(std::str::from_utf8(text).ok()?);
        bytes = rest;
    }
    Some(StringArray::from(texts))
}
