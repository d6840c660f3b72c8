//! The predictions of EXPLAIN are compared with the counts of the query.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use sluicegate_costmodel::{Dollars, PriceBook};
use sluicegate_engine::Engine;
use sluicegate_engine::choice::Decision;
use sluicegate_engine::config::Scan;

use crate::harness::{BUCKET, Store, rows, try_rows};

/// A large object counts as the number of ranges into which it is split.
#[tokio::test(flavor = "multi_thread")]
async fn predicted_requests_are_those_that_are_sent() {
    let store = Store::start().await;
    store.put("t/large.csv", format!("a,b\n{}", "1,x\n2,y\n".repeat(20_000)));
    for index in 0..3 {
        store.put(&format!("t/small{index}.csv"), "a,b\n3,z\n");
    }
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (a BIGINT, b VARCHAR) STORED AS CSV LOCATION 's3://{BUCKET}/t/'
         OPTIONS ('format.has_header' 'true', 'format.newlines_in_values' 'false')"
    );
    for threads in [1, 2, 5] {
        let engine = store.builder().scan(Scan::Select).threads(threads).build().await.unwrap();
        rows(&engine, &ddl).await;
        rows(&engine, "SET sluice.range_bytes = 10000").await;
        for sql in [
            "SELECT b, count(*) FROM t GROUP BY b",
            "SELECT sum(a) FROM t",
            "SELECT a FROM t WHERE b = 'z'",
            "SELECT a FROM t ORDER BY a LIMIT 3",
            "SELECT count(*) FROM t WHERE reverse(b) = 'z'",
        ] {
            let predicted = engine.explain(sql).await.unwrap().estimate().work.requests;
            let before = engine.counted();
            rows(&engine, sql).await;
            let sent = engine.counted().since(&before);
            assert_eq!(predicted.select.0, sent.select, "{sql} in {threads} partitions");
            assert!(threads == 1 || sent.select > 4, "{sql} is not split: {sent:?}");
        }
    }
}

/// Planning samples a few objects of a table, however many it has.
#[tokio::test(flavor = "multi_thread")]
async fn planning_over_many_objects_asks_for_few() {
    let store = Store::start().await;
    for index in 0..200 {
        store.put(&format!("t/{index:03}.csv"), "1,x\n2,y\n".repeat(10 + index));
    }
    let engine = store.engine(Scan::Auto).await;
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (a BIGINT, b VARCHAR) STORED AS CSV LOCATION 's3://{BUCKET}/t/'
         OPTIONS ('format.has_header' 'false')"
    );
    rows(&engine, &ddl).await;
    let before = engine.counted();
    let explained = engine.explain("SELECT a FROM t WHERE b = 'x'").await.unwrap();
    let asked = engine.counted().since(&before);
    assert!(asked.get <= 8 && asked.got_bytes <= 8 * 4096, "{asked:?}");
    assert_eq!(explained.estimate().work.requests.total().0, 200);
    // The estimate of rows still follows the sizes of all objects.
    rows(&engine, "SET datafusion.explain.show_statistics = true").await;
    let plan = "EXPLAIN FORMAT INDENT SELECT a, b FROM t";
    let text = rows(&engine, plan).await.join("\n");
    let all: usize = (0..200).map(|index| 2 * (10 + index)).sum();
    assert!(text.contains(&format!("Rows=Inexact({all})")), "{text}");
    let again = engine.counted().since(&before);
    assert!(again.get <= 8, "{again:?}");
}

/// A query with a small LIMIT is predicted to stop before it reads all objects.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_predicted_to_end_the_scan() {
    let store = Store::start().await;
    for index in 0..100 {
        store.put(&format!("t/{index:03}.csv"), "1,x\n2,y\n".repeat(10 + index));
    }
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (a BIGINT, b VARCHAR) STORED AS CSV LOCATION 's3://{BUCKET}/t/'
         OPTIONS ('format.has_header' 'false')"
    );
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.builder().scan(scan).threads(2).build().await.unwrap();
        rows(&engine, &ddl).await;
        let sql = "SELECT a FROM t LIMIT 1";
        let predicted = engine.explain(sql).await.unwrap().estimate().work.requests.total().0;
        let before = engine.counted();
        rows(&engine, sql).await;
        let sent = engine.counted().since(&before);
        let sent = sent.get + sent.select;
        assert!(sent <= predicted && predicted <= 12, "{scan}: {sent} of {predicted}");
        let sql = "SELECT a FROM t LIMIT 100000";
        let predicted = engine.explain(sql).await.unwrap().estimate().work.requests;
        assert_eq!(predicted.total().0, 100, "{scan}");
    }
}

