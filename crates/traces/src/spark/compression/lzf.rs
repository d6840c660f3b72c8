//! `LZFOutputStream` of compress-lzf: for each block a magic word, whether it is compressed, and its size
//! compressed and not. There are no checksums.
//!
//! The format is that of LibLZF, for which there is no library that is still kept: runs of bytes, and
//! copies of what is up to 8 KiB before them.

use std::io::{self, BufRead};

use super::{Source, damage};

pub(super) const MAGIC: &[u8] = b"ZV";

const RAW: u8 = 0;
const COMPRESSED: u8 = 1;
/// Below this, a control byte is the length of a run, less one.
const FIRST_COPY: u8 = 32;
/// In the upper three bits of a control byte: the length of a copy goes on in the next byte.
const LONG: usize = 7;
/// The shortest copy that is written; its length is written less this, and one.
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

/// Decompresses a block; none if it ends in the midst of something, is larger than it says, or copies from
/// before its beginning.
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
            // What is copied may be what it copies to: it is repeated.
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
        // Five bytes from two before; seven and two and one, from one before.
        check(&[1, b'a', b'b', 0x60, 1], 7, Some(b"abababa"));
        check(&[0, b'a', 0xE0, 1, 0], 11, Some(b"aaaaaaaaaaa"));
        // From before its beginning, larger than it says, ends too early.
        check(&[0, b'a', 0x20, 1], 9, None);
        check(&[2, b'a', b'b', b'c'], 2, None);
        check(&[2, b'a', b'b'], 3, None);
        check(&[0, b'a', 0xE0, 1], 99, None);
        check(&[0, b'a', 0x20], 99, None);
    }
}
