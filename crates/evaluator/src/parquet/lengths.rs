//! Checks pages of delta-encoded text before the library decodes them.
//!
//! Such a page begins with the lengths of its texts and their number. The library allocates memory for that number of
//! texts, and a failed allocation aborts the process.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::vec;

use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::chunk_pages::ChunkPages;
use super::delta::DeltaList;
use super::load::Load;
use super::measure::Column;
use super::schema::ParquetFile;
use super::sizes;
use super::source::ParquetSource;
use crate::memory_budget::MemoryConsumer;
use crate::source::ObjectSource;

/// The most texts of a page. The library allocates 8 bytes for each of them at once; writers begin a new page every
/// few thousand texts.
const MAX_TEXTS: u64 = 1 << 20;

/// The selected row groups of an object.
pub(super) struct CheckedRowGroups {
    pub(super) object: Arc<dyn ObjectSource>,
    pub(super) metadata: Arc<ParquetMetaData>,
    pub(super) groups: Vec<usize>,
    pub(super) reader: MemoryConsumer,
    /// Columns whose first page was read.
    pub(super) begun: RefCell<BTreeMap<usize, OpenChunk>>,
    /// The load that pages are added to when they are read.
    pub(super) load: Option<Load>,
}

impl CheckedRowGroups {
    /// Selects one row group of an object.
    pub(super) fn of_file(file: &ParquetFile, group: usize) -> Self {
        Self {
            object: Arc::clone(&file.source),
            metadata: Arc::clone(file.metadata.metadata()),
            groups: vec![group],
            reader: file.reader.clone(),
            begun: RefCell::default(),
            load: None,
        }
    }

    /// Adds all pages read to `load`, to limit the memory of batches.
    pub(super) fn measured(self, load: &Load) -> Self {
        Self { load: Some(load.clone()), ..self }
    }

    /// Calls `look` with the first page of a column, and keeps that page until the column is read. Returns `None` if
    /// the page cannot be read.
    pub(super) fn first_page<T>(&self, column: usize, look: impl FnOnce(&Page) -> T) -> Option<T> {
        let mut pages = self.column_chunks(column).ok()?.next()?.ok()?;
        let first = pages.get_next_page().ok()??;
        let known = look(&first);
        self.begun.borrow_mut().insert(column, OpenChunk { first: Some(first), pages });
        Some(known)
    }
}

