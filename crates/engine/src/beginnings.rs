//! What a session remembers of the beginnings of objects that it has looked at.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use object_store::ObjectMeta;
use object_store::path::Path;

/// The bytes that are looked at: more only where these do not tell.
pub(crate) const LOOKS: [u64; 3] = [4 << 10, 64 << 10, 1 << 20];
/// How many objects are remembered, at most.
const MOST: usize = 16 << 10;

/// What looks at objects told, by the objects' names and entity tags. Objects without a tag are forgotten.
#[derive(Debug)]
pub(crate) struct Remembered<T> {
    told: Mutex<HashMap<(Path, String), T>>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self { told: Mutex::default() }
    }
}

impl<T: Clone> Remembered<T> {
    /// What is known of an object.
    pub(crate) fn of(&self, object: &ObjectMeta) -> Option<T> {
        let key = (object.location.clone(), object.e_tag.clone()?);
        self.told.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    /// Remembers what an object told.
    pub(crate) fn learn(&self, object: &ObjectMeta, told: T) {
        let Some(e_tag) = object.e_tag.clone() else { return };
        let mut known = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert((object.location.clone(), e_tag), told);
    }
}
