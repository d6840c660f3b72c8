//! SQL as users type it: files without a definition, in any dialect, and written files.

use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, stock, stock_rows, try_rows};

/// CSV of other programs: its name, its text, options by which DataFusion reads it, and the expected note.
const DIALECTS: [(&str, &str, &str, Option<&str>); 7] = [
    ("usual.csv", "id,name,price\n1,a;b,1.5\n2,c,\n", "'format.has_header' 'true'", None),
    (
        "semicolons.csv",
        "id;name;price\n1;a,b;1.5\n2;\"c;d\";\n",
        "'format.has_header' 'true', 'format.delimiter' ';'",
        Some("separated by `;`"),
    ),
    (
        "tabs.CSV",
        "id\tname\tprice\n1\ta\t1.5\n2\tb\t\n",
        "'format.has_header' 'true', 'format.delimiter' '\t'",
        Some("separated by tabs"),
    ),
    (
        "bars.csv",
        "id|name|price\n1|a|1.5\n2|b|2.5\n",
        "'format.has_header' 'true', 'format.delimiter' '|'",
        Some("separated by `|`"),
    ),
    (
        "apostrophes.csv",
        "id,name,price\n1,'a, b',1.5\n2,'c',2.5\n",
        "'format.has_header' 'true', 'format.quote' ''''",
        Some("quoted by `'`"),
    ),
    ("headless.csv", "1,a,1.5\n2,b,2.5\n", "'format.has_header' 'false'", Some("it has no header")),
    ("one.csv", "text\nhello; world\n", "'format.has_header' 'true'", None),
];

