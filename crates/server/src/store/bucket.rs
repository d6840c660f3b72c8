//! Buckets: the directories of the folder whose names are bucket names.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use s3s::path::check_bucket_name;
use s3s::{S3Result, s3_error};

use super::listing::PageRequest;
use super::{Store, storage_error};

/// A bucket in a listing.
#[derive(Debug, Clone)]
pub(crate) struct BucketInfo {
    pub(crate) name: String,
    pub(crate) created: SystemTime,
}

impl Store {
    /// The directory of a bucket that exists.
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
        match fs::create_dir(self.root.join(name)) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                Err(s3_error!(BucketAlreadyOwnedByYou, "the bucket exists and is yours"))
            }
            Err(e) => Err(storage_error(e)),
        }
    }

    /// Removes a bucket without objects; its unfinished uploads are aborted.
    pub(crate) fn delete_bucket(&self, name: &str) -> S3Result<()> {
        let path = self.bucket(name)?;
        let not_empty = || s3_error!(BucketNotEmpty, "the bucket is not empty");
        let _names = self.lock_names();
        let first = PageRequest { max_keys: 1, ..PageRequest::default() };
        if !self.list(name, &first)?.entries.is_empty() {
            return Err(not_empty());
        }
        match remove_empty_tree(&path) {
            Ok(()) => {}
            // Something that is no object: a symbolic link, a name that is not UTF-8.
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => return Err(not_empty()),
            Err(e) => return Err(storage_error(e)),
        }
        self.remove_uploads_of(name);
        // Best effort: a leftover only wastes space.
        let _ = fs::remove_dir_all(self.own("meta").join(name));
        Ok(())
    }

    /// Every bucket, by name.
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

/// Removes a directory and the directories in it, if nothing else is there.
fn remove_empty_tree(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty_tree(&entry.path())?;
        }
    }
    fs::remove_dir(directory)
}
