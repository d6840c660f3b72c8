//! Statistics: the results of ANALYZE TABLE, the cost of samples, and that no statistics, however wrong, change an
//! answer.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use datafusion::common::ScalarValue;
use proptest::prelude::*;
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_engine::statistics::cache::StatisticsCache;
use sluicegate_engine::statistics::sketch::Sketch;
use sluicegate_engine::statistics::{ObjectStatistics, Origin};
use sluicegate_s3select::capabilities::StoreCapabilities;
use tokio::runtime::Runtime;

use crate::cli::{Served, bad, good, text};
use crate::harness::{BUCKET, Store, rows, runner, stock, stock_ordered, try_ordered, values};

const COLUMNS: &str = "k BIGINT, g BIGINT, d DECIMAL(9, 2), t DATE, s VARCHAR, f DOUBLE";

fn ddl(location: &str) -> String {
    format!(
        "CREATE EXTERNAL TABLE t ({COLUMNS}) STORED AS CSV \
         LOCATION '{location}' OPTIONS ('format.has_header' 'true')"
    )
}

/// Returns records with ascending `k`; the other columns repeat.
fn records(from: usize, count: usize) -> String {
    let mut text = String::from("k,g,d,t,s,f\n");
    for k in from..from + count {
        let s = ["apple", "pear", "", "plum"][k % 4];
        let g = k * 7 % 10;
        text += &format!("{k},{g},{g}.25,2024-01-{:02},{s},{}.5\n", k % 28 + 1, k % 3);
    }
    text
}

async fn engine_over(store: &Store, folder: &Path, scan: Scan) -> Engine {
    store.builder().scan(scan).statistics_folder(folder).build().await.unwrap()
}

