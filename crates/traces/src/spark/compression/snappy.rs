//! Reads the format of snappy-java's `SnappyOutputStream`.
//!
//! A stream has a header, and each block has its compressed size. The blocks contain their uncompressed size; there
//! are no checksums. Streams may follow one another, each with its header.

use std::io::{self, BufRead};

use super::{Source, at_most, damage};

pub(super) const MAGIC: &[u8] = &[0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
/// The only version so far, of the format and of its compatible readers.
const VERSION: u32 = 1;

pub(super) fn block<R: BufRead>(source: &mut Source<R>, block: &mut Vec<u8>) -> io::Result<()> {
    let size: [u8; 4] = source.array()?;
    if MAGIC.starts_with(&size) {
        return header(source);
    }
    let compressed = source.bytes(u32::from_be_bytes(size) as usize)?;
    let failed = |error| damage(format!("cannot be decompressed: {error}"));
    let size = snap::raw::decompress_len(compressed).map_err(failed)?;
    block.resize(at_most(size)?, 0);
    snap::raw::Decoder::new().decompress(compressed, block).map_err(failed)?;
    Ok(())
}

/// Reads the rest of a header.
fn header<R: BufRead>(source: &mut Source<R>) -> io::Result<()> {
    let rest: [u8; 4] = source.array()?;
    if !MAGIC.ends_with(&rest) {
        return Err(damage("does not begin as one"));
    }
    let _written_by = u32::from_be_bytes(source.array()?);
    let version = u32::from_be_bytes(source.array()?);
    if version != VERSION {
        return Err(damage(format!("is of version {version}, but {VERSION} is known")));
    }
    Ok(())
}
