//! Statistics of a Parquet object's values, from its footer alone: bounds, NULLs, width and distinct values.
//!
//! All of them are estimates. The number of distinct values follows from the size of the dictionaries and the bits of
//! their codes, the width of text from its unencoded bytes.

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
    let rows = footer.row_groups().iter().map(|group| group.num_rows());
    let rows = u64::try_from(rows.fold(0, i64::saturating_add)).unwrap_or_default();
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
        // The codes may compress much better, and a short dictionary does not compress at all.
        let ratio = if dictionary < 256.0 { 1.0 } else { ratio.clamp(1.0, 4.0) };
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, Date32Array, Decimal128Array, Int64Array, RecordBatch, StringArray,
    };
    use bytes::Bytes;
    use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
    use object_store::path::Path;
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
    use parquet::basic::Compression;
    use parquet::file::properties::WriterProperties;

    use super::*;

    const ROWS: i64 = 40_000;

    /// Returns the estimates from the footer of a file with these columns.
    fn estimates(columns: Vec<(&str, ArrayRef)>) -> ObjectStatistics {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(10_000))
            .build();
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let file = Bytes::from(file);
        let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).unwrap();
        let footer = footer.metadata();
        let known = DFParquetMetadata::statistics_from_parquet_metadata(footer, &batch.schema());
        let object = ObjectMeta {
            location: Path::from("a.parquet"),
            last_modified: Default::default(),
            size: file.len() as u64,
            e_tag: None,
            version: None,
        };
        footer_values(&object, footer, &batch.schema(), &known.unwrap())
    }

    #[track_caller]
    fn check(found: &ObjectStatistics, position: usize, distinct: f64, width: f64) {
        let column = &found.columns[position];
        let counted = column.distinct_values();
        assert!((0.5..2.0).contains(&(counted / distinct)), "{}: {counted}", column.name);
        assert!((column.width - width).abs() < 1.0, "{}: {}", column.name, column.width);
    }

    #[test]
    fn distinct_values_and_widths_follow_from_dictionaries_and_bounds() {
        let of = |each: &dyn Fn(i64) -> i64| (0..ROWS).map(each).collect::<Vec<i64>>();
        let random = |n: i64| (n * 7_919 + 13) % 104_729;
        let few: StringArray =
            (0..ROWS).map(|n| Some(["ab", "cde", "fghi"][(n % 3) as usize])).collect();
        let decimals: Decimal128Array =
            (0..ROWS).map(|n| Some(i128::from(random(n) % 500))).collect();
        let days: Date32Array = (0..ROWS).map(|n| Some((random(n) % 2_500) as i32)).collect();
        let found = estimates(vec![
            ("key", Arc::new(Int64Array::from(of(&|n| n)))),
            ("group", Arc::new(Int64Array::from(of(&|n| random(n) % 1_000)))),
            ("word", Arc::new(few)),
            ("price", Arc::new(decimals.with_precision_and_scale(15, 2).unwrap())),
            ("day", Arc::new(days)),
            ("constant", Arc::new(Int64Array::from(of(&|_| 7)))),
        ]);
        assert_eq!((found.rows, found.columns.len()), (40_000, 6));
        check(&found, 0, 40_000.0, 4.9);
        check(&found, 1, 1_000.0, 2.9);
        check(&found, 2, 3.0, 3.0);
        check(&found, 3, 500.0, 3.9);
        check(&found, 4, 2_500.0, 10.0);
        check(&found, 5, 1.0, 0.9);
        assert_eq!((found.columns[0].correlation, found.columns[1].correlation), (1.0, 0.0));
    }

    #[test]
    fn a_column_of_nulls_has_no_estimates() {
        let none: Int64Array = (0..ROWS).map(|_| None).collect();
        assert!(estimates(vec![("n", Arc::new(none))]).columns.is_empty());
    }
}
