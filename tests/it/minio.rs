//! The engine against another store. Opt-in, by environment variables:
//!
//! | variable | |
//! |---|---|
//! | `SLUICE_TEST_S3_ENDPOINT` | its URL, such as `http://127.0.0.1:9000` |
//! | `SLUICE_TEST_S3_KEY`, `SLUICE_TEST_S3_SECRET` | a key pair that may make and remove buckets |
//! | `SLUICE_TEST_S3_PROFILE` | the kind of store; default `minio` |
//!
//! `tests/minio/run` starts MinIO and sets them. Each test makes a bucket of its own and removes it again.

use std::process;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use datafusion::execution::object_store::ObjectStoreUrl;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use sluicegate_engine::config::Scan;
use sluicegate_engine::{Engine, EngineBuilder};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_workloads::tpch::Format;
use tokio::runtime::Runtime;

use crate::cli::{sluice, text};
use crate::endpoint::Table;
use crate::figure_10::check_items;
use crate::harness::{TestStore, rows};
use crate::tpch::{ReadMode, check_place};
use crate::{random, slt};

/// An external store, with a bucket of the test.
struct Peer {
    endpoint: String,
    key: String,
    secret: String,
    profile: StoreCapabilities,
    bucket: String,
    sdk: aws_sdk_s3::Client,
    objects: Arc<dyn ObjectStore>,
}

impl Peer {
    /// Connects to the store of the environment; prints a note and returns `None` if there is none.
    async fn start(test: &str) -> Option<Self> {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let names = ["SLUICE_TEST_S3_ENDPOINT", "SLUICE_TEST_S3_KEY", "SLUICE_TEST_S3_SECRET"];
        let [Some(endpoint), Some(key), Some(secret)] = names.map(set) else {
            eprintln!("skipped: set {} to test against another store", names.join(", "));
            return None;
        };
        let name = set("SLUICE_TEST_S3_PROFILE").unwrap_or_else(|| "minio".to_owned());
        let profile = StoreCapabilities::by_name(&name).unwrap_or_else(|| panic!("no {name}"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let bucket = format!("sluice-test-{test}-{}-{now:x}", process::id());
        let config = aws_sdk_s3::Config::builder()
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(&endpoint)
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new(&key, &secret, None, None, "test"))
            .force_path_style(true)
            .build();
        let sdk = aws_sdk_s3::Client::from_conf(config);
        sdk.create_bucket().bucket(&bucket).send().await.unwrap();
        let builder = Engine::builder().endpoint(&endpoint).credentials(&key, &secret);
        let engine = builder.profile(profile.clone()).build().await.unwrap();
        let url = ObjectStoreUrl::parse(format!("s3://{bucket}")).unwrap();
        let objects = engine.runtime_env().object_store(url).unwrap();
        Some(Self { endpoint, key, secret, profile, bucket, sdk, objects })
    }

    /// Removes the bucket and all its objects.
    async fn stop(self) {
        loop {
            let listed = self.sdk.list_objects_v2().bucket(&self.bucket).send().await.unwrap();
            if listed.contents().is_empty() {
                break;
            }
            for object in listed.contents() {
                let key = object.key().unwrap();
                self.sdk.delete_object().bucket(&self.bucket).key(key).send().await.unwrap();
            }
        }
        self.sdk.delete_bucket().bucket(&self.bucket).send().await.unwrap();
    }
}

#[async_trait]
impl TestStore for Peer {
    fn bucket(&self) -> &str {
        &self.bucket
    }

    async fn put_object(&self, key: &str, bytes: Vec<u8>) {
        self.objects.put(&Path::from(key), bytes.into()).await.unwrap();
    }

