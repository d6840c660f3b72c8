//! Indexes: what they lead to is what plain DataFusion finds, also when they are stale, damaged or
//! missing; and they read little.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_engine::index::csv_text::CsvText;
use sluicegate_engine::index::format::Format;
use sluicegate_engine::index::manage::{Index, Indexes, Look, State};
use sluicegate_s3select::profile::EndpointProfile;
use tokio::runtime::Runtime;

use crate::cli::{Served, bad, good, text};
use crate::csv_options;
use crate::harness::{BUCKET, Store, rows, stock, stock_rows, try_rows};

/// Creates the index of a column, where it is missing.
pub(crate) async fn create(
    engine: &Engine,
    table: &str,
    column: &str,
) -> sluicegate_engine::Result<usize> {
    create_after(engine, table, column, Look::Top).await
}

async fn create_after(
    engine: &Engine,
    table: &str,
    column: &str,
    look: Look,
) -> sluicegate_engine::Result<usize> {
    let Some(indexes) = Indexes::of(engine, table).await? else { return Ok(0) };
    let column = indexes.column(column)?;
    let missing = indexes.missing(&column, look).await?;
    let nothing: Arc<dyn Fn(u64) + Send + Sync> = Arc::new(|_| ());
    Ok(indexes.create(&column, missing.objects, &nothing).await?.len())
}

async fn table_indexes(engine: &Engine, table: &str) -> Indexes {
    Indexes::of(engine, table).await.unwrap().unwrap()
}

async fn list(engine: &Engine, table: &str) -> Vec<Index> {
    table_indexes(engine, table).await.list().await.unwrap()
}

/// Whether a plan reads through an index.
async fn is_indexed(engine: &Engine, sql: &str) -> bool {
    index_in_plan(engine, sql).await.is_some()
}

/// What a plan looks up.
async fn index_in_plan(engine: &Engine, sql: &str) -> Option<String> {
    let plan = engine.explain(sql).await.unwrap().plan;
    let plan = datafusion::physical_plan::displayable(plan.as_ref()).indent(false).to_string();
    let (_, index) = plan.split_once(", index=")?;
    Some(index.split_once(", gap=").unwrap().0.to_owned())
}

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

/// How objects are written.
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

/// The values of a record, as text.
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

/// The same as JSON, with what a number there cannot be left out.
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
        // A record may hold another, and brackets in text.
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

/// The same as Parquet with small pages and row groups.
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

