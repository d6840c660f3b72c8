//! Windows on the sorted names of large directories.
//!
//! A file system returns the names of a directory in no order, so finding some of them means reading all. A window
//! holds the first names from a start on that fit into 4 MiB. Choosing them takes three times that memory, however
//! many names there are. The next pages of a listing use the same window, as long as the directory is unchanged.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::names::{Name, Names};
use super::object::{inode, is_absent};
use super::paths::{LongNames, decode};

/// The memory of a window in bytes, if only one is being read.
pub(super) const WINDOW: usize = 4 << 20;
/// The maximum divisor of that size when many windows are read at once.
const SMALLEST: usize = 16;
/// The number of entries up to which a window is not kept, because reading the directory again costs nothing.
const SMALL: usize = 1000;
/// The number of windows that are kept.
const KEPT: usize = 4;
/// The time after a change of a directory within which another change may not show in its modification time.
const SETTLED: Duration = Duration::from_secs(2);

/// Some names of a directory.
#[derive(Debug)]
pub(super) struct Window {
    directory: PathBuf,
    version: Option<Version>,
    from: Vec<u8>,
    /// The names in order, none of them before `from`.
    pub(super) names: Names,
    /// The number of entries that were read to find them.
    entries: usize,
    /// True if no names follow the last one.
    pub(super) complete: bool,
}

/// The inode and modification time of a directory, which reveal a change.
type Version = (u64, SystemTime);

/// Returns the version of a directory; `None` if it was changed so recently that another change may not show.
fn version(directory: &Metadata) -> Option<Version> {
    let modified = directory.modified().ok()?;
    let settled = SystemTime::now().duration_since(modified).is_ok_and(|age| age > SETTLED);
    settled.then(|| (inode(directory), modified))
}

impl Window {
    /// Returns the index of the first name that is not before `from`.
    pub(super) fn seek(&self, from: &[u8]) -> usize {
        self.names.seek(from)
    }

    fn covers(&self, from: &[u8]) -> bool {
        let within = |last: Name<'_>| from <= last.segment.as_bytes();
        self.from.as_slice() <= from && (self.complete || self.names.last().is_some_and(within))
    }

    /// Reads a directory. The names take at most `size` bytes, but there is at least one.
    fn read(
        directory: &Path,
        from: &[u8],
        long_names: &LongNames,
        size: usize,
    ) -> io::Result<Self> {
        let mut window = Self {
            directory: directory.to_owned(),
            version: None,
            from: from.to_owned(),
            names: Names::default(),
            entries: 0,
            complete: true,
        };
        let entries = match fs::metadata(directory).and_then(|found| {
            window.version = version(&found);
            fs::read_dir(directory)
        }) {
            Ok(entries) => entries,
            Err(e) if is_absent(&e) => return Ok(window),
            Err(e) => return Err(e),
        };
        // The first name that does not fit into the window.
        let mut limit: Option<String> = None;
        for entry in entries {
            let entry = entry?;
            window.entries += 1;
            let file_name = entry.file_name();
            let Some(file_name) = file_name.to_str() else { continue };
            let is_plain = !file_name.starts_with('~');
            let is_behind = |segment: &str| limit.as_deref().is_some_and(|limit| segment >= limit);
            // The slash of a directory could only move the name further back.
            if is_plain && is_behind(file_name) {
                continue;
            }
            let Some((segment, beside)) = decoded(&entry, file_name, is_plain, long_names)? else {
                continue;
            };
            if segment.as_bytes() < from || is_behind(&segment) {
                continue;
            }
            let plain = segment.strip_suffix('/').unwrap_or(&segment);
            let spelled = (beside || plain != file_name).then_some(file_name);
            window.names.push(Name { segment: &segment, beside, spelled });
            // The names are sorted only when they fill twice the size. In total that takes about as long as sorting
            // the names kept.
            if window.names.memory() > 2 * size {
                window.names.sort();
                limit = window.names.cut(size).or(limit);
            }
        }
        window.names.sort();
        // If a file exists in both spellings, the plain one comes first and is the object.
        limit = window.names.cut(size).or(limit);
        window.names.shrink();
        window.complete = limit.is_none();
        Ok(window)
    }
}

/// Returns the segment that an entry adds to a key, and whether the entry is a file that shares its name with a
/// directory.
fn decoded(
    entry: &fs::DirEntry,
    file_name: &str,
    is_plain: bool,
    long_names: &LongNames,
) -> io::Result<Option<(String, bool)>> {
    let kind = entry.file_type()?;
    let (mut segment, beside) = if is_plain {
        (file_name.to_owned(), false)
    } else {
        match decode(file_name, long_names) {
            Some(decoded) => (decoded.segment, decoded.beside),
            None => return Ok(None),
        }
    };
    if kind.is_dir() && !beside {
        segment.push('/');
    } else if !kind.is_file() {
        return Ok(None);
    }
    Ok(Some((segment, beside)))
}

/// The most recently used windows.
#[derive(Debug)]
pub(super) struct Windows {
    kept: Mutex<Vec<Arc<Window>>>,
    size: usize,
    /// The number of windows being read.
    reading: AtomicUsize,
    /// The number of times that a directory was read.
    #[cfg(test)]
    pub(super) reads: AtomicUsize,
}

impl Windows {
    /// Creates a store of windows of this size in bytes.
    pub(super) fn new(size: usize) -> Self {
        Self {
            kept: Mutex::default(),
            size,
            reading: AtomicUsize::new(0),
            #[cfg(test)]
            reads: Default::default(),
        }
    }

    /// Returns a window with the first names of a directory that are not before `from`.
    pub(super) fn get(
        &self,
        directory: &Path,
        from: &[u8],
        long_names: &LongNames,
    ) -> io::Result<Arc<Window>> {
        let now = fs::metadata(directory).ok().and_then(|found| version(&found));
        if now.is_some() {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let found = kept.iter().position(|window| {
                window.version == now && window.directory == directory && window.covers(from)
            });
            if let Some(found) = found {
                let window = kept.remove(found);
                kept.push(Arc::clone(&window));
                return Ok(window);
            }
        }
        #[cfg(test)]
        self.reads.fetch_add(1, Ordering::Relaxed);
        let share = 1 + self.reading.fetch_add(1, Ordering::Relaxed);
        let read = Window::read(directory, from, long_names, self.size / share.min(SMALLEST));
        self.reading.fetch_sub(1, Ordering::Relaxed);
        let window = Arc::new(read?);
        if window.version.is_some() && window.entries > SMALL {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push(Arc::clone(&window));
            if kept.len() > KEPT {
                kept.remove(0);
            }
        }
        Ok(window)
    }
}

/// Returns the smallest bytes after all that start with a prefix; `None` if there are none.
pub(super) fn past(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut past = prefix.to_owned();
    while let Some(last) = past.pop() {
        if last < u8::MAX {
            past.push(last + 1);
            return Some(past);
        }
    }
    None
}
