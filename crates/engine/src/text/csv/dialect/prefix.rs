//! Reads the first whole records of a CSV text that arrives in parts.
//!
//! DataFusion cuts such a text at line ends, part by part. If a part begins within quotes, it also cuts at line ends
//! within quotes.

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::common::config::CsvOptions;
use futures::TryStreamExt;
use futures::stream::BoxStream;
use memchr::{memchr_iter, memchr2_iter};

use crate::text::csv::quotes::Quotes;

/// The maximum number of bytes that are read to infer columns: unclosed quotes continue to the end of the text.
const MOST_BYTES: usize = 64 << 20;

/// The beginning of a text, as far as it has been read.
pub(super) struct TextPrefix<'a> {
    parts: BoxStream<'a, Result<Bytes>>,
    quotes: Option<Quotes>,
    terminator: Option<u8>,
    text: Vec<u8>,
    /// The end of the last complete record.
    end: usize,
    count: usize,
    is_whole: bool,
}

impl<'a> TextPrefix<'a> {
    /// Starts to read a text with the given options.
    pub(super) fn new(options: &CsvOptions, parts: BoxStream<'a, Result<Bytes>>) -> Self {
        Self {
            parts,
            quotes: Quotes::from_options(options),
            terminator: options.terminator,
            text: Vec::new(),
            end: 0,
            count: 0,
            is_whole: false,
        }
    }

    /// Reads until there are so many records or lines, or [`Self::is_enough`] is true.
    pub(super) async fn read(&mut self, wanted: usize) -> Result<()> {
        while self.count < wanted && !self.is_enough() {
            match self.parts.try_next().await? {
                Some(part) => self.pass(&part),
                None => self.is_whole = true,
            }
        }
        Ok(())
    }

    /// Returns true if nothing more is read.
    pub(super) fn is_enough(&self) -> bool {
        self.is_whole || self.text.len() >= MOST_BYTES
    }

    /// Returns the records that were read.
    pub(super) fn records(&self) -> Bytes {
        let end = if self.is_whole || self.end == 0 { self.text.len() } else { self.end };
        Bytes::copy_from_slice(&self.text[..end])
    }

    fn pass(&mut self, part: &[u8]) {
        let before = self.text.len();
        self.text.extend_from_slice(part);
        let ends: Vec<usize> = match self.terminator {
            Some(terminator) => memchr_iter(terminator, part).collect(),
            None => memchr2_iter(b'\n', b'\r', part).collect(),
        };
        let mut passed = 0;
        for end in ends {
            if let Some(quotes) = &mut self.quotes {
                quotes.pass(&part[passed..=end]);
                passed = end + 1;
                if quotes.are_open() {
                    continue;
                }
            }
            // There is no record between \r and \n.
            self.count += usize::from(before + end > self.end);
            self.end = before + end + 1;
        }
        if let Some(quotes) = &mut self.quotes {
            quotes.pass(&part[passed..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, stream};

    use super::*;

    async fn read(text: &str, part: usize, wanted: usize) -> String {
        let parts = text.as_bytes().chunks(part).map(|part| Ok(Bytes::copy_from_slice(part)));
        let parts = stream::iter(parts.collect::<Vec<_>>()).boxed();
        let mut beginning = TextPrefix::new(&CsvOptions::default(), parts);
        beginning.read(wanted).await.unwrap();
        String::from_utf8(beginning.records().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn records_are_whole_wherever_parts_end() {
        let text = "a,b\r\n1,\"x\ny\"\r\n\r\n2,\"\"\"\n\"\"\"\r\n3,z\r\n4,\"\n\n\n\n\"\r\n5,end";
        let records = text.matches("\r\n").count() - 1;
        for part in 1..=text.len() {
            assert_eq!(read(text, part, 100).await, text, "{part}");
            for wanted in 1..=records {
                let found = read(text, part, wanted).await;
                assert!(text.starts_with(&found), "{part}, {wanted}: {found:?}");
                let rest = &text[found.len()..];
                // Each of the rest begins a record.
                let begins = ["\n", "\r\n", "1,", "2,", "3,", "4,", "5,"];
                let is_record = rest.is_empty() || begins.iter().any(|it| rest.starts_with(it));
                assert!(is_record, "{part}: {rest:?}");
                let seen = found.split('\r').filter(|it| it.trim().contains(',')).count();
                assert!(seen >= wanted.min(records), "{part}, {wanted}: {found:?}");
            }
        }
    }

    #[tokio::test]
    async fn quotes_that_are_not_closed_end_with_the_text() {
        assert_eq!(read("a\n\"b\nc\nd\n", 3, 100).await, "a\n\"b\nc\nd\n");
    }
}
