//! Writing of objects: the bytes go to a file of their own, which becomes an object in one step.

use std::fs::Metadata;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use bytes::Bytes;
use s3s::{S3Result, s3_error};
use tempfile::NamedTempFile;

use super::checksum::{Algorithm, Digest, Hasher};
use super::condition::WriteConditions;
use super::meta::{Meta, has_stamp_of};
use super::object::find;
use super::paths::{KeyPath, hex};
use super::{Store, storage_error};

/// The number of bytes from which hashing is worth a thread of its own. Fewer are hashed before a thread starts.
const HASHED_BESIDE: usize = 128 * 1024;

/// The number of bytes that are forced to disk at a time while further ones arrive. Otherwise all bytes would be
/// forced at the end.
const FORCED_BESIDE: u64 = 32 << 20;

/// The maximum number of attempts when a name changes during an operation.
pub(super) const ATTEMPTS: usize = 16;

/// Bytes that are to become an object. They are deleted on drop.
pub(crate) struct Draft {
    file: NamedTempFile,
    hasher: Hasher,
    size: u64,
    forcing: Forcing,
    /// The size at which a full disk is simulated, in bytes.
    disk_full_at: Option<u64>,
}

/// A thread that forces the written bytes to disk while more are written.
#[derive(Default)]
struct Forcing {
    /// True if bytes are to be forced.
    is_wanted: bool,
    thread: Option<JoinHandle<io::Result<()>>>,
    /// The size of the file when the thread was last started.
    begun_at: u64,
}

/// A draft whose bytes are all written and hashed.
pub(crate) struct FinishedDraft {
    pub(super) file: NamedTempFile,
    pub(crate) size: u64,
    pub(crate) digest: Digest,
}

impl Store {
    /// Creates a draft that is hashed as it is written. `disk_full_at` simulates a full disk.
    pub(crate) fn draft(
        &self,
        algorithms: impl IntoIterator<Item = Algorithm>,
        disk_full_at: Option<u64>,
    ) -> S3Result<Draft> {
        let file = self.disk.create().map_err(storage_error)?;
        let forcing = Forcing { is_wanted: self.disk.forces(), ..Forcing::default() };
        Ok(Draft { file, hasher: Hasher::new(algorithms), size: 0, forcing, disk_full_at })
    }

    /// Makes written bytes the object of a key, in one step, if the conditions hold for the object that they replace.
    /// Returns the new version's time. After that, the object survives a power failure.
    pub(crate) fn commit(
        &self,
        bucket: &str,
        key: &str,
        written: FinishedDraft,
        meta: Meta,
        conditions: &WriteConditions,
    ) -> S3Result<(Meta, SystemTime)> {
        let meta = Meta { crc64: Some(written.digest.crc64), ..meta };
        let modified = self.commit_file((bucket, key), written.file, &meta, conditions)?;
        Ok((meta, modified))
    }

    /// Like [`Self::commit`], but with complete metadata.
    pub(super) fn commit_file(
        &self,
        (bucket, key): (&str, &str),
        file: NamedTempFile,
        meta: &Meta,
        conditions: &WriteConditions,
    ) -> S3Result<SystemTime> {
        Self::check_key(key)?;
        let directory = self.bucket(bucket)?;
        let prepare = || -> io::Result<Metadata> {
            self.names.insert(&KeyPath::new(key), &self.disk)?;
            self.prepare((bucket, key), &file, meta)?;
            file.as_file().metadata()
        };
        let metadata = prepare().map_err(storage_error)?;
        let published = self.publish_object((bucket, key), &directory, file, conditions);
        let (name, replaced) = published.inspect_err(|_| {
            self.remove_meta(bucket, key, &metadata);
        })?;
        self.disk.sync_names(name.parent().unwrap_or(&directory)).map_err(storage_error)?;
        if let Some(replaced) = replaced.filter(|replaced| !has_stamp_of(replaced, &metadata)) {
            self.remove_meta(bucket, key, &replaced);
        }
        metadata.modified().map_err(storage_error)
    }

    /// Renames a prepared file to the object's name. Returns the name, and the version replaced.
    fn publish_object(
        &self,
        (bucket, key): (&str, &str),
        directory: &Path,
        mut file: NamedTempFile,
        conditions: &WriteConditions,
    ) -> S3Result<(PathBuf, Option<Metadata>)> {
        // Directories of the key may be removed in the meantime, with their last object or with the bucket.
        for _ in 0..ATTEMPTS {
            match self.publish_once((bucket, key), directory, &mut file, conditions)? {
                Ok(published) => return Ok(published),
                Err(e) if e.kind() == ErrorKind::NotFound => self.bucket(bucket).map(drop)?,
                Err(e) => return Err(storage_error(e)),
            }
        }
        Err(s3_error!(SlowDown, "the directories of this key are being removed too often"))
    }

