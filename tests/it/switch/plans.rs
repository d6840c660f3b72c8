//! The operators that a switch supports, and the reasons for the others.

use datafusion::physical_plan::displayable;
use sluicegate_engine::Engine;

use super::{counting, engine, not_pruned, switch_lines};
use crate::harness::{rows, try_rows};

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
        ("SELECT k, max(n), min(i), max(d) FROM x GROUP BY k", "group_by_max_min_max("),
        ("SELECT k, sum(n), count(*), sum(d) FROM x GROUP BY k", "group_sum("),
        ("SELECT t, count(i) FROM x GROUP BY t", "group_sum("),
        ("SELECT s FROM x GROUP BY s HAVING sum(n) > 10", "second pass of having_sum("),
        ("SELECT s FROM x GROUP BY s HAVING count(*) >= 10", "second pass of having_sum("),
        (
            "SELECT k, count(*) FROM x GROUP BY k HAVING max(i) > 1000",
            "second pass of having_extreme",
        ),
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
        let two = program.starts_with("build") || program.starts_with("second");
        let nodes = if two { 2 } else { 1 };
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
    let sql = "SELECT DISTINCT s FROM x";
    assert!(switch_lines(&engine, sql).await.is_empty());
    let said = not_pruned(&engine, sql).await;
    assert!(said[0].starts_with("switch of DISTINCT\n"), "{said:?}");
    assert!(said[0].contains("not possible: the key has no code of 64 bits"), "{said:?}");
}

/// Returns the bounds in EXPLAIN: those of the operators, and that of the whole query.
async fn bounds(engine: &Engine, sql: &str) -> (Vec<f64>, f64) {
    let plan = engine.explain(sql).await.unwrap().plan;
    let text = displayable(plan.as_ref()).indent(false).to_string();
    let bound = |line: &str| -> Option<f64> {
        let number = line.split("failure<=").nth(1)?;
        Some(number.split([')', ',']).next()?.parse().unwrap())
    };
    let of = |name: &str| -> Vec<f64> {
        text.lines().filter(|line| line.trim().starts_with(name)).filter_map(bound).collect()
    };
    (of("SwitchPruneExec"), of("SwitchExec").into_iter().sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_rests_on_what_is_known_and_belongs_to_the_query() {
    let engine = counting("tofino1", 100).await;
    // The number of the table's rows is known.
    let (each, whole) = bounds(&engine, "SELECT DISTINCT s FROM x").await;
    assert!(each.len() == 1 && whole < 1e-12, "{each:?} {whole}");
    // The rows after a filter are only estimated, which gives no bound: the switch stops pruning once it has
    // forwarded so many rows that the bound would be exceeded.
    let some = "SELECT DISTINCT s FROM x WHERE i < 10";
    let (each, whole) = bounds(&engine, some).await;
    assert!(each.len() == 1 && (1e-5..=1e-4).contains(&whole), "{each:?} {whole}");
    let (each, whole) = bounds(&engine, &format!("{some} UNION ALL {some}")).await;
    assert_eq!(each.len(), 2, "{each:?}");
    assert!(whole <= 1e-4 && whole > each[0] && whole > each[1], "{each:?} {whole}");
    assert!((whole - each.iter().sum::<f64>()).abs() < 0.1 * whole, "{each:?} {whole}");
}

/// Returns the stages, columns or tables of the programs that serve a query.
async fn served(engine: &Engine, sql: &str) -> Vec<String> {
    let short = |line: &String| line.split([':', ')']).nth(1).map(str::trim).map(str::to_owned);
    switch_lines(engine, sql).await.iter().filter_map(short).collect()
}

/// Each of the operators alone would take most of the switch.
#[tokio::test(flavor = "multi_thread")]
async fn no_operator_starves_the_next() {
    let engine = counting("tofino1", 100).await;
    let operators = [
        "SELECT DISTINCT n FROM x",
        "SELECT max(i) FROM x GROUP BY n",
        "SELECT DISTINCT u FROM x WHERE u > 3",
    ];
    for count in 1..=operators.len() {
        let sql = operators[..count].join(" UNION ALL ");
        let lines = served(&engine, &sql).await;
        let placed = lines.iter().filter(|line| !line.starts_with("filter")).count();
        assert_eq!(placed, count, "{lines:?}");
        assert_eq!(not_pruned(&engine, &sql).await, [""; 0], "{lines:?}");
    }
    // A single operator gets more of the switch than one of two.
    let alone = served(&engine, operators[0]).await;
    let beside = served(&engine, &operators[..2].join(" UNION ALL ")).await;
    assert!(!beside.contains(&alone[0]), "{alone:?} {beside:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let short = folder.path().join("short.toml");
    std::fs::write(&short, "name = 'short'\nstages = 1").unwrap();
    let engine = counting(short.to_str().unwrap(), 10).await;
    let sql = "SELECT * FROM x ORDER BY i DESC LIMIT 3";
    assert!(switch_lines(&engine, sql).await.is_empty());
    let said = not_pruned(&engine, sql).await;
    assert!(said[0].contains("switch of ORDER BY LIMIT"), "{said:?}");
    assert!(said[0].contains("not possible: needs "), "{said:?}");
    assert_eq!(rows(&engine, sql).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_that_are_not_pruned_say_why() {
    let engine = counting("tofino1", 100).await;
    let expected = "switch of GROUP BY\n    prune not possible: only groups with nothing but MIN and \
                    MAX, or with nothing but SUM and COUNT, can be pruned\n";
    for sql in ["SELECT k, avg(n) FROM x GROUP BY k", "SELECT k, max(n), avg(n) FROM x GROUP BY k"]
    {
        assert_eq!(not_pruned(&engine, sql).await, [expected], "{sql}");
    }
    // The switch supports these, including HAVING as a whole.
    for sql in [
        "SELECT DISTINCT k FROM x",
        "SELECT k, max(n) FROM x GROUP BY k",
        "SELECT k, max(n), min(n) FROM x GROUP BY k",
        "SELECT k, sum(n), count(*) FROM x GROUP BY k",
        "SELECT k, sum(n) FROM x GROUP BY k HAVING sum(n) > 10",
    ] {
        assert_eq!(not_pruned(&engine, sql).await, [""; 0], "{sql}");
    }
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
