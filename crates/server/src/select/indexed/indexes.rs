//! The index objects of a version of an object, and which of them can be relied on.

use std::ops::Range;
use std::sync::Arc;

use sluicegate_evaluator::ObjectSource as _;
use sluicegate_index::layout::{FormatMessage, LEAST_BYTES, LinesMessage, TRAILER, TopMessage};
use sluicegate_index::name::{FOLDER, Name, Tag};
use sluicegate_index::statement::input::Usable;
use sluicegate_s3select::request::CsvInput;

use crate::select::answer::Snapshot;
use crate::select::watch::Watch;
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
    /// Over the statement that it is opened for.
    watch: Arc<Watch>,
    /// Its top.
    pub(super) top: TopMessage,
    /// What it is about.
    pub(super) usable: Usable,
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
            let Some(usable) = Usable::of(&top.0, csv).filter(|_| about) else { continue };
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

    /// Whether the index object is still the one that was opened.
    pub(super) fn is_unchanged(&self) -> bool {
        self.object.is_unchanged()
    }
}

/// The top of an index object, and how many bytes were read; at most so many.
fn read_top(object: &Object, most: u64, watch: &Watch) -> Option<(TopMessage, u64)> {
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

/// A range of an object, all of it, as long as the answer of the statement is wanted.
fn read(object: &Object, range: Range<u64>, watch: &Watch) -> Option<Vec<u8>> {
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
        let watch = Watch::new(None);
        assert_eq!(read(&object, 1..51, &watch).unwrap(), [7; 50]);
        drop(watch.awaited());
        assert_eq!(read(&object, 1..51, &watch), None);
        assert!(read_top(&object, u64::MAX, &watch).is_none());
    }
}
