//! Folders with the side files of other programs, and empty files.

use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, try_rows};
use crate::untidy::SCANS;

fn create(name: &str, columns: &str, kind: &str, place: &str, more: &str) -> String {
    format!(
        "CREATE EXTERNAL TABLE {name} {columns} STORED AS {kind} {more} LOCATION 's3://{BUCKET}/{place}'"
    )
}

/// A folder has the same rows by its URL and as a table.
#[tokio::test(flavor = "multi_thread")]
async fn what_programs_leave_beside_the_data_is_not_read() {
    let store = Store::start().await;
    for folder in ["csv/", "parts/x=1/"] {
        store.put(&format!("{folder}a.csv"), "n,t\n1,x\n");
        store.put(&format!("{folder}_b.csv"), "n,t\n2,y\n");
        store.put(&format!("{folder}_SUCCESS"), "done, at last, now\n");
        store.put(&format!("{folder}.a.csv.crc"), b"crc\0\xff");
    }
    store.put("json/a.json", "{\"n\":3}\n");
    store.put("json/_committed_1", "{\"n\":[1]}\n");
    store.put("bare/part-0", "n\n7\n");
    store.put("bare/_SUCCESS", "a,b,c\n");
    store.put("bare/.part-0.crc", "a,b,c\n");
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("part-0.csv", "n\n8\n"), ("_SUCCESS", "a,b,c\n")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for sql in [
            create("csv", "", "CSV", "csv/", ""),
            create("declared", "(n BIGINT, t VARCHAR)", "CSV", "csv/", ""),
            create("parts", "", "CSV", "parts/", "PARTITIONED BY (x)"),
            create("json", "", "JSON", "json/", ""),
            create("bare", "", "CSV", "bare/", ""),
            format!(
                "CREATE EXTERNAL TABLE here STORED AS CSV LOCATION '{}/'",
                folder.path().display()
            ),
        ] {
            rows(&engine, &sql).await;
        }
        for (table, expected) in [
            ("csv", r#""3" | "2""#),
            ("declared", r#""3" | "2""#),
            ("parts", r#""3" | "2""#),
            ("json", r#""3" | "1""#),
            ("bare", r#""7" | "1""#),
            ("here", r#""8" | "1""#),
        ] {
            let found = rows(&engine, &format!("SELECT sum(n), count(*) FROM {table}")).await;
            assert_eq!(found, [expected], "{table}, {scan}");
        }
        let sql = format!("SELECT sum(n), count(*) FROM 's3://{BUCKET}/csv/'");
        let by_url = rows(&engine, &sql).await;
        assert_eq!(by_url, [r#""3" | "2""#], "{scan}");
        assert_eq!(engine.take_notes(), Vec::<String>::new());
    }
    let engine = store.engine(Scan::Get).await;
    rows(&engine, "SET datafusion.execution.collect_statistics = true").await;
    rows(&engine, &format!("COPY (SELECT 1 AS n) TO 's3://{BUCKET}/p/a.parquet'")).await;
    store.put("p/_metadata", "no Parquet at all");
    rows(&engine, &create("p", "", "PARQUET", "p/", "")).await;
    assert_eq!(rows(&engine, "SELECT count(*), sum(n) FROM p").await, [r#""1" | "1""#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_that_nothing_tells_are_asked_for() {
    let store = Store::start().await;
    store.put("other.csv", "n\n1\n");
    let engine = store.engine(Scan::Auto).await;
    for kind in ["CSV", "JSON", "PARQUET"] {
        let place = format!("s3://{BUCKET}/nothing/");
        says(
            try_rows(&engine, &create("t", "", kind, "nothing/", "")).await,
            &[&format!("there is no object at {place}"), "columns of table t", "TABLE t (…)"],
        );
        says(
            try_rows(&engine, &create("t", "", kind, "nothing", "")).await,
            &["there is no object at", "nothing"],
        );
    }
    rows(&engine, &create("later", "(n BIGINT)", "CSV", "nothing/", "")).await;
    assert_eq!(rows(&engine, "SELECT count(*) FROM later").await, [r#""0""#]);
    assert!(engine.take_notes()[0].contains("is empty until something is inserted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_folders_of_the_column() {
    let store = Store::start().await;
    store.put("flat/a.csv", "n\n1\n");
    store.put("deep/2020/a.csv", "n\n1\n");
    // DataFusion reads ten files for a schema.
    for file in 0..10 {
        store.put(&format!("mixed/x=1/{file}.csv"), "n\n1\n");
    }
    store.put("mixed/z.csv", "n\n2\n");
    let by = "PARTITIONED BY (x)";
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for place in ["flat/", "deep/"] {
            let said = format!("no object at s3://{BUCKET}/{place} is in a folder x=…/");
            let hint = format!("s3://{BUCKET}/{place}x=…/");
            for columns in ["", "(n BIGINT, x INT)"] {
                says(
                    try_rows(&engine, &create("t", columns, "CSV", place, by)).await,
                    &["table t is partitioned by x", &said, "a.csv", &hint],
                );
            }
        }
        let mixed = create("mixed", "(n BIGINT, x INT)", "CSV", "mixed/", by);
        rows(&engine, &mixed).await;
        let notes = engine.take_notes();
        assert!(notes.len() == 1 && notes[0].contains("`mixed/z.csv`"), "{notes:?}");
        let sum = rows(&engine, "SELECT x, sum(n) FROM mixed GROUP BY x").await;
        assert_eq!(sum, [r#""1" | "10""#], "{scan}");
        // The folder may be empty at first.
        rows(&engine, &create("none", "(n BIGINT, x INT)", "CSV", "none/", by)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_without_rows_are_noted() {
    let store = Store::start().await;
    store.put("bytes/none.csv", "");
    store.put("header/only.csv", "a,b\n");
    store.put("fine/one.csv", "a,b\n1,2\n");
    store.put("two/a.csv", "a,b\n");
    store.put("two/b.csv", "a,b\n3,4\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for (place, words) in [
            ("bytes/none.csv", &["has no bytes", "neither columns nor rows"][..]),
            ("bytes/", &["has no bytes"]),
            ("header/only.csv", &["`header/only.csv` has no rows", "(a, b)", "header => false"]),
            ("header/", &["`header/only.csv` has no rows"]),
            ("fine/one.csv", &[]),
            ("two/", &[]),
        ] {
            for sql in [
                format!("SELECT * FROM 's3://{BUCKET}/{place}'"),
                create(&place.replace(['/', '.'], "_"), "", "CSV", place, ""),
            ] {
                rows(&engine, &sql).await;
                let notes = engine.take_notes();
                assert_eq!(notes.len(), usize::from(!words.is_empty()), "{sql}: {notes:?}");
                assert!(words.iter().all(|word| notes[0].contains(word)), "{sql}: {notes:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_without_a_name_have_their_place() {
    let store = Store::start().await;
    store.put("index.csv", ",a\n0,x\n1,y\n");
    store.put("two.csv", "a,,b,\"\"\n1,2,x,4\n5,6,y,8\n");
    store.put("taken.csv", "column_2,,a\n1,2,3\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let index = format!("SELECT a FROM 's3://{BUCKET}/index.csv' WHERE column_1 = 1");
        assert_eq!(rows(&engine, &index).await, [r#""y""#], "{scan}");
        rows(&engine, &create("two", "", "CSV", "two.csv", "")).await;
        for from in ["two".to_owned(), format!("'s3://{BUCKET}/two.csv'")] {
            let some = format!("SELECT column_4, a FROM {from} WHERE column_2 > 3");
            assert_eq!(rows(&engine, &some).await, [r#""8" | "5""#], "{from}, {scan}");
            let sum = format!("SELECT sum(column_2), sum(column_4) FROM {from}");
            assert_eq!(rows(&engine, &sum).await, [r#""8" | "12""#], "{from}, {scan}");
        }
        let taken = format!("SELECT * FROM 's3://{BUCKET}/taken.csv'");
        let (found, said) = (rows(&engine, &taken).await, r#""1" | "2" | "3""#);
        assert_eq!(found, [said], "{scan}");
        let second = format!("SELECT column_2_1 FROM 's3://{BUCKET}/taken.csv'");
        assert_eq!(rows(&engine, &second).await, [r#""2""#], "{scan}");
        rows(&engine, "DROP TABLE two").await;
    }
}

/// Whole numbers in one file and decimals in the next form one column, as in DuckDB.
#[tokio::test(flavor = "multi_thread")]
async fn whole_numbers_and_others_are_one_column() {
    let store = Store::start().await;
    store.put("n/a.csv", "k,v\n1,10\n2,20\n");
    store.put("n/b.csv", "k,v\n3,0.5\n4,\n");
    store.put("n/c.csv", "k,v\n5,7\n");
    store.put("no/a.csv", "k,v\n1,10\n");
    store.put("no/b.csv", "k,v\n1,0.5\n");
    store.put("no/c.csv", "k,v\n1,x\n");
    let said = "column `v` is BIGINT in `n/a.csv` and DOUBLE in `n/b.csv`: it is read as DOUBLE, \
                which rounds whole numbers beyond 2^53";
    let mut answers = Vec::new();
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let sum = |from: &str| format!("SELECT sum(v), max(v), count(v), count(*) FROM {from}");
        let url = format!("'s3://{BUCKET}/n/'");
        let expected = [r#""37.5" | "20.0" | "4" | "5""#];
        assert_eq!(rows(&engine, &sum(&url)).await, expected, "{scan}");
        assert_eq!(engine.take_notes(), [said], "{scan}");
        rows(&engine, &create("n", "", "CSV", "n/", "")).await;
        assert_eq!(engine.take_notes(), [said], "{scan}");
        assert_eq!(rows(&engine, &sum("n")).await, expected, "{scan}");
        let sql =
            format!("SELECT k, v, v / 4, v = 10 FROM {url} WHERE v > 1 OR v IS NULL ORDER BY k");
        answers.push(rows(&engine, &sql).await);
        let conflict = format!("SELECT * FROM 's3://{BUCKET}/no/'");
        says(
            try_rows(&engine, &conflict).await,
            &["column `v` is DOUBLE in `no/b.csv` and VARCHAR in `no/c.csv`", "(v VARCHAR, …)"],
        );
    }
    assert_eq!(answers[0].len(), 4, "{answers:?}");
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

/// The compression in a name applies to written files as to read ones.
#[tokio::test(flavor = "multi_thread")]
async fn copies_are_written_as_their_names_say() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    let starts = |key: &str, bytes: &[u8]| {
        let written = std::fs::read(store.folder.path().join(BUCKET).join(key)).unwrap();
        assert!(written.starts_with(bytes), "{key}: {written:?}");
    };
    let gzip: &[u8] = b"\x1f\x8b";
    for (key, begins) in [
        ("w/a.csv.gz", gzip),
        ("w/b.json.gz", gzip),
        ("w/c.csv.zst", b"\x28\xb5\x2f\xfd"),
        ("w/d.ndjson.bz2", b"BZh"),
        ("w/e.CSV.XZ", b"\xfd7zXZ\0"),
        ("w/f.tsv", b"n\tt\n1\tx\n"),
    ] {
        let url = format!("s3://{BUCKET}/{key}");
        let two = "SELECT * FROM (VALUES (1, 'x'), (2, 'y')) AS v(n, t)";
        rows(&engine, &format!("COPY ({two}) TO '{url}'")).await;
        starts(key, begins);
        let read = rows(&engine, &format!("SELECT n, t FROM '{url}' ORDER BY n")).await;
        assert_eq!(read, [r#""1" | "x""#, r#""2" | "y""#], "{key}");
    }
    let plain = format!(
        "COPY (SELECT 1 AS n) TO 's3://{BUCKET}/w/g.csv.gz' OPTIONS ('format.compression' 'uncompressed')"
    );
    rows(&engine, &plain).await;
    starts("w/g.csv.gz", b"n\n1\n");
    let within = format!("COPY (SELECT 1 AS n) TO 's3://{BUCKET}/w/h.parquet.gz'");
    says(try_rows(&engine, &within).await, &["`.gz`", "Parquet is compressed within"]);
}
