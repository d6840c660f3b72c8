//! Provides an object to the Parquet library.

use std::io::{BufReader, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use sluicegate_s3select::error::DAMAGED_PAGE;

use super::thrift::PageHeader;
use super::{headers, thrift};
use crate::memory_budget::{MemoryConsumer, NO_ROOM, Reservation};
use crate::source::{ObjectSource, SourceReader};

/// The number of bytes read at a time where the library reads headers of unknown length.
const BUFFER_BYTES: usize = 8 * 1024;
/// The longest footer in bytes, which describes about 160,000 columns.
const MAX_FOOTER_BYTES: usize = 32 << 20;

/// An object whose headers are checked before the library reads them.
pub(super) struct ParquetSource {
    object: Arc<dyn ObjectSource>,
    part: ReadTarget,
    /// True if the library has read the next page's header already, and continues after it.
    knows_header: AtomicBool,
    /// The offset behind the page whose header was read last.
    page_end: AtomicU64,
    /// The position and the checksum of the page whose header was read last, if it has a checksum.
    checksum: Mutex<Option<Checksum>>,
    /// The most bytes of a page, decompressed.
    page_bytes: u64,
    /// Reserves the memory of the page that is read; `memory_budget` is the reservation.
    reader: Option<MemoryConsumer>,
    held: Mutex<Option<Reservation>>,
    /// The reservation for the dictionary, which is used with all later pages.
    dictionary: Mutex<Option<Reservation>>,
}

/// The checksum of a page, from its header.
#[derive(Debug, Clone, Copy)]
struct Checksum {
    /// The offset of the page after its header.
    start: u64,
    crc: u32,
}

impl Checksum {
    /// Fails if the page differs from the one that was written.
    fn check(self, page: &[u8]) -> Result<()> {
        if crc32fast::hash(page) == self.crc {
            return Ok(());
        }
        let message = format!("the page at byte {} {DAMAGED_PAGE}", self.start);
        Err(ParquetError::General(message))
    }
}

/// The part of the object that the library is about to read.
enum ReadTarget {
    /// The length of the footer, then the footer.
    Footer,
    /// A page's header, then the page.
    Pages,
    /// A page's header and the page in one read, at the position in the page index.
    LocatedPages,
}

impl ParquetSource {
    pub(super) fn footer(object: &Arc<dyn ObjectSource>) -> Self {
        Self::for_part(object, ReadTarget::Footer)
    }

    pub(super) fn pages(object: &Arc<dyn ObjectSource>) -> Self {
        Self::for_part(object, ReadTarget::Pages)
    }

    pub(super) fn located_pages(object: &Arc<dyn ObjectSource>) -> Self {
        Self::for_part(object, ReadTarget::LocatedPages)
    }

    fn for_part(object: &Arc<dyn ObjectSource>, part: ReadTarget) -> Self {
        Self {
            object: Arc::clone(object),
            part,
            knows_header: AtomicBool::new(false),
            page_end: AtomicU64::new(0),
            checksum: Mutex::new(None),
            page_bytes: u64::MAX,
            reader: None,
            held: Mutex::new(None),
            dictionary: Mutex::new(None),
        }
    }

    /// Limits the size of pages, and reserves the memory of one page after the other with `reader`.
    pub(super) fn bounded(self, page_bytes: u64, reader: &MemoryConsumer) -> Self {
        Self { page_bytes, reader: Some(reader.clone()), ..self }
    }

    /// Reserves memory for a page instead of the previous one. Its header begins at `start`. Returns the checksum of
    /// the page.
    fn begin_page(&self, start: u64, header: PageHeader) -> Result<Option<Checksum>> {
        let bytes = header.uncompressed;
        if self.reader.is_some() && bytes > self.page_bytes {
            let message = format!("a page of {bytes} bytes is longer than its column chunk");
            return Err(ParquetError::General(message));
        }
        self.reserve(|reader| reader.reserve(bytes))?;
        let start = start.saturating_add(header.length);
        self.page_end.store(start.saturating_add(header.compressed), Ordering::Relaxed);
        Ok(header.crc.map(|crc| Checksum { start, crc }))
    }

    /// Replaces the current reservation.
    fn reserve(&self, hold: impl FnOnce(&MemoryConsumer) -> Option<Reservation>) -> Result<()> {
        let Some(reader) = &self.reader else { return Ok(()) };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = None;
        *held = hold(reader);
        match *held {
            Some(_) => Ok(()),
            None => Err(ParquetError::General(NO_ROOM.to_owned())),
        }
    }

    /// Keeps the reservation of the page that was read, which is the dictionary.
    pub(super) fn keep_dictionary(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        *self.dictionary.lock().unwrap_or_else(PoisonError::into_inner) = held;
    }

    /// Returns the reservation for the part that was read.
    pub(super) fn into_reservation(self) -> Option<Reservation> {
        self.held.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the offset behind the page whose header was read last.
    pub(super) fn page_end(&self) -> u64 {
        self.page_end.load(Ordering::Relaxed)
    }

    /// Sets whether the next read of the library begins after a header.
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
        if matches!(self.part, ReadTarget::Pages) && is_header {
            let header = thrift::check_struct(self.reader(start), headers::PAGE)?;
            let checksum = self.begin_page(start, header)?;
            *self.checksum.lock().unwrap_or_else(PoisonError::into_inner) = checksum;
        }
        Ok(self.reader(start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // Check before allocating memory, as the length may come from a malicious file.
        if start.checked_add(length as u64).is_none_or(|end| end > self.object.len()) {
            return Err(ParquetError::EOF("bytes behind the end of the object".to_owned()));
        }
        if matches!(self.part, ReadTarget::Footer) && length > MAX_FOOTER_BYTES {
            return Err(ParquetError::General(format!(
                "its footer has {length} bytes, and at most {MAX_FOOTER_BYTES} are read"
            )));
        }
        let mut bytes = vec![0; length];
        SourceReader::new(Arc::clone(&self.object), start).read_exact(&mut bytes)?;
        match self.part {
            ReadTarget::Footer => {
                let room = thrift::check_footer(&bytes, headers::FOOTER)?;
                self.reserve(|reader| reader.reserve_throughout(room))?;
            }
            ReadTarget::LocatedPages => {
                let header = thrift::check_struct(bytes.as_slice(), headers::PAGE)?;
                let checksum = self.begin_page(start, header)?;
                let end = header.length.saturating_add(header.compressed);
                // The library rejects a page that is cut short.
                let page =
                    bytes.get(header.length as usize..usize::try_from(end).unwrap_or(usize::MAX));
                if let (Some(checksum), Some(page)) = (checksum, page) {
                    checksum.check(page)?;
                }
            }
            ReadTarget::Pages => {
                let checksum = *self.checksum.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(checksum) = checksum.filter(|checksum| checksum.start == start) {
                    checksum.check(&bytes)?;
                }
            }
        }
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::super::schema::ParquetFile;
    use super::*;
    use crate::tests::{request, run};
    use sluicegate_s3select::request::InputFormat;

    /// Columns `n` and `s` with six rows in two pages each, written by pyarrow 26 with checksums. One object has
    /// pages of the first version without compression, the other compressed pages of the second version.
    const OBJECTS: [&[u8]; 2] =
        [include_bytes!("checksums_v1.parquet"), include_bytes!("checksums_v2.parquet")];

    fn rows(object: &[u8]) -> Option<String> {
        let mut all = request("SELECT * FROM S3Object s WHERE s.n IS NULL OR s.n < 100");
        all.input.format = InputFormat::Parquet;
        let (answer, _) = run(&all, object.to_vec()).ok()?;
        Some(String::from_utf8(answer).unwrap())
    }

    /// Returns the positions of the pages of an object, after their headers.
    fn pages(object: &[u8]) -> Vec<Range<usize>> {
        let source: Arc<dyn ObjectSource> = Arc::new(object.to_vec());
        let file = ParquetFile::open(&source).unwrap();
        let mut pages = Vec::new();
        for chunk in file.metadata.metadata().row_group(0).columns() {
            let (start, length) = chunk.byte_range();
            let (mut at, end) = (start as usize, (start + length) as usize);
            while at < end {
                let header = thrift::check_struct(&object[at..], headers::PAGE).unwrap();
                assert!(header.crc.is_some());
                let page = at + header.length as usize;
                at = page + header.compressed as usize;
                pages.push(page..at);
            }
        }
        pages
    }

    #[test]
    fn a_flipped_bit_in_a_page_is_noticed() {
        let expected = "1,ab\n2,c\n,\n4,ab\n5,c\n6,ab\n";
        for object in OBJECTS {
            assert_eq!(rows(object).unwrap(), expected);
            let bytes: Vec<usize> = pages(object).into_iter().flatten().collect();
            assert!(bytes.len() > 60, "{}", bytes.len());
            for at in bytes {
                for bit in 0..8 {
                    let mut damaged = object.to_vec();
                    damaged[at] ^= 1 << bit;
                    assert_eq!(rows(&damaged), None, "bit {bit} of byte {at}");
                }
            }
        }
    }

    #[test]
    fn a_page_that_was_looked_at_first_is_checked_too() {
        for (object, is_damaged) in [(OBJECTS[0], false), (OBJECTS[0], true)] {
            let mut object = object.to_vec();
            let page = pages(&object)[0].clone();
            let headers_start = 4;
            object[page.start] ^= u8::from(is_damaged);
            let source: Arc<dyn ObjectSource> = Arc::new(object);
            let source = ParquetSource::pages(&source);
            drop(source.get_read(headers_start).unwrap());
            source.expect_data(true);
            drop(source.get_read(page.start as u64).unwrap());
            let read = source.get_bytes(page.start as u64, page.len());
            assert_eq!(read.is_err(), is_damaged);
        }
    }
}
