//! The end of a multipart upload: its parts become one object, or it is aborted.
//!
//! A single part gets a second name. Several parts are copied by the kernel, which shares blocks where the file
//! system can. The bytes are then read once, and each part is compared with its checksum, because it may have been
//! damaged on disk. The checksums of the object are combined from those of the parts.
//!
//! A repeated request gets the same answer. The object's metadata names its upload. A note in `completed` does so,
//! too, in case the object is replaced or removed later: a client that lost the first answer would otherwise upload
//! the object again, and undo the later change.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use s3s::crypto::{Checksum as _, Md5};
use s3s::{S3Error, S3Result, s3_error};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::checksum::{
    Algorithm, Checksums, Crc64, Hasher, base64_of_crc64, combine, combine_crc64, composite,
};
use super::condition::WriteConditions;
use super::meta::Meta;
use super::multipart::{PartInfo, PartReference, Upload, check_id, no_upload, read_json};
use super::paths::hex;
use super::{Store, storage_error};

/// The minimum size of a part other than the last one, in bytes.
const MIN_PART: u64 = 5 * 1024 * 1024;

/// The object that an upload became.
#[derive(Debug, Serialize, Deserialize)]
struct CompletionOutcome {
    bucket: String,
    key: String,
    meta: Meta,
    /// The checksums that the request for completion stated.
    #[serde(default)]
    stated: Checksums,
}

/// The properties that a client states for the object that an upload will become.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeclaredObject {
    pub(crate) checksums: Checksums,
    /// True if the checksums are of all bytes, false if they are of the parts' checksums. `None` if the client does
    /// not state it.
    pub(crate) full_object: Option<bool>,
    pub(crate) size: Option<i64>,
}

/// The bytes of an assembled object, and their checksums.
struct Assembled {
    file: NamedTempFile,
    checksums: Checksums,
    crc64: u64,
}