const STATEMENTS: [&str; 33] = [
    "SELECT * FROM t WHERE k = 3",
    "SELECT s FROM t WHERE k IN (1, 5, -2, 100)",
    "SELECT k, d FROM t WHERE k >= 2 AND k < 5 AND d > 0.5",
    "SELECT * FROM t WHERE k > 9223372036854775806",
    "SELECT count(*), sum(k) FROM t WHERE k BETWEEN -1 AND 4",
    "SELECT k, count(*) FROM t WHERE k < 3 GROUP BY k",
    "SELECT * FROM t WHERE d = 1.25 OR d = -0.5 OR d > 2.4",
    "SELECT * FROM t WHERE d <= -1.5",
    "SELECT t, k FROM t WHERE t = DATE '2000-01-01'",
    "SELECT t FROM t WHERE t > DATE '2000-01-03' AND t <= DATE '2000-01-07'",
    "SELECT * FROM t WHERE s = 'a'",
    "SELECT s FROM t WHERE s >= 'b' AND s < 'é'",
    "SELECT * FROM t WHERE s IN ('x,y', 'crlf\r\nend', 'é')",
    "SELECT k FROM t WHERE s = 'line\nend' ORDER BY k LIMIT 3",
    "SELECT * FROM t WHERE k = 3 AND s = 'a' AND t IS NOT NULL",
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

fn runner(cases: u32) -> TestRunner {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// CSV, JSON and Parquet; duplicates, NULLs, quoted line ends, CRLF, multi-byte text, blank lines, empty
/// objects, a last record without an end; stores with Select and several ranges in a request, and
/// without; all columns indexed, some, or some objects.
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
    let (number, compared, indexed, several) =
        (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let result = runner(48).run(
        &(kind, objects, columns, flags, (any::<bool>(), any::<bool>(), any::<bool>()), together),
        |(kind, objects, columns, (crlf, last_end, header, select), others, together)| {
            let (partial, stale, wide) = others;
            number.set(number.get() + 1);
            let folder = local.path().join(number.get().to_string());
            let location = format!("s3://{BUCKET}/{}/", number.get());
            // Of wide records it matters how many are read, if a request costs nothing, or so little that
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
                    true => EndpointProfile::sluice(),
                    false => EndpointProfile::get_only(),
                };
                let builder = store.builder().profile(profile).hardware(hardware);
                let engine = builder.scan(Scan::Index).build().await.unwrap();
                rows(&engine, &format!("SET sluice.ranges_per_request = {together}")).await;
                rows(&engine, &ddl(kind, &location, header)).await;
                for column in &columns {
                    create(&engine, "t", column).await.unwrap();
                }
                if partial {
                    let one = (Some(7), Some(7), Some(0), Some("a"), Some("0"), false);
                    let other = (Some(3), Some(125), Some(1), None, None, false);
                    put(text.len(), &written(&[one, other])).await;
                }
                if stale {
                    put(0, &text[0].replace('3', "2")).await;
                }
                // It remembers listings and footers, so it begins now.
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
                }
                Ok(())
            })
        },
    );
    result.unwrap();
    let (compared, indexed) = (compared.get(), indexed.get());
    assert!(indexed * 3 > compared, "only {indexed} of {compared} statements used an index");
    let several = several.get();
    assert!(several * 50 > compared, "only {several} of {compared} statements used several");
}

/// Whatever separates, quotes, escapes, comments and ends: records are cut as the reader cuts them.
#[test]
fn every_option_of_a_table_is_indexed_alike() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let local = tempfile::tempdir().unwrap();
    let (number, indexed) = (Cell::new(0), Cell::new(0));
    let inputs = (1_usize..4).prop_flat_map(|columns| {
        let records = prop::collection::vec(csv_options::record(columns), 0..8);
        (Just(columns), csv_options::Options::any(), records, any::<bool>(), any::<bool>())
    });
    let result = runner(128).run(&inputs, |(columns, options, records, crlf, mark)| {
        number.set(number.get() + 1);
        let mut bytes = csv_options::object(&options, &records, crlf);
        if mark {
            // A byte order mark, at the start and before another record.
            bytes.splice(0..0, *b"\xef\xbb\xbf");
        }
        let key = format!("{}/a.csv", number.get());
        store.put(&key, &bytes);
        let file = local.path().join(format!("{}.csv", number.get()));
        std::fs::write(&file, &bytes).unwrap();
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        runtime.block_on(async {
            let stock = stock();
            let ddl = options.ddl(columns, &file.display().to_string());
            if stock_rows(&stock, &ddl).await.is_err() || bytes.is_empty() {
                return Ok(());
            }
            let engine = store.engine(Scan::Index).await;
            let location = format!("s3://{BUCKET}/{}/", number.get());
            rows(&engine, &options.ddl(columns, &location)).await;
            if create(&engine, "x", "c1").await.is_err() {
                // What cannot be read whole is not indexed.
                let read = stock_rows(&stock, "SELECT c1 FROM x").await;
                prop_assert!(read.is_err(), "{:?} as {:?}", shown, options);
                return Ok(());
            }
            for sql in [
                "SELECT * FROM x WHERE c1 = 'a'",
                "SELECT * FROM x WHERE c1 IN ('ab', 'b', '\u{feff}a', 'é')",
                "SELECT * FROM x WHERE c1 > 'a'",
                "SELECT c1 FROM x WHERE c1 < 'b'",
            ] {
                let expected = stock_rows(&stock, sql).await.unwrap();
                let actual = try_rows(&engine, sql).await.map_err(|error| error.to_string());
                prop_assert_eq!(actual, Ok(expected), "{} over {:?} as {:?}", sql, shown, options);
                indexed.set(indexed.get() + usize::from(is_indexed(&engine, sql).await));
            }
            Ok(())
        })
    });
    result.unwrap();
    assert!(indexed.get() > 50, "only {} statements used an index", indexed.get());
}

