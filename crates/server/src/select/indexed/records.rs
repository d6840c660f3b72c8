//! Some ranges of an object as if they were all of it.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use sluicegate_evaluator::ObjectSource;

/// The ranges of an object, one after the other.
pub(super) struct Records {
    object: Arc<dyn ObjectSource>,
    ranges: Vec<Range<u64>>,
    /// For each range, the bytes of those before it.
    before: Vec<u64>,
    bytes: u64,
}

impl Records {
    /// Of ranges that lie in the object.
    pub(super) fn new(object: Arc<dyn ObjectSource>, ranges: Vec<Range<u64>>) -> Self {
        let mut bytes = 0;
        let before = ranges.iter().map(|range| {
            let before = bytes;
            bytes += range.end - range.start;
            before
        });
        let before = before.collect();
        Self { object, ranges, before, bytes }
    }
}

impl ObjectSource for Records {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        let mut number = self.before.partition_point(|before| *before <= offset);
        // The range that holds the offset is the last that begins at it or before.
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
            let got = self.object.read_at(start, &mut buf[read..read + wanted])?;
            if got == 0 {
                // The object is shorter than it was.
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
        let object: Arc<dyn ObjectSource> = Arc::new((0..100_u8).collect::<Vec<_>>());
        let check = |ranges: &[Range<u64>]| {
            let records = Records::new(Arc::clone(&object), ranges.to_vec());
            let all: Vec<u8> = ranges.iter().flat_map(|it| it.start as u8..it.end as u8).collect();
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
        check(&[3..9, 20..20]);
        check(&[0..1, 1..1, 5..6, 50..60, 60..60, 99..100]);
        check(&[0..0, 7..9]);
        let beyond = Records::new(Arc::clone(&object), vec![90..99, 99..110]);
        assert!(beyond.read_at(0, &mut [0; 20]).is_err());
    }
}
