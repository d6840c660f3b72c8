//! ORDER BY … LIMIT with a sample returns the answer of DataFusion, whatever the sample is.

mod late;

use std::cell::Cell;

use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};
use tokio::runtime::Runtime;

use crate::harness::{
    BUCKET, Store, rows, runner, statements, stock, stock_ordered, stock_rows, try_ordered,
};
use crate::random::{Format, OVERFLOW, Row, cause, is_of_datafusion, predicate, row};

/// Sort keys over CSV, JSON and Parquet.
const KEYS: [&str; 13] = [
    "s",
    "i",
    "n",
    "d",
    "t",
    "b",
    "f",
    "id",
    "n + id",
    "d * 2",
    "substr(s, 1, 1)",
    "upper(s)",
    "-d",
];

/// Columns that make an order total.
const ALL: &str = "id, s, i, n, d, t, b, f";

/// A value that is the same for all rows, but depends on other columns.
const SAME: &str = "length(concat(s, 'x')) > 0 AND length(concat(d, 'x')) > 0 AS same";

/// The output of a top-K query.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Output {
    /// The sort keys, which do not depend on how ties are broken.
    Keys,
    /// The sort keys, and a value that is the same for all rows.
    KeysAndMore,
    /// Whole rows in a total order: `TOTAL` stands for the columns that make it total.
    Rows,
}

/// The strategies of a top-K, each forced in turn.
const STRATEGIES: [&str; 4] = ["late", "sampling", "filtered", "server"];

fn key() -> impl Strategy<Value = (String, String)> {
    let expr = prop::sample::select(KEYS.to_vec());
    let direction = prop::sample::select(vec!["", " ASC", " DESC"]);
    let nulls = prop::sample::select(vec!["", " NULLS FIRST", " NULLS LAST"]);
    (expr, direction, nulls)
        .prop_map(|(expr, direction, nulls)| (expr.to_owned(), format!("{expr}{direction}{nulls}")))
}

fn best() -> impl Strategy<Value = String> {
    let filter = prop_oneof![
        3 => Just(String::new()),
        2 => predicate().prop_map(|filter| format!(" WHERE {}", filter.replace("PARTITION", "2"))),
    ];
    let keys = prop::collection::vec(key(), 1..4);
    let output = prop::sample::select(vec![Output::Keys, Output::KeysAndMore, Output::Rows]);
    (keys, filter, 1_usize..7, 0_usize..3, output).prop_map(
        |(keys, filter, limit, offset, output)| {
            let (exprs, order): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
            let named = exprs.iter().enumerate().map(|(n, expr)| format!("{expr} AS k{n}"));
            let named = named.collect::<Vec<_>>().join(", ");
            let (columns, total) = match output {
                Output::Keys => (named, ""),
                Output::KeysAndMore => (format!("{named}, {SAME}"), ""),
                Output::Rows => (ALL.to_owned(), ", TOTAL"),
            };
            let order = order.join(", ");
            let offset = if offset > 0 { format!(" OFFSET {offset}") } else { String::new() };
            format!("SELECT {columns} FROM x{filter} ORDER BY {order}{total} LIMIT {limit}{offset}")
        },
    )
}

/// Generates tables with few distinct rows, equal ones, or none alike, and the columns that make an order of them
/// total.
fn table() -> impl Strategy<Value = (Vec<Row>, &'static str)> {
    let pool = prop::collection::vec(row(), 1..60);
    let picks = prop::collection::vec(any::<prop::sample::Index>(), 0..250);
    (pool, picks, any::<bool>()).prop_map(|(pool, picks, numbered)| {
        let rows = picks.iter().map(|pick| without_zeros(pick.get(&pool)));
        if !numbered {
            return (rows.collect(), ALL);
        }
        let numbered = rows.enumerate().map(|(number, mut row)| {
            row[0] = Some((number * 7919 % 251).to_string());
            row
        });
        (numbered.collect(), "id")
    })
}

