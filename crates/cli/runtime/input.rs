//! Files that somebody names to be read.

use std::fs;
use std::path::Path;

use crate::failure::{Failure, Result};

/// The text of a file, or of a pipe that the shell opened (`-f <(command)`). Named pipes, sockets and devices
/// are refused: reading one may never end.
///
/// # Errors
///
/// If it cannot be read, is no regular file, or is no UTF-8, with the path.
pub(crate) fn text_of(path: &Path) -> Result<String> {
    let at = |message: &str| Failure::new(format!("`{}` {message}", path.display()));
    let metadata = fs::metadata(path).map_err(|error| Failure::file(path, error))?;
    if metadata.is_dir() {
        return Err(at("is a folder").with_hint("Name a file in it."));
    }
    if !metadata.is_file() && !is_opened(path) {
        return Err(at("is a pipe, a socket or a device")
            .with_hint("Save its text in a file, and name that."));
    }
    fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => at("is no text in UTF-8").with_hint("Check the path."),
        _ => Failure::file(path, error),
    })
}

/// Whether it is a descriptor of this process, at whose other end somebody is.
fn is_opened(path: &Path) -> bool {
    ["/dev/fd", "/proc/self/fd", "/dev/stdin"].iter().any(|opened| path.starts_with(opened))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &Path, words: &str) {
        let Err(Failure::Failed { message, hint, .. }) = text_of(path) else { panic!("{words}") };
        assert!(message.ends_with(words), "{message}");
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
    }

    #[cfg(unix)]
    #[test]
    fn pipes_sockets_and_devices_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        for path in [path.as_path(), Path::new("/dev/zero")] {
            check(path, "is a pipe, a socket or a device");
        }
    }
}
