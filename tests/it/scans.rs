//! Scans of several objects and ranges: limits, and plans that run more than once.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlanProperties, collect};
use sluicegate_engine::config::Scan;
use sluicegate_engine::{Engine, Error, ErrorKind};
use sluicegate_server::{Fault, Operation, Rule};

use crate::harness::{BUCKET, Store, rows, text};

const OBJECTS: usize = 3;
const ROWS: usize = 20_000;

/// Builds an engine over three objects with the keys 0 to 59,999, read in ranges of about 64 KiB.
async fn engine(store: &Store) -> Engine {
    for object in 0..OBJECTS {
        let mut text = String::from("k,v\n");
        for k in object * ROWS..(object + 1) * ROWS {
            text.push_str(&format!("{k},value-{}\n", k % 7));
        }
        store.put(&format!("t/{object}.csv"), text);
    }
    let engine = store.engine(Scan::Select).await;
    rows(&engine, "SET sluice.range_bytes = 65536").await;
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (k BIGINT NOT NULL, v VARCHAR) STORED AS CSV
         LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.has_header' 'true')"
    );
    rows(&engine, &ddl).await;
    engine
}

/// Runs a statement, checks that its rows are distinct rows of the table, and returns their number.
async fn limited(engine: &Engine, sql: &str, all: &BTreeSet<String>) -> usize {
    let found = rows(engine, sql).await;
    let distinct: BTreeSet<_> = found.iter().cloned().collect();
    assert_eq!(distinct.len(), found.len(), "{sql} repeats a row");
    assert!(distinct.is_subset(all), "{sql}");
    found.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_hold_over_objects_and_ranges() {
    let store = Store::start().await;
    let engine = engine(&store).await;
    let even: Vec<String> = rows(&engine, "SELECT k FROM t WHERE v = 'value-2'").await;
    assert_eq!(even.len(), (0..OBJECTS * ROWS).filter(|k| k % 7 == 2).count());
    let all: BTreeSet<String> = even.iter().cloned().collect();
    let total = all.len();
    for (limit, offset) in
        [(1, 0), (0, 5), (7, 3), (3000, 0), (3000, 6000), (total, 10), (9, total)]
    {
        let sql = format!("SELECT k FROM t WHERE v = 'value-2' LIMIT {limit} OFFSET {offset}");
        let expected = limit.min(total.saturating_sub(offset));
        assert_eq!(limited(&engine, &sql, &all).await, expected, "{sql}");
        let counted = format!("SELECT count(*) FROM ({sql})");
        assert_eq!(rows(&engine, &counted).await, [format!("{:?}", expected.to_string())]);
        // Repeat with an answer that breaks off.
        let fault = Fault::ErrorFrame { records: 0, code: "CastFailed".to_owned() };
        store.faults.inject(Rule::new(Operation::SelectObjectContent, fault));
        assert_eq!(limited(&engine, &sql, &all).await, expected, "{sql}, broken off");
        store.faults.clear();
    }
    for (limit, offset) in [(10, 0), (25_000, 30_000)] {
        let sql = format!("SELECT 1 FROM t LIMIT {limit} OFFSET {offset}");
        assert_eq!(rows(&engine, &sql).await.len(), limit, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_runs_again_and_beside_itself() {
    let store = Store::start().await;
    let engine = engine(&store).await;
    for sql in [
        "SELECT k, v FROM t WHERE v <> 'value-3'",
        "SELECT sum(k), count(v), min(v), avg(k) FROM t WHERE k > 17",
        "SELECT 1 FROM t WHERE k < 30000",
        "SELECT v, count(*) FROM t WHERE k % 2 = 0 GROUP BY v",
    ] {
        let plan = engine.query(sql).await.unwrap().create_physical_plan().await.unwrap();
        // DataFusion's scans read their files once, until their state is reset.
        let run = || async {
            let plan = reset_plan_states(Arc::clone(&plan)).unwrap();
            text(&collect(plan, engine.context().task_ctx()).await.unwrap())
        };
        let first = run().await;
        assert!(!first.is_empty(), "{sql}");
        assert!(run().await == first, "{sql}, again");
        let (one, other) = tokio::join!(run(), run());
        assert!(one == first && other == first, "{sql}, twice at once");
        // One of the two runs gets a part of its answer by GET.
        let fault = Fault::ErrorFrame { records: 0, code: "CastFailed".to_owned() };
        store.faults.inject(Rule::new(Operation::SelectObjectContent, fault));
        let (one, other) = tokio::join!(run(), run());
        assert!(one == first && other == first, "{sql}, twice at once with a fault");
        store.faults.clear();
    }
}

/// Ranges are planned for the version that was listed. All of them are read from it, or the query fails.
#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_replaced_after_it_was_listed_is_noticed() {
    let store = Store::start().await;
    let csv = |rows: usize, v: u8| {
        let rows: String = (0..rows).map(|k| format!("{k},{v}\n")).collect();
        format!("k,v\n{rows}")
    };
    for scan in [Scan::Get, Scan::Select] {
        store.put("r/a.csv", csv(5000, 1));
        let engine = store.engine(scan).await;
        rows(&engine, "SET datafusion.optimizer.repartition_file_min_size = 100").await;
        let sql = format!("SELECT k, v FROM 's3://{BUCKET}/r/a.csv'");
        let frame = engine.query(&sql).await.unwrap();
        let task = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.unwrap();
        if scan == Scan::Get {
            assert_eq!(plan.output_partitioning().partition_count(), 2, "the object has ranges");
        }
        store.put("r/a.csv", csv(9000, 2));
        let error = Error::from(collect(plan, task).await.unwrap_err());
        assert_eq!(error.kind(), ErrorKind::Changed, "{scan}: {error}");
        // The next query reads the new version.
        assert_eq!(rows(&engine, &sql).await.len(), 9000);
    }
}
