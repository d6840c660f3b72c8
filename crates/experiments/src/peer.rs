//! Programs of others that are measured beside `sluice`, where they are installed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{env, fs};

use serde::Serialize;

/// A program that is measured beside `sluice`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Peer {
    /// The run is a command of `duckdb`.
    DuckDb,
    /// The run is a command of `sluice` beside a `minio server`, which gets the data first.
    Minio,
}

impl Peer {
    /// The program's name on the search path.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::Minio => "minio",
        }
    }

    /// Returns the program's file in one of the folders of a search path, such as `PATH`; `None` if it is not installed.
    pub(crate) fn find(self, path: &OsStr) -> Option<PathBuf> {
        let mut files = env::split_paths(path).map(|folder| folder.join(self.program()));
        files.find(|file| is_executable(file))
    }
}

/// Returns a text that changes when the file of a program does.
pub(crate) fn stamp(file: &Path) -> String {
    let facts = fs::metadata(file).ok();
    let changed = facts.as_ref().and_then(|it| it.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!("{} {:?} {changed:?}", file.display(), facts.map(|it| it.len()))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}
