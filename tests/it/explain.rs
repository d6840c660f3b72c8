//! EXPLAIN shows what would be sent, EXPLAIN ANALYZE what was.

use sluicegate_engine::config::Scan;
use sluicegate_s3select::profile::EndpointProfile;

use crate::harness::{BUCKET, Store, rows, statements};

#[tokio::test(flavor = "multi_thread")]
async fn the_statement_is_shown_word_for_word() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let engine = store.engine(Scan::Select).await;
    let sql = format!("SELECT b FROM 's3://{BUCKET}/t/a.csv' WHERE a = 2");
    let sent = statements(&engine, &sql).await;
    assert_eq!(sent, ["SELECT s._2 FROM S3Object s WHERE CAST(NULLIF(s._1, '') AS INT) = 2"]);
    let before = engine.counted();
    rows(&engine, &sql).await;
    assert_eq!(engine.counted().since(&before).select, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn analyze_counts_requests_bytes_and_dollars() {
    let store = Store::start().await;
    let body = "a,b\n1,x\n2,y\n";
    store.put("t/a.csv", body);
    let engine = store.engine(Scan::Select).await;
    let sql = format!("EXPLAIN ANALYZE SELECT b FROM 's3://{BUCKET}/t/a.csv' WHERE a = 2");
    let text = rows(&engine, &sql).await.join("\n");
    for expected in [
        "select_requests=1".to_owned(),
        format!("bytes_scanned_by_store={}", body.len()),
        "fallbacks=0".to_owned(),
        "cost=$".to_owned(),
    ] {
        assert!(text.contains(&expected), "no {expected} in {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn explaining_sends_no_statement() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let engine = store.engine(Scan::Auto).await;
    let explained =
        engine.explain(&format!("SELECT sum(a) FROM 's3://{BUCKET}/t/a.csv'")).await.unwrap();
    assert_eq!(explained.scans.len(), 1);
    let sql = explained.scans[0].sql.as_deref().unwrap();
    assert!(sql.starts_with("SELECT SUM("), "{sql}");
    assert!(explained.to_string().contains("select"), "{explained}");
    assert!(explained.estimate().cost.0 > 0.0);
    assert_eq!(engine.counted().select, 0);
}

/// A store without Select is predicted, too: its scans are GETs.
#[tokio::test(flavor = "multi_thread")]
async fn scans_without_select_are_predicted() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let engine = store.builder().profile(EndpointProfile::get_only()).build().await.unwrap();
    let sql = format!("SELECT sum(a) FROM 's3://{BUCKET}/t/a.csv' WHERE b = 'x'");
    let explained = engine.explain(&sql).await.unwrap();
    assert_eq!(explained.scans.len(), 1);
    assert_eq!(explained.scans[0].sql, None);
    assert_eq!(explained.estimate().work.requests.get.0, 1);
    assert!(explained.estimate().cost.0 > 0.0);
}
