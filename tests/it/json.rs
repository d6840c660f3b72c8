//! JSON tables through Select equal those that DataFusion reads from the same objects.

use datafusion::prelude::SessionContext;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};
use sluicegate_workloads::DataTable as _;
use sluicegate_workloads::tpch::{Format, Table, generate, query};

use crate::harness::{BUCKET, Store, rows, statements, stock, stock_rows, try_rows};

const COLUMNS: &str = "(id BIGINT, name VARCHAR, price DECIMAL(10,2), day DATE, at TIMESTAMP, ok BOOLEAN, ratio DOUBLE)";

fn ddl(location: &str) -> String {
    format!("CREATE EXTERNAL TABLE t {COLUMNS} STORED AS JSON LOCATION '{location}'")
}

/// Returns a store and the oracle with the same object.
async fn both(object: &str) -> (Store, SessionContext) {
    let store = Store::start().await;
    store.put("t/a.json", object);
    let stock = stock();
    let file = store.folder.path().join(BUCKET).join("t/a.json");
    // DataFusion drops digits of decimals where ours rounds.
    let wide = ddl(&file.display().to_string());
    let wide = wide.replace("TABLE t ", "TABLE of_digits ").replace("(10,2)", "(38,12)");
    stock_rows(&stock, &wide).await.unwrap();
    let view =
        "CREATE VIEW t AS SELECT * REPLACE (CAST(price AS DECIMAL(10,2)) AS price) FROM of_digits";
    stock_rows(&stock, view).await.unwrap();
    (store, stock)
}

