//! COPY and INSERT: objects appear only when the statement has succeeded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use datafusion::common::runtime::SpawnedTask;
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use futures::{StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use object_store::{ObjectStore, ObjectStoreExt};
use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use sluicegate_engine::staging::{OpenStaging, OverwrittenObject, StagingStores, Uploads};
use sluicegate_engine::{Engine, ErrorKind};
use sluicegate_server::{Fault, Operation, Rule};

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, try_rows};

/// Returns a client of the store, to inspect its objects.
pub(crate) fn sdk(store: &Store) -> aws_sdk_s3::Client {
    let (id, secret) = (store.server.access_key(), store.server.secret_key());
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(store.server.endpoint())
        .region(Region::new("us-east-1"))
        .force_path_style(true)
        .credentials_provider(Credentials::new(id, secret, None, None, "test"))
        .build();
    aws_sdk_s3::Client::from_conf(config)
}

async fn keys(store: &Store) -> Vec<String> {
    let listed = sdk(store).list_objects_v2().bucket(BUCKET).send().await.unwrap();
    listed.contents().iter().filter_map(|object| object.key()).map(str::to_owned).collect()
}

async fn uploads(store: &Store) -> usize {
    let listed = sdk(store).list_multipart_uploads().bucket(BUCKET).send().await.unwrap();
    listed.uploads().len()
}

/// Returns a query with rows of 2 kB, for small objects and large ones, which are uploaded in parts.
fn numbers(count: u32, of: &str) -> String {
    format!("SELECT value, repeat('x', 2000) AS text, {of} AS q FROM generate_series(1, {count})")
}

async fn writer(store: &Store) -> Engine {
    let engine = store.engine(Scan::Get).await;
    rows(&engine, "SET datafusion.execution.objectstore_writer_buffer_size = 5242880").await;
    engine
}

const FORMATS: [&str; 3] = ["CSV", "JSON", "PARQUET"];