fn key(object: usize, record: usize, records: usize) -> usize {
    (record * 7919 + object * 31) % (records * 2)
}

/// A table of some objects with numbers in no order, and the index of its column `k`.
pub(crate) async fn numbers(
    store: &Store,
    engine: &Engine,
    objects: usize,
    records: usize,
) -> usize {
    let mut bytes = 0;
    for object in 0..objects {
        let mut text = String::from("k,v,pad\n");
        for record in 0..records {
            text += &format!(
                "{},{object}-{record},{}\n",
                key(object, record, records),
                "x".repeat(record % 90)
            );
        }
        bytes += text.len();
        store.put(&format!("n/{object}.csv"), &text);
    }
    rows(
        engine,
        &format!(
            "CREATE EXTERNAL TABLE n (k BIGINT, v VARCHAR, pad VARCHAR) STORED AS CSV \
             LOCATION 's3://{BUCKET}/n/' OPTIONS ('format.has_header' 'true')"
        ),
    )
    .await;
    assert_eq!(create(engine, "n", "k").await.unwrap(), objects);
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_up_reads_a_small_part_of_the_table_and_of_its_index() {
    let store = Store::start().await;
    for profile in [EndpointProfile::sluice(), EndpointProfile::get_only()] {
        let engine = store.builder().profile(profile).scan(Scan::Index).build().await.unwrap();
        rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
        std::fs::remove_dir_all(store.folder.path().join(BUCKET)).unwrap();
        std::fs::create_dir(store.folder.path().join(BUCKET)).unwrap();
        let bytes = numbers(&store, &engine, 3, 40_000).await;
        let before = engine.counted();
        let found = rows(&engine, "SELECT v FROM n WHERE k IN (4000, 30001)").await;
        let wanted = (0..3 * 40_000)
            .filter(|n| [4000, 30_001].contains(&key(n / 40_000, n % 40_000, 40_000)));
        assert_eq!(found.len(), wanted.count(), "{found:?}");
        assert!(!found.is_empty());
        let counted = engine.counted().since(&before);
        assert_eq!((counted.select, counted.fallbacks), (0, 0), "{counted:?}");
        // The table and its indexes; a look at one top when planning; for each object, a top, at
        // most two blocks and two ranges.
        assert_eq!(counted.list, 2, "{counted:?}");
        assert!(counted.get <= 1 + 3 * 5, "{counted:?}");
        assert!(counted.got_bytes < bytes as u64 / 10, "{counted:?} of {bytes}");
    }
}

/// Planning asks the same few requests for any number of objects.
#[tokio::test(flavor = "multi_thread")]
async fn planning_does_not_look_at_each_object() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
    numbers(&store, &engine, 40, 10).await;
    let planned = async || {
        let query = engine.plan("SELECT v FROM n WHERE k = 3").await.unwrap();
        query.frame().clone().create_physical_plan().await.unwrap();
        let counted = query.counted();
        (counted.list, counted.get)
    };
    assert_eq!(planned().await, (2, 1));
    // With auto, so small a table is not worth a listing.
    rows(&engine, "SET sluice.scan = 'auto'").await;
    assert_eq!(planned().await, (1, 0));
}

