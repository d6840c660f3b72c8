//! Limits the length of records, because a small compressed file may contain a line of any length.

use std::sync::Arc;

use memchr::memrchr2;
use object_store::ObjectStore;

use super::byte_observer::{ByteObserver, watched};
use crate::context::error::{ErrorKind, UserError};

/// The bytes of a CSV record when nothing is known about it.
pub(crate) const DEFAULT_RECORD_BYTES: f64 = 100.0;

/// The maximum number of bytes of a record, or of a line of CSV: 256 MiB.
pub(crate) const MOST_BYTES: usize = 256 << 20;

/// Returns the error of a record that is too long, in the file at `place`.
pub(crate) fn too_long(place: &str) -> UserError {
    let file = place.strip_prefix("file://").or_else(|| place.strip_prefix("file:"));
    let place = file.unwrap_or(place);
    UserError {
        kind: ErrorKind::Data,
        message: format!("a record of {place} has more than {} MiB", MOST_BYTES >> 20),
        hint: Some(
            "Check what the file is: it may have no line ends, or be compressed twice.".to_owned(),
        ),
    }
}

/// Wraps the store of one CSV file so that reading fails at a line that is too long.
pub(crate) fn limited(store: Arc<dyn ObjectStore>, place: &str) -> Arc<dyn ObjectStore> {
    watched(store, Lines { bytes: 0, place: place.to_owned() })
}

#[derive(Debug)]
struct Lines {
    /// The number of bytes since the last line end.
    bytes: usize,
    place: String,
}

impl ByteObserver for Lines {
    type Error = UserError;

    fn pass(&mut self, _: u64, bytes: &[u8]) -> Result<(), UserError> {
        self.bytes = match memrchr2(b'\n', b'\r', bytes) {
            Some(end) => bytes.len() - end - 1,
            None => self.bytes.saturating_add(bytes.len()),
        };
        if self.bytes > MOST_BYTES { Err(too_long(&self.place)) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_without_an_end_is_refused() {
        let part = vec![b'x'; 32 << 20];
        let mut lines = Lines { bytes: 0, place: "file:///a.csv.gz".to_owned() };
        for _ in 0..8 {
            lines.pass(0, &part).unwrap();
        }
        let said = lines.pass(0, b"x").unwrap_err().to_string();
        assert_eq!(said, "a record of /a.csv.gz has more than 256 MiB");
        let mut lines = Lines { bytes: 0, place: String::new() };
        for _ in 0..20 {
            lines.pass(0, &part).unwrap();
            lines.pass(0, b"x\nx").unwrap();
        }
    }
}
