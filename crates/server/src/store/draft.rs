//! Writing: bytes go to a file of their own, and become an object in one step.

use std::fs::File;
use std::io::{self, Write as _};
use std::time::SystemTime;

use s3s::S3Result;
use tempfile::NamedTempFile;

use super::checksum::{Algorithm, Digest, Hasher};
use super::condition::WriteConditions;
use super::meta::Meta;
use super::object::find;
use super::paths::{KeyPath, hex};
use super::{Store, storage_error};

/// Bytes that are to become an object. If it is dropped before, they are deleted.
pub(crate) struct Draft {
    file: NamedTempFile,
    hasher: Hasher,
    size: u64,
    /// The size at which a full disk is simulated.
    disk_full_at: Option<u64>,
}

/// A draft with all of its bytes.
pub(crate) struct Written {
    pub(super) file: NamedTempFile,
    pub(crate) size: u64,
    pub(crate) digest: Digest,
}

impl Store {
    /// Starts a draft that is hashed as it is written. `disk_full_at` injects a full disk.
    pub(crate) fn draft(
        &self,
        algorithms: impl IntoIterator<Item = Algorithm>,
        disk_full_at: Option<u64>,
    ) -> S3Result<Draft> {
        let file = self.temporary_file().map_err(storage_error)?;
        Ok(Draft { file, hasher: Hasher::new(algorithms), size: 0, disk_full_at })
    }

    pub(super) fn temporary_file(&self) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // Minus the process's umask, as for any file.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(self.temporary())
    }

    /// Makes written bytes the object of a key, in one step, if the conditions hold for the object
    /// that they replace. Returns the new version's time.
    pub(crate) fn commit(
        &self,
        bucket: &str,
        key: &str,
        written: Written,
        meta: &Meta,
        conditions: &WriteConditions,
    ) -> S3Result<SystemTime> {
        Self::check_key(key)?;
        let directory = self.bucket(bucket)?;
        let make = || -> io::Result<_> {
            written.file.as_file().set_modified(self.next_modified())?;
            if self.sync {
                written.file.as_file().sync_all()?;
            }
            written.file.as_file().metadata()
        };
        let metadata = make().map_err(storage_error)?;
        let _names = self.lock_names();
        let replaced = find(&directory, &KeyPath::new(key)).map_err(storage_error)?;
        let etag = match &replaced {
            Some(found) => {
                Some(self.describe(bucket, key, &found.metadata).map_err(storage_error)?.meta.etag)
            }
            None => None,
        };
        conditions.check(etag.as_deref())?;
        self.save_meta(bucket, key, &metadata, meta).map_err(storage_error)?;
        let publish = || -> io::Result<SystemTime> {
            let target = self.make_way(&directory, key)?;
            written.file.persist(target).map_err(|e| e.error)?;
            metadata.modified()
        };
        match publish() {
            Ok(modified) => {
                if let Some(replaced) = replaced {
                    self.remove_meta(bucket, key, &replaced.metadata);
                }
                Ok(modified)
            }
            Err(e) => {
                self.remove_meta(bucket, key, &metadata);
                // The bucket may have been removed since it was looked at.
                self.bucket(bucket)?;
                Err(storage_error(e))
            }
        }
    }
}

impl Draft {
    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> S3Result<()> {
        self.size += bytes.len() as u64;
        if self.disk_full_at.is_some_and(|limit| self.size > limit) {
            return Err(storage_error(io::ErrorKind::StorageFull.into()));
        }
        self.hasher.update(bytes);
        self.file.write_all(bytes).map_err(storage_error)
    }

    /// Appends what a reader gives.
    pub(crate) fn copy_from(&mut self, mut from: impl io::Read) -> S3Result<()> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => self.write(&buffer[..n])?,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(storage_error(e)),
            }
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Ends the draft.
    pub(crate) fn finish(self) -> Written {
        Written { file: self.file, size: self.size, digest: self.hasher.finish() }
    }
}

impl Written {
    /// The ETag of an object that is uploaded at once: its MD5.
    pub(crate) fn etag(&self) -> String {
        hex(&self.digest.md5)
    }

    pub(super) fn as_file(&self) -> &File {
        self.file.as_file()
    }
}