impl Store {
    /// Assembles an upload's parts. Fails if the object does not match what is stated.
    pub(crate) fn complete_upload(
        &self,
        id: &str,
        place: (&str, &str),
        references: &[PartReference],
        stated: &DeclaredObject,
        conditions: &WriteConditions,
    ) -> S3Result<Meta> {
        check_id(id)?;
        self.bucket(place.0)?;
        // Concurrent requests run one after the other, so the second finds the result of the first.
        let _one = self.lock_upload(id);
        if let Some(CompletionOutcome { meta, stated: before, .. }) = self.completed(id, place)? {
            // A repeated request names the same parts.
            if meta.etag != etag(references) {
                return Err(no_upload());
            }
            check_size(stated, meta.parts.iter().sum())?;
            for (algorithm, said) in stated.checksums.each() {
                let crc64 = meta.crc64.filter(|_| algorithm == Algorithm::Crc64Nvme);
                let found = meta.checksums.get(algorithm).or(before.get(algorithm));
                let found = found.map(str::to_owned).or(crc64.map(base64_of_crc64));
                let found = found.ok_or_else(|| {
                    let header = algorithm.header();
                    s3_error!(InvalidRequest, "the upload was completed without {header}")
                })?;
                check_sum(algorithm, said, &found, meta.checksums.composite)?;
            }
            return Ok(meta);
        }
        let (directory, upload) = self.upload(id, place.0, place.1)?;
        let parts = choose_parts(&self.parts(&directory)?, references)?;
        check_size(stated, parts.iter().map(|part| part.size).sum())?;
        let is_whole = upload.full_object
            || upload.algorithm.is_none_or(|algorithm| algorithm == Algorithm::Crc64Nvme);
        if stated.full_object.is_some_and(|full_object| full_object != is_whole) {
            return Err(s3_error!(
                InvalidRequest,
                "x-amz-checksum-type is another one than that of the upload"
            ));
        }
        let Assembled { file, checksums, crc64 } = self.assemble(&directory, &upload, &parts)?;
        check_parts(file.as_file(), &parts, place).map_err(storage_error)?;
        let mut others = Vec::new();
        for (algorithm, said) in stated.checksums.each() {
            match checksums.get(algorithm) {
                Some(found) => check_sum(algorithm, said, found, checksums.composite)?,
                None if algorithm == Algorithm::Crc64Nvme => {
                    check_sum(algorithm, said, &base64_of_crc64(crc64), false)?;
                }
                None => others.push((algorithm, said)),
            }
        }
        if !others.is_empty() {
            // A completion may state checksums of another algorithm than the upload was created with.
            let found = hashed(file.as_file(), others.iter().map(|(algorithm, _)| *algorithm));
            let found = found.map_err(storage_error)?;
            for (algorithm, said) in others {
                check_sum(algorithm, said, found.get(algorithm).unwrap_or_default(), false)?;
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
        let noted = self.note_completion(id, place, &meta, &stated.checksums);
        noted.map_err(storage_error)?;
        Ok(meta)
    }

    /// Removes an upload and its parts.
    pub(crate) fn abort_upload(&self, id: &str, bucket: &str, key: &str) -> S3Result<()> {
        check_id(id)?;
        self.bucket(bucket)?;
        // An upload is either completed or aborted.
        let _one = self.lock_upload(id);
        if self.completed(id, (bucket, key))?.is_some() {
            return Err(no_upload());
        }
        self.upload(id, bucket, key)?;
        self.discard_upload(id).map_err(storage_error)
    }

    /// Locks the end of an upload.
    fn lock_upload(&self, id: &str) -> MutexGuard<'_, ()> {
        let lock = id.bytes().fold(0, |sum, byte| sum + usize::from(byte)) % self.completions.len();
        self.completions[lock].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the object that the upload became, if it was completed.
    fn completed(
        &self,
        id: &str,
        (bucket, key): (&str, &str),
    ) -> S3Result<Option<CompletionOutcome>> {
        let noted =
            read_json::<CompletionOutcome>(&self.own("completed").join(format!("{id}.json")));
        if let Some(completed) = noted {
            let same = completed.bucket == bucket && completed.key == key;
            return if same { Ok(Some(completed)) } else { Err(no_upload()) };
        }
        // The server may have stopped before the note was written.
        let Ok(head) = self.head(bucket, key) else { return Ok(None) };
        if head.meta.upload.as_deref() != Some(id) {
            return Ok(None);
        }
        let stated = Checksums::default();
        self.note_completion(id, (bucket, key), &head.meta, &stated).map_err(storage_error)?;
        let (bucket, key) = (bucket.to_owned(), key.to_owned());
        Ok(Some(CompletionOutcome { bucket, key, meta: head.meta, stated }))
    }

    /// Writes the note about a completed upload, and removes the upload.
    fn note_completion(
        &self,
        id: &str,
        (bucket, key): (&str, &str),
        meta: &Meta,
        stated: &Checksums,
    ) -> io::Result<()> {
        let (bucket, key, stated) = (bucket.to_owned(), key.to_owned(), stated.clone());
        let completed =
            serde_json::to_vec(&CompletionOutcome { bucket, key, meta: meta.clone(), stated })?;
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

    /// Returns a file with the bytes of the parts.
    fn concatenate(&self, directory: &Path, parts: &[PartInfo]) -> io::Result<NamedTempFile> {
        if let [only] = parts
            && let Ok(linked) = self.disk.link(&directory.join(&only.file))
        {
            return Ok(linked);
        }
        let file = self.disk.create()?;
        for part in parts {
            let mut from = File::open(directory.join(&part.file))?;
            // Between two files, `io::copy` uses `copy_file_range` where the system has it.
            if io::copy(&mut from, &mut file.as_file())? != part.size {
                return Err(changed(part));
            }
        }
        Ok(file)
    }

    /// Like [`Self::assemble`], but for parts whose checksums cannot be combined.
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

    /// Removes uploads that were begun, and notes of uploads that were completed, longer ago than `age`. Returns the
    /// number of uploads removed.
    pub(crate) fn expire_uploads(&self, age: Duration) -> io::Result<usize> {
        let Some(limit) = SystemTime::now().checked_sub(age) else { return Ok(0) };
        let mut expired = 0;
        for entry in fs::read_dir(self.own("uploads"))? {
            let entry = entry?;
            let id = entry.file_name();
            let Some(id) = id.to_str().filter(|id| check_id(id).is_ok()) else { continue };
            let begun = match read_json::<Upload>(&entry.path().join("upload.json")) {
                Some(upload) => UNIX_EPOCH + Duration::from_millis(upload.initiated),
                // The server stopped before any client got the upload's name.
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

/// Refuses an object whose size differs from the stated one.
fn check_size(stated: &DeclaredObject, size: u64) -> S3Result<()> {
    match stated.size {
        Some(said) if u64::try_from(said) != Ok(size) => Err(s3_error!(
            InvalidRequest,
            "the parts have {size} bytes, and x-amz-mp-object-size says {said}"
        )),
        _ => Ok(()),
    }
}

/// Refuses an object whose checksum differs from the stated one.
fn check_sum(algorithm: Algorithm, said: &str, found: &str, composite: bool) -> S3Result<()> {
    if checksum_matches(said, found, composite) {
        return Ok(());
    }
    let header = algorithm.header();
    Err(s3_error!(BadDigest, "the object does not match {header}"))
}

/// Refuses parts whose checksums differ from the stored ones. `file` is the file that they were copied into.
fn check_parts(mut file: &File, parts: &[PartInfo], (bucket, key): (&str, &str)) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    file.rewind()?;
    for part in parts {
        let (mut crc64, mut md5) = (Crc64::default(), Md5::new());
        let mut left = part.size;
        while left > 0 {
            let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = match file.read(&mut buffer[..most]) {
                Ok(0) => return Err(changed(part)),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            match part.crc64 {
                Some(_) => crc64.update(&buffer[..read]),
                // Parts from earlier releases have only an MD5.
                None => md5.update(&buffer[..read]),
            }
            left -= read as u64;
        }
        let is_whole = match part.crc64 {
            Some(stored) => stored == crc64.finish(),
            None => hex(md5.finalize().as_ref()) == part.etag,
        };
        if !is_whole {
            let number = part.number;
            tracing::error!(bucket, key, number, "a part of an upload is damaged on disk");
            return Err(changed(part));
        }
    }
    Ok(())
}

/// Returns the checksums of a whole file.
fn hashed(mut file: &File, algorithms: impl Iterator<Item = Algorithm>) -> io::Result<Checksums> {
    let mut hasher = Hasher::new(algorithms);
    let mut buffer = vec![0; 1 << 20];
    file.rewind()?;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finish().checksums),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns true if the stated checksum is the one found. For a checksum of the parts' checksums, some clients, such
/// as minio-go, leave out the number of parts at its end.
fn checksum_matches(said: &str, found: &str, composite: bool) -> bool {
    said == found
        || composite && found.rsplit_once('-').is_some_and(|(checksum, _)| checksum == said)
}

/// Returns the error for a part that cannot be read. A missing part means that the upload was aborted or has expired.
fn gone_or_broken(error: io::Error) -> S3Error {
    if error.kind() == io::ErrorKind::NotFound { no_upload() } else { storage_error(error) }
}

fn changed(part: &PartInfo) -> io::Error {
    let what = format!("part {} has changed on disk", part.number);
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Returns the ETag of an object with these parts.
fn etag(parts: &[PartReference]) -> String {
    let mut md5s = Md5::new();
    for part in parts {
        md5s.update(&unhex(&part.etag));
    }
    format!("{}-{}", hex(md5s.finalize().as_ref()), parts.len())
}

/// Decodes an ETag that this store made.
fn unhex(etag: &str) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).unwrap_or(0) as u8;
    etag.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// Returns the named parts if they exist, are in order, and are large enough.
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
                && reference.checksums.each().all(|(algorithm, said)| {
                    // A checksum of an algorithm that the part was not uploaded with cannot be compared.
                    let crc64 = part.crc64.filter(|_| algorithm == Algorithm::Crc64Nvme);
                    part.checksums.get(algorithm) == Some(said)
                        || crc64.is_some_and(|crc64| base64_of_crc64(crc64) == said)
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
            assert_eq!(checksum_matches(said, found, composite), expected, "{said} {found}");
        }
    }
}
