//! Reads a file that the user named as a whole.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::Path;

use crate::Error;

/// The largest file in bytes, enough for a hundred thousand stages or the plan of a very large query.
const MOST_BYTES: u64 = 64 << 20;

/// Returns the text of a file, or of a pipe that the shell opened (`<(command)`).
///
/// # Errors
///
/// If it cannot be opened, is a folder, another kind of pipe, a socket or a device, is larger than 64 MiB, or is not
/// UTF-8.
pub fn text(path: &Path) -> Result<String, Error> {
    let failed = |error| Error::open(path, error);
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(Error::file(path, "is a folder"));
    }
    if !is_opened(path) {
        regular(path, &metadata)?;
    }
    let mut bytes = Vec::new();
    File::open(path)
        .map_err(failed)?
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::file(path, format!("is larger than {} MiB", MOST_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| Error::file(path, "is no text in UTF-8"))
}

/// Rejects pipes, sockets and devices: opening or reading one may never end.
///
/// # Errors
///
/// If it is not a regular file.
pub(crate) fn regular(path: &Path, metadata: &Metadata) -> Result<(), Error> {
    let message = "is a pipe, a socket or a device: save its text in a file, and give that";
    if metadata.is_file() { Ok(()) } else { Err(Error::file(path, message)) }
}

/// Returns whether the path is an open descriptor of this process, as for `<(command)`.
fn is_opened(path: &Path) -> bool {
    ["/dev/fd", "/proc/self/fd", "/dev/stdin"].iter().any(|opened| path.starts_with(opened))
}

/// Returns the name of a file without its extensions: `q9.duckdb.json` → `q9`.
pub(crate) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (start, rest) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
    format!("{start}{}", rest.split('.').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_at_its_first_dot() {
        for (path, name) in
            [("a/q9.duckdb.json", "q9"), ("q9", "q9"), (".q9.txt", ".q9"), ("/", "")]
        {
            assert_eq!(stem(Path::new(path)), name);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
        for path in [path.as_path(), Path::new("/dev/null")] {
            assert!(text(path).unwrap_err().message.starts_with("is a pipe, a socket or a device"));
        }
    }

    #[test]
    fn large_files_and_others_than_text_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, b"\xFF\xFF").unwrap();
        assert!(text(&path).unwrap_err().message.contains("UTF-8"));
        for byte in [b' ', 0xFF] {
            fs::write(&path, vec![byte; (64 << 20) + 1]).unwrap();
            assert_eq!(text(&path).unwrap_err().message, "is larger than 64 MiB");
        }
        assert_eq!(text(folder.path()).unwrap_err().message, "is a folder");
        let missing = text(&folder.path().join("nowhere")).unwrap_err();
        assert_eq!(missing.io, Some(std::io::ErrorKind::NotFound));
    }
}
