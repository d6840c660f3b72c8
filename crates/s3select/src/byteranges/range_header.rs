//! Parses and writes the `Range` header of a request.

use std::ops::Range;

/// The largest number of ranges in a request.
pub const MAX_RANGES: usize = 1000;

/// The ranges of a request, before the size of the object is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeHeader(Vec<Spec>);

/// One range of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spec {
    /// From a first byte to a last one, both included.
    Between(u64, u64),
    /// From a byte to the end of the object.
    From(u64),
    /// The last bytes of the object; holds their number.
    Last(u64),
}

impl RangeHeader {
    /// Parses a header. Returns `None` if the header is invalid or has more than [`MAX_RANGES`] ranges, so that the
    /// server ignores it.
    ///
    /// ```
    /// use sluicegate_s3select::byteranges::RangeHeader;
    ///
    /// let asked = RangeHeader::parse("bytes=0-4, 8-, 20-30,-1").unwrap();
    /// assert_eq!(asked.resolve(10), [0..5, 8..10]);
    /// assert_eq!(RangeHeader::parse("bytes=4-0"), None);
    /// ```
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let (unit, set) = value.split_once('=')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        let mut specs = Vec::new();
        // A list may contain empty elements.
        for spec in set.split(',').map(|spec| spec.trim_matches([' ', '\t'])) {
            if !spec.is_empty() {
                if specs.len() == MAX_RANGES {
                    return None;
                }
                specs.push(Spec::parse(spec)?);
            }
        }
        (!specs.is_empty()).then_some(Self(specs))
    }

    /// The ranges within an object of `size` bytes, in the order of the request.
    ///
    /// Ranges that overlap or touch are merged, at the place of the first of them, so that their total is never
    /// longer than the object. Ranges past the end of the object and empty ranges are left out.
    #[must_use]
    pub fn resolve(&self, size: u64) -> Vec<Range<u64>> {
        let ranges = self.0.iter().map(|spec| spec.within(size));
        let mut ranges: Vec<_> =
            ranges.enumerate().filter(|(_, range)| range.start < range.end).collect();
        ranges.sort_by_key(|(_, range)| range.start);
        let mut joined: Vec<(usize, Range<u64>)> = Vec::with_capacity(ranges.len());
        for (number, range) in ranges {
            match joined.last_mut() {
                Some((first, last)) if range.start <= last.end => {
                    *first = number.min(*first);
                    last.end = last.end.max(range.end);
                }
                _ => joined.push((number, range)),
            }
        }
        joined.sort_by_key(|(number, _)| *number);
        joined.into_iter().map(|(_, range)| range).collect()
    }
}

impl Spec {
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-')?;
        match (first, last) {
            ("", last) => number(last).map(Self::Last),
            (first, "") => number(first).map(Self::From),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::Between(first, last))
            }
        }
    }

    fn within(self, size: u64) -> Range<u64> {
        match self {
            Self::Between(first, last) => first..size.min(last.saturating_add(1)),
            Self::From(first) => first..size,
            Self::Last(bytes) => size.saturating_sub(bytes)..size,
        }
    }
}

/// Parses any number of digits. Numbers beyond 64 bits become the largest, because no object has more bytes.
fn number(digits: &str) -> Option<u64> {
    let all = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    all.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// Formats a header for some ranges, none of which may be empty.
#[must_use]
pub fn header(ranges: &[Range<u64>]) -> String {
    let ranges: Vec<_> =
        ranges.iter().map(|range| format!("{}-{}", range.start, range.end - 1)).collect();
    format!("bytes={}", ranges.join(","))
}

/// An upper bound of the bytes of a range in [`header`].
#[must_use]
pub fn header_bytes(range: &Range<u64>) -> usize {
    let digits = |number: u64| number.checked_ilog10().map_or(1, |log| log as usize + 1);
    digits(range.start) + digits(range.end) + 2
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "one range is a list of ranges, too")]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, size: u64, expected: &[Range<u64>]) {
        let asked = RangeHeader::parse(value).unwrap();
        assert_eq!(asked.resolve(size), expected, "{value} of {size}");
    }

    #[test]
    fn ranges_are_those_within_the_object() {
        check("bytes=0-0,2-3", 10, &[0..1, 2..4]);
        check("bytes=0-0,2-3", 3, &[0..1, 2..3]);
        check("Bytes= ,0-0 ,\t-2,", 10, &[0..1, 8..10]);
        check("bytes=8-,0-1", 10, &[8..10, 0..2]);
        check("bytes=10-,20-30,-0", 10, &[]);
        check("bytes=10-,5-5", 10, &[5..6]);
        check("bytes=-1000", 10, &[0..10]);
        check("bytes=0-,-1", 0, &[]);
        let beyond = "bytes=0-99999999999999999999999,18446744073709551615-,-99999999999999999999";
        check(beyond, 10, &[0..10]);
    }

    #[test]
    fn ranges_that_overlap_or_touch_are_one() {
        check("bytes=5-6,0-1,2-3", 10, &[5..7, 0..4]);
        check("bytes=5-6,0-8,2-3", 10, &[0..9]);
        check("bytes=8-9,0-1,1-2,-3", 10, &[7..10, 0..3]);
        check("bytes=0-9,0-9,0-9", 10, &[0..10]);
    }

    #[test]
    fn what_is_not_understood_is_ignored() {
        for value in [
            "",
            "bytes",
            "bytes=",
            "bytes=,",
            "bytes=-",
            "bytes=a-b",
            "bytes=0-1,x",
            "bytes=3-2",
            "bytes=0-1,3-2",
            "bytes=+1-2",
            "bytes=0 -1",
            "bytes=0--1",
            "lines=0-1,3-4",
            "0-1,3-4",
        ] {
            assert_eq!(RangeHeader::parse(value), None, "{value}");
        }
        let many = |count| header(&(0..count).map(|n| 2 * n..2 * n + 1).collect::<Vec<_>>());
        let most = RangeHeader::parse(&many(MAX_RANGES as u64)).unwrap();
        assert_eq!(most.resolve(u64::MAX).len(), MAX_RANGES);
        assert_eq!(RangeHeader::parse(&many(MAX_RANGES as u64 + 1)), None);
    }

    #[test]
    fn a_header_is_read_as_it_is_written() {
        let ranges = [7..8, 100..1000, 0..1, u64::MAX - 1..u64::MAX];
        let value = header(&ranges);
        assert_eq!(RangeHeader::parse(&value).unwrap().resolve(u64::MAX), ranges);
        let bytes: usize = ranges.iter().map(header_bytes).sum();
        assert!((value.len()..value.len() + 8).contains(&(bytes + "bytes=".len())), "{value}");
    }
}
