//! Multipart uploads, which are directories of parts until they are assembled.
//!
//! ```text
//! uploads/<id>/
//!   upload.json     the object that the upload will become
//!   00001.json      part 1: its file, ETag, size and checksums
//!   00001-<random>  the bytes of part 1
//! ```
//!
//! A part that is sent again replaces its JSON file in one step, after its bytes are on disk under their name. There
//! is therefore always a complete part. `completion` assembles the parts.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use s3s::{S3Error, S3Result, s3_error};
use serde::{Deserialize, Serialize};

use super::checksum::{Algorithm, Checksums};
use super::draft::FinishedDraft;
use super::meta::Meta;
use super::paths::hex;
use super::{Store, random, storage_error};

/// The highest number of a part.
const MAX_PART: i32 = 10_000;

/// A multipart upload in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Upload {
    pub(crate) bucket: String,
    pub(crate) key: String,
    /// The start time in milliseconds since 1970.
    pub(crate) initiated: u64,
    pub(crate) meta: Meta,
    pub(crate) algorithm: Option<Algorithm>,
    /// True if the object's checksum is one of all bytes, false if it is one of the parts' checksums.
    pub(crate) full_object: bool,
}

/// A part that has been uploaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartInfo {
    pub(crate) number: i32,
    pub(crate) etag: String,
    pub(crate) size: u64,
    /// The upload time in milliseconds since 1970.
    pub(crate) modified: u64,
    pub(crate) checksums: Checksums,
    /// The CRC-64/NVME of the bytes. Parts from earlier releases have none.
    #[serde(default)]
    pub(super) crc64: Option<u64>,
    pub(super) file: String,
}

/// A part as named in the request that completes an upload.
#[derive(Debug, Clone)]
pub(crate) struct PartReference {
    pub(crate) number: i32,
    pub(crate) etag: String,
    pub(crate) checksums: Checksums,
}

impl Store {
    /// Creates an upload and returns its name.
    pub(crate) fn create_upload(&self, upload: &Upload) -> S3Result<String> {
        Self::check_key(&upload.key)?;
        self.bucket(&upload.bucket)?;
        let make = || -> io::Result<String> {
            let id = random()?;
            let directory = self.own("uploads").join(&id);
            self.disk.create_directory(&directory)?;
            let upload = serde_json::to_vec(upload)?;
            self.disk.publish_bytes(&directory.join("upload.json"), &upload)?;
            self.disk.sync_names(&directory)?;
            Ok(id)
        };
        make().map_err(storage_error)
    }

    /// Returns the upload of this name, if it belongs to this bucket and key.
    pub(crate) fn upload(&self, id: &str, bucket: &str, key: &str) -> S3Result<(PathBuf, Upload)> {
        check_id(id)?;
        self.bucket(bucket)?;
        let directory = self.own("uploads").join(id);
        let upload: Upload = read_json(&directory.join("upload.json")).ok_or_else(no_upload)?;
        if upload.bucket != bucket || upload.key != key {
            return Err(no_upload());
        }
        Ok((directory, upload))
    }

    /// Refuses part numbers that S3 refuses, too.
    pub(crate) fn check_part_number(number: i32) -> S3Result<()> {
        if (1..=MAX_PART).contains(&number) {
            Ok(())
        } else {
            Err(s3_error!(InvalidArgument, "part numbers are from 1 to {MAX_PART}"))
        }
    }

