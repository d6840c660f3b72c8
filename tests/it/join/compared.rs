//! Statements about random tables, run in two ways, of which the second returns fewer bytes.

use std::cell::Cell;

use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use tokio::runtime::Runtime;

use super::answers::{Format, Row, row};
use crate::harness::{BUCKET, Store, rows, runner, stock, stock_rows, try_rows};

fn table(rows: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec(row(), rows)
}

/// Compares some of the statements, over tables `a`, `b`, `c` and `d`, in each way with DataFusion, after settings
/// that both ways share. The sizes vary, so that the order of tables in FROM does not matter. In total, and for many
/// single statements, the second way returns fewer bytes.
pub(super) fn compare(
    format: Format,
    statements: &[&'static str],
    settings: &[&str],
    ways: [&str; 2],
) {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let local = tempfile::tempdir().unwrap();
    let mut runner = runner(20);
    let cases = runner.config().cases;
    let number = Cell::new(0);
    let fewer = Cell::new(0_u32);
    let all = Cell::new((0, 0));
    let setting = (any::<bool>(), prop::bool::weighted(0.7));
    let tables = (table(5..60), table(5..60), table(0..9), table(0..30));
    let statements = prop::sample::subsequence(statements.to_vec(), 5..=5);
    let result = runner.run(&(tables, setting, statements), |input| {
        let ((a, b, c, d), (partitioned, listed), statements) = input;
        number.set(number.get() + 1);
        let folder = format!("{format:?}{}", number.get());
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
            for setting in settings {
                rows(&engine, setting).await;
            }
            if partitioned {
                let threshold = "datafusion.optimizer.hash_join_single_partition_threshold";
                rows(&engine, &format!("SET {threshold} = 0")).await;
                rows(&engine, &format!("SET {threshold}_rows = 0")).await;
            }
            if !listed {
                let most = "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values";
                rows(&engine, &format!("SET {most} = 0")).await;
            }
            for sql in statements {
                let expected = stock_rows(&stock, sql).await.unwrap();
                let mut returned = Vec::new();
                for way in ways {
                    rows(&engine, way).await;
                    let before = engine.counted();
                    let actual = try_rows(&engine, sql).await.map_err(|error| error.to_string());
                    returned.push(engine.counted().since(&before).returned_bytes);
                    prop_assert_eq!(actual.as_ref(), Ok(&expected), "{}, {}", sql, way);
                }
                all.set((all.get().0 + returned[0], all.get().1 + returned[1]));
                fewer.set(fewer.get() + u32::from(returned[1] < returned[0]));
            }
            Ok(())
        })
    });
    result.unwrap();
    assert!(all.get().1 < all.get().0, "{all:?} bytes by {ways:?}");
    assert!(fewer.get() > cases / 4, "{} of {cases} · 5 answers became shorter", fewer.get());
}
