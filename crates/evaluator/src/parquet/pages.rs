//! Rules out pages by the page index.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::ChunkReader;

use super::pruning::Bounds;
use super::schema::ParquetFile;
use super::source::ParquetSource;
use super::{guarded, headers, parquet_error, thrift};
use crate::program::Condition;
use sluicegate_s3select::error::SelectError;

/// The longest page index that is used, in bytes.
const MAX_INDEX_BYTES: u64 = 64 << 20;

/// The memory that a page index takes: a multiple of its bytes, and bytes for each column chunk.
const INDEX_TIMES: u64 = 8;
const CHUNK_BYTES: u64 = 1 << 9;

/// The rows of a row group to read, as ascending ranges, none of them empty.
pub(super) type RowRanges = Vec<Range<usize>>;

/// Reads the page index, if the object has one, its column chunks agree with it, and there is memory for it. Without
/// one, column chunks are read whole.
pub(super) fn load(file: &mut ParquetFile) {
    let bytes = index_bytes(file);
    if bytes == 0 || bytes > MAX_INDEX_BYTES {
        return;
    }
    let groups = file.metadata.metadata().row_groups().iter();
    let chunks = groups.fold(0, |chunks, group| chunks + group.num_columns() as u64);
    let room = bytes * INDEX_TIMES + chunks * CHUNK_BYTES;
    let Some(held) = file.reader.reserve_more_throughout(room) else { return };
    let with_index = guarded(|| {
        let metadata = ParquetMetaData::clone(file.metadata.metadata());
        let mut reader = ParquetMetaDataReader::new_with_metadata(metadata)
            .with_page_index_policy(PageIndexPolicy::Optional);
        check_encoding(file)?;
        reader.read_page_indexes(&ParquetSource::pages(&file.source)).map_err(parquet_error)?;
        let metadata = reader.finish().map_err(parquet_error)?;
        if !is_consistent(&metadata) {
            return Err(parquet_error("its page index contradicts its footer"));
        }
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        ArrowReaderMetadata::try_new(metadata.into(), options).map_err(parquet_error)
    });
    if let Ok(metadata) = with_index {
        file.metadata = metadata;
        file.page_index = Some(Arc::new(held));
    }
}

/// Returns the length of the page index of all chunks, several of which may refer to the same bytes.
fn index_bytes(file: &ParquetFile) -> u64 {
    let groups = file.metadata.metadata().row_groups().iter();
    let lengths = groups.flat_map(|group| group.columns()).flat_map(|chunk| {
        [chunk.offset_index_length(), chunk.column_index_length()].into_iter().flatten()
    });
    lengths.map(|length| u64::from(length.unsigned_abs())).fold(0, u64::saturating_add)
}

/// Rejects a page index that would never end.
fn check_encoding(file: &ParquetFile) -> Result<(), SelectError> {
    let source = ParquetSource::pages(&file.source);
    let read = |offset: Option<i64>, length: Option<i32>| {
        let (Some(offset), Some(length)) = (offset, length) else { return Ok(None) };
        let place = u64::try_from(offset).ok().zip(usize::try_from(length).ok());
        let (offset, length) =
            place.ok_or_else(|| parquet_error("its page index lies outside of it"))?;
        source.get_bytes(offset, length).map(Some).map_err(parquet_error)
    };
    let groups = file.metadata.metadata().row_groups();
    for chunk in groups.iter().flat_map(|group| group.columns()) {
        if let Some(index) = read(chunk.column_index_offset(), chunk.column_index_length())? {
            thrift::check_struct(&*index, headers::COLUMN_INDEX).map_err(parquet_error)?;
        }
        if let Some(index) = read(chunk.offset_index_offset(), chunk.offset_index_length())? {
            thrift::check_struct(&*index, headers::OFFSET_INDEX).map_err(parquet_error)?;
        }
    }
    Ok(())
}

/// Returns whether every page lies in its column chunk, and the pages of a chunk hold rows in order.
fn is_consistent(metadata: &ParquetMetaData) -> bool {
    let Some(offsets) = metadata.offset_index() else { return true };
    let groups = metadata.row_groups();
    offsets.len() == groups.len()
        && groups.iter().zip(offsets).all(|(group, offsets)| {
            offsets.len() == group.num_columns()
                && group.columns().iter().zip(offsets).all(|(chunk, index)| {
                    let (start, length) = chunk.byte_range();
                    let pages = index.page_locations();
                    let inside = pages.iter().all(|page| {
                        let end = page.offset.checked_add(i64::from(page.compressed_page_size));
                        page.compressed_page_size >= 0
                            && u64::try_from(page.offset).is_ok_and(|offset| offset >= start)
                            && end.is_some_and(|end| end.unsigned_abs() <= start + length)
                    });
                    let first = |page: &PageLocation| page.first_row_index;
                    inside
                        && pages.first().map_or(group.num_rows() == 0, |page| first(page) == 0)
                        && pages.windows(2).all(|pair| first(&pair[0]) < first(&pair[1]))
                        && pages.last().is_none_or(|page| first(page) < group.num_rows())
                })
        })
}

