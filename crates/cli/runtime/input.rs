//! Input files that the user names.

use std::io::ErrorKind;
use std::path::Path;

use sluicegate_traces::{Error, file};

use crate::failure::{Failure, Result, without_codes};

/// Reads the text of a file, or of a pipe that the shell opened (`-f <(command)`).
///
/// # Errors
///
/// The errors of [`file::text`], with a hint.
pub(crate) fn text_of(path: &Path) -> Result<String> {
    const HINT: &str =
        "Name a file of text in UTF-8; what a command prints may be one: <(command).";
    let text = file::text(path).map_err(|error| unread(&error, HINT))?;
    // Some editors put a byte order mark before the text.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Builds the failure for a file that cannot be read. `hint` applies if the file can be opened.
pub(crate) fn unread(error: &Error, hint: &str) -> Failure {
    let failure = Failure::new(without_codes(&error.to_string()));
    match error.io {
        Some(ErrorKind::NotFound) => failure.with_hint("Check the path."),
        Some(ErrorKind::PermissionDenied) => failure.with_hint("Check its permissions."),
        Some(_) => failure,
        None => failure.with_hint(hint),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(path: &Path, words: &str) {
        let Err(Failure::Failed { message, hint, .. }) = text_of(path) else { panic!("{words}") };
        assert!(message.contains(words), "{message}");
        assert!(hint.is_some(), "{message}");
    }

    #[test]
    fn only_text_of_regular_files_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        check(&path, "No such file or directory");
        check(folder.path(), "is a folder");
        fs::write(&path, b"SELECT '\xff'").unwrap();
        check(&path, "is no text in UTF-8");
        fs::write(&path, "SELECT 1").unwrap();
        assert_eq!(text_of(&path).unwrap(), "SELECT 1");
        fs::write(&path, "\u{feff}SELECT 1").unwrap();
        assert_eq!(text_of(&path).unwrap(), "SELECT 1");
    }
}