    /// Adds a part to an upload.
    pub(crate) fn put_part(
        &self,
        id: &str,
        bucket: &str,
        key: &str,
        number: i32,
        mut written: FinishedDraft,
    ) -> S3Result<PartInfo> {
        let (directory, _) = self.upload(id, bucket, key)?;
        let part = PartInfo {
            number,
            etag: hex(&written.digest.md5),
            size: written.size,
            modified: milliseconds(SystemTime::now()),
            checksums: written.digest.checksums.clone(),
            crc64: Some(written.digest.crc64),
            file: String::new(),
        };
        let put = || -> io::Result<PartInfo> {
            self.disk.settle(&written.file)?;
            let name = written.file.path().file_name().unwrap_or_default().to_string_lossy();
            let part = PartInfo { file: format!("{number:05}-{name}"), ..part };
            let replaced = read_json::<PartInfo>(&part_path(&directory, number));
            self.disk.publish(&mut written.file, &directory.join(&part.file))?;
            if replaced.is_some() {
                self.disk.sync_names(&directory)?;
            }
            self.disk.publish_bytes(&part_path(&directory, number), &serde_json::to_vec(&part)?)?;
            self.disk.sync_names(&directory)?;
            if let Some(replaced) = replaced {
                // Nothing refers to the file any more. It is removed with the upload at the latest.
                let _ = self.disk.remove_file(&directory.join(replaced.file));
            }
            Ok(part)
        };
        match put() {
            Ok(part) => Ok(part),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                Err(s3_error!(NoSuchUpload, "the upload was completed or aborted meanwhile"))
            }
            Err(e) => Err(storage_error(e)),
        }
    }

    /// Returns the parts of an upload, ordered by number.
    pub(crate) fn parts(&self, directory: &Path) -> S3Result<Vec<PartInfo>> {
        let read = || -> io::Result<Vec<PartInfo>> {
            let mut parts = Vec::new();
            for entry in fs::read_dir(directory)? {
                let name = entry?.file_name();
                let name = name.to_string_lossy();
                if name.ends_with(".json") && name != "upload.json" {
                    let part = read_json::<PartInfo>(&directory.join(&*name));
                    // After a power failure, there may be a part whose bytes were never confirmed.
                    parts.extend(part.filter(|part| {
                        let bytes = fs::symlink_metadata(directory.join(&part.file));
                        bytes.is_ok_and(|bytes| bytes.is_file() && bytes.len() == part.size)
                    }));
                }
            }
            parts.sort_unstable_by_key(|part| part.number);
            Ok(parts)
        };
        read().map_err(storage_error)
    }

    /// Removes an upload in one step. A part that arrives in the meantime then finds no upload, and cannot leave a
    /// file in the directory.
    pub(super) fn discard_upload(&self, id: &str) -> io::Result<()> {
        self.disk.discard(&self.own("uploads").join(id), id)
    }

    /// Returns the uploads in progress in a bucket with their names, ordered by key and time.
    pub(crate) fn uploads(&self, bucket: &str) -> S3Result<Vec<(String, Upload)>> {
        self.bucket(bucket)?;
        let read = || -> io::Result<Vec<(String, Upload)>> {
            let mut uploads = Vec::new();
            for entry in fs::read_dir(self.own("uploads"))? {
                let entry = entry?;
                let upload = read_json::<Upload>(&entry.path().join("upload.json"));
                if let Some(upload) = upload.filter(|upload| upload.bucket == bucket) {
                    uploads.push((entry.file_name().to_string_lossy().into_owned(), upload));
                }
            }
            uploads.sort_unstable_by(|(a_id, a), (b_id, b)| {
                (&a.key, a.initiated, a_id).cmp(&(&b.key, b.initiated, b_id))
            });
            Ok(uploads)
        };
        read().map_err(storage_error)
    }
}

/// Refuses names that this store cannot have created, because names come from clients.
pub(super) fn check_id(id: &str) -> S3Result<()> {
    if id.len() == 32 && id.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f')) {
        Ok(())
    } else {
        Err(no_upload())
    }
}

pub(super) fn no_upload() -> S3Error {
    s3_error!(NoSuchUpload, "the upload does not exist; it may be completed, aborted or expired")
}

pub(super) fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn part_path(directory: &Path, number: i32) -> PathBuf {
    directory.join(format!("{number:05}.json"))
}

pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
