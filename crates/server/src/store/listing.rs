//! Listings, which return the keys of a bucket in byte order, a page at a time.
//!
//! The folder's tree is walked in key order. All keys of a directory start with its name and a slash, so entries are
//! sorted by that (`a.csv` before `a/b` before `a0`). A directory is read only when a page reaches it. Directories
//! before the page's start, outside its prefix, or within a common prefix that was already listed are skipped. Memory
//! is limited to one window (`window`) for each directory on the path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use s3s::S3Result;

use super::object::{Head, ObjectFile, directory_of_prefix, is_absent};
use super::paths::MAX_KEY;
use super::window::{Window, past};
use super::{Store, storage_error};

/// The parameters of a listing.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageRequest {
    pub(crate) prefix: String,
    /// The delimiter. Keys that are equal up to its first occurrence after the prefix are combined to a common
    /// prefix.
    pub(crate) delimiter: Option<String>,
    /// The end of the previous page. Keys and common prefixes up to this one are left out.
    pub(crate) after: String,
    pub(crate) max_keys: usize,
}

/// A page of a listing.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) entries: Vec<Entry>,
    pub(crate) common_prefixes: Vec<String>,
    /// The key or common prefix after which the next page begins. `None` on the last page.
    pub(crate) next: Option<String>,
}

/// An object in a listing.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) head: Head,
}

impl Store {
    /// Returns a page of a bucket's keys.
    pub(crate) fn list(&self, bucket: &str, request: &PageRequest) -> S3Result<Page> {
        let directory = self.bucket(bucket)?;
        if request.max_keys == 0 {
            return Ok(Page::default());
        }
        let mut walk = Walk::new(&directory, request, self).map_err(storage_error)?;
        let mut page = Page::default();
        let mut last = String::new();
        let mut count = 0;
        while let Some((key, path)) = walk.next().map_err(storage_error)? {
            let common = request.common_prefix(&key);
            let entry = match common {
                Some(_) => None,
                None => match self.entry(bucket, &key, &path).map_err(storage_error)? {
                    Some(entry) => Some(entry),
                    // The object was removed after its directory was read.
                    None => continue,
                },
            };
            if count == request.max_keys {
                page.next = Some(last);
                break;
            }
            count += 1;
            if let Some(common) = common {
                last = common.clone();
                walk.bound = Bound::PastPrefix(common.clone());
                page.common_prefixes.push(common);
            } else if let Some(entry) = entry {
                last = key;
                page.entries.push(entry);
            }
        }
        Ok(page)
    }

    fn entry(&self, bucket: &str, key: &str, path: &Path) -> io::Result<Option<Entry>> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                let found = ObjectFile { path: path.to_owned(), metadata };
                match self.describe(bucket, key, &found) {
                    Ok(head) => Ok(Some(Entry { key: key.to_owned(), head })),
                    Err(e) if is_absent(&e) => Ok(None),
                    Err(e) => Err(e),
                }
            }
            Ok(_) => Ok(None),
            Err(e) if is_absent(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl PageRequest {
    /// Returns the common prefix of a key.
    fn common_prefix(&self, key: &str) -> Option<String> {
        let delimiter = self.delimiter.as_deref().filter(|d| !d.is_empty())?;
        let rest = key.strip_prefix(&self.prefix)?;
        let end = self.prefix.len() + rest.find(delimiter)? + delimiter.len();
        Some(key[..end].to_owned())
    }

    fn bound(&self) -> Bound {
        // A common prefix is listed once, by the page that contains it. It is not listed at all if the listing starts
        // within it.
        match self.common_prefix(&self.after) {
            Some(common) => Bound::PastPrefix(common),
            None => Bound::After(self.after.clone()),
        }
    }
}

/// The lower bound of the keys.
#[derive(Debug)]
enum Bound {
    After(String),
    /// The keys after all those with this prefix.
    PastPrefix(String),
}

impl Bound {
    fn admits(&self, key: &str) -> bool {
        match self {
            Self::After(after) => after.is_empty() || key > after.as_str(),
            Self::PastPrefix(past) => key > past.as_str() && !key.starts_with(past),
        }
    }

    /// Returns true if a key is to be listed. For a directory, returns true if that may hold for a key in it.
    fn wants(&self, prefix: &str, key: &str, is_directory: bool) -> bool {
        if key.len() > MAX_KEY {
            false
        } else if is_directory {
            (key.starts_with(prefix) || prefix.starts_with(key)) && self.may_admit_under(key)
        } else {
            key.starts_with(prefix) && self.admits(key)
        }
    }

    /// Returns the first name that may lead to an admitted key, in a directory whose keys start with `base`. `None`
    /// if no name does.
    fn from(&self, base: &str) -> Option<Vec<u8>> {
        if !self.may_admit_under(base) {
            return None;
        }
        let (Self::After(bound) | Self::PastPrefix(bound)) = self;
        let Some(rest) = bound.strip_prefix(base) else { return Some(Vec::new()) };
        let segment = segment_of(rest);
        match self {
            Self::PastPrefix(_) if segment == rest => past(rest.as_bytes()),
            _ => Some(segment.as_bytes().to_owned()),
        }
    }

    /// Returns true if a key that starts with `prefix` may be admitted.
    fn may_admit_under(&self, prefix: &str) -> bool {
        match self {
            Self::After(after) => prefix > after.as_str() || after.starts_with(prefix),
            Self::PastPrefix(past) => {
                !prefix.starts_with(past) && (prefix > past.as_str() || past.starts_with(prefix))
            }
        }
    }
}

/// A walk over a bucket's tree in key order.
struct Walk<'a> {
    prefix: &'a str,
    bound: Bound,
    store: &'a Store,
    /// The directories on the path, from the top.
    levels: Vec<Level>,
}