/// Returns the rows of an answer of ANALYZE TABLE as text.
async fn analyzed(engine: &Engine, sql: &str) -> Vec<Vec<String>> {
    values(&engine.collect(sql).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn analyze_reads_each_version_of_an_object_once() {
    let store = Store::start().await;
    let cache = tempfile::tempdir().unwrap();
    let mut sizes = Vec::new();
    for object in 0..3 {
        let text = records(object * 1000, 1000);
        sizes.push(text.len() as u64);
        store.put(&format!("t/{object}.csv"), text);
    }
    let engine = engine_over(&store, cache.path(), Scan::Auto).await;
    rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    let first = engine.plan("ANALYZE TABLE t").await.unwrap();
    let counted = first.counted();
    assert_eq!((counted.list, counted.get), (1, 3), "{counted:?}");
    assert_eq!(counted.got_bytes, sizes.iter().sum::<u64>());
    let found = values(&first.collect().await.unwrap());
    let k: Vec<&str> = found[0].iter().map(String::as_str).collect();
    assert_eq!((k[0], k[1], k[2], k[3]), ("k", "BIGINT", "3000", "0"), "{found:?}");
    assert_eq!((k[5], k[6], k[9]), ("0", "2999", "sorted"), "{found:?}");
    let distinct: f64 = k[4].parse().unwrap();
    assert!((distinct / 3000.0 - 1.0).abs() < 0.15, "{found:?}");
    let s = &found[4];
    assert_eq!((s[3].as_str(), s[4].as_str()), ("750", "3"), "{found:?}");
    assert!(s[8].contains("(25.") || s[8].contains("(24."), "{found:?}");

    // A second ANALYZE reads nothing, also in a later session.
    let later = engine_over(&store, cache.path(), Scan::Auto).await;
    rows(&later, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    for engine in [&engine, &later] {
        let again = engine.plan("ANALYZE TABLE t COLUMNS (k, s)").await.unwrap();
        assert_eq!((again.counted().list, again.counted().requests()), (1, 1));
        assert_eq!(again.collect().await.unwrap()[0].num_rows(), 2);
    }
    // A query takes no sample. An object that was replaced is analyzed again, and the same GET reads its header.
    let query = later.plan("SELECT count(*) FROM t WHERE k < 10").await.unwrap();
    query.frame().clone().create_physical_plan().await.unwrap();
    assert_eq!(query.counted().get, 0);
    let text = records(7000, 500);
    store.put("t/1.csv", &text);
    let again = later.plan("ANALYZE TABLE t").await.unwrap();
    assert_eq!((again.counted().get, again.counted().got_bytes), (1, text.len() as u64));
    assert_eq!(values(&again.collect().await.unwrap())[0][2], "2500");
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 3);
}

/// ANALYZE of other columns reads the objects again; a table with other types reuses the statistics of equal columns.
#[tokio::test(flavor = "multi_thread")]
async fn analyze_of_some_columns_adds_to_what_is_known() {
    let store = Store::start().await;
    let cache = tempfile::tempdir().unwrap();
    store.put("t/a.csv", records(0, 100));
    let engine = engine_over(&store, cache.path(), Scan::Auto).await;
    rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    for (sql, gets) in [
        ("ANALYZE TABLE t COLUMNS k", 1),
        ("ANALYZE TABLE t COLUMNS k", 0),
        ("ANALYZE TABLE t COLUMNS s, d", 1),
        ("ANALYZE TABLE t COLUMNS d, k, s", 0),
        ("ANALYZE TABLE t", 1),
        ("ANALYZE TABLE 's3://test/t/a.csv' COLUMNS k", 0),
        ("ANALYZE TABLE 's3://test/t/a.csv' COLUMNS g", 0),
    ] {
        let query = engine.plan(sql).await.unwrap();
        // The columns of a table named by its URL are inferred by one GET.
        let inferred = u64::from(sql.contains("s3://"));
        assert_eq!(query.counted().get, gets + inferred, "{sql}");
    }
    let error = engine.plan("ANALYZE TABLE t COLUMNS x").await.unwrap_err().to_string();
    assert!(error.contains("have no column x; they have k, g, d, t, s, f"), "{error}");
    let error = engine.plan("ANALYZE t").await.unwrap_err().to_string();
    assert!(error.contains("ANALYZE TABLE t COLUMNS a, b"), "{error}");
    rows(&engine, "CREATE TABLE here AS SELECT 1 AS a").await;
    let error = engine.plan("ANALYZE TABLE here").await.unwrap_err().to_string();
    assert!(error.contains("is not a table of objects"), "{error}");
    // EXPLAIN predicts the cost of fetching the objects.
    let explained = engine.explain("ANALYZE TABLE t COLUMNS k").await.unwrap();
    assert!(explained.estimate().work.link.0 > 0);
    assert!(!engine.is_definition("ANALYZE TABLE t").await.unwrap());
}

/// JSON, Parquet, compressed objects and partitions are read as queries read them.
#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_table_is_analyzed() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    store.put("t/a.csv", records(0, 200));
    rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    for (format, place, options) in [
        ("JSON", "j/a.json", ""),
        ("PARQUET", "p/a.parquet", ""),
        ("CSV", "z/a.csv.gz", "OPTIONS ('format.compression' 'gzip', 'format.has_header' 'true')"),
    ] {
        let copy = format!("COPY t TO 's3://{BUCKET}/{place}' STORED AS {format} {options}");
        rows(&engine, &copy).await;
        let folder = place.split('/').next().unwrap();
        let create = format!(
            "CREATE EXTERNAL TABLE {folder} ({COLUMNS}) STORED AS {format} \
             LOCATION 's3://{BUCKET}/{folder}/' {options}"
        );
        rows(&engine, &create).await;
        let found = analyzed(&engine, &format!("ANALYZE TABLE {folder}")).await;
        assert_eq!(found.len(), 6, "{found:?}");
        assert_eq!((found[0][2].as_str(), found[0][6].as_str()), ("200", "199"), "{format}");
    }
    store.put("h/y=1/a.csv", "k,v\n1,2\n");
    store.put("h/y=2/a.csv", "k,v\n3,4\n5,6\n");
    let create = format!(
        "CREATE EXTERNAL TABLE h (k BIGINT, v BIGINT, y INT) STORED AS CSV PARTITIONED BY (y) \
         LOCATION 's3://{BUCKET}/h/' OPTIONS ('format.has_header' 'true')"
    );
    rows(&engine, &create).await;
    let found = analyzed(&engine, "ANALYZE TABLE h").await;
    assert_eq!((found.len(), found[1][2].as_str(), found[1][6].as_str()), (2, "3", "6"));
    assert_eq!(rows(&engine, "SELECT y, sum(v) FROM h GROUP BY y").await.len(), 2);
    // A bad record is an error, and statistics that were complete before it stay.
    store.put("t/b.csv", "k,g,d,t,s,f\n1,2\n");
    let error = engine.plan("ANALYZE TABLE t").await.unwrap_err().to_string();
    assert!(error.contains("t/b.csv"), "{error}");
}

const STATEMENTS: [&str; 20] = [
    "SELECT * FROM t WHERE k >= 5",
    "SELECT k, s FROM t WHERE k >= 9 ORDER BY k, s",
    "SELECT k FROM t WHERE g = 3 ORDER BY g, k",
    "SELECT g, k FROM t WHERE g >= 9 ORDER BY g DESC, k DESC LIMIT 7",
    "SELECT count(*), count(s), min(k), max(k), sum(k) FROM t",
    "SELECT min(d), max(t), min(s), count(DISTINCT g) FROM t WHERE k > 3",
    "SELECT min(k) FROM t WHERE k = 5 AND g > 0",
    "SELECT g, count(*), sum(d) FROM t GROUP BY g ORDER BY g",
    "SELECT g, s, count(*) FROM t WHERE k > 2 GROUP BY g, s ORDER BY g, s",
    "SELECT DISTINCT s FROM t ORDER BY s",
    "SELECT s, max(k) FROM t WHERE d <= 4.25 GROUP BY s ORDER BY s",
    "SELECT * FROM t ORDER BY d DESC, k LIMIT 5",
    "SELECT k FROM t ORDER BY k LIMIT 3",
    "SELECT k FROM t WHERE s IS NULL AND f > 1 ORDER BY k",
    "SELECT a.k, b.k FROM t a JOIN t b ON a.g = b.g AND a.k < b.k WHERE b.d > 6 ORDER BY 1, 2",
    "SELECT a.g, count(*) FROM t a LEFT JOIN t b ON a.k = b.g GROUP BY a.g ORDER BY 1",
    "SELECT k FROM t WHERE g IN (SELECT g FROM t WHERE k < 4) ORDER BY k",
    "SELECT k FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE b.g = a.k) ORDER BY k",
    "SELECT s, k FROM t WHERE s >= 'pear' ORDER BY s, k",
    "SELECT t, count(*) FROM t WHERE f < 2 GROUP BY t HAVING count(*) > 1 ORDER BY t",
];

/// Wrong statistics of one object.
#[derive(Debug, Clone)]
struct WrongStatistics {
    rows: u64,
    nulls: u64,
    width: f64,
    /// Indexes of the minimum and the maximum in a list of values.
    bounds: (usize, usize),
    heavy: Option<(usize, f64)>,
    distinct: u64,
    ascending: f64,
    correlation: f64,
    origin: bool,
}

fn lie() -> impl Strategy<Value = WrongStatistics> {
    let number = || prop_oneof![Just(0), Just(1), 2_u64..20, Just(u64::MAX / 2)];
    let share = || prop_oneof![Just(0.0), Just(1.0), Just(-5.0), Just(f64::NAN), 0.0..1.0];
    (
        (number(), number(), prop_oneof![Just(0.0), Just(1e300), Just(f64::NAN), 1.0..100.0]),
        ((0_usize..6, 0_usize..6), prop::option::of((0_usize..6, share()))),
        (number(), share(), share(), any::<bool>()),
    )
        .prop_map(
            |(
                (rows, nulls, width),
                (bounds, heavy),
                (distinct, ascending, correlation, origin),
            )| {
                WrongStatistics {
                    rows,
                    nulls,
                    width,
                    bounds,
                    heavy,
                    distinct,
                    ascending,
                    correlation,
                    origin,
                }
            },
        )
}

/// Returns a value of a type.
fn value(data_type: &str, place: usize) -> ScalarValue {
    let number = [-1, 0, 5, 9, 1000, i32::MAX][place];
    match data_type {
        "Int64" => ScalarValue::from(i64::from(number)),
        "Float64" => ScalarValue::from(f64::from(number)),
        "Date32" => ScalarValue::Date32(Some(number)),
        "Utf8" | "Utf8View" => ScalarValue::from(["", "a", "pear", "plum", "x", "é"][place]),
        // For other columns, the value has another type.
        _ => ScalarValue::Decimal128(Some(i128::from(number) * 100), 9, 2),
    }
}

fn told(object: &ObjectStatistics, lie: &WrongStatistics) -> ObjectStatistics {
    let mut object = object.clone();
    object.rows = lie.rows;
    object.seen = lie.distinct;
    object.origin = if lie.origin { Origin::Analyze } else { Origin::Sample };
    for column in &mut object.columns {
        column.nulls = lie.nulls;
        column.width = lie.width;
        let value = |place| value(&column.data_type, place);
        column.min = Some(value(lie.bounds.0));
        column.max = Some(value(lie.bounds.1));
        column.bounds = vec![value(lie.bounds.0), value(lie.bounds.1)];
        column.heavy = lie.heavy.iter().map(|(place, share)| (value(*place), *share)).collect();
        column.distinct = Sketch::new().unwrap();
        (0..lie.distinct.min(5000)).for_each(|hash| column.distinct.insert(hash));
        (column.ascending, column.correlation) = (lie.ascending, lie.correlation);
    }
    object
}

/// Wrong statistics of an object's current version with a right checksum may change plans, but not rows, with Select
/// and without.
#[test]
fn wrong_statistics_change_no_answer() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let local = tempfile::tempdir().unwrap();
    let mut location = String::new();
    for (object, (from, count)) in [(0, 12), (12, 30), (42, 1)].into_iter().enumerate() {
        let text = records(from, count);
        store.put(&format!("t/{object}.csv"), &text);
        fs::write(local.path().join(format!("{object}.csv")), &text).unwrap();
        location = format!("{}/", local.path().display());
    }
    let expected: Vec<_> = runtime.block_on(async {
        let stock = stock();
        stock_ordered(&stock, &ddl(&location)).await.unwrap();
        let mut answers = Vec::new();
        for sql in STATEMENTS {
            answers.push(stock_ordered(&stock, sql).await.unwrap());
        }
        answers
    });
    // Correct statistics are the starting point.
    let truth = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        let engine = engine_over(&store, truth.path(), Scan::Auto).await;
        rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
        analyzed(&engine, "ANALYZE TABLE t").await;
    });
    let truth = StatisticsCache::in_folder(truth.path()).all();
    assert_eq!(truth.len(), 3);
    let believed = Cell::new(0);
    let inputs = (prop::collection::vec(lie(), 3), any::<bool>());
    let result = runner(24).run(&inputs, |(lies, select)| {
        let folder = tempfile::tempdir().unwrap();
        let known = StatisticsCache::in_folder(folder.path());
        for (object, lie) in truth.iter().zip(&lies) {
            known.keep(told(object, lie)).unwrap();
        }
        runtime.block_on(async {
            let profile = match select {
                true => StoreCapabilities::sluice(),
                false => StoreCapabilities::get_only(),
            };
            let builder = store.builder().profile(profile).statistics_folder(folder.path());
            let engine = builder.build().await.unwrap();
            rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
            for (sql, expected) in STATEMENTS.iter().zip(&expected) {
                let actual = try_ordered(&engine, sql).await.map_err(|error| error.to_string());
                let (actual, expected) = match sql.contains("ORDER BY") {
                    true => (actual, expected.clone()),
                    false => (actual.map(sorted), sorted(expected.clone())),
                };
                prop_assert_eq!(actual, Ok(expected), "{} with {:?}", sql, lies);
            }
            let explained = engine.explain("SELECT k FROM t").await.unwrap().to_string();
            believed.set(believed.get() + usize::from(explained.contains(" 3 of 3 objects")));
            Ok(())
        })
    });
    result.unwrap();
    assert!(believed.get() > 0, "the lies were believed {} times", believed.get());
}

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

