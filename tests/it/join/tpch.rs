//! The 22 queries of TPC-H under each strategy of joins.

use object_store::local::LocalFileSystem;
use sluicegate_engine::config::Scan;
use sluicegate_workloads::tpch::{Format, generate};

use crate::harness::{BUCKET, Store, rows};
use crate::tpch::{answer_of, compare, data, oracle, register};

const SCALE: f64 = 0.02;

async fn check(format: Format, objects: usize) {
    let store = Store::start().await;
    let numbers: Vec<usize> = (1..=22).collect();
    let expected = Box::pin(oracle(SCALE, &numbers, &[Format::csv()])).await;
    let bucket = LocalFileSystem::new_with_prefix(store.folder.path().join(BUCKET)).unwrap();
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
    // When all joined tables are read by Select, keys keep most rows in the store.
    assert!(2 * returned[2] < returned[1], "{returned:?}");
    assert!(2 * returned[3] < returned[1], "{returned:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_22_queries_over_csv_agree_under_every_strategy() {
    Box::pin(check(Format::csv(), 3)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_22_queries_over_parquet_agree_under_every_strategy() {
    Box::pin(check(Format::parquet(), 1)).await;
}

/// With transfers of keys, no query returns more bytes.
#[tokio::test(flavor = "multi_thread")]
async fn transfers_make_no_answer_longer() {
    let store = Store::start().await;
    let bucket = LocalFileSystem::new_with_prefix(store.folder.path().join(BUCKET)).unwrap();
    let tables = data(&Format::csv(), 1, SCALE);
    generate(&tables, &bucket, &|_| ()).await.unwrap();
    let engine = store.builder().scan(Scan::Select).build().await.unwrap();
    register(&engine, BUCKET, &tables).await;
    rows(&engine, "SET sluice.join = 'bloom'").await;
    let mut shorter = Vec::new();
    for number in 1..=22 {
        let returned = async |transfer: bool| {
            rows(&engine, &format!("SET sluice.transfer = {transfer}")).await;
            let before = engine.counted();
            let answer = answer_of(&engine, number).await;
            (answer, engine.counted().since(&before).returned_bytes)
        };
        // On a busy machine, keys may arrive too late to be sent.
        let mut tries = 0;
        let (with, without) = loop {
            let (expected, without) = returned(false).await;
            let (answer, with) = returned(true).await;
            compare(number, &answer, &expected, "with transfers");
            tries += 1;
            if with <= without || tries == 5 {
                break (with, without);
            }
        };
        eprintln!("query {number}: {without} bytes without transfers, {with} with");
        assert!(with <= without, "query {number}: {without} bytes without transfers, {with} with");
        if 10 * with < 9 * without {
            shorter.push(number);
        }
    }
    // Query 5 joins suppliers to lineitem and to customers, each by one key.
    assert!(shorter.contains(&5), "transfers make the answers of {shorter:?} shorter");
}
