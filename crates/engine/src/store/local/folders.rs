//! Local folders that a statement created.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

/// Folders that were created for files, and are removed if no file remains in them.
#[derive(Debug, Default)]
pub(crate) struct Folders(Mutex<BTreeSet<PathBuf>>);

impl Folders {
    /// Creates the folder of a file, and its parents.
    pub(super) fn make(&self, file: &Path) -> io::Result<()> {
        let Some(folder) = file.parent() else { return Ok(()) };
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<_> = folder.ancestors().take_while(|it| !it.exists()).collect();
        let done = fs::create_dir_all(folder);
        made.extend(missing.into_iter().filter(|it| it.exists()).map(Path::to_owned));
        done
    }

    /// Removes the folders of a missing file that are empty now, if they were created for it.
    pub(super) fn tidy(&self, file: &Path) {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for folder in file.ancestors().skip(1) {
            if !made.contains(folder) || fs::remove_dir(folder).is_err() {
                return;
            }
            made.remove(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_folders_that_were_made_go() {
        let there = tempfile::tempdir().unwrap();
        let (a, b) = (there.path().join("x/y/a"), there.path().join("x/z/b"));
        let folders = Folders::default();
        folders.make(&a).unwrap();
        folders.make(&b).unwrap();
        fs::write(&b, "b").unwrap();
        folders.tidy(&a);
        folders.tidy(&b);
        assert!(!there.path().join("x/y").exists() && b.exists());
        fs::remove_file(&b).unwrap();
        folders.tidy(&b);
        assert!(!there.path().join("x").exists());
        folders.tidy(&there.path().join("c"));
        assert!(there.path().exists());
    }
}
