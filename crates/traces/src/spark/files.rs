//! Finds and opens the files of a log.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use super::compression;
use crate::Error;
use crate::file::regular;

/// A file of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogFile {
    pub(super) path: PathBuf,
}

/// Returns the files of a log in order: the file itself, or the rolled files in a folder.
///
/// # Errors
///
/// If there is no such file or folder, or no file of a log in the folder.
pub(super) fn parts(path: &Path) -> Result<Vec<LogFile>, Error> {
    let failed = |error| Error::open(path, error);
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_dir() {
        regular(path, &metadata)?;
        return Ok(vec![LogFile { path: path.to_owned() }]);
    }
    let mut rolled = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(number) = number(&name) {
            rolled.push((number, name.contains(".compact"), path));
        }
    }
    rolled.sort();
    // A compacted file replaces all files before it.
    let compact = rolled.iter().filter(|it| it.1).map(|it| it.0).max();
    rolled.retain(|it| Some((it.0, it.1)) >= compact.map(|number| (number, true)));
    if rolled.is_empty() {
        let message = "is a folder without events_1_…: give a log, or the folder of a rolled one";
        return Err(Error::file(path, message));
    }
    Ok(rolled.into_iter().map(|(_, _, path)| LogFile { path }).collect())
}

/// Returns the number in a file's name: `events_12_app.zstd` → 12.
fn number(name: &str) -> Option<u64> {
    name.strip_prefix("events_")?.split('_').next()?.parse().ok()
}

impl LogFile {
    /// Opens the file and decompresses its text.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, or has a compression that Spark does not use.
    pub(super) fn open(&self) -> Result<Box<dyn BufRead>, Error> {
        let failed = |error| Error::open(&self.path, error);
        let file = File::open(&self.path).map_err(failed)?;
        compression::text(BufReader::with_capacity(1 << 16, file)).map_err(|error| {
            if error.kind() == ErrorKind::InvalidData {
                return Error::file(&self.path, error);
            }
            failed(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_device_is_no_log() {
        let error = parts(Path::new("/dev/null")).unwrap_err();
        assert!(error.message.starts_with("is a pipe, a socket or a device"), "{error}");
    }

    #[test]
    fn rolled_files_come_in_order_from_the_last_compacted_one() {
        let folder = tempfile::tempdir().unwrap();
        let names = |path: &Path| -> Vec<String> {
            let parts = parts(path).unwrap();
            parts
                .iter()
                .map(|it| it.path.file_name().unwrap().to_str().unwrap().to_owned())
                .collect()
        };
        for name in ["events_10_a", "events_2_a.zstd", "appstatus_a", "events_1_a"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(names(folder.path()), ["events_1_a", "events_2_a.zstd", "events_10_a"]);
        fs::write(folder.path().join("events_2_a.compact"), "").unwrap();
        assert_eq!(names(folder.path()), ["events_2_a.compact", "events_10_a"]);
        let empty = tempfile::tempdir().unwrap();
        assert!(parts(empty.path()).unwrap_err().to_string().contains("is a folder without"));
    }
}