/// The position in one directory of the walk.
struct Level {
    directory: PathBuf,
    /// The text that all its keys start with.
    base: String,
    window: Arc<Window>,
    /// The index of the next name in the window.
    at: usize,
}

impl<'a> Walk<'a> {
    fn new(bucket: &Path, request: &'a PageRequest, store: &'a Store) -> io::Result<Self> {
        let mut walk =
            Self { prefix: &request.prefix, bound: request.bound(), store, levels: Vec::new() };
        let (top, base) = directory_of_prefix(bucket, &request.prefix);
        if is_inside(bucket, &top) {
            walk.descend(top, base)?;
        }
        Ok(walk)
    }

    fn next(&mut self) -> io::Result<Option<(String, PathBuf)>> {
        while let Some(level) = self.levels.last_mut() {
            let Some(name) = level.window.names.get(level.at) else {
                match level.window.names.last() {
                    Some(last) if !level.window.complete => {
                        let mut from = last.segment.as_bytes().to_owned();
                        from.push(0);
                        self.move_to(&from)?;
                    }
                    _ => drop(self.levels.pop()),
                }
                continue;
            };
            level.at += 1;
            let key = format!("{}{}", level.base, name.segment);
            if key.as_str() > self.prefix && !key.starts_with(self.prefix) {
                // All following keys are greater, too.
                self.levels.pop();
            } else if self.bound.wants(self.prefix, &key, name.is_directory()) {
                let path = level.directory.join(name.file_name());
                if !name.is_directory() {
                    return Ok(Some((key, path)));
                }
                self.descend(path, key)?;
            } else {
                match self.bound.from(&level.base) {
                    // There may be many such names, so they are skipped at once.
                    Some(from) if name.segment.as_bytes() < from.as_slice() => {
                        self.move_to(&from)?
                    }
                    Some(_) => {}
                    None => drop(self.levels.pop()),
                }
            }
        }
        Ok(None)
    }

    /// Enters a directory whose keys start with `base`.
    fn descend(&mut self, directory: PathBuf, base: String) -> io::Result<()> {
        let after = self.bound.from(&base);
        let prefix = self.prefix.strip_prefix(&base).map(|rest| segment_of(rest).to_owned());
        let Some(from) = after else { return Ok(()) };
        let from = from.max(prefix.unwrap_or_default().into_bytes());
        let window = self.store.windows.get(&directory, &from, &self.store.names)?;
        let at = window.seek(&from);
        self.levels.push(Level { directory, base, window, at });
        Ok(())
    }

    /// Moves to a later name in the current directory.
    fn move_to(&mut self, from: &[u8]) -> io::Result<()> {
        let Some(level) = self.levels.last_mut() else { return Ok(()) };
        if level.window.seek(from) == level.window.names.len() && !level.window.complete {
            level.window = self.store.windows.get(&level.directory, from, &self.store.names)?;
        }
        level.at = level.window.seek(from);
        Ok(())
    }
}

/// Returns the first segment of a key, including its final slash.
fn segment_of(key: &str) -> &str {
    key.find('/').map_or(key, |slash| &key[..=slash])
}