impl RowGroups for CheckedRowGroups {
    fn num_rows(&self) -> usize {
        self.row_groups().map(|group| group.num_rows().unsigned_abs() as usize).sum()
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        if let Some(pages) = self.begun.borrow_mut().remove(&column) {
            return Ok(Box::new(OneChunk(Some(Box::new(pages)))));
        }
        Ok(Box::new(Chunks {
            reader: self.reader.clone(),
            object: Arc::clone(&self.object),
            metadata: Arc::clone(&self.metadata),
            groups: self.groups.clone().into_iter(),
            column,
            load: self.load.clone(),
        }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.groups.iter().map(|group| self.metadata.row_group(*group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// A chunk whose first page was read.
pub(super) struct OpenChunk {
    first: Option<Page>,
    pages: Box<dyn PageReader>,
}

impl Iterator for OpenChunk {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for OpenChunk {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => self.pages.get_next_page(),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        match &self.first {
            Some(page) => Ok(Some(PageMetadata {
                num_rows: None,
                num_levels: Some(page.num_values() as usize),
                is_dict: matches!(page, Page::DictionaryPage { .. }),
            })),
            None => self.pages.peek_next_page(),
        }
    }

    fn skip_next_page(&mut self) -> Result<()> {
        match self.first.take() {
            Some(_) => Ok(()),
            None => self.pages.skip_next_page(),
        }
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

/// The only chunk of a column.
struct OneChunk(Option<Box<dyn PageReader>>);

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for OneChunk {}

/// The chunks of one column.
struct Chunks {
    reader: MemoryConsumer,
    object: Arc<dyn ObjectSource>,
    metadata: Arc<ParquetMetaData>,
    groups: vec::IntoIter<usize>,
    column: usize,
    load: Option<Load>,
}

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.groups.next()?;
        let group = self.metadata.row_group(number);
        let chunk = group.column(self.column);
        let index = self.metadata.offset_index();
        let located = index.and_then(|index| index.get(number)?.get(self.column));
        let located = located.map(|pages| pages.page_locations.clone());
        let levels = [chunk.column_descr().max_rep_level(), chunk.column_descr().max_def_level()];
        let source = match &located {
            Some(_) => ParquetSource::located_pages(&self.object),
            None => ParquetSource::pages(&self.object),
        };
        let left = sizes::page_bytes(chunk);
        let source = Arc::new(source.bounded(left, &self.reader));
        let is_peeked = false;
        let measured =
            self.load.clone().map(|load| (load, Column::new(self.column, chunk.column_descr())));
        let (place, metadata) = ((number, self.column), Arc::clone(&self.metadata));
        let pages = ChunkPages::new(Arc::clone(&source), metadata, place, located);
        Some(Ok(Box::new(CheckedPages { pages, source, is_peeked, levels, left, measured })))
    }
}

impl PageIterator for Chunks {}

/// The pages of a chunk, with the highest levels of repetition and definition of its values.
struct CheckedPages {
    pages: ChunkPages,
    source: Arc<ParquetSource>,
    /// True if the header of the next page was read.
    is_peeked: bool,
    levels: [i16; 2],
    /// The most bytes that the remaining pages may have, decompressed.
    left: u64,
    measured: Option<(Load, Column)>,
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.source.expect_data(std::mem::take(&mut self.is_peeked));
        let page = self.pages.get_next_page();
        self.source.expect_data(false);
        let page = page?;
        if let Some(page) = &page {
            check(page, self.levels)?;
            if matches!(page, Page::DictionaryPage { .. }) {
                self.source.keep_dictionary();
            }
            // The lengths of batches rely on the sizes in the footer.
            let left = self.left.checked_sub(page.buffer().len() as u64);
            self.left = left.ok_or_else(|| {
                ParquetError::General("a column chunk is longer than the footer says".to_owned())
            })?;
            if let Some((load, column)) = &mut self.measured {
                if column.is_int96() {
                    load.check_int96(page, self.levels)?;
                }
                if let Some(measure) = column.measure(page) {
                    load.add(column.leaf(), measure)?;
                }
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let next = self.pages.peek_next_page()?;
        self.is_peeked = next.is_some();
        Ok(next)
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.is_peeked = false;
        if let Some((_, column)) = &mut self.measured {
            column.skip();
        }
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        // The library also reads the next header here.
        self.peek_next_page()?;
        self.pages.at_record_boundary()
    }
}

/// Checks the number of texts in a page. The library detects all other errors before it allocates memory.
fn check(page: &Page, levels: [i16; 2]) -> Result<()> {
    let lists = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return Ok(()),
    };
    let Some(mut values) = values(page, levels) else { return Ok(()) };
    for _ in 0..lists {
        let Some(list) = DeltaList::read(&mut values) else { return Ok(()) };
        if list.count() > MAX_TEXTS.min(page.num_values().into()) {
            let message =
                format!("a page of {} values has {} texts", page.num_values(), list.count());
            return Err(ParquetError::General(message));
        }
        if list.pass(&mut values).is_none() {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns the bytes of a page after its levels.
pub(super) fn values(page: &Page, levels: [i16; 2]) -> Option<&[u8]> {
    match page {
        Page::DataPage { buf, def_level_encoding, rep_level_encoding, num_values, .. } => {
            let mut rest = &buf[..];
            for (level, encoding) in
                levels.into_iter().zip([rep_level_encoding, def_level_encoding])
            {
                let bytes = match encoding {
                    _ if level == 0 => 0,
                    Encoding::RLE => {
                        let (length, behind) = rest.split_first_chunk()?;
                        rest = behind;
                        usize::try_from(i32::from_le_bytes(*length)).ok()?
                    }
                    // The other encoding of levels, which is deprecated: bit-packed.
                    _ => {
                        let bits = u64::from(i16::BITS - level.leading_zeros());
                        (u64::from(*num_values) * bits).div_ceil(8) as usize
                    }
                };
                rest = rest.get(bytes..)?;
            }
            Some(rest)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            buf.get(rep_levels_byte_len.checked_add(*def_levels_byte_len)? as usize..)
        }
        Page::DictionaryPage { buf, .. } => Some(buf),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(encoding: Encoding, num_values: u32, bytes: Vec<u8>) -> Page {
        let rle = Encoding::RLE;
        Page::DataPage {
            buf: bytes.into(),
            num_values,
            encoding,
            def_level_encoding: rle,
            rep_level_encoding: rle,
            statistics: None,
        }
    }

    fn varint(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    /// Builds a list of `count` equal numbers, in blocks of 128 that store no bits.
    fn list(count: u64) -> Vec<u8> {
        let head = [varint(128), varint(4), varint(count), varint(2)].concat();
        let blocks = count.min(1000).saturating_sub(1).div_ceil(128) as usize;
        [head, [0; 5].repeat(blocks)].concat()
    }

    #[test]
    fn more_texts_than_values_are_refused() {
        let claim = 1 << 36;
        for (encoding, lists, fine) in [
            (Encoding::DELTA_LENGTH_BYTE_ARRAY, vec![list(7)], true),
            (Encoding::DELTA_LENGTH_BYTE_ARRAY, vec![list(claim)], false),
            (Encoding::DELTA_LENGTH_BYTE_ARRAY, vec![list(11)], false),
            (Encoding::DELTA_BYTE_ARRAY, vec![list(10), list(10)], true),
            (Encoding::DELTA_BYTE_ARRAY, vec![list(claim), list(10)], false),
            (Encoding::DELTA_BYTE_ARRAY, vec![list(10), list(claim)], false),
            (Encoding::PLAIN, vec![list(claim)], true),
        ] {
            let page = page(encoding, 10, lists.concat());
            assert_eq!(check(&page, [0, 0]).is_ok(), fine, "{encoding} {lists:?}");
        }
        // The limit holds however many values the page declares.
        let page = page(Encoding::DELTA_LENGTH_BYTE_ARRAY, u32::MAX, list(u32::MAX.into()));
        assert!(check(&page, [0, 0]).is_err());
    }

    #[test]
    fn levels_stand_before_the_texts() {
        let levels = [3_i32.to_le_bytes().as_slice(), &[1, 2, 3]].concat();
        let bytes = [levels.clone(), levels, list(1 << 36)].concat();
        let page = page(Encoding::DELTA_LENGTH_BYTE_ARRAY, 10, bytes);
        assert!(check(&page, [1, 3]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            heads in prop::collection::vec(0_u64..300, 0..5),
            levels in [0_i16..3, 0_i16..3],
        ) {
            let bytes = [heads.into_iter().flat_map(varint).collect(), bytes].concat();
            let _ = check(&page(Encoding::DELTA_BYTE_ARRAY, 100, bytes), levels);
        }
    }
}
