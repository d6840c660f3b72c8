//! The metadata of objects: ETag, headers, user metadata and checksums.
//!
//! Metadata is an extended attribute of the file that holds the bytes, written before the file gets its name. One
//! rename therefore makes both visible. A reader that has the file open also has the metadata of its bytes, whatever
//! happens to the name. The attribute contains the size and the modification time of the bytes, so that a file that
//! was changed by hand later does not get the ETag of another version.
//!
//! Where the file system supports no attributes, or has no room for a long one, the metadata is a small JSON file in
//! `meta/<bucket>`. Its name identifies the bytes by key, size and modification time. It is written, and forced,
//! before the bytes become visible, and removed after their replacement is forced. Versions that this store wrote
//! always have different times. Where time stamps are coarse, they are made different from that of the version
//! replaced. After reading the JSON file, a reader checks that the name still leads to the file that it has open.
//! Earlier releases kept all metadata like that; when it is read, it is converted to an attribute.
//!
//! An attribute that exists and cannot be read counts as damage, because the right content of the bytes is unknown.
//!
//! A file that was put into the folder by hand has no metadata. Its ETag is derived from inode, size and modification
//! time, so no bytes are read, and it changes when the file does. It ends in `-1`, which shows clients that it is not
//! an MD5.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::attributes::{self, XattrTarget};
use super::checksum::Checksums;
use super::paths::{hash, hex};
use super::{Store, object::damaged, object::inode};

/// The coarsest precision of time stamps in a file system (FAT).
const COARSE: Duration = Duration::from_secs(2);

/// The metadata of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Meta {
    /// The ETag, without quotes.
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
    /// The time of expiry in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
    /// The `x-amz-meta-*` headers, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) user: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Checksums::is_empty")]
    pub(crate) checksums: Checksums,
    /// The CRC-64/NVME of the bytes, which detects damage. Objects of earlier releases have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crc64: Option<u64>,
    /// The sizes of the parts of a multipart upload.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<u64>,
    /// The name of the multipart upload that became this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) upload: Option<String>,
    /// The state of the bytes, which is determined on reading.
    #[serde(skip)]
    pub(crate) since: ContentStatus,
}

/// The state of the bytes, compared with those that the metadata was written for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ContentStatus {
    /// The bytes are unchanged, or there is no metadata.
    #[default]
    Stored,
    /// The bytes were changed by hand, because the file has another modification time.
    Changed,
    /// The number of bytes differs, but not the modification time. The disk or the file system has failed.
    Cut,
    /// The metadata exists but cannot be read, so the state is unknown.
    Unreadable,
}

impl Meta {
    /// Refuses an object that the disk or the file system has damaged.
    pub(crate) fn check_since(&self, bucket: &str, key: &str, size: u64) -> io::Result<()> {
        let what = match self.since {
            ContentStatus::Stored | ContentStatus::Changed => return Ok(()),
            ContentStatus::Cut => "an object has another length on disk than was stored",
            ContentStatus::Unreadable => "the metadata of an object cannot be read",
        };
        tracing::error!(bucket, key, size, "{what}");
        Err(damaged())
    }
}

/// The attribute's content: metadata, with the size and time of the bytes.
#[derive(Debug, Serialize, Deserialize)]
struct Attribute {
    size: u64,
    /// The modification time in nanoseconds since 1970.
    modified: u64,
    #[serde(flatten)]
    meta: Meta,
}

/// Metadata, with the place where it was found.
#[derive(Debug)]
pub(super) enum MetadataSource {
    /// The metadata was attached to the file itself.
    Attached(Meta),
    /// The metadata was found by name, or does not exist. It is certain only if the name still leads to the file.
    ByName(Meta),
}

impl Store {
    fn meta_path(&self, bucket: &str, key: &str, size: u64, modified: SystemTime) -> PathBuf {
        let hash = hash(key);
        let name = format!("{hash}-{size}-{}.json", nanoseconds(modified));
        self.own("meta").join(bucket).join(&hash[..2]).join(name)
    }