    fn builder(&self) -> EngineBuilder {
        Engine::builder()
            .endpoint(&self.endpoint)
            .credentials(&self.key, &self.secret)
            .profile(self.profile.clone())
            .threads(2)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_the_same_however_tables_are_scanned() {
    let Some(peer) = Peer::start("slt").await else { return };
    slt::check(&peer, "answers", &[Scan::Select, Scan::Get, Scan::Auto]).await;
    peer.stop().await;
}

#[test]
fn random_statements_agree_with_datafusion() {
    let runtime = Runtime::new().unwrap();
    let Some(peer) = runtime.block_on(Peer::start("random")) else { return };
    random::check(&runtime, &peer, random::Format::Csv, Scan::Select);
    random::check(&runtime, &peer, random::Format::CsvOfLines, Scan::Select);
    random::check(&runtime, &peer, random::Format::Json, Scan::Select);
    runtime.block_on(peer.stop());
}

#[tokio::test(flavor = "multi_thread")]
async fn all_22_queries_of_tpch_agree_with_datafusion() {
    let Some(peer) = Peer::start("tpch").await else { return };
    let way = |name, format, objects, scan| {
        let profile = peer.profile.clone();
        ReadMode { name, format, objects, scan, profile }
    };
    let ways = [
        way("csv, select", Format::csv(), 1, Scan::Select),
        way("csv, four objects, select", Format::csv(), 4, Scan::Select),
        way("csv, get", Format::csv(), 1, Scan::Get),
        way("csv, auto", Format::csv(), 1, Scan::Auto),
        way("parquet, select", Format::parquet(), 1, Scan::Select),
    ];
    let fallbacks = check_place(&peer, 0.01, &ways).await;
    assert_eq!(fallbacks, [0; 5], "statements that the store refused");
    peer.stop().await;
}

/// Statements that the store supports are pushed down; the rest is read locally.
#[tokio::test(flavor = "multi_thread")]
async fn the_items_of_figure_10_agree_with_datafusion() {
    let Some(peer) = Peer::start("figure10").await else { return };
    for (item, statements, fallbacks) in Box::pin(check_items(&peer, 0.01)).await {
        eprintln!("{item}: {statements} statements");
        assert!(statements > 0 && fallbacks == 0, "{item}: {statements}, {fallbacks}");
    }
    peer.stop().await;
}

/// The store's profile is used: filters and columns are pushed down.
#[tokio::test(flavor = "multi_thread")]
async fn filters_and_columns_are_sent() {
    let Some(peer) = Peer::start("sent").await else { return };
    let csv = "id,name,price\n1,apple,1.5\n2,\"pear, it's green\",\n3,,0.25\n";
    peer.put_object("fruit.csv", csv.into()).await;
    let engine = peer.builder().scan(Scan::Select).build().await.unwrap();
    let from = format!("FROM 's3://{}/fruit.csv'", peer.bucket);
    for (select, expected) in [
        ("name {} WHERE id > 1", vec![r#""NULL""#, r#""pear, it's green""#]),
        ("id {} WHERE name <> 'apple'", vec![r#""2""#]),
        ("id {} WHERE name LIKE '%''s %'", vec![r#""2""#]),
        ("id {} WHERE name IS NULL OR id IN (1, 5)", vec![r#""1""#, r#""3""#]),
        ("sum(price), count(*) {}", vec![r#""1.75" | "3""#]),
    ] {
        let sql = format!("SELECT {}", select.replace("{}", &from));
        assert_eq!(rows(&engine, &sql).await, expected, "{sql}");
    }
    let counted = engine.counted();
    assert!(counted.select >= 5 && counted.fallbacks == 0, "{counted:?}");
    peer.stop().await;
}

/// Without CASE, each group gets a statement of its own, and counts prove all of them.
#[tokio::test(flavor = "multi_thread")]
async fn groups_are_counted_one_by_one() {
    let Some(peer) = Peer::start("groups").await else { return };
    let csv = "k,g\n1,a\n2,\n3,a\n4,\"\"\n5,\"it's \"\"c\"\", or so\"\n6,A\n7,NULL\n";
    peer.put_object("groups/0.csv", csv.into()).await;
    let engine = peer.builder().scan(Scan::Auto).build().await.unwrap();
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (k BIGINT, g VARCHAR) STORED AS CSV
         LOCATION 's3://{}/groups/' OPTIONS ('format.has_header' 'true')",
        peer.bucket
    );
    rows(&engine, &ddl).await;
    for (sql, groups) in [
        ("SELECT g, count(*) FROM t GROUP BY g", 5),
        ("SELECT k, count(*) FROM t GROUP BY k", 7),
        ("SELECT g, k, count(*) FROM t GROUP BY g, k", 7),
    ] {
        rows(&engine, "SET sluice.group_by = 'server'").await;
        let expected = rows(&engine, sql).await;
        assert_eq!(expected.len(), groups, "{sql}");
        for strategy in ["case", "hybrid"] {
            rows(&engine, &format!("SET sluice.group_by = '{strategy}'")).await;
            let before = engine.counted();
            assert_eq!(rows(&engine, sql).await, expected, "{sql}: {strategy}");
            let counted = engine.counted().since(&before);
            assert_eq!((counted.get, counted.fallbacks), (0, 0), "{sql}: {strategy}");
            if peer.profile.name == "minio" && strategy == "case" {
                // A sample, the groups, all rows, and those outside of the groups.
                assert_eq!(counted.select, groups as u64 + 3, "{sql}");
            }
        }
    }
    peer.stop().await;
}

/// The known deviations of MinIO appear in the table of a probe.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_finds_the_deviations() {
    let Some(peer) = Peer::start("probe").await else { return };
    let cache = tempfile::tempdir().unwrap();
    let (endpoint, key, secret, bucket) =
        (peer.endpoint.clone(), peer.key.clone(), peer.secret.clone(), peer.bucket.clone());
    let command = |args: &[&str]| {
        let mut command = sluice(args);
        command
            .args(["--endpoint", &endpoint])
            .env("XDG_CACHE_HOME", cache.path())
            .env("AWS_ACCESS_KEY_ID", &key)
            .env("AWS_SECRET_ACCESS_KEY", &secret);
        command
    };
    let probe = ["endpoint", "probe", "--bucket", &bucket, "--format", "json"];
    let table = Table::from_command(&mut command(&probe));
    for feature in ["CSV", "CSV fields come back as they are", "IN", "LIKE 'abc%'", "COUNT(*)"] {
        assert_eq!(table.verdict(feature), "works", "{feature}");
    }
    if peer.profile.name == "minio" {
        for feature in REFUSED_BY_MINIO {
            assert_eq!(table.verdict(feature), "refused", "{feature}");
        }
        for feature in WRONG_ON_MINIO {
            assert_eq!(table.verdict(feature), "answers wrongly", "{feature}");
        }
    }
    // The probed profile is enough to push down, and the answer is right.
    peer.put_object("t.csv", "a,b\n1,x\n2,\n3,z\n".into()).await;
    let sql = format!("SELECT a, b FROM 's3://{bucket}/t.csv' WHERE a > 1 AND b <> 'x'");
    let probed = ["sql", "--store", "probed", "--scan", "select", "--stats", "--format", "csv"];
    let output = command(&probed).args(["-c", &sql]).output().unwrap();
    assert_eq!(text(&output.stdout), "a,b\n3,z\n", "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("1 SELECT"), "{}", text(&output.stderr));
    peer.stop().await;
}

/// Features that MinIO's last version refused.
const REFUSED_BY_MINIO: &[&str] = &[
    "CASE",
    "CASE with an operand",
    "CASE without ELSE",
    "NOT IN",
    "<>",
    "CAST to DECIMAL",
    "CAST of a day to TIMESTAMP",
    "TO_TIMESTAMP, TO_STRING",
    "numbers with a point or an exponent",
    "a semicolon at the end",
    "NULL < 1 is not TRUE, and no error",
    "CAST of NULL is NULL, and no error",
];

/// Features that MinIO's last version answered wrongly.
const WRONG_ON_MINIO: &[&str] = &[
    "NULL != 1 is not TRUE",
    "NOT (NULL = 1) is not TRUE",
    "NULLIF",
    "LIKE that must backtrack",
    "LIKE beyond ASCII",
    "LIKE with ESCAPE",
    "floats are equal if they are",
    "IN tells whole numbers apart",
    "a sum beyond 64 bits is an error",
    "SUM beyond 2^53",
    "SUM of no rows is NULL",
    "a function of an aggregate",
    "half a gzip object is an error",
    "CSV with line breaks in quotes",
    "a ScanRange takes the records that begin in it",
];