    fn publish_once(
        &self,
        (bucket, key): (&str, &str),
        directory: &Path,
        file: &mut NamedTempFile,
        conditions: &WriteConditions,
    ) -> S3Result<io::Result<(PathBuf, Option<Metadata>)>> {
        let _names = self.lock_names();
        let replaced = find(directory, &KeyPath::new(key)).map_err(storage_error)?;
        let etag = match &replaced {
            Some(found) if !conditions.are_absent() => {
                Some(self.describe(bucket, key, found).map_err(storage_error)?.meta.etag)
            }
            _ => None,
        };
        if !conditions.are_absent() {
            conditions.check(etag.as_deref())?;
        }
        Ok(self.create_directories(directory, key).and_then(|name| {
            self.disk.publish(file, &name)?;
            Ok((name, replaced.map(|found| found.metadata)))
        }))
    }
}

impl Draft {
    /// Appends bytes to the draft.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> S3Result<()> {
        self.size += bytes.len() as u64;
        if self.disk_full_at.is_some_and(|limit| self.size > limit) {
            return Err(storage_error(ErrorKind::StorageFull.into()));
        }
        self.hasher.update(bytes);
        let written = self.file.write_all(bytes);
        written.and_then(|()| self.forcing.go_on(&self.file, self.size)).map_err(storage_error)
    }

    /// Appends pieces. Many bytes are hashed on a thread of their own while they are written, because MD5 takes
    /// longer than writing.
    pub(crate) fn write_pieces(&mut self, pieces: &[Bytes]) -> S3Result<()> {
        let bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        self.size += bytes as u64;
        if self.disk_full_at.is_some_and(|limit| self.size > limit) {
            return Err(storage_error(ErrorKind::StorageFull.into()));
        }
        let Self { file, hasher, .. } = self;
        let hasher = Mutex::new(hasher);
        let hash = || {
            let mut hasher = hasher.lock().unwrap_or_else(PoisonError::into_inner);
            pieces.iter().for_each(|piece| hasher.update(piece));
        };
        let written = thread::scope(|scope| {
            let beside = bytes >= HASHED_BESIDE;
            let hashing = beside.then(|| thread::Builder::new().spawn_scoped(scope, hash));
            let written = pieces.iter().try_for_each(|piece| file.write_all(piece));
            match hashing {
                Some(Ok(thread)) => {
                    thread.join().map_err(|_| io::Error::other("hashing failed"))?
                }
                // The thread could not be started, or is not worth it.
                Some(Err(_)) | None => hash(),
            }
            written
        });
        written.and_then(|()| self.forcing.go_on(file, self.size)).map_err(storage_error)
    }

    /// Appends all bytes of a reader.
    pub(crate) fn copy_from(&mut self, mut from: impl io::Read) -> S3Result<()> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => self.write(&buffer[..n])?,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(storage_error(e)),
            }
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Completes the draft and returns its hashes.
    pub(crate) fn finish(self) -> S3Result<FinishedDraft> {
        self.forcing.end().map_err(storage_error)?;
        Ok(FinishedDraft { file: self.file, size: self.size, digest: self.hasher.finish() })
    }
}

impl Forcing {
    /// Starts the thread if there are enough new bytes and the previous thread has ended.
    fn go_on(&mut self, file: &NamedTempFile, size: u64) -> io::Result<()> {
        let is_busy = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if !self.is_wanted || is_busy || size - self.begun_at < FORCED_BESIDE {
            return Ok(());
        }
        // A write error is reported only once.
        self.join()?;
        let file = file.as_file().try_clone()?;
        // If no thread can be started, everything is forced at the end.
        self.thread = thread::Builder::new().spawn(move || file.sync_data()).ok();
        self.begun_at = size;
        Ok(())
    }

    fn join(&mut self) -> io::Result<()> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(forced)) => forced,
            Some(Err(_)) => Err(io::Error::other("forcing to disk failed")),
            None => Ok(()),
        }
    }

    fn end(mut self) -> io::Result<()> {
        self.join()
    }
}

impl FinishedDraft {
    /// Returns the ETag of an object that is uploaded in one request, which is its MD5.
    pub(crate) fn etag(&self) -> String {
        hex(&self.digest.md5)
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::*;

    #[test]
    fn much_is_forced_to_disk_while_more_arrives() {
        let folder = tempfile::tempdir().unwrap();
        let pieces = vec![Bytes::from(vec![7; 1 << 20]); 8];
        for sync in [true, false] {
            let disk = Disk::new(folder.path(), folder.path().to_owned(), sync);
            let forcing = Forcing { is_wanted: disk.forces(), ..Forcing::default() };
            let (file, hasher) = (disk.create().unwrap(), Hasher::new([]));
            let mut draft = Draft { file, hasher, size: 0, forcing, disk_full_at: None };
            for batch in 1..=4 {
                assert_eq!((draft.size(), draft.forcing.begun_at), ((batch - 1) << 23, 0));
                draft.write_pieces(&pieces).unwrap();
            }
            assert_eq!(draft.forcing.begun_at, if sync { FORCED_BESIDE } else { 0 });
            assert_eq!(draft.forcing.thread.is_some(), sync);
            draft.finish().unwrap();
        }
    }
}
