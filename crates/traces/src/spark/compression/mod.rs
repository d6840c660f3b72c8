//! Decompresses logs (`spark.eventLog.compress`, `spark.eventLog.compression.codec`).
//!
//! The first bytes of a file identify the codec. Zstandard has its own frames. The other codecs are streams of small
//! blocks in frames of Java libraries, each with a module.

mod lz4;
mod lzf;
mod snappy;

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// The largest block in bytes, compressed or not, which is the limit of LZ4's frame. Spark's blocks have 32 or 64 KiB
/// by default.
const MOST_BLOCK: usize = 32 << 20;
const ZSTD: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];
const GZIP: &[u8] = &[0x1F, 0x8B];

/// Returns a reader of a log's text.
///
/// # Errors
///
/// If the first bytes cannot be read, or are those of a compression that Spark does not use.
pub(super) fn text(mut reader: impl BufRead + 'static) -> io::Result<Box<dyn BufRead>> {
    let start = reader.fill_buf()?;
    if start.starts_with(ZSTD) {
        let decoder = zstd::Decoder::with_buffer(reader)?;
        return Ok(Box::new(BufReader::with_capacity(1 << 16, decoder)));
    }
    if start.starts_with(lz4::MAGIC) {
        return Ok(Box::new(Blocks::new(reader, lz4::block, "LZ4")));
    }
    if start.starts_with(snappy::MAGIC) {
        return Ok(Box::new(Blocks::new(reader, snappy::block, "Snappy")));
    }
    if start.starts_with(lzf::MAGIC) {
        return Ok(Box::new(Blocks::new(reader, lzf::block, "LZF")));
    }
    if start.starts_with(GZIP) {
        return Err(damage("is compressed with gzip, which Spark does not use: decompress it"));
    }
    Ok(Box::new(reader))
}

/// Reads the next block into an empty buffer, which stays empty for an empty block.
type ReadBlock<R> = fn(&mut Source<R>, &mut Vec<u8>) -> io::Result<()>;

/// Reads the content of a stream of blocks.
struct Blocks<R> {
    source: Source<R>,
    read: ReadBlock<R>,
    codec: &'static str,
    block: Vec<u8>,
    /// The number of bytes consumed from the block.
    taken: usize,
}

impl<R: BufRead> Blocks<R> {
    fn new(reader: R, read: ReadBlock<R>, codec: &'static str) -> Self {
        let source = Source { reader, offset: 0, bytes: Vec::new() };
        Self { source, read, codec, block: Vec::new(), taken: 0 }
    }
}

impl<R: BufRead> BufRead for Blocks<R> {
    /// Returns the rest of a block, or the next one.
    ///
    /// # Errors
    ///
    /// If the file ends in the middle of a block (`UnexpectedEof`) or one is damaged (`InvalidData`).
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.taken >= self.block.len() && !self.source.is_at_end()? {
            let start = self.source.offset;
            self.block.clear();
            self.taken = 0;
            (self.read)(&mut self.source, &mut self.block).map_err(|error| {
                // Nothing of a damaged block belongs to the text.
                self.block.clear();
                if error.kind() == ErrorKind::InvalidData {
                    return damage(format!(
                        "the {} block at byte {start} of the file {error}",
                        self.codec
                    ));
                }
                error
            })?;
        }
        Ok(self.block.get(self.taken..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.taken += amount;
    }
}

impl<R: BufRead> Read for Blocks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

/// A file, with the number of bytes read from it.
struct Source<R> {
    reader: R,
    offset: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Source<R> {
    fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.reader.fill_buf()?.is_empty())
    }

    /// Reads a fixed number of bytes, as in a header.
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes)?;
        self.offset += N as u64;
        Ok(bytes)
    }

    /// Reads a number of bytes that a header declares. Memory is only allocated for bytes that exist.
    fn bytes(&mut self, length: usize) -> io::Result<&[u8]> {
        self.bytes.clear();
        let length = at_most(length)? as u64;
        let read = self.reader.by_ref().take(length).read_to_end(&mut self.bytes)? as u64;
        self.offset += read;
        if read < length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(&self.bytes)
    }
}

/// Checks the size of a block.
fn at_most(length: usize) -> io::Result<usize> {
    if length > MOST_BLOCK {
        return Err(damage(format!("has {length} bytes, but at most {MOST_BLOCK} can be")));
    }
    Ok(length)
}

/// Returns an error about the content of a file.
fn damage(message: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message.into())
}

#[cfg(test)]
mod tests;
