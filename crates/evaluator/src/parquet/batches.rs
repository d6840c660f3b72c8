//! Reads some columns of a row group in batches, with the Parquet library.

use arrow::array::RecordBatch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups as _, RowSelection};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};

use super::int96::Unit;
use super::lengths::CheckedRowGroups;
use super::load::{Load, ROW_BYTES};
use super::pages::{self, RowRanges};
use super::schema::ParquetFile;
use super::{guarded, parquet_error, sizes};

/// The factor by which a batch gets fewer rows if it would take too much memory.
const FEWER: usize = 8;

/// Reads some columns of a row group.
pub(super) struct Batches {
    file: ParquetFile,
    group: usize,
    mask: ProjectionMask,
    levels: FieldLevels,
    /// The rows to read, and the number of them read so far.
    rows: RowRanges,
    read: usize,
    /// The most rows of a batch.
    max_rows: usize,
    load: Load,
    reader: ParquetRecordBatchReader,
}

impl Batches {
    /// Opens the columns with these roots, in batches of at most `max_rows` rows.
    pub(super) fn open(
        file: &ParquetFile,
        group: usize,
        roots: impl IntoIterator<Item = usize>,
        rows: &RowRanges,
        max_rows: usize,
    ) -> Result<Self, SelectError> {
        let schema = file.metadata.parquet_schema();
        let mask = ProjectionMask::roots(schema, roots);
        let leaves = (0..schema.num_columns()).filter(|leaf| mask.leaf_included(*leaf));
        // A dictionary may be read to find the length of its texts.
        let load = Load::new(max_rows, Unit::Micros);
        let groups = CheckedRowGroups::of_file(file, group).measured(&load);
        let by_bytes = sizes::batch_rows(&groups, leaves);
        let selected = rows.iter().map(ExactSizeIterator::len).sum();
        let max_rows = max_rows.min(selected).min(by_bytes);
        let levels = levels(file, &mask, Unit::Micros)?;
        load.set_rows(max_rows);
        let reader = reader(groups, &levels, rows, max_rows)?;
        let (file, rows) = (file.clone(), rows.clone());
        Ok(Self { file, group, mask, levels, rows, read: 0, max_rows, load, reader })
    }

    /// Returns the next batch, or `None` after the last row.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, SelectError> {
        loop {
            self.load.begin_batch();
            let batch = guarded(|| self.reader.next().transpose().map_err(parquet_error));
            if batch.is_err() && self.load.is_too_much() {
                self.read_fewer()?;
                continue;
            }
            if batch.is_err() && self.load.is_too_coarse() {
                self.levels = levels(&self.file, &self.mask, Unit::Nanos)?;
                self.read_on(Unit::Nanos)?;
                continue;
            }
            let batch = batch?;
            self.read += batch.as_ref().map_or(0, RecordBatch::num_rows);
            if batch.is_none() && !pages::behind(&self.rows, self.read).is_empty() {
                return Err(parquet_error("a row group has fewer rows than its footer declares"));
            }
            return Ok(batch);
        }
    }

    /// Continues after the rows read so far, with smaller batches.
    fn read_fewer(&mut self) -> Result<(), SelectError> {
        if self.max_rows <= 1 {
            let message = format!("A row of the object takes more than {} MiB.", ROW_BYTES >> 20);
            return Err(SelectError::new(SelectErrorCode::OverMaxRecordSize, message));
        }
        self.max_rows = (self.max_rows / FEWER).max(1);
        self.read_on(self.load.unit())
    }

    /// Continues after the rows read so far, with timestamps of 96 bits in this unit.
    fn read_on(&mut self, unit: Unit) -> Result<(), SelectError> {
        self.load = Load::new(self.max_rows, unit);
        let groups = CheckedRowGroups::of_file(&self.file, self.group).measured(&self.load);
        let rows = pages::behind(&self.rows, self.read);
        self.reader = reader(groups, &self.levels, &rows, self.max_rows)?;
        Ok(())
    }
}

/// Returns the columns with the Arrow types to read them as.
fn levels(
    file: &ParquetFile,
    mask: &ProjectionMask,
    unit: Unit,
) -> Result<FieldLevels, SelectError> {
    let (schema, fields) = (file.metadata.parquet_schema(), file.fields_read(unit));
    let levels = || parquet_to_arrow_field_levels(schema, mask.clone(), fields);
    guarded(|| levels().map_err(parquet_error))
}

fn reader(
    groups: CheckedRowGroups,
    levels: &FieldLevels,
    rows: &RowRanges,
    max_rows: usize,
) -> Result<ParquetRecordBatchReader, SelectError> {
    let selection = RowSelection::from_consecutive_ranges(rows.iter().cloned(), groups.num_rows());
    guarded(|| {
        ParquetRecordBatchReader::try_new_with_row_groups(
            levels,
            &groups,
            max_rows,
            Some(selection),
        )
        .map_err(parquet_error)
    })
}

#[cfg(test)]
mod tests {
    use std::iter::{once, repeat_n};
    use std::sync::Arc;

    use arrow::array::{Array, ArrayRef, AsArray as _, ListArray, StringArray};
    use arrow::compute::cast;
    use arrow::datatypes::{DataType, Int32Type};
    use parquet::basic::{Compression, Encoding, ZstdLevel};
    use parquet::file::properties::WriterProperties;

