//! Tests of versions of objects, folders of earlier releases, and listings of large directories.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::disk::Disk;
use super::paths::hash;
use super::window::Windows;
use super::*;

/// Rounds a time like a file system with a precision of two seconds.
pub(super) fn coarse(time: SystemTime) -> SystemTime {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap().as_secs();
    UNIX_EPOCH + Duration::from_secs(seconds / 2 * 2)
}

fn store(attributes: bool, coarse: bool) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let mut disk = Disk::new(folder.path(), folder.path().join(OWN).join("tmp"), false);
    disk.coarse = coarse;
    let mut store = Store::open_on(disk, folder.path()).unwrap();
    store.attributes &= attributes;
    store.create_bucket("bucket").unwrap();
    (folder, store)
}

fn put(store: &Store, key: &str, text: &str) {
    let mut draft = store.draft([], None).unwrap();
    draft.write(text.as_bytes()).unwrap();
    let written = draft.finish().unwrap();
    let meta = Meta {
        etag: written.etag(),
        user: BTreeMap::from([("text".to_owned(), text.to_owned())]),
        ..Meta::default()
    };
    store.commit("bucket", key, written, meta, &WriteConditions::default()).unwrap();
}

fn keys(store: &Store) -> Vec<String> {
    let all = PageRequest { max_keys: 1000, ..PageRequest::default() };
    store.list("bucket", &all).unwrap().entries.into_iter().map(|entry| entry.key).collect()
}

fn etag(store: &Store, key: &str) -> String {
    store.head("bucket", key).unwrap().meta.etag
}

