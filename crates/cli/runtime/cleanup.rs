//! A list of temporary places, for the message of a process that exits without removing them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The folders and key prefixes that exist now.
static ALL: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A temporary place that is listed until this value is dropped.
#[derive(Debug)]
pub(crate) struct Leftover(String);

impl Leftover {
    pub(crate) fn new(place: impl Into<String>) -> Self {
        let place = place.into();
        all().push(place.clone());
        Self(place)
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        let mut all = all();
        if let Some(at) = all.iter().position(|place| *place == self.0) {
            all.swap_remove(at);
        }
    }
}

/// Formats the message about places that may be left; `None` if there are none.
pub(crate) fn words() -> Option<String> {
    let all = all();
    let places: Vec<String> = all.iter().map(|place| format!("`{place}`")).collect();
    match places.as_slice() {
        [] => None,
        places => Some(format!("stopped at once, so this may be left: {}", places.join(", "))),
    }
}

fn all() -> MutexGuard<'static, Vec<String>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_is_not_named() {
        let (one, two) = (Leftover::new("s3://b/one-left/"), Leftover::new("/tmp/two-left"));
        let said = words().unwrap();
        assert!(said.contains("`s3://b/one-left/`") && said.contains("`/tmp/two-left`"), "{said}");
        drop(one);
        let said = words().unwrap();
        assert!(!said.contains("one-left") && said.contains("two-left"), "{said}");
        drop(two);
        assert!(words().is_none_or(|said| !said.contains("two-left")));
    }
}
