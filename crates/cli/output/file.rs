//! Output files that appear when they are complete.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Failure, Result};

/// A file that is being written. It appears under its name when it is finished. A device is written directly.
#[derive(Debug)]
pub(crate) struct PartialFile {
    out: OutputTarget,
}

#[derive(Debug)]
enum OutputTarget {
    /// A temporary file in the folder of the final one, which it replaces at the end.
    Beside(NamedTempFile, PathBuf),
    /// A pipe, a terminal or another device, which no file could replace.
    Device(File),
}

impl PartialFile {
    /// Begins a file. Symbolic links are followed, so that they stay.
    ///
    /// # Errors
    ///
    /// If the file could not be written. The error contains the path.
    pub(crate) fn begin(path: &Path) -> Result<Self> {
        if is_device(path) {
            let device = File::options().append(true).open(path);
            let device = device.map_err(|error| Failure::file(path, error))?;
            return Ok(Self { out: OutputTarget::Device(device) });
        }
        let behind_links = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if behind_links.is_dir() {
            return Err(Failure::new(format!("`{}` is a folder", path.display()))
                .with_hint("Name a file in it."));
        }
        Ok(Self { out: OutputTarget::Beside(beside(&behind_links)?, behind_links) })
    }

    /// Returns the file to write to.
    pub(crate) fn file(&mut self) -> &mut File {
        match &mut self.out {
            OutputTarget::Beside(file, _) => file.as_file_mut(),
            OutputTarget::Device(device) => device,
        }
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    ///
    /// If the file cannot be renamed.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.file().flush()?;
        match self.out {
            OutputTarget::Beside(file, path) => {
                file.persist(&path).map(drop).map_err(|error| Failure::file(&path, error.error))
            }
            OutputTarget::Device(_) => Ok(()),
        }
    }
}

fn is_device(path: &Path) -> bool {
    let descriptor = ["/dev/fd", "/dev/stdout", "/dev/stderr", "/proc"];
    match fs::metadata(path) {
        // A descriptor is written directly, even if it refers to a file.
        Ok(_) if descriptor.iter().any(|place| path.starts_with(place)) => true,
        Ok(there) => !there.is_file() && !there.is_dir(),
        Err(_) => false,
    }
}

fn beside(path: &Path) -> Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        return Err(Failure::new(format!("there is no folder `{}`", folder.display()))
            .with_hint("Create it first, or check the path."));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sluice-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The mode of new files; the umask removes bits from it.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(|error| Failure::file(path, without_place(error)))
}

/// Removes the name of the temporary file from an error, because the user did not choose it.
fn without_place(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((why, _)) => io::Error::new(error.kind(), why),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_finished_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        fs::write(&path, "old").unwrap();
        let mut file = PartialFile::begin(&path).unwrap();
        file.file().write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        let mut file = PartialFile::begin(&path).unwrap();
        file.file().write_all(b"whole").unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_says_so_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let begin = |path: &Path| match PartialFile::begin(path) {
            Err(Failure::Failed { message, .. }) => message,
            other => panic!("{other:?}"),
        };
        assert!(begin(folder.path()).ends_with("is a folder"));
        assert!(begin(&folder.path().join("no/such.html")).starts_with("there is no folder"));
    }

    /// The error names the file that the user chose, not the temporary one.
    #[test]
    fn a_folder_that_cannot_be_written_to_is_no_riddle() {
        let folder = tempfile::tempdir().unwrap();
        // The name is too long for any user, including root.
        let missing = folder.path().join("a".repeat(300));
        let error = tempfile::Builder::new().tempfile_in(&missing).unwrap_err();
        assert!(error.to_string().contains("at path"), "{error}");
        let error = without_place(error);
        assert!(!error.to_string().contains("aaa"), "{error}");
        assert_eq!(without_place(io::Error::other("full")).to_string(), "full");
    }
}
