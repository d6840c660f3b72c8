//! Predictions of statements that our store answers with indexes.

use std::cell::Cell;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate_costmodel::{Alternative, BytesPerSecond, HardwareProfile};
use sluicegate_engine::Engine;
use sluicegate_engine::explain::Explanation;
use sluicegate_s3select::capabilities::StoreCapabilities;
use tokio::runtime::Runtime;

use super::{create, numbers};
use crate::harness::{BUCKET, Store, rows, runner, stock, stock_rows};

const POINT: &str = "SELECT v FROM n WHERE k = 77";

/// Builds an engine over a store with a low latency and a slow link, so that an index pays even for a small table.
async fn engine(store: &Store, profile: StoreCapabilities) -> Engine {
    let mut hardware = HardwareProfile::by_name("local-1gbit").unwrap().clone();
    hardware.link.latency = Duration::from_micros(10);
    hardware.link.bytes_per_second = BytesPerSecond(2e6);
    hardware.link.connection_bytes_per_second = BytesPerSecond(2e6);
    store.builder().profile(profile).hardware(hardware).build().await.unwrap()
}

async fn explained(engine: &Engine, sql: &str) -> Explanation {
    engine.explain(sql).await.unwrap()
}

/// Returns the prediction of a way of the first decision.
fn way<'a>(explained: &'a Explanation, strategy: &str) -> &'a Alternative<&'static str> {
    let way = explained.decisions[0].verdict(strategy).unwrap();
    way.outcome.as_ref().unwrap_or_else(|why| panic!("{why}"))
}

fn scanned(explained: &Explanation, strategy: &str) -> u64 {
    way(explained, strategy).work.scanned.0
}

/// Returns the relative error of a prediction.
fn error(predicted: u64, counted: u64) -> f64 {
    (predicted as f64 / counted as f64 - 1.0).abs()
}

const SAYS_SO: &str = "the store answers by its index on `k`: about ";

#[tokio::test(flavor = "multi_thread")]
async fn what_the_store_reads_by_an_index_is_predicted() {
    let store = Store::start().await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    let whole = numbers(&store, &engine, 2, 40_000).await as u64;
    for (sql, strategy) in [
        (POINT, "select"),
        ("SELECT v, k FROM n WHERE k IN (77, 4000, 70001) AND v LIKE '%7%'", "select"),
        ("SELECT v FROM n WHERE k >= 100 AND k < 900", "select"),
        ("SELECT count(*), max(v) FROM n WHERE k BETWEEN 100 AND 400", "store"),
        ("SELECT count(*) FROM n WHERE k > 1000000", "select"),
    ] {
        let explained = explained(&engine, sql).await;
        let text = explained.to_string();
        assert!(text.contains(&format!("* {strategy}")) && text.contains(SAYS_SO), "{text}");
        let predicted = scanned(&explained, strategy);
        let before = engine.counted();
        rows(&engine, sql).await;
        let counted = engine.counted().since(&before);
        assert!(counted.scanned_bytes * 5 < whole, "{sql}: {counted:?}");
        let error = error(predicted, counted.scanned_bytes);
        assert!(error < 0.05, "{sql}: {predicted}, {counted:?}");
        assert_eq!(way(&explained, strategy).work.requests.select.0, counted.select, "{sql}");
    }
    // The index is not used for most of the records, nor for a column without an index.
    for sql in ["SELECT v FROM n WHERE k > 77", "SELECT v FROM n WHERE v = '0-7'"] {
        let explained = explained(&engine, sql).await;
        assert!(!explained.to_string().contains(SAYS_SO), "{explained}");
        assert_eq!(scanned(&explained, "select"), whole, "{sql}");
    }
    // A sort or a group-by above does not matter.
    for sql in [
        "SELECT v, k FROM n WHERE k < 300 ORDER BY k LIMIT 3",
        "SELECT v, count(*) FROM n WHERE k < 300 GROUP BY v",
    ] {
        let explained = explained(&engine, sql).await;
        assert!(explained.to_string().contains(SAYS_SO), "{explained}");
        assert!(scanned(&explained, "filtered") * 5 < whole, "{explained}");
    }
}

/// Planning sends no more requests than for an engine that uses indexes itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_names_no_such_extension_is_predicted_as_ever() {
    let store = Store::start().await;
    let ours = engine(&store, StoreCapabilities::sluice()).await;
    let whole = numbers(&store, &ours, 3, 20_000).await as u64;
    let profile = StoreCapabilities { indexes: false, ..StoreCapabilities::sluice() };
    let other = engine(&store, profile).await;
    rows(&other, &ddl("n", "n")).await;
    // The first planning takes a sample.
    explained(&other, POINT).await;
    let planned = explained(&ours, POINT).await;
    let explained = explained(&other, POINT).await;
    assert_eq!(explained.planning.requests(), planned.planning.requests());
    let text = explained.to_string();
    assert!(!text.contains("the store answers by"), "{text}");
    assert_eq!(scanned(&explained, "select"), whole);
}

