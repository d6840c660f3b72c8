//! The index objects of one version of an object, and the checks that they can be trusted.

use std::ops::Range;
use std::sync::Arc;

use sluicegate_evaluator::ObjectSource as _;
use sluicegate_index::layout::{FormatMessage, LEAST_BYTES, LinesMessage, TRAILER, TopMessage};
use sluicegate_index::name::{FOLDER, Kind, Name, Tag};
use sluicegate_index::statement::input::UsableIndex;
use sluicegate_s3select::request::CsvInput;

use crate::select::answer::Snapshot;
use crate::select::deadline::Deadline;
use crate::store::{Object, PageRequest, Store};

/// The maximum number of index objects in a listing, including those of former versions.
const MAX_LISTED: usize = 256;
/// The maximum number of index objects that are opened for a statement.
const MAX_OPEN: usize = 64;
/// The maximum size of all their tops together, in bytes. A top of 1 MiB belongs to some million records.
const MAX_TOP_BYTES: u64 = 4 << 20;

/// The indexes of an object that a statement can use.
pub(super) struct Indexes {
    /// The format in which the object is read.
    pub(super) format: FormatMessage,
    /// The properties of its lines.
    pub(super) lines: LinesMessage,
    /// The indexes, at most one for each column.
    pub(super) all: Vec<Index>,
    /// The bytes that were read from index objects.
    pub(super) bytes_read: u64,
}

/// An open index object.
pub(super) struct Index {
    object: Object,
    /// The watch over the statement that it is opened for.
    watch: Arc<Deadline>,
    /// The decoded top of the index object.
    pub(super) top: TopMessage,
    /// The indexed column and how it can be used.
    pub(super) usable: UsableIndex,
}

impl Indexes {
    /// Opens the indexes of a snapshot that fit the request's input options. `None` if there are none.
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
            name.is_some_and(|name| name.kind() == Kind::Blocks && name.is_of_version(version))
        };
        let listed = store.list(bucket, &request).ok()?.entries;
        let fresh = listed.into_iter().map(|entry| entry.key).filter(|key| is_fresh(key));
        let mut found: Option<Self> = None;
        let mut bytes_read = 0;
        let watch = snapshot.watch();
        for name in fresh.take(MAX_OPEN) {
            let Ok(object) = store.get(bucket, &name) else { continue };
            let most = MAX_TOP_BYTES.saturating_sub(bytes_read);
            let Some(top) = read_top(&object, most, watch) else {
                if !watch.goes_on() {
                    return None;
                }
                tracing::info!(bucket, name, "the index is damaged, or too large");
                continue;
            };
            bytes_read += top.1;
            let about =
                top.0.data == key && top.0.e_tag == snapshot.etag() && top.0.size == snapshot.len();
            let Some(usable) = UsableIndex::try_new(&top.0, csv).filter(|_| about) else {
                continue;
            };
            let (Some(format), Some(lines)) = (&top.0.format, &top.0.lines) else { continue };
            let all = found.get_or_insert_with(|| Self {
                format: format.clone(),
                lines: lines.clone(),
                all: Vec::new(),
                bytes_read: 0,
            });
            let known = all.all.iter().any(|known| known.usable.column == usable.column);
            if !known && all.format == *format && all.lines == *lines {
                let watch = Arc::clone(watch);
                all.all.push(Index { object, watch, top: top.0, usable });
            }
        }
        found.map(|found| Self { bytes_read, ..found })
    }
}

impl Index {
    /// Reads a range of the index object.
    pub(super) fn read(&self, range: Range<u64>) -> Option<Vec<u8>> {
        read(&self.object, range, &self.watch)
    }

    /// Returns true if the index object is still the one that was opened.
    pub(super) fn is_unchanged(&self) -> bool {
        self.object.is_unchanged()
    }
}

/// Reads the top of an index object. Returns it with the number of bytes read, which is at most `most`.
fn read_top(object: &Object, most: u64, watch: &Deadline) -> Option<(TopMessage, u64)> {
    let size = object.size;
    if size < LEAST_BYTES {
        return None;
    }
    let tail_of = |bytes: u64| {
        let allowed = bytes <= most.min(size);
        allowed.then(|| read(object, size - bytes..size, watch)).flatten()
    };
    let trailer = tail_of(TRAILER as u64)?;
    let needed = TopMessage::tail_bytes(&trailer).ok()? as u64;
    let tail = tail_of(needed)?;
    Some((TopMessage::of_tail(&tail, size).ok()?, needed))
}

/// Reads a range completely. `None` if that fails, or the answer of the statement is no longer wanted.
fn read(object: &Object, range: Range<u64>, watch: &Deadline) -> Option<Vec<u8>> {
    if !watch.goes_on() {
        return None;
    }
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
    fn nothing_is_looked_up_for_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        std::fs::write(&path, [7; 100]).unwrap();
        let object = Object::of_file(&path);
        let watch = Deadline::new(None);
        assert_eq!(read(&object, 1..51, &watch).unwrap(), [7; 50]);
        drop(watch.awaited());
        assert_eq!(read(&object, 1..51, &watch), None);
        assert!(read_top(&object, u64::MAX, &watch).is_none());
    }
}
