//! Logs, and other files, that cannot be read.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file cannot be read: the file, the line if there is one, and what is wrong.
#[derive(Debug, thiserror::Error)]
#[error("`{}`{}: {message}", path.display(), line.map(|it| format!(", line {it}")).unwrap_or_default())]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: Option<u64>,
    /// What is wrong.
    pub message: String,
    /// If the file could not be opened or read, why.
    pub io: Option<io::ErrorKind>,
}

impl Error {
    pub(crate) fn file(path: &Path, message: impl ToString) -> Self {
        Self { path: path.to_owned(), line: None, message: message.to_string(), io: None }
    }

    pub(crate) fn open(path: &Path, error: io::Error) -> Self {
        Self { io: Some(error.kind()), ..Self::file(path, error) }
    }

    pub(crate) fn line(path: &Path, line: u64, message: impl ToString) -> Self {
        Self { path: path.to_owned(), line: Some(line), message: message.to_string(), io: None }
    }
}