/// Planning over many objects lists them and samples 8. Headers that CREATE TABLE did not compare are read with the
/// objects.
#[tokio::test(flavor = "multi_thread")]
async fn planning_asks_a_bounded_number_of_requests() {
    const OBJECTS: usize = 2500;
    let store = Store::start().await;
    let cache = tempfile::tempdir().unwrap();
    for object in 0..OBJECTS {
        store.put(&format!("t/{object:05}.csv"), records(object * 10, 10));
    }
    let engine = engine_over(&store, cache.path(), Scan::Auto).await;
    rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    for looks in [8, 0] {
        let query = engine.plan("SELECT s, sum(k) FROM t WHERE k < 100 GROUP BY s").await.unwrap();
        let plan = query.frame().clone().create_physical_plan().await.unwrap();
        let counted = query.counted();
        // Pages of the listing, and perhaps one request for indexes, which do not exist.
        assert!((3..=4).contains(&counted.list), "{counted:?}");
        assert_eq!(counted.requests(), counted.list + looks, "{counted:?}");
        assert!(counted.got_bytes <= 8 * 64 * 1024, "{counted:?}");
        drop(plan);
    }
    rows(&engine, "SET sluice.scan = 'get'").await;
    let query = engine.plan("SELECT count(s), sum(k) FROM t").await.unwrap();
    query.collect().await.unwrap();
    let counted = query.counted();
    assert_eq!(counted.requests(), counted.list + OBJECTS as u64, "{counted:?}");
}