/// Returns a query with many bytes; `q` is 1, or an error in the last row but one. Parquet compresses repeated text,
/// so its text is random.
fn many_bytes(format: &str, fails: bool) -> String {
    let count = if format == "PARQUET" { 300_000 } else { 8000 };
    let q = if fails { format!("1 / (value - {})", count - 1) } else { "1".to_owned() };
    match format {
        "PARQUET" => format!(
            "SELECT value, concat(random(), random()) AS text, \
             {q} AS q FROM generate_series(1, {count})"
        ),
        _ => numbers(count, &q),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_fails_leaves_what_was_there() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    for format in FORMATS {
        for target in ["keep.x", "many/"] {
            let key = if target == "keep.x" { "keep.x" } else { "many/keep.x" };
            store.put(key, "as it was");
            let before = keys(&store).await;
            for source in [many_bytes(format, true), numbers(10, "1 / (value - 9)")] {
                let more = if target.ends_with('/') { "append" } else { "overwrite" };
                let sql = format!(
                    "COPY ({source}) TO 's3://{BUCKET}/{target}' STORED AS {format} \
                     OPTIONS ({more} true)"
                );
                let error = try_rows(&engine, &sql).await.unwrap_err();
                assert!(error.to_string().contains("ivide by zero"), "{sql}: {error}");
                assert_eq!(keys(&store).await, before, "{sql}");
                assert_eq!(uploads(&store).await, 0, "{sql}");
            }
            let path = store.folder.path().join(BUCKET).join(key);
            assert_eq!(std::fs::read(path).unwrap(), b"as it was", "{target} {format}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_insert_that_fails_adds_nothing() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    rows(
        &engine,
        &format!(
            "CREATE EXTERNAL TABLE t (value BIGINT, text VARCHAR, q BIGINT) STORED AS CSV
             LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.has_header' 'true')"
        ),
    )
    .await;
    let insert = |of: &str| format!("INSERT INTO t {}", numbers(8000, of));
    assert!(try_rows(&engine, &insert("1 / (value - 7999)")).await.is_err());
    assert_eq!((keys(&store).await, uploads(&store).await), (vec![], 0));
    rows(&engine, &insert("1")).await;
    assert_eq!(rows(&engine, "SELECT count(*), sum(q) FROM t").await, [r#""8000" | "8000""#]);
}

/// Partitions are separate files; if one fails, none appears.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_files_all_appear_or_none() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    for format in FORMATS {
        let copy = |fails: bool| {
            let source = format!("SELECT value % 5 AS p, * FROM ({})", many_bytes(format, fails));
            format!(
                "COPY ({source}) TO 's3://{BUCKET}/{format}/' STORED AS {format} PARTITIONED BY (p)"
            )
        };
        assert!(try_rows(&engine, &copy(true)).await.is_err());
        assert_eq!((keys(&store).await, uploads(&store).await), (vec![], 0), "{format}");
        rows(&engine, &copy(false)).await;
        assert_eq!(uploads(&store).await, 0);
        let there = keys(&store).await;
        let of_partition =
            |p: u32| there.iter().any(|key| key.starts_with(&format!("{format}/p={p}/")));
        assert!((0..5).all(of_partition), "{there:?}");
        std::fs::remove_dir_all(store.folder.path().join(BUCKET).join(format)).unwrap();
    }
}

/// A successful COPY is read back unchanged, written in one part or many.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_succeeds_can_be_read_back() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    for format in FORMATS {
        for (count, source) in [("8000", numbers(8000, "value")), ("3", numbers(3, "value"))] {
            let url = format!("s3://{BUCKET}/{count}.{}", format.to_lowercase());
            rows(&engine, &format!("COPY ({source}) TO '{url}' STORED AS {format}")).await;
            let read = format!("SELECT count(*), count(DISTINCT q) FROM '{url}'");
            assert_eq!(rows(&engine, &read).await, [format!("{count:?} | {count:?}")], "{url}");
        }
    }
    assert_eq!(uploads(&store).await, 0);
}

/// A query is dropped while it writes, as by Ctrl-C.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_dropped_leaves_what_was_there() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    for format in ["CSV", "JSON"] {
        store.put("keep.x", "as it was");
        let source = numbers(u32::MAX, "value");
        let sql = format!(
            "COPY ({source}) TO 's3://{BUCKET}/keep.x' STORED AS {format} OPTIONS (overwrite true)"
        );
        let mut copy = engine.query(&sql).await.unwrap().execute_stream().await.unwrap();
        // Wait until parts are uploaded.
        while uploads(&store).await == 0 {
            tokio::select! {
                _ = copy.next() => panic!("it has no end"),
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
        drop(copy);
        engine.abort_writes().await;
        assert_eq!((keys(&store).await, uploads(&store).await), (vec!["keep.x".into()], 0));
        let path = store.folder.path().join(BUCKET).join("keep.x");
        assert_eq!(std::fs::read(path).unwrap(), b"as it was");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn local_files_are_treated_alike() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keep.csv");
    std::fs::write(&file, "as it was").unwrap();
    for source in [numbers(8000, "1 / (value - 7999)"), numbers(10, "1 / (value - 9)")] {
        let sql = format!(
            "COPY ({source}) TO '{}' STORED AS CSV OPTIONS (overwrite true)",
            file.display()
        );
        assert!(try_rows(&engine, &sql).await.is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"as it was");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

/// If one of several objects cannot be made visible, those that are visible already are removed.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_fails_partway_leaves_nothing() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    let mut failures = 0;
    for at in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        // A file blocks the folder of one partition.
        let file = folder.path().join(format!("p={at}"));
        std::fs::write(&file, "as it was").unwrap();
        let sql = format!(
            "COPY (SELECT value % 5 AS p, value AS v FROM generate_series(1, 100)) TO '{}/' STORED AS CSV \
             PARTITIONED BY (p) OPTIONS (append true)",
            folder.path().display()
        );
        failures += u32::from(try_rows(&engine, &sql).await.is_err());
        assert_eq!(std::fs::read(&file).unwrap(), b"as it was");
        let files = |folder: &std::path::Path| {
            std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .map(|entry| entry.unwrap().path())
                .collect::<Vec<_>>()
        };
        let others = files(folder.path()).into_iter().filter(|path| *path != file);
        let left: Vec<_> = others.flat_map(|partition| files(&partition)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
    assert_eq!(failures, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_replaces_only_what_it_is_told_to() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    let copy = |of: &str, to: &str, options: &str| {
        format!("COPY (SELECT {of} AS n) TO 's3://{BUCKET}/{to}' STORED AS CSV {options}")
    };
    let read = |from: &str| format!("SELECT sum(n) FROM 's3://{BUCKET}/{from}'");
    rows(&engine, &copy("1", "one.csv", "")).await;
    for options in ["", "OPTIONS (overwrite false)"] {
        let refused = try_rows(&engine, &copy("2", "one.csv", options)).await;
        says(refused, &["there is an object at", "one.csv already", "overwrite true"]);
    }
    assert_eq!(rows(&engine, &read("one.csv")).await, ["\"1\""]);
    rows(&engine, &copy("3", "one.csv", "OPTIONS (overwrite true)")).await;
    assert_eq!(rows(&engine, &read("one.csv")).await, ["\"3\""]);
    // Overwriting a whole bucket is refused.
    let all = try_rows(&engine, &copy("4", "", "OPTIONS (overwrite true)")).await;
    says(all, &["would remove every object in it", "name a folder"]);
    assert_eq!(keys(&store).await, ["one.csv"]);
    // A local file is not overwritten, either.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    std::fs::write(&file, "n\n1\n").unwrap();
    let copy = format!("COPY (SELECT 2 AS n) TO '{}' STORED AS CSV", file.display());
    says(try_rows(&engine, &copy).await, &["a.csv already", "overwrite true"]);
    assert_eq!(std::fs::read(&file).unwrap(), b"n\n1\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn overwriting_with_no_rows_leaves_the_columns() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    for format in ["csv", "json", "parquet"] {
        let copy = |rows: u32| {
            format!(
                "COPY (SELECT value AS n, 'x' AS t FROM generate_series(1, {rows})) TO \
                 's3://{BUCKET}/{format}/' STORED AS {format} OPTIONS (overwrite true)"
            )
        };
        rows(&engine, &copy(3)).await;
        rows(&engine, &copy(0)).await;
        assert_eq!(keys(&store).await.len(), 1, "{format}");
        // JSON without rows does not record the columns.
        if format != "json" {
            let read =
                format!("SELECT count(*), count(n), count(t) FROM 's3://{BUCKET}/{format}/'");
            assert_eq!(rows(&engine, &read).await, [r#""0" | "0" | "0""#], "{format}");
        }
        std::fs::remove_dir_all(store.folder.path().join(BUCKET).join(format)).unwrap();
    }
}

/// The columns of an empty COPY can be read from its new folder. Appending no rows adds no object.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_folder_of_no_rows_has_the_columns() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    for format in ["csv", "parquet"] {
        let copy = |options: &str| {
            format!(
                "COPY (SELECT value AS n, 'x' AS t FROM generate_series(1, 0)) TO \
                 's3://{BUCKET}/{format}/' STORED AS {format} {options}"
            )
        };
        assert_eq!(rows(&engine, &copy("")).await, ["\"0\""]);
        assert_eq!(keys(&store).await.len(), 1, "{format}");
        let read = format!("SELECT count(*), count(n), count(t) FROM 's3://{BUCKET}/{format}/'");
        assert_eq!(rows(&engine, &read).await, [r#""0" | "0" | "0""#], "{format}");
        assert_eq!(rows(&engine, &copy("OPTIONS (append true)")).await, ["\"0\""]);
        assert_eq!(keys(&store).await.len(), 1, "{format}");
        std::fs::remove_dir_all(store.folder.path().join(BUCKET).join(format)).unwrap();
    }
}

/// Without rows there are no partitions, so nothing may be replaced.
#[tokio::test(flavor = "multi_thread")]
async fn overwriting_partitions_with_no_rows_removes_nothing() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    for format in FORMATS {
        let copy = |rows: u32, to: &str| {
            format!(
                "COPY (SELECT value AS n, value % 2 AS p FROM generate_series(1, {rows})) TO \
                 's3://{BUCKET}/{to}/' STORED AS {format} PARTITIONED BY (p) OPTIONS (overwrite true)"
            )
        };
        rows(&engine, &copy(3, "by")).await;
        let before = keys(&store).await;
        let refused = try_rows(&engine, &copy(0, "by")).await;
        says(refused, &["has no rows", "PARTITIONED BY", "by/p=0/", "nothing is removed"]);
        assert_eq!(keys(&store).await, before, "{format}");
        // A new location may be empty.
        assert_eq!(rows(&engine, &copy(0, "new")).await, ["\"0\""]);
        std::fs::remove_dir_all(store.folder.path().join(BUCKET).join("by")).unwrap();
    }
}

/// The bytes written are those of the objects, or files, and not of other requests.
#[tokio::test(flavor = "multi_thread")]
async fn bytes_written_are_those_of_the_objects() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    let folder = tempfile::tempdir().unwrap();
    for (of, size) in [("json", 0), ("csv", 2)] {
        for to in [format!("s3://{BUCKET}/{of}/"), format!("{}/{of}/", folder.path().display())] {
            let copy = |rows: u32| {
                format!(
                    "COPY (SELECT value AS n FROM generate_series(1, {rows})) TO '{to}' STORED AS {of} \
                     OPTIONS (overwrite true)"
                )
            };
            for (count, expected) in [(3, if of == "csv" { 8 } else { 24 }), (0, size)] {
                let query = engine.plan(&copy(count)).await.unwrap();
                query.start().await.unwrap().try_collect::<Vec<_>>().await.unwrap();
                assert_eq!(query.bytes_written(), expected, "{count} rows to {to}");
            }
        }
    }
    let large = format!("COPY ({}) TO 's3://{BUCKET}/large.csv'", numbers(8000, "value"));
    let query = engine.plan(&large).await.unwrap();
    query.start().await.unwrap().try_collect::<Vec<_>>().await.unwrap();
    let path = store.folder.path().join(BUCKET).join("large.csv");
    assert_eq!(query.bytes_written(), std::fs::metadata(path).unwrap().len());
}

/// Opens a statement that writes to a store; returns its uploads and its staging store.
fn staging_over(store: &Arc<dyn ObjectStore>) -> (Arc<Uploads>, OpenStaging, Arc<dyn ObjectStore>) {
    let url = "memory://x".parse().unwrap();
    let registry = Arc::new(DefaultObjectStoreRegistry::new());
    registry.register_store(&url, Arc::clone(store));
    let uploads = Arc::new(Uploads::new(None));
    let open = uploads.open();
    let stores = StagingStores::new(registry, Arc::clone(open.staging()));
    let staging = stores.get_store(&url).unwrap();
    (uploads, open, staging)
}

/// Ctrl-C during the removal of old objects does not leave old and new ones together.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_dropped_removes_what_it_replaces() {
    let slow = ThrottleConfig {
        wait_delete_per_call: Duration::from_millis(20),
        ..ThrottleConfig::default()
    };
    let store: Arc<dyn ObjectStore> = Arc::new(ThrottledStore::new(InMemory::new(), slow));
    let mut replaced = Vec::new();
    for old in 0..40 {
        let location = Path::from(format!("old/{old}"));
        store.put(&location, "old".into()).await.unwrap();
        replaced.push(OverwrittenObject { store: Arc::clone(&store), location });
    }
    let (uploads, open, staging) = staging_over(&store);
    staging.put(&Path::from("new"), "new".into()).await.unwrap();
    let commit = SpawnedTask::spawn(open.commit_replacing(replaced));
    while store.head(&Path::from("new")).await.is_err() {
        tokio::task::yield_now().await;
    }
    drop(commit);
    assert_eq!(uploads.abort_all().await, 1);
    assert_eq!(objects(store.as_ref()).await.into_keys().collect::<Vec<_>>(), ["new"]);
}

/// A writer of one object, like DataFusion's.
#[derive(Debug, Clone)]
enum Write {
    Whole(Vec<u8>),
    /// Parts, and whether the writer completes.
    Parts(Vec<Vec<u8>>, bool),
}

#[derive(Debug, Clone, Copy)]
enum End {
    Commit,
    Abort,
    AbortAll,
    Drop,
}

fn writes() -> impl Strategy<Value = BTreeMap<u8, Write>> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..8);
    let write = prop_oneof![
        bytes().prop_map(Write::Whole),
        (prop::collection::vec(bytes(), 1..4), prop::bool::weighted(0.9))
            .prop_map(|(parts, finished)| Write::Parts(parts, finished)),
    ];
    prop::collection::btree_map(0..6_u8, write, 0..6)
}

async fn objects(store: &dyn ObjectStore) -> BTreeMap<String, Vec<u8>> {
    let mut objects = BTreeMap::new();
    for object in store.list(None).try_collect::<Vec<_>>().await.unwrap() {
        let bytes = store.get(&object.location).await.unwrap().bytes().await.unwrap();
        objects.insert(object.location.to_string(), bytes.to_vec());
    }
    objects
}

async fn staged(writes: &BTreeMap<u8, Write>, end: End) {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    for old in ["0", "1", "other"] {
        store.put(&Path::from(old), "old".into()).await.unwrap();
    }
    let before = objects(store.as_ref()).await;
    let (uploads, open, staging) = staging_over(&store);
    let mut expected = before.clone();
    let mut all_finished = true;
    for (key, write) in writes {
        let path = Path::from(key.to_string());
        let bytes = match write {
            Write::Whole(bytes) => {
                staging.put(&path, bytes.clone().into()).await.unwrap();
                bytes.clone()
            }
            Write::Parts(parts, finished) => {
                let mut upload = staging.put_multipart(&path).await.unwrap();
                for part in parts {
                    upload.put_part(part.clone().into()).await.unwrap();
                }
                if *finished {
                    upload.complete().await.unwrap();
                } else {
                    all_finished = false;
                }
                parts.concat()
            }
        };
        expected.insert(key.to_string(), bytes);
    }
    assert_eq!(objects(store.as_ref()).await, before, "before the end");
    let committed = match end {
        End::Commit => open.commit().await.is_ok(),
        End::Abort => {
            open.abort().await;
            false
        }
        End::AbortAll => {
            uploads.abort_all().await;
            assert!(staging.put(&Path::from("late"), "x".into()).await.is_err());
            assert!(staging.put_multipart(&Path::from("late")).await.is_err());
            open.commit().await.is_ok()
        }
        End::Drop => {
            drop(open);
            uploads.abort_all().await;
            false
        }
    };
    assert_eq!(committed, matches!(end, End::Commit) && all_finished);
    let expected = if committed { expected } else { before };
    assert_eq!(objects(store.as_ref()).await, expected, "{end:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Writes of any kind, with any end, appear all or not at all.
    #[test]
    fn writes_appear_together_or_not_at_all(writes in writes(), end in prop_oneof![
        2 => Just(End::Commit),
        1 => Just(End::Abort),
        1 => Just(End::AbortAll),
        1 => Just(End::Drop),
    ]) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(staged(&writes, end));
    }
}

/// An object that appears after a COPY was planned stays, however the COPY uploads.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_replaces_nothing_that_appears_meanwhile() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    let cases = [(3, Operation::PutObject), (8000, Operation::CompleteMultipartUpload)];
    for (count, operation) in cases {
        let key = format!("{count}.csv");
        let copy = |options: &str| {
            let source = numbers(count, "1");
            format!("COPY ({source}) TO 's3://{BUCKET}/{key}' {options}")
        };
        let appears = || {
            let other = Fault::ReplaceObject("n\n1\n".into());
            store.faults.inject(Rule::new(operation, other));
        };
        let there = || std::fs::read(store.folder.path().join(BUCKET).join(&key)).unwrap();
        appears();
        let refused = try_rows(&engine, &copy("")).await;
        let place = format!("s3://{BUCKET}/{key} now");
        says(refused, &[place.as_str(), "appeared while", "nothing was written", "overwrite true"]);
        assert_eq!(there(), b"n\n1\n", "{operation}");
        assert_eq!(uploads(&store).await, 0, "{operation}");
        appears();
        rows(&engine, &copy("OPTIONS (overwrite true)")).await;
        assert!(there().len() > 1000, "{operation}");
    }
}

/// In any store, and in one part or many, the second of two concurrent statements with one name is refused.
#[tokio::test]
async fn of_two_statements_that_write_one_name_the_second_is_refused() {
    for in_parts in [false, true] {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let path = Path::from("t/a.csv");
        let url = "memory://x".parse().unwrap();
        let registry = Arc::new(DefaultObjectStoreRegistry::new());
        registry.register_store(&url, Arc::clone(&store));
        let uploads = Arc::new(Uploads::new(None));
        let mut open = Vec::new();
        for text in ["first", "second"] {
            let statement = uploads.open();
            let staging = Arc::clone(statement.staging());
            let staging =
                StagingStores::new(Arc::<DefaultObjectStoreRegistry>::clone(&registry), staging);
            let staging = staging.only_new().get_store(&url).unwrap();
            match in_parts {
                false => drop(staging.put(&path, text.into()).await.unwrap()),
                true => {
                    let mut upload = staging.put_multipart(&path).await.unwrap();
                    upload.put_part(text.into()).await.unwrap();
                    upload.complete().await.unwrap();
                }
            }
            open.push(statement);
        }
        let second = open.pop().unwrap();
        open.pop().unwrap().commit().await.unwrap();
        let refused = second.commit().await.unwrap_err();
        assert!(matches!(refused, object_store::Error::AlreadyExists { .. }), "{refused}");
        let there = objects(store.as_ref()).await.into_values().collect::<Vec<_>>();
        assert_eq!(there, [b"first"]);
    }
}

/// If the store has no room, the error is that of a full disk, for any request.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_to_be_full() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    for (count, operation) in [(3, Operation::PutObject), (8000, Operation::UploadPart)] {
        store.faults.inject(Rule::new(operation, Fault::DiskFull { after: 10 }).times(99));
        let copy = format!("COPY ({}) TO 's3://{BUCKET}/full.csv'", numbers(count, "1"));
        let refused = try_rows(&engine, &copy).await;
        store.faults.clear();
        says(refused, &["the disk is full", "Free some space, or write elsewhere."]);
        assert_eq!((keys(&store).await, uploads(&store).await), (vec![], 0), "{operation}");
    }
}

