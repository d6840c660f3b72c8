//! The switch never changes an answer: random tables × query shapes × targets, against plain
//! DataFusion over the same batches.

use proptest::prelude::*;
use sluicegate_engine::skyline::skyline;
use tokio::runtime::Runtime;

use super::{Row, TINY, engine, partitions, register};
use crate::harness::{rows, runner, stock, stock_rows, try_rows};

fn maybe<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.85, value)
}

fn whole() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -20_i64..20, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 2 => any::<i64>()]
}

/// Generates floats of every kind: NaNs of both signs, zeros of both signs, and infinities among them.
pub(super) fn float() -> impl Strategy<Value = f64> {
    let special = [f64::NAN, -f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY];
    prop_oneof![
        8 => (-8..8).prop_map(|x| f64::from(x) / 2.0),
        1 => any::<f64>(),
        3 => prop::sample::select(special.to_vec()),
    ]
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
        maybe(float().prop_map(|x| x as f32)),
        -4_i32..4,
    )
        .prop_map(|(s, i, n, u, d, t, b, f, g, k)| Row { s, i, n, u, d, t, b, f, g, k })
}

fn column() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["k", "s", "i", "n", "u", "d", "t", "ts", "b", "f", "g"])
}

/// Generates a column as the argument of MIN and MAX by group. DataFusion's own answer depends on the order of rows
/// if there are NaNs or zeros of both signs: `floats.rs` tests those.
fn value() -> impl Strategy<Value = String> {
    column().prop_map(|column| match column {
        "f" | "g" => {
            format!("CASE WHEN isnan({column}) OR {column} = 0 THEN NULL ELSE {column} END")
        }
        other => other.to_owned(),
    })
}

/// Generates a sum or count of whole numbers and decimals, which does not depend on the order.
fn addition() -> impl Strategy<Value = &'static str> {
    let all = [
        "sum(k)", "sum(i)", "sum(n)", "sum(u)", "sum(d)", "sum(-k)", "count(*)", "count(i)",
        "count(s)",
    ];
    prop::sample::select(all.to_vec())
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

/// Generates queries whose answers, as multisets, do not depend on the order of equal rows.
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
        (extreme(), column(), value(), 1..5).prop_map(|(f, a, b, n)| {
            format!("SELECT {f}({b}) AS z FROM x GROUP BY {a} ORDER BY z DESC LIMIT {n}")
        }),
        (extreme(), column(), value())
            .prop_map(|(f, a, b)| format!("SELECT {a}, {f}({b}) FROM x GROUP BY {a}")),
        (extreme(), extreme(), column(), value(), value()).prop_map(|(f, g, a, b, c)| {
            format!("SELECT {a}, {f}({b}), {g}({c}), max(i) FROM x GROUP BY {a}")
        }),
        (extreme(), column(), column(), value())
            .prop_map(|(f, a, b, c)| format!("SELECT {a}, {b} AS z, {f}({c}) FROM x GROUP BY {a}, {b}")),
        (column(), addition()).prop_map(|(a, f)| format!("SELECT {a}, {f} FROM x GROUP BY {a}")),
        (column(), column(), addition(), addition(), predicate()).prop_map(|(a, b, f, g, filter)| {
            format!("SELECT {a}, {b} AS z, {f} AS f, {g} AS g FROM x WHERE {filter} GROUP BY {a}, {b}")
        }),
        (column(), addition(), 1..5).prop_map(|(a, f, n)| {
            format!("SELECT {f} AS z FROM x GROUP BY {a} ORDER BY z DESC LIMIT {n}")
        }),
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
    let mut runner = runner(48);
    let tables = (prop::collection::vec(row(), 0..150), 1_usize..4);
    let target = prop::sample::select(targets.to_vec());
    let (yes, patience) = (prop::bool::ANY, prop::sample::select(vec![0, 1, 20]));
    let switch = (target, yes, yes, patience);
    let input = (tables, prop::collection::vec(query(), 1..6), switch);
    let result =
        runner.run(&input, |((table, parts), queries, (target, workers, packed, patience))| {
            runtime.block_on(async {
                let (engine, stock) = (engine(&target).await, stock());
                stock.register_udwf(skyline().as_ref().clone());
                rows(&engine, &format!("SET sluice.switch_workers = {workers}")).await;
                rows(&engine, &format!("SET sluice.switch_packed = {packed}")).await;
                rows(&engine, &format!("SET sluice.switch_patience = {patience}")).await;
                // The algorithm is random, so the probability of a wrong answer must be small for many runs.
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
