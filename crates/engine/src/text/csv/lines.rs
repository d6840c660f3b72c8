//! Checks that every record of a CSV object is one line to any reader. Only then may a store look records up itself,
//! because its reader is not the one that made the index.
//!
//! Readers differ in what ends a record (a lone carriage return), what is not a record (an empty line, a comment),
//! what an escape character escapes and what quotes contain. Objects with any of these are excluded. In all others,
//! the reader of the index finds as many records as there are lines exactly if no record contains the line feed of
//! another. The last line may still contain its own line feed, in quotes that are never closed.

use sluicegate_index::layout::LinesMessage;

use crate::text::format::Format;
use crate::text::json::bom::MARK;

/// The longest line, without its end: readers of S3 Select need not accept longer records.
const MAX_LINE: usize = 1 << 20;

/// Checks the lines of an object that arrives in pieces.
#[derive(Debug)]
pub(crate) struct Lines {
    /// True if the first line is a header.
    header: bool,
    delimiter: u8,
    quote: u8,
    count: u64,
    /// The line so far, or the last one.
    line: Vec<u8>,
    has_ended: bool,
    /// True if the last byte was a carriage return.
    after_return: bool,
    /// True if carriage returns precede line feeds, or `None` until a line has ended.
    returns: Option<bool>,
    first_bytes: u64,
    hashes: bool,
    /// True if readers may disagree.
    odd: bool,
}

impl Lines {
    /// Creates a check for objects of this format, or `None` if readers may disagree about the format.
    #[must_use]
    pub(crate) fn for_format(format: &Format) -> Option<Self> {
        let Format::Csv(csv) = format else { return None };
        let own = csv.escape.is_some() || csv.comment.is_some() || csv.terminator.is_some();
        let usual = |byte: u8| byte.is_ascii() && !matches!(byte, b'\r' | b'\n');
        (!own && usual(csv.delimiter) && usual(csv.quote) && csv.delimiter != csv.quote).then_some(
            Self {
                header: csv.header,
                delimiter: csv.delimiter,
                quote: csv.quote,
                count: 0,
                line: Vec::new(),
                has_ended: true,
                after_return: false,
                returns: None,
                first_bytes: 0,
                hashes: false,
                odd: false,
            },
        )
    }

