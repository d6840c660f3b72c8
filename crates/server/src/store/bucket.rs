//! Operations on buckets, which are the directories of the folder whose names are bucket names.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use s3s::path::check_bucket_name;
use s3s::{S3Result, s3_error};

use super::{Store, random, storage_error};

/// A bucket in a listing.
#[derive(Debug, Clone)]
pub(crate) struct BucketInfo {
    pub(crate) name: String,
    pub(crate) created: SystemTime,
}

impl Store {
    /// Returns the directory of an existing bucket.
    pub(crate) fn bucket(&self, name: &str) -> S3Result<PathBuf> {
        if !check_bucket_name(name) {
            return Err(s3_error!(InvalidBucketName, "this is not a valid bucket name"));
        }
        let path = self.root.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => Ok(path),
            Ok(_) => Err(s3_error!(NoSuchBucket, "the bucket does not exist")),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                Err(s3_error!(NoSuchBucket, "the bucket does not exist"))
            }
            Err(e) => Err(storage_error(e)),
        }
    }

    pub(crate) fn create_bucket(&self, name: &str) -> S3Result<()> {
        if !check_bucket_name(name) {
            return Err(s3_error!(InvalidBucketName, "this is not a valid bucket name"));
        }
        let path = self.root.join(name);
        let created = {
            let _names = self.lock_names();
            self.disk.create_directory(&path)
        };
        match created {
            Ok(()) => self.disk.sync_names(&path).map_err(storage_error),
            Err(e)
                if e.kind() == ErrorKind::AlreadyExists
                    && !fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) =>
            {
                Err(s3_error!(
                    BucketAlreadyExists,
                    "a file or a symbolic link has this name; buckets are folders"
                ))
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                Err(s3_error!(BucketAlreadyOwnedByYou, "the bucket exists and is yours"))
            }
            Err(e) => Err(storage_error(e)),
        }
    }

    /// Removes a bucket without objects and aborts its unfinished uploads.
    ///
    /// Empty directories in it are removed one by one while clients may write. A write whose directories disappear
    /// creates them again. The bucket disappears with the last step, or not at all.
    pub(crate) fn delete_bucket(&self, name: &str) -> S3Result<()> {
        let path = self.bucket(name)?;
        let uploads = self.uploads(name)?;
        let remove = || -> io::Result<()> {
            // Anything but a directory counts, including symbolic links and names that are not UTF-8.
            if holds_files(&path)? {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            self.remove_directories_in(&path)?;
            let meta = {
                let _names = self.lock_names();
                self.disk.remove_directory(&path)?;
                // This is best effort, because a leftover only wastes space.
                self.disk.set_aside(&self.own("meta").join(name), &random()?).ok()
            };
            self.disk.sync_names(&self.root)?;
            meta.map_or(Ok(()), |meta| fs::remove_dir_all(meta).or(Ok(())))
        };
        match remove() {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {
                return Err(s3_error!(BucketNotEmpty, "the bucket is not empty"));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(s3_error!(NoSuchBucket, "the bucket does not exist"));
            }
            Err(e) => return Err(storage_error(e)),
        }
        for (id, _) in uploads {
            // This is best effort, because the upload expires.
            let _ = self.discard_upload(&id);
        }
        Ok(())
    }

    /// Removes the directories in a directory. Those that others have removed are skipped. Fails if one of them has a
    /// file.
    fn remove_directories_in(&self, directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            let path = entry.path();
            let removed =
                self.remove_directories_in(&path).and_then(|()| self.disk.remove_directory(&path));
            match removed {
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                result => result?,
            }
        }
        Ok(())
    }

    /// Returns all buckets, ordered by name.
    pub(crate) fn list_buckets(&self) -> S3Result<Vec<BucketInfo>> {
        let list = || -> io::Result<Vec<BucketInfo>> {
            let mut buckets = Vec::new();
            for entry in fs::read_dir(&self.root)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                if entry.file_type()?.is_dir() && check_bucket_name(&name) {
                    let metadata = entry.metadata()?;
                    let created = metadata.created().or_else(|_| metadata.modified())?;
                    buckets.push(BucketInfo { name, created });
                }
            }
            buckets.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            Ok(buckets)
        };
        list().map_err(storage_error)
    }
}

/// Returns true if the directory contains anything but directories, at any depth.
fn holds_files(directory: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() || holds_files(&entry.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}
