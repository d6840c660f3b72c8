//! Arrow and Avro files, which are read with GET and decoded locally: files of pyarrow, pandas, Polars and fastavro,
//! and damaged ones. `data/foreign/write.py` wrote the files.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::FutureExt;
use proptest::prelude::*;
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, runner, try_rows};
use crate::untidy::SCANS;
use crate::workers::Machines;

/// Returns the path of a file that another tool wrote.
pub(crate) fn foreign(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/data/foreign").join(name)
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(foreign(name)).unwrap()
}

const PYARROW: [&str; 3] = ["pyarrow.arrow", "pyarrow-zstd.arrows", "pyarrow-lz4.ipc"];
const CODECS: [&str; 6] = ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"];

/// All types, by every way to name the files, from a bucket and from this machine.
#[tokio::test(flavor = "multi_thread")]
async fn arrow_files_of_other_tools_are_read() {
    let store = Store::start().await;
    for name in PYARROW {
        store.put(&format!("a/{name}"), bytes(name));
    }
    let expected = [
        r#""1" | "pear" | "1.5" | "2024-02-29" | "2024-02-29T10:30:00.123456" | "1.50" | "true" | "[a, NULL]" | "Köln" | "50667" | "new""#,
        r#""2" | "NULL" | "-0.25" | "NULL" | "NULL" | "NULL" | "false" | "[]" | "NULL" | "1" | "old""#,
        r#""3" | "größe" | "NULL" | "1969-12-31" | "NULL" | "-99.99" | "NULL" | "NULL" | "NULL" | "NULL" | "NULL""#,
        r#""4" | "" | "1e300" | "2026-01-01" | "1999-01-01T00:00:00" | "0.00" | "true" | "[b]" | "Rom" | "NULL" | "new""#,
    ];
    let columns = "id, name, price, day, at, amount, flag, tags, place['city'], place['zip'], kind";
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for name in PYARROW {
            let url = format!("s3://{BUCKET}/a/{name}");
            let local = foreign(name).display().to_string();
            rows(
                &engine,
                &format!("CREATE OR REPLACE EXTERNAL TABLE t STORED AS ARROW LOCATION '{url}'"),
            )
            .await;
            let by_name = format!("CREATE OR REPLACE EXTERNAL TABLE u LOCATION '{local}'");
            rows(&engine, &by_name).await;
            for from in [
                "t",
                "u",
                &format!("'{url}'"),
                &format!("'{local}'"),
                &format!("read_arrow('{url}')"),
                &format!("read_ipc('{local}')"),
            ] {
                let all = rows(&engine, &format!("SELECT {columns} FROM {from}")).await;
                assert_eq!(all, expected, "{from}, {scan}");
                let some =
                    format!("SELECT kind, id FROM {from} WHERE price > 1 AND tags IS NOT NULL");
                let found = rows(&engine, &some).await;
                assert_eq!(found, [r#""new" | "1""#, r#""new" | "4""#], "{from}, {scan}");
                let counts = format!("SELECT count(*), count(name), max(amount) FROM {from}");
                assert_eq!(
                    rows(&engine, &counts).await,
                    [r#""4" | "3" | "1.50""#],
                    "{from}, {scan}"
                );
            }
        }
        // The file format and the stream format are one table.
        let sum = format!("SELECT count(*), sum(id), min(kind) FROM 's3://{BUCKET}/a/'");
        assert_eq!(rows(&engine, &sum).await, [r#""12" | "30" | "new""#], "{scan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_of_pandas_and_polars_are_read() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    let pandas = format!("'{}'", foreign("pandas.feather").display());
    assert_eq!(
        rows(&engine, &format!("SELECT id, name, kind, at FROM {pandas}")).await,
        [
            r#""1" | "pear" | "new" | "2024-02-29T10:30:00""#,
            r#""2" | "NULL" | "old" | "NULL""#,
            r#""3" | "größe" | "NULL" | "1999-01-01T00:00:00""#,
        ]
    );
    let polars = format!("'{}'", foreign("polars.arrow").display());
    let sql =
        format!("SELECT id, name, amount, tags, place['zip'], kind FROM {polars} WHERE id < 4");
    assert_eq!(
        rows(&engine, &sql).await,
        [
            r#""1" | "pear" | "1.50" | "[a, NULL]" | "50667" | "new""#,
            r#""2" | "NULL" | "NULL" | "[]" | "1" | "old""#,
            r#""3" | "größe" | "-99.99" | "NULL" | "NULL" | "NULL""#,
        ]
    );
    // Texts of all layouts are one type, so that files of several writers are one table.
    store.put("mix/a.feather", bytes("pandas.feather"));
    store.put("mix/b.arrow", bytes("polars.arrow"));
    store.put("mix/c.ipc", bytes("pyarrow-lz4.ipc"));
    for from in [format!("'s3://{BUCKET}/mix/'"), format!("read_arrow('s3://{BUCKET}/mix/*')")] {
        let groups =
            format!("SELECT kind, count(*), max(name), count(price) FROM {from} GROUP BY kind");
        assert_eq!(
            rows(&engine, &groups).await,
            [
                r#""NULL" | "3" | "größe" | "0""#,
                r#""new" | "5" | "pear" | "4""#,
                r#""old" | "3" | "NULL" | "2""#,
            ],
            "{from}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn avro_files_of_other_tools_are_read() {
    let store = Store::start().await;
    for codec in CODECS {
        store.put(&format!("a/{codec}.avro"), bytes(&format!("fastavro-{codec}.avro")));
    }
    let expected = [
        r#""1" | "pear" | "1.5" | "2024-02-29" | "2024-02-29T10:30:00.123456Z" | "1.50" | "true" | "[a, NULL]" | "Köln" | "50667" | "new" | "{x: 1}""#,
        r#""2" | "NULL" | "-0.25" | "NULL" | "NULL" | "NULL" | "false" | "[]" | "NULL" | "1" | "old" | "{}""#,
        r#""3" | "größe" | "NULL" | "1969-12-31" | "NULL" | "-99.99" | "NULL" | "[]" | "NULL" | "NULL" | "new" | "{y: 2}""#,
    ];
    let columns =
        "id, name, price, day, at, amount, flag, tags, place['city'], place['zip'], kind, counts";
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for codec in CODECS {
            let url = format!("s3://{BUCKET}/a/{codec}.avro");
            let local = foreign(&format!("fastavro-{codec}.avro")).display().to_string();
            rows(
                &engine,
                &format!("CREATE OR REPLACE EXTERNAL TABLE t STORED AS AVRO LOCATION '{url}'"),
            )
            .await;
            for from in
                ["t", &format!("'{url}'"), &format!("'{local}'"), &format!("read_avro('{url}')")]
            {
                let all = rows(&engine, &format!("SELECT {columns} FROM {from}")).await;
                assert_eq!(all, expected, "{from}, {scan}");
                let some = format!("SELECT kind, id FROM {from} WHERE price > 1");
                assert_eq!(rows(&engine, &some).await, [r#""new" | "1""#], "{from}, {scan}");
                let count = format!("SELECT count(*) FROM {from}");
                assert_eq!(rows(&engine, &count).await, [r#""3""#], "{from}, {scan}");
            }
        }
        let sum = format!("SELECT count(*), sum(id), min(kind) FROM 's3://{BUCKET}/a/*.avro'");
        assert_eq!(rows(&engine, &sum).await, [r#""18" | "36" | "new""#], "{scan}");
        rows(
            &engine,
            &format!(
                "CREATE OR REPLACE EXTERNAL TABLE t (id BIGINT, NAME VARCHAR, other INT) STORED AS AVRO \
                 LOCATION 's3://{BUCKET}/a/'"
            ),
        )
        .await;
        let declared = rows(&engine, "SELECT DISTINCT id, name, other FROM t WHERE id = 1").await;
        assert_eq!(declared, [r#""1" | "pear" | "NULL""#], "{scan}");
    }
}

/// EXPLAIN has the reason why no statement is sent, also if Select is forced.
#[tokio::test(flavor = "multi_thread")]
async fn explain_says_why_they_are_read_with_get() {
    let store = Store::start().await;
    store.put("a.arrow", bytes("pyarrow.arrow"));
    store.put("a.avro", bytes("fastavro-null.avro"));
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for (name, kind) in [("a.arrow", "Arrow"), ("a.avro", "Avro")] {
            let sql = format!("SELECT id FROM 's3://{BUCKET}/{name}' WHERE id > 1");
            let plan = rows(&engine, &format!("EXPLAIN {sql}")).await.join("\n");
            let reason = format!("S3 Select reads CSV, JSON and Parquet, and no {kind}");
            assert!(plan.contains(&reason) || scan == Scan::Get, "{plan}");
            let before = engine.counted();
            rows(&engine, &sql).await;
            let counted = engine.counted().since(&before);
            assert_eq!((counted.select, counted.fallbacks), (0, 0), "{counted:?}");
            assert!(counted.get > 0, "{counted:?}");
        }
    }
}

/// Workers decode the files, too, and joins with other formats give one answer.
#[tokio::test(flavor = "multi_thread")]
async fn workers_read_them() {
    let store = Store::start().await;
    for (number, name) in PYARROW.iter().enumerate() {
        store.put(&format!("t/p={number}/{name}"), bytes(name));
    }
    for codec in CODECS {
        store.put(&format!("u/{codec}.avro"), bytes(&format!("fastavro-{codec}.avro")));
    }
    store.put("v.csv", "id,w\n1,7\n3,9\n");
    let machines = Machines::start(&store, 2, Scan::Auto).await;
    let one = store.engine(Scan::Auto).await;
    for sql in [
        "SELECT p, count(*), sum(amount) FROM 's3://test/t/' WHERE id < 4 GROUP BY p",
        "SELECT u.name, count(*) FROM 's3://test/u/' AS u JOIN 's3://test/t/' AS t ON u.id = t.id GROUP BY u.name",
        "SELECT w, sum(price) FROM 's3://test/t/' AS t JOIN 's3://test/v.csv' AS v ON t.id = v.id GROUP BY w",
    ] {
        let expected = rows(&one, sql).await;
        assert!(!expected.is_empty(), "{sql}");
        assert_eq!(rows_of(&machines.engine, sql).await, expected, "{sql}");
    }
}

async fn rows_of(engine: &Engine, sql: &str) -> Vec<String> {
    crate::harness::text(&engine.plan(sql).await.unwrap().collect().await.unwrap())
}

/// COPY and INSERT write Arrow files that are read back, with partitions.
#[tokio::test(flavor = "multi_thread")]
async fn arrow_is_written_and_avro_is_not() {
    let store = Store::start().await;
    let local = tempfile::tempdir().unwrap();
    let source = format!("'{}'", foreign("pyarrow.arrow").display());
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let expected = rows(&engine, &format!("SELECT * FROM {source}")).await;
        let places = [
            format!("s3://{BUCKET}/{scan}"),
            local.path().join(scan.to_string()).display().to_string(),
        ];
        for place in places {
            for target in ["a.arrow'", "b.feather'", "c.ipc'", "d' STORED AS ARROW"] {
                rows(&engine, &format!("COPY (SELECT * FROM {source}) TO '{place}-{target}")).await;
                let name = target.split('\'').next().unwrap();
                let again =
                    rows(&engine, &format!("SELECT * FROM read_arrow('{place}-{name}')")).await;
                assert_eq!(again, expected, "{place}-{name}");
            }
            let folder = format!("{place}/parts/");
            rows(
                &engine,
                &format!(
                    "COPY (SELECT id, kind, day FROM {source}) TO '{folder}' STORED AS ARROW PARTITIONED BY (kind)"
                ),
            )
            .await;
            let parts = rows(&engine, &format!("SELECT kind, id, day FROM '{folder}'")).await;
            let all = rows(&engine, &format!("SELECT kind, id, day FROM {source}")).await;
            assert_eq!(parts, all, "{folder}");
            let create = format!(
                "CREATE OR REPLACE EXTERNAL TABLE t (id BIGINT, kind VARCHAR) STORED AS ARROW PARTITIONED BY (kind) \
                 LOCATION '{place}/inserted/'"
            );
            rows(&engine, &create).await;
            rows(&engine, "INSERT INTO t VALUES (7, 'a=b/c'), (8, NULL)").await;
            let there = rows(&engine, "SELECT id, kind FROM t").await;
            assert_eq!(there, [r#""7" | "a=b/c""#, r#""8" | "NULL""#], "{place}");
            let stream = format!("COPY (SELECT 1 AS a) TO '{place}.arrows'");
            says(try_rows(&engine, &stream).await, &["streams of Arrow", "'….arrow'"]);
            let avro = format!("COPY (SELECT 1 AS a) TO '{place}.avro'");
            says(try_rows(&engine, &avro).await, &["Avro is read, and not written", "PARQUET"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_such_file_is_named() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    let arrow = bytes("pyarrow.arrow");
    let stream = bytes("pyarrow-zstd.arrows");
    let avro = bytes("fastavro-deflate.avro");
    for (name, contents, parts) in [
        ("cut.arrow", &arrow[..arrow.len() - 20], &["cut.arrow", "cut short"][..]),
        ("half.arrow", &arrow[..arrow.len() / 2], &["half.arrow", "cannot be read as Arrow"]),
        ("short.arrow", b"ARROW1", &["short.arrow"]),
        (
            "text.arrow",
            b"id,name\n1,pear\n2,fig\n3,plum\n",
            &["text.arrow", "cannot be read as Arrow"],
        ),
        ("noend.arrows", &stream[..stream.len() - 8], &["noend.arrows", "no marker of its end"]),
        ("cut.avro", &avro[..avro.len() - 3], &["cut.avro", "cut short"]),
        ("text.avro", b"id,name\n1,pear\n", &["text.avro", "does not begin with `Obj`"]),
        ("head.avro", &avro[..40], &["head.avro"]),
    ] {
        store.put(name, contents);
        let sql = format!("SELECT * FROM 's3://{BUCKET}/{name}'");
        says(try_rows(&engine, &sql).await, parts);
    }
    // Empty files beside others have no rows.
    store.put("t/a.arrow", &arrow);
    store.put("t/b.arrow", b"");
    let count = format!("SELECT count(*), count(name) FROM 's3://{BUCKET}/t/'");
    assert_eq!(rows(&engine, &count).await, [r#""4" | "3""#]);
    let sql = format!("SELECT * FROM read_avro('s3://{BUCKET}/t/', header => true)");
    says(try_rows(&engine, &sql).await, &["no argument `header`", "union_by_name"]);
    let create = format!(
        "CREATE EXTERNAL TABLE t STORED AS ARROW LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.compression' 'gzip')"
    );
    says(try_rows(&engine, &create).await, &["ARROW has no option", "compressed within"]);
    let create = format!("CREATE EXTERNAL TABLE t STORED AS ORC LOCATION 's3://{BUCKET}/t/'");
    says(try_rows(&engine, &create).await, &["ORC"]);
}

/// Damaged files give rows or one error: no panic reaches the caller, nothing hangs, and no error lacks the file.
#[test]
fn damaged_files_are_errors() {
    let runtime = Runtime::new().unwrap();
    let local = tempfile::tempdir().unwrap();
    let store = runtime.block_on(Store::start());
    let engine = runtime.block_on(store.builder().memory_limit(64 << 20).build()).unwrap();
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for name in PYARROW.into_iter().chain(["pandas.feather", "polars.arrow"]) {
        files.insert(name.to_owned(), bytes(name));
    }
    for codec in CODECS {
        let name = format!("fastavro-{codec}.avro");
        files.insert(name.clone(), bytes(&name));
    }
    let names: Vec<String> = files.keys().cloned().collect();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let cut = prop::option::weighted(0.3, any::<prop::sample::Index>());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let mut runner = runner(600);
    let refused = std::cell::Cell::new(0);
    let result =
        runner.run(&(prop::sample::select(names), changes, cut), |(name, changes, cut)| {
            let mut bytes = files[&name].clone();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let path = local.path().join(&name);
            std::fs::write(&path, bytes).unwrap();
            let started = Instant::now();
            let sql = format!("SELECT * FROM '{}'", path.display());
            let read =
                AssertUnwindSafe(async { engine.collect(&sql).await.map(drop) }).catch_unwind();
            let Ok(read) = runtime.block_on(read) else { panic!("{name} panics") };
            prop_assert!(started.elapsed() < Duration::from_secs(10), "{} hangs", name);
            if let Err(error) = read {
                refused.set(refused.get() + 1);
                let text = error.to_string();
                prop_assert!(text.contains(&name) && !text.contains("bug to report"), "{}", text);
            }
            Ok(())
        });
    std::panic::set_hook(hook);
    result.unwrap();
    assert!(refused.get() > 100, "{} were refused", refused.get());
}
