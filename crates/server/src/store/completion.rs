//! What a multipart upload becomes: one object of its parts, once.
//!
//! Bytes are not read again. A single part gets a second name, several are copied by the kernel
//! (which shares blocks where the file system can); the checksums of the whole are combined of those of
//! the parts. A client that asks again gets the same answer: the object says which upload it was, and
//! a note in `completed` does when the object was replaced or removed since.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use s3s::crypto::{Checksum as _, Md5};
use s3s::{S3Error, S3Result, s3_error};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::checksum::{Algorithm, Checksums, combine, combine_crc64, composite};
use super::condition::WriteConditions;
use super::meta::Meta;
use super::multipart::{PartInfo, PartReference, Upload, check_id, no_upload, read_json};
use super::paths::hex;
use super::{Expected, Store, storage_error};

/// The least size of a part that is not the last one.
const MIN_PART: u64 = 5 * 1024 * 1024;

/// What an upload became.
#[derive(Debug, Serialize, Deserialize)]
struct Completed {
    bucket: String,
    key: String,
    meta: Meta,
}

/// The bytes of an object that is assembled, and their checksums.
struct Assembled {
    file: NamedTempFile,
    checksums: Checksums,
    crc64: u64,
}

impl Store {
    /// Assembles an upload's parts. `expected` is the checksum of the whole, if known.
    pub(crate) fn complete_upload(
        &self,
        id: &str,
        place: (&str, &str),
        references: &[PartReference],
        expected: &Expected,
        conditions: &WriteConditions,
    ) -> S3Result<Meta> {
        check_id(id)?;
        // Of two requests at once, the second finds what the first did.
        let lock = id.bytes().fold(0, |sum, byte| sum + usize::from(byte)) % self.completions.len();
        let _one = self.completions[lock].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(meta) = self.completed(id, place)? {
            // It was asked for with the same parts, or it is another request.
            return if meta.etag == etag(references) { Ok(meta) } else { Err(no_upload()) };
        }
        let (directory, upload) = self.upload(id, place.0, place.1)?;
        let parts = choose_parts(&self.parts(&directory)?, references)?;
        let Assembled { file, checksums, crc64 } = self.assemble(&directory, &upload, &parts)?;
        for algorithm in Algorithm::ALL {
            if let (Some(said), Some(found)) =
                (expected.checksums.get(algorithm), checksums.get(algorithm))
                && !says(said, found, checksums.composite)
            {
                let header = algorithm.header();
                return Err(s3_error!(BadDigest, "the object does not match {header}"));
            }
        }
        let meta = Meta {
            etag: etag(references),
            checksums,
            crc64: Some(crc64),
            parts: parts.iter().map(|part| part.size).collect(),
            upload: Some(id.to_owned()),
            ..upload.meta
        };
        self.commit_file(place, file, &meta, conditions)?;
        self.note_completion(id, place, &meta).map_err(storage_error)?;
        Ok(meta)
    }

    /// What the upload became, if it was completed.
    fn completed(&self, id: &str, (bucket, key): (&str, &str)) -> S3Result<Option<Meta>> {
        let noted = read_json::<Completed>(&self.own("completed").join(format!("{id}.json")));
        if let Some(completed) = noted {
            let same = completed.bucket == bucket && completed.key == key;
            return if same { Ok(Some(completed.meta)) } else { Err(no_upload()) };
        }
        // Stopped before it was noted.
        let Ok(head) = self.head(bucket, key) else { return Ok(None) };
        if head.meta.upload.as_deref() != Some(id) {
            return Ok(None);
        }
        self.note_completion(id, (bucket, key), &head.meta).map_err(storage_error)?;
        Ok(Some(head.meta))
    }

