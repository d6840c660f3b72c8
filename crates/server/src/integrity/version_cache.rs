//! A bounded memory of the results for versions of objects.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::time::SystemTime;

use crate::store::Object;

use super::BackgroundCheck;

/// The minimum number of versions that are remembered. The maximum is twice that, in about 4 MiB.
const GENERATION: usize = 32_768;

/// A version of an object, with its stored checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Version {
    inode: u64,
    size: u64,
    modified: SystemTime,
    crc64: u64,
}

impl Version {
    /// Returns the version of an object; `None` if it has no stored checksum.
    pub(super) fn from_object(object: &Object) -> Option<Self> {
        let crc64 = object.meta.crc64?;
        let Object { inode, size, modified, .. } = *object;
        Some(Self { inode, size, modified, crc64 })
    }

    pub(super) fn has(&self, crc64: u64) -> bool {
        self.crc64 == crc64
    }
}

/// The result for a version.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    Whole,
    Damaged,
    Running(Arc<BackgroundCheck>),
}

/// The most recently used versions, in two generations. A look-up moves a version to the younger one.
#[derive(Debug, Default)]
pub(super) struct VersionCache {
    young: HashMap<Version, Entry>,
    old: HashMap<Version, Entry>,
}

impl VersionCache {
    pub(super) fn get(&mut self, version: &Version) -> Option<Entry> {
        if let Some(entry) = self.young.get(version) {
            return Some(entry.clone());
        }
        let entry = self.old.remove(version)?;
        self.set(*version, entry.clone());
        Some(entry)
    }

    pub(super) fn set(&mut self, version: Version, entry: Entry) {
        if self.young.len() >= GENERATION && !self.young.contains_key(&version) {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(version, entry);
        self.old.remove(&version);
    }

    pub(super) fn remove(&mut self, version: &Version) {
        self.young.remove(version);
        self.old.remove(version);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_remembered() {
        let version = |inode: usize| Version {
            inode: inode as u64,
            size: 1,
            modified: SystemTime::UNIX_EPOCH,
            crc64: 1,
        };
        let mut known = VersionCache::default();
        known.set(version(0), Entry::Damaged);
        for inode in 1..5 * GENERATION {
            known.set(version(inode), Entry::Whole);
            if inode % 1000 == 0 {
                assert!(matches!(known.get(&version(0)), Some(Entry::Damaged)), "{inode}");
            }
        }
        assert!(known.young.len() + known.old.len() <= 2 * GENERATION);
        let last = 5 * GENERATION - 1;
        assert!(matches!(known.get(&version(last)), Some(Entry::Whole)));
        assert!(known.get(&version(1)).is_none());
        known.remove(&version(last));
        assert!(known.get(&version(last)).is_none());
    }
}
