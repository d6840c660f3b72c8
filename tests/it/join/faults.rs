//! Faults of statements with keys.

use sluicegate_engine::config::Scan;
use sluicegate_server::{Fault, Operation, Rule};

use crate::harness::{BUCKET, Store, rows};

/// A fault of any statement, of the build side or the probe side, does not change the rows.
#[tokio::test(flavor = "multi_thread")]
async fn the_answer_survives_refusals_and_breaks() {
    let store = Store::start().await;
    let b: String = (0..3_000).map(|k| format!("{},{}\n", k * 3, k % 3)).collect();
    let p: String = (0..60_000).map(|k| format!("{k},value-{k}\n")).collect();
    store.put("b.csv", format!("k,w\n{b}"));
    store.put("p.csv", format!("k,v\n{p}"));
    let sql = format!(
        "SELECT p.k, p.v FROM 's3://{BUCKET}/b.csv' b JOIN 's3://{BUCKET}/p.csv' p \
         ON b.k = p.k WHERE b.w < 2"
    );
    let refused = |records, code: &str| Fault::ErrorFrame { records, code: code.to_owned() };
    for fault in [
        Fault::SlowDown,
        Fault::CutBeforeRecords(0),
        Fault::CutAfterRecords(1),
        Fault::CutInRecords(0),
        Fault::MissingEnd,
        refused(0, "UnsupportedSyntax"),
        refused(1, "CastFailed"),
    ] {
        let engine = store.engine(Scan::Select).await;
        rows(&engine, "SET sluice.join = 'bloom'").await;
        let right = rows(&engine, &sql).await;
        assert_eq!(right.len(), 2_000);
        for times in [1, 2] {
            store
                .faults
                .inject(Rule::new(Operation::SelectObjectContent, fault.clone()).times(times));
            assert!(rows(&engine, &sql).await == right, "{fault:?}");
            store.faults.clear();
        }
    }
}

/// If an answer breaks off after some batches, their rows are counted by the filter with which the rest is read.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_late_is_completed() {
    let store = Store::start().await;
    let b: String = (0..30_000).map(|k| format!("{},{}\n", k * 3, k % 3)).collect();
    let p: String = (0..120_000).map(|k| format!("{k},value-{k}\n")).collect();
    store.put("b.csv", format!("k,w\n{b}"));
    store.put("p.csv", format!("k,v\n{p}"));
    let sql = format!(
        "SELECT p.k, p.v FROM 's3://{BUCKET}/b.csv' b JOIN 's3://{BUCKET}/p.csv' p \
         ON b.k = p.k WHERE b.w < 2"
    );
    for listed in [300_000, 0] {
        let engine = store.engine(Scan::Select).await;
        rows(&engine, "SET sluice.join = 'bloom'").await;
        let most = "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values";
        rows(&engine, &format!("SET {most} = {listed}")).await;
        let right = rows(&engine, &sql).await;
        assert_eq!(right.len(), 20_000);
        for records in [1, 2, 3] {
            let fault = Fault::ErrorFrame { records, code: "CastFailed".to_owned() };
            let rule = Rule::new(Operation::SelectObjectContent, fault);
            store.faults.inject(rule.key("p.csv").times(u64::MAX));
            assert!(rows(&engine, &sql).await == right, "{listed}, {records}");
            store.faults.clear();
        }
    }
}
