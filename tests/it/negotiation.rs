//! Features that a store refuses or lacks are detected once, and the answer is right.

use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};

use crate::harness::{BUCKET, Store, rows, statements};
use crate::tpch::{ReadMode, check_place};

const FRUIT: &str = "name,price\napple,3\npear,4\nfig,9\n";

/// With every profile, a store without Select gets at most a few statements, and none later.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_select_is_asked_once() {
    let store = Store::start_with(|server| server.select(false)).await;
    store.put("t/a.csv", FRUIT);
    store.put("t/b.csv", FRUIT);
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (name VARCHAR, price BIGINT) STORED AS CSV
         LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.has_header' 'true')"
    );
    for profile in StoreCapabilities::all() {
        let name = profile.name.clone();
        let has_select = profile.has_select();
        let engine =
            store.builder().profile(profile).scan(Scan::Select).threads(1).build().await.unwrap();
        rows(&engine, &ddl).await;
        let before = engine.counted();
        let sum = "SELECT sum(price) FROM t WHERE name <> 'fig'";
        assert_eq!(rows(&engine, sum).await, [r#""14""#], "{name}");
        assert_eq!(rows(&engine, "SELECT name FROM t WHERE price > 8").await.len(), 2, "{name}");
        let first = engine.counted().since(&before);
        assert!(first.select <= 2, "{name}: {first:?}");
        let before = engine.counted();
        assert_eq!(rows(&engine, sum).await, [r#""14""#], "{name}");
        assert_eq!(rows(&engine, "SELECT count(*) FROM t").await, [r#""6""#], "{name}");
        let second = engine.counted().since(&before);
        assert_eq!((second.select, second.fallbacks), (0, 0), "{name}");
        assert!(statements(&engine, sum).await.is_empty(), "{name}");
        let explained = engine.explain(sum).await.unwrap().to_string();
        let said = explained.contains("refused before, so no longer sent: all statements");
        assert_eq!(said, first.select > 0, "{name}: {explained}");
        let why = match (has_select, said) {
            (false, _) => "select not possible: the store has no S3 Select",
            (true, true) => {
                "select not possible: the store refused it before: all statements (NotImpl"
            }
            (true, false) => "select not possible: ",
        };
        assert!(explained.contains(why), "{name}: {explained}");
        assert!(has_select || first.select == 0, "{name}");
    }
}

/// A refused construct is evaluated locally from then on; all others are still sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_construct_that_was_refused_is_not_sent_again() {
    let store = Store::start().await;
    store.put("t/a.csv", FRUIT);
    let engine = store.engine(Scan::Select).await;
    let like =
        format!("SELECT price FROM 's3://{BUCKET}/t/a.csv' WHERE name LIKE '%e%' AND price > 3");
    let right = rows(&engine, &like).await;
    assert_eq!(right, [r#""4""#]);
    let code = "ParseUnsupportedSyntax".to_owned();
    let fault = Fault::ErrorFrame { records: 0, code };
    store.faults.inject(Rule::new(Operation::SelectObjectContent, fault));
    assert_eq!(rows(&engine, &like).await, right);
    assert_eq!(engine.counted().fallbacks, 1);
    // In the second run, the part that the store accepts is sent.
    let sent = statements(&engine, &like).await.join("; ");
    assert!(!sent.contains("LIKE") && !sent.is_empty(), "{sent}");
    let before = engine.counted();
    assert_eq!(rows(&engine, &like).await, right);
    let counted = engine.counted().since(&before);
    assert_eq!((counted.select, counted.fallbacks), (1, 0));
    let refusals = engine.endpoint().client.refusals();
    assert!(refusals.len() == 1 && refusals[0].to_string().contains("LIKE"), "{refusals:?}");
}

/// An error from a bad value does not stop later statements.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_value_is_no_refusal() {
    let store = Store::start().await;
    store.put("t/a.csv", FRUIT);
    let engine = store.engine(Scan::Select).await;
    let sql = format!("SELECT name FROM 's3://{BUCKET}/t/a.csv' WHERE price > 3");
    for fallbacks in 1..=2 {
        let fault = Fault::ErrorFrame { records: 0, code: "CastFailed".to_owned() };
        store.faults.inject(Rule::new(Operation::SelectObjectContent, fault));
        assert_eq!(rows(&engine, &sql).await.len(), 2);
        assert_eq!(engine.counted().fallbacks, fallbacks);
    }
    assert!(engine.endpoint().client.refusals().is_empty());
}

/// Without a profile, an engine sends no statements to an endpoint.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_profile_an_endpoint_is_only_read() {
    let store = Store::start().await;
    store.put("t/a.csv", FRUIT);
    let engine = sluicegate_engine::Engine::builder()
        .endpoint(store.server.endpoint())
        .credentials(store.server.access_key(), store.server.secret_key())
        .scan(Scan::Select)
        .build()
        .await
        .unwrap();
    let sql = format!("SELECT sum(price) FROM 's3://{BUCKET}/t/a.csv'");
    assert_eq!(rows(&engine, &sql).await, [r#""16""#]);
    assert_eq!(engine.counted().select, 0);
}

/// TPC-H on a store with Select turned off, with the profile of a store that has it.
#[tokio::test(flavor = "multi_thread")]
async fn tpch_is_right_without_select() {
    let store = Store::start_with(|server| server.select(false)).await;
    let way = |name, profile| ReadMode {
        name,
        format: sluicegate_workloads::tpch::Format::csv(),
        objects: 1,
        scan: Scan::Select,
        profile,
    };
    let ways = [
        way("no Select, known", StoreCapabilities::get_only()),
        way("no Select, not known", StoreCapabilities::sluice()),
    ];
    let fallbacks = check_place(&store, 0.01, &ways).await;
    assert!(fallbacks[0] == 0 && fallbacks[1] > 0, "{fallbacks:?}");
}
