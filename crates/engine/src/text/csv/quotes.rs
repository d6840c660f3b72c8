//! Tracks where a CSV text is within quotes, by the rules of DataFusion's reader.

use datafusion::common::config::CsvOptions;
use datafusion::datasource::physical_plan::CsvSource;
use memchr::{memchr, memchr2};

/// Tracks quotes through a text that arrives in pieces. It looks only at quotes, escape characters and comment marks,
/// so it is cheap where there are few.
#[derive(Debug, Clone)]
pub(crate) struct Quotes {
    delimiter: u8,
    quote: u8,
    escape: Option<u8>,
    comment: Option<u8>,
    /// The byte that ends a record, or `None` for `\r` and `\n`.
    terminator: Option<u8>,
    state: State,
    /// The number of bytes so far.
    passed: u64,
    /// The offset of the last quote that opened a value.
    opening: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the beginning of a record.
    Record,
    /// Outside of quotes, behind this byte.
    Behind(u8),
    Comment,
    Quoted,
    /// Behind an escape character within quotes.
    Escaped,
    /// Behind a quote that closes the value, unless another quote follows.
    Closed,
}

impl Quotes {
    /// Returns the tracker of a table, at the beginning of a record, or `None` if two of its special characters are
    /// the same.
    #[must_use]
    pub(crate) fn from_csv(csv: &CsvSource) -> Option<Self> {
        let quotes = Self {
            delimiter: csv.delimiter(),
            quote: csv.quote(),
            escape: csv.escape(),
            comment: csv.comment(),
            terminator: csv.terminator(),
            state: State::Record,
            passed: 0,
            opening: 0,
        };
        quotes.with_distinct_characters()
    }

    /// Returns the tracker of format options, or `None` if two special characters are the same.
    #[must_use]
    pub(crate) fn from_options(csv: &CsvOptions) -> Option<Self> {
        let quotes = Self {
            delimiter: csv.delimiter,
            quote: csv.quote,
            escape: csv.escape,
            comment: csv.comment,
            terminator: csv.terminator,
            state: State::Record,
            passed: 0,
            opening: 0,
        };
        quotes.with_distinct_characters()
    }

    fn with_distinct_characters(mut self) -> Option<Self> {
        let ends = self.terminator.map_or_else(|| vec![b'\r', b'\n'], |end| vec![end]);
        let (quote, delimiter) = (self.quote, self.delimiter);
        if quote == delimiter || ends.contains(&quote) || ends.contains(&delimiter) {
            return None;
        }
        self.escape = self.escape.filter(|escape| *escape != quote);
        let is_apart = |byte: u8| byte != quote && byte != delimiter && !ends.contains(&byte);
        let others = self.escape.into_iter().chain(self.comment);
        others.into_iter().all(is_apart).then_some(self)
    }

    /// Returns true if the text so far ends within quotes.
    #[must_use]
    pub(crate) fn are_open(&self) -> bool {
        matches!(self.state, State::Quoted | State::Escaped)
    }

    /// Returns the number of bytes so far.
    #[must_use]
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// Returns the offset of the quote that is open at the end of the text so far, or `None` if none is.
    #[must_use]
    pub(crate) fn opening(&self) -> Option<u64> {
        self.are_open().then_some(self.opening)
    }