/// Replaces -0.0 by 0.0 in a row. DataFusion's own top-K loses rows if a sort key has both, because it sorts -0.0
/// first but treats the two as equal when it drops rows.
fn without_zeros(row: &Row) -> Row {
    row.iter()
        .map(|value| {
            value.clone().map(|text| if is_negative_zero(&text) { "0".into() } else { text })
        })
        .collect()
}

/// Returns true if the text is a -0.0 in any notation.
fn is_negative_zero(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(|value| value == 0.0 && value.is_sign_negative())
}

/// Generates the layout of a table in the store, and the way it is read.
fn place() -> impl Strategy<Value = (usize, usize, usize, u64)> {
    let range_bytes = prop::sample::select(vec![100_usize, 1000, 1 << 20]);
    (1_usize..5, 1_usize..4, range_bytes, any::<u64>())
}

/// Returns the number of statements, and how many of them each way answered. More are generated until these are
/// enough, within limits, because most ways do not apply to some statements.
fn check(
    format: Format,
    profile: &StoreCapabilities,
    enough: impl Fn(u32, [u32; STRATEGIES.len()]) -> bool,
) -> (u32, [u32; STRATEGIES.len()]) {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let mut runner = runner(16);
    let (number, asked, taken) = (Cell::new(0), Cell::new(0_u32), Cell::new([0; STRATEGIES.len()]));
    let statements = prop::collection::vec(best(), 1..5);
    let input = (table(), place(), statements);
    for _ in 0..4 {
        let result = runner.run(&input, |((rows, total), place, statements)| {
            let (objects, threads, range_bytes, _) = place;
            number.set(number.get() + 1);
            let local = tempfile::tempdir().unwrap();
            runtime.block_on(async {
                let stock = stock();
                let engine = store.builder().profile(profile.clone()).scan(Scan::Select);
                let engine = engine.threads(threads).build().await.unwrap();
                let extension = format.extension();
                let folder = format!("{}", number.get());
                let share = rows.len().div_ceil(objects).max(1);
                let parts: Vec<&[Row]> = match rows.is_empty() {
                    true => vec![&[]],
                    false => rows.chunks(share).collect(),
                };
                for (index, part) in parts.into_iter().enumerate() {
                    let path = local.path().join(format!("{index}.{extension}"));
                    let object = format.object(part, &[]).await;
                    std::fs::write(&path, &object).unwrap();
                    store.put(&format!("{folder}/{index}.{extension}"), object);
                }
                let location = format!("s3://{BUCKET}/{folder}/");
                try_ordered(&engine, &format.ddl(&location, false)).await.unwrap();
                for ddl in format.stock_ddl(&format!("{}/", local.path().display()), false) {
                    stock_rows(&stock, &ddl).await.unwrap();
                }
                let set = format!("SET sluice.range_bytes = {range_bytes}");
                try_ordered(&engine, &set).await.unwrap();
                for sql in statements {
                    let sql = sql.replace("TOTAL", total);
                    let expected = stock_ordered(&stock, &sql).await;
                    asked.set(asked.get() + 1);
                    for (index, way) in STRATEGIES.into_iter().enumerate() {
                        let set = format!("SET sluice.top_k = '{way}'");
                        try_ordered(&engine, &set).await.unwrap();
                        let explained = match engine.explain(&sql).await {
                            Err(error) if is_of_datafusion(&error.to_string()) => continue,
                            explained => explained.unwrap(),
                        };
                        let strategy = explained.decisions.first().and_then(|it| it.strategy());
                        let actual = try_ordered(&engine, &sql).await.map_err(|e| e.to_string());
                        let mut counts = taken.get();
                        counts[index] += u32::from(strategy == Some(way));
                        taken.set(counts);
                        let same = match (&actual, &expected) {
                            (_, Err(error)) | (Err(error), _) if is_of_datafusion(error) => true,
                            (Ok(actual), Ok(expected)) => actual == expected,
                            // Which rows are excluded before a sum is computed is open.
                            (Ok(_), Err(error)) | (Err(error), Ok(_)) => cause(error) == OVERFLOW,
                            (Err(actual), Err(expected)) => cause(actual) == cause(expected),
                        };
                        prop_assert!(
                            same,
                            "{way}: {sql}: {actual:?}, but DataFusion {expected:?}\n{explained}\n{}",
                            format.write(&rows, &[])
                        );
                    }
                }
                Ok(())
            })
        });
        result.unwrap();
        if enough(asked.get(), taken.get()) {
            break;
        }
        // A runner counts the cases of all its runs.
        runner = TestRunner::new_with_rng(runner.config().clone(), runner.new_rng());
    }
    (asked.get(), taken.get())
}

