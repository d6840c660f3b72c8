//! Random tables, predicates and aggregates: engine over Select = DataFusion over the same file.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use crate::harness::{Place, Store, stock, stock_rows, try_rows};

const COLUMNS: &str = "(id BIGINT NOT NULL, s VARCHAR, i INT, n BIGINT, d DECIMAL(12,3), t DATE, b BOOLEAN, f DOUBLE)";

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c]{0,3}",
        2 => "[a-zÀ-ž0-9 ,;'%_-]{0,8}",
        1 => Just("\"quoted\"".to_owned()),
        1 => Just("two\nlines".to_owned()),
        1 => Just("comma, inside".to_owned()),
        1 => Just("# no comment".to_owned()),
        1 => Just("日本語 🚰".to_owned()),
    ]
}

fn maybe<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.8, value)
}

fn whole() -> impl Strategy<Value = i64> {
    prop_oneof![6 => -5_i64..10, 1 => Just(i64::MAX), 1 => Just(i64::MIN), 1 => any::<i64>()]
}

fn decimal() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-20_i64..20, 0_u32..1000).prop_map(|(whole, part)| format!("{whole}.{part:03}")),
        1 => (-20_i64..20).prop_map(|whole| whole.to_string()),
        1 => (-20_i64..20).prop_map(|whole| format!("{whole}.5")),
        // More digits than the column declares: both sides drop them.
        1 => (0_i64..20, 0_u32..100_000).prop_map(|(whole, part)| format!("{whole}.{part:05}")),
        1 => Just("999999999.999".to_owned()),
    ]
}

fn date() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => (1990..1993, 1..13, 1..29).prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}")),
        1 => Just("0001-01-01".to_owned()),
        1 => Just("9999-12-31".to_owned()),
    ]
}

fn float() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-4..5).prop_map(|x| format!("{}", f64::from(x) / 2.0)),
        1 => any::<f64>().prop_filter("CSV", |x| x.is_finite()).prop_map(|x| format!("{x:e}")),
        1 => Just("NaN".to_owned()),
        1 => Just("-0.0".to_owned()),
        1 => Just("inf".to_owned()),
    ]
}

fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r', '#']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn table() -> impl Strategy<Value = String> {
    let row = (
        0_i64..50,
        maybe(text()),
        maybe(prop_oneof![5 => -3_i32..4, 1 => any::<i32>()]),
        maybe(whole()),
        maybe(decimal()),
        maybe(date()),
        maybe(any::<bool>()),
        maybe(float()),
    );
    prop::collection::vec(row, 0..30).prop_map(|rows| {
        let mut csv = String::from("id,s,i,n,d,t,b,f\n");
        for (id, s, i, n, d, t, b, f) in rows {
            let or_empty = |x: Option<String>| x.unwrap_or_default();
            csv.push_str(&format!(
                "{id},{},{},{},{},{},{},{}\n",
                field(&or_empty(s)),
                or_empty(i.map(|x| x.to_string())),
                or_empty(n.map(|x| x.to_string())),
                or_empty(d),
                or_empty(t),
                or_empty(b.map(|x| x.to_string())),
                or_empty(f),
            ));
        }
        csv
    })
}

fn comparison() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]).prop_map(str::to_owned)
}