/// With auto, who wants little of a large table finds its index, and who wants much leaves it.
#[tokio::test(flavor = "multi_thread")]
async fn auto_takes_an_index_where_it_is_better() {
    let store = Store::start().await;
    let builder = store.builder().profile(EndpointProfile::get_only());
    let mut hardware =
        sluicegate_costmodel::HardwareProfile::by_name("local-1gbit").unwrap().clone();
    hardware.link.latency = std::time::Duration::from_micros(100);
    let engine = builder.hardware(hardware).build().await.unwrap();
    numbers(&store, &engine, 2, 40_000).await;
    assert!(is_indexed(&engine, "SELECT v FROM n WHERE k = 77").await);
    assert!(!is_indexed(&engine, "SELECT v FROM n WHERE k > 77").await);
    assert!(!is_indexed(&engine, "SELECT v FROM n").await);
    let text = engine.explain("SELECT v FROM n WHERE k = 77").await.unwrap().to_string();
    assert!(text.contains("* index"), "{text}");
    assert!(text.contains("k by k@0 = 77 (gaps of up to"), "{text}");
    let text = engine.explain("SELECT v FROM n WHERE v = '77'").await.unwrap().to_string();
    let why = "not possible: the filter compares no column that has an index (k) with constants";
    assert!(text.contains(why), "{text}");
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
        .iter()
        .flat_map(|path| if path.is_dir() { files(path) } else { vec![path.clone()] })
        .collect()
}

const FEW: &str = "SELECT v FROM n WHERE k IN (40, 41, 800)";

/// Stale, cut short, damaged, of another object, of no index at all, gone: noted, and not used.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_cannot_be_relied_on_is_not_used() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    numbers(&store, &engine, 2, 5_000).await;
    let expected = rows(&engine, FEW).await;
    assert!(!expected.is_empty());
    let _ = engine.take_notes();
    let indexes = files(&store.folder.path().join(BUCKET).join(".sluice-index"));
    assert_eq!(indexes.len(), 2);
    let sound = std::fs::read(&indexes[0]).unwrap();
    let other = std::fs::read(&indexes[1]).unwrap();
    let mut damaged = vec![
        ("cut short", sound[..sound.len() / 2].to_vec()),
        ("cut short", sound[..10].to_vec()),
        ("cut short", Vec::new()),
        ("it is about n/1.csv", other),
        ("no index at all", vec![b'x'; sound.len()]),
        ("damaged", {
            let mut longer = sound.clone();
            let middle = sound.len() / 2;
            longer.iter_mut().skip(middle).take(20).for_each(|byte| *byte ^= 1);
            longer
        }),
    ];
    // Wherever a bit is wrong.
    damaged.extend((8..sound.len()).step_by(sound.len() / 40).map(|at| {
        let mut wrong = sound.clone();
        wrong[at] ^= 4;
        ("", wrong)
    }));
    for (why, bytes) in damaged {
        std::fs::write(&indexes[0], &bytes).unwrap();
        assert_eq!(rows(&engine, FEW).await, expected, "{why}");
        let notes = engine.take_notes().join("\n");
        assert!(notes.contains(why), "{why}: {notes}");
        if !why.is_empty() {
            assert!(notes.contains("the index of k for n/0.csv is not used: "), "{notes}");
        }
        let table = table_indexes(&engine, "n").await;
        let listed = table.list().await.unwrap();
        assert!(table.verify(&listed[0]).await.unwrap().is_some(), "{why}");
        assert_eq!(table.verify(&listed[1]).await.unwrap(), None);
        let too_short = bytes.len() < 24;
        assert_eq!(listed[0].state == State::Damaged, too_short, "{why}");
        // What notes advise works.
        let unnoticed = create(&engine, "n", "k").await.unwrap() == 0;
        assert!(!unnoticed || why.is_empty() || why == "damaged", "{why}");
        let repaired = create_after(&engine, "n", "k", Look::Whole).await.unwrap();
        assert_eq!(repaired, usize::from(unnoticed), "{why}");
        assert_eq!(rows(&engine, FEW).await, expected, "{why}");
        assert!(engine.take_notes().is_empty(), "{why}");
    }
    // Gone, then both: the table is read as if it had none.
    std::fs::remove_file(&indexes[0]).unwrap();
    assert_eq!(rows(&engine, FEW).await, expected);
    assert!(is_indexed(&engine, FEW).await);
    std::fs::remove_file(&indexes[1]).unwrap();
    let query = engine.plan(FEW).await.unwrap();
    assert_eq!(
        query.collect().await.unwrap().iter().map(|it| it.num_rows()).sum::<usize>(),
        expected.len()
    );
    let warning = query.warnings().join("\n");
    assert!(
        warning.contains("the table has no index; `sluice index create` makes one"),
        "{warning}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_of_a_former_version_is_stale_until_it_is_made_again() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    numbers(&store, &engine, 2, 500).await;
    store.put("n/0.csv", "k,v,pad\n1,new,\n40,new,\n");
    let states: Vec<_> = list(&engine, "n").await.iter().map(|index| index.state).collect();
    assert_eq!(states, [State::Stale, State::Fresh]);
    let found = rows(&engine, "SELECT v FROM n WHERE k = 40").await;
    assert!(found.contains(&"\"new\"".to_owned()), "{found:?}");
    store.put("n/1.csv", "k,v,pad\n2,newer,\n40,newer,\n");
    let query = engine.plan("SELECT v FROM n WHERE k = 40").await.unwrap();
    query.collect().await.unwrap();
    let warning = query.warnings().join("\n");
    assert!(warning.contains("since the index of k was created"), "{warning}");
    assert_eq!(create(&engine, "n", "k").await.unwrap(), 2);
    // The former ones are gone.
    let states: Vec<_> = list(&engine, "n").await.iter().map(|index| index.state).collect();
    assert_eq!(states, [State::Fresh, State::Fresh]);
    assert_eq!(create(&engine, "n", "k").await.unwrap(), 0);
    assert!(is_indexed(&engine, "SELECT v FROM n WHERE k = 40").await);
    assert_eq!(rows(&engine, "SELECT v FROM n WHERE k = 2").await, ["\"newer\""]);
    // Another table over the same objects has its own.
    rows(
        &engine,
        &format!(
            "CREATE EXTERNAL TABLE m (k VARCHAR, v VARCHAR, pad VARCHAR) STORED AS CSV \
             LOCATION 's3://{BUCKET}/n/' OPTIONS ('format.has_header' 'true')"
        ),
    )
    .await;
    assert_eq!(rows(&engine, "SELECT v FROM m WHERE k = '2'").await, ["\"newer\""]);
    assert!(!is_indexed(&engine, "SELECT v FROM m WHERE k = '2'").await);
    assert_eq!(create(&engine, "m", "k").await.unwrap(), 2);
    assert!(is_indexed(&engine, "SELECT v FROM m WHERE k = '2'").await);
    assert!(is_indexed(&engine, "SELECT v FROM n WHERE k = 2").await);
}

