//! Index scans that request several ranges of an object at once read the same rows as with one request for each
//! range, whatever the store answers.

use std::time::Duration;

use proptest::prelude::*;
use sluicegate_engine::config::Scan;
use sluicegate_engine::{CounterSnapshot, Engine, HardwareProfile};
use sluicegate_server::{Fault, Operation, Rule};

use crate::harness::{Store, rows, runner, try_rows};
use crate::index::numbers;

/// Selects some hundred records that are spread over the objects.
const SCATTERED: &str = "SELECT v FROM n WHERE k >= 30000 AND k < 30160";

/// Builds an engine over two objects with an index. Also returns the rows and the work of a statement with one range
/// in each request.
async fn indexed(store: &Store) -> (Engine, Vec<String>, CounterSnapshot) {
    // With this profile, a request costs as much as 3000 bytes.
    let mut hardware = HardwareProfile::by_name("local-1gbit").unwrap().clone();
    hardware.link.latency = Duration::from_micros(400);
    hardware.requests.per_second = 1e6;
    let engine = store.builder().scan(Scan::Index).hardware(hardware).build().await.unwrap();
    rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
    numbers(store, &engine, 2, 40_000).await;
    rows(&engine, "SET sluice.ranges_per_request = 1").await;
    let (expected, counted) = asked(&engine).await;
    assert!((150..170).contains(&expected.len()), "{}", expected.len());
    rows(&engine, "SET sluice.ranges_per_request = 256").await;
    let _ = engine.take_notes();
    (engine, expected, counted)
}

async fn asked(engine: &Engine) -> (Vec<String>, CounterSnapshot) {
    let before = engine.counted();
    let found = rows(engine, SCATTERED).await;
    (found, engine.counted().since(&before))
}

#[tokio::test(flavor = "multi_thread")]
async fn many_ranges_are_few_requests() {
    let store = Store::start().await;
    let (engine, expected, one_by_one) = indexed(&store).await;
    let (found, together) = asked(&engine).await;
    assert_eq!(found, expected);
    assert_eq!(engine.take_notes(), [""; 0]);
    assert!(one_by_one.get > 100, "{one_by_one:?}");
    // Other GETs: the header of the table, one top when planning, for each object its top and blocks.
    assert!(together.get <= 12, "{together:?}");
    // Each part of an answer has a head of its own.
    assert!(together.got_bytes * 4 < one_by_one.got_bytes * 5, "{together:?} {one_by_one:?}");
    let explained = engine.explain(SCATTERED).await.unwrap().to_string();
    assert!(explained.contains(", up to 256 ranges in a request)"), "{explained}");
    assert!(explained.contains(", ranges_per_request=256"), "{explained}");
    let analyzed = rows(&engine, &format!("EXPLAIN ANALYZE {SCATTERED}")).await.join("\n");
    let metric = |name: &str| {
        let (_, after) = analyzed.split_once(&format!(" {name}=")).unwrap();
        let digits = after.split(|c: char| !c.is_ascii_digit()).next().unwrap();
        digits.parse::<u64>().unwrap()
    };
    let (requests, ranges) = (metric("range_requests"), metric("ranges"));
    assert!((2..=4).contains(&requests) && (120..=170).contains(&ranges), "{analyzed}");
    // The number of ranges never exceeds the limit of a request.
    rows(&engine, "SET sluice.ranges_per_request = 100000").await;
    let explained = engine.explain(SCATTERED).await.unwrap().to_string();
    assert!(explained.contains(", ranges_per_request=1000"), "{explained}");
}

/// The store's refusal is noted once, and no more requests with several ranges are sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_sends_the_whole_object_is_asked_for_one_range_at_a_time() {
    let store = Store::start_with(|server| server.select(false)).await;
    let (engine, expected, one_by_one) = indexed(&store).await;
    rows(&engine, "SET datafusion.execution.target_partitions = 1").await;
    let (found, together) = asked(&engine).await;
    assert_eq!(found, expected);
    let notes = engine.take_notes();
    assert!(notes[0].contains("several ranges of n/"), "{notes:?}");
    assert!(notes[0].contains("the answer is not in parts"), "{notes:?}");
    assert_eq!(notes.len(), 1);
    assert!(together.get < 2 * one_by_one.get + 10, "{together:?} {one_by_one:?}");
}

/// These requests are retried like other GETs, and so are those in their place if an answer breaks off.
#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_changes_no_answer() {
    let store = Store::start().await;
    let (engine, expected, _) = indexed(&store).await;
    let strike = |fault, nth| {
        store.faults.clear();
        store.faults.inject(Rule::new(Operation::GetObject, fault).key("n/*").nth(nth));
    };
    // The first GET reads the header.
    for nth in [1, 2, 3] {
        for fault in [
            Fault::SlowDown,
            Fault::InternalError,
            Fault::Cut,
            Fault::Delay(Duration::from_millis(20)),
        ] {
            strike(fault.clone(), nth);
            assert_eq!(asked(&engine).await.0, expected, "{fault:?}");
            assert_eq!(engine.take_notes(), [""; 0], "{fault:?}");
        }
    }
    let struck = store.faults.struck();
    for after in [0, 1, 100, 200, 5000, 10_000] {
        strike(Fault::CutBody { after }, 2);
        assert_eq!(asked(&engine).await.0, expected, "{after}");
        let notes = engine.take_notes().join("\n");
        let noted = notes.contains("in one request were not answered, so each has its own");
        assert!(noted, "{after}: {notes}");
    }
    assert_eq!(store.faults.struck(), struck + 6);
    // No request reads another version.
    strike(Fault::ReplaceObject("k,v,pad\n1,x,y\n".into()), 2);
    let error = try_rows(&engine, SCATTERED).await.unwrap_err().to_string();
    store.faults.clear();
    assert!(error.contains("n/"), "{error}");
}

#[test]
fn cuts_anywhere_change_no_answer() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = runtime.block_on(Store::start());
    let (engine, expected, _) = runtime.block_on(indexed(&store));
    let cut = (0_u64..60_000, 1_u64..6, 1_u64..4, prop::sample::select(vec![2, 7, 50, 1000]));
    let result = runner(24).run(&cut, |(after, nth, times, ranges)| {
        store.faults.clear();
        let rule = Rule::new(Operation::GetObject, Fault::CutBody { after });
        store.faults.inject(rule.nth(nth).times(times));
        let found = runtime.block_on(async {
            rows(&engine, &format!("SET sluice.ranges_per_request = {ranges}")).await;
            asked(&engine).await.0
        });
        prop_assert!(found == expected, "{} rows and not {}", found.len(), expected.len());
        Ok(())
    });
    result.unwrap();
}