fn check_mostly_sampled(format: Format) {
    // Most statements must take a sample; otherwise this compares DataFusion with itself.
    let most = |asked: u32, sampled: u32| 2 * sampled > asked;
    let a_quarter = |asked: u32, late: u32| 4 * late > asked;
    let (asked, [late, sampled, ..]) =
        check(format, &StoreCapabilities::sluice(), |asked, [late, sampled, ..]| {
            most(asked, sampled) && a_quarter(asked, late)
        });
    assert!(most(asked, sampled), "of {asked} statements only {sampled} took a sample");
    assert!(a_quarter(asked, late), "of {asked} statements only {late} fetched rows late");
}

#[test]
fn the_best_rows_of_csv_are_those_of_datafusion() {
    check_mostly_sampled(Format::CsvOfLines);
}

#[test]
fn the_best_rows_of_csv_with_line_breaks_are_those_of_datafusion() {
    check_mostly_sampled(Format::Csv);
}

#[test]
fn the_best_rows_of_json_are_those_of_datafusion() {
    check_mostly_sampled(Format::Json);
}

#[test]
fn the_best_rows_of_parquet_are_those_of_datafusion() {
    check_mostly_sampled(Format::Parquet);
}

#[test]
fn the_best_rows_in_any_store_are_those_of_datafusion() {
    for profile in
        [StoreCapabilities::aws(), StoreCapabilities::minio(), StoreCapabilities::get_only()]
    {
        check(Format::CsvOfLines, &profile, |_, _| true);
    }
}

/// Returns a table of `n` rows whose keys are 0 .. n in a scattered order, with `pad` bytes each.
fn scattered(n: u64, pad: usize) -> String {
    let pad = "x".repeat(pad);
    let row = |index: u64| format!("{},{pad}\n", index * 7919 % n);
    format!("k,v\n{}", (0..n).map(row).collect::<String>())
}

async fn sampling(store: &Store, ddl: &str) -> Engine {
    let engine = store.engine(Scan::Auto).await;
    rows(&engine, ddl).await;
    rows(&engine, "SET sluice.top_k = 'sampling'").await;
    engine
}

