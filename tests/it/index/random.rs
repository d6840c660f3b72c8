//! Random values in random tables of every format, with any columns indexed.

use std::cell::Cell;
use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use tokio::runtime::Runtime;

use super::{create, create_table, index_in_plan};
use crate::harness::{BUCKET, Store, rows, runner, stock, stock_rows, try_rows};

/// A record of a random table: values as text, empty for NULL.
type Record =
    (Option<i64>, Option<i64>, Option<i32>, Option<&'static str>, Option<&'static str>, bool);

const FLOATS: [&str; 10] =
    ["0", "-0", "0.0", "1.5", "-2.5", "1e300", "5e-324", "NaN", "inf", "-inf"];

fn record() -> impl Strategy<Value = Record> {
    let text = prop::sample::select(vec![
        "a",
        "b",
        "ab",
        "é",
        "\"x,y\"",
        "\"line\nend\"",
        "\"crlf\r\nend\"",
        "\"say \"\"a\"\"\"",
        " ",
        "\u{10348}",
    ]);
    let some = 0.85;
    (
        prop::option::weighted(some, prop_oneof![4 => -3_i64..8, 1 => any::<i64>()]),
        prop::option::weighted(some, -250_i64..250),
        prop::option::weighted(some, -3_i32..20),
        prop::option::weighted(some, text),
        prop::option::weighted(some, prop::sample::select(FLOATS.to_vec())),
        prop::bool::weighted(0.1),
    )
}

/// The formats of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Csv,
    Json,
    Parquet,
}

impl Kind {
    fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
        }
    }
}

/// Returns the values of a record as text.
fn fields((k, d, t, s, x, _): &Record) -> [Option<String>; 5] {
    let cents = |d: &i64| {
        let sign = if *d < 0 { "-" } else { "" };
        format!("{sign}{}.{:02}", d.abs() / 100, d.abs() % 100)
    };
    let day = |t: i32| match t {
        0.. => format!("2000-01-{:02}", t + 1),
        _ => format!("1999-12-{}", 32 + t),
    };
    let text = |it: &Option<&str>| it.map(ToOwned::to_owned);
    [k.map(|k| k.to_string()), d.as_ref().map(cents), t.map(day), text(s), text(x)]
}

fn written(records: &[Record], pad: &str, crlf: bool, last_end: bool, header: bool) -> String {
    let end = if crlf { "\r\n" } else { "\n" };
    let mut text = if header { format!("k,d,t,s,x,pad{end}") } else { String::new() };
    for (number, record) in records.iter().enumerate() {
        text += &format!("{},{pad}", fields(record).map(Option::unwrap_or_default).join(","));
        if number + 1 < records.len() || last_end {
            text += end;
        }
        if record.5 {
            text += end;
        }
    }
    text
}

/// Writes the records as JSON; values that are no JSON numbers become null.
fn as_json(records: &[Record], pad: &str, crlf: bool, last_end: bool) -> String {
    let end = if crlf { "\r\n" } else { "\n" };
    let mut text = String::new();
    for (number, record) in records.iter().enumerate() {
        let mut object = Vec::new();
        for (name, value) in COLUMNS.into_iter().zip(fields(record)) {
            let Some(value) = value else {
                if number % 2 == 0 {
                    object.push(format!("\"{name}\": null"));
                }
                continue;
            };
            let value = match name {
                "k" | "d" => value,
                "x" if value.contains("n") || value.contains('N') => "null".to_owned(),
                "x" => value,
                "s" => serde_json::to_string(value.trim_matches('"')).unwrap(),
                _ => format!("\"{value}\""),
            };
            object.push(format!("\"{name}\": {value}"));
        }
        // A record may contain another one, and brackets in text.
        object.push(format!("\"pad\": \"{pad}\""));
        object.push("\"more\": {\"of\": [1, {}, \"}]{\"]}".to_owned());
        text += &format!("{{{}}}", object.join(", "));
        if number + 1 < records.len() || last_end {
            text += end;
        }
        if record.5 {
            text += end;
        }
    }
    text
}

/// Converts the records to Parquet with small pages and row groups.
async fn as_parquet(folder: &Path, csv: &str, header: bool) -> Vec<u8> {
    let stock = stock();
    let (from, to) = (folder.join("from.csv"), folder.join("to.parquet"));
    std::fs::write(&from, csv).unwrap();
    let _ = std::fs::remove_file(&to);
    stock_rows(&stock, &ddl(Kind::Csv, &from.display().to_string(), header)).await.unwrap();
    let copy = format!(
        "COPY (SELECT * FROM t) TO '{}' STORED AS PARQUET OPTIONS ('max_row_group_size' '16', \
         'data_page_row_count_limit' '4', 'write_batch_size' '4')",
        to.display()
    );
    stock_rows(&stock, &copy).await.unwrap();
    std::fs::remove_file(&from).unwrap();
    let bytes = std::fs::read(&to).unwrap();
    std::fs::remove_file(&to).unwrap();
    bytes
}

const COLUMNS: [&str; 5] = ["k", "d", "t", "s", "x"];

