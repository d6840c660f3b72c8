//! Notes for the user about statements that succeed.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::context::error::rooted;

/// The maximum number of notes that are kept; the oldest are dropped first.
const KEPT: usize = 100;

/// Sentences for the user, such as the objects that a table does not read. The engine collects them, and its caller
/// shows them.
#[derive(Debug, Default)]
pub struct Notes {
    kept: Mutex<VecDeque<String>>,
}

impl Notes {
    /// Adds a sentence, unless it is already present.
    pub fn add(&self, note: String) {
        let note = rooted(&note).into_owned();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.contains(&note) {
            return;
        }
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(note);
    }

    /// Removes and returns the notes that were added since the last call, the oldest first.
    #[must_use]
    pub fn take(&self) -> Vec<String> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }
}

/// Formats up to three names, and the number of the others: `a, b, c and 4 more`.
pub(crate) fn some_of<T: std::fmt::Display>(names: &[T]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(SHOWN);
    let shown = shown.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_taken_once_and_bounded() {
        let notes = Notes::default();
        for n in 0..KEPT + 2 {
            notes.add(n.to_string());
            notes.add(n.to_string());
        }
        let taken = notes.take();
        assert_eq!((taken.len(), taken[0].as_str()), (KEPT, "2"));
        assert!(notes.take().is_empty());
    }

    #[test]
    fn paths_of_files_begin_with_a_slash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "").unwrap();
        let path = path.to_str().unwrap();
        let notes = Notes::default();
        notes.add(format!("`{}` is empty", path.trim_start_matches('/')));
        assert_eq!(notes.take(), [format!("`{path}` is empty")]);
    }

    #[test]
    fn a_long_list_of_names_is_cut() {
        assert_eq!(some_of(&["a"]), "`a`");
        assert_eq!(some_of(&["a", "b", "c", "d", "e"]), "`a`, `b`, `c` and 2 more");
    }
}