/// SET can give an hour of waiting a price.
#[tokio::test(flavor = "multi_thread")]
async fn an_hour_of_waiting_can_be_given_a_value() {
    let store = Store::start().await;
    store.put("t/a.csv", format!("a,b\n{}", "1,x\n".repeat(2_000_000)));
    // With these prices, Select is fast and expensive.
    let mut prices = PriceBook::paper().clone();
    prices.select.as_mut().unwrap().scanned = Dollars(10.0);
    let engine = store.builder().prices(prices).build().await.unwrap();
    let sql = format!("SELECT a FROM 's3://{BUCKET}/t/a.csv' WHERE b = 'y'");
    let mut picks = Vec::new();
    for objective in ["dollars", "0 dollars per hour", "1000000 dollars per hour", "time"] {
        rows(&engine, &format!("SET sluice.objective = '{objective}'")).await;
        let explained = engine.explain(&sql).await.unwrap();
        picks.push(explained.decisions[0].strategy().unwrap());
    }
    assert_eq!(picks, ["get", "get", "select", "select"]);
    assert!(engine.query("SET sluice.objective = '0.7'").await.is_err());
}

/// Predictions leave out columns that only the store's filter reads, take the number of groups from a sample, and
/// include the rows of a top-K that are sent before its bound is known.
#[tokio::test(flavor = "multi_thread")]
async fn predictions_know_what_is_asked_for() {
    let store = Store::start().await;
    for object in 0..4 {
        let record = |n: u32| format!("{},{},{}\n", n % 3, n * 7919 % 40_009, "x".repeat(80));
        let records = (5000 * object..5000 * (object + 1)).map(record);
        store.put(&format!("t/{object}.csv"), records.collect::<String>());
    }
    let engine = store.builder().threads(1).build().await.unwrap();
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (g INT, v INT, s VARCHAR) STORED AS CSV \
         LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.has_header' 'false')"
    );
    rows(&engine, &ddl).await;
    let explained = async |sql: &str| engine.explain(sql).await.unwrap().decisions;
    let link = |decision: &Decision, way: &str| {
        decision.verdict(way).unwrap().outcome.as_ref().unwrap().work.link.as_f64()
    };
    let all = 4.0 * 5000.0 * 86.0;

    let scan = explained("SELECT v FROM t WHERE s < 'b'").await;
    let statement = scan[0].verdict("select").unwrap().statement.clone().unwrap();
    assert!(statement.starts_with("SELECT s._2 FROM S3Object s WHERE"), "{statement}");

    let groups = explained("SELECT g, sum(v) FROM t GROUP BY g").await;
    let hybrid = link(&groups[0], "hybrid");
    assert!(hybrid < 0.1 * all, "{hybrid}: no row is outside of the largest groups");
    let most = explained("SELECT v, count(s) FROM t GROUP BY v").await;
    let hybrid = link(&most[0], "hybrid");
    assert!(hybrid > 0.5 * all, "{hybrid} of {all}: most rows are outside of the largest groups");

    let best = explained("SELECT * FROM t ORDER BY v LIMIT 5").await;
    let filtered = link(&best[0], "filtered");
    assert!((0.2 * all..0.3 * all).contains(&filtered), "{filtered}: one of four objects");
    assert!(link(&explained("SELECT * FROM t").await[0], "select") > 0.9 * all);
}