/// Returns true if all directories from `bucket` to `top` exist and none is a symbolic link.
fn is_inside(bucket: &Path, top: &Path) -> bool {
    let Ok(below) = top.strip_prefix(bucket) else { return false };
    let mut at = bucket.to_owned();
    below.components().all(|component| {
        at.push(component);
        fs::symlink_metadata(&at).is_ok_and(|found| found.is_dir())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::window::Windows;
    use super::super::{Meta, WriteConditions};

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), false).unwrap();
        store.create_bucket("bucket").unwrap();
        (folder, store)
    }

    fn put(store: &Store, key: &str) {
        let mut draft = store.draft([], None).unwrap();
        draft.write(key.as_bytes()).unwrap();
        let meta = Meta { etag: key.len().to_string(), ..Meta::default() };
        let always = WriteConditions::default();
        store.commit("bucket", key, draft.finish().unwrap(), meta, &always).unwrap();
    }

    /// Computes the expected page naively.
    fn model(keys: &BTreeSet<String>, request: &PageRequest) -> (Vec<String>, Vec<String>, bool) {
        let (mut found, mut prefixes) = (Vec::new(), Vec::<String>::new());
        for key in keys {
            let Some(rest) = key.strip_prefix(&request.prefix) else { continue };
            let delimiter = request.delimiter.as_deref().unwrap_or("\u{1}");
            let (name, list) = match rest.find(delimiter) {
                Some(at) => (&key[..request.prefix.len() + at + delimiter.len()], &mut prefixes),
                None => (key.as_str(), &mut found),
            };
            if name > request.after.as_str() && list.last().is_none_or(|last| last != name) {
                if request.max_keys == found.len() + prefixes.len() {
                    return (found, prefixes, request.max_keys > 0);
                }
                let list = if rest.contains(delimiter) { &mut prefixes } else { &mut found };
                list.push(name.to_owned());
            }
        }
        (found, prefixes, false)
    }

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            6 => "[ab/.~%-]{1,6}",
            2 => "(a|b|c)(/(a|b|\\.|\\.\\.|)){0,4}",
            1 => "(x{250,260}|y)(/z{256,300})?",
            1 => "\\PC{1,8}",
        ]
    }

    fn request() -> impl Strategy<Value = PageRequest> {
        let prefix = prop_oneof!["", "[ab/.]{0,3}", "a/", "x{250,255}"];
        let delimiter = prop_oneof![Just(None), Just(Some("/")), Just(Some("a")), Just(Some("//"))];
        let after = prop_oneof![3 => Just(String::new()), 1 => key()];
        (prefix, delimiter, after, 0_usize..7).prop_map(|(prefix, delimiter, after, max_keys)| {
            PageRequest { prefix, delimiter: delimiter.map(str::to_owned), after, max_keys }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn every_page_is_what_a_sorted_set_gives(
            keys in prop::collection::btree_set(key(), 0..24),
            removed in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
            requests in prop::collection::vec(request(), 1..12),
            window in 1_usize..1500,
        ) {
            let (_folder, mut store) = store();
            store.windows = Windows::new(window);
            let mut order: Vec<_> = keys.iter().cloned().collect();
            // Directories are created both before and after files of their names.
            order.sort_by_key(|key| (key.len() % 3, key.clone()));
            for key in &order {
                put(&store, key);
            }
            let mut keys = keys;
            for index in removed.iter().filter(|_| !order.is_empty()) {
                let key = index.get(&order);
                store.delete("bucket", key, &WriteConditions::default()).unwrap();
                keys.remove(key);
            }
            for key in &order {
                let found = store.get("bucket", key);
                prop_assert_eq!(found.is_ok(), keys.contains(key), "{:?}", key);
                if let Ok(object) = found {
                    let text = io::read_to_string(&object.file).unwrap();
                    prop_assert_eq!(&text, key);
                    prop_assert_eq!(object.meta.etag, key.len().to_string());
                }
            }
            for mut request in requests {
                let mut pages = 0;
                loop {
                    let page = store.list("bucket", &request).unwrap();
                    let (found, prefixes, more) = model(&keys, &request);
                    let listed: Vec<_> = page.entries.iter().map(|e| e.key.clone()).collect();
                    prop_assert_eq!(listed, found, "{:?}", &request);
                    prop_assert_eq!(page.common_prefixes, prefixes, "{:?}", &request);
                    prop_assert_eq!(page.next.is_some(), more, "{:?}", &request);
                    pages += 1;
                    prop_assert!(pages <= 64);
                    match page.next {
                        Some(next) => request.after = next,
                        None => break,
                    }
                }
            }
            for key in &order {
                store.delete("bucket", key, &WriteConditions::default()).unwrap();
            }
            store.delete_bucket("bucket").unwrap();
        }
    }

    #[test]
    fn files_put_there_by_hand_are_objects() {
        let (folder, store) = store();
        let bucket = folder.path().join("bucket");
        fs::create_dir_all(bucket.join("t/empty")).unwrap();
        fs::write(bucket.join("t/1.csv"), "1\n").unwrap();
        fs::write(bucket.join("~%nonsense"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc", bucket.join("link")).unwrap();
        let all = PageRequest { max_keys: 10, ..PageRequest::default() };
        let page = store.list("bucket", &all).unwrap();
        let keys: Vec<_> = page.entries.iter().map(|e| e.key.as_str()).collect();
        assert_eq!(keys, ["t/1.csv"]);
        let etag = store.head("bucket", "t/1.csv").unwrap().meta.etag;
        assert!(etag.ends_with("-1"), "{etag}");
        assert_eq!(page.entries[0].head.meta.etag, etag);
        fs::write(bucket.join("t/1.csv"), "1\n2\n").unwrap();
        assert_ne!(store.head("bucket", "t/1.csv").unwrap().meta.etag, etag);
        for key in ["link/passwd", "t", "~%nonsense", "t/empty"] {
            assert_eq!(store.get("bucket", key).unwrap_err().code().as_str(), "NoSuchKey", "{key}");
        }
        let mut draft = store.draft([], None).unwrap();
        draft.write(b"x").unwrap();
        let (meta, always) = (Meta::default(), WriteConditions::default());
        let error =
            store.commit("bucket", "link/x", draft.finish().unwrap(), meta, &always).unwrap_err();
        assert_eq!(error.code().as_str(), "AccessDenied");
    }
}