/// If a file changes between planning and reading, the query fails and names the file.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_after_planning_is_named() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let path = folder.path().join(format!("a.{}", format.to_lowercase()));
        let path = path.to_str().unwrap();
        let copy = |count: u32| {
            format!(
                "COPY (SELECT value AS n FROM generate_series(1, {count})) TO '{path}' \
                 OPTIONS (overwrite true)"
            )
        };
        for count in [1, 5000] {
            rows(&engine, &copy(3000)).await;
            let query = engine.plan(&format!("SELECT sum(n + 1) FROM '{path}'")).await.unwrap();
            rows(&engine, &copy(count)).await;
            let error = query.collect().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Changed, "{format}: {error}");
            assert!(error.to_string().contains(&format!("`{path}`")), "{error}");
        }
    }
}

/// Incomplete partitions leave no files and no folders.
#[tokio::test(flavor = "multi_thread")]
async fn a_partitioned_copy_that_fails_leaves_no_folders() {
    let store = Store::start().await;
    let engine = writer(&store).await;
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let sql = format!(
            "COPY (SELECT value % 5 AS p, * FROM ({})) TO '{}/{format}/' STORED AS {format} PARTITIONED BY (p)",
            many_bytes(format, true),
            folder.path().display()
        );
        assert!(try_rows(&engine, &sql).await.is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{format}");
    }
}
