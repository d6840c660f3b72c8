//! Verification of all objects against their checksums.

use std::io::{self, ErrorKind};

use s3s::S3Error;

use super::checksum::{Algorithm, Crc64, Hasher};
use super::meta::ContentStatus;
use super::paths::hex;
use super::{Object, PageRequest, Store};

/// The bytes that are read at a time.
const CHUNK: usize = 1 << 20;
/// The report about an object that was changed.
const CHANGED: &str = "it was changed outside the store, so its checksum is void";
/// The report about an object with unreadable metadata.
const UNREADABLE: &str = "its metadata, the attribute user.sluice of the file, cannot be read";
/// The number of objects per page of the listing.
const PAGE: usize = 1000;

/// The result of a scrub.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scrubbed {
    /// The number of objects whose bytes match their checksums.
    pub whole: u64,
    /// The number of objects that are damaged, or cannot be read.
    pub damaged: u64,
    /// The number of objects that were stored with a checksum and changed by hand later.
    pub changed: u64,
    /// The number of objects that never had a checksum, because they were put into the folder by hand.
    pub unknown: u64,
    /// The number of bytes that were read from objects.
    pub bytes: u64,
}

/// A report about an object that is damaged, or was changed since it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The name of the bucket.
    pub bucket: String,
    /// The key of the object.
    pub key: String,
    /// The fault of the object.
    pub reason: String,
}

impl Store {
    /// Reads all objects. Damaged and changed objects are reported as they are found.
    pub(crate) fn scrub(&self, mut report: impl FnMut(Damage)) -> io::Result<Scrubbed> {
        let failed = |error: S3Error| io::Error::other(error);
        let mut scrubbed = Scrubbed::default();
        for bucket in self.list_buckets().map_err(failed)? {
            let mut wanted = PageRequest { max_keys: PAGE, ..PageRequest::default() };
            loop {
                let page = self.list(&bucket.name, &wanted).map_err(failed)?;
                for entry in page.entries {
                    let (mut is_changed, mut is_unreadable) = (false, false);
                    let found = match self.get(&bucket.name, &entry.key) {
                        Ok(object) => {
                            is_changed = object.meta.since == ContentStatus::Changed;
                            is_unreadable = object.meta.since == ContentStatus::Unreadable;
                            check(&object, &mut scrubbed.bytes)
                        }
                        Err(error) if error.code().as_str() == "NoSuchKey" => continue,
                        Err(error) => Err(failed(error)),
                    };
                    match found {
                        Ok(Some(())) => scrubbed.whole += 1,
                        Ok(None) if is_changed => {
                            scrubbed.changed += 1;
                            let (bucket, key) = (bucket.name.clone(), entry.key);
                            report(Damage { bucket, key, reason: CHANGED.to_owned() });
                        }
                        Ok(None) => scrubbed.unknown += 1,
                        Err(error) => {
                            scrubbed.damaged += 1;
                            let (bucket, key) = (bucket.name.clone(), entry.key);
                            let reason = match is_unreadable {
                                true => UNREADABLE.to_owned(),
                                false => reason(&error),
                            };
                            report(Damage { bucket, key, reason });
                        }
                    }
                }
                match page.next {
                    Some(next) => wanted.after = next,
                    None => break,
                }
            }
        }
        Ok(scrubbed)
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::InvalidData => "its bytes are not those that were stored".to_owned(),
        _ => format!("it cannot be read: {error}"),
    }
}

/// Reads an object and compares it with its checksum. `None` if it has no checksum.
fn check(object: &Object, bytes: &mut u64) -> io::Result<Option<()>> {
    object.check_length()?;
    if object.meta.crc64.is_some() {
        let mut crc64 = Crc64::default();
        read(object, bytes, |chunk| crc64.update(chunk))?;
        return object.check_whole(crc64.finish()).map(Some);
    }
    // Objects from earlier releases have an MD5 if they were uploaded in one request, or the checksums that their
    // client sent.
    let meta = &object.meta;
    let md5 = Some(&meta.etag).filter(|etag| etag.len() == 32 && !etag.contains('-'));
    let sum = |algorithm| meta.checksums.get(algorithm).filter(|_| !meta.checksums.composite);
    let algorithms = || Algorithm::ALL.into_iter().filter(|algorithm| sum(*algorithm).is_some());
    if md5.is_none() && algorithms().next().is_none() {
        return Ok(None);
    }
    let mut hasher = Hasher::new(algorithms());
    read(object, bytes, |chunk| hasher.update(chunk))?;
    let digest = hasher.finish();
    let same = md5.is_none_or(|md5| *md5 == hex(&digest.md5))
        && algorithms().all(|algorithm| sum(algorithm) == digest.checksums.get(algorithm));
    if same { Ok(Some(())) } else { Err(ErrorKind::InvalidData.into()) }
}

fn read(object: &Object, bytes: &mut u64, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    loop {
        match object.read_at(at, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                each(&buffer[..n]);
                at += n as u64;
                *bytes += n as u64;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::fs;

    use super::super::{Meta, WriteConditions};

    fn put(store: &Store, key: &str, text: &str) {
        let mut draft = store.draft([], None).unwrap();
        draft.write(text.as_bytes()).unwrap();
        let written = draft.finish().unwrap();
        let meta = Meta { etag: written.etag(), ..Meta::default() };
        store.commit("bucket", key, written, meta, &WriteConditions::default()).unwrap();
    }

    /// Changes a file like a failing disk, without changing its time.
    fn rot(path: &std::path::Path, text: &str) {
        let file = fs::File::options().write(true).open(path).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        io::Write::write_all(&mut &file, text.as_bytes()).unwrap();
        file.set_modified(modified).unwrap();
    }

    #[test]
    fn damage_is_found_and_changes_by_hand_are_not_damage() {
        for attributes in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let mut store = Store::open(folder.path(), false).unwrap();
            store.attributes &= attributes;
            store.create_bucket("bucket").unwrap();
            for key in ["whole", "a/rotten", "edited", "short"] {
                put(&store, key, "some text");
            }
            let bucket = folder.path().join("bucket");
            fs::write(bucket.join("by hand"), "put here").unwrap();
            fs::write(bucket.join("edited"), "some TEXT").unwrap();
            rot(&bucket.join("a/rotten"), "some tExt");
            let short = fs::File::options().write(true).open(bucket.join("short")).unwrap();
            let modified = short.metadata().unwrap().modified().unwrap();
            short.set_len(4).unwrap();
            short.set_modified(modified).unwrap();
            drop(short);
            if attributes && store.attributes {
                put(&store, "unreadable", "some text");
                let file = fs::File::open(bucket.join("unreadable")).unwrap();
                super::super::attributes::set(&file, b"{").unwrap();
            }
            let mut listed = Vec::new();
            let scrubbed = store
                .scrub(|damage| {
                    listed.push(format!("{}{}", damage.key, &damage.reason[..7]));
                })
                .unwrap();
            // Without attributes, a changed file cannot be distinguished from one that was put there by hand.
            let (expected, wanted) = match attributes {
                true => (
                    Scrubbed { whole: 1, damaged: 3, changed: 1, unknown: 1, bytes: 18 },
                    &["a/rottenits byt", "editedit was ", "shortits byt", "unreadableits met"][..],
                ),
                false => (
                    Scrubbed { whole: 1, damaged: 1, changed: 0, unknown: 3, bytes: 18 },
                    &["a/rottenits byt"][..],
                ),
            };
            assert_eq!(listed, wanted);
            assert_eq!(scrubbed, expected, "attributes: {attributes}");
        }
    }
}
