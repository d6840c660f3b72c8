//! The switch never changes an answer: random tables × query shapes × targets, against plain
//! DataFusion over the same batches.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate_engine::Engine;
use sluicegate_engine::skyline::skyline;
use tokio::runtime::Runtime;

use crate::harness::{rows, stock, stock_rows, try_rows};

/// A switch with arrays of at most 16 registers: caches overflow and tables collide.
const TINY: &str = "name = 'tiny'\nsram_block_bits = 512\nregister_blocks = 1";

fn maybe<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.85, value)
}

fn whole() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -20_i64..20, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 2 => any::<i64>()]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => (-8..8).prop_map(|x| f64::from(x) / 2.0),
        2 => any::<f64>().prop_filter("a number", |x| !x.is_nan()),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
    ]
}

#[derive(Debug, Clone)]
struct Row {
    s: Option<String>,
    i: Option<i32>,
    n: Option<i64>,
    u: Option<u64>,
    d: Option<i64>,
    t: Option<i32>,
    b: Option<bool>,
    f: Option<f64>,
    k: i32,
}

fn row() -> impl Strategy<Value = Row> {
    let text =
        prop_oneof![4 => "[a-c]{0,3}", 1 => "[a-z]{8,12}", 1 => Just("aaaaaaaaab".to_owned())];
    (
        maybe(text),
        maybe(prop_oneof![6 => -3_i32..4, 1 => any::<i32>()]),
        maybe(whole()),
        maybe(prop_oneof![6 => 0_u64..9, 1 => any::<u64>()]),
        maybe(-9_999_i64..9_999),
        maybe(prop_oneof![6 => 0_i32..9, 1 => any::<i32>().prop_map(|t| t >> 8)]),
        maybe(any::<bool>()),
        maybe(float()),
        -4_i32..4,
    )
        .prop_map(|(s, i, n, u, d, t, b, f, k)| Row { s, i, n, u, d, t, b, f, k })
}

/// A batch of rows; `id` counts on from `first`, so that no two rows are the same.
fn batch(rows: &[Row], first: usize) -> RecordBatch {
    fn column<T>(rows: &[Row], of: impl Fn(&Row) -> Option<T>) -> Vec<Option<T>> {
        rows.iter().map(of).collect()
    }
    let decimals = Decimal128Array::from(column(rows, |r| r.d.map(i128::from)));
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        (
            "id",
            Arc::new(Int64Array::from_iter_values((first..first + rows.len()).map(|n| n as i64))),
            false,
        ),
        ("k", Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.k))), false),
        ("s", Arc::new(StringArray::from(column(rows, |r| r.s.clone()))), true),
        ("i", Arc::new(Int32Array::from(column(rows, |r| r.i))), true),
        ("n", Arc::new(Int64Array::from(column(rows, |r| r.n))), true),
        ("u", Arc::new(UInt64Array::from(column(rows, |r| r.u))), true),
        ("d", Arc::new(decimals.with_precision_and_scale(12, 2).unwrap()), true),
        ("t", Arc::new(Date32Array::from(column(rows, |r| r.t))), true),
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from(column(rows, |r| {
                r.t.map(|t| i64::from(t) * 86_400_000_000)
            }))),
            true,
        ),
        ("b", Arc::new(BooleanArray::from(column(rows, |r| r.b))), true),
        ("f", Arc::new(Float64Array::from(column(rows, |r| r.f))), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Rows dealt to so many partitions, in batches of a few rows.
fn partitions(rows: &[Row], partitions: usize) -> Vec<Vec<RecordBatch>> {
    let mut dealt = vec![Vec::new(); partitions];
    for (number, part) in rows.chunks(7).enumerate() {
        dealt[number % partitions].push(batch(part, 7 * number));
    }
    dealt
}

fn register(context: &SessionContext, name: &str, data: &[Vec<RecordBatch>]) {
    let schema = batch(&[], 0).schema();
    let table = MemTable::try_new(schema, data.to_vec()).unwrap();
    context.register_table(name, Arc::new(table)).unwrap();
}

/// An engine that needs no store, with a switch.
pub(crate) async fn engine(switch: &str) -> Engine {
    let engine = Engine::builder()
        .endpoint("http://127.0.0.1:9")
        .credentials("nobody", "secret")
        .threads(3)
        .build()
        .await
        .unwrap();
    rows(&engine, &format!("SET sluice.switch = '{switch}'")).await;
    engine
}

/// The plan's lines that tell of the switch.
pub(crate) async fn switch_lines(engine: &Engine, sql: &str) -> Vec<String> {
    let plan = engine.explain(sql).await.unwrap().plan;
    let text = datafusion::physical_plan::displayable(plan.as_ref()).indent(false).to_string();
    let ours = text.lines().map(str::trim).filter(|line| line.starts_with("Switch"));
    ours.map(str::to_owned).collect()
}

fn column() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["k", "s", "i", "n", "u", "d", "t", "ts", "b", "f"])
}

