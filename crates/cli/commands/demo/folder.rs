//! A temporary folder that is really gone in the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::failure::{Failure, Result};

/// How often the folder's removal is tried, and the pause in between: a write that was under way
/// when the demo was interrupted may put a file there once more.
const ATTEMPTS: usize = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// A temporary folder, removed when dropped.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    kept: bool,
}

impl Folder {
    pub(super) fn temporary() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("sluice-demo-").tempdir();
        let folder = folder.map_err(|error| {
            Failure::from(error)
                .at("cannot make a temporary folder")
                .with_hint("Name a folder that can be written to in TMPDIR.")
        })?;
        Ok(Self { path: TempDir::keep(folder), kept: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the folder where it is.
    pub(super) fn keep(&mut self) -> &Path {
        self.kept = true;
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for _ in 0..ATTEMPTS {
            match fs::remove_dir_all(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(PAUSE),
                _ => return,
            }
        }
        tracing::error!("{} could not be removed", self.path.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_goes_unless_it_is_kept() {
        let folder = Folder::temporary().unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("file"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());

        let mut folder = Folder::temporary().unwrap();
        let path = folder.keep().to_owned();
        drop(folder);
        assert!(path.exists());
        fs::remove_dir_all(path).unwrap();
    }
}
