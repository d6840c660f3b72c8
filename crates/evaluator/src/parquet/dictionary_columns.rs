//! Reads columns that are stored as dictionary codes without decoding them, so that each value of the dictionary is
//! processed once instead of once for each row.

use std::sync::Arc;

use arrow::array::{ArrayRef, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::Field;
use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::ColumnDescriptor;

use super::lengths::{self, CheckedRowGroups};
use super::runs::Runs;
use super::{convert, dictionary, guarded, parquet_error};
use crate::batch::Codes;
use crate::selection::Rows;
use crate::vector::Vector;
use sluicegate_s3select::error::SelectError;

/// The longest dictionary to use, in bytes, which is the default limit of most writers.
const MAX_DICTIONARY_BYTES: usize = 1 << 20;
/// The most values in all dictionaries of a row group. Each takes some 64 bytes, and its text.
const MAX_VALUES: usize = 1 << 18;
/// The most bytes of all dictionaries of a row group.
const MAX_BYTES: usize = 16 << 20;
/// The least number of rows for each value for which a dictionary is used.
const MIN_USES: usize = 2;

/// The remaining limits for the dictionaries of a row group.
pub(super) struct DictionaryBudget {
    values: usize,
    bytes: usize,
}

impl Default for DictionaryBudget {
    fn default() -> Self {
        Self { values: MAX_VALUES, bytes: MAX_BYTES }
    }
}

/// A dictionary-coded column of a row group.
pub(super) struct CodedColumn {
    pages: Box<dyn PageReader>,
    /// The values of the dictionary, followed by NULL if the column may have it.
    values: Arc<Vector>,
    /// The number of values in the dictionary.
    distinct: u32,
    is_optional: bool,
    page: DataPage,
    /// The codes of the rows read last.
    codes: Vec<u32>,
    /// The definition levels of some rows; reused memory.
    levels: Vec<u32>,
}

/// The unread part of a page.
struct DataPage {
    rows: usize,
    /// The definition levels: 1 for a row with a value, 0 for NULL.
    levels: Option<Runs>,
    codes: Runs,
}

impl CodedColumn {
    /// Opens a column. Returns `None` if it is nested, if its chunk is not completely dictionary-coded, or if reading
    /// codes does not pay.
    pub(super) fn open(
        groups: &CheckedRowGroups,
        (leaf, chunk): (usize, &ColumnChunkMetaData),
        field: &Field,
        room: &mut DictionaryBudget,
    ) -> Option<Self> {
        let is_optional = is_optional(chunk.column_descr())?;
        if !dictionary::is_whole(chunk) {
            return None;
        }
        let read = || Ok(Self::begin(groups, leaf, is_optional, field, room));
        // The caller then reads the column in the other way, which reports any error.
        guarded(read).ok().flatten()
    }

    fn begin(
        groups: &CheckedRowGroups,
        leaf: usize,
        is_optional: bool,
        field: &Field,
        room: &mut DictionaryBudget,
    ) -> Option<Self> {
        let mut pages = groups.column_chunks(leaf).ok()?.next()?.ok()?;
        let Page::DictionaryPage { buf, num_values, .. } = pages.get_next_page().ok()?? else {
            return None;
        };
        let distinct = num_values as usize;
        let pays = distinct.saturating_mul(MIN_USES) <= groups.num_rows();
        let fits = distinct < room.values && buf.len() <= room.bytes.min(MAX_DICTIONARY_BYTES);
        if !pays || !fits {
            return None;
        }
        let physical = groups.row_groups().next()?.column(leaf).column_type();
        let values = dictionary::decode(&buf, distinct, physical, field.data_type())?;
        let values = if is_optional { with_null(&values)? } else { values };
        let mut vector = Vector::default();
        convert::fill(&values, field, Rows::All(values.len()), &mut vector).ok()?;
        let first = pages.get_next_page().ok()??;
        let page = DataPage::new(&first, is_optional)?;
        room.values -= distinct;
        room.bytes -= buf.len();
        Some(Self {
            pages,
            values: Arc::new(vector),
            distinct: num_values,
            is_optional,
            page,
            codes: Vec::new(),
            levels: Vec::new(),
        })
    }

    /// Reads the next rows.
    pub(super) fn read(&mut self, rows: usize) -> Result<(), SelectError> {
        let mut codes = std::mem::take(&mut self.codes);
        codes.resize(rows, 0);
        let mut left = &mut codes[..];
        while !left.is_empty() {
            if self.page.rows == 0 {
                let page = guarded(|| self.pages.get_next_page().map_err(parquet_error))?;
                let page = page.ok_or_else(|| parquet_error("a column has too few values"))?;
                self.page = DataPage::new(&page, self.is_optional).ok_or_else(contradicts)?;
                continue;
            }
            let (now, later) = left.split_at_mut(self.page.rows.min(left.len()));
            self.page.read(now, &mut self.levels, self.distinct).ok_or_else(contradicts)?;
            left = later;
        }
        self.codes = codes;
        Ok(())
    }

    /// Returns the codes of the rows read last.
    pub(super) fn codes(&self) -> Codes<'_> {
        let distinct = self.distinct as usize + usize::from(self.is_optional);
        Codes { values: &self.values, distinct, codes: &self.codes }
    }
}

