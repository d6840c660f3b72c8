//! Folders of files in different notations, columns of different values, and the place of errors.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, try_rows};
use crate::untidy::SCANS;

fn gzip(text: &str) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A name that occurs twice in a header gets a number, as in DuckDB.
#[tokio::test(flavor = "multi_thread")]
async fn columns_that_a_header_calls_alike_have_numbers() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,a,b\n1,2,x\n4,5,y\n");
    store.put("t/b.csv", "a,a,b\n7,8,z\n");
    // COPY of such a table writes this header.
    store.put("t/c.csv", "a,a_1,b\n9,0,z\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        rows(
            &engine,
            &format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 's3://{BUCKET}/t/'"),
        )
        .await;
        for from in ["t".to_owned(), format!("'s3://{BUCKET}/t/'")] {
            let some = format!("SELECT a, a_1, b FROM {from} WHERE a_1 > 5");
            assert_eq!(rows(&engine, &some).await, [r#""7" | "8" | "z""#], "{from}, {scan}");
            let sum = format!("SELECT sum(a), sum(a_1) FROM {from}");
            assert_eq!(rows(&engine, &sum).await, [r#""21" | "15""#], "{from}, {scan}");
        }
    }
    let engine = store.engine(Scan::Auto).await;
    rows(&engine, &format!("COPY (FROM 's3://{BUCKET}/t/a.csv') TO 's3://{BUCKET}/o.csv'")).await;
    let copied = rows(&engine, &format!("SELECT a, a_1 FROM 's3://{BUCKET}/o.csv'")).await;
    assert_eq!(copied, [r#""1" | "2""#, r#""4" | "5""#]);
}

/// `.csv` and `.csv.gz` files form one table.
#[tokio::test(flavor = "multi_thread")]
async fn compressed_files_and_others_are_one_table() {
    let store = Store::start().await;
    let here = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &[u8]| {
        store.put(name, text);
        write(here.path(), name, text);
    };
    put("t/x.csv", b"a,b\n1,2\n");
    put("t/y.csv.gz", &gzip("a,b\n3,0.5\n"));
    put("t/readme.txt", b"no data");
    put("j/x.json", b"{\"a\":1}\n");
    put("j/y.ndjson.gz", &gzip("{\"a\":2,\"b\":\"x\"}\n"));
    put("order/x.csv", b"a,b\n1,2\n");
    put("order/y.csv.gz", &gzip("b,a\n3,0.5\n"));
    for scan in SCANS {
        for place in [format!("s3://{BUCKET}"), here.path().display().to_string()] {
            let engine = store.engine(scan).await;
            for from in [
                format!("'{place}/t/'"),
                format!("'{place}/t/*.csv*'"),
                format!("read_csv('{place}/t/')"),
            ] {
                let all = format!("SELECT a, b FROM {from} ORDER BY a");
                let expected = [r#""1" | "2.0""#, r#""3" | "0.5""#];
                assert_eq!(rows(&engine, &all).await, expected, "{from}, {scan}");
                let some = format!("SELECT count(*), sum(b) FROM {from} WHERE b < 1");
                assert_eq!(rows(&engine, &some).await, [r#""1" | "0.5""#], "{from}, {scan}");
            }
            let json = format!("SELECT a, b FROM '{place}/j/' ORDER BY a");
            assert_eq!(rows(&engine, &json).await, [r#""1" | "NULL""#, r#""2" | "x""#]);
            says(
                try_rows(&engine, &format!("FROM '{place}/order/'")).await,
                &["y.csv.gz` has its columns in another order (b, a)", "x.csv` (a, b)"],
            );
            let create = format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{place}/order/'");
            says(try_rows(&engine, &create).await, &[".csv, .csv.gz", "order/*.csv'", "VIEW"]);
        }
    }
}

/// Numbers and texts of JSON together are text, in one file and in several; lists and others are refused.
#[tokio::test(flavor = "multi_thread")]
async fn values_of_json_of_several_types_are_text() {
    let store = Store::start().await;
    store.put("one.json", "{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":2.50}\n{\"a\":true}\n{\"a\":null}\n");
    store.put("array.json", "[{\"a\":1},\n{\"a\":\"x\"},{\"a\":2.50},{\"a\":true},{\"a\":null}]");
    store.put("two/a.json", "{\"a\":1}\n{\"a\":2.50}\n");
    store.put("two/b.json", "{\"a\":\"x\"}\n{\"a\":true}\n{\"a\":null}\n");
    store.put("in.json", "{\"o\":{\"a\":1}}\n{\"o\":{\"a\":\"x\"}}\n");
    store.put("list.json", "{\"a\":1}\n{\"a\":[1,2]}\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for place in ["one.json", "array.json", "two/"] {
            let from = format!("'s3://{BUCKET}/{place}'");
            let all = rows(&engine, &format!("SELECT a FROM {from}")).await;
            let expected = [r#""1""#, r#""2.50""#, r#""NULL""#, r#""true""#, r#""x""#];
            assert_eq!(all, expected, "{place}, {scan}");
            for (condition, count) in [("a = '2.50'", 1), ("a > '1'", 3), ("a IS NULL", 1)] {
                let some = format!("SELECT count(*) FROM {from} WHERE {condition}");
                let expected = format!("\"{count}\"");
                assert_eq!(rows(&engine, &some).await, [expected], "{place}, {condition}, {scan}");
            }
        }
        let inner = format!("SELECT o['a'] FROM 's3://{BUCKET}/in.json'");
        assert_eq!(rows(&engine, &inner).await, [r#""1""#, r#""x""#], "{scan}");
        says(
            try_rows(&engine, &format!("SELECT a FROM 's3://{BUCKET}/list.json'")).await,
            &[
                "column `a` of `list.json` is a number in record 1 and an array in record 2",
                "Declare the other columns",
            ],
        );
    }
}

/// Records after the sample that do not fit its columns are errors that name the line.
#[tokio::test(flavor = "multi_thread")]
async fn damage_that_comes_late_is_on_a_line() {
    let store = Store::start().await;
    let here = tempfile::tempdir().unwrap();
    let late = |at: usize, line: &str| {
        let lines =
            (0..5000).map(|n| if n == at { line.to_owned() } else { format!("{{\"a\":{n}}}") });
        lines.map(|line| line + "\n").collect::<String>()
    };
    let array = |at: usize, line: &str| {
        let all = late(at, line);
        format!("[{}]\n", all.trim_end().replace('\n', ",\n"))
    };
    for (name, text, line) in [
        ("value.json", late(3999, "{\"a\":\"zz\"}"), "on line 4000"),
        ("list.json", late(4999, "{\"a\":[1]}"), "on line 5000"),
        ("cut.json", late(1999, "{\"a\":"), "on line 2000"),
        ("array.json", array(2999, "{\"a\":\"zz\"}"), "on line 3000"),
    ] {
        store.put(name, &text);
        store.put(&format!("{name}.gz"), gzip(&text));
        write(here.path(), name, &text);
        for place in [
            format!("s3://{BUCKET}/{name}"),
            format!("s3://{BUCKET}/{name}.gz"),
            here.path().join(name).display().to_string(),
        ] {
            let engine = store.engine(Scan::Get).await;
            let refused = try_rows(&engine, &format!("SELECT sum(a) FROM '{place}'")).await;
            says(refused, &[line, name]);
        }
    }
}

/// JSON written by COPY has the same columns when it is read.
#[tokio::test(flavor = "multi_thread")]
async fn json_has_columns_without_a_value() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    for place in ["o.json", "o/"] {
        let query = "SELECT 1 AS a, CAST(NULL AS INT) AS b, 'x' AS c";
        let url = format!("'s3://{BUCKET}/{place}'");
        rows(&engine, &format!("COPY ({query}) TO {url} STORED AS JSON")).await;
        let back = rows(&engine, &format!("SELECT a, b, c FROM {url}")).await;
        assert_eq!(back, [r#""1" | "NULL" | "x""#], "{place}");
    }
}

/// Appended rows have the columns of the existing files.
#[tokio::test(flavor = "multi_thread")]
async fn appended_rows_have_the_columns_that_are_there() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    for format in ["CSV", "PARQUET"] {
        let copy = |query: &str, options: &str| {
            format!(
                "COPY (SELECT {query}) TO 's3://{BUCKET}/{format}/' STORED AS {format} {options}"
            )
        };
        let append = "OPTIONS (append true)";
        rows(&engine, &copy("1 AS a, 'x' AS b", append)).await;
        rows(&engine, &copy("'y' AS b, 2 AS a", append)).await;
        for other in ["'z' AS b, 3 AS c", "3 AS a", "3 AS a, 'z' AS b, 4 AS c"] {
            says(
                try_rows(&engine, &copy(other, append)).await,
                &["has the columns a, b", "COPY would append", "UNION ALL BY NAME"],
            );
        }
        let all = rows(&engine, &format!("SELECT a, b FROM 's3://{BUCKET}/{format}/'")).await;
        assert_eq!(all, [r#""1" | "x""#, r#""2" | "y""#], "{format}");
    }
    let parts = |query: &str| {
        format!(
            "COPY (SELECT {query}) TO 's3://{BUCKET}/parts/' STORED AS CSV PARTITIONED BY (k) OPTIONS (append true)"
        )
    };
    rows(&engine, &parts("1 AS a, 'x' AS b, 7 AS k")).await;
    rows(&engine, &parts("'y' AS b, 8 AS k, 2 AS a")).await;
    let all = rows(&engine, &format!("SELECT a, b, k FROM 's3://{BUCKET}/parts/'")).await;
    assert_eq!(all, [r#""1" | "x" | "7""#, r#""2" | "y" | "8""#]);
}

/// Digits are dates if a call gives the format.
#[tokio::test(flavor = "multi_thread")]
async fn digits_are_dates_by_a_format() {
    let store = Store::start().await;
    store.put("d.csv", "d,n,t\n20260131,5,20260131235959\n20260201,20260202,20260201000000\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let read = format!(
            "read_csv('s3://{BUCKET}/d.csv', dateformat => '%Y%m%d', timestampformat => '%Y%m%d%H%M%S')"
        );
        let types = "arrow_typeof(d), arrow_typeof(n), t > TIMESTAMP '2026-02-01'";
        let some = format!("SELECT {types}, d FROM {read} WHERE d < '2026-02-01'");
        let expected = r#""Date32" | "Int64" | "false" | "2026-01-31""#;
        assert_eq!(rows(&engine, &some).await, [expected], "{scan}");
        let plain = format!("SELECT sum(d) FROM 's3://{BUCKET}/d.csv'");
        assert_eq!(rows(&engine, &plain).await, [r#""40520332""#], "{scan}");
    }
}

/// Excel writes the first line `sep=;`, which names the separator.
#[tokio::test(flavor = "multi_thread")]
async fn the_separator_that_the_first_line_names_is_taken() {
    let store = Store::start().await;
    let text = "\u{feff}sep=;\r\na;b\r\n1;x\r\n2;y\r\n";
    store.put("e.csv", text);
    store.put("e.csv.gz", gzip(text));
    store.put("folder/a.csv", "sep=;\na;b\n1;x\n");
    store.put("folder/b.csv", "sep=;\na;b\n2;y\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for place in ["e.csv", "e.csv.gz", "folder/"] {
            for from in [
                format!("'s3://{BUCKET}/{place}'"),
                format!("read_csv('s3://{BUCKET}/{place}', delim => ';')"),
            ] {
                let all = rows(&engine, &format!("SELECT a, b FROM {from} WHERE a > 0")).await;
                assert_eq!(all, [r#""1" | "x""#, r#""2" | "y""#], "{from}, {scan}");
            }
        }
    }
}

/// A folder is a table without a slash at its end, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_needs_no_slash() {
    let store = Store::start().await;
    store.put("t/a.csv", "a\n1\n");
    store.put("t/b.csv", "a\n2\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for from in [format!("'s3://{BUCKET}/t'"), format!("read_csv('s3://{BUCKET}/t')")] {
            let sum = format!("SELECT sum(a) FROM {from}");
            assert_eq!(rows(&engine, &sum).await, [r#""3""#], "{from}, {scan}");
        }
    }
}
