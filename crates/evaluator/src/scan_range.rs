//! The part of an object to read records from.

use std::ops::Range;

use super::input::BYTE_ORDER_MARK;
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::request::ScanRange;

/// Offsets `start..end` in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl ByteRange {
    /// The whole of an object of any size.
    pub(crate) const ALL: Self = Self { start: 0, end: u64::MAX };

    /// Adapts the range to an object that begins with a byte order mark. The first record starts after the mark, but
    /// belongs to the range with the object's first byte.
    pub(crate) fn with_mark(self) -> Self {
        let behind = BYTE_ORDER_MARK.len() as u64 + 1;
        if self.start == 0 { Self { end: self.end.max(behind), ..self } } else { self }
    }

    /// Resolves the range of a request for an object of `len` bytes. A range that starts past the end of the object
    /// is empty; one that ends before it starts is an error.
    pub(crate) fn resolve(range: Option<ScanRange>, len: u64) -> Result<Self, SelectError> {
        let Some(range) = range else { return Ok(Self::ALL) };
        let Range { start, end } = range.offsets(len)?;
        Ok(Self { start, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(range: Option<ScanRange>, expected: Option<(u64, u64)>) {
        let resolved = ByteRange::resolve(range, 100).ok().map(|r| (r.start, r.end));
        assert_eq!(resolved, expected);
    }

    #[test]
    fn ranges_resolve() {
        check(None, Some((0, u64::MAX)));
        check(Some(ScanRange::Bounded { start: 1, last: 4 }), Some((1, 5)));
        check(Some(ScanRange::Bounded { start: 4, last: 4 }), Some((4, 5)));
        check(Some(ScanRange::Bounded { start: 4, last: 3 }), None);
        check(Some(ScanRange::From { start: 30 }), Some((30, u64::MAX)));
        check(Some(ScanRange::Suffix { length: 30 }), Some((70, u64::MAX)));
        check(Some(ScanRange::Suffix { length: 300 }), Some((0, u64::MAX)));
        check(Some(ScanRange::Suffix { length: 0 }), None);
    }
}
