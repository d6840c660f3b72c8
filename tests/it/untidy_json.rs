//! Untidy JSON of other programs is read right, or refused in one sentence.

use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;

use crate::bad_input::says;
use crate::harness::{BUCKET, Store, rows, try_rows};
use crate::untidy::{SCANS, member};

/// Fractions that come after the sample of an integer column are errors.
#[tokio::test(flavor = "multi_thread")]
async fn late_fractions_in_json_are_an_error() {
    let store = Store::start().await;
    let whole = "{\"a\":1,\"t\":\"1.5\"}\n".repeat(2000);
    let late = format!("{whole}{{\"a\":2.5,\"t\":\"x\"}}\n{{\"a\":3.0,\"t\":\"y\"}}\n");
    store.put("late.json", &late);
    store.put("late.json.gz", member(FileCompressionType::GZIP, &late).await);
    store.put("declared.json", "{\"a\":1}\n{\"a\":1.9}\n");
    let array = late.trim().replace('\n', ",");
    store.put("array.json", format!("[{array}]"));
    // Values may span lines, and be long.
    store.put("pretty.json", format!("{whole}{{\n  \"a\": 2.5,\n  \"t\": \"x\"\n}}\n"));
    let long = "x".repeat(17 << 20);
    store.put("long.json", format!("{whole}{{\"t\":\"{long}\",\"a\":2.5}}\n"));
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let declared = format!(
            "CREATE EXTERNAL TABLE declared (a BIGINT) STORED AS JSON LOCATION \
             's3://{BUCKET}/declared.json'"
        );
        rows(&engine, &declared).await;
        let words = ["`a` has whole numbers, and 1.9 in line 2", "declared.json", "DOUBLE"];
        for query in ["sum(a)", "count(*) FILTER (WHERE a = 1)", "max(a)"] {
            says(try_rows(&engine, &format!("SELECT {query} FROM declared")).await, &words);
        }
        for key in ["pretty.json", "long.json"] {
            let sql = format!("SELECT sum(a) FROM 's3://{BUCKET}/{key}'");
            let words = ["`a` has whole numbers, and 2.5 in line", key, "DOUBLE"];
            says(try_rows(&engine, &sql).await, &words);
        }
        let json = |key: &str, more: &str| format!("read_json('s3://{BUCKET}/{key}'{more})");
        for (key, more) in [
            ("late.json", ""),
            ("late.json.gz", ""),
            ("array.json", ", newline_delimited => false"),
        ] {
            for query in ["sum(a)", "count(*) FILTER (WHERE a > 1)", "max(a)"] {
                let sql = format!("SELECT {query} FROM {}", json(key, more));
                let words =
                    ["`a` has whole numbers, and 2.5 in line", key, "sample_size", "DOUBLE"];
                says(try_rows(&engine, &sql).await, &words);
            }
            // Columns that are not read do not matter.
            let sql = format!("SELECT count(t) FROM {}", json(key, more));
            assert_eq!(rows(&engine, &sql).await, ["\"2002\""], "{key}, {scan}");
            let more = format!("{more}, sample_size => 100000");
            let sql = format!("SELECT sum(a) FROM {}", json(key, &more));
            assert_eq!(rows(&engine, &sql).await, ["\"2005.5\""], "{key}, {scan}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_json_that_come_late_are_explained() {
    let store = Store::start().await;
    store.put("late.json", "{\"a\":1}\n".repeat(2000) + "{\"a\":2,\"b\":3}\n");
    store.put("t.csv", "a\n1\n");
    let engine = store.engine(Scan::Auto).await;
    let url = format!("s3://{BUCKET}/late.json");
    rows(&engine, &format!("CREATE EXTERNAL TABLE late STORED AS JSON LOCATION '{url}'")).await;
    let more = "sample_size => 100000";
    for table in [format!("'{url}' x"), format!("read_json('{url}')"), "late".to_owned()] {
        let sql = format!("SELECT sum(b) FROM {table}");
        let words = ["No field named b", more, "CREATE EXTERNAL TABLE t (…)"];
        says(try_rows(&engine, &sql).await, &words);
    }
    let sum = format!("SELECT sum(b) FROM read_json('{url}', {more})");
    assert_eq!(rows(&engine, &sum).await, ["\"3\""]);
    // This hint would not help for other formats.
    let csv = try_rows(&engine, &format!("SELECT b FROM 's3://{BUCKET}/t.csv'")).await;
    assert!(!csv.unwrap_err().hint().unwrap().contains("JSON"));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_come_late_within_objects_are_told() {
    let store = Store::start().await;
    let early = "{\"a\":1,\"o\":{\"x\":1},\"l\":[{\"y\":1}]}\n".repeat(2000);
    for (late, key) in [
        ("{\"a\":2,\"o\":{\"x\":1,\"z\":5}}", Some("`o.z`")),
        ("{\"a\":2,\"l\":[{\"y\":1},{\"z\":5}]}", Some("`l.z`")),
        ("{\"a\":2,\"o\":null,\"l\":[]}", None),
    ] {
        store.put("late.json", format!("{early}{late}\n"));
        let engine = store.engine(Scan::Get).await;
        rows(&engine, &format!("SELECT a, o, l FROM 's3://{BUCKET}/late.json'")).await;
        let notes = engine.take_notes().join("\n");
        assert_eq!(notes.contains("first comes after"), key.is_some(), "{late}: {notes}");
        assert!(notes.contains(key.unwrap_or_default()), "{late}: {notes}");
    }
}

/// Returns records on several lines, where some lines are complete records by themselves.
fn on_several_lines(records: usize) -> String {
    let record = |id: usize| {
        format!("{{\n  \"id\": {id},\n  \"of\":\n{{\"id\": -1}}\n,\n  \"text\": \"t{id}\"\n}}\n")
    };
    (0..records).map(record).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn json_records_on_several_lines_are_not_cut() {
    let store = Store::start().await;
    let text = on_several_lines(2000);
    store.put("several/a.json", &text);
    store.put("several/b.json", &text);
    store.put("several.json.gz", member(FileCompressionType::GZIP, &text).await);
    for scan in SCANS {
        let engine = store.engine(scan).await;
        rows(&engine, "SET datafusion.optimizer.repartition_file_min_size = 1000").await;
        rows(&engine, "SET sluice.range_bytes = 1000").await;
        rows(&engine, "SET datafusion.execution.target_partitions = 7").await;
        for (name, columns) in [("inferred", ""), ("declared", "(id BIGINT, text VARCHAR)")] {
            let create = format!(
                "CREATE EXTERNAL TABLE {name} {columns} STORED AS JSON LOCATION 's3://{BUCKET}/several/'"
            );
            rows(&engine, &create).await;
        }
        let urls = ["several/a.json", "several/b.json", "several.json.gz"];
        let urls = urls.map(|key| format!("'s3://{BUCKET}/{key}'"));
        let [a, b, compressed] = &urls;
        let both = format!("(SELECT * FROM {a} UNION ALL SELECT * FROM {b})");
        for (table, times) in
            [("inferred", 2), ("declared", 2), (both.as_str(), 2), (compressed.as_str(), 1)]
        {
            for (query, expected) in [
                (
                    "count(*), sum(id), max(text)",
                    format!("\"{}\" | \"{}\" | \"t999\"", 2000 * times, 1_999_000 * times),
                ),
                ("count(*) FILTER (WHERE id < 10)", format!("\"{}\"", 10 * times)),
            ] {
                let sql = format!("SELECT {query} FROM {table}");
                assert_eq!(rows(&engine, &sql).await, [expected], "{sql}, {scan}");
            }
            let sql = format!("SELECT id, text FROM {table} WHERE id = 1234");
            let expected = vec!["\"1234\" | \"t1234\""; times];
            assert_eq!(rows(&engine, &sql).await, expected, "{sql}, {scan}");
        }
        if scan == Scan::Select {
            assert!(engine.counted().select > 0);
            assert_eq!(engine.counted().fallbacks, 0);
        }
        // The layout is cached after the first look.
        let before = engine.counted().get;
        rows(&engine, "EXPLAIN SELECT sum(id) FROM declared").await;
        assert_eq!(engine.counted().get, before, "{scan}");
    }
    // AWS may not return one row for each value of a document, so the object is read with GET.
    let aws = store.builder().scan(Scan::Select).profile(StoreCapabilities::aws());
    let aws = aws.build().await.unwrap();
    let count = format!("SELECT count(*) FROM 's3://{BUCKET}/several/a.json'");
    assert_eq!(rows(&aws, &count).await, ["\"2000\""]);
    assert_eq!(aws.counted().select, 0);
}

/// If records span lines only after the sample, the query is right, or an error names the settings that help.
#[tokio::test(flavor = "multi_thread")]
async fn json_records_that_go_on_later_are_read_or_refused() {
    let store = Store::start().await;
    let lines = "{\"id\":1,\"text\":\"x\"}\n".repeat(5000);
    store.put("late.json", lines + &on_several_lines(2000));
    for scan in SCANS {
        let engine = store.engine(scan).await;
        rows(&engine, "SET datafusion.optimizer.repartition_file_min_size = 1000").await;
        rows(&engine, "SET sluice.range_bytes = 1000").await;
        rows(&engine, "SET datafusion.execution.target_partitions = 7").await;
        let create = format!(
            "CREATE EXTERNAL TABLE late (id BIGINT, text VARCHAR) STORED AS JSON LOCATION \
             's3://{BUCKET}/late.json'"
        );
        rows(&engine, &create).await;
        let queries =
            ["count(*), sum(id)", "count(*), max(text)", "count(id) FILTER (WHERE id > 5)"];
        let whole =
            ["SET sluice.scan = 'get'", "SET datafusion.optimizer.repartition_file_scans = false"];
        let expected = ["\"7000\" | \"2004000\"", "\"7000\" | \"x\"", "\"1994\""];
        for (query, expected) in queries.iter().zip(expected) {
            // The first bytes of the object may already show it.
            match try_rows(&engine, &format!("SELECT {query} FROM late")).await {
                Ok(found) => assert_eq!(found, [expected], "{query}, {scan}"),
                refused => says(
                    refused,
                    &["late.json", "records are on several lines", whole[0], whole[1]],
                ),
            }
        }
        for setting in whole {
            rows(&engine, setting).await;
        }
        for (query, expected) in queries.iter().zip(expected) {
            let sql = format!("SELECT {query} FROM late");
            assert_eq!(rows(&engine, &sql).await, [expected], "{query}, {scan}");
        }
    }
}

/// Values of JSON that no column type can hold are refused.
#[tokio::test(flavor = "multi_thread")]
async fn odd_values_of_json_are_refused_in_a_sentence() {
    let store = Store::start().await;
    store.put("large.json", "{\"a\":1}\n{\"a\":1e400}\n");
    store.put("number.json", "{\"a\":1}\n7\n");
    store.put("array.json", "[\n{\"a\":1},\n{\"a\":2}\n]\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for (key, words) in [
            (
                "large.json",
                [
                    "`large.json` has a number that is too large",
                    "CREATE EXTERNAL TABLE t (a DOUBLE",
                ]
                .as_slice(),
            ),
            ("number.json", &["`number.json` has a number where there are to be objects"]),
        ] {
            says(try_rows(&engine, &format!("SELECT a FROM 's3://{BUCKET}/{key}'")).await, words);
        }
        // An array on several lines is refused, too, if the columns are declared and parts are read.
        for bytes in [1000, 10] {
            rows(&engine, &format!("SET datafusion.optimizer.repartition_file_min_size = {bytes}"))
                .await;
            rows(&engine, &format!("SET sluice.range_bytes = {bytes}")).await;
            let create = format!(
                "CREATE OR REPLACE EXTERNAL TABLE t (a BIGINT) STORED AS JSON LOCATION 's3://{BUCKET}/array.json'"
            );
            rows(&engine, &create).await;
            for what in ["a", "count(*)", "max(a)"] {
                let refused =
                    try_rows(&engine, &format!("SELECT {what} FROM t")).await.unwrap_err();
                assert!(refused.to_string().contains("array.json"), "{scan}, {what}: {refused}");
            }
        }
    }
}

/// The sample fetches only the records that determine the columns.
#[tokio::test(flavor = "multi_thread")]
async fn the_columns_of_json_are_told_by_its_beginning() {
    let store = Store::start().await;
    store.put("lines.json", "{\"id\":1,\"text\":\"twenty characters at \"}\n".repeat(200_000));
    store.put("several.json", on_several_lines(100_000));
    let engine = store.engine(Scan::Get).await;
    for key in ["lines.json", "several.json"] {
        let frame =
            engine.plan(&format!("SELECT id, text FROM 's3://{BUCKET}/{key}'")).await.unwrap();
        let fetched = frame.counted().got_bytes;
        assert!(fetched < 2 << 20, "{key}: {fetched} bytes");
    }
}

/// A URL selects what is read, also if the object is one array.
#[tokio::test(flavor = "multi_thread")]
async fn arrays_are_read_by_their_url() {
    let store = Store::start().await;
    store.put("one.json", "[{\"a\":1},{\"a\":2}]");
    store.put("lines.json", "\n [\n {\"a\":1,\"b\":[{\"c\":1}]},\n {\"a\":2,\"b\":[null]}\n]\n");
    store.put("f/a.json", "[{\"a\":1}]");
    store.put("f/b.json", "[{\"a\":2,\"t\":\"x\"}]");
    store.put("z.json.gz", member(FileCompressionType::GZIP, "[{\"a\":3}]").await);
    let local = tempfile::tempdir().unwrap();
    let file = local.path().join("here.json");
    std::fs::write(&file, "[{\"a\":1},{\"a\":2}]").unwrap();
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let here = file.display().to_string();
        for url in ["one.json", "lines.json", "f/", "z.json.gz"]
            .map(|key| format!("s3://{BUCKET}/{key}"))
            .into_iter()
            .chain([here])
        {
            for from in [format!("'{url}'"), format!("read_json('{url}')")] {
                let sum = rows(&engine, &format!("SELECT sum(a) FROM {from} WHERE a > 0")).await;
                assert_eq!(sum, [r#""3""#], "{from}, {scan}");
            }
        }
        let said = format!("read_json('s3://{BUCKET}/one.json', newline_delimited => true)");
        says(try_rows(&engine, &format!("FROM {said}")).await, &["one JSON array"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nulls_among_lists_of_objects_are_nulls() {
    let store = Store::start().await;
    store.put("a.json", "{\"l\":[{\"a\":1}]}\n{\"l\":[null]}\n");
    store.put("b.json", "{\"l\":[null,{\"a\":1}]}\n{\"l\":[null]}\n{\"l\":[]}\n{\"l\":null}\n");
    store.put("c.json", "[{\"l\":[null,{\"a\":1}]},{\"l\":[[null]]}]");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for (key, expected) in [("a", "2"), ("b", "4")] {
            let url = format!("'s3://{BUCKET}/{key}.json'");
            let count = rows(&engine, &format!("SELECT count(*) FROM {url}")).await;
            assert_eq!(count, [format!("\"{expected}\"")], "{key}, {scan}");
            let first = format!("SELECT l[1]['a'], l[2]['a'], array_length(l) FROM {url}");
            let first = rows(&engine, &first).await;
            assert_eq!(first.len(), expected.parse::<usize>().unwrap(), "{key}, {scan}");
            assert!(first.iter().any(|row| row.contains(r#""1""#)), "{first:?}");
        }
        let bad = format!("FROM 's3://{BUCKET}/c.json'");
        says(try_rows(&engine, &bad).await, &["c.json"]);
    }
}

/// Queries that read all columns, and COPY, which leaves the keys out, get a note about keys after the sample.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_come_late_are_noted() {
    let store = Store::start().await;
    let mut text: String = (0..2000).map(|n| format!("{{\"a\":{n},\"t\":\"x\"}}\n")).collect();
    text.push_str("{\"a\":7,\"late\":\"z\"}\n");
    store.put("late.json", &text);
    store.put("late.json.gz", member(FileCompressionType::GZIP, &text).await);
    store.put("array.json", format!("[{}]", text.trim_end().replace('\n', ",\n")));
    for scan in SCANS {
        let engine = store.engine(scan).await;
        for key in ["late.json", "late.json.gz", "array.json"] {
            let url = format!("s3://{BUCKET}/{key}");
            let copy = format!(
                "COPY (SELECT * FROM '{url}') TO 's3://{BUCKET}/out-{scan}-{key}.csv' STORED AS CSV"
            );
            for sql in [format!("SELECT * FROM '{url}'"), copy] {
                rows(&engine, &sql).await;
                let notes = engine.take_notes();
                // If a statement names columns, the store does not return other keys.
                let is_asked = scan == Scan::Select && key != "array.json";
                assert_eq!(notes.len(), usize::from(!is_asked), "{sql}, {scan}: {notes:?}");
                assert!(notes.iter().all(|note| note.contains("`late`") && note.contains(key)));
            }
            rows(&engine, &format!("SELECT a FROM '{url}'")).await;
            assert_eq!(engine.take_notes(), Vec::<String>::new(), "{key}, {scan}");
            let all = format!(
                "SELECT late FROM read_json('{url}', sample_size => 5000) WHERE a = 7 AND late = 'z'"
            );
            assert_eq!(rows(&engine, &all).await, [r#""z""#], "{key}, {scan}");
        }
        let declared = format!(
            "CREATE EXTERNAL TABLE t (a INT) STORED AS JSON LOCATION 's3://{BUCKET}/late.json'"
        );
        rows(&engine, &declared).await;
        rows(&engine, "SELECT * FROM t").await;
        assert_eq!(engine.take_notes(), Vec::<String>::new(), "{scan}");
    }
}

/// Numbers are no dates: their unit is unknown.
#[tokio::test(flavor = "multi_thread")]
async fn numbers_in_json_are_no_dates() {
    let store = Store::start().await;
    store.put("ok.json", "{\"d\":\"2024-01-05\",\"t\":\"2024-01-05T10:00:00Z\",\"o\":{\"d\":[\"2024-02-01\",null]}}\n");
    store.put("days.json", "{\"d\":\"2024-01-05\"}\n{\"d\":19723}\n");
    store.put("seconds.json", "{\"t\":\"2024-01-05T10:00:00\"}\n{\"t\":1704067200}\n");
    for scan in SCANS {
        let engine = store.engine(scan).await;
        let create = |name: &str, columns: &str, key: &str| {
            format!(
                "CREATE EXTERNAL TABLE {name} ({columns}) STORED AS JSON LOCATION 's3://{BUCKET}/{key}'"
            )
        };
        rows(&engine, &create("ok", "d DATE, t TIMESTAMP, o STRUCT<d DATE[]>", "ok.json")).await;
        let all = rows(&engine, "SELECT d, t, o['d'][1] FROM ok WHERE d > DATE '2024-01-01'").await;
        assert_eq!(all, [r#""2024-01-05" | "2024-01-05T10:00:00" | "2024-02-01""#], "{scan}");
        rows(&engine, &create("days", "d DATE", "days.json")).await;
        says(try_rows(&engine, "SELECT max(d) FROM days").await, &["days.json"]);
        for unit in ["TIMESTAMP", "TIMESTAMP(0)"] {
            let create = create("seconds", &format!("t {unit}"), "seconds.json");
            rows(&engine, &create.replace("CREATE", "CREATE OR REPLACE")).await;
            says(try_rows(&engine, "SELECT max(t) FROM seconds").await, &["seconds.json"]);
        }
    }
}
