//! Sums and counts that the switch holds: at the limits of its words, and without values.

use datafusion::physical_plan::displayable;
use sluicegate_engine::Engine;

use super::{Row, TINY, counted, counting, engine, not_pruned, partitions, register};
use crate::harness::{rows, stock, stock_rows};

/// Returns rows at the limits of a word of 32 bits.
fn edges() -> Vec<Row> {
    let word = i64::from(u32::MAX);
    let keys = [None, Some(0), Some(1), Some(-1), Some(i32::MAX), Some(i32::MIN)];
    let values = [
        None,
        Some(0),
        Some(1),
        Some(-1),
        Some(word),
        Some(word + 1),
        Some(-word),
        Some(-word - 1),
        Some(i64::MAX / 600),
        Some(i64::MIN / 600),
    ];
    let days = [None, Some(0), Some(1), Some(-1), Some(20_000), Some(-40_000)];
    (0..600)
        .map(|n| Row {
            i: keys[n % keys.len()],
            n: values[n / 6 % values.len()],
            u: [None, Some(0), Some(u64::MAX / 600), Some(1 << 32)][n / 7 % 4],
            d: [None, Some(-5), Some(9_999_999_999)][n / 5 % 3],
            t: days[n / 4 % 6],
            b: [None, Some(true), Some(false)][n / 3 % 3],
            k: n as i32 % 4 - 2,
            ..Row::default()
        })
        .collect()
}

const STATEMENTS: [&str; 12] = [
    "SELECT i, sum(n) FROM x GROUP BY i",
    "SELECT i, sum(i), count(n), count(*) FROM x GROUP BY i",
    "SELECT n, sum(k) FROM x GROUP BY n",
    "SELECT u, count(u), sum(u) FROM x GROUP BY u",
    "SELECT d, sum(d), sum(-d) FROM x GROUP BY d",
    "SELECT b, sum(d), sum(n) FROM x GROUP BY b",
    "SELECT t, ts, count(*) FROM x GROUP BY t, ts",
    "SELECT k, i, sum(n), count(i) FROM x GROUP BY k, i",
    "SELECT k, b, t, u, sum(i) FROM x GROUP BY k, b, t, u",
    "SELECT sum(n) AS z FROM x GROUP BY k ORDER BY z DESC LIMIT 2",
    "SELECT k, sum(n) FROM x WHERE i > 5 AND i < 3 GROUP BY k",
    "SELECT k, sum(n) FROM x GROUP BY k HAVING sum(i) < 100",
];

#[tokio::test(flavor = "multi_thread")]
async fn what_no_word_holds_is_added_by_the_master() {
    let folder = tempfile::tempdir().unwrap();
    let tiny = folder.path().join("tiny.toml");
    std::fs::write(&tiny, TINY).unwrap();
    for (target, parts, packed) in [
        ("tofino1", 1, false),
        ("tofino2", 3, false),
        ("tofino2", 3, true),
        (tiny.to_str().unwrap(), 3, false),
        (tiny.to_str().unwrap(), 2, true),
    ] {
        let engine = engine(target).await;
        rows(&engine, &format!("SET sluice.switch_packed = {packed}")).await;
        rows(&engine, "SET sluice.switch_patience = 0").await;
        let plain = stock();
        for table in [edges(), Vec::new()] {
            let dealt = partitions(&table, parts);
            for context in [engine.context(), &plain] {
                let _ = context.deregister_table("x");
                register(context, "x", &dealt);
            }
            for sql in STATEMENTS {
                let plan = engine.explain(sql).await.unwrap().plan;
                let text = displayable(plan.as_ref()).indent(false).to_string();
                assert!(text.contains("SwitchPruneExec: group_sum("), "{sql}: {text}");
                let [mut ours, mut expected] =
                    [rows(&engine, sql).await, stock_rows(&plain, sql).await.unwrap()];
                ours.sort();
                expected.sort();
                assert_eq!(ours, expected, "{sql} on {target}, packed: {packed}");
            }
        }
    }
}

