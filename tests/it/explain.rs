//! EXPLAIN shows the requests that a query would send, EXPLAIN ANALYZE those that it sent.

use std::time::Duration;

use sluicegate_costmodel::{Bytes, Dollars, HardwareProfile, PriceBook, Rows, ScanWork};
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;

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

/// The schema of a table named by its URL is inferred from the object, and the requests are billed.
#[tokio::test(flavor = "multi_thread")]
async fn what_planning_asked_for_is_counted() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let engine = store.engine(Scan::Auto).await;
    let sql = format!("SELECT b FROM 's3://{BUCKET}/t/' WHERE a = 2");
    let before = engine.counted();
    let planning = engine.explain(&sql).await.unwrap().planning;
    assert_eq!(planning, engine.counted().since(&before));
    assert!(planning.list > 0 && planning.get > 0 && planning.got_bytes > 0, "{planning:?}");
    assert_eq!(engine.explain("SELECT 1").await.unwrap().planning.requests(), 0);
}

/// The basis of the numbers is one line for all decisions.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_numbers_rest_on_is_named_once() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let engine = store.engine(Scan::Auto).await;
    let t = format!("'s3://{BUCKET}/t/a.csv'");
    let sql = format!("EXPLAIN SELECT l.b FROM {t} l JOIN {t} r ON l.a = r.a WHERE r.b = 'x'");
    let text = rows(&engine, &sql).await.join("\n").replace("\\n", "\n");
    let basis = "modelled for the hardware local-1gbit (2026-11, not calibrated) and the prices \
                 paper-2020-us-east-1 (us-east-1, 2020-01)";
    assert_eq!(text.matches(basis).count(), 1, "{text}");
    // Queries without requests have no predictions.
    let text = rows(&engine, "EXPLAIN SELECT 1").await.join("\n");
    assert!(!text.contains("modelled"), "{text}");
}

/// The numbers that EXPLAIN shows of a scan and of an aggregate follow from the table and the constants of the
/// paper's hardware: everything overlaps, so the slowest resource determines the time.
#[tokio::test(flavor = "multi_thread")]
async fn the_numbers_of_a_scan_come_out_by_hand() {
    let store = Store::start().await;
    let (records, record) = (10_000.0, "1234567,abcdefgh\n");
    store.put("t/a.csv", record.repeat(10_000));
    let size = record.len() as f64 * records;
    let paper = HardwareProfile::paper().clone();
    let engine = store.builder().hardware(paper).build().await.unwrap();
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (a BIGINT, b VARCHAR) STORED AS CSV \
         LOCATION 's3://{BUCKET}/t/a.csv' OPTIONS ('format.has_header' 'false')"
    );
    rows(&engine, &ddl).await;
    rows(&engine, "SET datafusion.optimizer.repartition_file_scans = false").await;
    let sql = "SELECT sum(a) FROM t WHERE a = 5";
    let explained = engine.explain(sql).await.unwrap();
    let [sum] = explained.decisions.as_slice() else { panic!("{explained}") };
    // Connecting takes 0.2 s; the latency of a GET is 0.03 s and of a statement 0.2 s.
    let (get_waits, select_waits) = (0.2 + 0.03, 0.2 + 0.2);
    let parse = |bytes: f64| bytes / 11.2e6;
    let scan = |updates: f64, values: f64| {
        size / 130e6 + records * (5.8e-7 + updates * 2.9e-7) + values * 4.1e-5
    };
    // The number of rows that pass the filter is an estimate from statistics.
    let passing = sum.verdict("select").unwrap().outcome.as_ref().unwrap().work.returned.as_f64();
    let passing_share = passing / (records * 8.0);
    // The end of a row counts as a value.
    let values = 2.0 * records * passing_share;
    for (way, select, got, returned, updates, values) in [
        ("get", 0, size, 0.0, 0.0, 0.0),
        // The statement has one comparison.
        ("select", 1, 0.0, passing, 0.0, values),
        // The statement has one comparison and one sum of the passing rows, and returns one row with one number.
        ("store", 1, 0.0, 16.0, passing_share, 2.0),
    ] {
        let numbers = sum.verdict(way).unwrap().outcome.as_ref().unwrap();
        let work = numbers.work;
        assert_eq!((work.requests.select.0, work.requests.get.0), (select, 1 - select), "{way}");
        assert_eq!(work.scanned.0, if select == 1 { size as u64 } else { 0 }, "{way}");
        assert!((work.link.as_f64() - got - returned).abs() < 1.0, "{way}: {work:?}");
        let (waits, busy) = match select {
            0 => (get_waits, parse(got).max(got / 52_428_800.0)),
            _ => (select_waits, scan(updates, values).max(parse(returned))),
        };
        let seconds = waits + busy;
        let predicted = numbers.time.total().as_secs_f64();
        assert!((predicted - seconds).abs() < 1e-6, "{way}: {predicted} s, not {seconds} s");
        let gib = 1_073_741_824.0;
        let scanned = if select == 1 { size } else { 0.0 };
        let dollars = 0.0004 / 1000.0 + scanned / gib * 0.002 + returned / gib * 0.0007;
        let dollars = dollars + seconds * 2.128 / 3600.0;
        let cost = numbers.cost.total().0;
        assert!((cost / dollars - 1.0).abs() < 1e-6, "{way}: ${cost}, not ${dollars}");
    }
}

