//! Keys that go further than to the table that they are joined with: to tables that are joined to it
//! by the same key, each key by itself.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use super::answers::{Format, Row, row};
use crate::harness::{BUCKET, Store, rows, stock, stock_rows, try_rows};

/// A build side below each type of join, with and without NULLs that are equal, keys that go to
/// different tables, casts, and what stands between joins.
const STATEMENTS: &[&str] = &[
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.k = b.k JOIN c ON c.k = b.k",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.k = b.k JOIN c ON c.k = a.k WHERE c.v < 25",
    "SELECT a.v, b.v, c.v FROM a LEFT JOIN b ON a.k = b.k JOIN c ON c.k = b.k",
    "SELECT a.v, b.v, c.v FROM a RIGHT JOIN b ON a.k = b.k JOIN c ON c.k = b.k",
    "SELECT a.v, b.v, c.v FROM a FULL JOIN b ON a.k = b.k JOIN c ON c.k = b.k",
    "SELECT x.v, c.v FROM (SELECT b.k, b.v FROM a RIGHT JOIN b ON a.k = b.k WHERE a.v IS NULL) x \
     JOIN c ON c.k = x.k",
    "SELECT b.v, c.v FROM b JOIN c ON c.k = b.k WHERE NOT EXISTS (SELECT 1 FROM a WHERE a.k = b.k)",
    "SELECT b.v, c.v FROM b JOIN c ON c.k = b.k WHERE EXISTS (SELECT 1 FROM a WHERE a.k = b.k)",
    "SELECT b.v, c.v FROM b JOIN c ON c.k = b.k WHERE b.k NOT IN (SELECT k FROM a)",
    "SELECT b.v, c.v FROM b JOIN c ON c.k = b.k WHERE b.k IN (SELECT k FROM a WHERE v > 9)",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.k IS NOT DISTINCT FROM b.k \
     JOIN c ON c.k IS NOT DISTINCT FROM b.k",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.k = b.k AND a.i = b.i JOIN c ON c.k = b.k AND c.i = a.i",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.k = b.k JOIN c ON c.k = b.k AND c.s = a.s",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.i = b.k JOIN c ON c.k = b.k",
    "SELECT a.v, b.v, c.v FROM a JOIN b ON a.s = b.s JOIN c ON c.s = b.s",
    "SELECT x.n, c.v FROM (SELECT b.k, count(a.v) AS n FROM a JOIN b ON a.k = b.k GROUP BY b.k) x \
     JOIN c ON c.k = x.k",
    "SELECT x.v, c.v FROM (SELECT b.k, a.v FROM a JOIN b ON a.k = b.k ORDER BY b.k, a.v LIMIT 3) x \
     JOIN c ON c.k = x.k",
    "SELECT a.v, b.v, c.v, d.v FROM a JOIN b ON a.k = b.k JOIN d ON d.i = b.i \
     JOIN c ON c.k = b.k AND c.i = d.i",
];

fn table(rows: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec(row(), rows)
}

/// Of one or both tables, the order in which they stand in FROM must not matter, so the sizes vary.
fn check(format: Format) {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let local = tempfile::tempdir().unwrap();
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let mut runner =
        TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let number = Cell::new(0);
    let fewer = Cell::new(0_u32);
    let all = Cell::new((0, 0));
    let tables = (table(5..60), table(5..60), table(0..9), table(0..30));
    let statements = prop::sample::subsequence(STATEMENTS.to_vec(), 5..=5);
    let result = runner.run(&(tables, any::<bool>(), statements), |input| {
        let ((a, b, c, d), partitioned, statements) = input;
        number.set(number.get() + 1);
        let folder = format!("transfer{format:?}{}", number.get());
        let extension = format.extension();
        for (name, rows) in [("a", &a), ("b", &b), ("c", &c), ("d", &d)] {
            let text = format.write(rows);
            let path = local.path().join(&folder).join(format!("{name}/0.{extension}"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &text).unwrap();
            store.put(&format!("{folder}/{name}/0.{extension}"), text);
        }
        runtime.block_on(async {
            let engine = store.builder().scan(Scan::Select).build().await.unwrap();
            let stock = stock();
            for name in ["a", "b", "c", "d"] {
                let location = format!("s3://{BUCKET}/{folder}/{name}/");
                rows(&engine, &format.ddl(name, &location)).await;
                let location = format!("{}/{folder}/{name}/", local.path().display());
                stock_rows(&stock, &format.ddl(name, &location)).await.unwrap();
            }
            rows(&engine, "SET sluice.join = 'bloom'").await;
            if partitioned {
                let threshold = "datafusion.optimizer.hash_join_single_partition_threshold";
                rows(&engine, &format!("SET {threshold} = 0")).await;
                rows(&engine, &format!("SET {threshold}_rows = 0")).await;
            }
            for sql in statements {
                let expected = stock_rows(&stock, sql).await.unwrap();
                let mut returned = Vec::new();
                for transfer in [false, true] {
                    rows(&engine, &format!("SET sluice.transfer = {transfer}")).await;
                    let before = engine.counted();
                    let actual = try_rows(&engine, sql).await.map_err(|error| error.to_string());
                    returned.push(engine.counted().since(&before).returned_bytes);
                    prop_assert_eq!(actual.as_ref(), Ok(&expected), "{}, {}", sql, transfer);
                }
                all.set((all.get().0 + returned[0], all.get().1 + returned[1]));
                fewer.set(fewer.get() + u32::from(returned[1] < returned[0]));
            }
            Ok(())
        })
    });
    result.unwrap();
    assert!(all.get().1 < all.get().0, "{all:?} bytes without and with transfers");
    assert!(fewer.get() > cases / 4, "{} of {cases} · 5 answers became shorter", fewer.get());
}

#[test]
fn transfers_over_csv_agree_with_datafusion() {
    check(Format::Csv);
}

#[test]
fn transfers_over_json_agree_with_datafusion() {
    check(Format::Json);
}