    /// Loads the metadata of the bytes that `metadata` describes.
    pub(super) fn load_meta(
        &self,
        (bucket, key): (&str, &str),
        of: XattrTarget<'_>,
        metadata: &Metadata,
    ) -> io::Result<MetadataSource> {
        let (size, modified) = (metadata.len(), metadata.modified()?);
        let attribute = if self.attributes { attributes::get(of) } else { None };
        let is_attached = attribute.is_some();
        let attribute = attribute.and_then(|json| serde_json::from_slice::<Attribute>(&json).ok());
        let mut since = ContentStatus::Stored;
        if is_attached && attribute.is_none() {
            since = ContentStatus::Unreadable;
        }
        if let Some(Attribute { size: its_size, modified: its_time, meta }) = attribute {
            match (size == its_size, nanoseconds(modified) == its_time) {
                (true, true) => return Ok(MetadataSource::Attached(meta)),
                (false, true) => {
                    return Ok(MetadataSource::Attached(Meta {
                        since: ContentStatus::Cut,
                        ..meta
                    }));
                }
                (_, false) => since = ContentStatus::Changed,
            }
        }
        // An unreadable file counts as absent.
        let found = self
            .own("meta")
            .join(bucket)
            .is_dir()
            .then(|| self.meta_path(bucket, key, size, modified))
            .and_then(|path| {
                #[cfg(test)]
                self.meta_files_opened.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                serde_json::from_slice::<Meta>(&fs::read(path).ok()?).ok()
            });
        match found {
            Some(meta) => {
                if self.attributes {
                    // This is best effort, because the metadata can be found here again.
                    let _ = attach_again(of, metadata, &meta);
                }
                Ok(MetadataSource::ByName(meta))
            }
            None => {
                let etag = derived_etag(metadata)?;
                let meta = Meta { etag, since, ..Meta::default() };
                Ok(match since {
                    ContentStatus::Unreadable => MetadataSource::Attached(meta),
                    _ => MetadataSource::ByName(meta),
                })
            }
        }
    }

    /// Sets the time and the metadata of a complete file, and forces them with its bytes.
    pub(super) fn prepare(
        &self,
        place: (&str, &str),
        file: &NamedTempFile,
        meta: &Meta,
    ) -> io::Result<()> {
        let time = self.next_modified();
        let mut metadata = self.disk.stamp(file.as_file(), time)?;
        if metadata.modified()? != time {
            // Time stamps are coarse. A time in the past makes sure that a change by hand has another one.
            metadata = self.disk.stamp(file.as_file(), time - COARSE)?;
        }
        if !self.attributes || attach(file.as_file(), &metadata, meta).is_err() {
            self.save_beside(place, file.as_file(), meta)?;
        }
        self.disk.settle(file)
    }

    /// Writes metadata to a JSON file that belongs to no other version of the object.
    fn save_beside(&self, (bucket, key): (&str, &str), file: &File, meta: &Meta) -> io::Result<()> {
        let json = serde_json::to_vec(meta)?;
        let mut metadata = file.metadata()?;
        loop {
            let path = self.meta_path(bucket, key, metadata.len(), metadata.modified()?);
            let directory = path.parent().unwrap_or(&path);
            self.disk.create_directories(directory)?;
            if self.disk.publish_new(&path, &json)? {
                return self.disk.sync_names(directory);
            }
            metadata = self.disk.stamp(file, metadata.modified()? + COARSE)?;
        }
    }

    /// Removes the metadata of bytes that are gone.
    pub(super) fn remove_meta(&self, bucket: &str, key: &str, file: &Metadata) {
        if let Ok(modified) = file.modified() {
            // This is best effort, because a leftover only wastes space.
            let _ = self.disk.remove_file(&self.meta_path(bucket, key, file.len(), modified));
        }
    }
}

fn attach(file: &File, metadata: &Metadata, meta: &Meta) -> io::Result<()> {
    let attribute = Attribute {
        size: metadata.len(),
        modified: nanoseconds(metadata.modified()?),
        meta: meta.clone(),
    };
    attributes::set(file, &serde_json::to_vec(&attribute)?)
}

/// Converts metadata from a JSON file to an attribute, if the file still has the same bytes.
fn attach_again(of: XattrTarget<'_>, metadata: &Metadata, meta: &Meta) -> io::Result<()> {
    let opened;
    let file = match of {
        XattrTarget::Open(file) => file,
        XattrTarget::Named(path) => {
            opened = File::open(path)?;
            &opened
        }
    };
    let now = file.metadata()?;
    if is_same(&now, metadata) { attach(file, metadata, meta) } else { Ok(()) }
}

/// Returns true if both describe the same bytes of the same file.
pub(super) fn is_same(a: &Metadata, b: &Metadata) -> bool {
    inode(a) == inode(b) && has_stamp_of(a, b)
}

/// Returns true if both have the same size and modification time.
pub(super) fn has_stamp_of(a: &Metadata, b: &Metadata) -> bool {
    a.len() == b.len() && matches!((a.modified(), b.modified()), (Ok(a), Ok(b)) if a == b)
}

/// Returns true if the name leads to this file.
pub(super) fn leads_to(name: &Path, file: &Metadata) -> bool {
    fs::symlink_metadata(name).is_ok_and(|found| is_same(&found, file))
}

/// Returns the ETag of a file that this store did not write.
fn derived_etag(file: &Metadata) -> io::Result<String> {
    use s3s::crypto::{Checksum as _, Md5};
    let text = format!("{}-{}-{}", inode(file), file.len(), nanoseconds(file.modified()?));
    Ok(format!("{}-1", hex(Md5::checksum(text.as_bytes()).as_ref())))
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
