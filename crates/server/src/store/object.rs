//! Finding, opening and removing objects.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use s3s::{S3Result, s3_error};

use super::condition::WriteConditions;
use super::meta::Meta;
use super::paths::{KeyPath, directory_name};
use super::{Store, storage_error};

/// One version of an object. The open file keeps it readable, whatever happens to its name.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) file: File,
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
    pub(crate) meta: Meta,
}

impl Object {
    /// Reads up to `buf.len()` bytes from `offset`; 0 at or behind the end. Independent of
    /// other readers of the same open file.
    #[cfg(unix)]
    pub(crate) fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buf, offset)
    }

    /// Reads up to `buf.len()` bytes from `offset`; 0 at or behind the end.
    #[cfg(windows)]
    pub(crate) fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buf, offset)
    }

    /// Whether the bytes behind the open file are still those that were opened. The store itself
    /// never changes bytes in place; other programs may.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.file.metadata().is_ok_and(|now| {
            now.len() == self.size && now.modified().is_ok_and(|time| time == self.modified)
        })
    }
}

/// What is known of an object without opening it.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
    pub(crate) meta: Meta,
}

/// A file that holds an object.
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) metadata: Metadata,
}

impl Store {
    /// Opens the version that is visible now.
    pub(crate) fn get(&self, bucket: &str, key: &str) -> S3Result<Object> {
        // The name may change hands between being found and being opened.
        for _ in 0..16 {
            let found = self.find_object(bucket, key)?;
            let file = match File::open(&found.path) {
                Ok(file) => file,
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                Err(e) => return Err(storage_error(e)),
            };
            let metadata = file.metadata().map_err(storage_error)?;
            if !metadata.is_file() {
                continue;
            }
            let modified = metadata.modified().map_err(storage_error)?;
            let meta = self.load_meta(bucket, key, &metadata).map_err(storage_error)?;
            return Ok(Object { file, size: metadata.len(), modified, meta });
        }
        Err(s3_error!(SlowDown, "the object is being replaced too often"))
    }

    /// Describes the version that is visible now.
    pub(crate) fn head(&self, bucket: &str, key: &str) -> S3Result<Head> {
        let found = self.find_object(bucket, key)?;
        self.describe(bucket, key, &found.metadata).map_err(storage_error)
    }

    pub(super) fn describe(&self, bucket: &str, key: &str, file: &Metadata) -> io::Result<Head> {
        let meta = self.load_meta(bucket, key, file)?;
        Ok(Head { size: file.len(), modified: file.modified()?, meta })
    }

    fn find_object(&self, bucket: &str, key: &str) -> S3Result<Found> {
        Self::check_key(key)?;
        let directory = self.bucket(bucket)?;
        match find(&directory, &KeyPath::new(key)).map_err(storage_error)? {
            Some(found) => Ok(found),
            None => Err(s3_error!(NoSuchKey, "the key does not exist")),
        }
    }

    /// Removes an object; removing one that does not exist is not an error.
    pub(crate) fn delete(
        &self,
        bucket: &str,
        key: &str,
        conditions: &WriteConditions,
    ) -> S3Result<()> {
        Self::check_key(key)?;
        let directory = self.bucket(bucket)?;
        let path = KeyPath::new(key);
        let _names = self.lock_names();
        let found = find(&directory, &path).map_err(storage_error)?;
        let Some(found) = found else { return conditions.check(None) };
        if conditions.if_match.is_some() {
            let head = self.describe(bucket, key, &found.metadata).map_err(storage_error)?;
            conditions.check(Some(&head.meta.etag))?;
        }
        // If both spellings exist, removing one would expose the other.
        while let Some(found) = find(&directory, &path).map_err(storage_error)? {
            fs::remove_file(&found.path).map_err(storage_error)?;
            self.remove_meta(bucket, key, &found.metadata);
        }
        remove_empty_parents(&directory, &path);
        Ok(())
    }

    /// Makes the directories of a key, and says which file name is free for it. The caller holds
    /// the names' lock.
    pub(super) fn make_way(&self, bucket: &Path, key: &str) -> io::Result<PathBuf> {
        let path = KeyPath::new(key);
        self.names.insert(&path, &self.temporary())?;
        let mut at = bucket.to_owned();
        let segments = key.split('/').map(super::paths::name_beside);
        for (name, beside) in path.directories.iter().zip(segments) {
            let parent = at.clone();
            at.push(name);
            match fs::symlink_metadata(&at) {
                Ok(found) if found.is_dir() => {}
                Ok(found) if found.is_file() => {
                    // The object gives up its name to the directory. Readers look for both.
                    fs::rename(&at, parent.join(beside))?;
                    fs::create_dir(&at)?;
                }
                Ok(_) => return Err(not_ours()),
                Err(e) if e.kind() == ErrorKind::NotFound => fs::create_dir(&at)?,
                Err(e) => return Err(e),
            }
        }
        match fs::symlink_metadata(at.join(&path.file)) {
            Ok(found) if found.is_dir() => Ok(at.join(&path.file_beside)),
            Ok(found) if found.is_file() => Ok(at.join(&path.file)),
            Ok(_) => Err(not_ours()),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let beside = at.join(&path.file_beside);
                Ok(if beside.exists() { beside } else { at.join(&path.file) })
            }
            Err(e) => Err(e),
        }
    }
}

fn not_ours() -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, "not a regular file or directory")
}

/// The file that holds a key's object.
pub(super) fn find(bucket: &Path, path: &KeyPath) -> io::Result<Option<Found>> {
    let mut at = bucket.to_owned();
    for name in &path.directories {
        at.push(name);
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Ok(None),
            Err(e) if is_absent(&e) => return Ok(None),
            Err(e) => return Err(e),
        }
    }
    for name in [&path.file, &path.file_beside] {
        let path = at.join(name);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => return Ok(Some(Found { path, metadata })),
            Ok(_) => {}
            Err(e) if is_absent(&e) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(None)
}

pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename
    )
}

/// Removes the directories of a key that are now empty.
fn remove_empty_parents(bucket: &Path, path: &KeyPath) {
    for depth in (1..=path.directories.len()).rev() {
        let directory: PathBuf = path.directories[..depth].iter().collect();
        // Fails, as wanted, on a directory with something in it.
        if fs::remove_dir(bucket.join(directory)).is_err() {
            return;
        }
    }
}

/// The directory under which all keys with a prefix lie, and the part of the prefix it stands for.
pub(super) fn directory_of_prefix(bucket: &Path, prefix: &str) -> (PathBuf, String) {
    let mut at = bucket.to_owned();
    let Some((directories, _)) = prefix.rsplit_once('/') else { return (at, String::new()) };
    for segment in directories.split('/') {
        at.push(&*directory_name(segment));
    }
    (at, format!("{directories}/"))
}

#[cfg(unix)]
pub(super) fn inode(file: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    file.ino()
}

#[cfg(not(unix))]
pub(super) fn inode(_file: &Metadata) -> u64 {
    0
}