/// The layout of former versions is not read, and said so; indexes of it are replaced.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_of_a_former_program_is_not_used() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Index).await;
    numbers(&store, &engine, 1, 500).await;
    let indexes = files(&store.folder.path().join(BUCKET).join(".sluice-index"));
    let name = indexes[0].file_name().unwrap().to_str().unwrap().to_owned();
    let text = CsvText {
        columns: 3,
        header: true,
        delimiter: b',',
        quote: b'"',
        escape: None,
        comment: None,
        terminator: None,
        truncated_rows: false,
    };
    let format = Format::Csv(text);
    let (now, former) = (format.tag(0, "Int64"), format.tag_of_version(0, "Int64", 1));
    assert!(name.contains(&now.to_string()), "{name}");
    let renamed = indexes[0].with_file_name(name.replace(&now.to_string(), &former.to_string()));
    std::fs::rename(&indexes[0], renamed).unwrap();
    let states: Vec<_> = list(&engine, "n").await.iter().map(|index| index.state).collect();
    assert_eq!(states, [State::FormerVersion]);
    let query = engine.plan(FEW).await.unwrap();
    query.collect().await.unwrap();
    let warning = query.warnings().join("\n");
    assert!(warning.contains("another version of this program made the index of k"), "{warning}");
    assert_eq!(create(&engine, "n", "k").await.unwrap(), 1);
    let states: Vec<_> = list(&engine, "n").await.iter().map(|index| index.state).collect();
    assert_eq!(states, [State::Fresh]);
    assert!(is_indexed(&engine, FEW).await);
}

