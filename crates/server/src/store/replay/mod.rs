//! Tests of the states that a power failure may leave.
//!
//! A store's changes of its folder are recorded while clients use it. For each moment, a file system is simulated
//! that loses any of the changes that were not forced until then: names, in any order that keeps the changes of one
//! name in order, and bytes and attributes of files. Each outcome is made into a folder, and a store is opened over
//! it. It must have every object that was confirmed to a client, complete and with its metadata. Other objects must
//! be as before or as after, but never a mixture.

mod simulated_fs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use self::simulated_fs::{FolderState, SimulatedFs, folder};
use super::attributes::{self, XattrTarget};
use super::disk::Disk;
use super::{
    DeclaredObject, Meta, OWN, PageRequest, PartReference, Store, Upload, WriteConditions,
    milliseconds,
};

/// A change of the folder.
#[derive(Debug, Clone)]
pub(super) enum Change {
    /// The file has these bytes, this attribute and this time.
    File {
        path: PathBuf,
        content: Content,
    },
    SyncFile(PathBuf),
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    CreateDirectory(PathBuf),
    /// A file, or an empty directory, is removed.
    Remove(PathBuf),
    SyncDirectory(PathBuf),
    /// A client begins this step.
    Asked(usize),
    /// A client gets the answer to this step.
    Told(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Content {
    bytes: Vec<u8>,
    attribute: Option<Vec<u8>>,
    modified: Option<SystemTime>,
}

impl Content {
    fn read(path: &Path) -> Self {
        Self {
            bytes: fs::read(path).unwrap(),
            attribute: attributes::get(XattrTarget::Named(path)),
            modified: Some(fs::metadata(path).unwrap().modified().unwrap()),
        }
    }

    /// Returns the contents that may be left if this one was not forced.
    fn torn(&self) -> Vec<Self> {
        let half = self.bytes[..self.bytes.len() / 2].to_vec();
        vec![
            self.clone(),
            Self { bytes: Vec::new(), ..self.clone() },
            Self { bytes: vec![0; self.bytes.len()], ..self.clone() },
            Self { bytes: half, attribute: None, modified: None },
            Self { attribute: None, modified: None, ..self.clone() },
        ]
    }
}

impl Change {
    pub(super) fn file(path: &Path) -> Self {
        Self::File { path: path.to_owned(), content: Content::read(path) }
    }
    pub(super) fn sync_file(path: &Path) -> Self {
        Self::SyncFile(path.to_owned())
    }
    pub(super) fn link(from: &Path, to: &Path) -> Self {
        Self::Link { from: from.to_owned(), to: to.to_owned() }
    }
    pub(super) fn rename(from: &Path, to: &Path) -> Self {
        Self::Rename { from: from.to_owned(), to: to.to_owned() }
    }
    pub(super) fn create_directory(path: &Path) -> Self {
        Self::CreateDirectory(path.to_owned())
    }
    pub(super) fn remove(path: &Path) -> Self {
        Self::Remove(path.to_owned())
    }
    pub(super) fn sync_directory(path: &Path) -> Self {
        Self::SyncDirectory(path.to_owned())
    }
}

/// A record of changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Recorder(Arc<Mutex<Vec<Change>>>);

impl Recorder {
    pub(super) fn note(&self, change: Change) {
        self.0.lock().unwrap().push(change);
    }
}

/// A step of a client.
#[derive(Debug, Clone)]
enum Step {
    Put {
        key: &'static str,
        text: &'static str,
    },
    Delete {
        key: &'static str,
    },
    /// Begins an upload, whose name is the text that it will become.
    Begin {
        key: &'static str,
        upload: &'static str,
    },
    Part {
        key: &'static str,
        upload: &'static str,
        text: &'static str,
    },
    Complete {
        key: &'static str,
        upload: &'static str,
    },
    Abort {
        key: &'static str,
        upload: &'static str,
    },
}

/// An object or upload that has a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StateSubject {
    Object(&'static str),
    Upload(&'static str),
}

impl Step {
    /// Returns the states after the step: the text of an object or of an upload's part, or `None`.
    fn effects(&self) -> Vec<(StateSubject, Option<&'static str>)> {
        match *self {
            Self::Put { key, text } => vec![(StateSubject::Object(key), Some(text))],
            Self::Delete { key } => vec![(StateSubject::Object(key), None)],
            Self::Begin { upload, .. } => vec![(StateSubject::Upload(upload), Some(""))],
            Self::Part { upload, text, .. } => vec![(StateSubject::Upload(upload), Some(text))],
            Self::Complete { key, upload } => {
                vec![
                    (StateSubject::Object(key), Some(upload)),
                    (StateSubject::Upload(upload), None),
                ]
            }
            Self::Abort { upload, .. } => vec![(StateSubject::Upload(upload), None)],
        }
    }
}

/// Uploads by their texts: their ids, and their parts.
type Uploads = BTreeMap<&'static str, (String, Option<PartReference>)>;

fn meta(text: &str) -> Meta {
    Meta {
        etag: format!("etag of {text}"),
        content_type: Some(format!("type/{text}")),
        user: BTreeMap::from([("text".to_owned(), text.to_owned())]),
        ..Meta::default()
    }
}

fn written(store: &Store, text: &str) -> super::FinishedDraft {
    let mut draft = store.draft([], None).unwrap();
    draft.write(text.as_bytes()).unwrap();
    draft.finish().unwrap()
}

const BUCKET: &str = "bucket";

fn run(store: &Store, step: &Step, uploads: &mut Uploads) {
    let always = WriteConditions::default();
    match *step {
        Step::Put { key, text } => {
            store.commit(BUCKET, key, written(store, text), meta(text), &always).unwrap();
        }
        Step::Delete { key } => store.delete(BUCKET, key, &always).unwrap(),
        Step::Begin { key, upload } => {
            let begun = Upload {
                bucket: BUCKET.to_owned(),
                key: key.to_owned(),
                initiated: milliseconds(SystemTime::now()),
                meta: meta(upload),
                algorithm: None,
                full_object: false,
            };
            uploads.insert(upload, (store.create_upload(&begun).unwrap(), None));
        }
        Step::Part { key, upload, text } => {
            let (id, reference) = uploads.get_mut(upload).unwrap();
            let part = store.put_part(id, BUCKET, key, 1, written(store, text)).unwrap();
            let (etag, checksums) = (part.etag, part.checksums);
            *reference = Some(PartReference { number: 1, etag, checksums });
        }
        Step::Complete { key, upload } => complete(store, key, &uploads[upload]).unwrap(),
        Step::Abort { key, upload } => {
            store.abort_upload(&uploads[upload].0, BUCKET, key).unwrap();
        }
    }
}

fn complete(
    store: &Store,
    key: &str,
    (id, part): &(String, Option<PartReference>),
) -> s3s::S3Result<()> {
    let parts: Vec<_> = part.iter().cloned().collect();
    let stated = DeclaredObject::default();
    // When the request is repeated, it must not fail because the object exists.
    let new = WriteConditions {
        if_none_match: Some(s3s::dto::ETagCondition::Any),
        ..WriteConditions::default()
    };
    store.complete_upload(id, (BUCKET, key), &parts, &stated, &new).map(drop)
}

/// The changes and uploads of a store under test.
struct Recording {
    changes: Vec<Change>,
    uploads: Uploads,
}

fn record(steps: &[Step], attributes: bool) -> Recording {
    let folder = folder();
    let recorder = Recorder::default();
    let mut disk = Disk::new(folder.path(), folder.path().join(OWN).join("tmp"), true);
    disk.recorder = Some(recorder.clone());
    let mut store = Store::open_on(disk, folder.path()).unwrap();
    store.attributes &= attributes;
    store.create_bucket(BUCKET).unwrap();
    let mut uploads = Uploads::new();
    for (index, step) in steps.iter().enumerate() {
        recorder.note(Change::Asked(index));
        run(&store, step, &mut uploads);
        recorder.note(Change::Told(index));
    }
    let changes = recorder.0.lock().unwrap().clone();
    let relative = |path: PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
    let changes = changes.into_iter().map(|change| match change {
        Change::File { path, content } => Change::File { path: relative(path), content },
        Change::SyncFile(path) => Change::SyncFile(relative(path)),
        Change::Link { from, to } => Change::Link { from: relative(from), to: relative(to) },
        Change::Rename { from, to } => Change::Rename { from: relative(from), to: relative(to) },
        Change::CreateDirectory(path) => Change::CreateDirectory(relative(path)),
        Change::Remove(path) => Change::Remove(relative(path)),
        Change::SyncDirectory(path) => Change::SyncDirectory(relative(path)),
        other => other,
    });
    Recording { changes: changes.collect(), uploads }
}

/// The allowed states.
type Allowed = BTreeMap<StateSubject, Vec<Option<&'static str>>>;

/// Opens a store over the remaining folder and checks all states. Completions that have begun are then repeated.
fn check(
    left: &FolderState,
    allowed: &Allowed,
    again: &[Step],
    uploads: &Uploads,
    attributes: bool,
) {
    let folder = left.make();
    let mut store = Store::open(folder.path(), false).unwrap();
    store.attributes &= attributes;
    look(&store, allowed, uploads);
    for step in again {
        let Step::Complete { key, upload } = *step else { continue };
        complete(&store, key, &uploads[upload]).unwrap();
        // A confirmed completion does not replace a later version.
        let object = StateSubject::Object(key);
        let mut now = allowed[&object].clone();
        if now.len() > 1 {
            now.push(Some(upload));
        }
        look(&store, &BTreeMap::from([(object, now)]), uploads);
    }
}

fn look(store: &Store, allowed: &Allowed, uploads: &Uploads) {
    let mut listed = BTreeSet::new();
    if store.bucket(BUCKET).is_ok() {
        let all = PageRequest { max_keys: 1000, ..PageRequest::default() };
        listed.extend(store.list(BUCKET, &all).unwrap().entries.into_iter().map(|e| e.key));
    }
    for (subject, allowed) in allowed {
        let found = match subject {
            StateSubject::Object(key) => {
                let found = store.get(BUCKET, key).ok().map(|object| text_of(&object));
                assert_eq!(listed.contains(*key), found.is_some(), "{key} in the listing");
                found
            }
            StateSubject::Upload(name) => uploads.get(name).and_then(|(id, _)| part_of(store, id)),
        };
        assert!(
            allowed.contains(&found.as_deref()),
            "{subject:?} is {found:?}, not one of {allowed:?}"
        );
    }
}

/// Returns the text of an object, whose metadata must be of the same version.
fn text_of(object: &super::Object) -> String {
    let text = std::io::read_to_string(&object.file).unwrap();
    let expected = meta(&text);
    assert_eq!(object.meta.user, expected.user, "metadata of another version");
    assert_eq!(object.meta.content_type, expected.content_type);
    if object.meta.upload.is_none() {
        assert_eq!(object.meta.etag, expected.etag);
    }
    text
}

/// Returns the text of an upload's part; empty if it has none.
fn part_of(store: &Store, id: &str) -> Option<String> {
    let directory = store.own("uploads").join(id);
    let upload: Upload = super::multipart::read_json(&directory.join("upload.json"))?;
    let (directory, _) = store.upload(id, &upload.bucket, &upload.key).unwrap();
    let parts = store.parts(&directory).unwrap();
    let text = |part: &super::multipart::PartInfo| fs::read_to_string(directory.join(&part.file));
    Some(parts.first().map_or_else(String::new, |part| text(part).unwrap()))
}

/// Tests every moment of a recording. Returns the number of folders it made.
fn replay(steps: &[Step], recording: &Recording, attributes: bool) -> usize {
    let mut seed = 7_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let mut imagined = SimulatedFs::new();
    let mut tried = 0;
    let subjects = steps.iter().flat_map(Step::effects);
    let mut allowed: Allowed = subjects.map(|(subject, _)| (subject, vec![None])).collect();
    let (mut again, mut seen) = (Vec::new(), BTreeSet::new());
    for change in &recording.changes {
        imagined.apply(change);
        match change {
            Change::Asked(index) => {
                for (subject, state) in steps[*index].effects() {
                    allowed.get_mut(&subject).unwrap().push(state);
                }
                again.push(steps[*index].clone());
                seen.clear();
            }
            Change::Told(index) => {
                for (subject, state) in steps[*index].effects() {
                    allowed.insert(subject, vec![state]);
                }
                seen.clear();
            }
            _ => {}
        }
        for survivors in imagined.survivors(&mut random) {
            // The torn contents are drawn anew.
            for _ in 0..4 {
                let left = imagined.left(&survivors, &mut random);
                if !seen.contains(&left) {
                    check(&left, &allowed, &again, &recording.uploads, attributes);
                    tried += 1;
                    seen.insert(left);
                }
            }
        }
    }
    tried
}

const LONG: &str = concat!(
    "a key with a segment that is longer than file systems take: ",
    "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll",
    "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll",
    "llllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll",
);

const STEPS: &[Step] = &[
    Step::Put { key: "a", text: "first" },
    // The new text has the same size.
    Step::Put { key: "a", text: "other" },
    Step::Put { key: "d/e/f", text: "deep" },
    // The object's name becomes a directory, and the object is replaced beside it.
    Step::Put { key: "a/b", text: "below" },
    Step::Put { key: "a", text: "again" },
    Step::Put { key: LONG, text: "a long name" },
    Step::Begin { key: "u", upload: "uploaded" },
    Step::Part { key: "u", upload: "uploaded", text: "part sent first" },
    Step::Part { key: "u", upload: "uploaded", text: "uploaded" },
    Step::Complete { key: "u", upload: "uploaded" },
    Step::Put { key: "u", text: "replaced" },
    Step::Begin { key: "d/u", upload: "given up" },
    Step::Part { key: "d/u", upload: "given up", text: "given up" },
    Step::Abort { key: "d/u", upload: "given up" },
    Step::Delete { key: "d/e/f" },
    Step::Put { key: "d/e/f", text: "a new way" },
    Step::Delete { key: "a/b" },
    Step::Delete { key: "a" },
    Step::Put { key: "a", text: "last" },
];

#[test]
fn whatever_a_power_failure_leaves_is_what_clients_were_told() {
    for attributes in [true, false] {
        let tried = replay(STEPS, &record(STEPS, attributes), attributes);
        assert!(tried > 100, "{tried}");
    }
}

/// The test above fails if any kind of forcing is left out.
#[test]
fn what_is_not_forced_is_missed() {
    let Recording { changes, uploads } = record(STEPS, true);
    let without = |what: &str, forgotten: &dyn Fn(&Change) -> bool| {
        let changes = changes.iter().filter(|change| !forgotten(change)).cloned().collect();
        let recording = Recording { changes, uploads: uploads.clone() };
        let replayed = std::panic::AssertUnwindSafe(|| replay(STEPS, &recording, true));
        assert!(std::panic::catch_unwind(replayed).is_err(), "{what}");
    };
    without("files", &|change| matches!(change, Change::SyncFile(_)));
    for end in ["", "bucket", "bucket/d", "bucket/d/e", ".sluice/names", ".sluice/uploads"] {
        let is_it = |path: &Path| path == Path::new(end);
        without(end, &|change| matches!(change, Change::SyncDirectory(path) if is_it(path)));
    }
}