fn ddl(name: &str, folder: &str) -> String {
    format!(
        "CREATE EXTERNAL TABLE {name} (k BIGINT, v VARCHAR, pad VARCHAR) STORED AS CSV \
         LOCATION 's3://{BUCKET}/{folder}/' OPTIONS ('format.has_header' 'true')"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_the_store_does_not_use_is_not_counted() {
    let store = Store::start().await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    let whole = numbers(&store, &engine, 2, 20_000).await as u64;
    // The index of one object is stale.
    let path = store.folder.path().join(BUCKET).join("n/0.csv");
    let text = std::fs::read_to_string(&path).unwrap();
    store.put("n/0.csv", text.replace('x', "y"));
    let half = explained(&engine, POINT).await;
    let said = "records; of 2 objects or parts of objects it reads 1 whole";
    assert!(half.to_string().contains(said), "{half}");
    assert!(error(scanned(&half, "select"), whole / 2) < 0.1, "{half}");
    // The indexes of both objects are stale.
    store.put("n/1.csv", text.replace('x', "z"));
    let stale = explained(&engine, POINT).await;
    assert!(!stale.to_string().contains("the store answers by"), "{stale}");
    assert!(stale.to_string().contains("the objects have been replaced"), "{stale}");
    // The index is at a location that the store does not use.
    rows(&engine, &format!("SET sluice.index_location = 's3://{BUCKET}/elsewhere/'")).await;
    assert_eq!(create(&engine, "n", "k").await.unwrap(), 2);
    let elsewhere = explained(&engine, POINT).await;
    assert!(!elsewhere.to_string().contains("the store answers by"), "{elsewhere}");
    assert!(elsewhere.to_string().contains("k by k@0 = 77"), "{elsewhere}");
    for explained in [stale, elsewhere] {
        assert!(error(scanned(&explained, "select"), whole) < 0.01, "{explained}");
    }
}

fn condition() -> impl Strategy<Value = String> {
    let k = "k".to_owned();
    let one = prop_oneof![
        (0..900).prop_map(|n| format!("k = {n}")),
        (0..900, 0..200).prop_map(|(n, more)| format!("k BETWEEN {n} AND {}", n + more)),
        prop::collection::vec(0..900, 1..9)
            .prop_map(move |list| format!("{k} IN {list:?}").replace('[', "(").replace(']', ")")),
        prop::sample::select(vec!["k > 30", "k IS NULL", "v < 't3'", "v LIKE '%7'", "k <> 3"])
            .prop_map(ToOwned::to_owned),
        (0..99).prop_map(|n| format!("v = 't{n}'")),
    ];
    let and = prop::collection::vec(one, 1..4);
    (and, any::<bool>()).prop_map(|(all, or)| all.join(if or { " OR " } else { " AND " }))
}

/// Each way, with an index of one column, of both or of some objects, returns the rows of plain DataFusion.
#[test]
fn whichever_way_is_taken_the_rows_are_the_same() {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let engine = runtime.block_on(engine(&store, StoreCapabilities::sluice()));
    let local = tempfile::tempdir().unwrap();
    let select = prop::sample::select(vec!["k, v", "count(*), min(v), sum(k)", "pad"]);
    let statement = (select, condition());
    let record = (prop::option::weighted(0.95, 0..900), 0..99, 1..150_usize);
    let records = prop::collection::vec(record, 300..900);
    let columns = prop::sample::subsequence(vec!["k", "v"], 1..=2);
    let statements = prop::collection::vec(statement, 6);
    let (number, asked, by_index) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let result = runner(24).run(
        &(records, columns, any::<bool>(), statements),
        |(records, columns, partial, statements)| {
            number.set(number.get() + 1);
            let name = format!("w{}", number.get());
            let folder = local.path().join(&name);
            let mut text = String::from("k,v,pad\n");
            for (k, v, pad) in records {
                let k = k.map(|k: i32| k.to_string()).unwrap_or_default();
                text += &format!("{k},t{v},{}\n", "p".repeat(pad));
            }
            let put = |object: &str, text: &str| {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(folder.join(object), text).unwrap();
                store.put(&format!("{name}/{object}"), text);
            };
            put("a.csv", &text);
            runtime.block_on(async {
                rows(&engine, &ddl(&name, &name)).await;
                for column in columns {
                    create(&engine, &name, column).await.unwrap();
                }
                if partial {
                    put("b.csv", "k,v,pad\n7,t7,p\n,t8,p\n");
                }
                let stock = stock();
                let there = format!("s3://{BUCKET}/{name}");
                let here = ddl(&name, &name).replace(&there, &folder.display().to_string());
                stock_rows(&stock, &here).await.unwrap();
                for (select, condition) in statements {
                    let sql = format!("SELECT {select} FROM {name} WHERE {condition}");
                    let expected = stock_rows(&stock, &sql).await.unwrap();
                    for scan in ["auto", "select", "index"] {
                        rows(&engine, &format!("SET sluice.scan = '{scan}'")).await;
                        prop_assert_eq!(&rows(&engine, &sql).await, &expected, "{} {}", scan, sql);
                    }
                    rows(&engine, "SET sluice.scan = 'auto'").await;
                    let explained = explained(&engine, &sql).await.to_string();
                    asked.set(asked.get() + 1);
                    let said = explained.contains("the store answers by its index");
                    by_index.set(by_index.get() + usize::from(said));
                }
                Ok(())
            })
        },
    );
    result.unwrap();
    let (asked, by_index) = (asked.get(), by_index.get());
    assert!(by_index * 20 > asked, "only {by_index} of {asked} statements were looked up");
}
