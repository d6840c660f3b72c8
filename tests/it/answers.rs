//! Small tables with awkward values: engine over Select, engine over GET and plain DataFusion
//! agree.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, statements, stock, stock_rows, try_rows};
use crate::untidy::SCANS;

const PEOPLE: &str = "\
id,name,born,balance,active,score
1,Ann,1990-01-31,10.50,true,1.5
2,\"O'Neil, Bob\",1985-12-01,-3.25,false,
3,,1970-01-01,0.00,,-0.0
4,\"say \"\"hi\"\"\",,99999999999.99,true,NaN
5,Žofie,2000-02-29,,false,1e300
";

const COLUMNS: &str = "(id BIGINT NOT NULL, name VARCHAR, born DATE, balance DECIMAL(15,2), active BOOLEAN, score DOUBLE)";

async fn check(sql: &str, expected_pushed: &str) {
    let store = Store::start().await;
    store.put("people/a.csv", PEOPLE);
    let local = tempfile::tempdir().unwrap();
    std::fs::write(local.path().join("a.csv"), PEOPLE).unwrap();
    let ddl = |location: &str| {
        format!(
            "CREATE EXTERNAL TABLE people {COLUMNS} STORED AS CSV LOCATION '{location}'
                 OPTIONS ('format.has_header' 'true')"
        )
    };
    let stock = stock();
    stock_rows(&stock, &ddl(&format!("{}/", local.path().display()))).await.unwrap();
    let expected = stock_rows(&stock, sql).await.unwrap();
    for scan in [Scan::Select, Scan::Get, Scan::Auto] {
        let engine = store.engine(scan).await;
        rows(&engine, &ddl(&format!("s3://{BUCKET}/people/"))).await;
        assert_eq!(rows(&engine, sql).await, expected, "{scan}: {sql}");
        if scan == Scan::Select {
            let sent = statements(&engine, sql).await.join("; ");
            assert!(sent.contains(expected_pushed), "{sql} sends {sent}");
            assert_eq!(engine.counted().fallbacks, 0, "{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_are_sent() {
    check("SELECT * FROM people WHERE id > 2", "CAST(s._1 AS INT) > 2").await;
    check("SELECT name FROM people WHERE name = 'O''Neil, Bob'", "'O''Neil, Bob'").await;
    check("SELECT id FROM people WHERE name <> 'Ann'", "NULLIF(s._2, '')").await;
    check("SELECT id FROM people WHERE name IS NULL", "IS NULL").await;
    check("SELECT id FROM people WHERE NOT (name = 'Ann' OR balance < 0)", "WHERE").await;
    check("SELECT id FROM people WHERE name LIKE '%o%e'", "LIKE").await;
    check("SELECT id FROM people WHERE name LIKE 'Ž%'", "LIKE").await;
    check("SELECT id FROM people WHERE born >= DATE '1985-12-01'", "AS TIMESTAMP)").await;
    check(
        "SELECT id FROM people WHERE born IN (DATE '1990-01-31', DATE '1970-01-01')",
        "AS TIMESTAMP)",
    )
    .await;
    check("SELECT id FROM people WHERE balance BETWEEN -5 AND 11", "AS DECIMAL(15, 2))").await;
    check("SELECT id FROM people WHERE active", "AS BOOL").await;
    check("SELECT id FROM people WHERE score > 1.0", "AS FLOAT").await;
    check("SELECT id FROM people WHERE id IN (1, 3, 5, 7, 9)", "IN (").await;
    check("SELECT id FROM people WHERE substr(name, 1, 1) = 'A'", "SUBSTRING").await;
    check("SELECT id, CASE WHEN active THEN 1 ELSE 0 END FROM people WHERE CASE WHEN active THEN balance ELSE 0 END > 5", "CASE").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_and_rows_are_counted_there() {
    check("SELECT balance FROM people", "SELECT s._4 FROM").await;
    check("SELECT name FROM people", "SELECT s._2 FROM").await;
    check("SELECT 1 FROM people WHERE id > 1", "COUNT(*)").await;
    check("SELECT count(*) FROM people", "COUNT(*)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregates_are_sent() {
    check(
        "SELECT sum(balance), min(balance), max(balance), avg(balance), count(balance) FROM people",
        "SUM(",
    )
    .await;
    check("SELECT sum(id), min(id), max(id), avg(id), count(*) FROM people WHERE id <> 3", "SUM(")
        .await;
    check("SELECT min(born), max(born), min(name), max(name), count(name) FROM people", "MIN(")
        .await;
    check("SELECT min(substr(name, 4)) IS NULL, sum(score) FROM people WHERE id = 1", "MIN(SUB")
        .await;
    check("SELECT min(substr(name, 4)), min(name), count(substr(name, 4)) FROM people", "MIN(SUB")
        .await;
    check("SELECT sum(balance * 2 + 1) FROM people WHERE active IS NOT NULL", "SUM(").await;
    check("SELECT sum(balance) FILTER (WHERE active), count(*) FILTER (WHERE born > DATE '1986-01-01') FROM people", "CASE WHEN").await;
    check("SELECT sum(balance), count(*), max(id) FROM people WHERE id > 100", "SUM(").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_exact_stays_here() {
    check("SELECT id FROM people WHERE score = 0.0", "SELECT").await;
    check("SELECT max(score), min(score) FROM people", "SELECT s._6").await;
    check("SELECT id FROM people WHERE name ILIKE 'a%'", "SELECT").await;
    check("SELECT count(DISTINCT active) FROM people", "SELECT s._5").await;
    check("SELECT active, count(*) FROM people GROUP BY active", "SELECT s._5").await;
    check("SELECT id FROM people ORDER BY balance DESC NULLS LAST LIMIT 2", "SELECT").await;
}

/// An object whose sum exceeds 64 bits is an error in S3 Select, so it is added locally: another object may bring the
/// sum back.
#[tokio::test(flavor = "multi_thread")]
async fn whole_numbers_that_exceed_64_bits_are_an_error_in_every_way() {
    let store = Store::start().await;
    let max = i64::MAX;
    store.put("t/a.csv", format!("k,x\n1,{max}\n1,{max}\n2,5\n"));
    store.put("t/b.csv", format!("k,x\n1,-{max}\n2,-5\n"));
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let all = format!("'s3://{BUCKET}/t/*.csv'");
        let one = format!("'s3://{BUCKET}/t/a.csv'");
        let sums = format!("SELECT k, sum(x), count(*) FROM {all} GROUP BY k ORDER BY k");
        let expected = [format!("\"1\" | \"{max}\" | \"3\""), "\"2\" | \"0\" | \"2\"".to_owned()];
        assert_eq!(rows(&engine, &sums).await, expected, "{scan}");
        let sum = format!("SELECT sum(x) FROM {all}");
        assert_eq!(rows(&engine, &sum).await, [format!("\"{max}\"")], "{scan}");
        for beyond in [
            format!("SELECT sum(x) FROM {one}"),
            format!("SELECT k, sum(x) FROM {one} GROUP BY k"),
            format!("SELECT sum(x) OVER (ORDER BY k) FROM {one}"),
            format!("SELECT count(*) FROM {one} WHERE x + 1 > 0"),
            format!("SELECT sum(x - 2) FROM 's3://{BUCKET}/t/b.csv' WHERE k = 1"),
            format!("SELECT max(x * k) FROM {one} WHERE x * 3 > 7"),
        ] {
            says(try_rows(&engine, &beyond).await, &["beyond the values", "DECIMAL(38, 0)"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_compression_and_globs() {
    let store = Store::start().await;
    store.put("sales/year=2020/a.csv", "k,v\n1,10\n2,20\n");
    store.put("sales/year=2021/a.csv", "k,v\n1,30\n3,40\n");
    store.put("other/x.csv", "k,v\n1,1\n");
    store.put("other/y.csv", "k,v\n2,2\n");
    store.put("other/z.txt", "nothing of the kind");
    store.put("empty/a.csv", "");
    let ddl = format!(
        "CREATE EXTERNAL TABLE sales (k BIGINT, v BIGINT, year INT) STORED AS CSV
         PARTITIONED BY (year) LOCATION 's3://{BUCKET}/sales/' OPTIONS ('format.has_header' 'true')"
    );
    for scan in [Scan::Select, Scan::Get] {
        let engine = store.engine(scan).await;
        rows(&engine, &ddl).await;
        let by_year = rows(&engine, "SELECT year, k, v FROM sales WHERE k = 1").await;
        assert_eq!(by_year, [r#""2020" | "1" | "10""#, r#""2021" | "1" | "30""#], "{scan}");
        let sum = rows(&engine, "SELECT sum(v) FROM sales WHERE year = 2021").await;
        assert_eq!(sum, [r#""70""#], "{scan}");
        let sql = format!("SELECT sum(v) FROM 's3://{BUCKET}/other/*.csv'");
        assert_eq!(rows(&engine, &sql).await, [r#""3""#], "{scan}");
    }
}

/// Values that CSV and JSON answers cannot represent are read from Parquet unchanged.
#[tokio::test(flavor = "multi_thread")]
async fn parquet_keeps_nan_and_the_empty_text() {
    let store = Store::start().await;
    let file = store.folder.path().join(BUCKET).join("a.parquet");
    let stock = stock();
    let copy = format!(
        "COPY (SELECT * FROM (VALUES ('', 'NaN'::DOUBLE), (NULL, '-inf'::DOUBLE), ('b', NULL), ('c', 0.1))
         AS t(s, f)) TO '{}'",
        file.display()
    );
    stock_rows(&stock, &copy).await.unwrap();
    let ddl = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{}'", file.display());
    stock_rows(&stock, &ddl).await.unwrap();
    let engine = store.engine(Scan::Select).await;
    rows(&engine, &ddl.replace(&file.display().to_string(), &format!("s3://{BUCKET}/a.parquet")))
        .await;
    for sql in [
        "SELECT s, f FROM t",
        "SELECT f FROM t",
        "SELECT min(s), max(s) FROM t WHERE f IS NOT NULL",
        "SELECT min(s), sum(f) FROM t",
        "SELECT sum(f) FROM t",
    ] {
        assert_eq!(rows(&engine, sql).await, stock_rows(&stock, sql).await.unwrap(), "{sql}");
    }
    assert!(engine.counted().select >= 5);
    assert_eq!(engine.counted().fallbacks, 0);
}

/// Four Parquet objects, in each of which a bound from the previous object would exclude all rows.
#[tokio::test(flavor = "multi_thread")]
async fn a_least_value_rules_out_no_row_that_another_aggregate_needs() {
    let store = Store::start().await;
    for (name, k, v) in [("a", 0, "a"), ("b", 5, "z"), ("c", 0, "b"), ("d", 7, "c")] {
        let k: ArrayRef = Arc::new(Int64Array::from(vec![k]));
        let v: ArrayRef = Arc::new(StringArray::from(vec![v]));
        let batch = RecordBatch::try_from_iter([("k", k), ("v", v)]).unwrap();
        let mut object = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut object, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        store.put(&format!("four/{name}.parquet"), object);
    }
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let engine = store.builder().scan(scan).threads(2).build().await.unwrap();
        for (of, expected) in [
            ("max(k + 1)", r#""0" | "8""#),
            ("max(nullif(v, 'q'))", r#""0" | "z""#),
            ("max(v) FILTER (WHERE k > 1)", r#""0" | "z""#),
        ] {
            let sql = format!("SELECT min(k), {of} FROM 's3://{BUCKET}/four/*.parquet'");
            assert_eq!(rows(&engine, &sql).await, [expected], "{scan}: {sql}");
        }
    }
}

/// Five Parquet objects with one row each. The bounds of `f` do not include its NaN.
#[tokio::test(flavor = "multi_thread")]
async fn objects_are_not_asked_where_their_footers_exclude_the_filter() {
    let store = Store::start().await;
    for (name, k, f) in [
        ("a", Some(0), 1.0),
        ("b", Some(5), 2.0),
        ("c", Some(9), f64::NAN),
        ("d", None, 3.0),
        ("e", Some(7), 4.0),
    ] {
        let k: ArrayRef = Arc::new(Int64Array::from(vec![k]));
        let f: ArrayRef = Arc::new(Float64Array::from(vec![f]));
        let batch = RecordBatch::try_from_iter_with_nullable([("k", k, true), ("f", f, true)]);
        let batch = batch.unwrap();
        let mut object = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut object, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        store.put(&format!("five/{name}.parquet"), object);
    }
    let engine = store.builder().scan(Scan::Select).threads(2).build().await.unwrap();
    for (condition, expected, asked) in [
        ("k = 5", vec!["5"], 1),
        ("k > 6 AND k < 8", vec!["7"], 1),
        ("k IN (0, 9)", vec!["0", "9"], 2),
        ("k IS NULL", vec!["NULL"], 1),
        ("k > 100", vec![], 0),
        ("f > 3.5", vec!["7", "9"], 5),
        ("f > 3.5 AND k > 8", vec!["9"], 1),
    ] {
        let sql = format!("SELECT k FROM 's3://{BUCKET}/five/*.parquet' WHERE {condition}");
        let before = engine.counted();
        let mut actual = rows(&engine, &sql).await;
        actual.sort();
        let expected: Vec<_> = expected.iter().map(|k| format!("{k:?}")).collect();
        let counted = engine.counted().since(&before);
        let count = format!("{:?}", expected.len().to_string());
        assert_eq!((actual, counted.select, counted.fallbacks), (expected, asked, 0), "{sql}");
        let sql = format!("SELECT count(*) FROM 's3://{BUCKET}/five/*.parquet' WHERE {condition}");
        let before = engine.counted().select;
        assert_eq!(rows(&engine, &sql).await, [count]);
        assert_eq!(engine.counted().select - before, asked, "{sql}");
    }
    let sql = format!("SELECT k FROM 's3://{BUCKET}/five/*.parquet' WHERE k = 5");
    let plan = engine.explain(&sql).await.unwrap().to_string();
    assert!(plan.contains("files_left_out=4"), "{plan}");
}

/// A table has more Parquet objects than footers are read when it is planned.
#[tokio::test(flavor = "multi_thread")]
async fn the_footers_of_many_objects_are_sampled() {
    const OBJECTS: usize = 1100;
    let store = Store::start().await;
    for number in 0..OBJECTS {
        let k: ArrayRef = Arc::new(Int64Array::from(vec![number as i64; 2]));
        let batch = RecordBatch::try_from_iter([("k", k)]).unwrap();
        let mut object = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut object, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        store.put(&format!("many/{number:04}.parquet"), object);
    }
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.builder().scan(scan).threads(2).build().await.unwrap();
        let ddl = format!(
            "CREATE EXTERNAL TABLE many (k BIGINT) STORED AS PARQUET LOCATION 's3://{BUCKET}/many/'"
        );
        rows(&engine, &ddl).await;
        assert_eq!(engine.counted().get, 1024);
        let before = engine.counted();
        let plan = engine.explain("SELECT sum(k) FROM many").await.unwrap().to_string();
        assert_eq!(engine.counted().since(&before).get, 0);
        assert!(plan.contains("the footers of 1024 of 1100 objects"), "{plan}");
        let all: usize = (0..OBJECTS).sum();
        for (sql, expected) in [
            ("SELECT count(*), min(k), max(k), sum(k) FROM many", [2 * OBJECTS, 0, 1099, 2 * all]),
            (
                "SELECT count(*), min(k), max(k), sum(k) FROM many WHERE k >= 1020 AND k < 1090",
                [140, 1020, 1089, 70 * (1020 + 1089)],
            ),
        ] {
            let expected = expected.map(|it| format!("{:?}", it.to_string())).join(" | ");
            assert_eq!(rows(&engine, sql).await, [expected], "{scan}: {sql}");
        }
    }
}

const NOT_A_NUMBER: &str = "1,7.0\n2,-NaN\n3,8.0\n4,NaN\n5,-nan\n6,-inf\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_nan_of_a_file_keeps_its_sign() {
    let store = Store::start().await;
    store.put("nan/a.csv", NOT_A_NUMBER);
    let f: ArrayRef = Arc::new(Float64Array::from(vec![
        7.0,
        -f64::NAN,
        8.0,
        f64::NAN,
        -f64::NAN,
        -f64::INFINITY,
    ]));
    let k: ArrayRef = Arc::new(Int64Array::from_iter_values(1..7));
    let batch = RecordBatch::try_from_iter([("k", k), ("f", f)]).unwrap();
    let mut object = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut object, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    store.put("nan/a.parquet", object);
    for format in ["CSV", "PARQUET"] {
        let options = if format == "CSV" { "OPTIONS ('format.has_header' 'false')" } else { "" };
        let name = format.to_lowercase();
        for scan in [Scan::Select, Scan::Auto] {
            let engine = store.engine(scan).await;
            let ddl = format!(
                "CREATE EXTERNAL TABLE x (k BIGINT, f DOUBLE) STORED AS {format}
                     LOCATION 's3://{BUCKET}/nan/a.{name}' {options}"
            );
            rows(&engine, &ddl).await;
            for (condition, expected) in [
                ("f < 5", vec!["2", "5", "6"]),
                ("f >= 5", vec!["1", "3", "4"]),
                ("NOT f < 5", vec!["1", "3", "4"]),
                // A computed NaN has no sign.
                ("-f < 5", vec!["1", "3"]),
                ("f * 2 <= 14", vec!["1", "2", "5", "6"]),
                ("f = 7", vec!["1"]),
            ] {
                let sql = format!("SELECT k FROM x WHERE {condition}");
                let expected: Vec<_> = expected.iter().map(|k| format!("{k:?}")).collect();
                assert_eq!(rows(&engine, &sql).await, expected, "{scan}, {format}: {sql}");
                let sql = format!("SELECT count(*) FROM x WHERE {condition}");
                let count = [format!("\"{}\"", expected.len())];
                assert_eq!(rows(&engine, &sql).await, count, "{scan}, {format}: {sql}");
            }
            let sql = "SELECT count(*) FROM (SELECT k FROM x ORDER BY f LIMIT 2) WHERE k IN (2, 5)";
            assert_eq!(rows(&engine, sql).await, ["\"2\""], "{scan}, {format}: {sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_day_of_a_date_with_a_time_is_that_of_utc() {
    let store = Store::start().await;
    store.put("days/a.csv", "1,2020-01-01T23:00:00-05:00\n2,2020-01-02T00:30:00+01:00\n3,\n");
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        let ddl = format!(
            "CREATE EXTERNAL TABLE x (k BIGINT, t DATE) STORED AS CSV
                 LOCATION 's3://{BUCKET}/days/a.csv' OPTIONS ('format.has_header' 'false')"
        );
        rows(&engine, &ddl).await;
        let sql = "SELECT min(t), max(t) FROM x";
        assert_eq!(rows(&engine, sql).await, [r#""2020-01-01" | "2020-01-02""#], "{scan}");
        assert_eq!(engine.counted().fallbacks, 0, "{scan}");
    }
}