    /// Reads the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.odd {
                return;
            }
            let ended = line.ends_with(b"\n");
            self.read(&line[..line.len() - usize::from(ended)]);
            if ended {
                let returns = *self.returns.get_or_insert(self.after_return);
                self.odd |= returns != self.after_return;
                self.end(1);
            }
        }
    }

    /// Reads a part of a line.
    fn read(&mut self, text: &[u8]) {
        let Some((last, before)) = text.split_last() else { return };
        // A carriage return followed by a byte of its line does not end the line.
        self.odd |= self.after_return || memchr::memchr(b'\r', before).is_some();
        self.after_return = *last == b'\r';
        if std::mem::take(&mut self.has_ended) {
            self.line.clear();
        }
        // The additional byte is the carriage return.
        self.odd |= self.line.len() + text.len() > MAX_LINE + 1;
        if !self.odd {
            self.line.extend_from_slice(text);
        }
    }

    /// Ends a line, with so many bytes behind its text.
    fn end(&mut self, end: u64) {
        if std::mem::replace(&mut self.has_ended, true) {
            self.line.clear();
        }
        let text = self.line.len() - usize::from(self.after_return && !self.line.is_empty());
        self.odd |= text == 0 || text > MAX_LINE;
        self.odd |= self.count == 0 && self.line.starts_with(&MARK);
        self.hashes |= self.line.starts_with(b"#");
        if self.count == 0 {
            self.first_bytes = self.line.len() as u64 + end;
        }
        self.count += 1;
        self.after_return = false;
    }

    /// Returns true if the last line ends inside quotes. The lines before are as many as their records.
    fn is_open(&self) -> bool {
        let (mut field_starts, mut inside, mut before_quoted) = (true, false, false);
        for byte in &self.line {
            // A quote in quotes closes them, unless another follows.
            let reopens = std::mem::take(&mut before_quoted) && *byte == self.quote;
            if inside {
                inside = *byte != self.quote;
                before_quoted = !inside;
            } else {
                inside = reopens || (field_starts && *byte == self.quote);
            }
            field_starts = !inside && *byte == self.delimiter;
        }
        inside
    }

    /// Returns the properties of the object's lines, or `None` if the number of lines and records differs or readers
    /// may disagree.
    #[must_use]
    pub(crate) fn finish(mut self, records: u64) -> Option<LinesMessage> {
        if !self.has_ended {
            self.end(0);
        }
        let header = u64::from(self.header && self.count > 0);
        let same = !self.odd && !self.is_open() && records.checked_add(header) == Some(self.count);
        same.then(|| LinesMessage {
            first_bytes: self.first_bytes,
            hashes: self.hashes,
            returns: self.returns.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::CsvText;
    use super::*;

    fn csv(header: bool) -> CsvText {
        CsvText {
            columns: 2,
            header,
            delimiter: b',',
            quote: b'"',
            escape: None,
            comment: None,
            terminator: None,
            truncated_rows: false,
        }
    }

    /// Checks the result for a text with so many records, cut in several ways.
    #[track_caller]
    fn check(text: &str, records: u64, expected: Option<(u64, bool)>) {
        for piece in [1, 2, 3, 1000] {
            let mut lines = Lines::for_format(&Format::Csv(csv(false))).unwrap();
            text.as_bytes().chunks(piece).for_each(|piece| lines.feed(piece));
            let found = lines.finish(records).map(|it| (it.first_bytes, it.hashes));
            assert_eq!(found, expected, "{text:?} in pieces of {piece}");
        }
    }

    #[test]
    fn records_that_are_lines_are_found() {
        check("a,b\nc,d\n", 2, Some((4, false)));
        check("a,b\r\nc,d", 2, Some((5, false)));
        check("a,b\nc,d\r", 2, Some((4, false)));
        check("a,b\r", 1, Some((4, false)));
        check("a", 1, Some((1, false)));
        check("", 0, Some((0, false)));
        check("a,b\n#,d\n", 2, Some((4, true)));
    }

    #[test]
    fn what_readers_may_disagree_about_is_not() {
        for text in ["a\rb\n", "a\n\nb\n", "a\r\r\n", "\r\na\n", "\u{feff}a\n", "a\n\r", "a\r\nb\n"]
        {
            (0..4).for_each(|records| check(text, records, None));
        }
        check("\"a\nb\"\n", 1, None);
        for open in ["a,\"", "a,\"b\n", "\"a\"\"", "\"a,b\r\n", "x\n\"a\"\",\n"] {
            (0..4).for_each(|records| check(open, records, None));
        }
        for closed in ["\"a\",\"\"", "a\",b\"\n", "\"a\"\"\"\n", "\"a\"b\",c\n"] {
            let first = closed.len() as u64;
            check(closed, 1, Some((first, false)));
        }
        check(&format!("{}\n", "a".repeat(1 << 20)), 1, Some(((1 << 20) + 1, false)));
        check(&format!("{}\n", "a".repeat((1 << 20) + 1)), 1, None);
        for odd in [
            CsvText { escape: Some(b'\\'), ..csv(false) },
            CsvText { comment: Some(b'#'), ..csv(false) },
            CsvText { terminator: Some(b'\n'), ..csv(false) },
            CsvText { delimiter: b'\r', ..csv(false) },
        ] {
            assert!(Lines::for_format(&Format::Csv(odd)).is_none());
        }
        assert!(Lines::for_format(&Format::JsonLines).is_none());
    }

    #[test]
    fn a_header_is_a_line_and_no_record() {
        let check = |text: &str, records, expected| {
            let mut lines = Lines::for_format(&Format::Csv(csv(true))).unwrap();
            lines.feed(text.as_bytes());
            assert_eq!(lines.finish(records).is_some(), expected, "{text:?}");
        };
        check("k,v\n1,2\n", 1, true);
        check("k,v\n1,2\n", 2, false);
        check("k,v", 0, true);
        check("", 0, true);
    }
}
