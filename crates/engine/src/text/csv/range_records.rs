//! Detects values with line ends in CSV files that are read in parts.
//!
//! DataFusion cuts a file at any line end, even inside a quoted value. Parts are adjacent: the next one begins where
//! the one before ends. Each part is read as if it began outside of quotes. If each of them then ends outside of
//! quotes, all of them do begin there. Otherwise the first part that does not was cut within a value.

use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;
use object_store::ObjectStore;

use super::open_quote::unclosed;
use super::quotes::Quotes;
use crate::context::error::{ErrorKind, UserError};
use crate::text::byte_observer::{ByteObserver, watched};
use crate::text::json::bom::MARK;

/// The hint for a value that a part of a file cuts.
const LINE_ENDS: &str = "Say that values have line ends, so that files are not read in parts: read_csv('…', \
     newlines_in_values => true), or OPTIONS ('format.newlines_in_values' 'true').";

/// Wraps the store of one part of a file, so that reading fails if the part ends within a value. `place` names the
/// part.
pub(crate) fn checked(
    store: Arc<dyn ObjectStore>,
    quotes: Quotes,
    terminator: u8,
    part: Range<u64>,
    size: u64,
    place: String,
) -> Arc<dyn ObjectStore> {
    let part = RangeCursor {
        quotes,
        terminator,
        end: if part.end < size { part.end } else { u64::MAX },
        begun: part.start == 0,
        ended: false,
        first: part.start,
    };
    watched(store, WholeRecords { part, place })
}

#[derive(Debug)]
struct WholeRecords {
    part: RangeCursor,
    place: String,
}

impl ByteObserver for WholeRecords {
    type Error = UserError;

    fn pass(&mut self, at: u64, bytes: &[u8]) -> Result<(), UserError> {
        match self.part.ends_in_record(at, bytes) {
            false => Ok(()),
            true => Err(UserError {
                kind: ErrorKind::Data,
                message: format!(
                    "a value has line ends, or a quote is never closed, in {}, which was read in parts",
                    self.place
                ),
                hint: Some(LINE_ENDS.to_owned()),
            }),
        }
    }

    fn end(&mut self) -> Result<(), UserError> {
        match self.part.opening() {
            None => Ok(()),
            Some(opening) => Err(unclosed(&self.place, &format!("at byte {opening}"))),
        }
    }
}

/// The lines that DataFusion reads of a part.
#[derive(Debug)]
struct RangeCursor {
    quotes: Quotes,
    terminator: u8,
    /// The part ends with the first line end at or behind the byte before this offset.
    end: u64,
    begun: bool,
    ended: bool,
    /// The offset of the first byte that was passed to `quotes`.
    first: u64,
}

impl RangeCursor {
    /// Returns the offset of the quote that is open at the end of the part, or `None` if none is.
    fn opening(&self) -> Option<u64> {
        self.quotes.opening().map(|opening| self.first + opening)
    }

    /// Passes bytes of the file, the first of which is at the offset `at`. Returns true if the part ended within
    /// quotes.
    fn ends_in_record(&mut self, at: u64, bytes: &[u8]) -> bool {
        let (mut at, mut rest) = (at, bytes);
        if !self.begun {
            let Some(line) = memchr(self.terminator, rest) else { return false };
            rest = &rest[line + 1..];
            at += line as u64 + 1;
            (self.begun, self.ended, self.first) = (true, at >= self.end, at);
        } else if at == 0 {
            rest = rest.strip_prefix(&MARK).unwrap_or(rest);
            at = (bytes.len() - rest.len()) as u64;
            self.first = at;
        }
        if self.ended || rest.is_empty() {
            return false;
        }
        let before_end = usize::try_from((self.end - 1).saturating_sub(at)).unwrap_or(usize::MAX);
        let end = rest.get(before_end..).and_then(|rest| memchr(self.terminator, rest));
        let lines = end.map_or(rest, |end| &rest[..=before_end + end]);
        self.quotes.pass(lines);
        self.ended = end.is_some();
        self.ended && self.quotes.are_open()
    }
}