fn order() -> impl Strategy<Value = (&'static str, String)> {
    (column(), prop::bool::ANY, prop::bool::ANY).prop_map(|(column, descending, first)| {
        let direction = if descending { "DESC" } else { "ASC" };
        let nulls = if first { "FIRST" } else { "LAST" };
        (column, format!("{column} {direction} NULLS {nulls}"))
    })
}

fn comparison() -> impl Strategy<Value = String> {
    let relation = || prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]);
    prop_oneof![
        (relation(), -4_i64..9).prop_map(|(op, x)| format!("i {op} {x}")),
        (relation(), -30_i64..30).prop_map(|(op, x)| format!("n {op} {x}")),
        (relation(), 0_u64..9).prop_map(|(op, x)| format!("u {op} {x}")),
        (relation(), -99_i64..99).prop_map(|(op, x)| format!("d {op} {x}.5")),
        (relation(), 1_u32..9).prop_map(|(op, x)| format!("t {op} DATE '1970-01-0{x}'")),
        (relation(), -4_i32..4).prop_map(|(op, x)| format!("f {op} {}", f64::from(x) / 2.0)),
        (relation(), "[a-c]{0,3}").prop_map(|(op, x)| format!("s {op} '{x}'")),
        relation().prop_map(|op| format!("s {op} 'aaaaaaaaab'")),
        Just("s LIKE 'a%'".to_owned()),
        Just("k + i > 2".to_owned()),
        Just("b".to_owned()),
        Just("k IN (1, 2, 3, -1, -3)".to_owned()),
        Just("i NOT IN (0, 1, 2, 3)".to_owned()),
        column().prop_map(|column| format!("{column} IS NULL")),
        column().prop_map(|column| format!("{column} IS NOT NULL")),
    ]
}

fn predicate() -> impl Strategy<Value = String> {
    comparison().prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} OR {b})")),
            inner.prop_map(|a| format!("(NOT ({a}))")),
        ]
    })
}

