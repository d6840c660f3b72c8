//! A store that stops sending, before or during an answer of any kind, delays a query no longer than the idle
//! timeout.

use std::time::Duration;

use sluicegate_client::ConnectOptions;
use sluicegate_engine::config::Scan;
use sluicegate_engine::{Engine, ErrorKind};
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};

use crate::cli::{Served, bad, good, sluice};
use crate::harness::{BUCKET, Store, rows, text};
use crate::wire::{Wire, WireFault};

const EVER: Duration = Duration::from_secs(3600);
/// More requests than a test sends.
const ALWAYS: u64 = 99;

fn table() -> String {
    let rows = (0..20_000).map(|k| format!("{k},value-{k}\n"));
    rows.fold("k,v\n".to_owned(), |text, row| text + &row)
}

fn sql() -> String {
    format!("SELECT k, v FROM 's3://{BUCKET}/t/a.csv' WHERE k > 5")
}

async fn set(engine: &Engine, time: &str) {
    engine.collect(&format!("SET sluice.idle_timeout = '{time}'")).await.unwrap();
}

/// A store that is silent each time causes an error with the timeout; a store that is silent once causes a warning.
#[tokio::test(flavor = "multi_thread")]
async fn no_answer_keeps_a_query_waiting() {
    use Operation::{GetObject, HeadObject, ListObjectsV2, SelectObjectContent};
    let folder = format!("SELECT k, v FROM 's3://{BUCKET}/t/' WHERE k > 5");
    let cases = [
        (Scan::Select, SelectObjectContent, Fault::Delay(EVER), sql()),
        (Scan::Select, SelectObjectContent, Fault::SilentAfterRecords(0), sql()),
        (Scan::Select, SelectObjectContent, Fault::SilentAfterRecords(9), sql()),
        (Scan::Get, GetObject, Fault::Delay(EVER), sql()),
        (Scan::Get, GetObject, Fault::SilentBody { after: 0 }, sql()),
        (Scan::Get, HeadObject, Fault::Delay(EVER), sql()),
        (Scan::Get, ListObjectsV2, Fault::Delay(EVER), folder),
    ];
    let cases = cases.map(|(scan, operation, fault, sql)| check(scan, operation, fault, sql));
    futures::future::join_all(cases).await;
}

async fn check(scan: Scan, operation: Operation, fault: Fault, sql: String) {
    let case = format!("{operation} {fault:?}");
    let store = Store::start().await;
    store.put("t/a.csv", table());
    let engine = store.engine(scan).await;
    let right = rows(&engine, &sql).await;
    set(&engine, "1s").await;
    let rule = || Rule::new(operation, fault.clone());
    store.faults.inject(rule().times(ALWAYS));
    let failed = async { engine.plan(&sql).await?.collect().await };
    let Err(error) = failed.await else { panic!("{case} went unnoticed") };
    store.faults.clear();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{case}: {error}");
    let said = error.to_string();
    assert!(said.contains("the store says nothing about"), "{case}: {said}");
    assert!(said.ends_with("it was silent for 1s"), "{case}: {said}");
    assert!(error.hint().unwrap().contains("sluice.idle_timeout"), "{case}");

    set(&engine, "10s").await;
    store.faults.inject(rule());
    let query = engine.plan(&sql).await.unwrap();
    assert!(text(&query.collect().await.unwrap()) == right, "{case}");
    assert_eq!(query.counted().silences, 1, "{case}");
    let warnings = query.warnings().join("\n");
    assert!(warnings.contains("one request was not answered by the store"), "{warnings}");
}

/// A listing may break off, too.
#[tokio::test(flavor = "multi_thread")]
async fn half_a_listing_is_none() {
    let store = Store::start().await;
    store.put("t/a.csv", table());
    let wire = Wire::to(&store.server.endpoint()).await;
    let engine = store.builder().endpoint(&wire.endpoint).scan(Scan::Get).build().await.unwrap();
    let sql = format!("SELECT count(*) FROM 's3://{BUCKET}/t/'");
    let list = format!("GET /{BUCKET}?");
    let right = rows(&engine, &sql).await;
    assert_eq!(right, ["\"20000\""]);
    set(&engine, "8s").await;
    wire.harm(&list, 0, 1, WireFault::Silence { after: 100 });
    assert_eq!(rows(&engine, &sql).await, right);
    assert_eq!(wire.mend(), 1);
    set(&engine, "1s").await;
    wire.harm(&list, 0, 99, WireFault::Silence { after: 100 });
    let error = engine.collect(&sql).await.unwrap_err();
    assert!(error.to_string().ends_with("it was silent for 1s"), "{error}");
    // The listing was requested twice.
    assert_eq!(wire.mend(), 2);
}

/// The timeout of the connection applies, unless the session sets another.
#[tokio::test(flavor = "multi_thread")]
async fn the_session_comes_before_the_connection() {
    let store = Store::start().await;
    store.put("t/a.csv", table());
    let options = |idle_timeout| ConnectOptions { idle_timeout, ..ConnectOptions::default() };
    let engine = Engine::builder()
        .connect(options(Duration::from_secs(1)))
        .endpoint(store.server.endpoint())
        .credentials(store.server.access_key(), store.server.secret_key())
        .profile(StoreCapabilities::sluice())
        .scan(Scan::Select)
        .build()
        .await
        .unwrap();
    let late = || {
        let late = Fault::Delay(Duration::from_secs(2));
        store.faults.inject(Rule::new(Operation::SelectObjectContent, late).times(ALWAYS));
    };
    late();
    let error = engine.collect(&sql()).await.unwrap_err();
    assert!(error.to_string().ends_with("it was silent for 1s"), "{error}");
    set(&engine, "1min").await;
    engine.collect(&sql()).await.unwrap();
    set(&engine, "auto").await;
    engine.collect(&sql()).await.unwrap_err();
    let error = engine.collect("SET sluice.idle_timeout = 'never'").await.unwrap_err();
    assert!(error.to_string().contains("'auto' or a time from 100ms to 1h"), "{error}");
    assert!(ConnectOptions::default().idle_timeout <= Duration::from_secs(30));
}

#[test]
fn the_command_line_says_how_long() {
    let served = Served::start();
    let sql = "SELECT count(*) FROM 's3://bucket/fruit.csv'";
    let answer = good(&mut served.command(&["sql", "--idle-timeout", "1min", "-c", sql]));
    assert!(answer.contains('3'), "{answer}");
    let command = &["sql", "--idle-timeout", "0s", "-c", sql];
    let wrong = served.command(command).output().unwrap();
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(said.contains("`0s` is not a time from 100ms to 1h, such as 30s or 2min"), "{said}");
    // A port that accepts connections and never answers.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", mute.local_addr().unwrap());
    let arguments = ["sql", "--store", "get-only", "--idle-timeout", "500ms", "--endpoint", &url];
    let mut command = sluice(&arguments);
    command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "my secret");
    bad(command.args(["-c", sql]), "it was silent for 500ms");
}