/// With prices for work, the predicted and the counted cost of a query follow the prices; and a higher price of
/// computing makes the planner push down less.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_paid_for_its_work_is_asked_what_if() {
    let store = Store::start().await;
    let body = "1234567,abcdefgh\n".repeat(10_000);
    store.put("t/a.csv", &body);
    let sql = format!("SELECT column_1 FROM 's3://{BUCKET}/t/a.csv' WHERE column_2 = 'x'");
    let mut prices = PriceBook::by_name("work-2020-us-east-1").unwrap().clone();
    let engine = store.builder().scan(Scan::Select).prices(prices.clone()).build().await.unwrap();
    rows(&engine, "SET datafusion.catalog.has_header = false").await;
    let estimate = engine.explain(&sql).await.unwrap().estimate();
    let predicted = prices.cost(&estimate.work);
    let query = engine.plan(&sql).await.unwrap();
    query.collect().await.unwrap();
    let counted = prices.cost(&query.counted().work(Duration::ZERO));
    assert_eq!(counted.scanned, Dollars::ZERO);
    let processed = body.len() as f64 / 1_073_741_824.0 * 0.0005;
    assert!((counted.processed.0 / processed - 1.0).abs() < 1e-9, "{counted}");
    assert!((predicted.processed.0 / processed - 1.0).abs() < 1e-9, "{predicted}");
    let hardware = &engine.endpoint().hardware;
    let (size, rows_of) = (Bytes(body.len() as u64), Rows(10_000));
    let all = ScanWork { bytes: size, rows: rows_of, terms: 1.into(), ..ScanWork::default() };
    let statement = hardware.select.per_statement.unwrap_or_default();
    let busy = (hardware.store_time(&all) + statement).as_secs_f64();
    let expected = busy * 0.0665 / 3600.0;
    let actual = predicted.store_compute.0;
    assert!((actual / expected - 1.0).abs() < 0.01, "{predicted}: not {expected}");
    // The scanned bytes are counted; the scanned rows are estimated.
    let bytes_alone = ScanWork { bytes: size, ..ScanWork::default() };
    let bytes_alone = hardware.store_time(&bytes_alone).as_secs_f64();
    let least = bytes_alone * 0.0665 / 3600.0;
    let actual = counted.store_compute.0;
    assert!((least..=expected * 1.01).contains(&actual), "{counted}: not {least} to {expected}");

    let chosen = async |prices: &PriceBook| {
        let engine = store.builder().scan(Scan::Auto).prices(prices.clone()).build().await.unwrap();
        rows(&engine, "SET sluice.objective = 'dollars'").await;
        rows(&engine, "SET datafusion.catalog.has_header = false").await;
        let explained = engine.explain(&sql).await.unwrap();
        let scan = explained.decisions.iter().find(|it| it.operator == "scan").unwrap();
        scan.strategy()
    };
    prices.transfer.out = Dollars(0.09);
    assert_eq!(chosen(&prices).await, Some("select"));
    prices.select.as_mut().unwrap().core_hour = Dollars(1000.0);
    assert_eq!(chosen(&prices).await, Some("get"));
}

#[tokio::test(flavor = "multi_thread")]
async fn explaining_sends_no_statement() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let engine = store.engine(Scan::Auto).await;
    let explained =
        engine.explain(&format!("SELECT sum(a) FROM 's3://{BUCKET}/t/a.csv'")).await.unwrap();
    let [sum] = explained.decisions.as_slice() else { panic!("{explained}") };
    assert_eq!(sum.operator, "aggregate");
    let sql = sum.verdict("store").unwrap().statement.as_deref().unwrap();
    assert!(sql.starts_with("SELECT SUM("), "{sql}");
    let sql = sum.verdict("select").unwrap().statement.as_deref().unwrap();
    assert!(sql.starts_with("SELECT s._1 "), "{sql}");
    assert!(sum.verdict("get").unwrap().outcome.is_ok(), "{explained}");
    assert!(explained.estimate().cost.0 > 0.0);
    assert_eq!(engine.counted().select, 0);
}

