//! Untidy files of other programs are read right, or refused in one sentence.

use bytes::Bytes;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use futures::{StreamExt, TryStreamExt, stream};
use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, stock, stock_rows, try_rows};

pub(crate) const SCANS: [Scan; 3] = [Scan::Get, Scan::Select, Scan::Auto];

/// Returns one member of a compressed object.
pub(crate) async fn member(compression: FileCompressionType, text: &str) -> Vec<u8> {
    let text = stream::iter([Ok(Bytes::from(text.to_owned()))]).boxed();
    let parts = compression.convert_to_compress_stream(text).unwrap();
    parts.try_collect::<Vec<Bytes>>().await.unwrap().concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_members_of_compressed_objects_are_read() {
    let store = Store::start().await;
    for (end, compression) in [
        ("gz", FileCompressionType::GZIP),
        ("bz2", FileCompressionType::BZIP2),
        ("xz", FileCompressionType::XZ),
        ("zst", FileCompressionType::ZSTD),
    ] {
        let (csv, json) = (format!("{end}/t.csv.{end}"), format!("{end}/t.json.{end}"));
        let all = |texts: [&'static str; 3]| async move {
            let mut all = Vec::new();
            for text in texts {
                all.extend(member(compression, text).await);
            }
            all
        };
        // The first member has only the header, which does not determine the types.
        store.put(&csv, all(["a,b\n", "1,x\n2,y\n", "3,z\n"]).await);
        store.put(&json, all(["{\"a\":1}\n{\"a\":2", "}\n", "{\"a\":3}\n"]).await);
        for scan in SCANS {
            let engine = store.engine(scan).await;
            for (key, kind) in [(&csv, "CSV"), (&json, "JSON")] {
                let sum = |table: &str| format!("SELECT sum(a), count(*) FROM {table}");
                let url = format!("'s3://{BUCKET}/{key}'");
                assert_eq!(rows(&engine, &sum(&url)).await, ["\"6\" | \"3\""], "{key}, {scan}");
                rows(
                    &engine,
                    &format!("CREATE EXTERNAL TABLE {kind} STORED AS {kind} LOCATION {url}"),
                )
                .await;
                assert_eq!(rows(&engine, &sum(kind)).await, ["\"6\" | \"3\""], "{key}, {scan}");
            }
        }
    }
    let engine = store.engine(Scan::Auto).await;
    store.put("bad.csv.zst", "a,b\n1,2\n");
    let bad = try_rows(&engine, &format!("SELECT * FROM 's3://{BUCKET}/bad.csv.zst'")).await;
    says(bad, &["bad.csv.zst", "cannot be decompressed", "compression"]);
}

/// Returns a table with line breaks in values after the sample, long enough to be read in parts.
fn with_late_line_ends() -> String {
    let mut text = "id,text\n".to_owned();
    for id in 0..60_000 {
        let value = match id {
            0..1000 => "plain",
            _ => "\"first\nsecond, third\nfourth\"",
        };
        text.push_str(&format!("{id},{value}\n"));
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn line_ends_in_values_that_come_late_are_read_or_refused() {
    let store = Store::start().await;
    store.put("late.csv", with_late_line_ends());
    let url = format!("s3://{BUCKET}/late.csv");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        rows(&engine, "SET datafusion.optimizer.repartition_file_min_size = 1000").await;
        rows(&engine, "SET sluice.range_bytes = 1000").await;
        rows(&engine, "SET datafusion.execution.target_partitions = 7").await;
        for query in ["count(*), sum(id)", "count(*), max(text)", "count(*), min(length(text))"] {
            let read = format!("SELECT {query} FROM read_csv('{url}', newlines_in_values => true)");
            let expected = rows(&engine, &read).await;
            match try_rows(&engine, &format!("SELECT {query} FROM '{url}'")).await {
                Ok(found) => assert_eq!(found, expected, "{query}, {scan}"),
                refused => says(refused, &["newlines_in_values", "late.csv"]),
            }
        }
    }
}

/// Local files are read in parts, too.
#[tokio::test(flavor = "multi_thread")]
async fn local_files_are_not_cut_within_values() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("late.csv");
    std::fs::write(&file, with_late_line_ends()).unwrap();
    rows(&engine, "SET datafusion.optimizer.repartition_file_min_size = 1000").await;
    let count = |from: &str| format!("SELECT count(*), max(text) FROM {from}");
    let refused = try_rows(&engine, &count(&format!("'{}'", file.display()))).await;
    says(refused, &["newlines_in_values", "late.csv"]);
    let read = count(&format!("read_csv('{}', newlines_in_values => true)", file.display()));
    assert_eq!(rows(&engine, &read).await.len(), 1);
}

/// The rest of the file would be one value, whose rows are lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_quote_that_is_never_closed_is_an_error() {
    let store = Store::start().await;
    let plain =
        |ids: std::ops::Range<u32>| ids.map(|id| format!("{id},text {id}\n")).collect::<String>();
    let open = format!("id,text\n{}20001,\"open\n{}", plain(1..20_001), plain(20_002..30_001));
    let packed = member(FileCompressionType::GZIP, &open).await;
    store.put("open.csv.gz", packed.clone());
    store.put("few.csv", "a,b\n1,\"x\n2,y\n3,z\n");
    store.put("last.csv", "a,b\n1,x\n2,\"\"\"");
    store.put("open.csv", open.clone());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("open.csv"), open).unwrap();
    std::fs::write(folder.path().join("open.csv.gz"), packed).unwrap();
    let here = |name: &str| format!("'{}'", folder.path().join(name).display());
    let there = |name: &str| format!("'s3://{BUCKET}/{name}'");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for (from, place) in [
            (here("open.csv"), "at line 20002 of"),
            (here("open.csv.gz"), "at line 20002 of"),
            (there("open.csv"), "at line 20002 of s3://"),
            (there("open.csv.gz"), "at line 20002 of s3://"),
            (there("few.csv"), "at line 2 of s3://"),
            (there("last.csv"), "at line 3 of s3://"),
        ] {
            for columns in ["*", "count(*)"] {
                let read = try_rows(&engine, &format!("SELECT {columns} FROM {from}")).await;
                says(read, &["a quote is never closed", place, "quote => "]);
            }
        }
        let other = there("few.csv");
        let other = format!("SELECT count(*), max(b) FROM read_csv({other}, quote => '~')");
        assert_eq!(rows(&engine, &other).await, ["\"3\" | \"z\""], "{scan}");
        rows(&engine, "SET datafusion.optimizer.repartition_file_min_size = 1000").await;
        rows(&engine, "SET sluice.range_bytes = 1000").await;
        for from in [here("open.csv"), there("open.csv")] {
            let read = try_rows(&engine, &format!("SELECT count(*), max(text) FROM {from}")).await;
            says(read, &["a quote is never closed"]);
        }
    }
}

