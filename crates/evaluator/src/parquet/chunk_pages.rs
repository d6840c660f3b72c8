//! Reads the pages of one column chunk.
//!
//! The library's reader owns a decompressor, which takes up to 100 KiB. A row group may have tens of thousands of
//! columns, which are all open at the same time. The reader of a compressed chunk is therefore dropped after each
//! page, and another one continues behind that page.

use std::collections::VecDeque;
use std::sync::Arc;

use parquet::basic::CompressionCodec;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::serialized_reader::SerializedPageReader;

use super::source::ParquetSource;

/// The pages of a column chunk that are still to be read.
pub(super) struct ChunkPages {
    source: Arc<ParquetSource>,
    metadata: Arc<ParquetMetaData>,
    group: usize,
    column: usize,
    rest: Rest,
    /// The library's reader, if the next page is known to it or needs none of its own.
    open: Option<SerializedPageReader<ParquetSource>>,
}

/// The pages behind those that were read.
enum Rest {
    /// All pages.
    All(Option<Vec<PageLocation>>),
    /// The pages from this offset on.
    From(u64),
    /// The pages at these positions, all of them data pages.
    Located(VecDeque<PageLocation>),
}

impl ChunkPages {
    /// Opens a column of a row group. `located` are its data pages, if the object has a page index.
    pub(super) fn new(
        source: Arc<ParquetSource>,
        metadata: Arc<ParquetMetaData>,
        (group, column): (usize, usize),
        located: Option<Vec<PageLocation>>,
    ) -> Self {
        Self { source, metadata, group, column, rest: Rest::All(located), open: None }
    }

    fn chunk(&self) -> &ColumnChunkMetaData {
        self.metadata.row_group(self.group).column(self.column)
    }

    /// Returns the library's reader of the rest.
    fn reader(&mut self) -> Result<&mut SerializedPageReader<ParquetSource>> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.open()?,
        };
        Ok(self.open.insert(open))
    }

    fn open(&self) -> Result<SerializedPageReader<ParquetSource>> {
        let (source, chunk) = (Arc::clone(&self.source), self.chunk());
        let rows = self.metadata.row_group(self.group).num_rows().unsigned_abs() as usize;
        let (start, length) = chunk.byte_range();
        let (at, located) = match &self.rest {
            Rest::All(located) => {
                return SerializedPageReader::new(source, chunk, rows, located.clone());
            }
            Rest::From(at) => (*at, None),
            Rest::Located(pages) => {
                let first = pages.front().map_or(start, |page| page.offset.unsigned_abs());
                (first, Some(pages.iter().cloned().collect()))
            }
        };
        let left = start.saturating_add(length).saturating_sub(at);
        let rest = ColumnChunkMetaData::builder(chunk.column_descr_ptr())
            .set_compression_codec(chunk.compression_codec())
            .set_data_page_offset(i64::try_from(at)?)
            .set_total_compressed_size(i64::try_from(left)?)
            .build()?;
        SerializedPageReader::new(source, &rest, rows, located)
    }

    /// Drops the reader of a compressed chunk after a page was read or skipped.
    fn pass(&mut self) {
        if self.chunk().compression_codec() == CompressionCodec::UNCOMPRESSED {
            return;
        }
        let start = self.chunk().byte_range().0;
        match &mut self.rest {
            Rest::All(Some(located)) => {
                let mut pages = VecDeque::from(std::mem::take(located));
                // The library takes the bytes before the first data page for a dictionary.
                let has_dictionary =
                    pages.front().is_some_and(|first| first.offset.unsigned_abs() != start);
                if !has_dictionary {
                    pages.pop_front();
                }
                self.rest = Rest::Located(pages);
            }
            Rest::Located(pages) => {
                pages.pop_front();
            }
            Rest::All(None) | Rest::From(_) => self.rest = Rest::From(self.source.page_end()),
        }
        self.open = None;
    }
}

impl Iterator for ChunkPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for ChunkPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.reader()?.get_next_page()?;
        if page.is_some() {
            self.pass();
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.reader()?.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        if self.peek_next_page()?.is_some() {
            self.reader()?.skip_next_page()?;
            self.pass();
        }
        Ok(())
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.reader()?.at_record_boundary()
    }
}
