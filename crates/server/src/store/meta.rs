//! What S3 keeps beside an object's bytes: its ETag, headers, metadata, checksums.
//!
//! It is kept in a small JSON file whose name says which bytes it belongs to: bucket, key, size and
//! modification time (to the nanosecond, and no two versions that this store writes share one). So
//! it is written before the bytes become visible, and bytes that were changed by hand are never
//! answered with another version's ETag.
//!
//! A file that was put into the folder by hand has no such file. Its ETag is derived from inode,
//! size and modification time: nothing is read, and it changes when the file does. It ends in `-1`,
//! which tells clients that it is not an MD5.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::checksum::Checksums;
use super::paths::{hash, hex};
use super::{Store, object::inode};

/// What S3 keeps beside the bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Meta {
    /// Without quotes.
    pub(crate) etag: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache_control: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_disposition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_language: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<String>,
    /// Seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
    /// `x-amz-meta-*`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) user: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Checksums::is_empty")]
    pub(crate) checksums: Checksums,
    /// The sizes of the parts of a multipart upload.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<u64>,
}

impl Store {
    fn meta_path(&self, bucket: &str, key: &str, size: u64, modified: SystemTime) -> PathBuf {
        let hash = hash(key);
        let name = format!("{hash}-{size}-{}.json", nanoseconds(modified));
        self.own("meta").join(bucket).join(&hash[..2]).join(name)
    }

    /// What is known of the bytes that `file` describes.
    pub(super) fn load_meta(&self, bucket: &str, key: &str, file: &Metadata) -> io::Result<Meta> {
        let path = self.meta_path(bucket, key, file.len(), file.modified()?);
        // A file that cannot be read (after a crash, on a full disk) counts as absent.
        let found = fs::read(path).ok().and_then(|json| serde_json::from_slice(&json).ok());
        match found {
            Some(meta) => Ok(meta),
            None => Ok(Meta { etag: derived_etag(file)?, ..Meta::default() }),
        }
    }

    /// Notes `meta` for bytes that are about to become visible.
    pub(super) fn save_meta(
        &self,
        bucket: &str,
        key: &str,
        file: &Metadata,
        meta: &Meta,
    ) -> io::Result<()> {
        let path = self.meta_path(bucket, key, file.len(), file.modified()?);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let temporary = tempfile::NamedTempFile::new_in(self.temporary())?;
        fs::write(temporary.path(), serde_json::to_vec(meta)?)?;
        temporary.persist(path).map_err(|e| e.error)?;
        Ok(())
    }

    /// Forgets what was known of bytes that are gone.
    pub(super) fn remove_meta(&self, bucket: &str, key: &str, file: &Metadata) {
        if let Ok(modified) = file.modified() {
            // Best effort: a leftover only wastes space.
            let _ = fs::remove_file(self.meta_path(bucket, key, file.len(), modified));
        }
    }
}

/// The ETag of a file that this store did not write.
fn derived_etag(file: &Metadata) -> io::Result<String> {
    use s3s::crypto::{Checksum as _, Md5};
    let text = format!("{}-{}-{}", inode(file), file.len(), nanoseconds(file.modified()?));
    Ok(format!("{}-1", hex(Md5::checksum(text.as_bytes()).as_ref())))
}

fn nanoseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}
