//! Reads the format of lz4-java's `LZ4BlockOutputStream`.
//!
//! Each block has a magic word, a token, its compressed and uncompressed size, and a checksum of its content. An
//! empty block ends a stream; another stream may follow.

use std::io::{self, BufRead};

use twox_hash::XxHash32;

use super::{MOST_BLOCK, Source, at_most, damage};

pub(super) const MAGIC: &[u8] = b"LZ4Block";

/// The upper half of a token: the way a block is stored.
const RAW: u8 = 0x10;
const LZ4: u8 = 0x20;
/// The lower half of a token gives the size of blocks: 2¹⁰ bytes, doubled for each step.
const SMALLEST_LOG: u8 = 10;

const SEED: u32 = 0x9747_B28C;
/// The library drops the highest bits of a checksum.
const CHECKSUM_BITS: u32 = 0x0FFF_FFFF;

pub(super) fn block<R: BufRead>(source: &mut Source<R>, block: &mut Vec<u8>) -> io::Result<()> {
    if source.array()? != *b"LZ4Block" {
        return Err(damage("does not begin as one"));
    }
    let [token] = source.array()?;
    let compressed = u32::from_le_bytes(source.array()?) as usize;
    let size = u32::from_le_bytes(source.array()?) as usize;
    let checksum = u32::from_le_bytes(source.array()?);
    let most = MOST_BLOCK.min(1 << (SMALLEST_LOG + (token & 0x0F)));
    if size > most {
        return Err(damage(format!("has {size} bytes, but is of a stream of blocks of {most}")));
    }
    if (size == 0) != (compressed == 0) {
        return Err(damage(format!("has {compressed} bytes compressed, and {size} not")));
    }
    if size == 0 {
        return if checksum == 0 { Ok(()) } else { Err(damage("is empty but has a checksum")) };
    }
    match token & 0xF0 {
        RAW if size == compressed => block.extend_from_slice(source.bytes(size)?),
        RAW => {
            return Err(damage(format!(
                "is not compressed, but has {compressed} for {size} bytes"
            )));
        }
        LZ4 => {
            block.resize(at_most(size)?, 0);
            let found = lz4_flex::block::decompress_into(source.bytes(compressed)?, block)
                .map_err(|error| damage(format!("cannot be decompressed: {error}")))?;
            if found != size {
                return Err(damage(format!("has {found} bytes, not the {size} that it names")));
            }
        }
        method => return Err(damage(format!("is of the unknown method {method:#x}"))),
    }
    let found = XxHash32::oneshot(SEED, block) & CHECKSUM_BITS;
    if found != checksum {
        return Err(damage(format!(
            "has the checksum {found:#x}, not the {checksum:#x} that it names"
        )));
    }
    Ok(())
}
