//! The error for logs and other files that cannot be read.

use std::io;
use std::path::{Path, PathBuf};

/// The reason that a file cannot be read: the file, the line if there is one, and a description.
#[derive(Debug, thiserror::Error)]
#[error("`{}`{}: {message}", path.display(), line.map(|it| format!(", line {it}")).unwrap_or_default())]
pub struct Error {
    /// The path of the file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: Option<u64>,
    /// A description of the error.
    pub message: String,
    /// The kind of I/O error, if the file could not be opened or read.
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
