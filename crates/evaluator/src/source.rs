//! The interface to the bytes of an object.

use std::io::{self, Read};
use std::sync::Arc;

/// Random access to an object's bytes, called from a blocking thread.
///
/// The bytes must not change while an evaluation runs: a server opens the object once and reads from that snapshot.
pub trait ObjectSource: Send + Sync {
    /// Returns the object's size in bytes.
    fn len(&self) -> u64;

    /// Returns whether the object is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads up to `buf.len()` bytes from `offset`. Returns 0 only at or past the end.
    ///
    /// # Errors
    /// Those of the underlying storage.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
}

impl ObjectSource for Vec<u8> {
    fn len(&self) -> u64 {
        Self::len(self) as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, buf)
    }
}

impl ObjectSource for bytes::Bytes {
    fn len(&self) -> u64 {
        Self::len(self) as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.as_ref().read_at(offset, buf)
    }
}

impl ObjectSource for [u8] {
    fn len(&self) -> u64 {
        Self::len(self) as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

/// Reads a source sequentially from an offset and counts the bytes.
pub(crate) struct SourceReader {
    source: Arc<dyn ObjectSource>,
    offset: u64,
    /// The number of bytes read so far.
    pub(crate) bytes_read: u64,
}

impl SourceReader {
    pub(crate) fn new(source: Arc<dyn ObjectSource>, offset: u64) -> Self {
        Self { source, offset, bytes_read: 0 }
    }
}

impl Read for SourceReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read_at(self.offset, buf)?;
        self.offset += n as u64;
        self.bytes_read += n as u64;
        Ok(n)
    }
}
