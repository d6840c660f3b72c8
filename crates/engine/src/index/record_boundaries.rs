//! Checks that the ranges that an index returns are whole records, by the bytes at their borders.

use std::fmt;
use std::ops::Range;

use bytes::{Buf, Bytes};

use crate::text::format::Format;

/// The ranges of an object that an index reports as records, with a check of their borders.
///
/// Records cover an object without gaps. Each record begins at the start of the object or where another record ended,
/// and it ends with a terminator or with the object. The check cannot distinguish a line end within a quoted value
/// from the end of a record.
#[derive(Debug, Clone)]
pub struct Borders {
    ranges: Vec<Range<u64>>,
    /// The bytes that can end a record.
    ends: Vec<u8>,
    /// True if the object begins with a header, which is not a record.
    header: bool,
    size: u64,
    /// The index of the range that is being read.
    number: usize,
    at: Option<u64>,
}

/// The border of a range lies inside a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithinRecord {
    /// The offset of the border in the object, in bytes.
    pub offset: u64,
}

impl fmt::Display for WithinRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an index leads into a record, to byte {} of the object; `sluice index create TABLE COLUMN \
             --repair` makes a new one, and SET sluice.scan = 'get' reads the table without",
            self.offset
        )
    }
}

impl std::error::Error for WithinRecord {}

impl Borders {
    /// Creates the check for an object of the given format and size. The ranges must be in order and must not overlap;
    /// empty ranges are dropped.
    #[must_use]
    pub fn new(format: &Format, size: u64, ranges: Vec<Range<u64>>) -> Self {
        let (ends, header) = match format {
            Format::Csv(text) => {
                (text.terminator.map_or_else(|| b"\r\n".to_vec(), |it| vec![it]), text.header)
            }
            Format::JsonLines => (b"}]".to_vec(), false),
            // Records of Parquet are not ranges of bytes.
            Format::Parquet => (Vec::new(), false),
        };
        let ranges = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        Self { ranges, ends, header, size, number: 0, at: None }
    }

    /// Returns the total length of the ranges in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns the ranges to fetch: each range with the byte before it, which the check needs.
    #[must_use]
    pub fn to_read(&self) -> Vec<Range<u64>> {
        self.ranges.iter().map(|range| range.start.saturating_sub(1)..range.end).collect()
    }

    /// Checks the next bytes that were fetched, all from one range, and returns them without the byte before the
    /// range.
    ///
    /// # Errors
    ///
    /// If the range begins or ends within a record.
    pub fn check(&mut self, mut bytes: Bytes) -> Result<Bytes, WithinRecord> {
        let Some(Range { start, end }) = self.ranges.get(self.number).cloned() else {
            return Ok(bytes);
        };
        let is_end = |byte: Option<&u8>| byte.is_some_and(|byte| self.ends.contains(byte));
        let at = match self.at {
            Some(at) => at,
            None if start == 0 && self.header => return Err(WithinRecord { offset: start }),
            None if start == 0 => start,
            None if !is_end(bytes.first()) => return Err(WithinRecord { offset: start }),
            None => {
                bytes.advance(1);
                start
            }
        };
        let at = at + bytes.len() as u64;
        if at < end {
            self.at = Some(at);
            return Ok(bytes);
        }
        if end < self.size && !is_end(bytes.last()) {
            return Err(WithinRecord { offset: end });
        }
        self.at = None;
        self.number += 1;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::csv::text::CsvText;

    fn csv(header: bool, terminator: Option<u8>) -> Format {
        Format::Csv(CsvText {
            columns: 1,
            header,
            delimiter: b',',
            quote: b'"',
            escape: None,
            comment: None,
            terminator,
            truncated_rows: false,
        })
    }

    /// Reads the ranges in pieces of at most `piece` bytes.
    fn read(
        format: &Format,
        object: &str,
        ranges: &[(u64, u64)],
        piece: usize,
    ) -> Result<String, u64> {
        let ranges = ranges.iter().map(|(start, end)| *start..*end).collect();
        let mut borders = Borders::new(format, object.len() as u64, ranges);
        let mut text = String::new();
        for range in borders.to_read() {
            let bytes = &object.as_bytes()[range.start as usize..range.end as usize];
            for piece in bytes.chunks(piece) {
                let checked =
                    borders.check(Bytes::copy_from_slice(piece)).map_err(|it| it.offset)?;
                text += std::str::from_utf8(&checked).unwrap();
            }
        }
        assert_eq!(text.len() as u64, borders.bytes());
        Ok(text)
    }

    #[track_caller]
    fn check(format: &Format, object: &str, ranges: &[(u64, u64)], expected: Result<&str, u64>) {
        for piece in [2, 3, 100] {
            let found = read(format, object, ranges, piece);
            assert_eq!(found.as_deref().map_err(|it| *it), expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn ranges_of_whole_records_are_read() {
        let lines = csv(false, None);
        check(&lines, "ab\ncd\nef", &[(0, 3), (6, 8)], Ok("ab\nef"));
        check(&lines, "ab\ncd\nef", &[(3, 3), (3, 6)], Ok("cd\n"));
        check(&lines, "a\r\nb\r\nc", &[(2, 5)], Ok("\nb\r"));
        check(&lines, "", &[], Ok(""));
        check(&csv(false, Some(b';')), "ab;cd;", &[(3, 6)], Ok("cd;"));
        check(&Format::JsonLines, "{\"a\":1}\n{\"a\":2}\n", &[(7, 15)], Ok("\n{\"a\":2}"));
    }

    #[test]
    fn a_border_within_a_record_is_none() {
        let lines = csv(false, None);
        for (range, offset) in [((0, 2), 2), ((1, 3), 1), ((3, 5), 5), ((7, 8), 7), ((2, 6), 2)] {
            check(&lines, "ab\ncd\nef", &[range], Err(offset));
        }
        check(&lines, "ab\ncd\nef", &[(0, 3), (4, 6)], Err(4));
        check(&csv(true, None), "ab\ncd\n", &[(0, 3)], Err(0));
        check(&csv(false, Some(b';')), "a\nb;c", &[(2, 4)], Err(2));
        check(&Format::JsonLines, "{\"a\":1}\n{\"a\":2}\n", &[(8, 15)], Err(8));
        check(&Format::JsonLines, "{\"a\":1}\n{\"a\":2}\n", &[(7, 14)], Err(14));
    }
}