/// If rows of the build side share keys, a part of these rows has more than its share of the keys.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_several_rows_have_are_predicted_to_pass() {
    let store = Store::start().await;
    let w = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % 10;
    let b: String = (0..40_000).map(|n| format!("{},{}\n", n / 4, w(n))).collect();
    let p: String = (0..10_000).map(|k| format!("{k},{}\n", "x".repeat(400))).collect();
    store.put("b/b.csv", format!("k,w\n{b}"));
    store.put("p/p.csv", format!("k,v\n{p}"));
    let engine = store.builder().build().await.unwrap();
    for (table, columns) in [("b", "k BIGINT, w INT"), ("p", "k BIGINT, v VARCHAR")] {
        let ddl = format!(
            "CREATE EXTERNAL TABLE {table} ({columns}) STORED AS CSV \
             LOCATION 's3://{BUCKET}/{table}/' OPTIONS ('format.has_header' 'true')"
        );
        rows(&engine, &ddl).await;
    }
    rows(&engine, "SET sluice.join = 'bloom'").await;
    // Two, five and eight tenths of the rows.
    for least in [8, 5, 2] {
        let sql = format!("SELECT max(p.v) FROM b JOIN p ON b.k = p.k WHERE b.w >= {least}");
        let predicted = engine.explain(&sql).await.unwrap().estimate().work.returned.as_f64();
        let before = engine.counted();
        rows(&engine, &sql).await;
        let returned = engine.counted().since(&before).returned_bytes as f64;
        let error = predicted / returned - 1.0;
        assert!(error.abs() < 0.1, "{least}: {predicted} predicted, {returned} returned");
    }
}

/// Returns a number that looks random (SplitMix64).
fn mixed(n: u64) -> u64 {
    let mut z = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 16
}

/// Returns the predicted and the counted bytes that the store returns for a query.
async fn predicted_and_returned(engine: &Engine, sql: &str) -> (f64, f64) {
    let predicted = engine.explain(sql).await.unwrap().estimate().work.returned.as_f64();
    let before = engine.counted();
    rows(engine, sql).await;
    (predicted, engine.counted().since(&before).returned_bytes as f64)
}

/// A join by two columns sends the values of each; a range on the key, which DataFusion infers for the other side,
/// selects keys and rows once; rows without a key have no partner.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_all_kinds_of_joins_are_predicted_to_pass() {
    let store = Store::start().await;
    let b: String = (0..4_000_u64)
        .map(|n| {
            format!(
                "{},{},{},{}\n",
                n * 10,
                mixed(n) % 100,
                mixed(n + 1_000_000) % 100,
                mixed(n + 7_000_000) % 10
            )
        })
        .collect();
    let p: String = (0..40_000_u64)
        .map(|n| {
            let k = mixed(n) % 4_000 * 10;
            let null =
                if mixed(n + 2_000_000).is_multiple_of(2) { String::new() } else { k.to_string() };
            format!(
                "{k},{},{},{null},{}\n",
                mixed(n + 3_000_000) % 100,
                mixed(n + 4_000_000) % 100,
                "x".repeat(50)
            )
        })
        .collect();
    store.put("b/b.csv", format!("k,x,y,w\n{b}"));
    store.put("p/p.csv", format!("k,x,y,n,v\n{p}"));
    let engine = store.builder().scan(Scan::Select).build().await.unwrap();
    for (table, columns) in [
        ("b", "k BIGINT, x INT, y INT, w INT"),
        ("p", "k BIGINT, x INT, y INT, n BIGINT, v VARCHAR"),
    ] {
        let ddl = format!(
            "CREATE EXTERNAL TABLE {table} ({columns}) STORED AS CSV \
             LOCATION 's3://{BUCKET}/{table}/' OPTIONS ('format.has_header' 'true')"
        );
        rows(&engine, &ddl).await;
        rows(&engine, &format!("ANALYZE TABLE {table}")).await;
    }
    rows(&engine, "SET sluice.join = 'bloom'").await;
    for (sql, most) in [
        ("SELECT max(v) FROM b JOIN p ON b.x = p.x AND b.y = p.y WHERE b.k < 1000", 0.4),
        ("SELECT max(v) FROM b JOIN p ON b.x = p.x AND b.y = p.y WHERE w = 3", 0.25),
        ("SELECT max(v) FROM b JOIN p ON b.k = p.k WHERE b.k < 4000", 0.25),
        ("SELECT max(v) FROM b JOIN p ON b.k = p.k WHERE p.k < 8000 AND w < 5", 0.25),
        ("SELECT max(v) FROM b JOIN p ON b.k = p.n WHERE w < 5", 0.25),
    ] {
        let (predicted, returned) = predicted_and_returned(&engine, sql).await;
        let error = predicted / returned - 1.0;
        assert!(error.abs() < most, "{sql}: {predicted} predicted, {returned} returned");
    }
}

