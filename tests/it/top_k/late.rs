//! Late materialization: sort columns are fetched first, then only the rows of the answer.

use bytes::Bytes;
use sluicegate_costmodel::{BytesPerSecond, HardwareProfile};
use sluicegate_engine::ErrorKind;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};

use super::{csv, sampling, scattered};
use crate::harness::{Store, rows, try_ordered};

/// Only whole rows of the answer are fetched late.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_come_late_are_those_of_the_answer() {
    let store = Store::start().await;
    for (name, from) in [("a", 0), ("b", 20_000), ("c", 40_000)] {
        let text: String = (from..from + 5003_u64)
            .map(|k| format!("{},{}\n", from + (k - from) * 7919 % 5003, "x".repeat(300)))
            .collect();
        store.put(&format!("t/{name}.csv"), format!("k,v\n{text}"));
    }
    let engine = sampling(&store, &csv("(k BIGINT, v VARCHAR)")).await;
    rows(&engine, "SET sluice.range_bytes = 400000").await;
    rows(&engine, "SET sluice.select_partitions = 1").await;
    let sql = "SELECT k, v FROM t ORDER BY k DESC NULLS LAST LIMIT 40";
    let mut counts = Vec::new();
    for way in ["filtered", "sampling", "late"] {
        rows(&engine, &format!("SET sluice.top_k = '{way}'")).await;
        let before = engine.counted();
        let best: Vec<_> = try_ordered(&engine, sql).await.unwrap();
        let keys: Vec<u64> = best.iter().map(|row| row[0].parse().unwrap()).collect();
        assert_eq!(keys, (0..40).map(|n| 45_002 - n).collect::<Vec<_>>(), "{way}");
        counts.push(engine.counted().since(&before));
    }
    let [filtered, sampled, late] = counts.as_slice() else { panic!("{counts:?}") };
    assert_eq!((late.fallbacks, late.get), (0, 0), "{late:?}");
    assert!(10 * sampled.returned_bytes < filtered.returned_bytes, "{sampled:?}, {filtered:?}");
    assert!(2 * late.returned_bytes < sampled.returned_bytes, "{late:?}, {sampled:?}");
    // The answer's 40 rows of about 310 bytes, and few keys.
    assert!(late.returned_bytes < 40 * 310 + 20_000, "{late:?}");

    let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    let number = |name: &str| {
        let (_, rest) = text.split_once(&format!(" {name}=")).unwrap_or_else(|| panic!("{text}"));
        rest.split([',', ' ', ']']).next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!((number("key_parts"), number("repairs")), (3, 0), "{text}");
    // One of the three objects has all rows of the answer.
    assert_eq!(number("parts_left"), 1, "{text}");
    assert!((40..2000).contains(&number("key_rows")), "{text}");
    assert!(text.contains("exact_threshold=k@0 >= 44963"), "{text}");
    assert!(text.contains("sent_for_keys=SELECT s._1 FROM S3Object s WHERE CAST"), "{text}");
    assert!(text.contains(", late, parts="), "{text}");
}

/// If too few rows pass the sample's bound, the sort columns of the others are read, too. With fewer rows than the
/// limit, the answer has all of them.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_too_few_are_repaired() {
    let store = Store::start().await;
    let row = |k: u64| format!("{k},\"\n{}\"\n", "0,y\n".repeat(5000).trim_end());
    store.put("t/a.csv", format!("k,v\n{}", (100..112).map(row).collect::<String>()));
    let engine = sampling(&store, &csv("(k BIGINT, v VARCHAR)")).await;
    rows(&engine, "SET sluice.top_k = 'late'").await;
    let sql = "SELECT k, length(v) AS l FROM t ORDER BY k NULLS LAST LIMIT 3";
    let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    for part in ["threshold=k@0 <= 0", "repairs=1", "exact_threshold=k@0 <= 102"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let keys = try_ordered(&engine, sql).await.unwrap();
    assert_eq!(keys.iter().map(|row| row[0].as_str()).collect::<Vec<_>>(), ["100", "101", "102"]);

    store.put("t/a.csv", scattered(1009, 20));
    for (sql, expected) in [
        (
            "SELECT k, v FROM t WHERE k % 500 = 7 ORDER BY k DESC LIMIT 3",
            ["1007", "507", "7"].as_slice(),
        ),
        ("SELECT k, v FROM t WHERE k % 500 = 7 ORDER BY k DESC LIMIT 3 OFFSET 2", &["7"]),
        ("SELECT k, v FROM t WHERE k % 500 = 700 ORDER BY k DESC LIMIT 3", &[]),
    ] {
        let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
        assert!(text.contains("threshold=none"), "{sql}: {text}");
        let best = try_ordered(&engine, sql).await.unwrap();
        let keys: Vec<_> = best.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(keys, expected, "{sql}");
    }
}

