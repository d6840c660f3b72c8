//! Measures the memory that the values of a page take, which may be a thousand times the size of the page.

use bytes::Bytes;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::Page;
use parquet::schema::types::ColumnDescriptor;

use super::delta::DeltaList;
use super::lengths::values;
use super::load::Measure;
use super::runs::Runs;
use super::sizes::longest;

/// The memory of a value besides its text, in bytes, followed by what a list or a struct around it adds.
const VALUE_BYTES: u64 = 64;
const LIST_BYTES: u64 = 128;
const STRUCT_BYTES: u64 = 256;

/// Returns the memory of a column's value besides its text. A struct stores the names of its fields.
pub(super) fn value_bytes(column: &ColumnDescriptor) -> u64 {
    let path = column.path().parts();
    let names: u64 = path.iter().map(|name| name.len() as u64).sum();
    let lists = column.max_rep_level().max(0) as u64;
    // A list has two levels of its own in most files.
    let structs = (path.len() as u64).saturating_sub(1 + 2 * lists);
    VALUE_BYTES + names + LIST_BYTES * lists + STRUCT_BYTES * structs
}

/// The number of levels read at once.
const LEVELS: usize = 256;

/// The pages of a column chunk, measured in order.
#[derive(Debug)]
pub(super) struct Column {
    leaf: usize,
    kind: PhysicalType,
    /// The length of each value in bytes, if it is fixed.
    fixed: u64,
    /// The highest levels of repetition and definition.
    levels: [i16; 2],
    /// The length of the longest text in the dictionary.
    longest_in_dictionary: u64,
    /// The memory of a list's element besides its text.
    element: u64,
    /// The number of elements so far in the last row of the previous page, which may continue in the next.
    row: u64,
}

impl Column {
    pub(super) fn new(leaf: usize, column: &ColumnDescriptor) -> Self {
        let kind = column.physical_type();
        let fixed = match kind {
            PhysicalType::FIXED_LEN_BYTE_ARRAY => column.type_length().max(0) as u64,
            _ => 0,
        };
        let levels = [column.max_rep_level(), column.max_def_level()];
        let element = value_bytes(column);
        Self { leaf, kind, fixed, levels, longest_in_dictionary: 0, element, row: 0 }
    }

    pub(super) fn leaf(&self) -> usize {
        self.leaf
    }

    /// Returns whether the column has timestamps of 96 bits.
    pub(super) fn is_int96(&self) -> bool {
        self.kind == PhysicalType::INT96
    }

    /// Skips a page that is not read.
    pub(super) fn skip(&mut self) {
        self.row = 0;
    }

    /// Measures the values of the next page. Returns `None` if it has no values, or if all take the same small
    /// amount.
    pub(super) fn measure(&mut self, page: &Page) -> Option<Measure> {
        if let Page::DictionaryPage { buf, .. } = page {
            if self.kind == PhysicalType::BYTE_ARRAY {
                self.longest_in_dictionary = longest(buf);
            }
            return None;
        }
        let is_list = self.levels[0] > 0;
        let has_texts =
            matches!(self.kind, PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY);
        if !is_list && !has_texts {
            return None;
        }
        let texts = if has_texts { self.texts(page) } else { Measure::default() };
        if !is_list {
            return Some(texts);
        }
        let elements = u64::from(page.num_values());
        let in_longest_row = self.longest_row(page);
        Some(Measure {
            all: texts.all.saturating_add(elements.saturating_mul(self.element)),
            longest_row: texts
                .longest_row
                .saturating_add(self.element)
                .saturating_mul(in_longest_row),
        })
    }

    /// Measures the texts of a page, with one text for each row.
    fn texts(&self, page: &Page) -> Measure {
        let count = u64::from(page.num_values());
        let alike =
            |length: u64| Measure { all: length.saturating_mul(count), longest_row: length };
        if self.kind == PhysicalType::FIXED_LEN_BYTE_ARRAY {
            return alike(self.fixed);
        }
        let values = values(page, self.levels).unwrap_or_default();
        let all = values.len() as u64;
        if all == 0 {
            return Measure::default();
        }
        match page.encoding() {
            Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => {
                alike(self.longest_in_dictionary)
            }
            Encoding::PLAIN => Measure { all, longest_row: longest(values).min(all) },
            Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                let longest_row = longest_of_list(values).unwrap_or(all).min(all);
                Measure { all, longest_row }
            }
            // The library may decode more texts from a damaged page.
            Encoding::DELTA_BYTE_ARRAY => sharing_beginnings(values)
                .unwrap_or(Measure { all: u64::MAX, longest_row: u64::MAX }),
            _ => Measure { all, longest_row: all },
        }
    }

    /// Returns the number of elements of the longest row that is in the page or ends in it.
    fn longest_row(&mut self, page: &Page) -> u64 {
        let count = page.num_values() as usize;
        let levels = levels(page, self.levels[0]);
        let mut longest = 0;
        let found = levels.and_then(|mut levels| {
            let (mut left, mut space) = (count, [0; LEVELS]);
            while left > 0 {
                let (run, same) = levels.peek()?;
                let run = run.min(left);
                match same {
                    Some(0) => {
                        longest = longest.max(self.row).max(u64::from(run > 1));
                        self.row = 1;
                        levels.pass(run);
                        left -= run;
                    }
                    Some(_) => {
                        self.row += run as u64;
                        levels.pass(run);
                        left -= run;
                    }
                    None => {
                        let run = run.min(LEVELS);
                        levels.read(&mut space[..run])?;
                        for level in &space[..run] {
                            if *level == 0 {
                                longest = longest.max(self.row);
                                self.row = 0;
                            }
                            self.row += 1;
                        }
                        left -= run;
                    }
                }
            }
            Some(())
        });
        if found.is_none() {
            // All elements may be in one row.
            self.row += count as u64;
        }
        longest.max(self.row)
    }
}

