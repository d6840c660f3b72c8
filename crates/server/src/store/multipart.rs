//! Multipart uploads: each a directory of parts, until they are assembled.
//!
//! ```text
//! uploads/<id>/
//!   upload.json     what the upload is to become
//!   00001.json      what part 1 is: which file, its ETag, size, checksums
//!   00001-<random>  its bytes
//! ```
//!
//! A part that is sent again replaces its JSON file in one step, so it is always whole.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use s3s::crypto::{Checksum as _, Md5};
use s3s::{S3Result, s3_error};
use serde::{Deserialize, Serialize};

use super::checksum::{Algorithm, Checksums, composite};
use super::condition::WriteConditions;
use super::draft::Written;
use super::meta::Meta;
use super::paths::hex;
use super::{Expected, Store, storage_error};

/// The least size of a part that is not the last one.
const MIN_PART: u64 = 5 * 1024 * 1024;
/// The highest part number.
const MAX_PART: i32 = 10_000;

/// A multipart upload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Upload {
    pub(crate) bucket: String,
    pub(crate) key: String,
    /// Milliseconds since 1970.
    pub(crate) initiated: u64,
    pub(crate) meta: Meta,
    pub(crate) algorithm: Option<Algorithm>,
    /// Whether the object's checksum is to be one of all bytes, not one of the parts' checksums.
    pub(crate) full_object: bool,
}

/// A part that has been uploaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartInfo {
    pub(crate) number: i32,
    pub(crate) etag: String,
    pub(crate) size: u64,
    /// Milliseconds since 1970.
    pub(crate) modified: u64,
    pub(crate) checksums: Checksums,
    file: String,
}

/// A part as the completion of an upload names it.
#[derive(Debug, Clone)]
pub(crate) struct PartReference {
    pub(crate) number: i32,
    pub(crate) etag: String,
    pub(crate) checksums: Checksums,
}

impl Store {
    /// Begins an upload and returns its name.
    pub(crate) fn create_upload(&self, upload: &Upload) -> S3Result<String> {
        Self::check_key(&upload.key)?;
        self.bucket(&upload.bucket)?;
        let make = || -> io::Result<String> {
            let mut random = [0; 16];
            getrandom::fill(&mut random)?;
            let id = hex(&random);
            let directory = self.own("uploads").join(&id);
            fs::create_dir(&directory)?;
            self.write_json(&directory.join("upload.json"), upload)?;
            Ok(id)
        };
        make().map_err(storage_error)
    }