fn csv(columns: &str) -> String {
    format!(
        "CREATE EXTERNAL TABLE t {columns} STORED AS CSV LOCATION 's3://{BUCKET}/t/'
         OPTIONS ('format.has_header' 'true')"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_is_small_and_what_it_leaves_too() {
    let store = Store::start().await;
    store.put("t/a.csv", scattered(10_007, 100));
    let engine = sampling(&store, &csv("(k BIGINT NOT NULL, v VARCHAR)")).await;
    let sql = "SELECT k, v FROM t ORDER BY k DESC LIMIT 10";
    let explained = engine.explain(sql).await.unwrap();
    let [decision] = explained.decisions.as_slice() else { panic!("{explained}") };
    assert_eq!((decision.operator, decision.strategy()), ("top_k", Some("sampling")));
    let text = explained.to_string();
    let (keys, all) = ("SELECT s._1 FROM S3Object s", "SELECT s._1, s._2 FROM S3Object s");
    for statement in [
        format!("{keys}; within its bound {all}"),
        format!("{keys}, then within its bound; of the rows of the answer {all}"),
    ] {
        assert!(text.contains(&statement), "no {statement} in {text}");
    }
    let sent = statements(&engine, sql).await;
    assert_eq!(sent, ["SELECT s._1 FROM S3Object s", "SELECT s._1, s._2 FROM S3Object s"]);

    let before = engine.counted();
    let answer = try_ordered(&engine, sql).await.unwrap();
    let keys: Vec<_> = answer.iter().map(|row| row[0].clone()).collect();
    let best: Vec<_> = (0..10).map(|n| (10_006 - n).to_string()).collect();
    assert_eq!(keys, best);
    let sampled = engine.counted().since(&before);
    rows(&engine, "SET sluice.top_k = 'filtered'").await;
    let before = engine.counted();
    assert_eq!(try_ordered(&engine, sql).await.unwrap(), answer);
    let all = engine.counted().since(&before);
    assert_eq!((sampled.fallbacks, sampled.get), (0, 0), "{sampled:?}");
    assert!(10 * sampled.returned_bytes < all.returned_bytes, "{sampled:?}, {all:?}");
}

/// PushdownDB varies the size of the sample (Figure 8).
#[tokio::test(flavor = "multi_thread")]
async fn the_sample_has_the_given_number_of_rows() {
    let store = Store::start().await;
    store.put("t/a.csv", scattered(10_007, 100));
    let engine = sampling(&store, &csv("(k BIGINT NOT NULL, v VARCHAR)")).await;
    let sql = "SELECT k, v FROM t ORDER BY k DESC LIMIT 10";
    let answer = try_ordered(&engine, sql).await.unwrap();
    for (strategy, size) in [("sampling", 40), ("sampling", 4_000), ("late", 200), ("sampling", 1)]
    {
        rows(&engine, &format!("SET sluice.top_k = '{strategy}'")).await;
        rows(&engine, &format!("SET sluice.top_k_sample = {size}")).await;
        let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
        assert!(text.contains(&format!("rows={size} of 100")), "{text}");
        assert_eq!(try_ordered(&engine, sql).await.unwrap(), answer, "{strategy} {size}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn analyze_shows_the_sample_the_bound_and_repairs() {
    let store = Store::start().await;
    store.put("t/a.csv", scattered(1009, 20));
    let engine = sampling(&store, &csv("(k BIGINT, v VARCHAR)")).await;
    let plan = |sql: &'static str| {
        let engine = &engine;
        async move { rows(engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n") }
    };
    let text = plan("SELECT k FROM t ORDER BY k NULLS LAST LIMIT 3").await;
    for part in
        ["TopKSampleExec: k=3, by=[k@0 ASC NULLS LAST]", "sample_rows=", "threshold=k@0 <= "]
    {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(text.contains("repairs=0"), "{text}");
    // The sample, and the rows within the bound.
    assert!(text.contains("sent=SELECT s._1 FROM S3Object s"), "{text}");
    assert!(text.contains("sent=SELECT s._1 FROM S3Object s WHERE CAST"), "{text}");
    // No row passes the filter, so the sample gives no bound. Statistics would show it before.
    rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
    let text = plan("SELECT k FROM t WHERE k < -5 ORDER BY k LIMIT 3").await;
    assert!(text.contains("threshold=none"), "{text}");
}

/// A quoted record with line breaks, in a table that does not declare them, looks like several records if reading
/// starts in its middle. The sample's bound is wrong then.
#[tokio::test(flavor = "multi_thread")]
async fn a_sample_of_records_that_are_none_is_repaired() {
    let store = Store::start().await;
    let row = |k: u64| format!("{k},\"\n{}\"\n", "0,y\n".repeat(5000).trim_end());
    store.put("t/a.csv", format!("k,v\n{}", (100..112).map(row).collect::<String>()));
    let engine = sampling(&store, &csv("(k BIGINT, v VARCHAR)")).await;
    let sql = "SELECT k FROM t ORDER BY k NULLS LAST LIMIT 3";
    let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    assert!(text.contains("threshold=k@0 <= 0") && text.contains("repairs=1"), "{text}");
    let keys = try_ordered(&engine, sql).await.unwrap().concat();
    assert_eq!(keys, ["100", "101", "102"]);
}

/// Statistics are estimated from few records, and these objects make them wrong in both directions.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_statistics_cost_no_row() {
    for (first, other) in [(2000, 0), (0, 2000)] {
        let store = Store::start().await;
        let text = |from: u64, pad: usize| {
            let pad = "x".repeat(pad);
            let row = |k: u64| format!("{},{pad}\n", k * 61 % 401);
            format!("k,v\n{}", (from..from + 200).map(row).collect::<String>())
        };
        let halves = text(0, first) + text(200, other).split_once('\n').unwrap().1;
        store.put("t/a.csv", halves);
        let engine = sampling(&store, &csv("(k BIGINT, v VARCHAR)")).await;
        for k in [1, 7, 100, 399, 400, 1000] {
            let sql = format!("SELECT k FROM t ORDER BY k DESC LIMIT {k}");
            let sampled = try_ordered(&engine, &sql).await.unwrap();
            rows(&engine, "SET sluice.top_k = 'server'").await;
            assert_eq!(sampled, try_ordered(&engine, &sql).await.unwrap(), "{sql}");
            rows(&engine, "SET sluice.top_k = 'sampling'").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_that_fails_costs_no_row() {
    let store = Store::start().await;
    store.put("t/a.csv", scattered(5003, 20));
    store.put("t/b.csv", scattered(5003, 20));
    let engine = sampling(&store, &csv("(k BIGINT, v VARCHAR)")).await;
    let sql = "SELECT k, v FROM t ORDER BY k LIMIT 9";
    let right = try_ordered(&engine, sql).await.unwrap();
    let code = || "CastFailed".to_owned();
    for fault in [
        Fault::SlowDown,
        Fault::Cut,
        Fault::CutBeforeRecords(0),
        Fault::CutInRecords(0),
        Fault::MissingEnd,
        Fault::WrongCrc(0),
        Fault::ErrorFrame { records: 0, code: code() },
        Fault::Records(Bytes::from("\"no number\"\n")),
        Fault::Records(Bytes::new()),
    ] {
        for times in [1, 2, 3] {
            let rule = Rule::new(Operation::SelectObjectContent, fault.clone()).times(times);
            store.faults.inject(rule);
            let answer = try_ordered(&engine, sql).await;
            assert!(store.faults.struck() > 0, "{fault:?} did not strike");
            assert_eq!(answer.unwrap(), right, "{fault:?}, {times} times");
            store.faults.clear();
        }
    }
}

/// Only the sample fails, permanently: the query continues without it.
#[tokio::test(flavor = "multi_thread")]
async fn a_sample_that_is_given_up_costs_no_row() {
    let store = Store::start().await;
    store.put("t/a.csv", scattered(1009, 20));
    let engine = sampling(&store, &csv("(k BIGINT, v VARCHAR)")).await;
    let sql = "SELECT k FROM t ORDER BY k LIMIT 1";
    let sample = engine.explain(sql).await.unwrap();
    let parts = sample.estimate().work.requests.select.0 - 1;
    let right = try_ordered(&engine, sql).await.unwrap();
    store
        .faults
        .inject(Rule::new(Operation::SelectObjectContent, Fault::MissingEnd).times(100 * parts));
    let failed = try_ordered(&engine, sql).await;
    assert!(failed.is_err(), "every statement fails: {failed:?}");
    store.faults.clear();
    assert_eq!(try_ordered(&engine, sql).await.unwrap(), right);
}

#[tokio::test(flavor = "multi_thread")]
async fn forcing_a_sample_that_cannot_help_says_why() {
    let store = Store::start().await;
    store.put("t/y=1/a.csv", scattered(1009, 20));
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (k BIGINT, v VARCHAR, y INT) STORED AS CSV PARTITIONED BY (y)
         LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.has_header' 'true')"
    );
    let engine = sampling(&store, &ddl).await;
    let why = |engine: Engine, sql: &'static str| async move {
        let explained = engine.explain(sql).await.unwrap();
        let warnings: Vec<_> = explained.warnings().collect();
        let [warning] = warnings.as_slice() else { panic!("{sql}: {explained}") };
        warning.split_once("'sampling' is not followed: ").map(|(_, why)| why.to_owned()).unwrap()
    };
    for (sql, expected) in [
        ("SELECT k FROM t ORDER BY random() LIMIT 3", "depends on chance"),
        ("SELECT k FROM t WHERE random() < 2 ORDER BY k LIMIT 3", "depends on chance"),
        ("SELECT k FROM t ORDER BY reverse(v) LIMIT 3", "S3 Select has no equivalent"),
        ("SELECT k FROM t ORDER BY y, k LIMIT 3", "S3 Select has no equivalent"),
        ("SELECT k FROM t ORDER BY k LIMIT 1200", "would be all 1,009 rows"),
        ("SELECT a.k FROM t a JOIN t b ON a.k = b.k ORDER BY 1 LIMIT 3", "more than a scan of one"),
    ] {
        let said = why(engine.clone(), sql).await;
        assert!(said.contains(expected), "{sql}: {said}");
        assert!(!rows(&engine, sql).await.is_empty(), "{sql}");
    }
    // The setting `sluice.scan` is still followed.
    rows(&engine, "SET sluice.scan = 'select'").await;
    let explained = engine.explain("SELECT k FROM t ORDER BY k / 3 DESC, k LIMIT 3").await.unwrap();
    let [top_k] = explained.decisions.as_slice() else { panic!("{explained}") };
    assert_eq!(top_k.strategy(), Some("filtered"), "{explained}");
    let said = top_k.warning().unwrap();
    let key = "a comparison of k / 3 with a bound cannot be sent";
    assert!(said.contains(key) && said.starts_with("top_k of ORDER BY k / 3 DESC, k"), "{said}");
    rows(&engine, "SET sluice.scan = 'auto'").await;
    let none = store.builder().profile(StoreCapabilities::get_only()).build().await.unwrap();
    rows(&none, &ddl).await;
    rows(&none, "SET sluice.top_k = 'sampling'").await;
    let said = why(none.clone(), "SELECT k FROM t ORDER BY k LIMIT 3").await;
    assert_eq!(said, "the store has no S3 Select (profile `get-only`)");
    for way in ["filtered", "late"] {
        rows(&none, &format!("SET sluice.top_k = '{way}'")).await;
        let query = none.plan("SELECT k, v FROM t ORDER BY k LIMIT 3").await.unwrap();
        query.collect().await.unwrap();
        let [warning] = &query.warnings()[..] else { panic!("{:?}", query.warnings()) };
        let said = format!("sluice.top_k = '{way}' is not followed: the store has no S3 Select");
        assert!(warning.contains(&said), "{warning}");
    }

    // No column is left to fetch late.
    rows(&engine, "SET sluice.top_k = 'late'").await;
    let explained = engine.explain("SELECT k FROM t ORDER BY k LIMIT 3").await.unwrap();
    let [warning] = &explained.warnings().collect::<Vec<_>>()[..] else { panic!("{explained}") };
    assert!(warning.ends_with("every column that is read is one of the order"), "{warning}");

    for way in ["server", "filtered", "sampling", "late"] {
        rows(&engine, &format!("SET sluice.top_k = '{way}'")).await;
        let sql = "SELECT k, v FROM t ORDER BY k LIMIT 3";
        let explained = engine.explain(sql).await.unwrap();
        let [decision] = explained.decisions.as_slice() else { panic!("{explained}") };
        assert_eq!((decision.strategy(), decision.ways.len()), (Some(way), 4), "{explained}");
        assert_eq!(explained.warnings().count(), 0);
        assert_eq!(try_ordered(&engine, sql).await.unwrap().len(), 3);
    }
    assert!(engine.query("SET sluice.top_k = 'random'").await.is_err());
}

/// A plan may run several times.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_runs_twice_gives_the_same_rows_twice() {
    let store = Store::start().await;
    for name in ["a", "b", "c"] {
        store.put(&format!("t/{name}.csv"), scattered(1009, 20));
    }
    let engine = sampling(&store, &csv("(k BIGINT, v VARCHAR)")).await;
    let sql = "SELECT k, v FROM t ORDER BY k DESC LIMIT 8";
    let right = try_ordered(&engine, sql).await.unwrap();
    let plan = engine.query(sql).await.unwrap().create_physical_plan().await.unwrap();
    let again =
        datafusion::physical_plan::execution_plan::reset_plan_states(std::sync::Arc::clone(&plan))
            .unwrap();
    for plan in [&plan, &again] {
        let batches = datafusion::physical_plan::collect(
            std::sync::Arc::clone(plan),
            engine.context().task_ctx(),
        );
        assert_eq!(crate::harness::values(&batches.await.unwrap()), right);
    }
    let sql = format!("WITH best AS ({sql}) SELECT count(*) FROM best a JOIN best b ON a.k = b.k");
    rows(&engine, "SET sluice.top_k = 'server'").await;
    let expected = rows(&engine, &sql).await;
    rows(&engine, "SET sluice.top_k = 'sampling'").await;
    assert_eq!(rows(&engine, &sql).await, expected);
}

/// The cost model decides: a sample of a large table pays, one of a small table does not. DataFusion's own filter of
/// a top-K whose sort keys share a column, below a projection that moves columns, names the wrong column.
#[tokio::test(flavor = "multi_thread")]
async fn sort_keys_that_share_a_column_are_sorted_right() {
    let store = Store::start().await;
    let csv: String = (0..400).map(|row| format!("{},{}\n", row % 7, 5 * (row % 3))).collect();
    store.put("t/a.csv", format!("id,n\n{csv}"));
    store.put("t/b.csv", format!("id,n\n{csv}"));
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.engine(scan).await;
        let sql = format!(
            "SELECT n AS k0, n + id AS k1 FROM 's3://{BUCKET}/t/' ORDER BY n, n + id LIMIT 2 OFFSET 2"
        );
        assert_eq!(rows(&engine, &sql).await, [r#""0" | "0""#; 2], "{scan}");
        // The 4 of the sort key is not the value of id * 2.
        let sql = format!(
            "SELECT n FROM 's3://{BUCKET}/t/' WHERE id * 2 = 4 ORDER BY n + 4 DESC, id LIMIT 2"
        );
        assert_eq!(rows(&engine, &sql).await, [r#""10""#; 2], "{scan}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_is_taken_where_it_pays() {
    let store = Store::start().await;
    store.put("t/a.csv", scattered(100_003, 150));
    store.put("small/a.csv", scattered(101, 20));
    let engine = store.engine(Scan::Select).await;
    rows(&engine, &csv("(k BIGINT, v VARCHAR)")).await;
    let strategy = |sql: String| {
        let engine = &engine;
        async move { engine.explain(&sql).await.unwrap().decisions[0].strategy() }
    };
    let large = "SELECT k, v FROM t ORDER BY k DESC LIMIT 5".to_owned();
    assert_eq!(strategy(large.clone()).await, Some("sampling"));
    let small = format!("SELECT k, v FROM 's3://{BUCKET}/small/' ORDER BY k DESC LIMIT 5");
    assert_eq!(strategy(small).await, Some("filtered"));
    let best = try_ordered(&engine, &large).await.unwrap();
    assert_eq!(
        best.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(),
        ["100002", "100001", "100000", "99999", "99998"]
    );
}