/// Statistics of the whole object correct the sample of its beginning, also in a later engine, and do not apply once
/// the object is replaced.
#[tokio::test(flavor = "multi_thread")]
async fn estimates_follow_what_is_known_of_the_present_version() {
    const SQL: &str = "SELECT k, s FROM t WHERE k >= 10000";
    let store = Store::start().await;
    let cache = tempfile::tempdir().unwrap();
    store.put("t/a.csv", records(0, 20_000));
    let engine = engine_over(&store, cache.path(), Scan::Select).await;
    let later = engine_over(&store, cache.path(), Scan::Select).await;
    for engine in [&engine, &later] {
        rows(engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    }
    let predicted = async |engine: &Engine, origin: &str| {
        let explained = engine.explain(SQL).await.unwrap();
        let text = explained.to_string();
        assert!(text.contains(&format!("rows are estimated from {origin} of 1 objects")), "{text}");
        explained.estimate().work.link.0 as f64
    };
    // The sample contains only small values.
    let sampled = predicted(&engine, "a sample of 1").await;
    analyzed(&engine, "ANALYZE TABLE t").await;
    let known = predicted(&engine, "ANALYZE of 1").await;
    assert!(sampled < known / 10.0, "{sampled} and {known}");
    let query = engine.plan(SQL).await.unwrap();
    let answer = query.collect().await.unwrap();
    assert_eq!(answer.iter().map(|batch| batch.num_rows()).sum::<usize>(), 10_000);
    let counted = query.counted();
    let returned = counted.returned_bytes as f64;
    assert!((0.5..2.0).contains(&(known / returned)), "{known} of {counted:?}");
    assert_eq!(predicted(&later, "ANALYZE of 1").await, known);

    store.put("t/a.csv", records(0, 20_001));
    for engine in [&engine, &later] {
        let replaced = predicted(engine, "a sample of 1").await;
        assert!(replaced < known / 10.0, "{replaced} and {known}");
    }
    // Without statistics, only the header is read once, in addition to the statement.
    rows(&later, "SET datafusion.execution.collect_statistics = false").await;
    store.put("t/a.csv", records(0, 20_002));
    for expected in [1, 0] {
        let query = later.plan(SQL).await.unwrap();
        query.frame().clone().create_physical_plan().await.unwrap();
        assert_eq!(query.counted().get, 0);
        query.collect().await.unwrap();
        assert_eq!(query.counted().get, expected);
    }
}

fn sluice(served: &Served, cache: &Path, args: &[&str]) -> Command {
    let mut command = served.command(args);
    command.env("XDG_CACHE_HOME", cache);
    command
}

/// Returns a command that needs no store.
fn statistics(cache: &Path, args: &[&str]) -> Command {
    let mut command = crate::cli::sluice(&[&["statistics"], args].concat());
    command.env("XDG_CACHE_HOME", cache);
    command
}

#[test]
fn statistics_are_listed_shown_and_dropped() {
    let served = Served::start();
    let cache = tempfile::tempdir().unwrap();
    let analyze = "ANALYZE TABLE 's3://bucket/fruit.csv'";
    let answer =
        good(&mut sluice(&served, cache.path(), &["sql", "--format", "csv", "-c", analyze]));
    assert!(answer.starts_with("column,type,rows,nulls,distinct,min,max,width,"), "{answer}");
    assert!(answer.contains("\nid,BIGINT,3,0,3,1,3,1.0,"), "{answer}");
    let list = || good(&mut statistics(cache.path(), &["list", "--format", "csv"]));
    let listed = list();
    let expected = format!("s3://bucket/fruit.csv,{},ANALYZE,20", served.endpoint);
    assert!(listed.contains(&expected), "{listed}");
    let shown = good(&mut statistics(cache.path(), &["show", "s3://bucket/"]));
    assert!(shown.contains("3 rows in 1 objects, of which 3 were read."), "{shown}");
    // Queries are planned with them, and the bill names them.
    let explain = ["explain", "-c", "SELECT name FROM 's3://bucket/fruit.csv' WHERE id = 2"];
    let explained = good(&mut sluice(&served, cache.path(), &explain));
    assert!(explained.contains("estimated from ANALYZE of 1 of 1 objects"), "{explained}");

    let folder = cache.path().join("sluice/statistics");
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        assert!(!String::from_utf8_lossy(&fs::read(&path).unwrap()).contains("secret"));
        fs::write(path, "damaged").unwrap();
    }
    let Output { status, stderr, .. } = sluice(&served, cache.path(), &explain).output().unwrap();
    let said = text(&stderr);
    assert!(status.success() && said.contains("note: statistics in "), "{said}");
    let words = "nothing is remembered about s3://elsewhere/";
    bad(&mut statistics(cache.path(), &["show", "s3://elsewhere/"]), words);
    good(&mut statistics(cache.path(), &["drop", "--all"]));
    assert_eq!(list(), "object,store,from,taken,rows,columns\n");
}