/// Scans of a store without Select are predicted as GETs.
#[tokio::test(flavor = "multi_thread")]
async fn scans_without_select_are_predicted() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let engine = store.builder().profile(StoreCapabilities::get_only()).build().await.unwrap();
    let sql = format!("SELECT sum(a) FROM 's3://{BUCKET}/t/a.csv' WHERE b = 'x'");
    let explained = engine.explain(&sql).await.unwrap();
    let [sum] = explained.decisions.as_slice() else { panic!("{explained}") };
    assert_eq!(sum.strategy(), Some("get"));
    for way in ["store", "select"] {
        let why = sum.verdict(way).unwrap().outcome.as_ref().unwrap_err().to_string();
        assert_eq!(why, "the store has no S3 Select (profile `get-only`)");
    }
    assert_eq!(explained.estimate().work.requests.get.0, 1);
    assert!(explained.estimate().cost.0 > 0.0);
}

/// A query with an impossible setting still runs; EXPLAIN names the setting and the reason.
#[tokio::test(flavor = "multi_thread")]
async fn forcing_what_cannot_be_had_says_why() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let sum = format!("SELECT sum(a) FROM 's3://{BUCKET}/t/a.csv'");
    let backwards = format!("{sum} WHERE reverse(b) = 'y'");

    let engine =
        store.builder().profile(StoreCapabilities::get_only()).scan(Scan::Select).build().await;
    let engine = engine.unwrap();
    assert_eq!(rows(&engine, &sum).await, [r#""3""#]);
    let warnings: Vec<_> = engine.explain(&sum).await.unwrap().warnings().collect();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    let expected = "sluice.scan = 'select' is not followed: \
                    the store has no S3 Select (profile `get-only`)";
    assert!(warning.ends_with(expected), "{warning}");

    let engine = store.engine(Scan::Select).await;
    assert_eq!(engine.explain(&sum).await.unwrap().warnings().count(), 0);
    rows(&engine, "SET sluice.aggregate = 'store'").await;
    assert_eq!(rows(&engine, &backwards).await, [r#""2""#]);
    let explained = engine.explain(&backwards).await.unwrap();
    let warnings: Vec<_> = explained.warnings().collect();
    let [warning] = warnings.as_slice() else { panic!("{explained}") };
    assert!(warning.starts_with("aggregate of sum(a) over s3://"), "{warning}");
    let expected = "sluice.aggregate = 'store' is not followed: filter reverse(b) = 'y' is \
                    evaluated here: S3 Select has no equivalent";
    assert!(warning.contains(expected), "{warning}");
    let said = explained.to_string();
    assert!(
        said.contains("reverse(b) = 'y' is evaluated here: S3 Select has no equivalent"),
        "{said}"
    );

    rows(&engine, "SET sluice.aggregate = 'here'").await;
    let explained = engine.explain(&sum).await.unwrap();
    assert_eq!(explained.decisions[0].strategy(), Some("select"));
    assert_eq!(explained.warnings().count(), 0);
    let why = explained.decisions[0].verdict("store").unwrap().outcome.as_ref().unwrap_err();
    assert_eq!(why.to_string(), "sluice.aggregate = 'here'");
    assert_eq!(rows(&engine, &sum).await, [r#""3""#]);
}

/// EXPLAIN also gives the reason for an aggregate that no store can compute.
#[tokio::test(flavor = "multi_thread")]
async fn aggregates_that_stay_here_say_why() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let engine = store.engine(Scan::Auto).await;
    let t = format!("'s3://{BUCKET}/t/a.csv'");
    let join = format!("SELECT count(*) FROM {t} l JOIN {t} r ON l.a = r.a");
    let grouped = format!("SELECT r.b, count(*) FROM {t} l JOIN {t} r ON l.a = r.a GROUP BY r.b");
    let why = "its input is more than a scan of one table";
    for (sql, operator, strategy) in [(&grouped, "group_by", "s3"), (&join, "aggregate", "store")] {
        rows(&engine, "SET sluice.aggregate = 'auto'").await;
        rows(&engine, "SET sluice.group_by = 'auto'").await;
        let explained = engine.explain(sql).await.unwrap();
        let mut of_aggregates = explained.decisions.iter().filter(|it| it.operator == operator);
        let [Some(here), None] = [of_aggregates.next(), of_aggregates.next()] else {
            panic!("{explained}")
        };
        assert_eq!(here.verdict(strategy).unwrap().outcome.as_ref().unwrap_err().to_string(), why);
        assert_eq!(explained.warnings().count(), 0, "{explained}");
        rows(&engine, &format!("SET sluice.{operator} = '{strategy}'")).await;
        let query = engine.plan(sql).await.unwrap();
        // The warning is the same in each run.
        for _ in 0..2 {
            query.collect().await.unwrap();
            let warnings = query.warnings();
            let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
            let expected = format!(": sluice.{operator} = '{strategy}' is not followed: {why}");
            assert!(warning.ends_with(&expected), "{warning}");
        }
    }
    // DISTINCT and tables of other kinds are planned as aggregates, too, but get no warning.
    for sql in
        [format!("SELECT DISTINCT b FROM {t}"), "SELECT count(*) FROM (VALUES (1))".to_owned()]
    {
        let query = engine.plan(&sql).await.unwrap();
        query.collect().await.unwrap();
        assert!(query.warnings().is_empty(), "{:?}", query.warnings());
    }
}

/// `EXPLAIN` in SQL shows what `sluice explain` shows, in both of its formats.
#[tokio::test(flavor = "multi_thread")]
async fn explain_in_sql_lists_the_alternatives_and_the_reasons() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let engine = store.engine(Scan::Auto).await;
    let sql = format!("SELECT b FROM 's3://{BUCKET}/t/a.csv' WHERE reverse(b) = 'y'");
    for format in ["", "FORMAT INDENT "] {
        let text = rows(&engine, &format!("EXPLAIN {format}{sql}")).await.join("\n");
        let parts =
            ["scan of s3://", "get ", "select ", "modelled for local-1gbit", "evaluated here"];
        for part in parts {
            assert!(text.contains(part), "no {part} in {text}");
        }
    }
    rows(&engine, "SET sluice.scan = 'get'").await;
    let text = rows(&engine, &format!("EXPLAIN {sql}")).await.join("\n");
    assert!(text.contains("select not possible: "), "{text}");
    // A query that reads no bucket has no decision.
    let text = rows(&engine, "EXPLAIN SELECT 1").await.join("\n");
    assert!(!text.contains("scan of"), "{text}");
}

/// EXPLAIN of any statement predicts its scans; it reads and writes nothing, and defines no name.
#[tokio::test(flavor = "multi_thread")]
async fn explaining_has_no_side_effects() {
    let store = Store::start().await;
    store.put("t/a.csv", "a,b\n1,x\n2,y\n");
    let engine = store.engine(Scan::Select).await;
    let read = format!("SELECT a, b FROM 's3://{BUCKET}/t/a.csv' WHERE a > 1");
    rows(&engine, "CREATE TABLE known (a BIGINT, b VARCHAR)").await;
    rows(&engine, &format!("PREPARE ask AS {read}")).await;
    rows(&engine, &format!("PREPARE put AS INSERT INTO known {read}")).await;
    let price = engine.explain(&read).await.unwrap().estimate();
    assert_eq!(price.work.requests.select.0, 1);
    let before = engine.counted();
    assert!(engine.is_query(&read) && !engine.is_query("CREATE TABLE t (a INT)"));
    assert_eq!(engine.counted(), before);
    for statement in [
        format!("CREATE TABLE made AS {read}"),
        format!("INSERT INTO known {read}"),
        format!("COPY ({read}) TO 's3://{BUCKET}/out/made.csv'"),
        "EXECUTE ask".to_owned(),
        "EXECUTE put".to_owned(),
        format!("EXPLAIN ANALYZE {read}"),
    ] {
        assert!(!engine.is_definition(&statement).await.unwrap(), "{statement}");
        let explained = engine.explain(&statement).await.unwrap().estimate();
        assert_eq!(explained.work.requests, price.work.requests, "{statement}");
        assert_eq!(explained.cost.0.to_bits(), price.cost.0.to_bits(), "{statement}");
    }
    for statement in [
        "CREATE TABLE empty (a BIGINT)".to_owned(),
        format!("CREATE VIEW seen AS {read}"),
        "SET sluice.scan = 'get'".to_owned(),
        format!("PREPARE later AS {read}"),
        "DROP TABLE known".to_owned(),
    ] {
        assert!(engine.is_definition(&statement).await.unwrap(), "{statement}");
        let explained = engine.explain(&statement).await.unwrap();
        assert_eq!(explained.estimate().cost.0.to_bits(), 0, "{statement}");
    }
    let since = engine.counted().since(&before);
    assert_eq!((since.select, since.put), (0, 0), "{since:?}");
    assert!(engine.query("SELECT * FROM made").await.is_err());
    assert!(engine.query("SELECT * FROM seen").await.is_err());
    assert!(engine.query("EXECUTE later").await.is_err());
    assert!(rows(&engine, "SELECT * FROM known").await.is_empty());
    // The SET had no effect, either.
    let still = engine.explain(&read).await.unwrap();
    assert_eq!(still.decisions[0].strategy(), Some("select"));
}
