//! Operations that find, open and remove objects.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use s3s::{S3Result, s3_error};

use super::attributes::XattrTarget;
use super::condition::WriteConditions;
use super::draft::ATTEMPTS;
use super::meta::{Meta, MetadataSource, leads_to};
use super::paths::{KeyPath, directory_name};
use super::{Store, storage_error};

/// One version of an object. The open file keeps it readable, whatever happens to its name.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) file: File,
    /// The inode number; 0 on systems without inodes.
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
    pub(crate) meta: Meta,
}

impl Object {
    /// Reads up to `buf.len()` bytes from `offset`; 0 at or after the end. Independent of other readers of the same
    /// open file.
    #[cfg(unix)]
    pub(crate) fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buf, offset)
    }

    /// Reads up to `buf.len()` bytes from `offset`; 0 at or after the end.
    #[cfg(windows)]
    pub(crate) fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, buf, offset)
    }

    /// Refuses bytes whose CRC-64/NVME differs from the stored one.
    pub(crate) fn check_whole(&self, crc64: u64) -> io::Result<()> {
        match self.meta.crc64.is_none_or(|stored| stored == crc64) {
            true => Ok(()),
            false => Err(self.damaged()),
        }
    }

    /// Refuses an object whose length differs from the stored one, or whose metadata cannot be read.
    pub(crate) fn check_length(&self) -> io::Result<()> {
        self.meta.check_since(&self.bucket, &self.key, self.size)
    }

    /// Returns the error of an object whose bytes differ from those stored.
    pub(crate) fn damaged(&self) -> io::Error {
        damaged()
    }

    /// Returns the same version with another file handle.
    pub(crate) fn again(&self) -> io::Result<Self> {
        let Self { bucket, key, file, inode, size, modified, meta } = self;
        let (bucket, key, meta) = (bucket.clone(), key.clone(), meta.clone());
        let file = file.try_clone()?;
        Ok(Self { bucket, key, file, inode: *inode, size: *size, modified: *modified, meta })
    }

    /// Returns true if the open file still has the size and time that it had when it was opened. The store never
    /// changes bytes in place, but other programs may.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.file.metadata().is_ok_and(|now| {
            now.len() == self.size && now.modified().is_ok_and(|time| time == self.modified)
        })
    }
}

/// Returns the error of an object whose bytes differ from those stored.
pub(super) fn damaged() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the object is damaged on disk")
}

#[cfg(test)]
impl Object {
    /// Opens a file that was put there by hand.
    pub(crate) fn of_file(path: &Path) -> Self {
        let file = File::open(path).unwrap();
        let metadata = file.metadata().unwrap();
        let (bucket, key) = ("bucket".to_owned(), "key".to_owned());
        let (inode, size, modified) =
            (inode(&metadata), metadata.len(), metadata.modified().unwrap());
        Self { bucket, key, file, inode, size, modified, meta: Meta::default() }
    }
}

/// The description of an object that is not opened.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
    pub(crate) meta: Meta,
}

/// A file that holds an object.
pub(super) struct ObjectFile {
    pub(super) path: PathBuf,
    pub(super) metadata: Metadata,
}

/// The files that were removed, and their directory.
struct RemovedObject {
    directory: PathBuf,
    files: Vec<Metadata>,
}

impl Store {
    /// Opens the version that is visible now.
    pub(crate) fn get(&self, bucket: &str, key: &str) -> S3Result<Object> {
        // The name may be replaced after it is found, opened or examined.
        for _ in 0..ATTEMPTS {
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
            let known = self.load_meta((bucket, key), XattrTarget::Open(&file), &metadata);
            let meta = match known.map_err(storage_error)? {
                MetadataSource::Attached(meta) => meta,
                MetadataSource::ByName(meta) if leads_to(&found.path, &metadata) => meta,
                MetadataSource::ByName(_) => continue,
            };
            let (inode, size) = (inode(&metadata), metadata.len());
            let (bucket, key) = (bucket.to_owned(), key.to_owned());
            return Ok(Object { bucket, key, file, inode, size, modified, meta });
        }
        Err(s3_error!(SlowDown, "the object is being replaced too often"))
    }

    /// Describes the version that is visible now.
    pub(crate) fn head(&self, bucket: &str, key: &str) -> S3Result<Head> {
        for _ in 0..ATTEMPTS {
            let found = self.find_object(bucket, key)?;
            match self.describe(bucket, key, &found) {
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                described => return described.map_err(storage_error),
            }
        }
        Err(s3_error!(SlowDown, "the object is being replaced too often"))
    }

    /// Describes the version that was found, or a later one if it was replaced in the meantime.
    pub(super) fn describe(&self, bucket: &str, key: &str, found: &ObjectFile) -> io::Result<Head> {
        let mut metadata = found.metadata.clone();
        for _ in 0..ATTEMPTS {
            let meta =
                match self.load_meta((bucket, key), XattrTarget::Named(&found.path), &metadata)? {
                    MetadataSource::Attached(meta) => Some(meta),
                    MetadataSource::ByName(meta) => {
                        leads_to(&found.path, &metadata).then_some(meta)
                    }
                };
            if let Some(meta) = meta {
                return Ok(Head { size: metadata.len(), modified: metadata.modified()?, meta });
            }
            metadata = fs::symlink_metadata(&found.path)?;
            if !metadata.is_file() {
                return Err(ErrorKind::NotFound.into());
            }
        }
        Err(ErrorKind::NotFound.into())
    }

