//! Faults between the store and the client: a query returns the right answer or a clear error, never a wrong or
//! doubled row.

use std::time::Duration;

use bytes::Bytes;
use sluicegate_engine::config::Scan;
use sluicegate_server::{Fault, Limits, Operation, Rule};

use crate::harness::{BUCKET, Store, rows, text, try_rows};

/// Enough rows for several Records frames of 128 KiB.
const ROWS: usize = 60_000;

fn table() -> String {
    let mut text = String::from("k,v\n");
    for k in 0..ROWS {
        text.push_str(&format!("{k},value-{k}\n"));
    }
    text
}

async fn check(fault: Fault, times: u64, expected: Result<(), &str>) {
    let store = Store::start().await;
    store.put("t/a.csv", table());
    let engine = store.engine(Scan::Select).await;
    let sql = format!("SELECT k, v FROM 's3://{BUCKET}/t/a.csv' WHERE k % 2 = 0 OR k > 5");
    let sql = sql.replace("k % 2 = 0 OR ", "");
    let right = rows(&engine, &sql).await;
    assert_eq!(right.len(), ROWS - 6);
    let rule = Rule::new(Operation::SelectObjectContent, fault.clone()).times(times);
    store.faults.inject(rule);
    let answer = try_rows(&engine, &sql).await;
    assert!(store.faults.struck() > 0, "{fault:?} did not strike");
    match (answer, expected) {
        (Ok(answer), Ok(())) => assert!(answer == right, "{fault:?}: {} rows", answer.len()),
        (Err(error), Err(part)) => {
            assert!(error.to_string().contains(part), "{fault:?}: {error}");
        }
        (Ok(_), Err(_)) => panic!("{fault:?} went unnoticed"),
        (Err(error), Ok(())) => panic!("{fault:?}: {error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_is_repeated() {
    check(Fault::SlowDown, 1, Ok(())).await;
    check(Fault::InternalError, 1, Ok(())).await;
    check(Fault::Cut, 1, Ok(())).await;
    check(Fault::CutBeforeRecords(0), 1, Ok(())).await;
    check(Fault::CutBeforeRecords(2), 1, Ok(())).await;
    check(Fault::CutInRecords(1), 1, Ok(())).await;
    check(Fault::CutAfterRecords(1), 1, Ok(())).await;
    check(Fault::CutAfterRecords(1), 3, Ok(())).await;
    check(Fault::MissingEnd, 1, Ok(())).await;
    check(Fault::WrongCrc(1), 1, Ok(())).await;
    let code = "InternalError".to_owned();
    check(Fault::ErrorFrame { records: 1, code }, 1, Ok(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_partway_through_an_answer_is_finished_with_get() {
    let code = "CastFailed".to_owned();
    check(Fault::ErrorFrame { records: 1, code }, 1, Ok(())).await;
    let code = "UnsupportedSyntax".to_owned();
    check(Fault::ErrorFrame { records: 0, code }, 1, Ok(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_pass_is_an_error() {
    check(Fault::MissingEnd, 100, Err("attempts")).await;
    check(Fault::CutInRecords(0), 100, Err("attempts")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_object_is_named() {
    let other = Bytes::from(table().replace("value", "other"));
    check(Fault::ReplaceObject(other), 1, Err("changed while it was being read")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregates_survive_the_same() {
    let store = Store::start().await;
    store.put("t/a.csv", table());
    store.put("t/b.csv", table());
    let engine = store.engine(Scan::Select).await;
    let sql = format!("SELECT sum(k), count(*), max(v) FROM 's3://{BUCKET}/t/*.csv'");
    let right = rows(&engine, &sql).await;
    for fault in [
        Fault::SlowDown,
        Fault::CutBeforeRecords(0),
        Fault::CutInRecords(0),
        Fault::CutAfterRecords(0),
        Fault::MissingEnd,
        Fault::WrongCrc(0),
        Fault::ErrorFrame { records: 0, code: "CastFailed".to_owned() },
    ] {
        let struck = store.faults.struck();
        store.faults.inject(Rule::new(Operation::SelectObjectContent, fault.clone()));
        assert_eq!(rows(&engine, &sql).await, right, "{fault:?}");
        assert!(store.faults.struck() > struck, "{fault:?}");
        store.faults.clear();
    }
}

/// Well-formed answers that are impossible are not accepted as aggregates.
#[tokio::test(flavor = "multi_thread")]
async fn an_impossible_answer_is_no_aggregate() {
    let store = Store::start().await;
    store.put("t/a.csv", "k,v\n1,a\n2,b\n3,\n");
    let engine = store.engine(Scan::Select).await;
    let table = format!("'s3://{BUCKET}/t/a.csv'");
    for (sql, answers) in [
        ("SELECT count(v), sum(k) FROM", vec!["", "3,6\n3,6\n", "-3,6\n", ",6\n", "x,6\n", "3\n"]),
        ("SELECT avg(k) FROM", vec!["-3,6\n", "3,6\n4,6\n", "\n"]),
        ("SELECT min(k) FROM", vec!["", "\"1\"\n\"2\"\n", "\"99999999999999999999\"\n"]),
        ("SELECT max(v) FROM", vec!["", "{\"_1\":\"a\"}\n{\"_1\":\"b\"}\n", "{\"_1\":\n"]),
        ("SELECT 1 FROM", vec!["", "3\n3\n", "-3\n", "\"\"\n"]),
    ] {
        let sql = format!("{sql} {table}");
        let right = rows(&engine, &sql).await;
        for answer in answers {
            let fault = Fault::Records(Bytes::from(answer));
            let (struck, before) = (store.faults.struck(), engine.counted());
            store.faults.inject(Rule::new(Operation::SelectObjectContent, fault));
            assert_eq!(rows(&engine, &sql).await, right, "{sql}: {answer:?}");
            assert_eq!(store.faults.struck(), struck + 1, "{sql}: {answer:?}");
            assert_eq!(engine.counted().since(&before).fallbacks, 1, "{sql}: {answer:?}");
        }
    }
}

/// The store applies a filter only roughly. When its answer breaks off, extra rows do not count as returned.
#[tokio::test(flavor = "multi_thread")]
async fn a_rough_filter_is_finished_with_get() {
    let store = Store::start().await;
    store.put("t/a.csv", table());
    let engine = store.engine(Scan::Select).await;
    let sql = format!(
        "SELECT k, v FROM 's3://{BUCKET}/t/a.csv'
         WHERE (k > 5 AND upper(v) NOT LIKE '%7') OR k = 3"
    );
    let right = rows(&engine, &sql).await;
    assert_eq!(right.len(), (6..ROWS).filter(|k| k % 10 != 7).count() + 1);
    for records in 0..4 {
        let fault = Fault::ErrorFrame { records, code: "CastFailed".to_owned() };
        store.faults.inject(Rule::new(Operation::SelectObjectContent, fault));
        let before = engine.counted();
        assert!(rows(&engine, &sql).await == right, "frame {records}");
        assert_eq!(engine.counted().since(&before).fallbacks, 1, "frame {records}");
    }
}

/// If our server stops statements that take too long, before or after it returned rows, the rest is read with GET, no
/// similar statements are sent, and the user gets a warning.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_takes_too_long_is_finished_with_get() {
    let store = Store::start().await;
    const FILES: u64 = 12;
    for number in 0..FILES {
        store.put(&format!("t/{number}.csv"), table());
    }
    let engine = store.builder().scan(Scan::Select).threads(1).build().await.unwrap();
    for option in ["sluice.select_partitions = 1", "sluice.range_bytes = 100000000"] {
        engine.collect(&format!("SET {option}")).await.unwrap();
    }
    let table = format!("'s3://{BUCKET}/t/'");
    for sql in [
        format!("SELECT k, v FROM {table} WHERE k > 5"),
        format!("SELECT count(*) FROM {table} WHERE k > 5"),
        format!("SELECT sum(k), max(v) FROM {table}"),
        format!("SELECT k % 7, count(*) FROM {table} GROUP BY k % 7"),
    ] {
        let right = rows(&engine, &sql).await;
        for records in [0, 2] {
            let code = "StatementTimeout".to_owned();
            let fault = Fault::ErrorFrame { records, code };
            store.faults.inject(Rule::new(Operation::SelectObjectContent, fault).times(99));
            let query = engine.plan(&sql).await.unwrap();
            let answer = text(&query.collect().await.unwrap());
            store.faults.clear();
            assert!(answer == right, "{sql}, frame {records}");
            let counted = query.counted();
            assert!(counted.overdue >= 1 && counted.fallbacks >= FILES, "{sql}: {counted:?}");
            // Statements on some files may be in flight when the first one is stopped.
            assert!(counted.select <= FILES / 2, "{sql}: {counted:?}");
            let warnings = query.warnings().join("\n");
            let said =
                "of S3 Select for taking longer than it allows; what they were about is read with";
            assert!(warnings.contains(said), "{sql}: {warnings}");
            // Other statements may still be sent.
            assert!(engine.endpoint().client.refusals().is_empty());
        }
    }
}

/// Statements exceed the server's own time limit.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_the_server_is_no_limit_of_queries() {
    let limits = Limits { statement_timeout: Some(Duration::from_nanos(1)), ..Limits::default() };
    let store = Store::start_with(|server| server.limits(limits)).await;
    store.put("t/a.csv", table());
    let engine = store.engine(Scan::Select).await;
    let sql = format!("SELECT count(*), sum(k) FROM 's3://{BUCKET}/t/a.csv' WHERE v LIKE '%7%'");
    let query = engine.plan(&sql).await.unwrap();
    let wanted = (0..ROWS).filter(|k| k.to_string().contains('7'));
    let (count, sum) = wanted.fold((0, 0), |(count, sum), k| (count + 1, sum + k));
    let answer = text(&query.collect().await.unwrap());
    assert_eq!(answer, [format!("\"{count}\" | \"{sum}\"")]);
    assert!(query.counted().overdue > 0, "{:?}", query.counted());
}
