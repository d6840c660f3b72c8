//! Statistics of a Parquet object's values, from its footer alone: bounds, NULLs, width and distinct values.
//!
//! All of them are estimates. The number of distinct values follows from the size of the dictionaries and the bits of
//! their codes, the width of text from its unencoded bytes. DuckDB and Spark write these for most columns.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{ScalarValue, Statistics};
use object_store::ObjectMeta;
use parquet::basic::{Encoding, PageType, Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics as ChunkStatistics;

use super::sketch::Sketch;
use super::table::of_all;
use super::{ColumnStatistics, ObjectStatistics, Origin, StatisticsKey};
use crate::index::location::e_tag;

/// The approximate bytes of a page's header.
const PAGE_HEADER: f64 = 24.0;

/// Returns the statistics that a footer contains or allows to estimate. `known` is what DataFusion found in the footer,
/// proven or not.
pub(super) fn footer_values(
    object: &ObjectMeta,
    footer: &ParquetMetaData,
    declared: &Schema,
    known: &Statistics,
) -> ObjectStatistics {
    let mut leaves: HashMap<&str, usize> = HashMap::new();
    for (place, leaf) in footer.file_metadata().schema_descr().columns().iter().enumerate() {
        if let [name] = leaf.path().parts() {
            leaves.entry(name).or_insert(place);
        }
    }
    let rows: i64 = footer.row_groups().iter().map(|group| group.num_rows()).sum();
    let rows = u64::try_from(rows).unwrap_or_default();
    let columns = declared.fields().iter().enumerate().filter_map(|(position, field)| {
        let leaf = *leaves.get(field.name().as_str())?;
        let chunks: Vec<_> =
            footer.row_groups().iter().filter_map(|group| group.columns().get(leaf)).collect();
        let known = known.column_statistics.get(position)?;
        let bound = |it: &ScalarValue| (!it.is_null()).then(|| it.clone());
        // Without bounds, the share of rows that pass a comparison stays unknown.
        let min = known.min_value.get_value().and_then(bound)?;
        let max = known.max_value.get_value().and_then(bound)?;
        let nulls = known.null_count.get_value().copied().unwrap_or_default() as u64;
        let width = width(field, &chunks, (&min, &max));
        let counted = distinct(field, &chunks, rows, (&min, &max));
        Some(ColumnStatistics {
            position,
            name: field.name().clone(),
            data_type: field.data_type().to_string(),
            nulls,
            width,
            // Values are assumed to be spread evenly between the bounds.
            bounds: vec![min.clone(), max.clone()],
            min: Some(min),
            max: Some(max),
            distinct: Sketch::new().ok()?,
            counted: Some(counted),
            heavy: Vec::new(),
            ascending: if is_sorted(&chunks) { 1.0 } else { 0.5 },
            correlation: if is_sorted(&chunks) { 1.0 } else { 0.0 },
        })
    });
    ObjectStatistics {
        about: StatisticsKey {
            store: String::new(),
            url: object.location.to_string(),
            format: "parquet".to_owned(),
        },
        e_tag: e_tag(object).unwrap_or_default().to_owned(),
        size: object.size,
        origin: Origin::Footer,
        taken: 0,
        rows,
        seen: rows,
        columns: columns.collect(),
    }
}

/// The least and the greatest value of a column.
type Bounds<'a> = (&'a ScalarValue, &'a ScalarValue);

/// Returns a whole number that has the value's digits, for numbers and days.
fn whole(value: &ScalarValue) -> Option<f64> {
    Some(match value {
        ScalarValue::Decimal128(value, ..) => (*value)? as f64,
        ScalarValue::Date32(days) => f64::from((*days)?),
        other => match other.cast_to(&DataType::Int64).ok()? {
            ScalarValue::Int64(value) if other.data_type().is_integer() => value? as f64,
            _ => return None,
        },
    })
}

/// Returns the mean bytes of a value as text.
fn width(field: &Field, chunks: &[&ColumnChunkMetaData], (min, max): Bounds<'_>) -> f64 {
    let sum = |of: &dyn Fn(&ColumnChunkMetaData) -> i64| -> f64 {
        chunks.iter().map(|chunk| of(chunk).max(0) as f64).sum()
    };
    let values = sum(&|chunk| chunk.num_values()).max(1.0);
    match field.data_type() {
        DataType::Boolean => 4.5,
        DataType::Date32 => 10.0,
        DataType::Timestamp(..) => 20.0,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            if chunks.iter().all(|it| it.unencoded_byte_array_data_bytes().is_some()) {
                return sum(&|chunk| chunk.unencoded_byte_array_data_bytes().unwrap_or(0)) / values;
            }
            // Without a dictionary, the length of each value precedes its bytes. Bounds may be cut.
            if chunks.iter().any(|chunk| !is_coded(chunk)) {
                return (sum(&|chunk| chunk.uncompressed_size()) / values - 4.0).max(1.0);
            }
            let length = |it: &ScalarValue| it.try_as_str().flatten().map_or(15, str::len) as f64;
            f64::midpoint(length(min), length(max))
        }
        data_type => {
            // Most numbers below 10^n have n digits.
            let digits = |it: &ScalarValue| {
                let number = whole(it)?;
                Some(number.abs().max(1.0).log10().floor() + 1.0 + f64::from(number < 0.0))
            };
            let digits = match (digits(min), digits(max)) {
                (Some(one), Some(other)) => one.max(other) - 0.1,
                _ => 7.0,
            };
            digits + f64::from(matches!(data_type, DataType::Decimal128(_, scale) if *scale > 0))
        }
    }
}