/// Returns the counts of EXPLAIN ANALYZE: packets in, out and past, and groups that the switch held.
async fn counts(engine: &Engine, sql: &str) -> [usize; 4] {
    let text = rows(engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    ["packets_in", "packets_out", "packets_past", "groups_drained"].map(|name| counted(&text, name))
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_with_a_cell_are_held() {
    let engine = counting("tofino2", 1000).await;
    for (sql, expected) in [
        ("SELECT k, sum(n) FROM x GROUP BY k", [1000, 0, 0, 10]),
        ("SELECT k, count(*), sum(i), sum(n) FROM x GROUP BY k", [1000, 0, 0, 10]),
        ("SELECT k, sum(-n) FROM x GROUP BY k", [1000, 0, 0, 10]),
        // 250 rows without a value bypass the switch: 25 of each group.
        ("SELECT k, sum(CASE WHEN n >= 250 THEN n END) FROM x GROUP BY k", [1000, 250, 250, 10]),
        // NULL has no value, and is not counted.
        ("SELECT k, count(CASE WHEN n >= 250 THEN n END) FROM x GROUP BY k", [1000, 0, 0, 10]),
        // A word is too short for the values of 100 rows, and for the keys of 10.
        (
            "SELECT k, sum(CASE WHEN n < 100 THEN 5000000000 ELSE n END) FROM x GROUP BY k",
            [1000, 100, 100, 10],
        ),
        (
            "SELECT CASE WHEN n < 10 THEN 5000000000 ELSE k END AS z, count(*) FROM x GROUP BY z",
            [1000, 10, 10, 10],
        ),
    ] {
        assert_eq!(counts(&engine, sql).await, expected, "{sql}");
    }
}

/// With more groups than cells, groups without a cell are forwarded, and none is lost.
#[tokio::test(flavor = "multi_thread")]
async fn groups_without_room_are_forwarded() {
    let folder = tempfile::tempdir().unwrap();
    let tiny = folder.path().join("tiny.toml");
    std::fs::write(&tiny, TINY).unwrap();
    let engine = counting(tiny.to_str().unwrap(), 1000).await;
    let [into, out, past, held] =
        counts(&engine, "SELECT n % 200 AS z, sum(i) FROM x GROUP BY z").await;
    assert_eq!((into, past), (1000, 0));
    assert!(held > 10 && held < 200, "{held}");
    // A group is held completely or not at all; each has five rows.
    assert_eq!(out, 1000 - 5 * held);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_switch_cannot_hold_says_why() {
    let engine = counting("tofino2", 100).await;
    for (sql, why) in [
        ("SELECT k, sum(f) FROM x GROUP BY k", "a switch adds up whole numbers and decimals only"),
        ("SELECT s, sum(n) FROM x GROUP BY s", "holds keys of whole numbers and dates"),
        ("SELECT f, sum(n) FROM x GROUP BY f", "holds keys of whole numbers and dates"),
        ("SELECT k, max(n), sum(n) FROM x GROUP BY k", "needs every row"),
        ("SELECT k, avg(n), sum(n) FROM x GROUP BY k", "needs every row"),
        (
            "SELECT k, count(DISTINCT n), count(DISTINCT i), sum(n) FROM x GROUP BY k",
            "needs every row",
        ),
        ("SELECT k, count(n, i) FROM x GROUP BY k", "a COUNT of several columns"),
        ("SELECT k, i, n, u, t, sum(n) FROM x GROUP BY k, i, n, u, t", "5 columns do not share"),
    ] {
        let said = not_pruned(&engine, sql).await.join("\n");
        assert!(said.contains("switch of GROUP BY SUM") && said.contains(why), "{sql}: {said}");
    }
    let none = not_pruned(&engine, "SELECT k, sum(n) FILTER (WHERE n > 3) FROM x GROUP BY k").await;
    assert_eq!(none, [""; 0], "a shape of its own");
}
