//! Finds the line of a record that cannot be parsed.

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use bytes::Bytes;
use datafusion::common::DataFusionError;
use memchr::memchr_iter;

use super::decoder;

/// The maximum number of bytes of text that are kept to find a line in.
const MOST_BYTES: usize = 64 << 20;

/// The text of the rows that are being parsed, and the number of lines before it.
pub(super) struct PendingText {
    columns: SchemaRef,
    parts: Vec<Bytes>,
    bytes: usize,
    lines: u64,
    /// True if the text is complete.
    is_whole: bool,
}

impl PendingText {
    /// Starts with an empty text, for rows of these columns.
    pub(super) fn new(columns: SchemaRef) -> Self {
        Self { columns, parts: Vec::new(), bytes: 0, lines: 0, is_whole: true }
    }

    pub(super) fn add(&mut self, part: Bytes) {
        self.bytes += part.len();
        self.parts.push(part);
        if self.bytes > MOST_BYTES {
            self.pass();
            self.is_whole = false;
        }
    }

    /// Drops the text, after its rows have been parsed.
    pub(super) fn pass(&mut self) {
        self.lines += self.parts.iter().map(|part| lines(part)).sum::<u64>();
        (self.bytes, self.is_whole) = (0, true);
        self.parts.clear();
    }

    /// Adds the line of the first record that cannot be parsed to an error, if it can be found.
    pub(super) fn located(&self, error: ArrowError) -> DataFusionError {
        let line = self.line().filter(|_| self.is_whole);
        match (error, line) {
            (ArrowError::JsonError(text), Some(line)) => {
                ArrowError::JsonError(format!("{text}, on line {line}")).into()
            }
            (error, _) => error.into(),
        }
    }

    /// Returns the line, counted from 1, on which the first record begins that cannot be parsed.
    fn line(&self) -> Option<u64> {
        let text = self.parts.concat();
        let mut decoder = decoder(self.columns.clone(), 1).ok()?;
        let mut at = 0;
        loop {
            at += text[at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
            let line = self.lines + lines(&text[..at]) + 1;
            let Ok(used) = decoder.decode(&text[at..]) else { return Some(line) };
            match decoder.flush() {
                Ok(Some(_)) if used > 0 => at += used,
                Ok(_) => return None,
                Err(_) => return Some(line),
            }
        }
    }
}

fn lines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    #[test]
    fn the_first_record_at_fault_is_found() {
        let columns = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
        for (text, line) in [
            ("{\"a\":1}\n\n{\"a\":\"x\"}\n{\"a\":\"y\"}\n", Some(3)),
            ("{\"a\":1}{\"a\":2}\n{\n\"a\":\"x\"}\n", Some(2)),
            ("{\"a\":1}\n{\"a\":2\n{\"a\":3}\n", Some(2)),
            ("{\"a\":1}\n{\"a\":", Some(2)),
            ("{\"a\":1}\n", None),
        ] {
            for piece in 1..=text.len() {
                let mut held = PendingText::new(Arc::clone(&columns));
                let parts = text.as_bytes().chunks(piece);
                parts.for_each(|part| held.add(Bytes::copy_from_slice(part)));
                assert_eq!(held.line(), line, "{text:?}, {piece}");
            }
        }
    }
}
