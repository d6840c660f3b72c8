//! Folders as other tools write them: partitions, files of several formats, and local files beside a bucket.
//! `data/foreign/write.py` wrote most of them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use crate::decoded_files::bytes;
use crate::harness::{BUCKET, Store, rows, runner};
use crate::untidy::SCANS;

/// The folders that pyarrow, DuckDB and Spark write are read alike.
#[tokio::test(flavor = "multi_thread")]
async fn folders_of_other_tools_are_columns() {
    let store = Store::start().await;
    let local = tempfile::tempdir().unwrap();
    let trees: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_slice(&bytes("partitions.json")).unwrap();
    let values = ["a=b", "a/b", "50%", "it's", "a b", "größe", "日本", "x:y"];
    let mut expected: Vec<String> =
        values.iter().zip(1..).map(|(value, id)| format!("\"{id}\" | {value:?}")).collect();
    expected.push(r#""9" | "NULL""#.to_owned());
    for (tool, files) in &trees {
        assert_eq!(files.len(), 9, "{tool}");
        for (path, text) in files {
            store.put(&format!("{tool}/{path}"), text);
            let path = local.path().join(tool).join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }
    assert_eq!(trees.keys().collect::<Vec<_>>(), ["duckdb", "pyarrow", "spark"]);
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for tool in trees.keys() {
            for place in
                [format!("s3://{BUCKET}/{tool}/"), format!("{}/{tool}/", local.path().display())]
            {
                let create = format!(
                    "CREATE OR REPLACE EXTERNAL TABLE t (id BIGINT, p VARCHAR) STORED AS CSV PARTITIONED BY (p) \
                     LOCATION '{place}'"
                );
                rows(&engine, &create).await;
                for from in ["t", &format!("'{place}'")] {
                    let all = rows(&engine, &format!("SELECT id, p FROM {from}")).await;
                    assert_eq!(all, expected, "{from}, {tool}, {scan}");
                    for (value, id) in values.iter().zip(1..) {
                        let value = value.replace('\'', "''");
                        let sql = format!("SELECT id FROM {from} WHERE p = '{value}'");
                        assert_eq!(
                            rows(&engine, &sql).await,
                            [format!("\"{id}\"")],
                            "{sql}, {scan}"
                        );
                    }
                    let null = format!("SELECT id FROM {from} WHERE p IS NULL");
                    assert_eq!(rows(&engine, &null).await, [r#""9""#], "{from}, {scan}");
                }
            }
        }
    }
}

/// With `union_by_name`, files in folders `k=v/` and others are one table, in which missing columns are NULL.
#[tokio::test(flavor = "multi_thread")]
async fn mixed_folders_are_united() {
    let store = Store::start().await;
    for (format, one, two, three) in [
        ("csv", "v\n1\n", "v\n2\n", "v\n3\n"),
        ("json", "{\"v\":1}\n", "{\"v\":2}\n", "{\"v\":3}\n"),
    ] {
        store.put(&format!("{format}/2024/a.{format}"), one);
        store.put(&format!("{format}/dt=2025-01-01/a.{format}"), two);
        store.put(&format!("{format}/dt=2025-01-02/hour=7/a.{format}"), three);
        for scan in SCANS {
            let engine = store.engine(scan).await;
            let from = format!(
                "read_{format}('s3://{BUCKET}/{format}/**/*.{format}', union_by_name => true)"
            );
            let all = rows(&engine, &format!("SELECT v, dt, hour FROM {from}")).await;
            let expected = [
                r#""1" | "NULL" | "NULL""#,
                r#""2" | "2025-01-01" | "NULL""#,
                r#""3" | "2025-01-02" | "7""#,
            ];
            assert_eq!(all, expected, "{from}, {scan}");
            for (condition, count) in [
                ("dt IS NULL", 1),
                ("dt > DATE '2025-01-01'", 1),
                ("hour IS NULL", 2),
                ("v > 1", 2),
            ] {
                let sql = format!("SELECT count(*) FROM {from} WHERE {condition}");
                assert_eq!(rows(&engine, &sql).await, [format!("\"{count}\"")], "{sql}, {scan}");
            }
        }
    }
}

/// What COPY and INSERT write into the names of folders is read back: any text, NULL, and several columns.
#[test]
fn partition_values_come_back() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let engine = runtime.block_on(store.engine(Scan::Auto));
    let local = tempfile::tempdir().unwrap();
    let odd = prop::sample::select(
        "=/%+ '\"\\#?*[]{}|<>:;,.~^`&$!()@\t\u{7f}éß日😀aA0_-".chars().collect::<Vec<_>>(),
    );
    let text =
        prop::collection::vec(odd, 0..8).prop_map(|text| text.into_iter().collect::<String>());
    let value = prop::option::weighted(0.8, text);
    let records = prop::collection::vec((value, prop::option::of(-3..3_i64)), 1..6);
    let runs = std::cell::Cell::new(0);
    let result = runner(30).run(&(records, any::<bool>(), any::<bool>()), |(records, in_bucket, inserts)| {
        runs.set(runs.get() + 1);
        let number = runs.get();
        let place = match in_bucket {
            true => format!("s3://{BUCKET}/{number}/"),
            false => format!("{}/{number}/", local.path().display()),
        };
        let literal = |text: &Option<String>| match text {
            Some(text) => format!("'{}'", text.replace('\'', "''")),
            None => "CAST(NULL AS VARCHAR)".to_owned(),
        };
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "NULL".to_owned());
        let mut values = Vec::new();
        let mut expected = Vec::new();
        for (id, (text, whole)) in records.iter().enumerate() {
            let whole = whole.map_or_else(|| "NULL".to_owned(), |it| it.to_string());
            values.push(format!("({id}, {}, CAST({whole} AS BIGINT))", literal(text)));
            expected.push(format!("\"{id}\" | {:?} | \"{whole}\"", shown(text)));
        }
        let source = format!("SELECT * FROM (VALUES {}) AS v(id, p, q)", values.join(", "));
        runtime.block_on(async {
            let create = format!(
                "CREATE OR REPLACE EXTERNAL TABLE t (id BIGINT, p VARCHAR, q BIGINT) STORED AS CSV \
                 PARTITIONED BY (p, q) LOCATION '{place}'"
            );
            if inserts {
                rows(&engine, &create).await;
                rows(&engine, &format!("INSERT INTO t {source}")).await;
            } else {
                let copy = format!("COPY ({source}) TO '{place}' STORED AS CSV PARTITIONED BY (p, q)");
                rows(&engine, &copy).await;
                rows(&engine, &create).await;
            }
            let found = rows(&engine, "SELECT id, p, q FROM t").await;
            prop_assert_eq!(found, expected, "{}", place);
            for (id, (text, _)) in records.iter().enumerate() {
                let sql = format!("SELECT count(*) FROM t WHERE id = {id} AND p IS NOT DISTINCT FROM {}", literal(text));
                prop_assert_eq!(rows(&engine, &sql).await, vec![r#""1""#.to_owned()], "{}", sql);
            }
            Ok(())
        })
    });
    result.unwrap();
}

/// Local files, local folders and a bucket are joined in one query, in both directions.
#[tokio::test(flavor = "multi_thread")]
async fn local_files_are_joined_with_a_bucket() {
    let store = Store::start().await;
    let local = tempfile::tempdir().unwrap();
    let path = |name: &str| local.path().join(name).display().to_string();
    std::fs::create_dir_all(local.path().join("days/d=1")).unwrap();
    std::fs::create_dir_all(local.path().join("days/d=2")).unwrap();
    std::fs::write(local.path().join("names.csv"), "id,name\n1,pear\n3,fig\n5,kiwi\n").unwrap();
    std::fs::write(local.path().join("days/d=1/a.ndjson"), "{\"id\":1}\n").unwrap();
    std::fs::write(local.path().join("days/d=2/a.ndjson"), "{\"id\":3}\n{\"id\":4}\n").unwrap();
    let writer = store.engine(Scan::Get).await;
    let numbers = "SELECT value AS id, value * 10 AS price FROM generate_series(1, 2000)";
    for target in ["big.parquet", "big.csv", "big.arrow"] {
        rows(&writer, &format!("COPY ({numbers}) TO 's3://{BUCKET}/{target}'")).await;
    }
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for big in ["big.parquet", "big.csv", "big.arrow"] {
            let big = format!("'s3://{BUCKET}/{big}'");
            let (names, days) = (path("names.csv"), path("days/"));
            for (sql, expected) in [
                (
                    format!(
                        "SELECT name, price FROM '{names}' AS n JOIN {big} AS b ON n.id = b.id WHERE price > 10"
                    ),
                    &[r#""fig" | "30""#, r#""kiwi" | "50""#][..],
                ),
                (
                    format!(
                        "SELECT d, name, price FROM {big} AS b JOIN '{days}' AS x USING (id) LEFT JOIN '{names}' USING (id)"
                    ),
                    &[r#""1" | "pear" | "10""#, r#""2" | "NULL" | "40""#, r#""2" | "fig" | "30""#],
                ),
                (
                    format!(
                        "SELECT count(*) FROM {big} WHERE id NOT IN (SELECT id FROM '{days}' WHERE d = 2)"
                    ),
                    &[r#""1998""#],
                ),
            ] {
                assert_eq!(rows(&engine, &sql).await, expected, "{sql}, {scan}");
            }
            let copy = format!(
                "COPY (SELECT * FROM {big} WHERE id < 4) TO '{}'",
                path(&format!("{scan}.csv"))
            );
            rows(&engine, &copy).await;
            let back = format!("SELECT sum(price) FROM '{}'", path(&format!("{scan}.csv")));
            assert_eq!(rows(&engine, &back).await, [r#""60""#], "{scan}");
            std::fs::remove_file(path(&format!("{scan}.csv"))).unwrap();
        }
    }
}