    /// The upload of this name, if it is for this bucket and key.
    pub(crate) fn upload(&self, id: &str, bucket: &str, key: &str) -> S3Result<(PathBuf, Upload)> {
        let missing =
            || s3_error!(NoSuchUpload, "the upload does not exist; it may be completed or aborted");
        // Names come from clients: only those that this store created are looked up.
        if id.len() != 32 || !id.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f')) {
            return Err(missing());
        }
        self.bucket(bucket)?;
        let directory = self.own("uploads").join(id);
        let upload: Upload = read_json(&directory.join("upload.json")).ok_or_else(missing)?;
        if upload.bucket != bucket || upload.key != key {
            return Err(missing());
        }
        Ok((directory, upload))
    }

    /// Refuses part numbers that S3 refuses.
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
        written: Written,
    ) -> S3Result<PartInfo> {
        let (directory, _) = self.upload(id, bucket, key)?;
        let part = PartInfo {
            number,
            etag: hex(&written.digest.md5),
            size: written.size,
            modified: milliseconds(SystemTime::now()),
            checksums: written.digest.checksums.clone(),
            file: String::new(),
        };
        let put = || -> io::Result<PartInfo> {
            if self.sync {
                written.as_file().sync_all()?;
            }
            let name = written.file.path().file_name().unwrap_or_default().to_string_lossy();
            let part = PartInfo { file: format!("{number:05}-{name}"), ..part };
            let replaced = read_json::<PartInfo>(&part_path(&directory, number));
            written.file.persist(directory.join(&part.file)).map_err(|e| e.error)?;
            self.write_json(&part_path(&directory, number), &part)?;
            if let Some(replaced) = replaced {
                // Nothing refers to it any more; it is removed with the upload at the latest.
                let _ = fs::remove_file(directory.join(replaced.file));
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

    /// The parts of an upload, by number.
    pub(crate) fn parts(&self, directory: &Path) -> S3Result<Vec<PartInfo>> {
        let read = || -> io::Result<Vec<PartInfo>> {
            let mut parts = Vec::new();
            for entry in fs::read_dir(directory)? {
                let name = entry?.file_name();
                let name = name.to_string_lossy();
                if name.ends_with(".json") && name != "upload.json" {
                    parts.extend(read_json::<PartInfo>(&directory.join(&*name)));
                }
            }
            parts.sort_unstable_by_key(|part| part.number);
            Ok(parts)
        };
        read().map_err(storage_error)
    }

    /// Assembles an upload's parts. `expected` is the checksum of the whole, if known.
    pub(crate) fn complete_upload(
        &self,
        id: &str,
        (bucket, key): (&str, &str),
        references: &[PartReference],
        expected: &Expected,
        conditions: &WriteConditions,
    ) -> S3Result<Meta> {
        let (directory, upload) = self.upload(id, bucket, key)?;
        let parts = choose_parts(&self.parts(&directory)?, references)?;
        let algorithm = upload.algorithm;
        let full = algorithm.filter(|a| upload.full_object || *a == Algorithm::Crc64Nvme);
        let mut draft = self.draft(full, None)?;
        let mut md5s = Md5::new();
        for part in &parts {
            md5s.update(&unhex(&part.etag));
            let file = File::open(directory.join(&part.file)).map_err(storage_error)?;
            let before = draft.size();
            draft.copy_from(file)?;
            if draft.size() - before != part.size {
                return Err(s3_error!(InternalError, "a part has changed on disk"));
            }
        }
        let written = draft.finish();
        let mut checksums = written.digest.checksums.clone();
        if let (Some(algorithm), None) = (algorithm, full) {
            let of_parts: Vec<_> =
                parts.iter().filter_map(|p| p.checksums.get(algorithm)).collect();
            if of_parts.len() == parts.len()
                && let Some(sum) = composite(algorithm, &of_parts)
            {
                checksums.set(algorithm, sum);
                checksums.composite = true;
            }
        }
        for algorithm in Algorithm::ALL {
            if let (Some(said), Some(found)) =
                (expected.checksums.get(algorithm), checksums.get(algorithm))
                && said != found
            {
                let header = algorithm.header();
                return Err(s3_error!(BadDigest, "the object does not match {header}"));
            }
        }
        let meta = Meta {
            etag: format!("{}-{}", hex(md5s.finalize().as_ref()), parts.len()),
            checksums,
            parts: parts.iter().map(|part| part.size).collect(),
            ..upload.meta
        };
        self.commit(bucket, key, written, &meta, conditions)?;
        // The object exists; removing the upload is best effort, a leftover only wastes space.
        let _ = self.discard_upload(id, &directory);
        Ok(meta)
    }

    pub(crate) fn abort_upload(&self, id: &str, bucket: &str, key: &str) -> S3Result<()> {
        let (directory, _) = self.upload(id, bucket, key)?;
        self.discard_upload(id, &directory).map_err(storage_error)
    }

    /// Removes an upload. It is renamed first, in one step: a part that arrives meanwhile finds no
    /// upload, instead of keeping the folder from being removed and being left there.
    fn discard_upload(&self, id: &str, directory: &Path) -> io::Result<()> {
        let discarded = self.temporary().join(format!("discarded-{id}"));
        fs::rename(directory, &discarded)?;
        loop {
            match fs::remove_dir_all(&discarded) {
                // A part had opened the folder before it was renamed.
                Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {}
                removed => return removed,
            }
        }
    }

    /// The uploads in progress in a bucket with their names, by key and time.
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

    pub(super) fn remove_uploads_of(&self, bucket: &str) {
        for entry in fs::read_dir(self.own("uploads")).into_iter().flatten().flatten() {
            let upload = read_json::<Upload>(&entry.path().join("upload.json"));
            if upload.is_some_and(|upload| upload.bucket == bucket) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn write_json(&self, path: &Path, value: &impl Serialize) -> io::Result<()> {
        let temporary = tempfile::NamedTempFile::new_in(self.temporary())?;
        fs::write(temporary.path(), serde_json::to_vec(value)?)?;
        temporary.persist(path).map_err(|e| e.error)?;
        Ok(())
    }
}

fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn part_path(directory: &Path, number: i32) -> PathBuf {
    directory.join(format!("{number:05}.json"))
}

pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The bytes of an ETag that this store made.
fn unhex(etag: &str) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).unwrap_or(0) as u8;
    etag.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The parts named, if they are there, in order, and large enough.
fn choose_parts(parts: &[PartInfo], references: &[PartReference]) -> S3Result<Vec<PartInfo>> {
    if references.is_empty() {
        return Err(s3_error!(MalformedXML, "an upload needs at least one part"));
    }
    if !references.is_sorted_by(|a, b| a.number < b.number) {
        return Err(s3_error!(InvalidPartOrder, "parts must be named in ascending order"));
    }
    let mut chosen: Vec<PartInfo> = Vec::with_capacity(references.len());
    for reference in references {
        let found = parts.iter().find(|part| part.number == reference.number);
        let part = found.filter(|part| {
            part.etag == reference.etag
                && Algorithm::ALL.iter().all(|a| {
                    let (said, known) = (reference.checksums.get(*a), part.checksums.get(*a));
                    said.is_none() || known.is_none() || said == known
                })
        });
        let Some(part) = part else {
            let number = reference.number;
            return Err(s3_error!(
                InvalidPart,
                "part {number} was not uploaded, or is another one"
            ));
        };
        if chosen.last().is_some_and(|previous| previous.size < MIN_PART) {
            return Err(s3_error!(EntityTooSmall, "only the last part may be under 5 MiB"));
        }
        chosen.push(part.clone());
    }
    Ok(chosen)
}