/// What COPY writes of BIGINT UNSIGNED is read back as that, by each strategy.
#[tokio::test(flavor = "multi_thread")]
async fn whole_numbers_beyond_bigint_are_unsigned() {
    let store = Store::start().await;
    let numbers = ["18446744073709551615", "9223372036854775808", "9007199254740993", "5"];
    let record = |end: &str, number: &str| match end {
        "csv" => format!("x,{number}\n"),
        _ => format!("{{\"t\":\"x\",\"a\":{number}}}\n"),
    };
    for end in ["csv", "ndjson"] {
        let header = if end == "csv" { "t,a\n" } else { "" };
        let text: String = numbers.iter().map(|number| record(end, number)).collect();
        store.put(&format!("u.{end}"), format!("{header}{text}"));
        // Files of one table may differ.
        store.put(&format!("{end}/1.{end}"), format!("{header}{}", record(end, "7")));
        store.put(&format!("{end}/2.{end}"), format!("{header}{text}"));
        for bad in ["-1", "1.5", "18446744073709551616"] {
            let many = record(end, "18446744073709551615").repeat(1500);
            store.put(&format!("bad{bad}.{end}"), format!("{header}{many}{}", record(end, bad)));
        }
    }
    for (scan, end) in
        [(Scan::Get, "csv"), (Scan::Select, "csv"), (Scan::Get, "ndjson"), (Scan::Select, "ndjson")]
    {
        let engine = store.engine(scan).await;
        let file = format!("'s3://{BUCKET}/u.{end}'");
        for (sql, expected) in [
            (format!("SELECT arrow_typeof(a), a FROM {file} ORDER BY a LIMIT 1"), "UInt64 5"),
            (format!("SELECT max(a), min(a), count(*) FROM {file}"), "18446744073709551615 5 4"),
            (format!("SELECT count(*) FROM {file} WHERE a > 9223372036854775807"), "2"),
            (
                format!("SELECT a FROM {file} WHERE a = 18446744073709551615"),
                "18446744073709551615",
            ),
            (format!("SELECT a FROM {file} WHERE a = 9007199254740993"), "9007199254740993"),
            (format!("SELECT count(*) FROM {file} WHERE a IN (5, 9223372036854775808)"), "2"),
            (
                format!("SELECT max(a), count(*) FROM 's3://{BUCKET}/{end}/*.{end}' WHERE a > 5"),
                "18446744073709551615 4",
            ),
        ] {
            let found = rows(&engine, &sql).await.join(" ").replace(['"', '|'], " ");
            let found: Vec<&str> = found.split_whitespace().collect();
            assert_eq!(found.join(" "), expected, "{scan}: {sql}");
        }
        for bad in ["-1", "1.5", "18446744073709551616"] {
            let sql = format!("SELECT a FROM 's3://{BUCKET}/bad{bad}.{end}' WHERE a IS NOT NULL");
            let error = try_rows(&engine, &sql).await.unwrap_err().to_string();
            assert!(error.contains(&format!("bad{bad}.{end}")), "{scan}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dialect_of_a_file_is_found_and_said() {
    let store = Store::start().await;
    let local = tempfile::tempdir().unwrap();
    for (name, text, options, said) in DIALECTS {
        store.put(&format!("d/{name}"), text);
        // Twice as long as the sample.
        let (first, record) = text.split_once('\n').unwrap();
        let long = format!("{first}\n{}", record.repeat(200_000 / record.len()));
        store.put(&format!("long/{name}"), &long);
        let zipped = gzip(text.as_bytes());
        store.put(&format!("z/{name}.gz"), zipped);
        let file = local.path().join(format!("{}.csv", name.to_lowercase()));
        std::fs::write(&file, text).unwrap();
        let plain = stock();
        let ddl = format!(
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{}' OPTIONS ({options})",
            file.display()
        );
        plain.sql(&ddl).await.unwrap();
        let expected = stock_rows(&plain, "SELECT * FROM t").await.unwrap();
        for scan in [Scan::Get, Scan::Select, Scan::Auto] {
            let engine = store.engine(scan).await;
            for url in [format!("d/{name}"), format!("z/{name}.gz")] {
                let url = format!("s3://{BUCKET}/{url}");
                let found = rows(&engine, &format!("SELECT * FROM '{url}'")).await;
                assert_eq!(found, expected, "{url}, {scan}");
                let notes = engine.take_notes().join("\n");
                match said {
                    Some(said) => assert!(notes.contains(said), "{url}: {notes}"),
                    None => assert!(notes.is_empty(), "{url}: {notes}"),
                }
            }
            let counted = |of: &str| format!("SELECT count(*) FROM 's3://{BUCKET}/{of}/{name}'");
            let records = long.lines().count() - usize::from(name != "headless.csv");
            assert_eq!(rows(&engine, &counted("long")).await, [format!("\"{records}\"")], "{name}");
        }
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;

    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Detection of the dialect sends no extra request: the sample for the columns is enough.
#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_sent_for_the_dialect() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    store.put("a.csv", "a;b\n1;2\n");
    let frame = engine.plan(&format!("SELECT * FROM 's3://{BUCKET}/a.csv'")).await.unwrap();
    assert_eq!(frame.counted().get, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_read_what_names_do_not_say() {
    let store = Store::start().await;
    store.put("a/data.txt", "1;x\n2;y\n");
    store.put("a/more.txt", "3;z\n");
    store.put("b/lines.log", "{\"n\":1}\n{\"n\":2}\n");
    store.put("b/x.csv", "a#b\n1#2\n");
    store.put("b/tab.csv", "a\tb\n1\t2\n");
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        let from = |call: &str| {
            format!("SELECT * FROM {}", call.replace("B/", &format!("s3://{BUCKET}/")))
        };
        for (call, expected) in [
            (
                "read_csv('B/a/', delim => ';', header => false)",
                &["\"1\" | \"x\"", "\"2\" | \"y\"", "\"3\" | \"z\""][..],
            ),
            (
                "READ_CSV('B/a/data.txt', sep := ';', header = false) AS t",
                &["\"1\" | \"x\"", "\"2\" | \"y\""],
            ),
            ("read_csv('B/b/x.csv', delim => '#')", &["\"1\" | \"2\""]),
            ("read_csv('B/b/tab.csv', delim => '\\t')", &["\"1\" | \"2\""]),
            ("read_csv('B/b/x*.csv', delim => '#', header => true) LIMIT 0", &[]),
            ("read_json('B/b/lines.log')", &["\"1\"", "\"2\""]),
            ("(SELECT sum(n) FROM read_json('B/b/lines.log')) AS s", &["\"3\""]),
        ] {
            assert_eq!(rows(&engine, &from(call)).await, expected, "{call}, {scan}");
        }
        rows(&engine, &format!("CREATE VIEW v AS {}", from("read_json('B/b/lines.log')"))).await;
        assert_eq!(rows(&engine, "SELECT sum(n) FROM v").await, ["\"3\""]);
        let wrong = from("read_csv('B/a/data.txt', delimeter => ';')");
        says(try_rows(&engine, &wrong).await, &["no argument `delimeter`", "delim"]);
        says(
            try_rows(&engine, &from("read_csv('B/none/')")).await,
            &["there is no object at", "none/"],
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_lists_what_there_is() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    for key in ["x/a.csv", "x/b.json", "x/y/c.csv", "z.csv"] {
        store.put(key, "n\n1\n");
    }
    let list = |of: &str| format!("SELECT url, size FROM glob('s3://{BUCKET}/{of}')");
    let row = |key: &str| format!("\"s3://{BUCKET}/{key}\" | \"4\"");
    assert_eq!(rows(&engine, &list("x/*.csv")).await, [row("x/a.csv")]);
    assert_eq!(rows(&engine, &list("x/**/*.csv")).await, [row("x/a.csv"), row("x/y/c.csv")]);
    assert_eq!(
        rows(&engine, &list("x/")).await,
        [row("x/a.csv"), row("x/b.json"), row("x/y/c.csv")]
    );
    assert_eq!(rows(&engine, &list("z.csv")).await, [row("z.csv")]);
    assert_eq!(rows(&engine, &list("none/*")).await, Vec::<String>::new());
    let sum = format!(
        "SELECT count(*), sum(size) FROM glob('s3://{BUCKET}/**') WHERE modified > '2020-01-01'"
    );
    assert_eq!(rows(&engine, &sum).await, ["\"4\" | \"16\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_has_a_row_for_each_column() {
    let store = Store::start().await;
    store.put("t.csv", "n,Name,d\n1,a,2024-01-01\n2,b,2024-01-02\n3,b,\n,a,2024-01-04\n");
    let expected = [
        "\"Name\" | \"VARCHAR\" | \"a\" | \"b\" | \"2\" | \"NULL\" | \"NULL\" | \"0.0\"",
        "\"d\" | \"DATE\" | \"2024-01-01\" | \"2024-01-04\" | \"3\" | \"NULL\" | \"NULL\" | \"25.0\"",
        "\"n\" | \"BIGINT\" | \"1\" | \"3\" | \"3\" | \"2.0\" | \"2.0\" | \"25.0\"",
    ];
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let engine = store.engine(scan).await;
        let url = format!("s3://{BUCKET}/t.csv");
        // The summary is stored as a table, so that some of its columns can be selected.
        rows(&engine, &format!("CREATE TABLE s_{scan} AS SELECT * FROM '{url}'")).await;
        for of in [format!("'{url}'"), format!("SELECT * FROM '{url}'"), format!("s_{scan}")] {
            let batches =
                engine.collect(&format!("-- Each column\nSUMMARIZE /* all */ {of}")).await.unwrap();
            let picked = [0, 1, 2, 3, 4, 5, 8, 10];
            let picked: Vec<_> =
                batches.iter().map(|batch| batch.project(&picked).unwrap()).collect();
            assert_eq!(crate::harness::text(&picked), expected, "{of}, {scan}");
        }
        let described = rows(&engine, &format!("DESCRIBE '{url}'")).await;
        assert!(described.iter().any(|row| row.starts_with("\"n\" | \"BIGINT\"")), "{described:?}");
    }
    let engine = store.engine(Scan::Auto).await;
    says(try_rows(&engine, "SUMMARIZE nothing").await, &["nothing"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_compressed_as_their_names_say_and_tabs_are_tabs() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    store.put("z/a.csv.gz", gzip(b"n\n1\n"));
    store.put("z/b.csv.gz", gzip(b"n\n2\n"));
    store.put("one.gz", gzip(b"n\n7\n"));
    store.put("tabs.csv", "n\tm\n1\t2\n");
    let table = |name: &str, of: &str, options: &str| {
        format!(
            "CREATE EXTERNAL TABLE {name} STORED AS CSV LOCATION 's3://{BUCKET}/{of}' {options}"
        )
    };
    let header = "OPTIONS ('format.has_header' 'true')";
    rows(&engine, &table("z", "z/", header)).await;
    assert_eq!(rows(&engine, "SELECT sum(n) FROM z").await, ["\"3\""]);
    rows(&engine, &table("one", "one.gz", header)).await;
    assert_eq!(rows(&engine, "FROM one").await, ["\"7\""]);
    let tabs = "OPTIONS ('format.has_header' 'true', 'format.delimiter' '\\t')";
    rows(&engine, &table("tabs", "tabs.csv", tabs)).await;
    assert_eq!(rows(&engine, "SELECT n + m FROM tabs").await, ["\"3\""]);
    let copy = format!("COPY tabs TO 's3://{BUCKET}/copy.csv' OPTIONS ('format.delimiter' '\\t')");
    rows(&engine, &copy).await;
    let copied =
        std::fs::read_to_string(store.folder.path().join(BUCKET).join("copy.csv")).unwrap();
    assert!(copied.contains("1\t2"), "{copied}");
}

async fn sum(engine: &Engine) -> Vec<String> {
    rows(engine, &format!("SELECT sum(n) FROM 's3://{BUCKET}/out/'")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_says_what_becomes_of_what_is_there() {
    let store = Store::start().await;
    for format in ["CSV", "PARQUET", "JSON"] {
        let engine = store.engine(Scan::Auto).await;
        let copy = |n: usize, options: &str| {
            format!("COPY (SELECT {n} AS n) TO 's3://{BUCKET}/out/' STORED AS {format} {options}")
        };
        rows(&engine, &copy(1, "")).await;
        assert_eq!(sum(&engine).await, ["\"1\""]);
        let refused = try_rows(&engine, &copy(2, "")).await;
        says(refused, &["there are objects at", "overwrite true", "append true"]);
        assert_eq!(sum(&engine).await, ["\"1\""]);
        rows(&engine, &copy(2, "OPTIONS (append true)")).await;
        assert_eq!(sum(&engine).await, ["\"3\""]);
        // The query reads the objects that its COPY replaces.
        let doubled = format!(
            "COPY (SELECT n * 10 AS n FROM 's3://{BUCKET}/out/') TO 's3://{BUCKET}/out/' STORED AS {format} \
             OPTIONS (overwrite true)"
        );
        rows(&engine, &doubled).await;
        assert_eq!(sum(&engine).await, ["\"30\""]);
        // A statement that fails removes nothing.
        let fails = format!(
            "COPY (SELECT n / 0 AS n FROM 's3://{BUCKET}/out/') TO 's3://{BUCKET}/out/' STORED AS {format} \
             OPTIONS (overwrite true)"
        );
        assert!(try_rows(&engine, &fails).await.is_err());
        assert_eq!(sum(&engine).await, ["\"30\""]);
        std::fs::remove_dir_all(store.folder.path().join(BUCKET).join("out")).unwrap();
    }
    let engine = store.engine(Scan::Auto).await;
    let single =
        |options: &str| format!("COPY (SELECT 1 AS n) TO 's3://{BUCKET}/one.csv' {options}");
    rows(&engine, &single("")).await;
    rows(&engine, &single("OPTIONS (overwrite true)")).await;
    says(
        try_rows(&engine, &single("OPTIONS (append true)")).await,
        &["one.csv", "nothing can be appended"],
    );
}

/// DataFusion would write these rows to the folder of another value.
#[tokio::test(flavor = "multi_thread")]
async fn rows_without_a_partition_value_have_a_folder() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    for format in ["CSV", "PARQUET", "JSON"] {
        for value in
            ["0", "DATE '1970-01-01'", "''", "false", "arrow_cast('p', 'Dictionary(Int32, Utf8)')"]
        {
            let copy = |other: &str| {
                format!(
                    "COPY (SELECT 1 AS i, {value} AS k UNION ALL SELECT 2 AS i, {other} AS k) \
                     TO 's3://{BUCKET}/parts/' STORED AS {format} PARTITIONED BY (k)"
                )
            };
            for (other, nulls) in [("NULL", &["\"2\""][..]), (value, &[])] {
                rows(&engine, &copy(other)).await;
                let from = format!("FROM 's3://{BUCKET}/parts/'");
                let count = rows(&engine, &format!("SELECT count(*) {from}")).await;
                assert_eq!(count, ["\"2\""], "{format} {value}");
                let null = rows(&engine, &format!("SELECT i {from} WHERE k IS NULL")).await;
                assert_eq!(null, nulls, "{format} {value}, {other}");
                std::fs::remove_dir_all(store.folder.path().join(BUCKET).join("parts")).unwrap();
            }
        }
    }
}

/// Values that do not fit the types of the sample are read as text, and files with line breaks in values are not
/// split there.
#[tokio::test(flavor = "multi_thread")]
async fn samples_do_not_lose_what_comes_later() {
    let store = Store::start().await;
    let late: String = (0..3000).map(|n| if n < 2000 { ",1\n" } else { "x,2\n" }).collect();
    store.put("late.csv", format!("a,b\n{late}"));
    let lines: String = (0..200_000).map(|n| format!("\"first {n}\nsecond\nthird\"\n")).collect();
    store.put("lines.csv", format!("note\n{lines}"));
    for scan in [Scan::Get, Scan::Select, Scan::Auto] {
        let engine = store.builder().scan(scan).threads(8).build().await.unwrap();
        let sql = format!("SELECT count(a), count(b) FROM 's3://{BUCKET}/late.csv' WHERE b > 0");
        assert_eq!(rows(&engine, &sql).await, ["\"1000\" | \"3000\""], "{scan:?}");
        let sql = format!("SELECT count(*) FROM 's3://{BUCKET}/late.csv' WHERE a = 'x'");
        assert_eq!(rows(&engine, &sql).await, ["\"1000\""], "{scan:?}");
        let create = format!(
            "CREATE EXTERNAL TABLE late STORED AS CSV LOCATION 's3://{BUCKET}/late.csv' \
             OPTIONS ('format.has_header' 'true')"
        );
        rows(&engine, &create).await;
        assert_eq!(rows(&engine, "SELECT count(a) FROM late").await, ["\"1000\""], "{scan:?}");
        let sql = format!("SELECT count(*), min(length(note)) FROM 's3://{BUCKET}/lines.csv'");
        assert_eq!(rows(&engine, &sql).await, ["\"200000\" | \"20\""], "{scan:?}");
    }
}