fn atom() -> impl Strategy<Value = String> {
    prop_oneof![
        (comparison(), -3_i64..10).prop_map(|(op, x)| format!("i {op} {x}")),
        (comparison(), -5_i64..10).prop_map(|(op, x)| format!("n {op} {x}")),
        (comparison(), -5_i64..10).prop_map(|(op, x)| format!("n + id {op} {x}")),
        (comparison(), decimal()).prop_map(|(op, x)| format!("d {op} {x}")),
        (comparison(), decimal()).prop_map(|(op, x)| format!("d * 2 {op} {x}")),
        (comparison(), date()).prop_map(|(op, x)| format!("t {op} DATE '{x}'")),
        (comparison(), "[a-c]{0,3}").prop_map(|(op, x)| format!("s {op} '{x}'")),
        "[a-c%_]{0,4}".prop_map(|x| format!("s LIKE '{x}'")),
        "[a-c%_]{0,4}".prop_map(|x| format!("s NOT LIKE '{x}'")),
        (comparison(), -4..5).prop_map(|(op, x)| format!("f {op} {}", f64::from(x) / 2.0)),
        prop::sample::select(vec!["s", "i", "n", "d", "t", "b", "f"])
            .prop_map(|column| format!("{column} IS NULL")),
        prop::sample::select(vec!["s", "i", "n", "d", "t", "b", "f"])
            .prop_map(|column| format!("{column} IS NOT NULL")),
        Just("b".to_owned()),
        Just("NOT b".to_owned()),
        Just("i IN (1, 2, 3, -1, 7)".to_owned()),
        Just("s NOT IN ('a', 'b', 'ab', 'c', 'cc')".to_owned()),
        Just(
            "t IN (DATE '1990-01-01', DATE '1991-02-03', DATE '1992-12-28', DATE '0001-01-01')"
                .to_owned()
        ),
        Just("CASE WHEN b THEN i WHEN i > 0 THEN 1 ELSE 0 END = 1".to_owned()),
        Just("i = id".to_owned()),
        Just("s IS DISTINCT FROM 'a'".to_owned()),
    ]
}

fn predicate() -> impl Strategy<Value = String> {
    atom().prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} OR {b})")),
            inner.prop_map(|a| format!("(NOT ({a}))")),
        ]
    })
}

fn output() -> impl Strategy<Value = String> {
    let columns = vec![
        "*",
        "s",
        "id, s",
        "f, d, t",
        "1",
        "count(*), count(s), count(i), count(t)",
        "sum(i), min(i), max(i), avg(i)",
        "sum(n), min(n), max(n)",
        "sum(d), min(d), max(d), avg(d)",
        "min(t), max(t), min(s), max(s)",
        "sum(d) FILTER (WHERE b), count(*) FILTER (WHERE i > 0)",
        "sum(d * 2 - 1), sum(CASE WHEN b THEN d ELSE 0 END)",
        "max(f), min(f), count(f)",
        "s, count(*)",
    ];
    prop::sample::select(columns).prop_map(str::to_owned)
}

fn statement(output: &str, predicate: &str) -> String {
    let tail = if output == "s, count(*)" { " GROUP BY s" } else { "" };
    format!("SELECT {output} FROM x WHERE {predicate}{tail}")
}

#[test]
fn select_agrees_with_datafusion() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    check(&runtime, &store);
}

/// Random statements over random tables in a place, against DataFusion over a local copy.
pub(crate) fn check(runtime: &Runtime, place: &dyn Place) {
    let local = tempfile::tempdir().unwrap();
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let statements = prop::collection::vec((output(), predicate()), 1..4);
    let number = std::cell::Cell::new(0);
    let result = runner.run(&(table(), statements), |(csv, statements)| {
        number.set(number.get() + 1);
        let key = format!("t{}/a.csv", number.get());
        let file = local.path().join(format!("{}.csv", number.get()));
        std::fs::write(&file, &csv).unwrap();
        runtime.block_on(async {
            place.put_object(&key, csv.clone().into_bytes()).await;
            let ddl = |location: &str| {
                format!(
                    "CREATE EXTERNAL TABLE x {COLUMNS} STORED AS CSV LOCATION '{location}'
                     OPTIONS ('format.has_header' 'true', 'format.newlines_in_values' 'true')"
                )
            };
            let engine = place.builder().scan(Scan::Select).build().await.unwrap();
            let stock = stock();
            let location = format!("s3://{}/t{}/", place.bucket(), number.get());
            try_rows(&engine, &ddl(&location)).await.unwrap();
            stock_rows(&stock, &ddl(&file.display().to_string())).await.unwrap();
            for (output, predicate) in statements {
                let sql = statement(&output, &predicate);
                let expected = stock_rows(&stock, &sql).await;
                let actual = try_rows(&engine, &sql).await.map_err(|e| e.to_string());
                match (actual, expected) {
                    (Ok(actual), Ok(expected)) => {
                        prop_assert_eq!(actual, expected, "{} over\n{}", sql, csv)
                    }
                    (Err(_), Err(_)) => {}
                    (actual, expected) => {
                        prop_assert!(
                            false,
                            "{sql}: {actual:?}, but DataFusion {expected:?}\n{csv}"
                        );
                    }
                }
            }
            Ok(())
        })
    });
    result.unwrap();
}