/// Returns true if all values of a chunk are dictionary codes.
fn is_coded(chunk: &ColumnChunkMetaData) -> bool {
    let only = |it: &Encoding| matches!(it, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY);
    chunk.dictionary_page_offset().is_some()
        && match (chunk.page_encoding_stats_mask(), chunk.page_encoding_stats()) {
            (Some(mask), _) => {
                mask.is_only(Encoding::PLAIN_DICTIONARY) || mask.is_only(Encoding::RLE_DICTIONARY)
            }
            (None, Some(pages)) => {
                let is_data =
                    |it: PageType| matches!(it, PageType::DATA_PAGE | PageType::DATA_PAGE_V2);
                let data = pages.iter().filter(|it| is_data(it.page_type));
                data.map(|it| it.encoding).all(|it| only(&it))
            }
            (None, None) => false,
        }
}

/// Returns the approximate number of distinct values of a column.
fn distinct(
    field: &Field,
    chunks: &[&ColumnChunkMetaData],
    rows: u64,
    (min, max): Bounds<'_>,
) -> f64 {
    let rows = rows as f64;
    // Whole numbers and days between the bounds.
    let range = match (whole(min), whole(max)) {
        (Some(min), Some(max)) => max - min + 1.0,
        _ => f64::INFINITY,
    };
    let of_chunk = |chunk: &&ColumnChunkMetaData| -> f64 {
        let values = chunk.num_values().max(1) as f64;
        if !is_coded(chunk) {
            return values;
        }
        let dictionary = chunk
            .dictionary_page_offset()
            .map_or(0, |start| chunk.data_page_offset().saturating_sub(start).max(0))
            as f64;
        let ratio = chunk.uncompressed_size() as f64 / (chunk.compressed_size() as f64).max(1.0);
        let dictionary = (dictionary * ratio - PAGE_HEADER).max(1.0);
        // Codes of n bits are for more than 2^(n-1) values, or they would have fewer bits. Short dictionaries compress
        // better than the rest, so their size alone would tell too few.
        let codes = (chunk.uncompressed_size() as f64 - dictionary).max(0.0) * 8.0 / values;
        let least = (codes.round().clamp(0.0, 40.0) - 1.0).exp2().floor() + 1.0;
        let each = match chunk.column_type() {
            Type::INT32 | Type::FLOAT => 4.0,
            Type::INT64 | Type::DOUBLE => 8.0,
            _ => width(field, &[*chunk], (min, max)) + 4.0,
        };
        (dictionary / each).ceil().max(least).clamp(1.0, values)
    };
    let all = match is_sorted(chunks) {
        // Each row group has other values.
        true => chunks.iter().map(of_chunk).sum(),
        // The values of one row group are drawn from those of all.
        false => {
            let values = |chunk: &ColumnChunkMetaData| chunk.num_values().max(0) as f64;
            let all = chunks.iter().map(|chunk| of_all(of_chunk(chunk), values(chunk), rows));
            all.fold(1.0, f64::max)
        }
    };
    all.min(range).clamp(1.0, rows.max(1.0))
}

/// Returns true if the values of each row group follow those of the one before, of whole numbers and days.
fn is_sorted(chunks: &[&ColumnChunkMetaData]) -> bool {
    let bounds = |chunk: &&ColumnChunkMetaData| match chunk.statistics()? {
        ChunkStatistics::Int32(it) => Some((i64::from(*it.min_opt()?), i64::from(*it.max_opt()?))),
        ChunkStatistics::Int64(it) => Some((*it.min_opt()?, *it.max_opt()?)),
        _ => None,
    };
    let bounds: Option<Vec<(i64, i64)>> = chunks.iter().map(bounds).collect();
    bounds.is_some_and(|it| it.len() > 1 && it.windows(2).all(|pair| pair[0].1 <= pair[1].0))
}