/// Where two columns each lead to many records and both to few, both are looked up.
#[tokio::test(flavor = "multi_thread")]
async fn several_indexes_are_used_together() {
    let store = Store::start().await;
    let mut text = String::from("a,b,pad\n");
    for record in 0..60_000 {
        let (a, b) = (record % 500, record * 7919 % 60_000 / 120);
        text += &format!("{a},{b},{}\n", "x".repeat(60));
    }
    store.put("two/a.csv", &text);
    for profile in [EndpointProfile::sluice(), EndpointProfile::get_only()] {
        let engine = store.builder().profile(profile).scan(Scan::Index).build().await.unwrap();
        rows(
            &engine,
            &format!(
                "CREATE EXTERNAL TABLE two (a BIGINT, b BIGINT, pad VARCHAR) STORED AS CSV \
                 LOCATION 's3://{BUCKET}/two/' OPTIONS ('format.has_header' 'true')"
            ),
        )
        .await;
        for column in ["a", "b"] {
            create(&engine, "two", column).await.unwrap();
        }
        // Asked for together, the records of one column are not worth a look at the other.
        rows(&engine, "SET sluice.ranges_per_request = 1").await;
        let both = "SELECT a, b FROM two WHERE a = 7 AND b < 5";
        let plan = index_in_plan(&engine, both).await.unwrap();
        assert!(plan.contains("a by a@0 = 7") && plan.contains(" and "), "{plan}");
        assert!(plan.contains("b by b@1 < 5"), "{plan}");
        let explained = engine.explain(both).await.unwrap().to_string();
        assert!(explained.contains(" and b by b@1 < 5 (gaps of up to"), "{explained}");
        let wanted = (0..60_000).filter(|n| n % 500 == 7 && n * 7919 % 60_000 / 120 < 5).count();
        let before = engine.counted();
        assert_eq!(rows(&engine, both).await.len(), wanted);
        let counted = engine.counted().since(&before);
        assert!(counted.got_bytes < text.len() as u64 / 10, "{counted:?}");
        // One of them damaged: the other is enough.
        let indexes = files(&store.folder.path().join(BUCKET).join(".sluice-index/two"));
        let sound = std::fs::read(&indexes[1]).unwrap();
        let mut damaged = sound.clone();
        damaged[8..40_000].fill(0);
        std::fs::write(&indexes[1], damaged).unwrap();
        let _ = engine.take_notes();
        assert_eq!(rows(&engine, both).await.len(), wanted);
        let notes = engine.take_notes().join("\n");
        assert!(notes.contains("the index of b for two/a.csv is not used"), "{notes}");
        std::fs::write(&indexes[1], sound).unwrap();
    }
}

