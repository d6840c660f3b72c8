//! Detects a quote that is never closed: DataFusion's reader takes the rest of the file for one value.

use std::sync::Arc;

use memchr::memchr_iter;
use object_store::ObjectStore;

use super::quotes::Quotes;
use crate::context::error::{ErrorKind, UserError};
use crate::text::byte_observer::{ByteObserver, watched};
use crate::text::json::bom::MARK;

/// The hint for a quote that is never closed.
const CLOSE: &str = "Close the quote; or, if quotes have no meaning in this file, name a character that it does not \
     contain: read_csv('…', quote => '~'), or OPTIONS ('format.quote' '~').";

/// Returns the error of a file at `place` that ends within quotes, which open at a line or byte named by `at`.
pub(crate) fn unclosed(place: &str, at: &str) -> UserError {
    let file = place.strip_prefix("file://").or_else(|| place.strip_prefix("file:"));
    UserError {
        kind: ErrorKind::Data,
        message: format!("a quote is never closed, {at} of {}", file.unwrap_or(place)),
        hint: Some(CLOSE.to_owned()),
    }
}

/// Wraps the store of one CSV file, which is read from its beginning, so that reading fails if it ends within quotes.
pub(crate) fn checked(
    store: Arc<dyn ObjectStore>,
    quotes: Quotes,
    place: String,
) -> Arc<dyn ObjectStore> {
    watched(store, ClosedQuotes { quotes, lines: 0, opening: 0, place })
}

#[derive(Debug)]
struct ClosedQuotes {
    quotes: Quotes,
    /// The number of line feeds so far.
    lines: u64,
    /// The number of line feeds before the quotes that are open.
    opening: u64,
    place: String,
}

impl ByteObserver for ClosedQuotes {
    type Error = UserError;

    fn pass(&mut self, at: u64, bytes: &[u8]) -> Result<(), UserError> {
        let text = match at {
            0 => bytes.strip_prefix(&MARK).unwrap_or(bytes),
            _ => bytes,
        };
        let line_feeds = |bytes| memchr_iter(b'\n', bytes).count() as u64;
        let before = self.quotes.passed();
        self.quotes.pass(text);
        // Quotes that opened in earlier bytes are counted already.
        if let Some(here) = self.quotes.opening().and_then(|opening| opening.checked_sub(before)) {
            let here = usize::try_from(here).unwrap_or(text.len()).min(text.len());
            self.opening = self.lines + line_feeds(&text[..here]);
        }
        self.lines += line_feeds(text);
        Ok(())
    }

    fn end(&mut self) -> Result<(), UserError> {
        match self.quotes.are_open() {
            false => Ok(()),
            true => Err(unclosed(&self.place, &format!("at line {}", self.opening + 1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::common::config::CsvOptions;

    use super::*;

    /// Returns the error's message for a text in pieces of this many bytes.
    fn message(text: &str, piece: usize) -> Option<String> {
        let quotes = Quotes::from_options(&CsvOptions::default()).unwrap();
        let mut check =
            ClosedQuotes { quotes, lines: 0, opening: 0, place: "file:///a.csv".into() };
        let mut at = 0;
        for piece in text.as_bytes().chunks(piece) {
            check.pass(at, piece).unwrap();
            at += piece.len() as u64;
        }
        check.end().err().map(|error| error.message)
    }

    #[test]
    fn the_line_of_an_open_quote_is_named() {
        let rows = "1,\"two\nlines\"\n".repeat(50);
        for piece in [3, 4, 64, 10_000] {
            let named = |text: &str| message(text, piece);
            let at = |line| Some(format!("a quote is never closed, at line {line} of /a.csv"));
            assert_eq!(named("\u{feff}a,b\n1,\"x\n2,y\n3,\"\"z\n"), at(2));
            assert_eq!(named(&format!("a,b\n{rows}9,\"x\"\"\n8,y\n")), at(102));
            assert_eq!(named(&format!("{rows}9,\"x\"\"\"\n8,y\n\"")), at(103));
            assert_eq!(named(&rows), None);
            assert_eq!(named(""), None);
        }
    }
}