#[test]
fn metadata_is_always_that_of_the_bytes() {
    for (attributes, coarse) in [(true, false), (false, false), (true, true), (false, true)] {
        let (_folder, store) = store(attributes, coarse);
        put(&store, "k", "text 000");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for version in 0..400 {
                    put(&store, "k", &format!("text {version:03}"));
                }
                done.store(true, Ordering::Relaxed);
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let object = store.get("bucket", "k").unwrap();
                        let text = io::read_to_string(&object.file).unwrap();
                        assert_eq!(object.meta.user.get("text"), Some(&text));
                        let head = store.head("bucket", "k").unwrap();
                        assert!(head.meta.user.contains_key("text"), "{head:?}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_change_by_hand_shows_however_coarse_time_is() {
    for attributes in [true, false] {
        let (folder, store) = store(attributes, true);
        put(&store, "k", "some text");
        let stored = etag(&store, "k");
        // The change is immediate and keeps the size.
        let path = folder.path().join("bucket/k");
        fs::write(&path, "some TEXT").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(coarse(SystemTime::now())).unwrap();
        let edited = etag(&store, "k");
        assert!(edited != stored && edited.ends_with("-1"), "{edited}");
        assert!(store.get("bucket", "k").unwrap().meta.user.is_empty());
    }
}

#[test]
fn metadata_that_has_no_room_beside_the_bytes_is_kept_all_the_same() {
    let (_folder, store) = store(true, false);
    // No file system supports attributes that are long enough for ten thousand parts.
    let parts: Vec<u64> = (0..10_000).map(|part| (5 << 20) + part).collect();
    let mut draft = store.draft([], None).unwrap();
    draft.write(b"text").unwrap();
    let meta = Meta { etag: "e".to_owned(), parts, ..Meta::default() };
    let always = WriteConditions::default();
    store.commit("bucket", "k", draft.finish().unwrap(), meta.clone(), &always).unwrap();
    assert_eq!(store.head("bucket", "k").unwrap().meta.parts, meta.parts);
    assert_eq!(store.get("bucket", "k").unwrap().meta.parts, meta.parts);
    put(&store, "k", "other");
    assert!(store.get("bucket", "k").unwrap().meta.parts.is_empty());
}

/// Writes an object like earlier releases did.
fn earlier(folder: &Path, key: &str, text: &str) {
    let path = folder.join("bucket").join(key);
    fs::write(&path, text).unwrap();
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let time = modified.duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let hash = hash(key);
    let directory = folder.join(OWN).join("meta/bucket").join(&hash[..2]);
    fs::create_dir_all(&directory).unwrap();
    let json = format!(r#"{{"etag":"etag of {key}","content_type":"a/b","user":{{"m":"1"}}}}"#);
    fs::write(directory.join(format!("{hash}-{}-{time}.json", text.len())), json).unwrap();
}

#[test]
fn folders_of_earlier_releases_are_read_and_their_metadata_is_attached() {
    for attributes in [true, false] {
        let (folder, store) = store(attributes, false);
        earlier(folder.path(), "old", "text");
        earlier(folder.path(), "older", "text");
        assert_eq!(etag(&store, "old"), "etag of old");
        let object = store.get("bucket", "older").unwrap();
        assert_eq!(object.meta.content_type.as_deref(), Some("a/b"));
        assert_eq!(object.meta.user["m"], "1");
        let opened = || store.meta_files_opened.load(Ordering::Relaxed);
        let before = opened();
        assert_eq!(keys(&store), ["old", "older"]);
        if store.attributes {
            assert_eq!(opened(), before, "is attached");
        }
        put(&store, "old", "new");
        assert_eq!(store.get("bucket", "old").unwrap().meta.user["text"], "new");
    }
}

#[test]
fn a_listing_opens_no_metadata() {
    let (folder, store) = store(true, false);
    for key in ["a", "b/c", "b/d"] {
        put(&store, key, key);
    }
    fs::write(folder.path().join("bucket/by hand"), "x").unwrap();
    assert_eq!(keys(&store), ["a", "b/c", "b/d", "by hand"]);
    if store.attributes {
        assert_eq!(store.meta_files_opened.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_long_name_whose_file_is_empty_is_registered_again() {
    let (folder, store) = store(true, false);
    let key = "l".repeat(300);
    put(&store, &key, "text");
    let name = folder.path().join(OWN).join("names").join(hash(&key));
    // A power failure could leave this with earlier releases.
    fs::write(&name, "").unwrap();
    assert_eq!(store.get("bucket", &key).unwrap().meta.user["text"], "text");
    assert!(keys(&store).is_empty());
    put(&store, &key, "again");
    assert_eq!(keys(&store), [key]);
}

#[test]
fn pages_of_a_large_directory_share_what_was_read() {
    const NAMES: usize = 2000;
    let (folder, mut store) = store(true, false);
    // About a fifth of the names fits.
    store.windows = Windows::new(9_200);
    let bucket = folder.path().join("bucket");
    for number in 0..NAMES {
        File::create(bucket.join(format!("object {number:04}"))).unwrap();
    }
    let settle = || {
        let hour = Duration::from_secs(3600);
        File::open(&bucket).unwrap().set_modified(SystemTime::now() - hour).unwrap();
    };
    settle();
    let page = |after: &str| {
        let request =
            PageRequest { after: after.to_owned(), max_keys: 10, ..PageRequest::default() };
        store.list("bucket", &request).unwrap()
    };
    let mut listed = Vec::new();
    let mut after = Some(String::new());
    while let Some(from) = after {
        let page = page(&from);
        listed.extend(page.entries.into_iter().map(|entry| entry.key));
        after = page.next;
    }
    let expected: Vec<_> = (0..NAMES).map(|number| format!("object {number:04}")).collect();
    assert_eq!(listed, expected);
    let reads = store.windows.reads.load(Ordering::Relaxed);
    assert!(reads <= 12, "read {reads} times for {} pages", NAMES / 10);

    // A kept window does not hide later changes.
    assert_eq!(page("object 0100").entries[0].key, "object 0101");
    put(&store, "object 0100a", "x");
    store.delete("bucket", "object 0101", &WriteConditions::default()).unwrap();
    let page = page("object 0100");
    assert_eq!(page.entries[0].key, "object 0100a");
    assert_eq!(page.entries[1].key, "object 0102");
}

#[test]
fn a_bucket_is_removed_while_others_write() {
    let (_folder, store) = store(true, false);
    put(&store, "a/b", "x");
    // The search for files in the bucket takes no lock.
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let names = store.lock_names();
        scope.spawn(|| sender.send(store.delete_bucket("bucket")).unwrap());
        let refused = receiver.recv_timeout(Duration::from_secs(20));
        drop(names);
        assert_eq!(refused.unwrap().unwrap_err().code().as_str(), "BucketNotEmpty");
    });
    let removed = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let always = WriteConditions::default();
            for round in 0.. {
                let key = format!("a/{}/c", round % 3);
                let mut draft = store.draft([], None).unwrap();
                draft.write(b"x").unwrap();
                match store.commit(
                    "bucket",
                    &key,
                    draft.finish().unwrap(),
                    Meta::default(),
                    &always,
                ) {
                    Ok(_) => assert!(!removed.load(Ordering::Relaxed)),
                    Err(e) => {
                        assert_eq!(e.code().as_str(), "NoSuchBucket");
                        return;
                    }
                }
                store.delete("bucket", "a/b", &always).unwrap();
                store.delete("bucket", &key, &always).ok();
            }
        });
        while store.delete_bucket("bucket").is_err() {}
        removed.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_folder_that_takes_names_for_one_another_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let merges = || name_folding::merges_names(folder.path()).unwrap();
    assert!(!merges());
    // A file system that ignores case would show this name.
    File::create(folder.path().join("PROBE-A")).unwrap();
    assert!(merges());
}

fn begin_upload(store: &Store, key: &str) -> String {
    let upload = Upload {
        bucket: "bucket".to_owned(),
        key: key.to_owned(),
        initiated: milliseconds(SystemTime::now()),
        meta: Meta::default(),
        algorithm: None,
        full_object: false,
    };
    store.create_upload(&upload).unwrap()
}

fn put_part(store: &Store, id: &str, key: &str) -> PartReference {
    let mut draft = store.draft([], None).unwrap();
    draft.write(b"part").unwrap();
    let part = store.put_part(id, "bucket", key, 1, draft.finish().unwrap()).unwrap();
    PartReference { number: 1, etag: part.etag, checksums: part.checksums }
}

fn complete(store: &Store, id: &str, key: &str, parts: &[PartReference]) {
    let (stated, always) = (DeclaredObject::default(), WriteConditions::default());
    store.complete_upload(id, ("bucket", key), parts, &stated, &always).unwrap();
}

#[test]
fn an_upload_is_either_completed_or_aborted() {
    let (folder, store) = store(true, false);
    let (stated, always) = (DeclaredObject::default(), WriteConditions::default());
    let uploads = folder.path().join(OWN).join("uploads");
    for round in 0..60 {
        let key = &format!("k{round}");
        let id = begin_upload(&store, key);
        let parts = [put_part(&store, &id, key)];
        let start = std::sync::Barrier::new(2);
        let (completed, aborted) = thread::scope(|scope| {
            let aborted = scope.spawn(|| {
                start.wait();
                // Both orders occur, and the moments in between.
                (0..round * 1000).for_each(|_| std::hint::spin_loop());
                store.abort_upload(&id, "bucket", key)
            });
            start.wait();
            let completed = store.complete_upload(&id, ("bucket", key), &parts, &stated, &always);
            (completed, aborted.join().unwrap())
        });
        let refused = match (&completed, &aborted) {
            (Ok(_), Err(refused)) | (Err(refused), Ok(())) => refused,
            both => panic!("{round}: {both:?}"),
        };
        assert_eq!(refused.code().as_str(), "NoSuchUpload");
        assert_eq!(store.head("bucket", key).is_ok(), completed.is_ok());
        assert_eq!(fs::read_dir(&uploads).unwrap().count(), 0);
    }
}

#[test]
fn what_became_an_object_before_a_crash_is_not_aborted() {
    let (folder, store) = store(true, false);
    let id = begin_upload(&store, "k");
    let parts = [put_part(&store, &id, "k")];
    let (upload, saved) =
        (folder.path().join(OWN).join("uploads").join(&id), folder.path().join(OWN).join("saved"));
    let copy = |from: &Path, to: &Path| {
        fs::create_dir(to).unwrap();
        for file in fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    };
    copy(&upload, &saved);
    complete(&store, &id, "k", &parts);
    // The server stopped before it wrote the note and removed the parts.
    fs::remove_file(folder.path().join(OWN).join("completed").join(format!("{id}.json"))).unwrap();
    copy(&saved, &upload);
    let refused = store.abort_upload(&id, "bucket", "k").unwrap_err();
    assert_eq!(refused.code().as_str(), "NoSuchUpload");
    assert_eq!(store.get("bucket", "k").unwrap().size, 4);
    assert!(!upload.exists());
}

#[test]
fn an_upload_is_not_completed_again_in_a_bucket_that_was_deleted() {
    let (_folder, store) = store(true, false);
    let id = begin_upload(&store, "k");
    let parts = [put_part(&store, &id, "k")];
    complete(&store, &id, "k", &parts);
    store.delete("bucket", "k", &WriteConditions::default()).unwrap();
    let again = || {
        let (stated, always) = (DeclaredObject::default(), WriteConditions::default());
        store.complete_upload(&id, ("bucket", "k"), &parts, &stated, &always)
    };
    // A client that lost the first answer must not upload the object again, which was deleted since.
    again().unwrap();
    store.delete_bucket("bucket").unwrap();
    assert_eq!(again().unwrap_err().code().as_str(), "NoSuchBucket");
}

/// No bytes are copied, however long the part is.
#[cfg(unix)]
#[test]
fn a_single_part_becomes_the_object_as_it_is() {
    use std::os::unix::fs::MetadataExt as _;
    let (folder, store) = store(true, false);
    let id = begin_upload(&store, "k");
    let parts = [put_part(&store, &id, "k")];
    let uploaded = fs::read_dir(folder.path().join(OWN).join("uploads").join(&id)).unwrap();
    let inodes: Vec<u64> = uploaded.map(|file| file.unwrap().metadata().unwrap().ino()).collect();
    complete(&store, &id, "k", &parts);
    let object = fs::metadata(folder.path().join("bucket/k")).unwrap();
    assert!(object.len() == 4 && inodes.contains(&object.ino()), "{object:?} of {inodes:?}");
}

#[test]
fn uploads_expire() {
    let (folder, store) = store(true, false);
    let (left, done) = (begin_upload(&store, "left"), begin_upload(&store, "done"));
    put_part(&store, &left, "left");
    let parts = [put_part(&store, &done, "done")];
    complete(&store, &done, "done", &parts);
    let own = folder.path().join(OWN);
    let count = |name: &str| fs::read_dir(own.join(name)).unwrap().count();
    assert_eq!(store.expire_uploads(Duration::from_secs(60)).unwrap(), 0);
    assert_eq!((count("uploads"), count("completed")), (1, 1));
    assert_eq!(store.expire_uploads(Duration::ZERO).unwrap(), 1);
    assert_eq!((count("uploads"), count("completed"), count("tmp")), (0, 0, 0));
    assert_eq!(store.get("bucket", "done").unwrap().size, 4);
}
