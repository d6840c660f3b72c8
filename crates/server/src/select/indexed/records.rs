//! Some lines of an object in the place of the whole object.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use sluicegate_evaluator::ObjectSource;

/// Ranges of whole lines of an object, one after the other. Reading a range that does not consist of whole lines
/// fails, because the index that led to it is wrong.
pub(super) struct Records {
    object: Arc<dyn ObjectSource>,
    ranges: Vec<Range<u64>>,
    /// True if lines end with two bytes, the second of which may belong to the next line.
    returns: bool,
    /// The number of bytes before each range.
    before: Vec<u64>,
    bytes: u64,
}

impl Records {
    /// Creates a source from ranges, which must lie in the object.
    pub(super) fn new(
        object: Arc<dyn ObjectSource>,
        ranges: Vec<Range<u64>>,
        returns: bool,
    ) -> Self {
        let mut bytes = 0;
        let before = ranges.iter().map(|range| {
            let before = bytes;
            bytes += range.end - range.start;
            before
        });
        let before = before.collect();
        Self { object, ranges, returns, before, bytes }
    }

    /// Fails unless the offset is the start or end of a line or of the object.
    fn check_end_of_line(&self, offset: u64) -> io::Result<()> {
        if offset == 0 || offset >= self.object.len() {
            return Ok(());
        }
        let mut last = [0];
        let is_end = self.object.read_at(offset - 1, &mut last)? == 1
            && (last[0] == b'\n' || (self.returns && last[0] == b'\r'));
        if is_end { Ok(()) } else { Err(io::Error::other("an index leads into a record")) }
    }
}

impl ObjectSource for Records {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        let mut number = self.before.partition_point(|before| *before <= offset);
        // The offset lies in the last range that begins at it or before it.
        number = number.saturating_sub(1);
        let mut skipped = offset - self.before.get(number).copied().unwrap_or(0);
        while let Some(range) = self.ranges.get(number) {
            let start = range.start.saturating_add(skipped);
            let left = range.end.saturating_sub(start);
            if left == 0 {
                (number, skipped) = (number + 1, 0);
                continue;
            }
            let room = buf.len() - read;
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(room);
            if wanted == 0 {
                break;
            }
            if skipped == 0 {
                self.check_end_of_line(range.start)?;
                self.check_end_of_line(range.end)?;
            }
            let got = self.object.read_at(start, &mut buf[read..read + wanted])?;
            if got == 0 {
                // The object has become shorter.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            read += got;
            skipped += got as u64;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_of_the_ranges_is_read() {
        let bytes: Vec<u8> = (0..100).map(|at| if at % 10 == 9 { b'\n' } else { at }).collect();
        let object: Arc<dyn ObjectSource> = Arc::new(bytes.clone());
        let check = |ranges: &[Range<u64>]| {
            let records = Records::new(Arc::clone(&object), ranges.to_vec(), false);
            let each = ranges.iter().map(|it| &bytes[it.start as usize..it.end as usize]);
            let all = each.collect::<Vec<_>>().concat();
            assert_eq!(records.len(), all.len() as u64);
            for offset in 0..all.len() + 2 {
                for length in [0, 1, 2, 7, 200] {
                    let mut buf = vec![0; length];
                    let read = records.read_at(offset as u64, &mut buf).unwrap();
                    let rest = &all[offset.min(all.len())..];
                    assert_eq!(&buf[..read], &rest[..rest.len().min(length)], "{ranges:?}");
                }
            }
        };
        check(&[]);
        check(&[10..30, 40..40]);
        check(&[0..10, 10..10, 20..30, 40..60, 60..60, 90..100]);
        check(&[0..0, 70..80]);
        let beyond = Records::new(Arc::clone(&object), vec![90..100, 100..110], false);
        assert!(beyond.read_at(0, &mut [0; 20]).is_err());
    }

    #[test]
    fn a_range_that_is_not_of_whole_lines_is_not_read() {
        let read = |object: &[u8], range: Range<u64>, returns| {
            let bytes = (range.end - range.start) as usize;
            let object: Arc<dyn ObjectSource> = Arc::new(object.to_vec());
            let mut buf = vec![0; bytes];
            Records::new(object, vec![range], returns).read_at(0, &mut buf).is_ok()
        };
        let lines = b"ab\ncd\nef";
        for whole in [0..3, 0..6, 3..6, 3..8, 6..8, 0..8] {
            assert!(read(lines, whole.clone(), false), "{whole:?}");
        }
        for part in [0..2, 1..3, 2..6, 3..5, 4..6, 5..8, 3..7] {
            assert!(!read(lines, part.clone(), false), "{part:?}");
        }
        // If lines end with two bytes, an entry begins with the last byte of the previous line.
        let lines = b"a\r\nb\r\nc";
        assert!(read(lines, 2..5, true) && read(lines, 3..6, true));
        assert!(!read(lines, 2..5, false) && !read(lines, 1..5, true) && !read(lines, 2..4, true));
    }
}