/// Checks that every scan gives DataFusion's answer, and that Select falls back for so many objects.
async fn check(object: &str, sql: &str, fallbacks: u64) {
    let (store, stock) = both(object).await;
    let expected = stock_rows(&stock, sql).await.unwrap();
    for scan in [Scan::Select, Scan::Get, Scan::Auto] {
        let engine = store.engine(scan).await;
        rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
        assert_eq!(rows(&engine, sql).await, expected, "{scan}: {sql} over {object}");
        if scan == Scan::Select {
            assert!(engine.counted().select > 0, "{sql}");
            assert_eq!(engine.counted().fallbacks, fallbacks, "{sql} over {object}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_read_as_datafusion_reads_them() {
    let all = "SELECT * FROM t";
    check("{\"id\":-0,\"ratio\":-0,\"price\":1e1}\n{\"ratio\":-0.0}\n", all, 0).await;
    check("{\"id\":1.0,\"price\":0.129,\"ratio\":1e-320}\n{\"id\":2e3}\n", all, 0).await;
    check(
        "{\"at\":\"2024-02-29T23:59:59.123456\",\"day\":\"2024-02-29\"}\n{\"at\":null}\n",
        all,
        0,
    )
    .await;
    check(
        "{\"ratio\":\"NaN\"}\n{\"ratio\":\"-inf\",\"name\":\"\"}\n{\"day\":\"1970-01-06\"}\n",
        all,
        0,
    )
    .await;
    check("{\"price\":1.2299999999999999999e1,\"id\":\"7\"}\r\n\r\n{}\n", all, 0).await;
    check("{\"name\":\"\\u0000\\ud83d\\udca7\\u001f,\\\"\"}\n", all, 0).await;
    // Numbers with more digits than a store's, and lines that the store does not accept as JSON.
    check("{\"price\":0.12999999999999999999999999999999999999999}\n", all, 1).await;
    // A sample of the object shows that records span lines.
    check("{\"id\":1}{\"id\":2}\n{\"id\":\n3}\n", all, 0).await;
    check("{\"id\":1 \"ratio\":1e999}\n", all, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_convert_by_other_rules_are_left_to_datafusion() {
    for (id, matches) in
        [("1", 0), ("\"1\"", 0), ("1.0", 1), ("1e0", 1), ("0.99999999999999999999", 1)]
    {
        let object = format!("{{\"id\":{id}}}\n");
        check(&object, "SELECT * FROM t WHERE id = 1", matches).await;
        check(&object, "SELECT sum(id), count(id) FROM t", matches).await;
    }
    let object = "{\"price\":1.2299999999999999999e1,\"ratio\":\"1e3\"}\n{\"price\":\"12.3\"}\n";
    check(object, "SELECT sum(price), min(price) FROM t WHERE price > 12.28", 0).await;
    check(object, "SELECT price FROM t WHERE ratio = 1000.0", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_least_text_may_be_the_empty_one() {
    let object = "{\"name\":\"\",\"ratio\":\"NaN\"}\n{\"name\":\"b\"}\n{\"id\":1}\n";
    check(object, "SELECT min(name), max(name), count(name) FROM t", 0).await;
    check(object, "SELECT min(name) FROM t WHERE id = 1", 0).await;
    check(object, "SELECT min(name), sum(ratio) FROM t", 0).await;
    check(object, "SELECT count(*) FROM t WHERE name IS NULL OR name = ''", 0).await;
}

/// Values that DataFusion refuses are refused if the statement needs them.
#[tokio::test(flavor = "multi_thread")]
async fn values_of_other_types_are_refused() {
    for (value, column) in [
        ("\"seven\"", "id"),
        ("true", "id"),
        ("[1]", "id"),
        ("9223372036854775808", "id"),
        ("7", "name"),
        ("false", "name"),
        ("{\"a\":1}", "name"),
        ("1", "ok"),
        ("true", "price"),
        ("12345678901", "price"),
        ("true", "ratio"),
        ("\"yesterday\"", "day"),
        ("\"noon\"", "at"),
    ] {
        let (store, stock) = both(&format!("{{\"id\":1}}\n{{\"{column}\":{value}}}\n")).await;
        for scan in [Scan::Select, Scan::Get] {
            let engine = store.engine(scan).await;
            rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
            for sql in [
                format!("SELECT {column} FROM t"),
                format!("SELECT {column} FROM t WHERE {column} IS NOT NULL"),
            ] {
                stock_rows(&stock, &sql).await.unwrap_err();
                let error = try_rows(&engine, &sql).await.unwrap_err().to_string();
                assert!(error.contains("t/a.json"), "{scan}: {error}");
            }
        }
    }
    for object in ["{\"id\":1}\n{\"id\":\n", "{\"id\":1}\nnonsense\n", "{\"id\":1}\n{id:2}\n"] {
        let (store, stock) = both(object).await;
        stock_rows(&stock, "SELECT id FROM t").await.unwrap_err();
        let engine = store.engine(Scan::Select).await;
        rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
        for sql in ["SELECT id FROM t", "SELECT count(*) FROM t", "SELECT max(id) FROM t"] {
            // The store checks names of fields only if a statement reads one.
            if sql.contains("count(*)") && object.contains("{id:2}") {
                assert_eq!(rows(&engine, sql).await, ["\"2\""]);
                continue;
            }
            let error = try_rows(&engine, sql).await.unwrap_err().to_string();
            assert!(error.contains("t/a.json"), "{sql}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_of_objects() {
    let store = Store::start().await;
    let lines = "{\"a\":1,\"b\":{\"c\":\"x\"}}\n{\"a\":2,\"b\":{\"c\":null}}\n";
    for key in ["k/x.json", "k/x.ndjson", "k/x.jsonl"] {
        store.put(key, lines);
    }
    store.put("array/x.json", "[{\"a\":1,\"b\":{\"c\":\"x\"}},\n{\"a\":2}]\n");
    let stock = stock();
    for compression in ["gzip", "bzip2"] {
        let source = store.folder.path().join(BUCKET).join("k/x.json");
        let suffix = if compression == "gzip" { "gz" } else { "bz2" };
        let target = store.folder.path().join(BUCKET).join(format!("k/x.json.{suffix}"));
        let (source, target) = (source.display(), target.display());
        let sql =
            format!("CREATE OR REPLACE EXTERNAL TABLE lines STORED AS JSON LOCATION '{source}'");
        stock_rows(&stock, &sql).await.unwrap();
        let sql = format!(
            "COPY lines TO '{target}' STORED AS JSON OPTIONS ('format.compression' '{compression}')"
        );
        stock_rows(&stock, &sql).await.unwrap();
    }
    for scan in [Scan::Select, Scan::Get] {
        let engine = store.engine(scan).await;
        for key in ["k/x.json", "k/x.ndjson", "k/x.jsonl", "k/x.json.gz", "k/x.json.bz2"] {
            let sql = format!("SELECT a FROM 's3://{BUCKET}/{key}' AS t WHERE t.b['c'] = 'x'");
            assert_eq!(rows(&engine, &sql).await, [r#""1""#], "{scan} {key}");
        }
        for (name, extension) in [("JSON", "json"), ("NDJSON", "ndjson"), ("JSONL", "jsonl")] {
            let sql = format!(
                "CREATE EXTERNAL TABLE as_{name} STORED AS {name} LOCATION 's3://{BUCKET}/k/x.{extension}'"
            );
            rows(&engine, &sql).await;
            assert_eq!(rows(&engine, &format!("SELECT sum(a) FROM as_{name}")).await, [r#""3""#]);
        }
        assert_eq!(engine.counted().fallbacks, 0);
        // Select has no table function for an array of objects, so it is read with GET.
        let sql = format!(
            "CREATE EXTERNAL TABLE one STORED AS JSON LOCATION 's3://{BUCKET}/array/x.json'
             OPTIONS ('format.newline_delimited' 'false')"
        );
        rows(&engine, &sql).await;
        let before = engine.counted();
        assert_eq!(rows(&engine, "SELECT sum(a), count(*) FROM one").await, [r#""3" | "2""#]);
        assert_eq!(engine.counted().since(&before).select, 0);
    }
}

/// A table in many ranges returns each row once, from the store or, after a fault, from a GET.
#[tokio::test(flavor = "multi_thread")]
async fn ranges_faults_and_changes() {
    const ROWS: usize = 40_000;
    let object: String =
        (0..ROWS).map(|k| format!("{{\"k\":{k},\"v\":\"value {k}\"}}\n")).collect();
    let store = Store::start().await;
    store.put("big/a.json", &object);
    let engine = store.engine(Scan::Select).await;
    rows(&engine, "SET sluice.range_bytes = 100000").await;
    let sql = format!("SELECT k, v FROM 's3://{BUCKET}/big/a.json' WHERE k > 5");
    let right = rows(&engine, &sql).await;
    assert_eq!(right.len(), ROWS - 6);
    assert!(engine.counted().select > 1);
    assert_eq!(engine.counted().fallbacks, 0);
    let code = "CastFailed".to_owned();
    for fault in [Fault::CutInRecords(1), Fault::ErrorFrame { records: 1, code }] {
        let struck = store.faults.struck();
        store.faults.inject(Rule::new(Operation::SelectObjectContent, fault.clone()));
        assert!(rows(&engine, &sql).await == right, "{fault:?}");
        assert!(store.faults.struck() > struck);
        store.faults.clear();
    }
    assert_eq!(engine.counted().fallbacks, 1);
    let other = object.replace("value", "other").into();
    let rule = Rule::new(Operation::SelectObjectContent, Fault::ReplaceObject(other));
    store.faults.inject(rule);
    let error = try_rows(&engine, &sql).await.unwrap_err().to_string();
    assert!(error.contains("changed while it was being read"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_shows_the_statement_and_rows_are_estimated() {
    let store = Store::start().await;
    store.put("t/a.json", "{\"a\":1,\"b\":\"x\"}\n".repeat(1000));
    let engine = store.engine(Scan::Select).await;
    let sql = format!("SELECT b FROM 's3://{BUCKET}/t/a.json' WHERE a = 2");
    let sent = statements(&engine, &sql).await;
    let statement = r#"SELECT s."b" FROM S3Object s WHERE CAST(CAST(s."a" AS STRING) AS INT) = 2"#;
    assert_eq!(sent, [statement]);
    let text = rows(&engine, &format!("EXPLAIN FORMAT INDENT {sql}")).await.join("\n");
    assert!(text.contains("format=json"), "{text}");
    rows(&engine, "SET datafusion.explain.show_statistics = true").await;
    let text = rows(&engine, &format!("EXPLAIN FORMAT INDENT {sql}")).await.join("\n");
    assert!(text.contains("Rows=Inexact(1000)"), "{text}");
}

/// Stores whose JSON is not trusted are read with GET.
#[tokio::test(flavor = "multi_thread")]
async fn other_stores() {
    let object = "{\"id\":1,\"name\":\"a\",\"price\":1.25}\n{\"id\":2}\n";
    let (store, stock) = both(object).await;
    for (profile, sql, asks) in [
        (StoreCapabilities::minio(), "SELECT name FROM t WHERE id = 1", false),
        (StoreCapabilities::ceph(), "SELECT count(*) FROM t", false),
        (StoreCapabilities::aws(), "SELECT name FROM t WHERE id = 1", true),
        (StoreCapabilities::aws(), "SELECT id FROM t WHERE name IS NULL", true),
        (StoreCapabilities::aws(), "SELECT price FROM t", false),
        (StoreCapabilities::aws(), "SELECT count(*), max(id) FROM t", true),
    ] {
        let name = profile.name.clone();
        let engine = store.builder().scan(Scan::Select).profile(profile).build().await.unwrap();
        rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
        assert_eq!(
            rows(&engine, sql).await,
            stock_rows(&stock, sql).await.unwrap(),
            "{name}: {sql}"
        );
        assert_eq!(engine.counted().select > 0, asks, "{name}: {sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tpch_lineitem_as_json() {
    let store = Store::start().await;
    let folder = store.folder.path().join(BUCKET);
    let data = crate::tpch::data(&Format::csv(), 1, 0.01);
    let bucket = object_store::local::LocalFileSystem::new_with_prefix(&folder).unwrap();
    generate(&data, &bucket, &|_| ()).await.unwrap();
    let stock = stock();
    let csv = format!("{}/{}/", folder.display(), data.folder(Table::Lineitem));
    let csv = Table::Lineitem.create_external_table(&Format::csv(), &csv);
    stock_rows(&stock, &csv).await.unwrap();
    let copy = format!("COPY lineitem TO '{}/json/lineitem.json' STORED AS JSON", folder.display());
    stock_rows(&stock, &copy).await.unwrap();
    let (columns, _) = csv.split_once(" STORED AS ").unwrap();
    let json = |location: &str| format!("{columns} STORED AS JSON LOCATION '{location}'");
    for (scan, asks) in [(Scan::Select, true), (Scan::Get, false), (Scan::Auto, false)] {
        let engine = store.engine(scan).await;
        rows(&engine, &json(&format!("s3://{BUCKET}/json/lineitem.json"))).await;
        for number in [1, 6] {
            let sql = query(number).unwrap();
            let expected = stock_rows(&stock, sql).await.unwrap();
            assert_eq!(rows(&engine, sql).await, expected, "query {number}, {scan}");
        }
        assert!(!asks || engine.counted().select >= 2, "{scan}");
        assert_eq!(engine.counted().fallbacks, 0, "{scan}");
    }
    let engine = store.engine(Scan::Select).await;
    rows(&engine, &json(&format!("s3://{BUCKET}/json/lineitem.json"))).await;
    let sent = statements(&engine, query(6).unwrap()).await.join("; ");
    assert!(sent.contains("SELECT SUM("), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_byte_order_mark_is_left_out_however_it_is_read() {
    let (store, stock) = both("\u{feff}{\"id\":1}\n{\"id\":2}\n").await;
    for (sql, expected) in [
        ("SELECT id FROM t", [r#""1""#, r#""2""#].as_slice()),
        ("SELECT id FROM t WHERE id > 1", &[r#""2""#]),
        ("SELECT sum(id) FROM t", &[r#""3""#]),
    ] {
        assert!(stock_rows(&stock, sql).await.is_err(), "{sql}");
        for scan in [Scan::Select, Scan::Get, Scan::Auto] {
            let engine = store.engine(scan).await;
            rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
            assert_eq!(rows(&engine, sql).await, expected, "{scan}: {sql}");
        }
    }
}

/// arrow-json decodes these wrongly; when it no longer does, `client::surrogate_pairs` can be removed.
#[tokio::test(flavor = "multi_thread")]
async fn escaped_characters_beyond_two_planes_are_right_however_they_are_read() {
    let (store, stock) = both("{\"name\":\"\\ud840\\udc00\"}\n{\"name\":\"\u{20000}\"}\n").await;
    let sql = "SELECT name FROM t";
    assert_eq!(stock_rows(&stock, sql).await.unwrap(), ["\"\u{10000}\"", "\"\u{20000}\""]);
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let engine = store.engine(scan).await;
        rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
        assert_eq!(rows(&engine, sql).await, ["\"\u{20000}\""; 2], "{scan}");
        let count = "SELECT count(*) FROM t WHERE name = '\u{20000}'";
        assert_eq!(rows(&engine, count).await, ["\"2\""], "{scan}");
    }
    store.put("p/a.json", "[{\"\\ud840\\udc00\":\"\\ud87e\\udc1f\"},\n {\"\u{20000}\":null}]");
    let engine = store.engine(Scan::Get).await;
    let sql =
        format!("SELECT * FROM read_json('s3://{BUCKET}/p/a.json', newline_delimited => false)");
    assert_eq!(rows(&engine, &sql).await, ["\"NULL\"", "\"\u{2f81f}\""]);
}

/// An array may span lines, as programs write it for readers.
#[tokio::test(flavor = "multi_thread")]
async fn arrays_are_read_whatever_their_lines() {
    let store = Store::start().await;
    store.put(
        "p/a.json",
        "[\n  {\n    \"a\": 1\n  },\n  {\n    \"a\": 2,\n    \"b\": \"x\"\n  }\n]\n",
    );
    store.put("p/b.json", "[\n  {\n    \"a\": 4\n  }\n]\n");
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let engine = store.engine(scan).await;
        for (place, expected) in [("a.json", r#""3" | "1""#), ("", r#""7" | "1""#)] {
            let sql = format!(
                "SELECT sum(a), count(b) FROM read_json('s3://{BUCKET}/p/{place}', newline_delimited => false)"
            );
            assert_eq!(rows(&engine, &sql).await, [expected], "{place}, {scan}");
        }
    }
}
