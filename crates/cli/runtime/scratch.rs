//! A command's temporary folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::failure::{Failure, Result};
use crate::runtime::cleanup::Leftover;

/// Number of attempts to remove the folder, and the pause between them: a write that was in progress when the command
/// was interrupted may still create a file.
const ATTEMPTS: usize = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// The temporary folder of a command, created on request and removed on drop. It outlives the runtime, so that no
/// running task can write to it after its removal.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    folder: Option<(PathBuf, Leftover)>,
}

impl Scratch {
    /// Creates the folder.
    pub(crate) fn make(&mut self, prefix: &str) -> Result<PathBuf> {
        let made = tempfile::Builder::new().prefix(prefix).tempdir().map_err(|error| {
            Failure::from(error)
                .at("cannot make a temporary folder")
                .with_hint("Name a folder that can be written to in TMPDIR.")
        })?;
        let path = made.keep();
        self.remove();
        self.folder = Some((path.clone(), Leftover::new(path.display().to_string())));
        Ok(path)
    }

    /// Stops managing the folder, which then stays, and returns its path.
    pub(crate) fn keep(&mut self) -> Option<PathBuf> {
        self.folder.take().map(|(folder, _)| folder)
    }

    fn remove(&mut self) {
        if let Some((folder, _left)) = self.folder.take() {
            remove(&folder);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}

fn remove(folder: &Path) {
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => thread::sleep(PAUSE),
            _ => return,
        }
    }
    tracing::error!("{} could not be removed", folder.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_goes_unless_it_is_kept() {
        let mut scratch = Scratch::default();
        let path = scratch.make("sluice-test-").unwrap();
        fs::write(path.join("file"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists());

        let mut scratch = Scratch::default();
        let path = scratch.make("sluice-test-").unwrap();
        assert_eq!(scratch.keep().as_ref(), Some(&path));
        drop(scratch);
        assert!(path.exists());
        fs::remove_dir_all(path).unwrap();
    }
}
