//! Folders and files from several sources: names, headers, units and types that differ, and copies that could not be
//! read back.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, BinaryArray, DictionaryArray, FixedSizeBinaryArray, Float64Array,
    Int64Array, StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray,
};
use arrow::datatypes::{Int32Type, Int64Type};
use arrow::record_batch::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, try_rows};
use crate::untidy::SCANS;

fn parquet(columns: &[(&str, ArrayRef)]) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns.iter().cloned()).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// A COPY that could not be read back is refused before it writes, or its output is removed.
#[tokio::test(flavor = "multi_thread")]
async fn copies_that_could_not_be_read_back_are_refused() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    let pairs = "SELECT * FROM (VALUES (1, 10), (2, 20)) t(a, b)";
    for format in ["CSV", "JSON", "PARQUET", "ARROW"] {
        let place = format!("s3://{BUCKET}/{format}/");
        let copy = |rows: &str, more: &str| {
            format!("COPY ({rows}) TO '{place}' STORED AS {format} {more}")
        };
        if format != "ARROW" {
            rows(&engine, &copy(pairs, "PARTITIONED BY (a)")).await;
        }
        for by in ["(a, b)", "(b, a) OPTIONS (overwrite true)"] {
            let refused = try_rows(&engine, &copy(pairs, &format!("PARTITIONED BY {by}"))).await;
            says(refused, &["all columns are those that partition the objects"]);
        }
        if format != "ARROW" {
            let count = format!("SELECT count(*), sum(a), sum(b) FROM '{place}'");
            assert_eq!(rows(&engine, &count).await, [r#""2" | "3" | "30""#], "{format}");
        }
        let join = format!("SELECT * FROM ({pairs}) x JOIN ({pairs}) y ON x.a = y.a");
        let refused = try_rows(&engine, &copy(&join, "OPTIONS (overwrite true)")).await;
        says(refused, &["two columns", "called `a`"]);
        if format != "ARROW" {
            let using =
                format!("SELECT x.a, x.b, y.b AS c FROM ({pairs}) x JOIN ({pairs}) y USING (a)");
            rows(&engine, &copy(&using, "OPTIONS (overwrite true)")).await;
        }
    }
}

/// Folders named by bytes are in hexadecimal, so that different values have different folders.
#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_name_folders_are_in_hexadecimal() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    let copy = format!(
        "COPY (SELECT * FROM (VALUES (1, x'00ff'), (2, x'ff01'), (3, x'616263'), (4, NULL)) t(id, b)) TO \
         's3://{BUCKET}/hex/' STORED AS PARQUET PARTITIONED BY (b)"
    );
    rows(&engine, &copy).await;
    let sql = format!("SELECT id, b FROM 's3://{BUCKET}/hex/'");
    let expected = [r#""1" | "00ff""#, r#""2" | "ff01""#, r#""3" | "616263""#, r#""4" | "NULL""#];
    assert_eq!(rows(&engine, &sql).await, expected);
}

