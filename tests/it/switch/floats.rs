//! Floats in the order of DataFusion, which is IEEE 754's total order: -NaN, -∞, …, -0, 0, …, ∞, NaN.

use proptest::prelude::*;
use sluicegate_engine::skyline::skyline;
use tokio::runtime::Runtime;

use super::answers::float;
use super::{Row, engine, partitions, register};
use crate::harness::{rows, runner, stock, stock_rows};

#[tokio::test]
async fn nan_comes_last_whatever_its_sign() {
    let engine = engine("tofino1").await;
    rows(&engine, "SET sluice.switch_delta = 0").await;
    let data = "(VALUES (5.0::DOUBLE), (4.0), (0.0::DOUBLE / 0.0)) AS x(f)";
    for (order, first) in [("f", "4.0"), ("f DESC", "NaN"), ("-f", "-5.0"), ("-f DESC", "NaN")] {
        let of = order.trim_end_matches(" DESC");
        let sql = format!("SELECT {of} FROM {data} ORDER BY {order} LIMIT 1");
        let expected = stock_rows(&stock(), &sql).await.unwrap();
        assert_eq!(rows(&engine, &sql).await, expected, "{order}");
        assert_eq!(expected, [format!("{first:?}")], "{order}");
    }
}

/// Generates a row with a key of few values and two floats; all other columns are NULL.
fn row() -> impl Strategy<Value = Row> {
    let maybe = || prop::option::weighted(0.9, float());
    (maybe(), maybe(), 0_i32..3).prop_map(|(f, g, k)| Row {
        f,
        g: g.map(|g| g as f32),
        k,
        ..Row::default()
    })
}

/// Generates a float as an SQL literal.
fn literal() -> impl Strategy<Value = String> {
    let special = ["'NaN'::DOUBLE", "(0.0::DOUBLE / 0.0)", "'inf'::DOUBLE", "'-inf'::DOUBLE"];
    prop_oneof![
        prop::sample::select(special.to_vec()).prop_map(str::to_owned),
        (-8..8).prop_map(|x| format!("{:?}::DOUBLE", f64::from(x) / 2.0)),
        Just("(-0.0::DOUBLE)".to_owned()),
    ]
}

/// Generates queries of every shape that sorts, compares or hashes floats. `id` distinguishes rows with the same
/// text.
fn query() -> impl Strategy<Value = String> {
    let column = || prop::sample::select(vec!["f", "g", "-f"]);
    let relation = || prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]);
    let extreme = || prop::sample::select(vec!["min", "max"]);
    let order = prop::sample::select(vec![
        "ASC NULLS FIRST",
        "ASC NULLS LAST",
        "DESC NULLS FIRST",
        "DESC NULLS LAST",
    ]);
    prop_oneof![
        (column(), order, 1..9).prop_map(|(a, order, n)| {
            format!("SELECT id, {a} FROM x ORDER BY {a} {order}, id LIMIT {n}")
        }),
        column().prop_map(|a| format!("SELECT DISTINCT {a} FROM x")),
        (column(), column()).prop_map(|(a, b)| format!("SELECT DISTINCT {a}, {b} AS z FROM x")),
        (extreme(), column()).prop_map(|(m, a)| format!("SELECT k, {m}({a}) FROM x GROUP BY k")),
        (extreme(), column()).prop_map(|(m, a)| format!("SELECT {a}, {m}(id) FROM x GROUP BY {a}")),
        (column(), literal(), prop::bool::ANY).prop_map(|(a, c, least)| {
            let condition =
                if least { format!("min({a}) <= {c}") } else { format!("max({a}) > {c}") };
            format!("SELECT k, count(*) FROM x GROUP BY k HAVING {condition}")
        }),
        (column(), literal()).prop_map(|(a, c)| format!(
            "SELECT k, count(*) FROM x GROUP BY k HAVING sum({a}) > {c}"
        )),
        (column(), relation(), literal())
            .prop_map(|(a, op, c)| format!("SELECT id FROM x WHERE {a} {op} {c}")),
        column()
            .prop_map(|a| format!("SELECT x.id, y.id FROM x JOIN y ON x.{a} = y.{a}"))
            .prop_filter("a plain column", |sql| !sql.contains('-')),
        Just("SELECT x.id, y.id FROM x JOIN y ON x.f = y.f AND x.g = y.g".to_owned()),
        (column(), column())
            .prop_map(|(a, b)| format!("SELECT id FROM x QUALIFY skyline({a}, {b}) OVER ()")),
    ]
}

/// One partition, so that DataFusion's answer depends only on the rows: its MIN and MAX by group do not compare NaN,
/// but take the value that follows it.
#[test]
fn answers_over_floats_are_those_of_datafusion() {
    let runtime = Runtime::new().unwrap();
    let mut runner = runner(64);
    let input = (prop::collection::vec(row(), 0..60), prop::collection::vec(query(), 1..9));
    let result = runner.run(&input, |(table, queries)| {
        runtime.block_on(async {
            let (engine, stock) = (engine("tofino1").await, stock());
            stock.register_udwf(skyline().as_ref().clone());
            let (x, y) = table.split_at(table.len() * 2 / 3);
            for (name, table) in [("x", x), ("y", y)] {
                let data = partitions(table, 1);
                register(engine.context(), name, &data);
                register(&stock, name, &data);
            }
            for delta in ["0", "1e-9"] {
                for setting in [
                    "SET datafusion.execution.target_partitions = 1",
                    &format!("SET sluice.switch_delta = {delta}"),
                ] {
                    rows(&engine, setting).await;
                }
                stock_rows(&stock, "SET datafusion.execution.target_partitions = 1").await.unwrap();
                for sql in &queries {
                    let expected = stock_rows(&stock, sql).await.unwrap();
                    prop_assert_eq!(rows(&engine, sql).await, expected, "{} with {}", sql, delta);
                }
            }
            Ok(())
        })
    });
    result.unwrap();
}
