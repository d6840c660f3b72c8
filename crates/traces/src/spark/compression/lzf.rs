//! Reads the format of compress-lzf's `LZFOutputStream`.
//!
//! Each block has a magic word, a flag for compression, and its compressed and uncompressed size. There are no
//! checksums. The format is that of LibLZF, for which there is no maintained library: runs of bytes, and copies from
//! up to 8 KiB before.

use std::io::{self, BufRead};

use super::{Source, damage};

pub(super) const MAGIC: &[u8] = b"ZV";

const RAW: u8 = 0;
const COMPRESSED: u8 = 1;
/// A lower control byte is the length of a run, less one.
const FIRST_COPY: u8 = 32;
/// If the upper three bits of a control byte have this value, the length of a copy continues in the next byte.
const LONG: usize = 7;
/// The number to add to a stored length for the length of the copy.
const COPY_LESS: usize = 2;

pub(super) fn block<R: BufRead>(source: &mut Source<R>, block: &mut Vec<u8>) -> io::Result<()> {
    if source.array()? != *b"ZV" {
        return Err(damage("does not begin as one"));
    }
    let [kind] = source.array()?;
    let compressed = usize::from(u16::from_be_bytes(source.array()?));
    match kind {
        RAW => block.extend_from_slice(source.bytes(compressed)?),
        COMPRESSED => {
            let size = usize::from(u16::from_be_bytes(source.array()?));
            decompress(source.bytes(compressed)?, size, block)
                .ok_or_else(|| damage("cannot be decompressed"))?;
            if block.len() != size {
                let found = block.len();
                return Err(damage(format!("has {found} bytes, not the {size} that it names")));
            }
        }
        kind => return Err(damage(format!("is of the unknown kind {kind}"))),
    }
    Ok(())
}

/// Decompresses a block. Returns `None` if it ends too early, is larger than `size`, or copies from before its start.
fn decompress(compressed: &[u8], size: usize, block: &mut Vec<u8>) -> Option<()> {
    let mut rest = compressed;
    let mut next = |length: usize| rest.split_off(..length);
    while let Some(control) = next(1).and_then(|it| it.first().copied()) {
        if control < FIRST_COPY {
            block.extend_from_slice(next(usize::from(control) + 1)?);
        } else {
            let mut length = usize::from(control >> 5);
            if length == LONG {
                length += usize::from(*next(1)?.first()?);
            }
            let high = usize::from(control & 0x1F) << 8;
            let back = high + usize::from(*next(1)?.first()?) + 1;
            let from = block.len().checked_sub(back)?;
            // The source and the target of a copy may overlap, which repeats bytes.
            for at in from..from + length + COPY_LESS {
                block.push(*block.get(at)?);
            }
        }
        if block.len() > size {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(compressed: &[u8], size: usize, expected: Option<&[u8]>) {
        let mut block = Vec::new();
        let found = decompress(compressed, size, &mut block);
        assert_eq!(found.map(|()| block.as_slice()), expected);
    }

    #[test]
    fn runs_and_copies_are_read() {
        check(&[], 0, Some(b""));
        check(&[2, b'a', b'b', b'c'], 3, Some(b"abc"));
        // Copy five bytes from two before, and ten bytes (7 + 1 + 2) from one before.
        check(&[1, b'a', b'b', 0x60, 1], 7, Some(b"abababa"));
        check(&[0, b'a', 0xE0, 1, 0], 11, Some(b"aaaaaaaaaaa"));
        // These copy from before the start, are larger than declared, or end too early.
        check(&[0, b'a', 0x20, 1], 9, None);
        check(&[2, b'a', b'b', b'c'], 2, None);
        check(&[2, b'a', b'b'], 3, None);
        check(&[0, b'a', 0xE0, 1], 99, None);
        check(&[0, b'a', 0x20], 99, None);
    }
}
