//! What S3 keeps beside an object's bytes: its ETag, headers, metadata, checksums.
//!
//! It is an extended attribute of the file that holds the bytes, written before the file gets its name.
//! So one rename makes both visible, and whoever has the file open has the metadata of these
//! bytes, whatever happens to the name. The attribute says which size and modification time the bytes
//! have: a file that was changed by hand since is not answered with another version's ETag.
//!
//! Where the file system keeps no attributes, or has no room for a long one, it is a small JSON file in
//! `meta/<bucket>`, whose name says which bytes it belongs to: key, size and modification time. It is
//! written, and forced, before the bytes become visible, and removed after those that replace
//! them are forced. Versions that this store wrote always have different times; where the file system's
//! are coarse, they are made different from the version replaced. Readers make sure, after they
//! have read it, that the name still leads to the file that they have. Earlier releases kept all
//! metadata like that; when they are read it becomes an attribute, too.
//!
//! An attribute that is there and cannot be read is damage: what the bytes should be is not known.
//!
//! A file that was put into the folder by hand has neither. Its ETag is derived from inode, size
//! and modification time: nothing is read, and it changes when the file does. It ends in `-1`, which
//! tells clients that it is not an MD5.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::attributes::{self, Of};
use super::checksum::Checksums;
use super::paths::{hash, hex};
use super::{Store, object::damaged, object::inode};

/// The coarsest time stamps that a file system keeps (FAT's).
const COARSE: Duration = Duration::from_secs(2);

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
    /// The CRC-64/NVME of the bytes, by which damage is noticed. Objects of earlier releases have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crc64: Option<u64>,
    /// The sizes of the parts of a multipart upload.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<u64>,
    /// The multipart upload that became this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) upload: Option<String>,
    /// Found out when it is read.
    #[serde(skip)]
    pub(crate) since: Since,
}

/// What became of the bytes that metadata was written for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Since {
    /// They are there, or there never were any.
    #[default]
    Stored,
    /// Others are there, and the time of the file says so: it was changed by hand.
    Changed,
    /// Fewer or more are there, and no time says so: the disk or the file system failed.
    Cut,
    /// It is not known: the metadata is there, and cannot be read.
    Unreadable,
}

impl Meta {
    /// Refuses the metadata of an object that the disk or the file system has damaged.
    pub(crate) fn check_since(&self, bucket: &str, key: &str, size: u64) -> io::Result<()> {
        let what = match self.since {
            Since::Stored | Since::Changed => return Ok(()),
            Since::Cut => "an object has another length on disk than was stored",
            Since::Unreadable => "the metadata of an object cannot be read",
        };
        tracing::error!(bucket, key, size, "{what}");
        Err(damaged())
    }
}

/// Metadata as an attribute, with the bytes that it is about.
#[derive(Debug, Serialize, Deserialize)]
struct Attribute {
    size: u64,
    /// Nanoseconds since 1970.
    modified: u64,
    #[serde(flatten)]
    meta: Meta,
}

/// Where metadata was found.
#[derive(Debug)]
pub(super) enum Known {
    /// With the file itself.
    Attached(Meta),
    /// Under its name, or nowhere: certain only if the name still leads to the file.
    ByName(Meta),
}

impl Store {
    fn meta_path(&self, bucket: &str, key: &str, size: u64, modified: SystemTime) -> PathBuf {
        let hash = hash(key);
        let name = format!("{hash}-{size}-{}.json", nanoseconds(modified));
        self.own("meta").join(bucket).join(&hash[..2]).join(name)
    }

    /// What is known of the bytes that `metadata` describes.
    pub(super) fn load_meta(
        &self,
        (bucket, key): (&str, &str),
        of: Of<'_>,
        metadata: &Metadata,
    ) -> io::Result<Known> {
        let (size, modified) = (metadata.len(), metadata.modified()?);
        let attribute = if self.attributes { attributes::get(of) } else { None };
        let is_attached = attribute.is_some();
        let attribute = attribute.and_then(|json| serde_json::from_slice::<Attribute>(&json).ok());
        let mut since = Since::Stored;
        if is_attached && attribute.is_none() {
            since = Since::Unreadable;
        }
        if let Some(Attribute { size: its_size, modified: its_time, meta }) = attribute {
            match (size == its_size, nanoseconds(modified) == its_time) {
                (true, true) => return Ok(Known::Attached(meta)),
                (false, true) => {
                    return Ok(Known::Attached(Meta { since: Since::Cut, ..meta }));
                }
                (_, false) => since = Since::Changed,
            }
        }
        // A file that cannot be read counts as absent.
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
                    // Best effort: it is found here again.
                    let _ = attach_again(of, metadata, &meta);
                }
                Ok(Known::ByName(meta))
            }
            None => {
                let etag = derived_etag(metadata)?;
                let meta = Meta { etag, since, ..Meta::default() };
                Ok(match since {
                    Since::Unreadable => Known::Attached(meta),
                    _ => Known::ByName(meta),
                })
            }
        }
    }

    /// Gives a complete file its time and its metadata, and forces them with its bytes.
    pub(super) fn prepare(
        &self,
        place: (&str, &str),
        file: &NamedTempFile,
        meta: &Meta,
    ) -> io::Result<()> {
        let time = self.next_modified();
        let mut metadata = self.disk.stamp(file.as_file(), time)?;
        if metadata.modified()? != time {
            // Coarse time stamps: one that is over, so that a change by hand will show.
            metadata = self.disk.stamp(file.as_file(), time - COARSE)?;
        }
        if !self.attributes || attach(file.as_file(), &metadata, meta).is_err() {
            self.save_beside(place, file.as_file(), meta)?;
        }
        self.disk.settle(file)
    }

    /// Writes metadata to a file that no other version of the object has.
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

    /// Forgets what was known of bytes that are gone.
    pub(super) fn remove_meta(&self, bucket: &str, key: &str, file: &Metadata) {
        if let Ok(modified) = file.modified() {
            // Best effort: a leftover only wastes space.
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

/// Makes metadata that was found in a file an attribute, if it is still about the same bytes.
fn attach_again(of: Of<'_>, metadata: &Metadata, meta: &Meta) -> io::Result<()> {
    let opened;
    let file = match of {
        Of::Open(file) => file,
        Of::Named(path) => {
            opened = File::open(path)?;
            &opened
        }
    };
    let now = file.metadata()?;
    if is_same(&now, metadata) { attach(file, metadata, meta) } else { Ok(()) }
}

/// Whether both describe the same bytes of the same file.
pub(super) fn is_same(a: &Metadata, b: &Metadata) -> bool {
    inode(a) == inode(b) && has_stamp_of(a, b)
}

/// Whether both have one size and modification time.
pub(super) fn has_stamp_of(a: &Metadata, b: &Metadata) -> bool {
    a.len() == b.len() && matches!((a.modified(), b.modified()), (Ok(a), Ok(b)) if a == b)
}

/// Whether a name leads to this file.
pub(super) fn leads_to(name: &Path, file: &Metadata) -> bool {
    fs::symlink_metadata(name).is_ok_and(|found| is_same(&found, file))
}

/// The ETag of a file that this store did not write.
fn derived_etag(file: &Metadata) -> io::Result<String> {
    use s3s::crypto::{Checksum as _, Md5};
    let text = format!("{}-{}-{}", inode(file), file.len(), nanoseconds(file.modified()?));
    Ok(format!("{}-1", hex(Md5::checksum(text.as_bytes()).as_ref())))
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