/// Quotes within fields, and pairs of quotes in each line, are no line breaks in values.
#[tokio::test(flavor = "multi_thread")]
async fn quotes_without_line_ends_are_no_reason_to_refuse() {
    let store = Store::start().await;
    let record = "1,5\" pipe\n2,\"a \"\"b\"\", c\"\n3,\"\"\n";
    let records = 30_000;
    store.put("quotes.csv", format!("id,text\n{}", record.repeat(records / 3)));
    for scan in SCANS {
        let engine = store.engine(scan).await;
        rows(&engine, "SET datafusion.optimizer.repartition_file_min_size = 1000").await;
        rows(&engine, "SET sluice.range_bytes = 1000").await;
        let counted = format!("SELECT count(*), sum(id) FROM 's3://{BUCKET}/quotes.csv'");
        let expected = format!("\"{records}\" | \"{}\"", 2 * records);
        assert_eq!(rows(&engine, &counted).await, [expected], "{scan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_one_table_have_one_header() {
    let store = Store::start().await;
    store.put("order/a.csv", "a,b\n1,x\n2,y\n");
    store.put("order/b.csv", "b,a\nz,3\n");
    store.put("more/a.csv", "a,b\n1,x\n");
    store.put("more/b.csv", "a,b,c\n2,y,9\n");
    store.put("alike/a.csv", "a,b\n1,x\n");
    store.put("alike/b.csv", "a,\"b\"\n2,y\n");
    store.put("twice.csv", "a,b,a\n1,x,2\n");
    // Only the first file determines the types.
    store.put("late/a.csv", format!("a,b\n{}", "1,2\n".repeat(2000)));
    store.put("late/b.csv", "b,a\n2,1\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for (place, words) in [
            (
                "order/",
                &["order/b.csv", "another order (b, a)", "order/a.csv", "union_by_name => true"],
            ),
            ("more/", &["more/b.csv", "other columns (a, b, c)", "more/a.csv", "(a, b)"]),
            ("late/", &["late/b.csv", "another order (b, a)", "late/a.csv", "(a, b)"]),
        ] {
            let url = format!("s3://{BUCKET}/{place}");
            says(try_rows(&engine, &format!("SELECT * FROM '{url}'")).await, words);
            let create = format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{url}'");
            says(try_rows(&engine, &create).await, words);
        }
        let sum = format!("SELECT sum(a), max(b) FROM 's3://{BUCKET}/alike/'");
        assert_eq!(rows(&engine, &sum).await, ["\"3\" | \"y\""]);
        // A second sample of the same objects sends no request.
        let again = engine.plan(&sum).await.unwrap().counted().get;
        let engine = store.engine(scan).await;
        let first = engine.plan(&sum).await.unwrap().counted().get;
        assert_eq!(again + 1, first, "{scan}");
        let declared = format!(
            "CREATE EXTERNAL TABLE d (a INT, b TEXT, c INT) STORED AS CSV LOCATION \
             's3://{BUCKET}/twice.csv' OPTIONS ('format.has_header' 'true')"
        );
        rows(&engine, &declared).await;
        assert_eq!(rows(&engine, "SELECT c, b FROM d").await, ["\"2\" | \"x\""]);
    }
}

/// If the header has a declared column at another position, the table is refused, because columns are read by
/// position.
#[tokio::test(flavor = "multi_thread")]
async fn declared_columns_are_where_the_header_has_them() {
    let store = Store::start().await;
    store.put("order/a.csv", "a,b\n1,2\n");
    store.put("order/b.csv", "b,a\n4,3\n");
    store.put("some.csv", "a,x,B\n1,9,2\n");
    store.put("none.csv", "1,2\n3,4\n");
    store.put("parts/p=1/a.csv", "a,b\n1,2\n");
    let engine = store.engine(Scan::Auto).await;
    let create = |name: &str, columns: &str, place: &str, more: &str| {
        format!(
            "CREATE EXTERNAL TABLE {name} ({columns}) STORED AS CSV {more} LOCATION 's3://{BUCKET}/{place}'"
        )
    };
    let (two, words) = ("a INT, b INT", "by their places");
    let swapped = try_rows(&engine, &create("t", two, "order/", "")).await;
    says(swapped, &["order/b.csv", "`a` in place 2 (b, a)", "declares it in place 1", words]);
    let some = try_rows(&engine, &create("t", two, "some.csv", "")).await;
    says(some, &["some.csv", "`b` in place 3 (a, x, B)", "declares it in place 2", words]);
    for (name, columns, place, more) in [
        ("ordered", "b INT, a INT", "order/b.csv", ""),
        ("renamed", "c INT, d INT", "order/b.csv", ""),
        ("parts", "p INT, a INT, b INT", "parts/", "PARTITIONED BY (p)"),
    ] {
        rows(&engine, &create(name, columns, place, more)).await;
    }
    assert_eq!(rows(&engine, "SELECT a, b FROM ordered").await, ["\"3\" | \"4\""]);
    let options = "OPTIONS ('format.has_header' 'false')";
    rows(&engine, &(create("none", two, "none.csv", "") + options)).await;
    assert_eq!(rows(&engine, "SELECT sum(a), sum(b) FROM none").await, ["\"4\" | \"6\""]);
}

/// Records with more or fewer fields than the table has columns are refused, however the table is read.
#[tokio::test(flavor = "multi_thread")]
async fn ragged_records_are_refused_unless_that_is_said() {
    let store = Store::start().await;
    let good = "1,2\n".repeat(1500);
    store.put("short.csv", format!("a,b\n{good}3\n{good}"));
    store.put("long.csv", format!("a,b\n{good}3,4,5\n{good}"));
    store.put("early.csv", "a,b\n1,2\n3\n4,5,6\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for file in ["short", "long"] {
            let declared = |name: &str, options: &str| {
                format!(
                    "CREATE EXTERNAL TABLE {name} (a INT, b INT) STORED AS CSV LOCATION \
                     's3://{BUCKET}/{file}.csv' OPTIONS ('format.has_header' 'true'{options})"
                )
            };
            rows(&engine, &declared(file, "")).await;
            let padded = format!("{file}_padded");
            rows(&engine, &declared(&padded, ", 'format.truncated_rows' 'true'")).await;
            for of in ["count(*)", "sum(a)", "max(b) FILTER (WHERE a > 0)"] {
                let refused = try_rows(&engine, &format!("SELECT {of} FROM {file}")).await;
                says(refused, &["number of fields", &format!("{file}.csv"), "truncated_rows"]);
            }
            let sums = format!("SELECT count(*), sum(a), sum(b) FROM {padded}");
            match file {
                "short" => assert_eq!(
                    rows(&engine, &sums).await,
                    [r#""3001" | "3003" | "6000""#],
                    "{scan}"
                ),
                // Extra fields are not dropped.
                _ => says(try_rows(&engine, &sums).await, &["number of fields", "long.csv"]),
            }
        }
        let inferred = format!("SELECT * FROM 's3://{BUCKET}/early.csv'");
        let words =
            ["early.csv", "different numbers of fields (2 and 1)", "truncated_rows => true"];
        says(try_rows(&engine, &inferred).await, &words);
    }
}

/// The dialect of files that COPY writes is detected correctly.
#[tokio::test(flavor = "multi_thread")]
async fn what_copy_writes_is_read_back() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    for (number, (rows_of, expected)) in [
        (
            "SELECT 1 AS n, '''q''' AS t UNION ALL SELECT 2, '''r'''",
            ["\"1\" | \"'q'\"", "\"2\" | \"'r'\""],
        ),
        ("SELECT 'x;y' AS \"p;q\" UNION ALL SELECT 'z;w'", ["\"x;y\"", "\"z;w\""]),
        ("SELECT 'x\ty' AS \"p\tq\" UNION ALL SELECT 'z\tw'", ["\"x\\ty\"", "\"z\\tw\""]),
        ("SELECT 'x;y' AS t UNION ALL SELECT '''q'''", ["\"'q'\"", "\"x;y\""]),
    ]
    .into_iter()
    .enumerate()
    {
        let url = format!("s3://{BUCKET}/{number}.csv");
        rows(&engine, &format!("COPY ({rows_of}) TO '{url}'")).await;
        assert_eq!(rows(&engine, &format!("SELECT * FROM '{url}'")).await, expected, "{rows_of}");
        assert!(engine.take_notes().is_empty(), "{rows_of}");
    }
    let url = format!("s3://{BUCKET}/headless.csv");
    let copy = "COPY (SELECT 'x;y' AS t UNION ALL SELECT 'z;w' UNION ALL SELECT 'u;v')";
    rows(&engine, &format!("{copy} TO '{url}' OPTIONS ('format.has_header' 'false')")).await;
    let read = format!("SELECT max(column_1) FROM read_csv('{url}', header => false)");
    assert_eq!(rows(&engine, &read).await, ["\"z;w\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_taken_as_they_are() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    let copy = "COPY (SELECT 1 AS n, 'x' AS \"K\" UNION ALL SELECT 2, 'y') TO";
    let by = format!("{copy} 's3://{BUCKET}/by/' STORED AS CSV PARTITIONED BY (\"K\")");
    rows(&engine, &by).await;
    let read = format!("SELECT n FROM 's3://{BUCKET}/by/' WHERE \"K\" = 'y'");
    assert_eq!(rows(&engine, &read).await, ["\"2\""]);
    // Brackets are a pattern, unless there is an object of this name.
    store.put("part[1].csv", "n\n1\n");
    store.put("part1.csv", "n\n2\n");
    store.put("part2.csv", "n\n3\n");
    let sum = |name: &str| format!("SELECT sum(n) FROM 's3://{BUCKET}/{name}'");
    assert_eq!(rows(&engine, &sum("part[1].csv")).await, ["\"1\""]);
    assert_eq!(rows(&engine, &sum("part[12].csv")).await, ["\"5\""]);
    let listed = format!("SELECT size FROM glob('s3://{BUCKET}/part[1].csv')");
    assert_eq!(rows(&engine, &listed).await, ["\"4\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_first_value_does_not_hide_the_dialect() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    let long = "x".repeat(80_000);
    store.put("long.csv", format!("a;b\n{long};1\ny;2\nz;3\n"));
    let sum = format!("SELECT sum(b) FROM 's3://{BUCKET}/long.csv'");
    assert_eq!(rows(&engine, &sum).await, ["\"6\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_says_how_it_could() {
    let store = Store::start().await;
    store.put("array.json", "[{\"a\":1},{\"a\":2}]");
    store.put("t.csv", "a,b\n1,2\n");
    store.put("mixed/a.json", "{\"a\":1}\n");
    store.put("mixed/b.parquet", "no parquet");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let array = format!("s3://{BUCKET}/array.json");
        let create = format!("CREATE EXTERNAL TABLE t STORED AS JSON LOCATION '{array}'");
        says(try_rows(&engine, &create).await, &["newline_delimited => false"]);
        let read = format!("SELECT sum(a) FROM read_json('{array}', newline_delimited => false)");
        assert_eq!(rows(&engine, &read).await, ["\"3\""]);
        let csv = format!("s3://{BUCKET}/t.csv");
        let options = "OPTIONS ('format.null_regex' '(')";
        for sql in [
            format!("SELECT * FROM read_csv('{csv}', null_regex => '(')"),
            format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{csv}' {options}"),
            format!(
                "CREATE EXTERNAL TABLE t (a INT, b INT) STORED AS CSV LOCATION '{csv}' {options}"
            ),
        ] {
            says(try_rows(&engine, &sql).await, &["null_regex `(`", "no regular expression"]);
        }
        let mixed =
            format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 's3://{BUCKET}/mixed/'");
        says(try_rows(&engine, &mixed).await, &["mixed/", "no CSV", "a.json", "b.parquet"]);
    }
}

/// As in exports of spreadsheets, the sample ends within values, at any place where the bytes are split.
#[tokio::test(flavor = "multi_thread")]
async fn line_ends_in_quotes_do_not_hide_the_columns() {
    let store = Store::start().await;
    let local = tempfile::tempdir().unwrap();
    for before in [0, 1, 2, 3, 4, 8_180, 8_188, 8_190, 16_380, 65_530] {
        let mut text = format!("id,note,more,x,y,z,last\n0,{},,,,,1\n", "-".repeat(before));
        for id in 1..400 {
            text.push_str(&format!(
                "{id},\"first, line\nsecond \"\"line\"\"\n\n\",a,b,\"c\nd\",,{id}\n"
            ));
        }
        let (key, sum) = (format!("{before}.csv"), "sum(id), sum(last), count(*), max(y)");
        store.put(&key, &text);
        let file = local.path().join(&key);
        std::fs::write(&file, &text).unwrap();
        for scan in [Scan::Get, Scan::Select] {
            let engine = store.engine(scan).await;
            for url in [format!("s3://{BUCKET}/{key}"), file.display().to_string()] {
                let expected = ["\"79800\" | \"79801\" | \"400\" | \"c\nd\"".replace('\n', "\\n")];
                for from in [
                    format!("'{url}'"),
                    format!("read_csv('{url}', newlines_in_values => true)"),
                    format!("read_csv('{url}', sample_size => 3)"),
                ] {
                    let found = rows(&engine, &format!("SELECT {sum} FROM {from}")).await;
                    assert_eq!(found, expected, "{from}, {scan}");
                }
            }
        }
    }
}

/// Values that match a table's `null_regex` are NULL, however the table is read.
#[tokio::test(flavor = "multi_thread")]
async fn what_stands_for_null_is_null() {
    let store = Store::start().await;
    let text = "id|x|t\n1|\\N|a\n2|5|\\N\n3|6|b\\N\n";
    store.put("pg.csv", text);
    let local = tempfile::tempdir().unwrap();
    let file = local.path().join("pg.csv");
    std::fs::write(&file, text).unwrap();
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for url in [format!("s3://{BUCKET}/pg.csv"), file.display().to_string()] {
            let create = format!(
                "CREATE OR REPLACE EXTERNAL TABLE t (id INT, x INT, t VARCHAR) STORED AS CSV LOCATION '{url}' \
                 OPTIONS ('format.delimiter' '|', 'format.null_regex' '^\\\\N$')"
            );
            rows(&engine, &create).await;
            let call = format!("read_csv('{url}', delim => '|', null_regex => '^\\\\N$')");
            for from in ["t", &call] {
                for (sql, expected) in [
                    ("SELECT id FROM T WHERE x IS NULL", r#""1""#),
                    ("SELECT id, x + 1 FROM T WHERE t IS NULL", r#""2" | "6""#),
                    (
                        "SELECT sum(x), count(x), count(t), max(t) FROM T",
                        r#""11" | "2" | "2" | "b\\N""#,
                    ),
                    ("SELECT id FROM T WHERE x > 5", r#""3""#),
                    ("SELECT count(*) FROM T WHERE t = '\\N'", r#""0""#),
                ] {
                    let sql = sql.replace(" T", &format!(" {from}"));
                    assert_eq!(rows(&engine, &sql).await, [expected], "{sql}, {scan}");
                }
            }
        }
    }
}

/// Every way to read a value drops or rounds what its type cannot store, as the site's page `explanation/exact.md`
/// documents.
#[tokio::test(flavor = "multi_thread")]
async fn what_types_do_not_hold_is_read_alike_by_all() {
    let store = Store::start().await;
    let stock = stock();
    store.put(
        "wide.csv",
        "day,at,price,d\n2020-01-02T10:00:00,2020-01-02T10:00:00.999,1.235,9007199254740993\n\
         2020-01-02,2020-01-02T10:00:00,-1.235,1e400\n",
    );
    store.put(
        "wide.json",
        "{\"day\":\"2020-01-02T10:00:00\",\"at\":\"2020-01-02T10:00:00.999\",\"price\":1.235,\
         \"d\":9007199254740993}\n{\"day\":\"2020-01-02\",\"at\":\"2020-01-02T10:00:00\",\
         \"price\":-1.235,\"d\":1e400}\n",
    );
    let columns = "(day DATE, at TIMESTAMP(0), price DECIMAL(5,2), d DOUBLE)";
    for (format, options) in [("CSV", "OPTIONS ('format.has_header' 'true')"), ("JSON", "")] {
        let object = format!("wide.{}", format.to_lowercase());
        let create = |name: &str, columns: &str, location: &str| {
            format!(
                "CREATE EXTERNAL TABLE {name} {columns} STORED AS {format} LOCATION '{location}' {options}"
            )
        };
        let file = store.folder.path().join(BUCKET).join(&object);
        let name = format!("t{format}");
        stock_rows(&stock, &create(&name, columns, &file.display().to_string())).await.unwrap();
        for scan in SCANS {
            let engine = store.engine(scan).await;
            let url = format!("s3://{BUCKET}/{object}");
            rows(&engine, &create(&name, columns, &url)).await;
            for (what, expected) in [
                (
                    "* FROM t",
                    vec![
                        "\"2020-01-02\" | \"2020-01-02T10:00:00\" | \"-1.24\" | \"inf\"",
                        "\"2020-01-02\" | \"2020-01-02T10:00:00\" | \"1.24\" | \"9007199254740992.0\"",
                    ],
                ),
                ("count(*) FROM t WHERE day = DATE '2020-01-02'", vec!["\"2\""]),
                ("count(*) FROM t WHERE at = TIMESTAMP '2020-01-02T10:00:00'", vec!["\"2\""]),
                (
                    "sum(price), count(*) FILTER (WHERE price = 1.24) FROM t",
                    vec!["\"0.00\" | \"1\""],
                ),
                ("count(*) FROM t WHERE price < 1.24", vec!["\"1\""]),
                ("min(price), max(price) FROM t", vec!["\"-1.24\" | \"1.24\""]),
                ("count(*) FROM t WHERE d > 9007199254740992", vec!["\"1\""]),
            ] {
                let sql = format!("SELECT {}", what.replace("FROM t", &format!("FROM {name}")));
                assert_eq!(rows(&engine, &sql).await, expected, "{scan}: {sql}");
                // DataFusion drops digits of decimals.
                if !what.starts_with('*') && !what.contains("price") {
                    assert_eq!(stock_rows(&stock, &sql).await.unwrap(), expected, "{sql}");
                }
            }
            let wide = "(day VARCHAR, at TIMESTAMP(9), price DECIMAL(38,3))";
            if format == "JSON" {
                rows(&engine, &create("wide", wide, &url)).await;
                let all = "SELECT * FROM wide ORDER BY price DESC LIMIT 1";
                let expected = "\"2020-01-02T10:00:00\" | \"2020-01-02T10:00:00.999\" | \"1.235\"";
                assert_eq!(rows(&engine, all).await, [expected], "{scan}");
            }
        }
    }
}
