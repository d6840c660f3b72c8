//! Parts of CSV files that are read at the same time, and values with line ends.
//!
//! DataFusion takes any line end for the end of a record where it cuts a file. Parts follow one another: where
//! one ends, the next one begins. So if each part, read as one that begins outside of quotes, ends outside of
//! them, all of them do begin there; the first that does not was cut within a value.

use std::ops::Range;
use std::sync::Arc;

use memchr::memchr;
use object_store::ObjectStore;

use super::byte_order_mark::MARK;
use super::quotes::Quotes;
use super::watched::{Watch, watched};
use crate::error::{ErrorKind, UserError};

/// The hint for a value that a part of a file cuts.
const LINE_ENDS: &str = "Say that values have line ends, so that files are not read in parts: read_csv('…', \
     newlines_in_values => true), or OPTIONS ('format.newlines_in_values' 'true').";

/// A store that is asked for one part of a file, and fails where the part ends within a value. `place` names
/// the part.
pub fn checked(
    store: Arc<dyn ObjectStore>,
    quotes: Quotes,
    terminator: u8,
    part: Range<u64>,
    size: u64,
    place: String,
) -> Arc<dyn ObjectStore> {
    let part = Part {
        quotes,
        terminator,
        end: if part.end < size { part.end } else { u64::MAX },
        begun: part.start == 0,
        ended: false,
    };
    watched(store, WholeRecords { part, place })
}

#[derive(Debug)]
struct WholeRecords {
    part: Part,
    place: String,
}

impl Watch for WholeRecords {
    type Error = UserError;

    fn pass(&mut self, at: u64, bytes: &[u8]) -> Result<(), UserError> {
        match self.part.ends_within(at, bytes) {
            false => Ok(()),
            true => Err(UserError {
                kind: ErrorKind::Data,
                message: format!(
                    "a value has line ends, in {}, which was read in parts",
                    self.place
                ),
                hint: Some(LINE_ENDS.to_owned()),
            }),
        }
    }
}

/// The lines that DataFusion reads of a part.
#[derive(Debug)]
struct Part {
    quotes: Quotes,
    terminator: u8,
    /// The part ends with the first line end behind the byte before this one.
    end: u64,
    begun: bool,
    ended: bool,
}

impl Part {
    /// Goes on with bytes of the file, the first of which is at `at`. Returns whether the part ended
    /// within quotes.
    fn ends_within(&mut self, at: u64, bytes: &[u8]) -> bool {
        let (mut at, mut rest) = (at, bytes);
        if !self.begun {
            let Some(line) = memchr(self.terminator, rest) else { return false };
            rest = &rest[line + 1..];
            at += line as u64 + 1;
            (self.begun, self.ended) = (true, at >= self.end);
        } else if at == 0 {
            rest = rest.strip_prefix(&MARK).unwrap_or(rest);
            at = (bytes.len() - rest.len()) as u64;
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
