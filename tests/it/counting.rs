//! Requests are counted for each query, separately from other queries at the same time.

use datafusion::common::runtime::SpawnedTask;
use sluicegate_engine::config::Scan;
use sluicegate_engine::{CounterSnapshot, Engine, Query};
use sluicegate_server::Operation;

use crate::harness::{BUCKET, Store, rows};

/// Creates tables `t0`, `t1`, … of one object each; returns their sizes in bytes, which all differ.
async fn tables(store: &Store, engine: &Engine, count: usize) -> Vec<u64> {
    // Without statistics, no sample of an object is read, so its bytes are read once.
    rows(engine, "SET datafusion.execution.collect_statistics = false").await;
    let mut sizes = Vec::new();
    for number in 0..count {
        let mut text = String::from("k,v\n");
        for k in 0..1000 * (number + 1) {
            text.push_str(&format!("{k},{number}\n"));
        }
        store.put(&format!("t{number}/a.csv"), &text);
        sizes.push(text.len() as u64);
        let ddl = format!(
            "CREATE EXTERNAL TABLE t{number} (k BIGINT, v BIGINT) STORED AS CSV \
             LOCATION 's3://{BUCKET}/t{number}/' OPTIONS ('format.has_header' 'true')"
        );
        rows(engine, &ddl).await;
    }
    sizes
}

async fn sum(engine: &Engine, table: usize) -> Query {
    let query = engine.plan(&format!("SELECT sum(v), count(*) FROM t{table}")).await.unwrap();
    assert_eq!(
        query.collect().await.unwrap().iter().map(|batch| batch.num_rows()).sum::<usize>(),
        1
    );
    query
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_at_the_same_time_are_counted_apart() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    let sizes = tables(&store, &engine, 6).await;
    let (before, served) = (engine.counted(), store.server.counters().snapshot());
    let tasks: Vec<_> = (0..sizes.len())
        .map(|table| {
            let engine = engine.clone();
            SpawnedTask::spawn(async move { sum(&engine, table).await.counted() })
        })
        .collect();
    let mut each = Vec::new();
    for (task, size) in tasks.into_iter().zip(&sizes) {
        let counted = task.await.unwrap();
        // The counted bytes are exactly those of the object.
        assert_eq!((counted.get, counted.got_bytes), (1, *size), "{counted:?}");
        // The objects are listed again, because they may have changed since CREATE EXTERNAL TABLE.
        assert_eq!(counted.list, 1, "{counted:?}");
        each.push(counted);
    }
    let total = engine.counted().since(&before);
    assert_eq!(each.into_iter().sum::<CounterSnapshot>(), total);
    // The store counted the same requests.
    let served = store.server.counters().snapshot().since(&served);
    assert_eq!(served.requests.get(&Operation::GetObject), Some(&total.get));
    assert_eq!(served.requests.values().sum::<u64>(), total.requests());
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_in_the_store_are_counted_apart_from_gets_at_the_same_time() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Select).await;
    let sizes = tables(&store, &engine, 2).await;
    let select = engine.plan("SELECT sum(v) FROM t0").await.unwrap();
    rows(&engine, "SET sluice.scan = 'get'").await;
    let get = engine.plan("SELECT sum(v) FROM t1").await.unwrap();
    let (one, other) = tokio::join!(select.collect(), get.collect());
    one.unwrap();
    other.unwrap();
    let (select, get) = (select.counted(), get.counted());
    assert_eq!((select.select, select.get, select.scanned_bytes), (1, 0, sizes[0]));
    assert_eq!((get.select, get.get, get.got_bytes), (0, 1, sizes[1]));
}

/// The bill includes a statement that the store could not answer, and the GET in its place.
#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_is_in_the_bill() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Select).await;
    rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
    let max = i64::MAX;
    let text = format!("k,v\n1,{max}\n2,{max}\n3,0\n");
    store.put("t/a.csv", &text);
    // The sum of the first object exceeds 64 bits, and that of both does not.
    store.put("t/b.csv", format!("k,v\n4,-{max}\n"));
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (k BIGINT, v BIGINT) STORED AS CSV \
         LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.has_header' 'true')"
    );
    let ddl = engine.plan(&ddl).await.unwrap();
    // A GET looks for `sep=` in the first line of the first file, and one reads each header, which is compared with the
    // columns.
    let counted = ddl.counted();
    assert_eq!((counted.list, counted.get, counted.requests()), (1, 3, 4), "{ddl:?}");
    let query = engine.plan("SELECT sum(v), count(*) FROM t").await.unwrap();
    query.collect().await.unwrap();
    let counted = query.counted();
    assert_eq!((counted.select, counted.fallbacks), (2, 1), "{counted:?}");
    assert_eq!((counted.get, counted.got_bytes), (1, text.len() as u64), "{counted:?}");
    let one = query.counted_by_endpoint();
    assert_eq!(one.into_iter().collect::<Vec<_>>(), [("sluice".to_owned(), counted)]);
}

/// Settings, functions and prepared queries belong to the engine, whichever query defines them.
#[tokio::test(flavor = "multi_thread")]
async fn a_query_of_its_own_still_changes_the_session() {
    let store = Store::start().await;
    let engine = store.engine(Scan::Get).await;
    let sizes = tables(&store, &engine, 1).await;
    rows(&engine, "PREPARE p AS SELECT count(*) FROM t0 WHERE k < $1").await;
    let query = engine.plan("EXECUTE p(10)").await.unwrap();
    let batches = query.collect().await.unwrap();
    assert_eq!(crate::harness::text(&batches), [r#""10""#]);
    assert_eq!(query.counted().got_bytes, sizes[0]);
    rows(&engine, "DEALLOCATE p").await;
    assert!(engine.plan("EXECUTE p(10)").await.is_err());
    rows(&engine, "CREATE VIEW w AS SELECT max(k) FROM t0").await;
    rows(&engine, "CREATE TABLE here AS SELECT * FROM w").await;
    assert_eq!(rows(&engine, "SELECT * FROM here").await, [r#""999""#]);
    rows(&engine, "SET datafusion.execution.batch_size = 77").await;
    let shown = rows(&engine, "SHOW datafusion.execution.batch_size").await;
    assert!(shown[0].contains("77"), "{shown:?}");
}
