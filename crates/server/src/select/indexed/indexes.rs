//! The index objects of a version of an object, and which of them can be relied on.

use std::ops::Range;

use sluicegate_evaluator::ObjectSource as _;
use sluicegate_index::layout::{FormatMessage, LEAST_BYTES, LinesMessage, TRAILER, TopMessage};
use sluicegate_index::name::{FOLDER, Name, Tag};
use sluicegate_s3select::request::CsvInput;

use crate::select::answer::Snapshot;
use crate::store::{Object, PageRequest, Store};

/// Index objects that are looked at in a listing, those of former versions included.
const MAX_LISTED: usize = 256;
/// Index objects that are opened for a statement.
const MAX_OPEN: usize = 64;
/// The bytes of the tops of all of them. A top of one MiB is that of some million records.
const MAX_TOP_BYTES: u64 = 4 << 20;

/// The indexes of an object that a statement may use.
pub(super) struct Indexes {
    /// How the object is read.
    pub(super) format: FormatMessage,
    /// What its lines are like.
    pub(super) lines: LinesMessage,
    /// One for each column that has one.
    pub(super) all: Vec<Index>,
    /// Bytes that were read of index objects.
    pub(super) bytes_read: u64,
}

/// An index object that is open.
pub(super) struct Index {
    object: Object,
    /// Its top.
    pub(super) top: TopMessage,
    /// The place of its column in a record.
    pub(super) column: usize,
    /// What its keys stand for.
    pub(super) keys: Keys,
}

/// What keys stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// Text, byte for byte.
    Text,
    /// Whole numbers of at most 64 bits.
    Integers,
}

impl Keys {
    /// Of a column's type, as index objects call it, if statements compare such values as the keys do.
    fn of_type(name: &str) -> Option<Self> {
        match name {
            "Utf8" => Some(Self::Text),
            "Int8" | "Int16" | "Int32" | "Int64" | "UInt8" | "UInt16" | "UInt32" => {
                Some(Self::Integers)
            }
            // Those beyond 63 bits are none in S3 Select.
            _ => None,
        }
    }
}

impl Indexes {
    /// The indexes of a snapshot of an object, of which the request says how it is read. None if there is
    /// not one.
    pub(super) fn open(
        store: &Store,
        bucket: &str,
        key: &str,
        snapshot: &Snapshot,
        csv: &CsvInput,
    ) -> Option<Self> {
        let folder = format!("{FOLDER}/{key}/");
        let request = PageRequest {
            prefix: folder.clone(),
            delimiter: Some("/".to_owned()),
            max_keys: MAX_LISTED,
            ..PageRequest::default()
        };
        let version = Tag::of_version(snapshot.etag(), snapshot.len());
        let is_fresh = |key: &str| {
            let name = key.strip_prefix(&folder).and_then(Name::parse);
            name.is_some_and(|name| name.is_of_version(version))
        };
        let listed = store.list(bucket, &request).ok()?.entries;
        let fresh = listed.into_iter().map(|entry| entry.key).filter(|key| is_fresh(key));
        let mut found: Option<Self> = None;
        let mut bytes_read = 0;
        for name in fresh.take(MAX_OPEN) {
            let Ok(object) = store.get(bucket, &name) else { continue };
            let Some(top) = read_top(&object, MAX_TOP_BYTES.saturating_sub(bytes_read)) else {
                tracing::info!(bucket, name, "the index is damaged, or too large");
                continue;
            };
            bytes_read += top.1;
            let about =
                top.0.data == key && top.0.e_tag == snapshot.etag() && top.0.size == snapshot.len();
            if let (true, Some((index, format, lines))) = (about, usable(object, top.0, csv)) {
                let all = found.get_or_insert_with(|| Self {
                    format: format.clone(),
                    lines: lines.clone(),
                    all: Vec::new(),
                    bytes_read: 0,
                });
                let known = all.all.iter().any(|known| known.column == index.column);
                if !known && all.format == format && all.lines == lines {
                    all.all.push(index);
                }
            }
        }
        found.map(|found| Self { bytes_read, ..found })
    }
}

impl Index {
    /// Reads a range of the index object.
    pub(super) fn read(&self, range: Range<u64>) -> Option<Vec<u8>> {
        read(&self.object, range)
    }