    /// Passes the next bytes of the text.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        if self.escape.is_none() && self.comment.is_none() {
            self.pass_quotes(bytes);
        } else {
            self.pass_marks(bytes);
        }
        self.passed += bytes.len() as u64;
    }

    /// Passes bytes that may have escape characters and comments.
    fn pass_marks(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            let at = self.passed + (bytes.len() - rest.len()) as u64;
            let passed = match self.state {
                State::Escaped => {
                    self.state = State::Quoted;
                    Some(0)
                }
                State::Closed if *first == self.quote => {
                    self.state = State::Quoted;
                    Some(0)
                }
                State::Closed => {
                    self.state = State::Behind(*first);
                    Some(0)
                }
                State::Comment => {
                    let end = memchr(b'\n', rest);
                    self.state = end.map_or(self.state, |_| State::Record);
                    end
                }
                State::Quoted => self.close_quotes(rest),
                State::Record | State::Behind(_) => self.open_quotes(rest, at),
            };
            let Some(passed) = passed else { return };
            rest = &rest[passed + 1..];
        }
    }

    /// Passes bytes without escape characters or comments. Such texts may have very many quotes, so this is the fast
    /// path.
    fn pass_quotes(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        let mut is_open = self.state == State::Quoted;
        // The position at which a quote would double the one before.
        let mut behind_closed = (self.state == State::Closed).then_some(0);
        let mut opening = None;
        each(self.quote, bytes, |at| {
            if is_open {
                (is_open, behind_closed) = (false, Some(at + 1));
                return;
            }
            let before = match (at.checked_sub(1), self.state) {
                (Some(before), _) => Some(bytes[before]),
                (None, State::Behind(before)) => Some(before),
                (None, _) => None,
            };
            let is_doubled = behind_closed == Some(at);
            is_open =
                is_doubled || before.is_none_or(|it| it == self.delimiter || self.ends_record(it));
            if is_open && !is_doubled {
                opening = Some(at);
            }
        });
        if let Some(opening) = opening {
            self.opening = self.passed + opening as u64;
        }
        self.state = match is_open {
            true => State::Quoted,
            false if behind_closed == Some(bytes.len()) => State::Closed,
            false => State::Behind(*last),
        };
    }

    /// Skips to the end of the quotes, or of the text.
    fn close_quotes(&mut self, rest: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let found = match self.escape {
                Some(escape) => memchr2(self.quote, escape, &rest[at..]),
                None => memchr(self.quote, &rest[at..]),
            };
            at += found?;
            let next = rest.get(at + 1);
            if rest[at] != self.quote {
                self.state = State::Escaped;
                return Some(at);
            }
            if next != Some(&self.quote) {
                // The next byte is handled as one behind the quotes.
                self.state = if next.is_some() { State::Behind(self.quote) } else { State::Closed };
                return Some(at);
            }
            at += 2;
        }
    }

    /// Skips to the next quote or comment mark. It has a meaning only where a field or a record begins. The offset of
    /// `rest` is `at`.
    fn open_quotes(&mut self, rest: &[u8], at: u64) -> Option<usize> {
        let found = match self.comment {
            Some(comment) => memchr2(self.quote, comment, rest),
            None => memchr(self.quote, rest),
        };
        let Some(found) = found else {
            self.state = rest.last().map_or(self.state, |last| State::Behind(*last));
            return None;
        };
        let before = match (found, self.state) {
            (0, State::Behind(before)) => Some(before),
            (0, _) => None,
            _ => Some(rest[found - 1]),
        };
        let begins_record = before.is_none_or(|before| self.ends_record(before));
        self.state = match rest[found] {
            mark if mark == self.quote && (begins_record || before == Some(self.delimiter)) => {
                self.opening = at + found as u64;
                State::Quoted
            }
            mark if Some(mark) == self.comment && begins_record => State::Comment,
            mark => State::Behind(mark),
        };
        Some(found)
    }

    fn ends_record(&self, byte: u8) -> bool {
        match self.terminator {
            Some(terminator) => byte == terminator,
            None => matches!(byte, b'\r' | b'\n'),
        }
    }
}

