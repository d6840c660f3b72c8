//! The 22 queries of TPC-H under each strategy of joins.

use object_store::local::LocalFileSystem;
use sluicegate_engine::config::Scan;
use sluicegate_workloads::tpch::{Format, generate};

use crate::harness::{BUCKET, Store, rows};
use crate::tpch::{answer_of, compare, data, oracle, register};

const SCALE: f64 = 0.03;

#[tokio::test(flavor = "multi_thread")]
async fn all_22_queries_agree_under_every_strategy() {
    let store = Store::start().await;
    let numbers: Vec<usize> = (1..=22).collect();
    let expected = Box::pin(oracle(SCALE, &numbers, &[Format::csv()])).await;
    let bucket = LocalFileSystem::new_with_prefix(store.folder.path().join(BUCKET)).unwrap();
    for (format, objects) in [(Format::csv(), 3), (Format::parquet(), 1)] {
        let tables = data(&format, objects, SCALE);
        generate(&tables, &bucket, &|_| ()).await.unwrap();
        let mut returned = Vec::new();
        for (strategy, partitioned) in [
            ("baseline", false),
            ("filtered", false),
            ("bloom", false),
            ("bloom", true),
            ("auto", false),
        ] {
            let engine = store.builder().scan(Scan::Auto).build().await.unwrap();
            register(&engine, BUCKET, &tables).await;
            rows(&engine, &format!("SET sluice.join = '{strategy}'")).await;
            if partitioned {
                let threshold = "datafusion.optimizer.hash_join_single_partition_threshold";
                rows(&engine, &format!("SET {threshold} = 0")).await;
                rows(&engine, &format!("SET {threshold}_rows = 0")).await;
            }
            let before = engine.counted();
            for (number, expected) in numbers.iter().zip(&expected) {
                compare(*number, &answer_of(&engine, *number).await, expected, strategy);
            }
            let counted = engine.counted().since(&before);
            assert_eq!((counted.fallbacks, counted.retries), (0, 0), "{strategy}");
            returned.push(counted.returned_bytes);
        }
        // Where all tables under joins go through the store, keys keep most rows there.
        assert!(2 * returned[2] < returned[1], "{returned:?}");
        assert!(2 * returned[3] < returned[1], "{returned:?}");
    }
}