#[test]
fn an_empty_cache_and_one_that_cannot_be_written_are_no_errors() {
    let served = Served::start();
    let cache = tempfile::tempdir().unwrap();
    let list = good(&mut statistics(cache.path(), &["list", "--format", "csv"]));
    assert_eq!(list, "object,store,from,taken,rows,columns\n");
    let words = "nothing is remembered about s3://bucket/";
    bad(&mut statistics(cache.path(), &["show", "s3://bucket/"]), words);
    for args in [&["drop", "--all"][..], &["drop", "s3://bucket/"]] {
        let Output { status, stderr, .. } = statistics(cache.path(), args).output().unwrap();
        let said = text(&stderr);
        assert!(status.success() && said.contains("statistics of 0 objects"), "{said}");
    }
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);

    let analyze = ["sql", "--format", "csv", "-c", "ANALYZE TABLE 's3://bucket/fruit.csv'"];
    let nowhere = Path::new("/dev/null/cache");
    let Output { status, stdout, stderr } = sluice(&served, nowhere, &analyze).output().unwrap();
    let said = text(&stderr);
    assert!(status.success() && said.contains("are kept for this session only"), "{said}");
    assert!(text(&stdout).contains("\nid,BIGINT,3,0,3,1,3,1.0,"), "{}", text(&stdout));
}

