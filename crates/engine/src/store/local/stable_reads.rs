//! Reads files, and fails if a file changes while it is read.
//!
//! An S3 object has a version, which the request for each range contains. A file may be shortened or overwritten
//! between two reads. The bytes then belong to no version: a record may be cut in half. The size and the modification
//! time are therefore compared after each range is read, before its last bytes are returned.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::{Error, GetResult, GetResultPayload, ObjectMeta, Result};

use super::atomic_file::failed;
use super::blocking;

/// The number of bytes per read.
const CHUNK: u64 = 1 << 20;

/// A file that is being read.
struct LocalRead {
    file: File,
    path: PathBuf,
    range: Range<u64>,
    /// The size and modification time when the file was opened.
    meta: ObjectMeta,
}

/// Makes the answer of a file fail if the file changes.
pub(super) fn checked(answer: GetResult) -> GetResult {
    let GetResult { payload, meta, range, attributes } = answer;
    let payload = match payload {
        GetResultPayload::File(file, path) => {
            let reading = LocalRead { file, path, range: range.clone(), meta: meta.clone() };
            GetResultPayload::Stream(chunks(reading))
        }
        stream @ GetResultPayload::Stream(_) => stream,
    };
    GetResult { payload, meta, range, attributes }
}

fn chunks(reading: LocalRead) -> BoxStream<'static, Result<Bytes>> {
    let chunks = futures::stream::try_unfold(reading, |mut reading| async move {
        if reading.range.is_empty() {
            return Ok(None);
        }
        blocking(move || {
            let chunk = reading.chunk()?;
            Ok(Some((chunk, reading)))
        })
        .await
    });
    chunks.boxed()
}

impl LocalRead {
    fn chunk(&mut self) -> Result<Bytes> {
        let wanted = (self.range.end - self.range.start).min(CHUNK);
        let bytes = read(&mut self.file, self.range.start, wanted);
        let bytes = bytes.map_err(|error| failed("cannot read", &self.path, error))?;
        self.range.start += bytes.len() as u64;
        let is_last = self.range.is_empty();
        if (bytes.len() as u64) < wanted || is_last && !self.is_as_it_was() {
            return Err(changed(&self.path));
        }
        Ok(bytes.into())
    }

    fn is_as_it_was(&self) -> bool {
        let is_same = |now: &Metadata| {
            let modified = now.modified().map(DateTime::<Utc>::from);
            now.len() == self.meta.size
                && modified.is_ok_and(|modified| modified == self.meta.last_modified)
        };
        self.file.metadata().is_ok_and(|now| is_same(&now))
    }
}

fn read(file: &mut File, from: u64, count: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the error for a file that has changed since it was listed.
pub(super) fn changed(path: &Path) -> Error {
    let source = "its size or the time of its last change is another one".into();
    Error::Precondition { path: path.display().to_string(), source }
}

/// Returns whether a range begins after the end of a file, which was longer when it was listed.
pub(super) fn is_beyond(error: &Error) -> bool {
    let Error::Generic { source, .. } = error else { return false };
    let why = source.source().map(ToString::to_string).unwrap_or_default();
    source.to_string().contains("range was invalid") && !why.contains("only 0 bytes long")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use futures::TryStreamExt;
    use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};

    use super::*;
    use crate::context::notes::Notes;
    use crate::store::local::{Folders, LocalStore};

    fn store() -> Arc<dyn ObjectStore> {
        let inner = Arc::new(object_store::local::LocalFileSystem::new());
        LocalStore::instead_of(inner, &Arc::new(Folders::default()), &Arc::new(Notes::default()))
    }

    #[tokio::test]
    async fn a_file_that_changes_while_it_is_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let whole = "1,2\n".repeat(1 << 19);
        fs::write(&path, &whole).unwrap();
        let location = object_store::path::Path::from_filesystem_path(&path).unwrap();
        let shorten = |path: &Path| {
            File::options().write(true).open(path).unwrap().set_len((1 << 20) + 3).unwrap();
        };
        let append = |path: &Path| {
            use std::io::Write;
            File::options().append(true).open(path).unwrap().write_all(b"3,4\n").unwrap();
        };
        let touch = |path: &Path| {
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        };
        let nothing = |_: &Path| {};
        type Change<'a> = (&'a str, &'a dyn Fn(&Path), bool);
        let changes: [Change<'_>; 4] = [
            ("shortened", &shorten, false),
            ("appended", &append, false),
            ("overwritten", &touch, false),
            ("as it was", &nothing, true),
        ];
        for (name, change, expected) in changes {
            fs::write(&path, &whole).unwrap();
            let mut bytes = store().get(&location).await.unwrap().into_stream();
            let first = bytes.try_next().await.unwrap().unwrap();
            change(&path);
            let rest: Result<Vec<Bytes>> = bytes.try_collect().await;
            match rest {
                Ok(rest) => {
                    assert!(expected, "{name} was not noticed");
                    let read = [&[first][..], &rest[..]].concat().concat();
                    assert!(read == whole.as_bytes(), "{name}");
                }
                Err(Error::Precondition { path: named, .. }) => {
                    assert!(!expected && named == path.display().to_string(), "{name}: {named}");
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
        let range = GetRange::Bounded(1 << 30..(1 << 30) + 1);
        let options = GetOptions { range: Some(range), ..GetOptions::default() };
        let beyond = store().get_opts(&location, options).await.unwrap_err();
        assert!(matches!(beyond, Error::Precondition { .. }), "{beyond}");
    }
}
