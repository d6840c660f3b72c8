//! Writes files that appear under their names when they are complete.
//!
//! Until then a file is called `name#1`, like those of [`LocalFileSystem`](object_store::local::LocalFileSystem),
//! which leaves such names out of listings. A process that is killed leaves it behind. The next process that writes
//! the same name removes it if it was last written to more than a day ago.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use object_store::{Error, MultipartUpload, PutPayload, PutResult, Result, UploadPart};

use super::{Folders, blocking};

/// The time since its last write after which an unfinished file is abandoned.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
/// The maximum number of attempts to create a folder that another process removes.
const TRIES: usize = 8;

/// An error of the system about a file.
#[derive(Debug)]
struct FileError {
    what: &'static str,
    path: PathBuf,
    error: io::Error,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.what, self.path.display(), self.error)
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

pub(super) fn failed(what: &'static str, path: &Path, error: io::Error) -> Error {
    let source = Box::new(FileError { what, path: path.to_owned(), error });
    Error::Generic { store: "LocalFileSystem", source }
}

/// A file that is being written.
#[derive(Debug)]
pub(super) struct AtomicFile {
    staged: Arc<Staged>,
    offset: u64,
}

#[derive(Debug)]
struct Staged {
    /// The path once the file is complete.
    path: PathBuf,
    /// True if it may replace an existing file.
    replaces: bool,
    folders: Arc<Folders>,
    /// The open file and its temporary path; none once it is complete or removed.
    open: Mutex<Option<(File, PathBuf)>>,
}

impl AtomicFile {
    /// Creates the temporary file.
    pub(super) fn begin(path: PathBuf, replaces: bool, folders: Arc<Folders>) -> Result<Self> {
        let open = open(&path, &folders).map_err(|error| failed("cannot write", &path, error))?;
        let staged = Staged { path, replaces, folders, open: Mutex::new(Some(open)) };
        Ok(Self { staged: Arc::new(staged), offset: 0 })
    }
}

fn open(path: &Path, folders: &Folders) -> io::Result<(File, PathBuf)> {
    let (mut number, mut tries) = (1, 0);
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!("#{number}"));
        let staged = PathBuf::from(name);
        match File::options().write(true).create_new(true).open(&staged) {
            Ok(file) => return Ok((file, staged)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if !is_abandoned(&staged) || fs::remove_file(&staged).is_err() {
                    number += 1;
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound && tries < TRIES => {
                tries += 1;
                folders.make(path)?;
            }
            Err(error) => return Err(error),
        }
    }
}

fn is_abandoned(staged: &Path) -> bool {
    let modified = fs::metadata(staged).and_then(|there| there.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > ABANDONED))
}

impl Staged {
    fn write(&self, offset: u64, payload: &PutPayload) -> Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((file, _)) = open.as_mut() else { return Err(aborted()) };
        let written = file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| payload.iter().try_for_each(|bytes| file.write_all(bytes)));
        written.map_err(|error| failed("cannot write", &self.path, error))
    }

    fn complete(&self) -> Result<PutResult> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((file, name)) = open.take() else { return Err(aborted()) };
        // Some file systems delay writes until the file is closed.
        drop(file);
        let done = match self.replaces {
            true => fs::rename(&name, &self.path),
            false => appear(&name, &self.path),
        };
        match done {
            Ok(()) => Ok(PutResult { e_tag: None, version: None }),
            Err(error) => {
                self.remove(&name);
                Err(match error.kind() {
                    ErrorKind::AlreadyExists if !self.replaces => Error::AlreadyExists {
                        path: self.path.display().to_string(),
                        source: error.into(),
                    },
                    _ => failed("cannot write", &self.path, error),
                })
            }
        }
    }

    fn abort(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((file, name)) = open {
            drop(file);
            self.remove(&name);
        }
    }

    fn remove(&self, name: &Path) {
        if let Err(error) = fs::remove_file(name) {
            tracing::warn!("`{}` could not be removed: {error}", name.display());
        }
        self.folders.tidy(&self.path);
    }
}

/// Moves a file to its final path if no file is there.
fn appear(staged: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(staged, path) {
        Ok(()) => {
            if let Err(error) = fs::remove_file(staged) {
                tracing::warn!("`{}` could not be removed: {error}", staged.display());
            }
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // The file system has no hard links.
        Err(_) if fs::symlink_metadata(path).is_ok() => Err(ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(staged, path),
    }
}

fn aborted() -> Error {
    Error::Generic { store: "LocalFileSystem", source: "the file was aborted".into() }
}

#[async_trait]
impl MultipartUpload for AtomicFile {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (staged, offset) = (Arc::clone(&self.staged), self.offset);
        self.offset += data.content_length() as u64;
        blocking(move || staged.write(offset, &data)).boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let staged = Arc::clone(&self.staged);
        blocking(move || staged.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        let staged = Arc::clone(&self.staged);
        blocking(move || {
            staged.abort();
            Ok(())
        })
        .await
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        self.staged.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn written(path: &Path, replaces: bool, bytes: &'static str) -> Result<PutResult> {
        let mut file = AtomicFile::begin(path.to_owned(), replaces, Arc::default())?;
        file.put_part(bytes.into()).await?;
        file.complete().await
    }

    #[tokio::test]
    async fn of_two_writes_at_once_the_second_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let mut first = AtomicFile::begin(path.clone(), false, Arc::default()).unwrap();
        let mut second = AtomicFile::begin(path.clone(), false, Arc::default()).unwrap();
        first.put_part("first".into()).await.unwrap();
        second.put_part("second".into()).await.unwrap();
        first.complete().await.unwrap();
        let refused = second.complete().await.unwrap_err();
        assert!(matches!(refused, Error::AlreadyExists { .. }), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        written(&path, true, "third").await.unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "third");
    }

    #[tokio::test]
    async fn what_is_not_completed_goes_and_so_do_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p=1/q=2/a.csv");
        let mut file = AtomicFile::begin(path.clone(), false, Arc::default()).unwrap();
        file.put_part("a".into()).await.unwrap();
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn what_a_killed_process_left_goes_when_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let (old, new) = (folder.path().join("a.csv#1"), folder.path().join("a.csv#2"));
        let left = File::create(&old).unwrap();
        left.set_modified(std::time::UNIX_EPOCH).unwrap();
        fs::write(&new, "still written").unwrap();
        written(&path, false, "a").await.unwrap();
        assert!(!old.exists() && new.exists());
        assert_eq!(fs::read_to_string(&path).unwrap(), "a");
    }
}