    use super::*;
    use crate::source::ObjectSource;
    use crate::tests::write_parquet;

    /// The most bytes of a batch. It may exceed the limit if it began in the previous page.
    const MOST: u64 = 40 << 20;

    fn all(rows: usize) -> RowRanges {
        once(0..rows).collect()
    }

    fn open(array: ArrayRef, encoding: Encoding, rows: RowRanges) -> Batches {
        let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
        let is_coded = encoding == Encoding::RLE_DICTIONARY;
        let properties = WriterProperties::builder().set_dictionary_enabled(is_coded);
        let properties = if is_coded { properties } else { properties.set_encoding(encoding) };
        let properties = properties.set_compression(Compression::ZSTD(ZstdLevel::default()));
        let object = write_parquet(&batch, properties.build());
        assert!(object.len() < 1 << 20);
        let object: Arc<dyn ObjectSource> = Arc::new(object);
        let file = ParquetFile::open(&object).unwrap();
        Batches::open(&file, 0, [0], &rows, 8192).unwrap()
    }

    /// Returns the lengths of the batches and checks that none takes too much.
    fn read<'a>(
        mut batches: Batches,
        bytes: impl Fn(&dyn Array) -> u64,
        mut expected: impl Iterator<Item = &'a ArrayRef>,
    ) -> Vec<usize> {
        let mut lengths = Vec::new();
        while let Some(batch) = batches.next().unwrap() {
            let column = batch.column(0);
            assert!(bytes(column) <= MOST, "{} rows take {}", column.len(), bytes(column));
            for row in 0..column.len() {
                assert_eq!(&column.slice(row, 1), expected.next().unwrap());
            }
            lengths.push(column.len());
        }
        assert!(expected.next().is_none());
        lengths
    }

    fn check_texts(texts: &[String], encoding: Encoding, rows: RowRanges) -> Vec<usize> {
        let array: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        let wanted: Vec<_> =
            rows.iter().cloned().flatten().map(|row| array.slice(row, 1)).collect();
        let bytes = |column: &dyn Array| {
            column.as_string::<i32>().iter().flatten().map(|text| text.len() as u64).sum()
        };
        read(open(Arc::clone(&array), encoding, rows.clone()), bytes, wanted.iter())
    }

    #[test]
    fn texts_that_share_their_beginnings_make_short_batches() {
        let beginning = "x".repeat(100_000);
        let texts: Vec<String> = (0..1000).map(|row| format!("{beginning}{}", row % 7)).collect();
        let lengths = check_texts(&texts, Encoding::DELTA_BYTE_ARRAY, all(1000));
        assert!(lengths.len() >= 3, "{lengths:?}");
        check_texts(&texts, Encoding::DELTA_BYTE_ARRAY, vec![3..17, 400..401, 402..900]);
    }

    #[test]
    fn long_rows_among_many_short_ones_make_short_batches() {
        let long = "y".repeat(50_000);
        let texts: Vec<String> = (0..200_000)
            .map(|row| if row % 100 == 99 { long.clone() } else { "z".into() })
            .collect();
        // Read only the long rows, as if a filter had selected them.
        let rows: RowRanges = (0..2000).map(|row| row * 100 + 99..row * 100 + 100).collect();
        let lengths = check_texts(&texts, Encoding::PLAIN, rows);
        assert!(lengths.len() >= 3, "{lengths:?}");
    }

    #[test]
    fn short_texts_make_long_batches() {
        let texts: Vec<String> = (0..20_000).map(|row| row.to_string()).collect();
        for encoding in
            [Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY]
        {
            let lengths = check_texts(&texts, encoding, all(20_000));
            assert_eq!(lengths, [8192, 8192, 3616]);
        }
    }

    #[test]
    fn long_lists_make_short_batches() {
        let lengths = (0..100).map(|row| if row % 10 == 0 { 50_000 } else { 1 });
        let lists = lengths.map(|length| Some(repeat_n(Some(7), length)));
        let array: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        let wanted: Vec<_> = (0..array.len()).map(|row| array.slice(row, 1)).collect();
        let bytes = |column: &dyn Array| {
            let lists = column.as_list::<i32>();
            let elements: usize = (0..lists.len()).map(|row| lists.value(row).len()).sum();
            elements as u64 * 128
        };
        for encoding in [Encoding::PLAIN, Encoding::RLE_DICTIONARY] {
            let batches = open(Arc::clone(&array), encoding, all(100));
            assert!(read(batches, bytes, wanted.iter()).len() >= 2);
        }
    }

    #[test]
    fn a_row_that_is_too_long_is_refused() {
        let check = |array: ArrayRef, encoding| {
            let mut batches = open(Arc::clone(&array), encoding, all(array.len()));
            let error = loop {
                match batches.next() {
                    Ok(batch) => assert!(batch.is_some()),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.code, SelectErrorCode::OverMaxRecordSize, "{error:?}");
        };
        let list = |length| Some(repeat_n(Some(7), length));
        let lists = [list(3), list(1_000_000), list(3)];
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
        check(Arc::new(lists.clone()), Encoding::PLAIN);
        let texts = cast(&lists, &DataType::new_list(DataType::Utf8, true)).unwrap();
        check(texts, Encoding::RLE_DICTIONARY);
        let long = "x".repeat(70 << 20);
        check(Arc::new(StringArray::from(vec!["x", &long])), Encoding::PLAIN);
    }
}