/// Returns the rows of `group` in whose pages all conditions may hold.
pub(super) fn rows(file: &ParquetFile, group: usize, conditions: &[Condition]) -> RowRanges {
    let metadata = file.metadata.metadata();
    let count = metadata.row_group(group).num_rows().unsigned_abs() as usize;
    let mut rows: RowRanges = iter::once(0..count).filter(|range| !range.is_empty()).collect();
    for condition in conditions {
        let Some(bounds) = Bounds::of_pages(file, condition, group) else { continue };
        let Some(pages) = locations(metadata, group, bounds.leaf) else { continue };
        let held = (0..pages.len())
            .filter(|page| bounds.may_hold(*page, condition))
            .map(|page| page_rows(pages, page, count));
        rows = intersect(&rows, held);
    }
    rows
}

fn locations(metadata: &ParquetMetaData, group: usize, leaf: usize) -> Option<&[PageLocation]> {
    let index = metadata.offset_index()?.get(group)?.get(leaf)?;
    Some(index.page_locations())
}

/// Returns the rows of a page, in a group of `count` rows.
fn page_rows(pages: &[PageLocation], page: usize, count: usize) -> Range<usize> {
    let first = |page: &PageLocation| page.first_row_index.unsigned_abs() as usize;
    first(&pages[page])..pages.get(page + 1).map_or(count, first)
}

/// Returns the rows after the first `first` ones.
pub(super) fn behind(rows: &RowRanges, mut first: usize) -> RowRanges {
    let mut rest = RowRanges::new();
    for range in rows {
        let passed = first.min(range.len());
        first -= passed;
        if passed < range.len() {
            rest.push(range.start + passed..range.end);
        }
    }
    rest
}

/// Returns the rows that are in both. Both ascend, and `others` do not overlap.
fn intersect(rows: &[Range<usize>], others: impl Iterator<Item = Range<usize>>) -> RowRanges {
    let mut both: RowRanges = Vec::new();
    let mut rows = rows;
    for other in others {
        while let [range, rest @ ..] = rows {
            let (start, end) = (range.start.max(other.start), range.end.min(other.end));
            match both.last_mut() {
                _ if start >= end => {}
                Some(last) if last.end == start => last.end = end,
                _ => both.push(start..end),
            }
            if range.end > other.end {
                break;
            }
            rows = rest;
        }
    }
    both
}

/// Returns the number of bytes of a column chunk that are read for the given rows: its dictionary and the pages with
/// any of the rows, or the whole chunk if its pages are unknown.
pub(super) fn bytes_read(
    metadata: &ParquetMetaData,
    group: usize,
    leaf: usize,
    rows: &RowRanges,
) -> u64 {
    let (start, length) = metadata.row_group(group).column(leaf).byte_range();
    let Some(pages) = locations(metadata, group, leaf) else { return length };
    let Some(first) = pages.first() else { return length };
    let count = metadata.row_group(group).num_rows().unsigned_abs() as usize;
    let mut rows = rows.iter().peekable();
    let wanted = (0..pages.len()).filter(|page| {
        let page = page_rows(pages, *page, count);
        while rows.next_if(|range| range.end <= page.start).is_some() {}
        rows.peek().is_some_and(|range| range.start < page.end)
    });
    let wanted = wanted.map(|page| pages[page].compressed_page_size.unsigned_abs());
    first.offset.unsigned_abs() - start + wanted.map(u64::from).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranges(ends: &[usize]) -> RowRanges {
        ends.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect()
    }

    proptest! {
        #[test]
        fn what_is_behind_the_first_rows_is_the_rest(
            ends in prop::collection::btree_set(0_usize..40, 0..12),
            first in 0_usize..45,
        ) {
            let rows = ranges(&Vec::from_iter(ends));
            let rest: Vec<usize> = behind(&rows, first).into_iter().flatten().collect();
            let expected: Vec<usize> = rows.into_iter().flatten().skip(first).collect();
            prop_assert_eq!(rest, expected);
        }

        #[test]
        fn an_intersection_has_what_both_have(
            a in prop::collection::btree_set(0_usize..40, 0..12),
            b in prop::collection::btree_set(0_usize..40, 0..12),
        ) {
            let (a, b) = (Vec::from_iter(a), Vec::from_iter(b));
            let (a, b) = (ranges(&a), ranges(&b));
            let both = intersect(&a, b.iter().cloned());
            let has = |ranges: &RowRanges, row| ranges.iter().any(|range| range.contains(&row));
            for row in 0..40 {
                prop_assert_eq!(has(&both, row), has(&a, row) && has(&b, row));
            }
        }
    }
}