    /// Notes what an upload became, and removes it.
    fn note_completion(
        &self,
        id: &str,
        (bucket, key): (&str, &str),
        meta: &Meta,
    ) -> io::Result<()> {
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        let completed = serde_json::to_vec(&Completed { bucket, key, meta: meta.clone() })?;
        let directory = self.own("completed");
        self.disk.publish_bytes(&directory.join(format!("{id}.json")), &completed)?;
        self.disk.sync_names(&directory)?;
        match self.discard_upload(id) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    fn assemble(
        &self,
        directory: &Path,
        upload: &Upload,
        parts: &[PartInfo],
    ) -> S3Result<Assembled> {
        let mut checksums = Checksums::default();
        if let Some(algorithm) = upload.algorithm {
            let whole = upload.full_object || algorithm == Algorithm::Crc64Nvme;
            let sums = parts.iter().map(|part| Some((part.checksums.get(algorithm)?, part.size)));
            let sums = sums.collect::<Option<Vec<_>>>();
            let sum = sums.and_then(|sums| {
                if whole {
                    return combine(algorithm, sums);
                }
                composite(algorithm, &sums.into_iter().map(|(sum, _)| sum).collect::<Vec<_>>())
            });
            match sum {
                Some(sum) => checksums.set(algorithm, sum),
                None if whole => return self.assemble_hashed(directory, parts, algorithm),
                None => {}
            }
            checksums.composite = !whole && !checksums.is_empty();
        }
        let crc64 = parts.iter().map(|part| Some((part.crc64?, part.size)));
        let Some(crc64) = crc64.collect::<Option<Vec<_>>>().and_then(combine_crc64) else {
            let assembled = self.assemble_hashed(directory, parts, None)?;
            return Ok(Assembled { checksums, ..assembled });
        };
        let file = self.concatenate(directory, parts).map_err(gone_or_broken)?;
        Ok(Assembled { file, checksums, crc64 })
    }

    /// The bytes of the parts in a file, without reading them.
    fn concatenate(&self, directory: &Path, parts: &[PartInfo]) -> io::Result<NamedTempFile> {
        if let [only] = parts
            && let Ok(linked) = self.disk.link(&directory.join(&only.file))
        {
            return Ok(linked);
        }
        let file = self.disk.create()?;
        for part in parts {
            let mut from = File::open(directory.join(&part.file))?;
            // Between two files this is `copy_file_range`, where the system has it.
            if io::copy(&mut from, &mut file.as_file())? != part.size {
                return Err(changed(part));
            }
        }
        Ok(file)
    }

    /// As [`Self::assemble`], of parts whose checksums cannot be combined.
    fn assemble_hashed(
        &self,
        directory: &Path,
        parts: &[PartInfo],
        algorithm: impl Into<Option<Algorithm>>,
    ) -> S3Result<Assembled> {
        let mut draft = self.draft(algorithm.into(), None)?;
        for part in parts {
            let file = File::open(directory.join(&part.file)).map_err(gone_or_broken)?;
            let before = draft.size();
            draft.copy_from(file)?;
            if draft.size() - before != part.size {
                return Err(storage_error(changed(part)));
            }
        }
        let written = draft.finish()?;
        let (checksums, crc64) = (written.digest.checksums, written.digest.crc64);
        Ok(Assembled { file: written.file, checksums, crc64 })
    }

    /// Removes uploads that were begun, and notes of uploads that were completed, longer ago than `age`.
    /// Returns how many uploads it removed.
    pub(crate) fn expire_uploads(&self, age: Duration) -> io::Result<usize> {
        let Some(limit) = SystemTime::now().checked_sub(age) else { return Ok(0) };
        let mut expired = 0;
        for entry in fs::read_dir(self.own("uploads"))? {
            let entry = entry?;
            let id = entry.file_name();
            let Some(id) = id.to_str().filter(|id| check_id(id).is_ok()) else { continue };
            let begun = match read_json::<Upload>(&entry.path().join("upload.json")) {
                Some(upload) => UNIX_EPOCH + Duration::from_millis(upload.initiated),
                // Stopped before anybody learned its name.
                None => entry.metadata()?.modified()?,
            };
            if begun <= limit {
                self.discard_upload(id)?;
                expired += 1;
            }
        }
        for entry in fs::read_dir(self.own("completed"))? {
            let entry = entry?;
            if entry.metadata()?.modified()? <= limit {
                self.disk.remove_file(&entry.path())?;
            }
        }
        Ok(expired)
    }
}

/// Whether a client says a checksum that was found. Of one of the parts' checksums some leave out the number of parts
/// behind it, as minio-go does.
fn says(said: &str, found: &str, composite: bool) -> bool {
    said == found
        || composite && found.rsplit_once('-').is_some_and(|(checksum, _)| checksum == said)
}

/// The error if a part cannot be read: aborted or expired meanwhile, or worse.
fn gone_or_broken(error: io::Error) -> S3Error {
    if error.kind() == io::ErrorKind::NotFound { no_upload() } else { storage_error(error) }
}

fn changed(part: &PartInfo) -> io::Error {
    let what = format!("part {} has changed on disk", part.number);
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The ETag of an object of these parts.
fn etag(parts: &[PartReference]) -> String {
    let mut md5s = Md5::new();
    for part in parts {
        md5s.update(&unhex(&part.etag));
    }
    format!("{}-{}", hex(md5s.finalize().as_ref()), parts.len())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_composite_checksum_may_come_without_the_number_of_parts() {
        for (said, found, composite, expected) in [
            ("AAAAAA==-2", "AAAAAA==-2", true, true),
            ("AAAAAA==", "AAAAAA==-2", true, true),
            ("AAAAAA==-3", "AAAAAA==-2", true, false),
            ("AAAAAA==-", "AAAAAA==-2", true, false),
            ("BAAAAA==", "AAAAAA==-2", true, false),
            ("", "AAAAAA==-2", true, false),
            ("AAAAAA==", "AAAAAA==", false, true),
            ("AAAAAA==", "AAAAAA==-2", false, false),
        ] {
            assert_eq!(says(said, found, composite), expected, "{said} {found}");
        }
    }
}