/// Names may end in upper or lower case or in a space, and contain `=`.
#[tokio::test(flavor = "multi_thread")]
async fn all_files_of_a_folder_are_read_however_their_names_end() {
    let store = Store::start().await;
    let here = tempfile::tempdir().unwrap();
    let names = [
        "w/x.csv",
        "w/y.CSV",
        "w/sales=2025.csv",
        "w/z.csv ",
        "h/k=1/a.csv",
        "h/k=2/x=5.csv",
        "h/k=3/y.CSV",
        "w/other.txt",
        "w/deeper/x.csv",
    ];
    for name in names {
        store.put(name, "a\n1\n");
        let path = here.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "a\n1\n").unwrap();
    }
    for name in ["x.json", "Y.JSON", "q=1.json"] {
        store.put(&format!("j/{name}"), "{\"a\":1}\n");
    }
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for place in [format!("s3://{BUCKET}"), here.path().display().to_string()] {
            let read = format!("SELECT sum(a) FROM '{place}/w/'");
            assert_eq!(rows(&engine, &read).await, [r#""4""#], "{scan}, {place}");
            let read = format!("SELECT sum(a), sum(k) FROM '{place}/h/'");
            assert_eq!(rows(&engine, &read).await, [r#""3" | "6""#], "{scan}, {place}");
        }
        let read = format!("SELECT sum(a) FROM 's3://{BUCKET}/j/'");
        assert_eq!(rows(&engine, &read).await, [r#""3""#], "{scan}");
    }
}

/// The headers of all files that a query reads are compared.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_files_no_header_is_taken_for_another() {
    let store = Store::start().await;
    let here = tempfile::tempdir().unwrap();
    let put = |name: String, text: &str| {
        store.put(&format!("many/{name}"), text);
        std::fs::write(here.path().join(name), text).unwrap();
    };
    for number in 0..1030 {
        put(format!("f{number:04}.csv"), "id,v\n1,2\n");
    }
    put("f9999.csv".to_owned(), "v,id\n7,1029\n");
    let declared = format!(
        "CREATE EXTERNAL TABLE t (id BIGINT, v BIGINT) STORED AS CSV LOCATION 's3://{BUCKET}/many/' OPTIONS \
         ('format.has_header' 'true')"
    );
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        let read = |place: &str| format!("SELECT id, v FROM '{place}' WHERE v > 3");
        let found = try_rows(&engine, &read(&format!("s3://{BUCKET}/many/"))).await;
        says(found, &["f9999.csv", "v, id"]);
        rows(&engine, &declared).await;
        for sql in [
            "SELECT id, v FROM t WHERE v > 3",
            "SELECT sum(id) FROM t",
            "SELECT id, sum(v) FROM t GROUP BY id",
            "SELECT id, v FROM t ORDER BY v DESC LIMIT 3",
        ] {
            says(try_rows(&engine, sql).await, &["f9999.csv", "v, id"]);
        }
        let found = try_rows(&engine, &read(&format!("{}/", here.path().display()))).await;
        says(found, &["f9999.csv", "v, id"]);
    }
}

/// Times of day that follow dates in later rows are not dropped, and seconds may be missing.
#[tokio::test(flavor = "multi_thread")]
async fn late_times_of_day_are_read_or_refused() {
    let store = Store::start().await;
    let here = tempfile::tempdir().unwrap();
    for (name, usual, last) in [
        ("late", "2024-01-01", "2024-01-02 10:00:00"),
        ("midnight", "2024-01-01", "2024-01-02 00:00:00"),
        ("minutes", "2024-01-01 10:00:00", "2024-01-02 11:30"),
    ] {
        let text = format!("id,d\n{}7,{last}\n", format!("1,{usual}\n").repeat(1500));
        store.put(&format!("{name}.csv"), text.clone());
        std::fs::write(here.path().join(format!("{name}.csv")), text).unwrap();
    }
    for scan in SCANS {
        let engine = store.engine(scan).await;
        rows(&engine, "SET datafusion.optimizer.repartition_file_min_size = 10000").await;
        for place in [format!("s3://{BUCKET}"), here.path().display().to_string()] {
            let newest = |name: &str| format!("SELECT max(d), count(d) FROM '{place}/{name}.csv'");
            for sql in [newest("late"), format!("SELECT * FROM '{place}/late.csv'")] {
                let found = try_rows(&engine, &sql).await;
                says(
                    found,
                    &["2024-01-02 10:00:00", "has a time of day", "column `d`", "TIMESTAMP"],
                );
            }
            let expected = [r#""2024-01-02" | "1501""#];
            assert_eq!(rows(&engine, &newest("midnight")).await, expected, "{scan}, {place}");
            let expected = [r#""2024-01-02T11:30:00" | "1501""#];
            assert_eq!(rows(&engine, &newest("minutes")).await, expected, "{scan}, {place}");
            let typed = format!(
                "SELECT max(d) FROM read_csv('{place}/late.csv', types => {{'d': 'TIMESTAMP'}})"
            );
            assert_eq!(
                rows(&engine, &typed).await,
                [r#""2024-01-02T10:00:00""#],
                "{scan}, {place}"
            );
        }
    }
}

/// JSON may begin with a byte order mark.
#[tokio::test(flavor = "multi_thread")]
async fn a_byte_order_mark_is_no_part_of_json() {
    let store = Store::start().await;
    let here = tempfile::tempdir().unwrap();
    let lines = "\u{feff}{\"a\":1,\"s\":\"x\"}\n{\"a\":2,\"s\":\"\u{feff}y\"}\n";
    let array = "\u{feff}[{\"a\":1,\"s\":\"x\"},\n{\"a\":2,\"s\":\"\u{feff}y\"}]\n";
    for (name, text) in [("lines.json", lines), ("array.json", array)] {
        store.put(name, text);
        std::fs::write(here.path().join(name), text).unwrap();
    }
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for place in [format!("s3://{BUCKET}"), here.path().display().to_string()] {
            for name in ["lines.json", "array.json"] {
                let sql = format!("SELECT sum(a), max(length(s)), count(*) FROM '{place}/{name}'");
                let expected = [r#""3" | "2" | "2""#];
                assert_eq!(rows(&engine, &sql).await, expected, "{scan}, {place}, {name}");
                let sql = format!("SELECT s FROM '{place}/{name}' WHERE a = 1");
                assert_eq!(rows(&engine, &sql).await, [r#""x""#], "{scan}, {place}, {name}");
            }
        }
    }
}

/// If the files of a folder have different types, the values of each file are kept.
#[tokio::test(flavor = "multi_thread")]
async fn types_that_differ_among_files_have_one_together() {
    let store = Store::start().await;
    store.put("time/a.csv", "id,ts\n1,2025-01-01T10:00:00\n");
    store.put("time/b.csv", "id,ts\n2,2025-01-01T10:00:00.123\n");
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1]));
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![2001]));
    store.put("units/a.parquet", parquet(&[("ts", micros)]));
    store.put("units/b.parquet", parquet(&[("ts", nanos)]));
    let category: DictionaryArray<Int32Type> = ["x", "y", "x"].into_iter().collect();
    store.put("category/a.parquet", parquet(&[("c", Arc::new(category))]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["z"]));
    store.put("category/b.parquet", parquet(&[("c", text)]));
    let whole: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let real: ArrayRef = Arc::new(Float64Array::from(vec![1.5]));
    store.put("numbers/a.parquet", parquet(&[("n", whole)]));
    store.put("numbers/b.parquet", parquet(&[("n", real)]));
    store.put("json/a.json", "{\"n\":1}\n");
    store.put("json/b.json", "{\"n\":1.5}\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for (sql, expected) in [
            ("ts FROM 'time/'", vec!["2025-01-01T10:00:00", "2025-01-01T10:00:00.123"]),
            ("ts FROM 'time/' WHERE ts > '2025-01-01T10:00:00'", vec!["2025-01-01T10:00:00.123"]),
            (
                "ts FROM 'units/'",
                vec!["1970-01-01T00:00:00.000001", "1970-01-01T00:00:00.000002001"],
            ),
            ("c FROM 'category/'", vec!["x", "x", "y", "z"]),
            ("c FROM 'category/' WHERE c > 'x'", vec!["y", "z"]),
            ("n FROM 'numbers/'", vec!["1.0", "1.5"]),
            ("n FROM 'numbers/' WHERE n < 1.2", vec!["1.0"]),
            ("n FROM 'json/'", vec!["1.0", "1.5"]),
            ("n FROM 'json/' WHERE n > 1", vec!["1.5"]),
        ] {
            let sql = format!("SELECT {}", sql.replace("FROM '", &format!("FROM 's3://{BUCKET}/")));
            let expected: Vec<String> = expected.iter().map(|it| format!("\"{it}\"")).collect();
            assert_eq!(rows(&engine, &sql).await, expected, "{scan}: {sql}");
        }
    }
}

/// Fractions of a second after the sample are kept, also by conditions.
#[tokio::test(flavor = "multi_thread")]
async fn late_fractions_of_seconds_are_kept() {
    let store = Store::start().await;
    let mut text = "id,ts\n".to_owned();
    for _ in 0..1500 {
        writeln!(text, "1,2025-01-01T10:00:00").unwrap();
    }
    text += "3,2025-01-01T10:00:00.75\n";
    store.put("late.csv", text);
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let place = format!("'s3://{BUCKET}/late.csv'");
        let sql = format!("SELECT max(ts), count(DISTINCT ts) FROM {place}");
        assert_eq!(rows(&engine, &sql).await, [r#""2025-01-01T10:00:00.750" | "2""#], "{scan}");
        let sql = format!("SELECT id FROM {place} WHERE ts > '2025-01-01T10:00:00'");
        assert_eq!(rows(&engine, &sql).await, [r#""3""#], "{scan}");
    }
}

/// Errors in one file of a folder name this file.
#[tokio::test(flavor = "multi_thread")]
async fn faults_among_files_name_the_file_and_the_way_out() {
    let store = Store::start().await;
    store.put("json/a.json", "{\"a\":1}\n");
    store.put("json/b.json", "[{\"a\":2},{\"a\":3}]\n");
    store.put("report.csv", "Report of 2025\n\nName,Amount\na,1\n");
    store.put("twice/k=1/k=2/a.csv", "x\n1\n");
    store.put("point.csv", "id;v\n1;1.234,5\n");
    let whole: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    store.put("empty/a.parquet", parquet(&[("x", whole)]));
    store.put("empty/b.parquet", "");
    store.put("none/b.parquet", "");
    store.put("quotes.csv", "name;note\n'M';'a;b'\n'X';'y'\n");
    let engine = store.engine(Scan::Get).await;
    for (from, words) in [
        ("'json/'", &["`json/b.json` is one JSON array", "other files"][..]),
        ("'report.csv'", &["report.csv", "skip => ", "comment"]),
        ("'twice/'", &["the column `k` twice"]),
        (
            "read_csv('point.csv', delim => ';', decimal_separator => ',', types => {'v': 'DECIMAL(10,2)'})",
            &["'1.234,5' has a point", "point.csv"],
        ),
        ("'none/'", &["none/b.parquet", "0 bytes"]),
    ] {
        let from = from.replacen('\'', &format!("'s3://{BUCKET}/"), 1);
        says(try_rows(&engine, &format!("SELECT * FROM {from}")).await, words);
    }
    let read = |place: &str| format!("SELECT * FROM 's3://{BUCKET}/{place}'");
    assert_eq!(rows(&engine, &read("empty/")).await, [r#""1""#]);
    assert_eq!(rows(&engine, &read("quotes.csv")).await, [r#""M" | "a;b""#, r#""X" | "y""#]);
    let date = "SELECT arrow_cast('2025-01-01', 'Dictionary(Int32, Utf8)') + INTERVAL '1 day'";
    let error = try_rows(&engine, date).await.unwrap_err();
    assert!(error.hint().unwrap().contains("AS DATE"), "{:?}", error.hint());
    let copy = format!("COPY (SELECT named_struct('a', 1) AS s) TO 's3://{BUCKET}/s.csv'");
    let error = try_rows(&engine, &copy).await.unwrap_err();
    assert!(error.hint().unwrap().contains("JSON or Parquet"), "{:?}", error.hint());
}

/// Columns of binary values are summarized with the others.
#[tokio::test(flavor = "multi_thread")]
async fn bytes_are_summarized() {
    let store = Store::start().await;
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..], b"\x01"]));
    let fixed = FixedSizeBinaryArray::try_from_iter([[0xfe; 16], [0; 16]].into_iter()).unwrap();
    store.put("bytes.parquet", parquet(&[("b", bytes), ("u", Arc::new(fixed))]));
    let engine = store.engine(Scan::Get).await;
    let found = rows(&engine, &format!("SUMMARIZE 's3://{BUCKET}/bytes.parquet'")).await;
    assert!(found[0].contains(r#""00ff" | "01" | "2""#), "{found:?}");
    assert!(found[1].contains(&"fe".repeat(16)), "{found:?}");
}

/// A file whose name contains brackets is found by its name, locally as in a bucket.
#[tokio::test(flavor = "multi_thread")]
async fn brackets_in_the_name_of_a_file_are_no_pattern() {
    let store = Store::start().await;
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("br[a]c.csv"), "a\n1\n").unwrap();
    std::fs::write(here.path().join("brac.csv"), "a\n2\n").unwrap();
    let engine = store.engine(Scan::Get).await;
    let read = |name: &str| format!("SELECT a FROM '{}/{name}'", here.path().display());
    assert_eq!(rows(&engine, &read("br[a]c.csv")).await, [r#""1""#]);
    assert_eq!(rows(&engine, &read("br[ab]c.csv")).await, [r#""2""#]);
}

/// UUIDs are compared with text, and times of day with those of other units.
#[tokio::test(flavor = "multi_thread")]
async fn uuids_and_times_are_compared_with_what_is_written() {
    let store = Store::start().await;
    let ids = [5_u128.to_be_bytes(), 6_u128.to_be_bytes()];
    let ids = FixedSizeBinaryArray::try_from_iter(ids.into_iter()).unwrap();
    let times: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![37_800_000_000, 1]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let bytes = parquet(&[("i", numbers), ("u", Arc::new(ids)), ("t", times)]);
    store.put("ids.parquet", bytes);
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for (condition, expected) in [
            ("u = '00000000-0000-0000-0000-000000000005'", "1"),
            ("u <> '00000000000000000000000000000005'", "2"),
            ("u IN ('00000000-0000-0000-0000-000000000006')", "2"),
            ("t = TIME '10:30:00'", "1"),
            ("t < TIME '10:30:00'", "2"),
            ("t = '10:30:00'", "1"),
            ("CAST(u AS VARCHAR) = '00000000-0000-0000-0000-000000000005'", "1"),
            ("u::text LIKE '%-0000-%6'", "2"),
        ] {
            let sql = format!("SELECT i FROM 's3://{BUCKET}/ids.parquet' WHERE {condition}");
            assert_eq!(rows(&engine, &sql).await, [format!("\"{expected}\"")], "{scan}: {sql}");
        }
        let sql = format!("SELECT CAST(u AS VARCHAR) FROM 's3://{BUCKET}/ids.parquet' WHERE i > 1");
        let expected = [r#""00000000-0000-0000-0000-000000000006""#];
        assert_eq!(rows(&engine, &sql).await, expected, "{scan}");
    }
}

/// A local folder is read in the order of its file names.
#[tokio::test(flavor = "multi_thread")]
async fn folders_are_read_in_the_order_of_their_names() {
    let here = tempfile::tempdir().unwrap();
    for name in [7, 3, 9, 1, 4, 8, 2, 6, 5] {
        std::fs::write(here.path().join(format!("{name}.csv")), format!("a\n{name}\n")).unwrap();
    }
    let engine = Store::start().await.engine(Scan::Auto).await;
    let sql = format!("SELECT * FROM '{}/'", here.path().display());
    let batches = engine.collect(&sql).await.unwrap();
    let found: Vec<i64> = batches
        .iter()
        .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec())
        .collect();
    assert_eq!(found, (1..10).collect::<Vec<_>>());
}