impl DataPage {
    /// Returns `None` if the page is encoded in another way.
    fn new(page: &Page, is_optional: bool) -> Option<Self> {
        let coded =
            matches!(page.encoding(), Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY);
        let values = lengths::values(page, [0, i16::from(is_optional)]).filter(|_| coded)?;
        let buffer = page.buffer();
        let before = buffer.len() - values.len();
        let levels = match page {
            Page::DataPage { def_level_encoding: Encoding::RLE, .. } => 4..before,
            Page::DataPageV2 { rep_levels_byte_len, .. } => *rep_levels_byte_len as usize..before,
            _ if !is_optional => 0..0,
            _ => return None,
        };
        let runs_of_levels = || {
            let levels = buffer.get(levels).map(|levels| buffer.slice_ref(levels))?;
            Runs::new(levels, 1)
        };
        let levels = if is_optional { Some(runs_of_levels()?) } else { None };
        let codes = match values.split_first() {
            Some((width, packed)) => Runs::new(buffer.slice_ref(packed), (*width).into())?,
            // A page of NULLs has no codes, and no bit width for them.
            None => Runs::new(Bytes::new(), 0)?,
        };
        Some(Self { rows: page.num_values() as usize, levels, codes })
    }

    /// Reads the codes of rows, at most as many as the page declares. Returns `None` if the page has fewer.
    fn read(&mut self, out: &mut [u32], scratch: &mut Vec<u32>, distinct: u32) -> Option<()> {
        self.rows -= out.len();
        let Some(mut levels) = self.levels.take() else { return self.read_codes(out, distinct) };
        let mut left = out;
        while !left.is_empty() {
            let (length, same) = levels.peek()?;
            let (now, later) = left.split_at_mut(length.min(left.len()));
            scratch.resize(now.len(), 0);
            levels.read(scratch)?;
            match same {
                // All rows of a page mostly have a value.
                Some(1) => self.read_codes(now, distinct)?,
                _ => self.read_some(now, scratch, distinct)?,
            }
            left = later;
        }
        self.levels = Some(levels);
        Some(())
    }

    /// Reads the codes of the rows that have one.
    fn read_some(&mut self, out: &mut [u32], levels: &[u32], distinct: u32) -> Option<()> {
        let mut present = levels.iter().filter(|level| **level == 1).count();
        self.read_codes(&mut out[..present], distinct)?;
        // Go backwards, so that each code is moved before its place is overwritten.
        for (row, level) in levels.iter().enumerate().rev() {
            out[row] = match level {
                0 => distinct,
                1 => {
                    present -= 1;
                    out[present]
                }
                _ => return None,
            };
        }
        Some(())
    }

    /// Reads codes, none of which may be beyond the dictionary.
    fn read_codes(&mut self, out: &mut [u32], distinct: u32) -> Option<()> {
        self.codes.read(out)?;
        let largest = out.iter().fold(0, |largest, code| largest.max(*code));
        (out.is_empty() || largest < distinct).then_some(())
    }
}

/// Returns whether a column may have NULL; `None` if it is nested.
fn is_optional(column: &ColumnDescriptor) -> Option<bool> {
    match (column.max_rep_level(), column.max_def_level(), column.path().parts()) {
        (0, level @ (0 | 1), [_]) => Some(level == 1),
        _ => None,
    }
}

fn with_null(values: &ArrayRef) -> Option<ArrayRef> {
    concat(&[values, &new_null_array(values.data_type(), 1)]).ok()
}