const STATEMENTS: [&str; 36] = [
    "SELECT * FROM t WHERE k = 3",
    "SELECT s FROM t WHERE k IN (1, 5, -2, 100)",
    "SELECT k, d FROM t WHERE k >= 2 AND k < 5 AND d > 0.5",
    "SELECT * FROM t WHERE k > 9223372036854775806",
    "SELECT count(*), sum(k) FROM t WHERE k BETWEEN -1 AND 4",
    "SELECT k, count(*) FROM t WHERE k < 3 GROUP BY k",
    "SELECT * FROM t WHERE d = 1.25 OR d = -0.5 OR d > 2.4",
    "SELECT * FROM t WHERE d <= -1.5",
    "SELECT * FROM t WHERE (k > 2 AND d < 1) OR k < 1",
    "SELECT t, k FROM t WHERE t = DATE '2000-01-01'",
    "SELECT t FROM t WHERE t > DATE '2000-01-03' AND t <= DATE '2000-01-07'",
    "SELECT * FROM t WHERE s = 'a'",
    "SELECT s FROM t WHERE s >= 'b' AND s < 'é'",
    "SELECT * FROM t WHERE s IN ('x,y', 'crlf\r\nend', 'é')",
    "SELECT k FROM t WHERE s = 'line\nend' ORDER BY k LIMIT 3",
    "SELECT * FROM t WHERE k = 3 AND s = 'a' AND t IS NOT NULL",
    "SELECT * FROM t WHERE k = 2 AND s = 'b'",
    "SELECT d FROM t WHERE k = 4 AND s = 'é' AND d = 1.25",
    "SELECT a.k FROM t a JOIN t b ON a.k = b.k WHERE a.k = 2 AND b.d < 0",
    "SELECT * FROM t WHERE k IS NULL",
    "SELECT k, s FROM t WHERE s IS NOT NULL AND k = 3",
    "SELECT count(*) FROM t WHERE k IS NULL AND x IS NULL",
    "SELECT * FROM t WHERE d IS NULL OR d = 1.25",
    "SELECT * FROM t WHERE x = 0",
    "SELECT * FROM t WHERE x < 0",
    "SELECT x FROM t WHERE x <= -0.0 AND x > -3",
    "SELECT x, k FROM t WHERE x >= 0.0 AND x < 1",
    "SELECT x FROM t WHERE x > 1e300",
    "SELECT x FROM t WHERE x = CAST('NaN' AS DOUBLE)",
    "SELECT x FROM t WHERE x >= CAST('NaN' AS DOUBLE) OR x < CAST('-inf' AS DOUBLE)",
    "SELECT x FROM t WHERE x IN (0, 1.5)",
    "SELECT * FROM t WHERE x IN (CAST('-0' AS DOUBLE), CAST('NaN' AS DOUBLE))",
    "SELECT * FROM t WHERE k = 3 AND d > 0",
    "SELECT * FROM t WHERE k IN (1, 2, 3) AND s = 'a' AND x > -3",
    "SELECT t FROM t WHERE k >= 0 AND d < 1 AND t > DATE '2000-01-02' AND s > ' ' AND x IS NOT NULL",
    "SELECT * FROM t WHERE (k = 1 OR k = 3) AND (d IS NULL OR d < 0)",
];

fn ddl(kind: Kind, location: &str, header: bool) -> String {
    let table = "CREATE EXTERNAL TABLE t";
    match kind {
        Kind::Csv => format!(
            "{table} (k BIGINT, d DECIMAL(9, 2), t DATE, s VARCHAR, x DOUBLE, pad VARCHAR) STORED AS CSV \
             LOCATION '{location}' OPTIONS ('format.has_header' '{header}', \
             'format.newlines_in_values' 'true')"
        ),
        Kind::Json => format!(
            "{table} (k BIGINT, d DECIMAL(9, 2), t DATE, s VARCHAR, x DOUBLE, pad VARCHAR) STORED AS JSON \
             LOCATION '{location}'"
        ),
        Kind::Parquet => format!("{table} STORED AS PARQUET LOCATION '{location}'"),
    }
}

/// The format, the records of each object, the indexed columns, how the text is written, which objects have an index,
/// and the ranges of a request.
type Case = (
    Kind,
    Vec<Vec<Record>>,
    Vec<&'static str>,
    (bool, bool, bool, bool),
    (bool, bool, bool),
    usize,
);