fn join() -> impl Strategy<Value = String> {
    let kinds = ["", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI", "RIGHT SEMI", "RIGHT ANTI"];
    let on = prop_oneof![
        column().prop_map(|a| format!("x.{a} = y.{a}")),
        (column(), column()).prop_map(|(a, b)| format!("x.{a} = y.{a} AND x.{b} = y.{b}")),
        Just("x.k = y.k AND x.id < y.id".to_owned()),
    ];
    (prop::sample::select(kinds.to_vec()), on).prop_map(|(kind, on)| {
        let output = match kind {
            "LEFT SEMI" | "LEFT ANTI" => "x.id",
            "RIGHT SEMI" | "RIGHT ANTI" => "y.id",
            _ => "x.id, y.id, x.s",
        };
        format!("SELECT {output} FROM x {kind} JOIN y ON {on}")
    })
}

fn having() -> impl Strategy<Value = String> {
    let above = || prop::sample::select(vec![">", ">="]);
    prop_oneof![
        (above(), -9_i64..40).prop_map(|(op, c)| format!("sum(n) {op} {c}")),
        (above(), -9_i64..40).prop_map(|(op, c)| format!("sum(i) {op} {c}")),
        (above(), 0_u64..9).prop_map(|(op, c)| format!("sum(u) {op} {c}")),
        (above(), 0_i64..400).prop_map(|(op, c)| format!("sum(d) {op} {c}.25")),
        (above(), 0_i64..9).prop_map(|(op, c)| format!("count(*) {op} {c}")),
        (above(), 0_i64..9).prop_map(|(op, c)| format!("count(i) {op} {c} AND k IS NOT NULL")),
        (above(), -3_i64..4).prop_map(|(op, c)| format!("max(i) {op} {c}")),
        (-3_i64..4).prop_map(|c| format!("min(i) < {c}")),
        (-3_i64..4).prop_map(|c| format!("{c} >= min(i)")),
    ]
}

/// Queries whose answers, as multisets, are the same whichever of equal rows come first.
fn query() -> impl Strategy<Value = String> {
    let extreme = || prop::sample::select(vec!["min", "max"]);
    prop_oneof![
        column().prop_map(|a| format!("SELECT DISTINCT {a} FROM x")),
        (column(), column()).prop_map(|(a, b)| format!("SELECT DISTINCT {a}, {b} AS z FROM x")),
        (column(), predicate())
            .prop_map(|(a, filter)| format!("SELECT DISTINCT {a} FROM x WHERE {filter}")),
        column().prop_map(|a| format!("SELECT count(DISTINCT {a}) FROM x")),
        (column(), 0..9).prop_map(|(a, n)| {
            format!("SELECT count(*) FROM (SELECT DISTINCT {a} FROM x LIMIT {n})")
        }),
        (extreme(), column(), column(), 1..5).prop_map(|(f, a, b, n)| {
            format!("SELECT {f}({b}) AS z FROM x GROUP BY {a} ORDER BY z DESC LIMIT {n}")
        }),
        (extreme(), column(), column())
            .prop_map(|(f, a, b)| format!("SELECT {a}, {f}({b}) FROM x GROUP BY {a}")),
        (extreme(), column(), column(), column())
            .prop_map(|(f, a, b, c)| format!("SELECT {a}, {b} AS z, {f}({c}) FROM x GROUP BY {a}, {b}")),
        (order(), 1..12).prop_map(|((a, order), n)| {
            format!("SELECT {a} FROM x ORDER BY {order} LIMIT {n}")
        }),
        (order(), order(), 1..12, 0..3).prop_map(|((a, first), (b, second), n, skip)| {
            format!("SELECT {a}, {b} AS z FROM x ORDER BY x.{first}, x.{second} LIMIT {n} OFFSET {skip}")
        }),
        (having(), column()).prop_map(|(having, a)| {
            format!("SELECT {a} AS z, k, count(*), max(i), min(d) FROM x GROUP BY {a}, k HAVING {having}")
        }),
        (having(), column())
            .prop_map(|(having, a)| format!("SELECT {a} FROM x GROUP BY {a}, k HAVING {having}")),
        (column(), column(), predicate()).prop_map(|(a, b, filter)| {
            format!("SELECT id FROM x WHERE {filter} QUALIFY skyline({a}, {b}) OVER ()")
        }),
        Just("SELECT id FROM x QUALIFY skyline(n, -i, f, u) OVER ()".to_owned()),
        column().prop_map(|a| format!("SELECT id FROM x QUALIFY skyline(i, {a}) OVER (PARTITION BY k)")),
        predicate().prop_map(|filter| format!("SELECT id FROM x WHERE {filter}")),
        predicate().prop_map(|filter| format!("SELECT count(*), sum(id) FROM x WHERE {filter}")),
        join(),
        (join(), predicate()).prop_map(|(join, _)| join.replace("FROM x", "FROM (SELECT * FROM x WHERE k > 0) x")),
        column().prop_map(|a| format!("SELECT id FROM x WHERE {a} IN (SELECT {a} FROM y WHERE k > 1)")),
        column().prop_map(|a| format!("SELECT id FROM x WHERE {a} NOT IN (SELECT {a} FROM y WHERE k > 1)")),
        (column(), column()).prop_map(|(a, b)| format!(
            "SELECT x.{b}, max(y.id) FROM x JOIN y ON x.{a} = y.{a} GROUP BY x.{b} ORDER BY 2 DESC, 1 LIMIT 3"
        )),
    ]
}

#[test]
fn answers_are_those_of_datafusion() {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tiny = folder.path().join("tiny.toml");
    std::fs::write(&tiny, TINY).unwrap();
    let targets = ["tofino1", "paper", tiny.to_str().unwrap()].map(str::to_owned);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(48);
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let tables = (prop::collection::vec(row(), 0..150), 1_usize..4);
    let target = prop::sample::select(targets.to_vec());
    let switch = (target, prop::bool::ANY, prop::sample::select(vec![0, 1, 20]));
    let input = (tables, prop::collection::vec(query(), 1..6), switch);
    let result = runner.run(&input, |((table, parts), queries, (target, workers, patience))| {
        runtime.block_on(async {
            let (engine, stock) = (engine(&target).await, stock());
            stock.register_udwf(skyline().as_ref().clone());
            rows(&engine, &format!("SET sluice.switch_workers = {workers}")).await;
            rows(&engine, &format!("SET sluice.switch_patience = {patience}")).await;
            // Random rows, but not so random that one of many runs fails.
            rows(&engine, "SET sluice.switch_delta = 1e-9").await;
            let (x, y) = table.split_at(table.len() / 3);
            for (name, table) in [("x", x), ("y", y)] {
                let data = partitions(table, parts);
                register(engine.context(), name, &data);
                register(&stock, name, &data);
            }
            for sql in queries {
                let expected = stock_rows(&stock, &sql).await;
                let actual = try_rows(&engine, &sql).await.map_err(|e| e.to_string());
                if let (Err(_), Err(_)) = (&actual, &expected) {
                    continue;
                }
                prop_assert_eq!(actual, expected, "{} on {}", sql, target);
            }
            Ok(())
        })
    });
    result.unwrap();
}

/// Rows for tests that look at numbers: `id` counts, `k` repeats.
async fn counting(switch: &str, rows: usize) -> Engine {
    let engine = engine(switch).await;
    let of = |n: usize| Row {
        s: Some(format!("agent {}", n % 10)),
        i: Some((n * 7919 % 10_007) as i32),
        n: Some(n as i64),
        u: None,
        d: None,
        t: None,
        b: None,
        f: None,
        k: (n % 10) as i32,
    };
    let table: Vec<Row> = (0..rows).map(of).collect();
    register(engine.context(), "x", &partitions(&table, 3));
    engine
}

#[tokio::test(flavor = "multi_thread")]
async fn every_shape_is_served() {
    let engine = counting("tofino1", 100).await;
    for (sql, program) in [
        ("SELECT DISTINCT k FROM x", "distinct("),
        ("SELECT DISTINCT s FROM x", "distinct("),
        ("SELECT DISTINCT k FROM x LIMIT 3", "distinct("),
        ("SELECT s, max(n) FROM x GROUP BY s", "group_by_max("),
        ("SELECT k, min(i) FROM x GROUP BY k", "group_by_min("),
        ("SELECT * FROM x ORDER BY i DESC LIMIT 3", "top_n_randomized("),
        ("SELECT s FROM x GROUP BY s HAVING sum(n) > 10", "having_sum("),
        ("SELECT s FROM x GROUP BY s HAVING count(*) >= 10", "having_sum("),
        ("SELECT k, count(*) FROM x GROUP BY k HAVING max(i) > 1000", "having_extreme"),
        ("SELECT id FROM x QUALIFY skyline(i, -n) OVER ()", "skyline("),
        ("SELECT count(*) FROM x WHERE i < 10 AND s LIKE 'a%'", "filter("),
        ("SELECT a.id, b.id FROM x a JOIN x b ON a.i = b.i", "build join_"),
        ("SELECT id FROM x WHERE i IN (SELECT n FROM x WHERE k = 1)", "build join_"),
        (
            "SELECT a.id, b.id FROM (SELECT * FROM x WHERE k = 1) a LEFT JOIN x b ON a.i = b.i",
            "build join_",
        ),
    ] {
        let lines = switch_lines(&engine, sql).await;
        let nodes = if program.starts_with("build") { 2 } else { 1 };
        assert_eq!(lines.len(), nodes, "{sql}: {lines:?}");
        assert!(lines[0].starts_with(&format!("SwitchPruneExec: {program}")), "{sql}: {lines:?}");
        assert!(lines[0].contains("target=tofino1, stages="), "{sql}: {lines:?}");
        rows(&engine, "SET sluice.switch = 'off'").await;
        assert!(switch_lines(&engine, sql).await.is_empty());
        rows(&engine, "SET sluice.switch = 'tofino1'").await;
    }
    rows(&engine, "SET sluice.switch_delta = 0").await;
    let lines = switch_lines(&engine, "SELECT * FROM x ORDER BY i DESC LIMIT 3").await;
    assert!(lines[0].contains("top_n_deterministic("), "{lines:?}");
    let lines = switch_lines(&engine, "SELECT DISTINCT s FROM x").await;
    assert!(lines[0].starts_with("SwitchNoteExec: not pruned: DISTINCT"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn analyze_counts_packets() {
    let engine = counting("tofino1", 1000).await;
    let text = rows(&engine, "EXPLAIN ANALYZE SELECT DISTINCT k FROM x").await.join("\n");
    for expected in ["packets_in=1.00 K", "packets_out=10,", "wire_bytes_in=64.00 K", "pruned=99%"]
    {
        assert!(text.contains(expected), "no {expected} in {text}");
    }
    // Once more: each execution starts with an empty switch.
    let again = rows(&engine, "EXPLAIN ANALYZE SELECT DISTINCT k FROM x").await.join("\n");
    assert!(again.contains("packets_out=10"), "{again}");
    assert!(!again.contains("late"), "a packet holds the whole row: {again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn analyze_counts_what_is_fetched_for_the_rows_that_passed() {
    let engine = counting("tofino1", 1000).await;
    // A fingerprint of ten texts of seven bytes crosses the switch; the texts do not.
    let text = rows(&engine, "EXPLAIN ANALYZE SELECT DISTINCT s FROM x").await.join("\n");
    for expected in ["packets_out=10,", "late=[s]", "late_bytes=70"] {
        assert!(text.contains(expected), "no {expected} in {text}");
    }
    let lines = switch_lines(&engine, "SELECT * FROM x ORDER BY k LIMIT 3").await;
    assert!(lines[0].ends_with("late=[id, s, i, n, u, d, t, ts, b, f]"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switch_that_prunes_nothing_is_asked_no_more() {
    // 1000 rows in batches of 7, in three partitions: each worker sends 334, 48 batches at most.
    let engine = counting("tofino1", 1000).await;
    rows(&engine, "SET sluice.switch_patience = 70").await;
    let analyze =
        async |sql: &str| rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    // Ten batches, then one in 64: the other 37 or 38 of each worker pass, 777 to 790 rows.
    let past = |text: &str| -> usize {
        let (_, number) = text.rsplit_once("packets_past=").unwrap_or_else(|| panic!("{text}"));
        number.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    };
    for sql in [
        "SELECT DISTINCT n FROM x",
        "SELECT n, max(i) FROM x GROUP BY n",
        "SELECT n FROM x GROUP BY n HAVING count(*) > 0",
        "SELECT a.id FROM x a JOIN x b ON a.n = b.n",
    ] {
        let text = analyze(sql).await;
        assert!((700..800).contains(&past(&text)), "{sql}: {text}");
        assert!(text.contains("packets_out=1.00 K"), "all rows pass: {sql}: {text}");
    }
    for sql in [
        "SELECT DISTINCT k FROM x",
        "SELECT b.id FROM (SELECT * FROM x WHERE n = 3) a JOIN x b ON a.n = b.n",
    ] {
        let text = analyze(sql).await;
        assert_eq!(past(&text), 0, "{sql}: {text}");
    }
    // Whoever compares the switch with the optimum wants all of the switch.
    rows(&engine, "SET sluice.switch_opt = true").await;
    let text = analyze("SELECT DISTINCT n FROM x").await;
    assert!(!text.contains("packets_past"), "{text}");
}

/// The rows, and the packets that go out beside those of a switch without limits.
async fn packets_out(engine: &Engine, sql: &str) -> (usize, usize) {
    let text = rows(engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    let number = |name: &str| -> usize {
        let found = text.rsplit_once(name).unwrap_or_else(|| panic!("no {name} in {text}")).1;
        let digits: String = found.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    (number("packets_out="), number("packets_out_opt="))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_switch_forwards_less_than_opt() {
    let engine = counting("tofino1", 900).await;
    rows(&engine, "SET sluice.switch_opt = true").await;
    for (sql, least) in [
        ("SELECT DISTINCT s FROM x", 10),
        ("SELECT k, max(i) FROM x GROUP BY k", 10),
        ("SELECT i FROM x ORDER BY i DESC LIMIT 5", 5),
        ("SELECT s FROM x GROUP BY s HAVING count(*) > 89", 10),
        ("SELECT k, count(*) FROM x GROUP BY k HAVING min(i) < 50", 1),
        ("SELECT b.id FROM (SELECT * FROM x WHERE n < 9) a JOIN x b ON a.n = b.n", 9),
        ("SELECT id FROM x QUALIFY skyline(i, -n) OVER ()", 1),
    ] {
        let (out, optimum) = packets_out(&engine, sql).await;
        assert!(least <= optimum && optimum <= out && out <= 900, "{sql}: {optimum} {out}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_may_run_many_times_at_once() {
    let engine = counting("tofino1", 3000).await;
    // DataFusion's own exchange runs once only.
    rows(&engine, "SET datafusion.optimizer.repartition_aggregations = false").await;
    let frame = engine.query("SELECT DISTINCT i FROM x").await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let runs = (0..8).map(|_| {
        let (plan, context) = (Arc::clone(&plan), engine.context().task_ctx());
        SpawnedTask::spawn(datafusion::physical_plan::collect(plan, context))
    });
    for run in runs.collect::<Vec<_>>() {
        let batches = run.join().await.unwrap().unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 3000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let short = folder.path().join("short.toml");
    std::fs::write(&short, "name = 'short'\nstages = 1").unwrap();
    let engine = counting(short.to_str().unwrap(), 10).await;
    let sql = "SELECT * FROM x ORDER BY i DESC LIMIT 3";
    let lines = switch_lines(&engine, sql).await;
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with("SwitchNoteExec: not pruned: ORDER BY LIMIT: needs "),
        "{lines:?}"
    );
    assert_eq!(rows(&engine, sql).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_settings_are_refused() {
    let engine = engine("off").await;
    for (setting, says) in [
        ("SET sluice.switch = 'tofino3'", "'off', 'tofino1', 'tofino2', 'paper' or a target file"),
        ("SET sluice.switch_delta = 1.5", "a probability of at least 0 and below 1"),
    ] {
        let error = try_rows(&engine, setting).await.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