/// Calls a function with each position of a byte. If there are many, this is faster than repeated searches for the
/// next.
#[inline]
fn each(byte: u8, bytes: &[u8], mut found: impl FnMut(usize)) {
    const WORD: usize = size_of::<u64>();
    /// Blocks of this many bytes are skipped at once if they do not contain the byte.
    const BLOCK: usize = 4096;
    const LOW_BITS: u64 = u64::from_le_bytes([0x7f; WORD]);
    let wanted = u64::from_le_bytes([byte; WORD]);
    for (block, start) in bytes.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
        if memchr(byte, block).is_none() {
            continue;
        }
        let (words, rest) = block.as_chunks::<WORD>();
        for (word, start) in words.iter().zip((start..).step_by(WORD)) {
            let differing = u64::from_le_bytes(*word) ^ wanted;
            // The highest bit of each byte that does not differ.
            let mut same = !(((differing & LOW_BITS) + LOW_BITS) | differing | LOW_BITS);
            while same != 0 {
                found(start + same.trailing_zeros() as usize / 8);
                same &= same - 1;
            }
        }
        let start = start + block.len() - rest.len();
        let others = rest.iter().zip(start..).filter(|(it, _)| **it == byte);
        others.for_each(|(_, at)| found(at));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::Schema;
    use csv_core::{ReadFieldResult, ReaderBuilder, Terminator};
    use datafusion::common::config::CsvOptions;
    use proptest::prelude::*;

    use super::*;

    fn quotes(escape: Option<u8>, comment: Option<u8>, terminator: Option<u8>) -> Quotes {
        let options = CsvOptions { escape, comment, terminator, ..CsvOptions::default() };
        Quotes::from_csv(&CsvSource::new(Arc::new(Schema::empty())).with_csv_options(options))
            .unwrap()
    }

    /// Returns true if the CSV reader that Arrow uses treats a line end behind the text as a part of a value.
    fn is_open_to_csv_core(
        text: &str,
        escape: Option<u8>,
        comment: Option<u8>,
        terminator: Option<u8>,
    ) -> bool {
        let mut builder = ReaderBuilder::new();
        builder.escape(escape).comment(comment);
        if let Some(terminator) = terminator {
            builder.terminator(Terminator::Any(terminator));
        }
        let mut reader = builder.build();
        let text = format!("{text}{}x", char::from(terminator.unwrap_or(b'\n')));
        let (mut rest, mut field, mut length) = (text.as_bytes(), vec![0; text.len() + 1], 0);
        let mut last = Vec::new();
        loop {
            let (result, read, written) = reader.read_field(rest, &mut field[length..]);
            rest = &rest[read..];
            length += written;
            match result {
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::Field { .. } => {
                    last = field[..length].to_vec();
                    length = 0;
                }
                ReadFieldResult::End => return last != b"x",
                ReadFieldResult::OutputFull => panic!("a field longer than its text"),
            }
        }
    }

    #[test]
    fn quotes_are_open_as_the_reader_has_them() {
        let check = |text: &str, expected: bool| {
            // Some blocks of long texts have no quote.
            for before in [String::new(), "a,b\n".repeat(1030), "c,\"d\"\n".repeat(700)] {
                let mut quotes = quotes(None, None, None);
                let text = before + text;
                quotes.pass(text.as_bytes());
                assert_eq!(quotes.are_open(), expected, "{text:?}");
            }
        };
        for open in ["\"", "a,\"b", "a,\"b\n", "\"a\"\"", "\"\"\"", "1\n2,\"x\ny"] {
            check(open, true);
        }
        for closed in ["", "a\"b", "5\" pipe,\"x\"\n", "\"\"", "\"a\"b\"", "\"a\nb\",\"c\"\n"] {
            check(closed, false);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_followed_however_it_is_cut(
            text in "[a,\"\n\r#\\\\;]{0,24}",
            cut in 0_usize..24,
            escape in prop::option::of(Just(b'\\')),
            // Comments end with a line feed whatever ends records.
            (comment, terminator) in prop_oneof![
                Just((None, None)),
                Just((Some(b'#'), None)),
                Just((None, Some(b';'))),
            ],
        ) {
            let mut quotes = quotes(escape, comment, terminator);
            let (first, rest) = text.as_bytes().split_at(cut.min(text.len()));
            quotes.pass(first);
            quotes.pass(rest);
            let expected = is_open_to_csv_core(&text, escape, comment, terminator);
            prop_assert_eq!(quotes.are_open(), expected, "{:?}", text);
        }
    }
}
