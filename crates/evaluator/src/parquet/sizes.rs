//! Derives the sizes of pages and batches from a footer's descriptions of column chunks.

use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Type as PhysicalType;
use parquet::column::page::Page;
use parquet::file::metadata::ColumnChunkMetaData;

use super::guarded;
use super::lengths::CheckedRowGroups;
use super::measure::value_bytes;

/// The intended size of a batch in bytes. It is exceeded only by a single row that is longer.
const BATCH_BYTES: u64 = 8 << 20;
/// The bytes that all pages of a chunk may have beyond the size in the footer, which writers count in different ways.
const UNCOUNTED_BYTES: u64 = 8 << 20;

/// Returns the most bytes that the pages of a chunk may have, decompressed.
pub(super) fn page_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let bytes = chunk.uncompressed_size().unsigned_abs();
    bytes.saturating_add(bytes / 8).saturating_add(UNCOUNTED_BYTES)
}

/// Returns the number of rows for a batch of these columns, from their mean length and from the longest value that
/// pages refer to by its number.
pub(super) fn batch_rows(groups: &CheckedRowGroups, leaves: impl Iterator<Item = usize>) -> usize {
    let rows = groups.num_rows().max(1) as u64;
    let row_bytes = leaves.map(|leaf| row_bytes(groups, leaf, rows)).fold(0, u64::saturating_add);
    usize::try_from(BATCH_BYTES / row_bytes.max(1)).unwrap_or(usize::MAX).max(1)
}

/// Returns the bytes that a column may take in a row.
fn row_bytes(groups: &CheckedRowGroups, leaf: usize, rows: u64) -> u64 {
    let Some(group) = groups.row_groups().next() else { return 0 };
    let chunk = group.column(leaf);
    let stored = page_bytes(chunk).saturating_sub(UNCOUNTED_BYTES).div_ceil(rows);
    let longest = match chunk.column_type() {
        PhysicalType::BYTE_ARRAY if chunk.dictionary_page_offset().is_some() => {
            guarded(|| Ok(longest_in_dictionary(groups, leaf))).ok().flatten().unwrap_or(0)
        }
        PhysicalType::FIXED_LEN_BYTE_ARRAY => chunk.column_descr().type_length().max(0) as u64,
        _ => 0,
    };
    // A row has several values of a list.
    let values = chunk.num_values().unsigned_abs().div_ceil(rows).max(1);
    let is_list = chunk.column_descr().max_rep_level() > 0;
    let each = if is_list { value_bytes(chunk.column_descr()) } else { 0 };
    stored.max(longest.saturating_add(each).saturating_mul(values))
}

/// Returns the length of the longest text in a chunk's dictionary. The dictionary is kept for the reader of the
/// chunk.
fn longest_in_dictionary(groups: &CheckedRowGroups, leaf: usize) -> Option<u64> {
    groups.first_page(leaf, |page| match page {
        Page::DictionaryPage { buf, .. } => longest(buf),
        _ => 0,
    })
}

/// Returns the length of the longest text. Each text follows its length.
pub(super) fn longest(mut texts: &[u8]) -> u64 {
    let mut longest = 0;
    while let Some((length, rest)) = texts.split_first_chunk() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(length);
        texts = rest.get(length as usize..).unwrap_or_default();
    }
    longest.into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, RecordBatch, StringArray};
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::ChunkReader as _;

    use super::super::schema::ParquetFile;
    use super::super::source::ParquetSource;
    use super::*;
    use crate::memory_budget::MemoryConsumer;
    use crate::source::ObjectSource;
    use crate::tests::write_parquet;

    fn file(texts: &[&str], is_coded: bool) -> ParquetFile {
        let array: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
        let properties = WriterProperties::builder().set_dictionary_enabled(is_coded).build();
        let object = write_parquet(&batch, properties);
        let object: Arc<dyn ObjectSource> = Arc::new(object);
        ParquetFile::open(&object).unwrap()
    }

    #[test]
    fn a_batch_has_few_rows_if_they_are_long() {
        let rows = |texts: &[&str], is_coded| {
            let groups = CheckedRowGroups::of_file(&file(texts, is_coded), 0);
            batch_rows(&groups, 0..1)
        };
        let long = "x".repeat(100_000);
        assert!((70..84).contains(&rows(&[&*long; 200], false)));
        assert!(rows(&["x"; 10_000], false) > 8192);
        // A text that all rows have is stored once in the object.
        assert!((70..84).contains(&rows(&[&[&long[..]][..], &["x"; 9999]].concat(), true)));
        assert!(rows(&["x"; 10_000], true) > 8192);
        assert_eq!(rows(&[&long.repeat(100)], false), 1);
    }

    #[test]
    fn a_dictionary_that_was_looked_at_is_read_once_more() {
        let groups = CheckedRowGroups::of_file(&file(&["abc", "de", "abc"], true), 0);
        let pages = || {
            let mut pages = groups.column_chunks(0).unwrap().next().unwrap().unwrap();
            let is_dictionary = pages.peek_next_page().unwrap().unwrap().is_dict;
            let counts = pages.map(|page| page.unwrap().num_values()).collect::<Vec<_>>();
            (is_dictionary, counts)
        };
        let expected = (true, vec![2, 3]);
        assert_eq!(pages(), expected);
        assert_eq!(longest_in_dictionary(&groups, 0), Some(3));
        assert_eq!(pages(), expected);
        assert_eq!(longest_in_dictionary(&groups, 0), Some(3));
        let mut skipping = groups.column_chunks(0).unwrap().next().unwrap().unwrap();
        skipping.skip_next_page().unwrap();
        assert_eq!(skipping.get_next_page().unwrap().unwrap().num_values(), 3);
    }

    #[test]
    fn a_page_longer_than_its_chunk_is_not_decompressed() {
        let file = file(&[&"x".repeat(100_000)], false);
        let chunk = file.metadata.metadata().row_group(0).column(0);
        let (start, length) = chunk.byte_range();
        assert_eq!(page_bytes(chunk) / 10_000, (112_500 + UNCOUNTED_BYTES) / 10_000);
        for (bytes, is_read) in [(90_000, false), (110_000, true)] {
            let reader = MemoryConsumer::new();
            let source = ParquetSource::pages(&file.source).bounded(bytes, &reader);
            assert_eq!(source.get_read(start).is_ok(), is_read);
            let source = ParquetSource::located_pages(&file.source).bounded(bytes, &reader);
            assert_eq!(source.get_bytes(start, length as usize).is_ok(), is_read);
        }
    }

    #[test]
    fn the_longest_text_is_found_also_where_the_last_is_cut() {
        assert_eq!(longest(b"\x01\0\0\0a\x03\0\0\0abc\x02\0\0\0ab"), 3);
        assert_eq!(longest(b"\x01\0\0\0a\x05\0\0\0ab"), 5);
        assert_eq!(longest(b"\x01\0"), 0);
    }
}
