//! Delta tables: written by Spark (`tests/it/data/delta/spark`, by `tests/delta/write_spark.py`) and by hand.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::codec::round_trip;
use crate::harness::{BUCKET, Store, rows, try_rows};

/// A folder with a table that Spark wrote. Version 1 has the rows 0 to 59, partitioned by a region that is NULL for a
/// third of them. Version 2 deletes the rows whose number leaves 2 when it is divided by 7, by deletion vectors.
/// Version 3 renames a column, 4 adds one, 5 adds two rows, and 6 drops a column. Its columns have other names in its
/// files. Its log has a checkpoint of version 4.
const SPARK: &str = "tests/it/data/delta/spark";

fn put_folder(store: &Store, folder: &Path, key: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let key = format!("{key}/{name}");
        match entry.file_type().unwrap().is_dir() {
            true => put_folder(store, &entry.path(), &key),
            false => store.put(&key, fs::read(entry.path()).unwrap()),
        }
    }
}

/// Row `id` of the table that Spark wrote, as of version 5.
fn spark_row(id: i64) -> String {
    let region = match id % 3 {
        0 => r#""north""#,
        1 => r#""so uth/=%""#,
        _ => r#""NULL""#,
    };
    format!(r#""{id}" | "n{id}" | {region}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_spark_has_its_rows_in_every_way() {
    let store = Store::start().await;
    put_folder(&store, Path::new(SPARK), "spark");
    let mut expected: Vec<String> = (0..60).filter(|id| id % 7 != 2).map(spark_row).collect();
    expected.sort();
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let engine = store.engine(scan).await;
        let url = format!("s3://{BUCKET}/spark");
        for table in [format!("delta_scan('{url}')"), format!("'{url}/'")] {
            let query = format!("SELECT id, label, region FROM {table} WHERE id < 100");
            assert_eq!(rows(&engine, &query).await, expected, "{scan:?} {table}");
        }
        let create = format!("CREATE EXTERNAL TABLE t STORED AS DELTA LOCATION '{url}/'");
        rows(&engine, &create).await;
        for (query, expected) in [
            (
                "SELECT count(*), sum(id), sum(extra), count(region) FROM t",
                vec![r#""53" | "1701" | "7" | "35""#],
            ),
            ("SELECT count(*) FROM t WHERE region IS NULL", vec![r#""18""#]),
            (
                "SELECT count(*), max(seen) FROM t WHERE region = 'so uth/=%'",
                vec![r#""17" | "2024-01-03T17:00:00Z""#],
            ),
            (
                "SELECT id, extra, label, region FROM t WHERE id >= 100",
                vec![r#""100" | "7" | "late" | "north""#, r#""101" | "NULL" | "NULL" | "NULL""#],
            ),
            ("SELECT sold FROM t WHERE id = 31", vec![r#""2024-02-01""#]),
        ] {
            assert_eq!(rows(&engine, query).await, expected, "{scan:?} {query}");
        }
        let columns = "SELECT column_name FROM information_schema.columns WHERE table_name = 't'";
        assert_eq!(
            rows(&engine, columns).await,
            ["extra", "id", "label", "region", "seen", "sold"].map(|name| format!("\"{name}\"")),
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn earlier_versions_are_read() {
    let store = Store::start().await;
    put_folder(&store, Path::new(SPARK), "spark");
    let engine = store.engine(Scan::Auto).await;
    for (version, expected) in [(0, "0"), (1, "60"), (2, "51"), (4, "51"), (5, "53"), (6, "53")] {
        let query = format!(
            "SELECT count(*) FROM delta_scan('s3://{BUCKET}/spark/', version => {version})"
        );
        assert_eq!(rows(&engine, &query).await, [format!("\"{expected}\"")], "{version}");
    }
    let create = format!(
        "CREATE EXTERNAL TABLE first STORED AS DELTA LOCATION 's3://{BUCKET}/spark/' \
         OPTIONS ('version' '1')"
    );
    rows(&engine, &create).await;
    let query = "SELECT sum(price) FROM first WHERE name < 'n2'";
    assert_eq!(rows(&engine, query).await, [r#""182.50""#]);
    let query = format!("FROM delta_scan('s3://{BUCKET}/spark/', version => 7)");
    says(try_rows(&engine, &query).await, &["version 7", "latest"]);
    let query = format!("FROM delta_scan('s3://{BUCKET}/spark/', version => 'x')");
    says(try_rows(&engine, &query).await, &["`x` is no version"]);
}

/// A table that is written here, one commit at a time.
struct Table<'a> {
    store: &'a Store,
    folder: &'static str,
    version: u64,
}

impl<'a> Table<'a> {
    fn new(store: &'a Store, folder: &'static str) -> Self {
        let schema = r#"{\"type\":\"struct\",\"fields\":[{\"name\":\"n\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},{\"name\":\"p\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}},{\"name\":\"t\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}}]}"#;
        let mut table = Self { store, folder, version: 0 };
        table.commit(&[
            r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#.to_owned(),
            format!(
                r#"{{"metaData":{{"id":"1","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{schema}","partitionColumns":["p"],"configuration":{{}},"createdTime":1}}}}"#
            ),
        ]);
        table
    }

    fn commit(&mut self, actions: &[String]) {
        let key = format!("{}/_delta_log/{:020}.json", self.folder, self.version);
        self.store.put(&key, actions.join("\n") + "\n");
        self.version += 1;
    }

    /// Writes a file of numbers and returns the action that adds it.
    fn file(&self, name: &str, partition: Option<i64>, numbers: &[i64]) -> String {
        let fields =
            [("n", DataType::Int64), ("t", DataType::Utf8)].map(|(n, t)| Field::new(n, t, true));
        let texts = StringArray::from_iter_values(numbers.iter().map(|n| format!("t{n}")));
        let numbers = Int64Array::from(numbers.to_vec());
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let batch =
            RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(numbers), Arc::new(texts)])
                .unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        self.store.put(&format!("{}/{name}", self.folder), &bytes);
        let partition = partition.map_or("null".to_owned(), |value| format!("\"{value}\""));
        format!(
            r#"{{"add":{{"path":"{name}","partitionValues":{{"p":{partition}}},"size":{},"modificationTime":1,"dataChange":true}}}}"#,
            bytes.len()
        )
    }
}

fn removed(name: &str) -> String {
    format!(r#"{{"remove":{{"path":"{name}","deletionTimestamp":1,"dataChange":true}}}}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_files_are_not_read_and_new_ones_are() {
    let store = Store::start().await;
    let mut table = Table::new(&store, "own");
    let one = table.file("one.parquet", Some(1), &[1, 2, 3]);
    let two = table.file("two.parquet", None, &[4, 5]);
    table.commit(&[one, two]);
    let engine = store.engine(Scan::Auto).await;
    let url = format!("s3://{BUCKET}/own/");
    rows(&engine, &format!("CREATE EXTERNAL TABLE own STORED AS DELTA LOCATION '{url}'")).await;
    let all = "SELECT n, p, t FROM own";
    let expected = |numbers: &[(i64, &str)]| -> Vec<String> {
        numbers.iter().map(|(n, p)| format!(r#""{n}" | {p} | "t{n}""#)).collect()
    };
    let (one, null) = (r#""1""#, r#""NULL""#);
    assert_eq!(
        rows(&engine, all).await,
        expected(&[(1, one), (2, one), (3, one), (4, null), (5, null)])
    );
    let three = table.file("three.parquet", Some(3), &[6]);
    table.commit(&[removed("one.parquet"), three]);
    // The table is not created again.
    let insert = try_rows(&engine, "INSERT INTO own VALUES (1, 1, 'x')").await;
    says(insert, &["only read", "own/"]);
    assert_eq!(rows(&engine, all).await, expected(&[(4, null), (5, null), (6, r#""3""#)]));
    // All files of a table are of one version, however often a query names it.
    let twice = "SELECT count(*) FROM own a JOIN own b ON a.n = b.n";
    assert_eq!(rows(&engine, twice).await, [r#""3""#]);
    // A function for Parquet reads what is in the folder, and says so.
    let plain = format!("SELECT count(*) FROM read_parquet('{url}')");
    assert_eq!(rows(&engine, &plain).await, [r#""6""#]);
    let notes = engine.take_notes();
    assert!(notes.iter().any(|note| note.contains("delta_scan(")), "{notes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_are_pushed_down_and_prune_partitions() {
    let store = Store::start().await;
    let mut table = Table::new(&store, "own");
    let files: Vec<String> = (0..4)
        .map(|p| {
            let numbers: Vec<i64> = (p * 100..p * 100 + 100).collect();
            table.file(&format!("{p}.parquet"), Some(p), &numbers)
        })
        .collect();
    table.commit(&files);
    let engine = store.engine(Scan::Select).await;
    let query = format!("SELECT t FROM 's3://{BUCKET}/own/' WHERE n > 206 AND n < 208 AND p = 2");
    assert_eq!(rows(&engine, &query).await, [r#""t207""#]);
    let explanation = engine.explain(&query).await.unwrap().to_string();
    assert!(explanation.contains("select"), "{explanation}");
    let sent = crate::harness::statements(&engine, &query).await;
    // One file is left by the filter on the partition.
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(sent[0].contains("WHERE"), "{sent:?}");
    let none = format!("SELECT count(*) FROM 's3://{BUCKET}/own/' WHERE p = 9");
    assert_eq!(rows(&engine, &none).await, [r#""0""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_says_why_deleted_rows_are_read_with_get() {
    let store = Store::start().await;
    put_folder(&store, Path::new(SPARK), "spark");
    let engine = store.engine(Scan::Auto).await;
    let query = format!("SELECT label FROM 's3://{BUCKET}/spark/' WHERE id = 5");
    let explanation = engine.explain(&query).await.unwrap().to_string();
    assert!(explanation.contains("rows that the Delta table deletes"), "{explanation}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encoded_plan_skips_the_deleted_rows() {
    let store = Store::start().await;
    put_folder(&store, Path::new(SPARK), "spark");
    for scan in [Scan::Get, Scan::Auto] {
        let engine = store.engine(scan).await;
        let table = format!("delta_scan('s3://{BUCKET}/spark', version => 2)");
        round_trip(&engine, &format!("SELECT id, name, region FROM {table}")).await;
        round_trip(&engine, &format!("SELECT count(*), sum(id) FROM {table} WHERE id > 7")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_table_is_a_clear_error() {
    let store = Store::start().await;
    let mut table = Table::new(&store, "own");
    let one = table.file("one.parquet", Some(1), &[1]);
    table.commit(&[one]);
    let engine = store.engine(Scan::Auto).await;
    let read = format!("FROM 's3://{BUCKET}/own/'");
    assert_eq!(rows(&engine, &read).await.len(), 1);
    fs::remove_file(store.folder.path().join(BUCKET).join("own/one.parquet")).unwrap();
    says(try_rows(&engine, &read).await, &["own/one.parquet", "missing", "VACUUM"]);
    table.commit(&["{no json".to_owned()]);
    says(try_rows(&engine, &read).await, &["damaged", "_delta_log"]);
    let elsewhere = format!("FROM delta_scan('s3://{BUCKET}/none')");
    says(try_rows(&engine, &elsewhere).await, &["no Delta table", "none/"]);
    let columns =
        format!("CREATE EXTERNAL TABLE t (n INT) STORED AS DELTA LOCATION 's3://{BUCKET}/own/'");
    says(try_rows(&engine, &columns).await, &["log", "columns"]);
    let option = format!(
        "CREATE EXTERNAL TABLE t STORED AS DELTA LOCATION 's3://{BUCKET}/own/' OPTIONS ('x' '1')"
    );
    says(try_rows(&engine, &option).await, &["no option", "version"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_into_the_folder_of_a_table() {
    let store = Store::start().await;
    let mut table = Table::new(&store, "own");
    let one = table.file("one.parquet", Some(1), &[1]);
    table.commit(&[one]);
    let engine = store.engine(Scan::Auto).await;
    for option in ["", "OPTIONS (overwrite true)", "OPTIONS (append true)"] {
        let url = format!("s3://{BUCKET}/own/");
        let copy = format!("COPY (SELECT 1 AS n) TO '{url}' STORED AS PARQUET {option}");
        says(try_rows(&engine, &copy).await, &["Delta table", "only read", "another folder"]);
    }
    let count = format!("SELECT count(*) FROM 's3://{BUCKET}/own/'");
    assert_eq!(rows(&engine, &count).await, [r#""1""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_whose_commits_are_cleaned_up_is_still_one() {
    let store = Store::start().await;
    put_folder(&store, Path::new(SPARK), "spark");
    let log = store.folder.path().join(BUCKET).join("spark/_delta_log");
    for version in 0..=4 {
        fs::remove_file(log.join(format!("{version:020}.json"))).unwrap();
    }
    for version in 5..=6 {
        fs::remove_file(log.join(format!("{version:020}.json"))).unwrap();
    }
    let engine = store.engine(Scan::Auto).await;
    for table in [format!("'s3://{BUCKET}/spark/'"), format!("delta_scan('s3://{BUCKET}/spark')")] {
        let found = try_rows(&engine, &format!("SELECT count(*) FROM {table}")).await;
        // All files of the folder are 62 rows.
        assert!(found.is_err() || found.is_ok_and(|rows| rows == [r#""51""#]), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_far_away_is_refused_at_once() {
    let store = Store::start().await;
    let _ = Table::new(&store, "own");
    let engine = store.engine(Scan::Auto).await;
    for version in ["1", "100000000", "9223372036854775807", "18446744073709551615"] {
        let query = format!("FROM delta_scan('s3://{BUCKET}/own/', version => {version})");
        let found = try_rows(&engine, &query).await;
        says(found, &[&format!("no version {version}"), "the latest is 0"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn partition_values_are_those_of_the_log() {
    let store = Store::start().await;
    let mut table = Table::new(&store, "own");
    let schema = |of: &str| {
        format!(
            r#"{{"metaData":{{"id":"1","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{{\"type\":\"struct\",\"fields\":[{{\"name\":\"n\",\"type\":\"long\",\"nullable\":true,\"metadata\":{{}}}},{{\"name\":\"p\",\"type\":\"{of}\",\"nullable\":true,\"metadata\":{{}}}}]}}","partitionColumns":["p"],"configuration":{{}},"createdTime":1}}}}"#
        )
    };
    let file = |table: &Table<'_>, number: i64, value: &str| {
        let added = table.file(&format!("{number}.parquet"), Some(0), &[number]);
        added.replace(r#""p":"0""#, &format!(r#""p":"{value}""#))
    };
    let hive = file(&table, 1, "__HIVE_DEFAULT_PARTITION__");
    let empty = file(&table, 2, "");
    table.commit(&[schema("string"), hive, empty]);
    let engine = store.engine(Scan::Auto).await;
    let read = format!("SELECT n, p FROM 's3://{BUCKET}/own/'");
    assert_eq!(
        rows(&engine, &read).await,
        [r#""1" | "__HIVE_DEFAULT_PARTITION__""#, r#""2" | "NULL""#]
    );
    let filtered = format!("{read} WHERE p = '__HIVE_DEFAULT_PARTITION__'");
    assert_eq!(rows(&engine, &filtered).await.len(), 1);
    let values = ["0E-10", "-1.5E-3", "12.25"];
    let mut actions = vec![schema("decimal(20,10)"), removed("1.parquet"), removed("2.parquet")];
    for (number, value) in (3..).zip(values) {
        actions.push(file(&table, number, value));
    }
    table.commit(&actions);
    assert_eq!(
        rows(&engine, &read).await,
        [r#""3" | "0.0000000000""#, r#""4" | "-0.0015000000""#, r#""5" | "12.2500000000""#]
    );
    assert_eq!(rows(&engine, &format!("{read} WHERE p < 0")).await.len(), 1);
    let subquery = format!("{read} WHERE p = (SELECT min(p) FROM 's3://{BUCKET}/own/')");
    assert_eq!(rows(&engine, &subquery).await, [r#""4" | "-0.0015000000""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_outside_of_its_type_is_a_clear_error() {
    let store = Store::start().await;
    let mut table = Table::new(&store, "own");
    let one = table.file("one.parquet", Some(1), &[1]);
    table.commit(&[one.replace(r#""p":"1""#, r#""p":"one""#)]);
    let engine = store.engine(Scan::Auto).await;
    let read = format!("SELECT n FROM 's3://{BUCKET}/own/' WHERE p = 1");
    says(try_rows(&engine, &read).await, &["one"]);
}