/// CSV, JSON and Parquet; duplicates, NULLs, quoted line ends, CRLF, multi-byte text, blank lines, empty objects, a
/// last record without an end; stores with Select and several ranges in a request, and without; all columns indexed,
/// some, or some objects.
#[test]
fn index_scans_equal_datafusion_over_random_tables() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let local = tempfile::tempdir().unwrap();
    let kind = prop::sample::select(vec![Kind::Csv, Kind::Csv, Kind::Json, Kind::Parquet]);
    let objects = prop::collection::vec(prop::collection::vec(record(), 0..40), 1..4);
    let columns = prop::sample::subsequence(&COLUMNS[..], 1..=5);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let together = prop::sample::select(vec![1, 2, 3, 256]);
    let (number, compared, indexed, several, by_table) =
        (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    // A case in which several indexes and index tables are used, whatever the seed is.
    let tree = objects.new_tree(&mut TestRunner::deterministic()).unwrap();
    let certain = (
        Kind::Csv,
        tree.current(),
        COLUMNS.to_vec(),
        (false, true, true, true),
        (false, false, true),
        256,
    );
    let check = |(kind, objects, columns, (crlf, last_end, header, select), others, together): Case|
     -> Result<(), TestCaseError> {
        let (partial, stale, wide) = others;
        number.set(number.get() + 1);
        let folder = local.path().join(number.get().to_string());
        let location = format!("s3://{BUCKET}/{}/", number.get());
        // With wide records, the number of records read matters if a request costs nothing, or so little that
        // several ranges in one are still better.
        let pad = if wide { "y".repeat(3000) } else { String::new() };
        let mut hardware =
            sluicegate_costmodel::HardwareProfile::by_name("local-1gbit").unwrap().clone();
        if wide {
            hardware.link.latency = std::time::Duration::ZERO;
            hardware.requests.per_second = if together == 1 { 1e12 } else { 1e5 };
        }
        let written = |records: &[Record]| match kind {
            Kind::Csv | Kind::Parquet => written(records, &pad, crlf, last_end, header),
            Kind::Json => as_json(records, &pad, crlf, last_end),
        };
        let text: Vec<String> = objects.iter().map(|it| written(it)).collect();
        runtime.block_on(async {
            std::fs::create_dir(&folder).unwrap();
            let put = async |object: usize, text: &str| {
                let name = format!("{object}.{}", kind.extension());
                let bytes = match kind {
                    Kind::Parquet => as_parquet(local.path(), text, header).await,
                    Kind::Csv | Kind::Json => text.as_bytes().to_vec(),
                };
                std::fs::write(folder.join(&name), &bytes).unwrap();
                store.put(&format!("{}/{name}", number.get()), bytes);
            };
            for (object, text) in text.iter().enumerate() {
                put(object, text).await;
            }
            let profile = match select {
                true => StoreCapabilities::sluice(),
                false => StoreCapabilities::get_only(),
            };
            let builder = store.builder().profile(profile).hardware(hardware);
            let engine = builder.scan(Scan::Index).build().await.unwrap();
            rows(&engine, &format!("SET sluice.ranges_per_request = {together}")).await;
            rows(&engine, &ddl(kind, &location, header)).await;
            for column in &columns {
                create(&engine, "t", column).await.unwrap();
            }
            // Index tables have no text, and need S3 Select.
            let with_tables = select && kind != Kind::Parquet;
            for column in columns.iter().filter(|column| with_tables && **column != "s") {
                create_table(&engine, "t", column).await.unwrap();
            }
            if partial {
                let one = (Some(7), Some(7), Some(0), Some("a"), Some("0"), false);
                let other = (Some(3), Some(125), Some(1), None, None, false);
                put(text.len(), &written(&[one, other])).await;
            }
            if stale {
                put(0, &text[0].replace('3', "2")).await;
            }
            // The oracle caches listings and footers, so it starts after the objects are written.
            let stock = stock();
            let theirs = ddl(kind, &format!("{}/", folder.display()), header);
            stock_rows(&stock, &theirs).await.unwrap();
            for sql in STATEMENTS {
                let expected = stock_rows(&stock, sql).await.unwrap();
                let actual = try_rows(&engine, sql).await.map_err(|error| error.to_string());
                prop_assert_eq!(actual, Ok(expected), "{} over {:?} {:?}", sql, kind, text);
                compared.set(compared.get() + 1);
                let plan = index_in_plan(&engine, sql).await.unwrap_or_default();
                indexed.set(indexed.get() + usize::from(!plan.is_empty()));
                several.set(several.get() + usize::from(plan.contains(" and ")));
                if with_tables {
                    rows(&engine, "SET sluice.scan = 'index_table'").await;
                    let expected = stock_rows(&stock, sql).await.unwrap();
                    let actual = try_rows(&engine, sql).await;
                    let actual = actual.map_err(|error| error.to_string());
                    prop_assert_eq!(actual, Ok(expected), "{} over {:?} {:?}", sql, kind, text);
                    let explained = engine.explain(sql).await.unwrap().to_string();
                    by_table.set(by_table.get() + usize::from(explained.contains("* index_table")));
                    rows(&engine, "SET sluice.scan = 'index'").await;
                }
            }
            Ok(())
        })
    };
    check(certain).unwrap();
    let others = (any::<bool>(), any::<bool>(), any::<bool>());
    runner(16).run(&(kind, objects, columns, flags, others, together), check).unwrap();
    let (compared, indexed) = (compared.get(), indexed.get());
    assert!(indexed * 3 > compared, "only {indexed} of {compared} statements used an index");
    assert!(by_table.get() > 0, "no statement used an index table");
    let several = several.get();
    assert!(several > 0, "none of {compared} statements used several");
}