/// Returns the levels of repetition of a page, given the highest level.
fn levels(page: &Page, highest: i16) -> Option<Runs> {
    let width = i16::BITS - highest.leading_zeros();
    let bytes: Bytes = match page {
        Page::DataPage { buf, rep_level_encoding: Encoding::RLE, .. } => {
            let (length, rest) = buf.split_first_chunk()?;
            let length = usize::try_from(i32::from_le_bytes(*length)).ok()?;
            buf.slice_ref(rest.get(..length)?)
        }
        Page::DataPageV2 { buf, rep_levels_byte_len, .. } => {
            buf.slice_ref(buf.get(..*rep_levels_byte_len as usize)?)
        }
        _ => return None,
    };
    Runs::new(bytes, width)
}

/// Returns the length of the longest text, for texts whose lengths are in a list before them.
fn longest_of_list(mut values: &[u8]) -> Option<u64> {
    let lengths = DeltaList::read(&mut values)?.numbers(values);
    Some(lengths.fold(0, |longest, length| longest.max(length.max(0) as u64)))
}

/// Measures texts that each share a prefix with the previous one. One list has the lengths of these prefixes, another
/// those of the rest.
fn sharing_beginnings(mut values: &[u8]) -> Option<Measure> {
    let shared = DeltaList::read(&mut values)?;
    let shared_lengths = shared.numbers(values);
    shared.pass(&mut values)?;
    let own = DeltaList::read(&mut values)?;
    let (mut measure, mut count) = (Measure::default(), 0);
    for (shared, own) in shared_lengths.zip(own.numbers(values)) {
        // The library rejects negative lengths.
        let length = (shared.max(0) as u64).saturating_add(own.max(0) as u64);
        measure.all = measure.all.saturating_add(length);
        measure.longest_row = measure.longest_row.max(length);
        count += 1;
    }
    (count == shared.count().min(own.count())).then_some(measure)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, ArrayRef, AsArray as _, ListBuilder, RecordBatch, StringBuilder};
    use arrow::datatypes::Int32Type;
    use parquet::basic::Compression;
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use proptest::prelude::*;

    use super::*;
    use crate::tests::write_parquet;

    /// The memory of an element of `a.list.item`.
    const ELEMENT: u64 = VALUE_BYTES + LIST_BYTES + 9;

    /// Returns the measures of the data pages of the first column.
    fn measured(array: ArrayRef, properties: WriterProperties) -> Vec<Measure> {
        let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
        let object = Bytes::from(write_parquet(&batch, properties));
        let reader = SerializedFileReader::new(object).unwrap();
        let group = reader.get_row_group(0).unwrap();
        let mut column = Column::new(0, group.metadata().column(0).column_descr());
        let pages = group.get_column_page_reader(0).unwrap();
        pages.filter_map(|page| column.measure(&page.unwrap())).collect()
    }

    fn way() -> impl Strategy<Value = WriterProperties> {
        let encoding = prop_oneof![
            Just(Encoding::PLAIN),
            Just(Encoding::DELTA_LENGTH_BYTE_ARRAY),
            Just(Encoding::DELTA_BYTE_ARRAY),
        ];
        (any::<bool>(), encoding, any::<bool>(), 1_usize..20).prop_map(
            |(is_coded, encoding, is_second, rows)| {
                let version = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]
                    [usize::from(is_second)];
                WriterProperties::builder()
                    .set_dictionary_enabled(is_coded)
                    .set_encoding(encoding)
                    .set_writer_version(version)
                    .set_compression(Compression::SNAPPY)
                    .set_write_batch_size(1)
                    .set_data_page_row_count_limit(rows)
                    .build()
            },
        )
    }

    fn text() -> impl Strategy<Value = Option<String>> {
        let text = prop_oneof![4 => "[ab]{0,4}", 1 => "a{0,40}"];
        prop_oneof![4 => text.prop_map(Some), 1 => Just(None)]
    }

    proptest! {
        /// The measure is at least the memory of the texts, and no more if rows share no text.
        #[test]
        fn texts_take_what_is_measured(
            texts in prop::collection::vec(text(), 1..60),
            properties in way(),
        ) {
            let array: ArrayRef = Arc::new(arrow::array::StringArray::from(texts.clone()));
            let pages = measured(array, properties.clone());
            let lengths = texts.iter().flatten().map(|text| text.len() as u64);
            let all: u64 = pages.iter().map(|page| page.all).sum();
            let longest = pages.iter().map(|page| page.longest_row).max().unwrap();
            prop_assert!(all >= lengths.clone().sum());
            if texts.iter().any(Option::is_some) {
                prop_assert_eq!(longest, lengths.max().unwrap());
            }
            if !properties.dictionary_enabled(&"a".into()) {
                let most: u64 = texts.iter().flatten().map(|text| text.len() as u64 + 4).sum();
                prop_assert!(all <= most + 200 * pages.len() as u64, "{all} of {most}");
            }
        }

        #[test]
        fn lists_take_what_is_measured(
            lists in prop::collection::vec(
                prop::option::of(prop::collection::vec(text(), 0..12)), 1..30,
            ),
            repeated in prop::option::of(0_usize..600),
            properties in way(),
        ) {
            let mut builder = ListBuilder::new(StringBuilder::new());
            for list in &lists {
                for text in list.iter().flatten() {
                    builder.values().append_option(text.as_ref());
                }
                builder.append(list.is_some());
            }
            // Add long runs of levels.
            for _ in 0..repeated.unwrap_or_default() {
                builder.values().append_value("ab");
            }
            builder.append(true);
            let array = builder.finish();
            let pages = measured(Arc::new(array.clone()), properties);
            let rows = (0..array.len()).map(|row| {
                let texts = array.value(row);
                let texts = texts.as_string::<i32>();
                // An empty list takes a level too.
                (texts.len().max(1) as u64, texts.iter().flatten().map(str::len).sum::<usize>() as u64)
            });
            let (elements, bytes) =
                rows.clone().fold((0, 0), |all, row| (all.0 + row.0, all.1 + row.1));
            let all: u64 = pages.iter().map(|page| page.all).sum();
            prop_assert!(all >= elements * ELEMENT + bytes);
            let longest = pages.iter().map(|page| page.longest_row).max().unwrap();
            let longest_row = rows.clone().map(|row| row.0 * ELEMENT + row.1).max().unwrap();
            prop_assert!(longest >= longest_row, "{longest} and {longest_row}");
            let longest_text = lists.iter().flatten().flatten().flatten().map(String::len).max();
            let most = ELEMENT + longest_text.unwrap_or_default().max(2) as u64;
            prop_assert!(longest <= most * rows.map(|row| row.0).max().unwrap());
        }
    }

    #[test]
    fn numbers_take_little_but_in_lists() {
        let properties = WriterProperties::builder().build();
        let array: ArrayRef = Arc::new(arrow::array::Int32Array::from(vec![7; 100]));
        assert_eq!(measured(array, properties.clone()), []);
        let lists = arrow::array::ListArray::from_iter_primitive::<Int32Type, _, _>(
            [2, 5000, 1].map(|elements| Some(vec![Some(7); elements])),
        );
        let expected = Measure { all: 5003 * ELEMENT, longest_row: 5000 * ELEMENT };
        assert_eq!(measured(Arc::new(lists), properties), [expected]);
    }

    #[test]
    fn a_row_may_go_on_in_the_next_page() {
        let column = |levels: &[u8], values: u32| {
            let mut buf = (levels.len() as u32).to_le_bytes().to_vec();
            buf.extend_from_slice(levels);
            Page::DataPage {
                buf: buf.into(),
                num_values: values,
                encoding: Encoding::RLE_DICTIONARY,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            }
        };
        let (kind, fixed, levels) = (PhysicalType::INT32, 0, [1, 0]);
        let mut chunk = Column {
            leaf: 0,
            kind,
            fixed,
            levels,
            longest_in_dictionary: 0,
            element: ELEMENT,
            row: 0,
        };
        let mut longest = |page| chunk.measure(&page).unwrap().longest_row / ELEMENT;
        // A row with eleven elements, twenty more elements of that row, and two new rows.
        assert_eq!(longest(column(&[2, 0, 20, 1], 11)), 11);
        assert_eq!(longest(column(&[40, 1], 20)), 31);
        assert_eq!(longest(column(&[4, 0], 2)), 31);
        // Bit-packed levels: 1 1 0 1 1 1 0 1.
        assert_eq!(longest(column(&[3, 0b1011_1011], 8)), 4);
        assert_eq!(longest(column(&[], 7)), 9);
    }
}
