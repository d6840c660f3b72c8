//! The cache of facts about the beginnings of objects that a session has looked at.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use object_store::ObjectMeta;
use object_store::path::Path;

/// The bytes to look at, one after the other until they are enough.
pub(crate) const SNIFF_BYTES: [u64; 3] = [4 << 10, 64 << 10, 1 << 20];
/// The maximum number of objects that are remembered.
const MOST: usize = 128 << 10;

/// Objects in their order, in groups of as many as are expected to be needed.
#[derive(Debug)]
pub(crate) struct SniffOrder<'a> {
    left: &'a [ObjectMeta],
    seen: usize,
    records: usize,
}

/// The maximum number of objects in a group.
const TOGETHER: usize = 32;

impl<'a> SniffOrder<'a> {
    /// Starts with all of the objects.
    pub(crate) fn new(objects: &'a [ObjectMeta]) -> Self {
        Self { left: objects, seen: 0, records: 0 }
    }

    /// Returns the next objects if `wanted` more records are needed. Their number is estimated by the mean number of
    /// records so far, and is at most the number of objects seen before.
    pub(crate) fn next(&mut self, wanted: usize) -> Option<&'a [ObjectMeta]> {
        let mean = (self.records / self.seen.max(1)).max(1);
        let most = wanted.div_ceil(mean).clamp(1, TOGETHER).min(self.seen.max(1));
        let (some, left) = self.left.split_at(most.min(self.left.len()));
        self.left = left;
        (!some.is_empty()).then_some(some)
    }

    /// Records that an object had so many records.
    pub(crate) fn insert(&mut self, records: usize) {
        self.seen += 1;
        self.records += records;
    }
}

/// Facts about objects, by path and entity tag. Objects without an entity tag are not remembered.
#[derive(Debug)]
pub(crate) struct SniffCache<T> {
    told: Mutex<HashMap<(Path, String), T>>,
}

impl<T> Default for SniffCache<T> {
    fn default() -> Self {
        Self { told: Mutex::default() }
    }
}

impl<T: Clone> SniffCache<T> {
    /// Returns the fact about an object, if it is remembered.
    pub(crate) fn get(&self, object: &ObjectMeta) -> Option<T> {
        let key = (object.location.clone(), object.e_tag.clone()?);
        self.told.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    /// Remembers a fact about an object.
    pub(crate) fn learn(&self, object: &ObjectMeta, told: T) {
        let Some(e_tag) = object.e_tag.clone() else { return };
        let mut known = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert((object.location.clone(), e_tag), told);
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn so_many_objects_are_looked_at_as_are_needed() {
        let object = |number: usize| ObjectMeta {
            location: Path::from(format!("{number}")),
            last_modified: DateTime::UNIX_EPOCH,
            size: 1,
            e_tag: None,
            version: None,
        };
        let objects: Vec<_> = (0..200).map(object).collect();
        let looked = |records: usize| {
            let (mut looks, mut left, mut counts) =
                (SniffOrder::new(&objects), 1000_usize, Vec::new());
            while left > 0
                && let Some(some) = looks.next(left)
            {
                counts.push(some.len());
                for _ in some {
                    left = left.saturating_sub(records);
                    looks.insert(records);
                }
            }
            counts
        };
        assert_eq!(looked(1000), [1]);
        assert_eq!(looked(600), [1, 1]);
        assert_eq!(looked(100), [1, 1, 2, 4, 2]);
        assert_eq!(looked(1), [1, 1, 2, 4, 8, 16, 32, 32, 32, 32, 32, 8]);
        assert_eq!(looked(0).iter().sum::<usize>(), 200);
    }
}