/// With more groups than the store may get statements for, all rows are returned; a file has only the groups of its
/// rows; the width of keys counts.
#[tokio::test(flavor = "multi_thread")]
async fn groups_are_predicted_as_they_are_asked_about() {
    let store = Store::start().await;
    for file in 0..4_u64 {
        let rows: String = (file * 5_000..(file + 1) * 5_000)
            .map(|n| {
                let (few, many) = (mixed(n) % 20, mixed(n + 5_000_000) % 10_000);
                let some = mixed(n + 6_000_000) % 400;
                format!("a rather long name {few},{some},{many},{}\n", n % 1000)
            })
            .collect();
        store.put(&format!("t/{file}.csv"), format!("few,some,many,v\n{rows}"));
    }
    let engine = store.builder().scan(Scan::Select).build().await.unwrap();
    let ddl = format!(
        "CREATE EXTERNAL TABLE t (few VARCHAR, some INT, many INT, v INT) STORED AS CSV \
         LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.has_header' 'true')"
    );
    rows(&engine, &ddl).await;
    rows(&engine, "ANALYZE TABLE t").await;
    for (strategy, key, most) in [
        ("case", "few", 0.5),
        ("case", "some", 0.25),
        ("case", "many", 0.25),
        ("s3", "few", 0.35),
        ("s3", "some", 0.6),
        ("s3", "many", 0.6),
    ] {
        rows(&engine, &format!("SET sluice.group_by = '{strategy}'")).await;
        let sql = format!("SELECT {key}, sum(v) FROM t GROUP BY {key}");
        let (predicted, returned) = predicted_and_returned(&engine, &sql).await;
        let error = predicted / returned - 1.0;
        assert!(error.abs() < most, "{strategy} {key}: {predicted} predicted, {returned} returned");
    }
}

/// Footers give the width and the position of columns in an object. Columns of the filter are fetched, too, and gaps
/// between the columns, by one request for each row group.
#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_of_parquet_columns_are_those_of_the_footer() {
    let store = Store::start().await;
    let rows = 20_000_i64;
    let scattered = |row: i64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64);
    let columns: [(&str, ArrayRef); 4] = [
        ("sorted", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row / 1000)))),
        ("scattered", Arc::new(Int64Array::from_iter_values((0..rows).map(scattered)))),
        ("few", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row % 3)))),
        (
            "long",
            Arc::new(StringArray::from_iter_values(
                (0..rows).map(|row| format!("{:x}{:x}", scattered(row), scattered(row + 1))),
            )),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut file = Vec::new();
    let groups = WriterProperties::builder().set_max_row_group_row_count(Some(5000)).build();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(groups)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    store.put("t/a.parquet", file.as_slice());
    for (wanted, filter) in [
        ("sorted", ""),
        ("scattered", ""),
        ("long", ""),
        ("sorted", "WHERE scattered % 2 = 0"),
        ("few", "WHERE long < '8'"),
        ("sum(scattered)", "WHERE few = 1"),
        ("few", "WHERE sorted % 2 = 1"),
        ("long", "WHERE sorted % 3 <> 1"),
    ] {
        for (scan, get) in [(Scan::Get, true), (Scan::Select, false)] {
            let engine = store.engine(scan).await;
            let sql = format!("SELECT {wanted} FROM 's3://{BUCKET}/t/' {filter}");
            // Planning reads the footer.
            let predicted = engine.explain(&sql).await.unwrap().estimate().work;
            let before = engine.counted();
            try_rows(&engine, &sql).await.unwrap();
            let counted = engine.counted().since(&before);
            if !get && counted.select == 0 {
                continue;
            }
            if get {
                assert_eq!(predicted.requests.get.0, counted.get, "{sql}");
            }
            let (predicted, counted) = match get {
                true => (predicted.got.0, counted.got_bytes),
                false => (predicted.scanned.0, counted.scanned_bytes),
            };
            let off = (predicted as f64 / counted as f64 - 1.0).abs();
            assert!(off < 0.05, "{scan:?} {sql}: {predicted} predicted, {counted} counted");
        }
    }
}