/// A look-up in Parquet reads the pages of its rows, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn of_parquet_only_the_pages_of_wanted_rows_are_read() {
    let store = Store::start().await;
    let stock = stock();
    let local = tempfile::tempdir().unwrap();
    let file = local.path().join("a.parquet");
    let copy = format!(
        "COPY (SELECT value * 7919 % 200000 AS k, repeat(CAST(value AS VARCHAR), 20) AS v \
         FROM generate_series(0, 199999)) TO '{}' STORED AS PARQUET \
         OPTIONS ('data_page_row_count_limit' '1000', 'dictionary_enabled' 'false', \
         'compression' 'uncompressed')",
        file.display()
    );
    stock_rows(&stock, &copy).await.unwrap();
    let bytes = std::fs::read(&file).unwrap();
    store.put("p/a.parquet", &bytes);
    let engine = store.engine(Scan::Index).await;
    let url = format!("s3://{BUCKET}/p/a.parquet");
    assert_eq!(create(&engine, &url, "k").await.unwrap(), 1);
    let sql = |table: &str| format!("SELECT v FROM \"{table}\" WHERE k IN (4711, 150000)");
    assert!(is_indexed(&engine, &sql(&url)).await);
    let before = engine.counted();
    let found = rows(&engine, &sql(&url)).await;
    let counted = engine.counted().since(&before);
    let here =
        format!("CREATE EXTERNAL TABLE here STORED AS PARQUET LOCATION '{}'", file.display());
    stock_rows(&stock, &here).await.unwrap();
    let expected = stock_rows(&stock, &sql("here")).await.unwrap();
    assert_eq!(found, expected);
    assert_eq!(found.len(), 2);
    assert_eq!((counted.select, counted.fallbacks), (0, 0), "{counted:?}");
    assert!(counted.got_bytes < bytes.len() as u64 / 8, "{counted:?} of {}", bytes.len());
    assert!(!is_indexed(&engine, &format!("SELECT v FROM '{url}'")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_may_be_in_another_bucket() {
    let store = Store::start().await;
    std::fs::create_dir(store.folder.path().join("other")).unwrap();
    let engine = store.engine(Scan::Index).await;
    rows(&engine, "SET sluice.index_location = 's3://other/some/'").await;
    numbers(&store, &engine, 2, 500).await;
    assert!(!store.folder.path().join(BUCKET).join(".sluice-index").exists());
    assert_eq!(files(&store.folder.path().join("other/some/test/n")).len(), 2);
    assert!(is_indexed(&engine, FEW).await);
    assert_eq!(rows(&engine, FEW).await.len(), rows(&engine, FEW).await.len());
    rows(&engine, "SET sluice.index_location = ''").await;
    assert!(!is_indexed(&engine, FEW).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_indexed_says_why() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    store.put("bad/a.csv", "k,b\n1,true\n2\n");
    store.put("bad/b.csv", "k,b\n1,true\n");
    store.put("j/a.json", "[{\"k\": 1}]\n");
    store.put("f.csv", "k,b\n1,true\nseven,true\n");
    store.put("z/a.csv.gz", [0x1f, 0x8b]);
    let table = |name: &str, at: &str, kind: &str| {
        format!(
            "CREATE EXTERNAL TABLE {name} (k BIGINT, b BOOLEAN) STORED AS {kind} LOCATION 's3://{BUCKET}/{at}'"
        )
    };
    rows(&engine, &table("bad", "bad/", "CSV")).await;
    let array = " OPTIONS ('format.newline_delimited' 'false')";
    rows(&engine, &(table("j", "j/", "JSON") + array)).await;
    rows(&engine, &table("f", "f.csv", "CSV")).await;
    let compressed = " OPTIONS ('format.compression' 'gzip')";
    rows(&engine, &(table("z", "z/", "CSV") + compressed)).await;
    for (name, column, why) in [
        ("bad", "k", "bad/a.csv, which is not indexed"),
        ("bad", "k", "record 3 has 1 fields, and the table 2 columns"),
        ("f", "k", "'seven'"),
        ("f", "b", "column b is of type Boolean; an index can be about whole, decimal and"),
        ("f", "y", "the objects have no column y; they have k, b"),
        ("z", "k", "its objects are compressed"),
        ("j", "k", "each object is one JSON array"),
        ("information_schema.tables", "k", "is not a table of objects in a bucket"),
        ("(SELECT k FROM f UNION ALL SELECT k FROM f)", "k", "is not a table of objects"),
    ] {
        let error = create(&engine, name, column).await.unwrap_err().to_string();
        assert!(error.contains(why), "{name}.{column}: {error}");
    }
    // Nothing is left of what failed.
    let left = store.folder.path().join(BUCKET).join(".sluice-index/bad/a.csv");
    assert!(!left.exists() || files(&left).is_empty());
}

#[test]
fn the_command_line_creates_lists_verifies_and_drops() {
    let served = Served::start();
    let url = "s3://bucket/fruit.csv";
    let index = |args: &[&str]| served.command(&[&["index"], args].concat());
    assert_eq!(good(&mut index(&["create", url, "id"])), "");
    let listed = good(&mut index(&["list", url, "--format", "csv"]));
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines[0], "object,column,state,bytes,index");
    assert!(lines[1].starts_with("s3://bucket/fruit.csv,id,fresh,"), "{listed}");
    assert!(lines[1].contains(",s3://bucket/.sluice-index/fruit.csv/_id."), "{listed}");
    let sql = format!("SELECT name FROM '{url}' WHERE id = 2");
    let found =
        good(&mut served.command(&["sql", "--scan", "index", "--format", "csv", "-c", &sql]));
    assert_eq!(found, "name\n\"pear, green\"\n");
    let explained = good(&mut served.command(&["explain", "--scan", "index", "-c", &sql]));
    assert!(explained.contains("* index"), "{explained}");
    let verified = good(&mut index(&["verify", url, "--format", "csv"]));
    assert!(verified.contains(",id,sound,"), "{verified}");
    let refused = index(&["create", url, "weight"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(
        said.contains("the objects have no column weight; they have id, name, price"),
        "{said}"
    );
    // What is not there cannot be verified or dropped; a damaged index is made again.
    for command in ["verify", "drop"] {
        let wrong = "there is no index of nope; there are those of id";
        bad(&mut index(&[command, url, "nope"]), wrong);
    }
    let path = files(&served.path().join("bucket/.sluice-index")).remove(0);
    std::fs::write(&path, "").unwrap();
    let listed = good(&mut index(&["list", url, "--format", "csv"]));
    assert!(listed.contains(",id,damaged,0,"), "{listed}");
    let verified = index(&["verify", url, "--format", "csv"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(1));
    assert!(text(&verified.stdout).contains("damaged: it is cut short"));
    assert!(text(&verified.stderr).contains("1 of 1 indexes cannot be used"));
    assert!(text(&verified.stderr).contains("`sluice index create --repair` makes new ones"));
    good(&mut index(&["create", url, "id"]));
    assert!(good(&mut index(&["verify", url, "--format", "csv"])).contains(",id,sound,"));
    good(&mut index(&["drop", url, "id"]));
    bad(
        &mut index(&["drop", url, "id"]),
        "there is no index of id: s3://bucket/fruit.csv has none",
    );
    // A table that only a file defines, one without records, and a column that paths cannot hold.
    let unknown = index(&["create", "basket", "id"]).output().unwrap();
    assert!(text(&unknown.stderr).contains("-f tables.sql"), "{}", text(&unknown.stderr));
    std::fs::create_dir(served.path().join("bucket/none")).unwrap();
    std::fs::write(served.path().join("bucket/none/a.csv"), "").unwrap();
    std::fs::create_dir(served.path().join("bucket/odd")).unwrap();
    std::fs::write(served.path().join("bucket/odd/a.csv"), "été/1\n7\n").unwrap();
    let tables = served.path().join("tables.sql");
    std::fs::write(
        &tables,
        "CREATE EXTERNAL TABLE none (id BIGINT) STORED AS CSV LOCATION 's3://bucket/none/'; \
         CREATE EXTERNAL TABLE odd (\"été/1\" BIGINT) STORED AS CSV LOCATION 's3://bucket/odd/'",
    )
    .unwrap();
    let tables = ["-f", tables.to_str().unwrap()];
    assert_eq!(good(index(&["create", "none", "id"]).args(tables)), "");
    assert_eq!(good(index(&["list", "none", "--format", "csv"]).args(tables)).lines().count(), 1);
    good(index(&["create", "odd", "été/1"]).args(tables));
    let listed = good(index(&["list", "odd", "--format", "csv"]).args(tables));
    assert!(listed.contains("s3://bucket/odd/a.csv,été/1,fresh,"), "{listed}");
    assert_eq!(good(&mut index(&["list", url, "--format", "csv"])).lines().count(), 1);
}