    /// Whether the index object is still the one that was opened.
    pub(super) fn is_unchanged(&self) -> bool {
        self.object.is_unchanged()
    }
}

/// The index, if it is about objects that are read as a request says, and those are read alike by
/// everybody.
fn usable(
    object: Object,
    top: TopMessage,
    csv: &CsvInput,
) -> Option<(Index, FormatMessage, LinesMessage)> {
    let (format, lines) = (top.format.clone()?, top.lines.clone()?);
    let column = usize::try_from(top.position).ok()?;
    let keys = Keys::of_type(&top.column_type)?;
    let inside = lines.first_bytes <= top.size;
    (inside && reads_alike(&format, &lines, csv)).then_some(())?;
    Some((Index { object, top, column, keys }, format, lines))
}

/// Whether a request reads the object as the index was made.
fn reads_alike(format: &FormatMessage, lines: &LinesMessage, csv: &CsvInput) -> bool {
    const CSV: u32 = 0;
    let own = format.escape.is_some() || format.comment.is_some() || format.terminator.is_some();
    let comments = match csv.comments {
        None => true,
        Some('#') => !lines.hashes,
        Some(_) => false,
    };
    format.kind == CSV
        && !own
        && comments
        && csv.record_delimiter == "\n"
        && csv.field_delimiter.chars().map(u32::from).eq([format.delimiter])
        && csv.quote.map(u32::from) == Some(format.quote)
        && csv.quote_escape.is_none_or(|escape| Some(escape) == csv.quote)
}

/// The top of an index object, and how many bytes were read; at most so many.
fn read_top(object: &Object, most: u64) -> Option<(TopMessage, u64)> {
    let size = object.size;
    if size < LEAST_BYTES {
        return None;
    }
    let tail_of = |bytes: u64| {
        let allowed = bytes <= most.min(size);
        allowed.then(|| read(object, size - bytes..size)).flatten()
    };
    let trailer = tail_of(TRAILER as u64)?;
    let needed = TopMessage::tail_bytes(&trailer).ok()? as u64;
    let tail = tail_of(needed)?;
    Some((TopMessage::of_tail(&tail, size).ok()?, needed))
}

/// A range of an object, all of it.
fn read(object: &Object, range: Range<u64>) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(range.end.checked_sub(range.start)?).ok()?];
    let mut filled = 0;
    while filled < bytes.len() {
        match object.read_at(range.start + filled as u64, &mut bytes[filled..]) {
            Ok(0) => return None,
            Ok(more) => filled += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_that_are_read_as_the_index_was_made() {
        let format = FormatMessage {
            columns: 2,
            delimiter: u32::from(b','),
            quote: u32::from(b'"'),
            ..FormatMessage::default()
        };
        let lines = LinesMessage::default();
        let csv = CsvInput::default();
        assert!(reads_alike(&format, &lines, &csv));
        let hashes = LinesMessage { hashes: true, ..lines.clone() };
        assert!(!reads_alike(&format, &hashes, &csv));
        assert!(reads_alike(&format, &hashes, &CsvInput { comments: None, ..csv.clone() }));
        for other in [
            CsvInput { comments: Some(';'), ..csv.clone() },
            CsvInput { field_delimiter: ";".to_owned(), ..csv.clone() },
            CsvInput { record_delimiter: "\r\n".to_owned(), ..csv.clone() },
            CsvInput { quote: None, ..csv.clone() },
            CsvInput { quote: Some('\''), ..csv.clone() },
            CsvInput { quote_escape: Some('\\'), ..csv.clone() },
        ] {
            assert!(!reads_alike(&format, &lines, &other), "{other:?}");
        }
        for other in [
            FormatMessage { escape: Some(92), ..format.clone() },
            FormatMessage { comment: Some(35), ..format.clone() },
            FormatMessage { terminator: Some(10), ..format.clone() },
            FormatMessage { kind: 1, ..format.clone() },
        ] {
            assert!(!reads_alike(&other, &lines, &csv), "{other:?}");
        }
    }

    #[test]
    fn types_whose_order_may_differ_are_left_out() {
        for name in ["UInt64", "Float64", "Date32", "Timestamp(Nanosecond, None)", ""] {
            assert_eq!(Keys::of_type(name), None, "{name}");
        }
    }
}