    fn find_object(&self, bucket: &str, key: &str) -> S3Result<ObjectFile> {
        Self::check_key(key)?;
        let directory = self.bucket(bucket)?;
        match find(&directory, &KeyPath::new(key)).map_err(storage_error)? {
            Some(found) => Ok(found),
            None => Err(s3_error!(NoSuchKey, "the key does not exist")),
        }
    }

    /// Removes an object. It is not an error if the object does not exist.
    pub(crate) fn delete(
        &self,
        bucket: &str,
        key: &str,
        conditions: &WriteConditions,
    ) -> S3Result<()> {
        let removed = self.unlink(bucket, key, conditions)?;
        self.disk.sync_names(&removed.directory).map_err(storage_error)?;
        self.drop_removed(bucket, key, &removed);
        Ok(())
    }

    /// Removes several objects, and forces each directory once.
    pub(crate) fn delete_all(
        &self,
        bucket: &str,
        objects: &[(String, WriteConditions)],
    ) -> S3Result<Vec<S3Result<()>>> {
        self.bucket(bucket)?;
        let removed: Vec<_> =
            objects.iter().map(|(key, conditions)| self.unlink(bucket, key, conditions)).collect();
        let directories: BTreeSet<_> =
            removed.iter().flatten().map(|removed| &removed.directory).collect();
        for directory in directories {
            self.disk.sync_names(directory).map_err(storage_error)?;
        }
        let results = removed.into_iter().zip(objects).map(|(removed, (key, _))| {
            removed.map(|removed| self.drop_removed(bucket, key, &removed))
        });
        Ok(results.collect())
    }

    /// Removes an object's names, without forcing the directory.
    fn unlink(
        &self,
        bucket: &str,
        key: &str,
        conditions: &WriteConditions,
    ) -> S3Result<RemovedObject> {
        Self::check_key(key)?;
        let mut directory = self.bucket(bucket)?;
        let path = KeyPath::new(key);
        let mut files = Vec::new();
        let _names = self.lock_names();
        let found = find(&directory, &path).map_err(storage_error)?;
        match &found {
            Some(found) if conditions.if_match.is_some() => {
                let head = self.describe(bucket, key, found).map_err(storage_error)?;
                conditions.check(Some(&head.meta.etag))?;
            }
            Some(_) => {}
            None => conditions.check(None)?,
        }
        // If both file names exist, removing one would expose the other.
        while let Some(found) = find(&directory, &path).map_err(storage_error)? {
            self.disk.remove_file(&found.path).map_err(storage_error)?;
            files.push(found.metadata);
        }
        if !files.is_empty() {
            self.remove_empty_parents(&directory, &path);
        }
        directory.extend(&path.directories);
        Ok(RemovedObject { directory, files })
    }

    fn drop_removed(&self, bucket: &str, key: &str, removed: &RemovedObject) {
        for file in &removed.files {
            self.remove_meta(bucket, key, file);
        }
    }

    /// Removes the directories of a key that are empty now.
    fn remove_empty_parents(&self, bucket: &Path, path: &KeyPath) {
        for depth in (1..=path.directories.len()).rev() {
            let directory: PathBuf = path.directories[..depth].iter().collect();
            // This fails, as intended, if the directory is not empty.
            if self.disk.remove_directory(&bucket.join(directory)).is_err() {
                return;
            }
        }
    }

    /// Creates the directories of a key, and returns the file name that is free for it. The caller holds
    /// `names_lock`.
    pub(super) fn create_directories(&self, bucket: &Path, key: &str) -> io::Result<PathBuf> {
        let path = KeyPath::new(key);
        let mut at = bucket.to_owned();
        let segments = key.split('/').map(super::paths::name_beside);
        for (name, beside) in path.directories.iter().zip(segments) {
            let parent = at.clone();
            at.push(name);
            match fs::symlink_metadata(&at) {
                Ok(found) if found.is_dir() => {}
                Ok(found) if found.is_file() => {
                    // The object is renamed, because the directory takes its name. Readers look for both names.
                    self.disk.rename(&at, &parent.join(beside))?;
                    self.disk.create_directory(&at)?;
                }
                Ok(_) => return Err(not_ours()),
                Err(e) if e.kind() == ErrorKind::NotFound => self.disk.create_directory(&at)?,
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

/// Returns the file that holds a key's object.
pub(super) fn find(bucket: &Path, path: &KeyPath) -> io::Result<Option<ObjectFile>> {
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
            Ok(metadata) if metadata.is_file() => return Ok(Some(ObjectFile { path, metadata })),
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

/// Returns the directory that contains all keys with a prefix, and the part of the prefix that it stands for.
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