#[test]
fn several_processes_may_analyze_at_once() {
    let served = Served::start();
    let cache = tempfile::tempdir().unwrap();
    for object in 0..20 {
        fs::write(served.path().join(format!("bucket/t{object}.csv")), "a,b\n1,2\n").unwrap();
    }
    let statements: Vec<_> =
        (0..20).map(|it| format!("ANALYZE TABLE 's3://bucket/t{it}.csv'")).collect();
    let statements = statements.join("; ");
    let analyze = ["sql", "--format", "csv", "-c", &statements];
    let start = || {
        let mut command = sluice(&served, cache.path(), &analyze);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [start(), start()];
    for process in both {
        let Output { status, stdout, stderr } = process.wait_with_output().unwrap();
        assert!(status.success(), "{}", text(&stderr));
        assert!(!text(&stderr).contains("ignored"), "{}", text(&stderr));
        assert_eq!(text(&stdout).matches("\na,BIGINT,1,").count(), 20, "{}", text(&stdout));
    }
    let listed = good(&mut statistics(cache.path(), &["list", "--format", "csv"]));
    assert_eq!(listed.matches(",ANALYZE,").count(), 20, "{listed}");
    let files = fs::read_dir(cache.path().join("sluice/statistics")).unwrap();
    assert_eq!(files.count(), 20);
}

#[test]
fn help_shows_how() {
    let cache = tempfile::tempdir().unwrap();
    let help = |args: &[&str]| good(&mut statistics(cache.path(), args));
    let all = help(&["--help"]);
    for words in [
        "sluice sql -c \"ANALYZE TABLE 's3://data/lineitem/' COLUMNS l_orderkey, l_shipdate\"",
        "sluice statistics show s3://data/lineitem/",
        "they never change an answer",
    ] {
        assert!(all.contains(words), "{all}");
    }
    for (command, words) in [
        ("list", "Only objects whose URL begins like this"),
        ("show", "or how the URLs of several begin"),
        ("drop", "and remove files that cannot be used"),
    ] {
        let one = help(&[command, "--help"]);
        assert!(one.contains(words), "{one}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_without_data_is_analyzed() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Auto).await;
    store.put("none/a.csv", "");
    store.put("none/b.csv", "");
    let ddl = "CREATE EXTERNAL TABLE none (k BIGINT, s VARCHAR) STORED AS CSV";
    rows(&engine, &format!("{ddl} LOCATION 's3://{BUCKET}/none/'")).await;
    let found = analyzed(&engine, "ANALYZE TABLE none").await;
    let said: Vec<_> = found.iter().map(|row| (row[0].as_str(), row[2].as_str())).collect();
    assert_eq!(said, [("k", "0"), ("s", "0")], "{found:?}");
    let wrong = engine.plan("ANALYZE TABLE none COLUMNS x").await.unwrap_err().to_string();
    assert!(wrong.contains("have no column x; they have k, s"), "{wrong}");
}