fn contradicts() -> SelectError {
    parquet_error("a page of codes contradicts its dictionary or its footer")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use arrow::array::{Int64Array, RecordBatch};
    use arrow::datatypes::DataType;
    use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use proptest::prelude::*;

    use super::super::source::ParquetSource;
    use super::*;
    use crate::memory_budget::MemoryConsumer;
    use crate::source::ObjectSource;
    use crate::tests::write_parquet;
    use sluicegate_s3select::value::Value;

    /// Returns the first row group of an object with one column of whole numbers.
    fn groups(array: Int64Array, properties: WriterProperties) -> CheckedRowGroups {
        let batch = RecordBatch::try_from_iter([("a", Arc::new(array) as ArrayRef)]).unwrap();
        let object = write_parquet(&batch, properties);
        let object: Arc<dyn ObjectSource> = Arc::new(object);
        let footer = ParquetSource::footer(&object);
        let metadata = ArrowReaderMetadata::load(&footer, ArrowReaderOptions::new()).unwrap();
        CheckedRowGroups {
            object,
            metadata: Arc::clone(metadata.metadata()),
            groups: vec![0],
            reader: MemoryConsumer::new(),
            begun: RefCell::default(),
            load: None,
        }
    }

    fn open(groups: &CheckedRowGroups, room: &mut DictionaryBudget) -> Option<CodedColumn> {
        let chunk = groups.metadata.row_group(0).column(0);
        let field = Field::new("a", DataType::Int64, true);
        CodedColumn::open(groups, (0, chunk), &field, room)
    }

    proptest! {
        #[test]
        fn codes_are_those_of_the_rows(
            numbers in prop::collection::vec((0_i64..7, 1_usize..40), 10..40),
            nulls: bool,
            newer: bool,
            page_rows in 1_usize..300,
            steps in prop::collection::vec(1_usize..100, 1..9),
        ) {
            let some = |number| (!nulls || number > 0).then_some(number);
            let rows = numbers.iter().flat_map(|(number, times)| vec![some(*number); *times]);
            let rows: Vec<Option<i64>> = rows.collect();
            prop_assume!(rows.len() >= 28);
            let array = if nulls {
                Int64Array::from(rows.clone())
            } else {
                Int64Array::from_iter_values(rows.iter().copied().flatten())
            };
            let version = if newer { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
            let properties = WriterProperties::builder()
                .set_writer_version(version)
                .set_data_page_row_count_limit(page_rows)
                .set_write_batch_size(1);
            let groups = groups(array, properties.build());
            let mut column = open(&groups, &mut DictionaryBudget::default()).unwrap();
            let (mut left, mut steps) = (&rows[..], steps.iter().cycle());
            while !left.is_empty() {
                let (now, later) = left.split_at((*steps.next().unwrap()).min(left.len()));
                column.read(now.len()).unwrap();
                let Codes { values, distinct, codes } = column.codes();
                prop_assert!(codes.iter().all(|code| (*code as usize) < distinct));
                let value = |code: &u32| values.value(*code as usize, &[]).unwrap();
                let read: Vec<_> = codes.iter().map(value).collect();
                let expected = now.iter().map(|row| row.map_or(Value::Null, Value::Int));
                prop_assert_eq!(read, expected.collect::<Vec<_>>());
                left = later;
            }
            prop_assert!(column.read(1).is_err());
        }
    }

    #[test]
    fn dictionaries_that_are_of_no_use_are_left_alone() {
        let plain = || WriterProperties::builder().set_dictionary_enabled(false).build();
        let coded = WriterProperties::default;
        let numbers = |modulus| Int64Array::from_iter_values((0_i64..1000).map(|n| n % modulus));
        let opens =
            |array, properties, mut room| open(&groups(array, properties), &mut room).is_some();
        assert!(opens(numbers(500), coded(), DictionaryBudget::default()));
        assert!(!opens(numbers(501), coded(), DictionaryBudget::default()));
        let [few, short] = [
            DictionaryBudget { values: 500, ..DictionaryBudget::default() },
            DictionaryBudget { bytes: 3999, ..DictionaryBudget::default() },
        ];
        assert!(!opens(numbers(500), coded(), few) && !opens(numbers(500), coded(), short));
        assert!(!opens(numbers(500), plain(), DictionaryBudget::default()));
    }
}
