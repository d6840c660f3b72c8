use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::store::{Meta, Store, WriteConditions};

use super::*;

struct Folder {
    folder: TempDir,
    store: Store,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), false).unwrap();
        store.create_bucket("bucket").unwrap();
        Self { folder, store }
    }

    /// Stores an object of this many bytes and opens it.
    fn put(&self, key: &str, size: u64) -> Object {
        let mut draft = self.store.draft([], None).unwrap();
        draft.write(&vec![b'x'; usize::try_from(size).unwrap()]).unwrap();
        let written = draft.finish().unwrap();
        let meta = Meta { etag: written.etag(), ..Meta::default() };
        let always = WriteConditions::default();
        self.store.commit("bucket", key, written, meta, &always).unwrap();
        self.store.get("bucket", key).unwrap()
    }

    /// Changes the last byte, by hand or like a failing disk.
    fn change(&self, key: &str, by_hand: bool) {
        let path: &Path = &self.folder.path().join("bucket").join(key);
        let file = fs::File::options().write(true).open(path).unwrap();
        let metadata = file.metadata().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"y", metadata.len() - 1).unwrap();
        let modified = metadata.modified().unwrap();
        let later = if by_hand { std::time::Duration::from_secs(5) } else { Default::default() };
        file.set_modified(modified + later).unwrap();
    }
}

fn is_damage<T: std::fmt::Debug>(result: io::Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == io::ErrorKind::InvalidData)
}

#[test]
fn a_short_look_into_a_large_object_waits_for_nothing() {
    for (size, read, expected) in [
        (0, 0, true),
        (AWAITED, 0, true),
        (AWAITED + 1, 0, false),
        (AWAITED + 1, AWAITED / 8, false),
        (4 << 30, 1 << 30, true),
        (4 << 30, (1 << 30) - 1, false),
        (u64::MAX, u64::MAX, true),
    ] {
        assert_eq!(awaits(size, read), expected, "{read} of {size}");
    }
}

#[test]
fn small_objects_are_checked_at_once() {
    let folder = Folder::new();
    let (integrity, mut jobs) = Integrity::new(true);
    folder.put("whole", SMALL);
    let object = folder.store.get("bucket", "whole").unwrap();
    assert!(matches!(integrity.before_range(&object).unwrap(), Check::Done));
    folder.put("damaged", 1000);
    folder.change("damaged", false);
    let object = folder.store.get("bucket", "damaged").unwrap();
    assert!(is_damage(integrity.before_all(&object)));
    assert!(is_damage(integrity.before_statement(&object)));
    folder.put("edited", 1000);
    folder.change("edited", true);
    let object = folder.store.get("bucket", "edited").unwrap();
    assert!(matches!(integrity.before_statement(&object).unwrap(), Check::Done));
    // The object changes while it is read.
    let object = folder.put("changing", 1000);
    folder.change("changing", true);
    assert!(matches!(integrity.before_statement(&object).unwrap(), Check::Done));
    assert!(jobs.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_objects_are_checked_in_the_background() {
    let folder = Folder::new();
    let (integrity, jobs) = Integrity::new(true);
    let integrity = Arc::new(integrity);
    let (stop, stopped) = watch::channel(false);
    let mut lanes = tokio::task::JoinSet::new();
    lanes.spawn(run(Arc::clone(&integrity), jobs, stopped));
    for (key, by_hand) in [("whole", None), ("damaged", Some(false)), ("changing", Some(true))] {
        // The last slice is short.
        let object = folder.put(key, SLICE + 100);
        if let Some(by_hand) = by_hand {
            folder.change(key, by_hand);
        }
        let check = integrity.before_range(&object).unwrap();
        check.end().await;
        let damaged = by_hand == Some(false);
        assert_eq!((check.is_pending(), check.record_damage()), (false, damaged), "{key}");
        assert_eq!(is_damage(integrity.before_statement(&object)), damaged, "{key}");
    }
    stop.send(true).unwrap();
    lanes.join_next().await.unwrap().unwrap();
}

#[tokio::test]
async fn the_queue_is_bounded_and_nobody_waits_for_what_is_not_done() {
    let folder = Folder::new();
    let (integrity, jobs) = Integrity::new(true);
    let objects: Vec<_> = (0..QUEUED + 2).map(|n| folder.put(&n.to_string(), SMALL + 1)).collect();
    let checks: Vec<_> = objects.iter().map(|it| integrity.before_range(it).unwrap()).collect();
    let pending = checks.iter().filter(|check| check.is_pending()).count();
    assert_eq!(pending, QUEUED);
    // Checks for statements have no limit here.
    let last = integrity.before_statement(&objects[QUEUED]).unwrap();
    assert!(last.is_pending());
    // Ranges and statements share the check of an object.
    let again = integrity.before_statement(&objects[0]).unwrap();
    let Check::Running(running) = &again else { panic!("{again:?}") };
    assert!(running.is_awaited.load(Ordering::Relaxed));
    // The server is stopping.
    drop(jobs);
    for check in checks.iter().chain([&last, &again]) {
        check.end().await;
        assert!(!check.record_damage());
    }
    assert!(!integrity.before_range(&objects[0]).unwrap().is_pending());
}

#[test]
fn without_checks_beside_only_what_was_found_counts() {
    let folder = Folder::new();
    let (integrity, _jobs) = Integrity::new(false);
    folder.put("k", 1000);
    folder.change("k", false);
    let object = folder.store.get("bucket", "k").unwrap();
    assert!(integrity.before_range(&object).is_ok() && integrity.before_all(&object).is_ok());
    assert!(is_damage(integrity.compare(&object, 1)));
    assert!(is_damage(integrity.before_range(&object)));
}