/// Any statement fails, once or always.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_fails_on_the_way_to_late_rows_costs_no_row() {
    let store = Store::start().await;
    for name in ["a", "b", "c"] {
        store.put(&format!("t/{name}.csv"), scattered(1009, 200));
    }
    let engine = sampling(&store, &csv("(k BIGINT, v VARCHAR)")).await;
    let sql = "SELECT k, v FROM t ORDER BY k LIMIT 9";
    let right = try_ordered(&engine, sql).await.unwrap();
    rows(&engine, "SET sluice.top_k = 'late'").await;
    let before = engine.counted();
    assert_eq!(try_ordered(&engine, sql).await.unwrap(), right);
    let sent = engine.counted().since(&before).select;
    assert!(sent > 8, "{sent}");
    let frame = |records, code: &str| Fault::ErrorFrame { records, code: code.to_owned() };
    for fault in [
        Fault::SlowDown,
        Fault::Cut,
        Fault::CutInRecords(0),
        Fault::MissingEnd,
        Fault::WrongCrc(0),
        frame(0, "CastFailed"),
        frame(1, "OverMaxRecordSize"),
        Fault::Records(Bytes::from("\"no number\"\n")),
    ] {
        for nth in 1..=sent {
            let struck = store.faults.struck();
            let rule = Rule::new(Operation::SelectObjectContent, fault.clone()).nth(nth);
            store.faults.inject(rule);
            let answer = try_ordered(&engine, sql).await;
            assert_eq!(answer.unwrap(), right, "{fault:?} of statement {nth}");
            assert!(store.faults.struck() > struck, "{fault:?} of statement {nth} did not strike");
            store.faults.clear();
        }
    }
    // All rows of an answer are of one version.
    for nth in 1..=sent {
        let other = Fault::ReplaceObject(Bytes::from(scattered(1013, 100)));
        let rule = Rule::new(Operation::SelectObjectContent, other).nth(nth);
        store.faults.inject(rule);
        let error = try_ordered(&engine, sql).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "statement {nth}: {error}");
        store.faults.clear();
        for name in ["a", "b", "c"] {
            store.put(&format!("t/{name}.csv"), scattered(1009, 200));
        }
    }
}

/// If a store refuses the sample, it gets no second statement over whole objects.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_sample_is_not_followed_by_sort_columns() {
    let store = Store::start().await;
    store.put("t/a.csv", scattered(5003, 50));
    let engine = sampling(&store, &csv("(k BIGINT, v VARCHAR)")).await;
    rows(&engine, "SET sluice.top_k = 'late'").await;
    let sql = "SELECT k, v FROM t ORDER BY k LIMIT 2";
    let right = try_ordered(&engine, sql).await.unwrap();
    let fault = Fault::ErrorFrame { records: 0, code: "UnsupportedSyntax".to_owned() };
    store.faults.inject(Rule::new(Operation::SelectObjectContent, fault).times(1));
    let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    assert!(text.contains("exact_threshold=none, the store refused the sample"), "{text}");
    assert!(!text.contains("key_rows"), "{text}");
    store.faults.clear();
    assert_eq!(try_ordered(&engine, sql).await.unwrap(), right);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_come_late_where_it_pays() {
    let store = Store::start().await;
    store.put("t/a.csv", scattered(20_011, 900));
    let strategy = async |link: f64, sql: &str| {
        let mut hardware = HardwareProfile::by_name("home-100mbit").unwrap().clone();
        hardware.link.bytes_per_second = BytesPerSecond(link);
        hardware.link.connection_bytes_per_second = BytesPerSecond(link);
        let engine = store.builder().profile(StoreCapabilities::sluice()).hardware(hardware);
        let engine = engine.scan(Scan::Select).build().await.unwrap();
        rows(&engine, &csv("(k BIGINT, v VARCHAR)")).await;
        engine.explain(sql).await.unwrap().decisions[0].strategy()
    };
    let wide = "SELECT k, v FROM t ORDER BY k DESC LIMIT 300";
    assert_eq!(strategy(5e5, wide).await, Some("late"));
    assert_ne!(strategy(1e9, wide).await, Some("late"));
    let narrow = "SELECT k FROM t ORDER BY k DESC LIMIT 300";
    assert_ne!(strategy(5e5, narrow).await, Some("late"));
}
