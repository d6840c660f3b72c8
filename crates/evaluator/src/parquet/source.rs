//! An object as the Parquet library reads one.

use std::io::{BufReader, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use super::{headers, thrift};
use crate::held::{Held, NO_ROOM, Reader};
use crate::source::{ObjectSource, SourceReader};

/// Bytes read at a time where the library reads headers of unknown length.
const BUFFER_BYTES: usize = 8 * 1024;

/// An object. The headers that the library reads are checked first.
pub(super) struct ParquetSource {
    object: Arc<dyn ObjectSource>,
    part: Part,
    /// Whether the library has read the next page's header before, and goes on behind it.
    knows_header: AtomicBool,
    /// The most bytes of a page, decompressed.
    page_bytes: u64,
    /// Who holds the page that is read, and its room.
    reader: Option<Reader>,
    held: Mutex<Option<Held>>,
    /// The room of the dictionary, which is used with all pages behind it.
    dictionary: Mutex<Option<Held>>,
}

/// What the library is about to read.
enum Part {
    /// The length of the footer, then the footer.
    Footer,
    /// A page's header, then the page.
    Pages,
    /// Both at once, where the page index says they are.
    LocatedPages,
}

impl ParquetSource {
    pub(super) fn footer(object: &Arc<dyn ObjectSource>) -> Self {
        Self::of(object, Part::Footer)
    }

    pub(super) fn pages(object: &Arc<dyn ObjectSource>) -> Self {
        Self::of(object, Part::Pages)
    }

    pub(super) fn located_pages(object: &Arc<dyn ObjectSource>) -> Self {
        Self::of(object, Part::LocatedPages)
    }

    fn of(object: &Arc<dyn ObjectSource>, part: Part) -> Self {
        Self {
            object: Arc::clone(object),
            part,
            knows_header: AtomicBool::new(false),
            page_bytes: u64::MAX,
            reader: None,
            held: Mutex::new(None),
            dictionary: Mutex::new(None),
        }
    }

    /// With pages of so many bytes at most, which this reader holds one after the other.
    pub(super) fn bounded(self, page_bytes: u64, reader: &Reader) -> Self {
        Self { page_bytes, reader: Some(reader.clone()), ..self }
    }

    /// Makes room for a page of so many bytes instead of the one before it.
    fn begin_page(&self, bytes: u64) -> Result<()> {
        let Some(reader) = &self.reader else { return Ok(()) };
        if bytes > self.page_bytes {
            let message = format!("a page of {bytes} bytes is longer than its column chunk");
            return Err(ParquetError::General(message));
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = None;
        *held = reader.hold(bytes);
        match *held {
            Some(_) => Ok(()),
            None => Err(ParquetError::General(NO_ROOM.to_owned())),
        }
    }

    /// Keeps the room of the page that was read, which is the dictionary.
    pub(super) fn keep_dictionary(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        *self.dictionary.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }

    /// Whether what the library reads next begins behind a header.
    pub(super) fn expect_data(&self, does: bool) {
        self.knows_header.store(does, Ordering::Relaxed);
    }

    fn reader(&self, start: u64) -> BufReader<SourceReader> {
        let reader = SourceReader::new(Arc::clone(&self.object), start);
        BufReader::with_capacity(BUFFER_BYTES, reader)
    }
}

impl Length for ParquetSource {
    fn len(&self) -> u64 {
        self.object.len()
    }
}

impl ChunkReader for ParquetSource {
    type T = BufReader<SourceReader>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let is_header = !self.knows_header.swap(false, Ordering::Relaxed);
        if matches!(self.part, Part::Pages) && is_header {
            self.begin_page(thrift::check_struct(self.reader(start), headers::PAGE)?)?;
        }
        Ok(self.reader(start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // Checked before the memory is taken: the length may be a hostile file's.
        if start.checked_add(length as u64).is_none_or(|end| end > self.object.len()) {
            return Err(ParquetError::EOF("bytes behind the end of the object".to_owned()));
        }
        let mut bytes = vec![0; length];
        SourceReader::new(Arc::clone(&self.object), start).read_exact(&mut bytes)?;
        match self.part {
            Part::Footer => drop(thrift::check_struct(bytes.as_slice(), headers::FOOTER)?),
            Part::LocatedPages => {
                self.begin_page(thrift::check_struct(bytes.as_slice(), headers::PAGE)?)?;
            }
            Part::Pages => {}
        }
        Ok(bytes.into())
    }
}
