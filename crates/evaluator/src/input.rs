//! Reads the bytes of an object in order and decompresses them.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;

use super::members::Members;
use super::readahead::Readahead;
use super::source::{ObjectSource, SourceReader};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::Compression;

/// The bytes that may precede the first record of a text and belong to it.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The number of compressed bytes read at a time.
const COMPRESSED_BUFFER_BYTES: usize = 128 * 1024;

/// A sequential reader that decompresses. Its memory is bounded, whatever sizes the object declares.
pub(crate) enum Input {
    /// Uncompressed bytes.
    Plain(SourceReader),
    /// Members of RFC 1952, one after the other, each possibly padded with zeros.
    Gzip(Box<Members<GzDecoder<BufReader<SourceReader>>>>),
    /// Streams of bzip2, one after the other, each possibly padded with zeros.
    Bzip2(Box<Members<BzDecoder<BufReader<SourceReader>>>>),
    /// A compressed input that another thread reads.
    Ahead(Readahead),
}

impl Input {
    /// Reads `source` from `offset`, which must be 0 for a compressed object.
    pub(crate) fn new(
        source: Arc<dyn ObjectSource>,
        offset: u64,
        compression: Compression,
    ) -> Self {
        let empty = source.is_empty();
        let reader = SourceReader::new(source, offset);
        let buffered = |reader| BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, reader);
        match compression {
            // An empty object has no rows, whatever its compression.
            _ if empty => Self::Plain(reader),
            Compression::None => Self::Plain(reader),
            Compression::Gzip => Self::Gzip(Box::new(Members::new(buffered(reader)))),
            Compression::Bzip2 => Self::Bzip2(Box::new(Members::new(buffered(reader)))),
        }
    }

    /// Decompresses the rest of the object on another thread. Does nothing if no thread can be started.
    pub(crate) fn read_ahead(&mut self) {
        if let Self::Gzip(_) | Self::Bzip2(_) = self
            && let Some((ahead, hand)) = Readahead::start(self.bytes_scanned())
        {
            let input = std::mem::replace(self, Self::Ahead(ahead));
            // If the thread has ended, reading fails.
            let _ = hand.send(input);
        }
    }

    /// Fills `buf`, unless the object ends before. Returns the number of bytes written.
    pub(crate) fn fill(&mut self, mut buf: &mut [u8]) -> Result<usize, SelectError> {
        if let Self::Ahead(ahead) = self {
            return ahead.fill(buf);
        }
        let mut filled = 0;
        while !buf.is_empty() {
            let read = match self {
                Self::Plain(reader) => reader.read(buf),
                Self::Gzip(reader) => reader.read(buf),
                Self::Bzip2(reader) => reader.read(buf),
                Self::Ahead(_) => break,
            };
            match read {
                Ok(0) => break,
                Ok(n) => {
                    filled += n;
                    buf = &mut buf[n..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.explain(&error)),
            }
        }
        Ok(filled)
    }

    fn explain(&self, error: &io::Error) -> SelectError {
        let format = match self {
            Self::Plain(_) | Self::Ahead(_) => {
                return SelectError::new(
                    SelectErrorCode::InternalError,
                    format!("The object could not be read: {error}."),
                );
            }
            Self::Gzip(_) => "GZIP",
            Self::Bzip2(_) => "BZIP2",
        };
        match error.kind() {
            io::ErrorKind::UnexpectedEof => SelectError::new(
                SelectErrorCode::TruncatedInput,
                format!("The object ends in the middle of its {format} stream."),
            ),
            _ => SelectError::new(
                SelectErrorCode::InvalidCompressionFormat,
                format!("The object is not in {format} format: {error}."),
            ),
        }
    }

    /// Returns the number of bytes read from the object, before decompression.
    pub(crate) fn bytes_scanned(&self) -> u64 {
        match self {
            Self::Plain(reader) => reader.bytes_read,
            Self::Gzip(members) => members.source().map_or(0, |source| source.get_ref().bytes_read),
            Self::Bzip2(members) => {
                members.source().map_or(0, |source| source.get_ref().bytes_read)
            }
            Self::Ahead(ahead) => ahead.bytes_scanned(),
        }
    }

    /// Returns whether offsets in the bytes read are offsets in the object.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain(_))
    }
}
