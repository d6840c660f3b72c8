//! GROUP BY and DISTINCT, in the store and locally: the answers equal those of DataFusion over the same files.

mod faults;
mod given_number;
mod one_by_one;
mod random;

use std::sync::Arc;

use datafusion::prelude::SessionContext;
use object_store::local::LocalFileSystem;
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::Builder;
use sluicegate_workloads::tpch::{Format, generate, query};

use crate::harness::{BUCKET, Grid, Store, rows, statements, stock, stock_rows};
use crate::tpch;

const STRATEGIES: [&str; 6] = ["auto", "server", "filtered", "case", "s3", "hybrid"];

async fn force(engine: &Engine, strategy: &str) {
    rows(engine, &format!("SET sluice.group_by = '{strategy}'")).await;
}

async fn sample(engine: &Engine, count: usize) {
    rows(engine, &format!("SET sluice.group_by_sample = {count}")).await;
}

/// Returns the numbers that EXPLAIN ANALYZE shows for the groups of a query.
async fn analyzed(engine: &Engine, sql: &str) -> [u64; 4] {
    let text = rows(engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    ["groups_pushed=", "groups_left=", "rows_left=", "repairs="].map(|name| {
        let (_, rest) = text.split_once(name).unwrap_or_else(|| panic!("no {name} in {text}"));
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().unwrap()
    })
}

const COLUMNS: &str = "(k BIGINT NOT NULL, g VARCHAR, h INT, x DECIMAL(10,2), t DATE)";

/// Returns rows of which half are in the group `a`, and the others in ever smaller groups. One group is NULL, and one
/// has no values.
fn skewed(from: usize, to: usize) -> String {
    let mut text = String::from("k,g,h,x,t\n");
    for k in from..to {
        let g = match k.trailing_zeros() {
            0 => "a",
            1 => "",
            2 => "it's \"c\", or so",
            3 => "d",
            _ => "e",
        };
        let g = g.replace('"', "\"\"");
        let x = if g == "d" { String::new() } else { format!("{}.{:02}", k % 91, k % 100) };
        let h = k % 3;
        text.push_str(&format!("{k},\"{g}\",{h},{x},19{:02}-0{}-11\n", 70 + k % 30, 1 + k % 9));
    }
    text
}

fn ddl(location: &str) -> String {
    format!(
        "CREATE EXTERNAL TABLE t {COLUMNS} STORED AS CSV LOCATION '{location}'
         OPTIONS ('format.has_header' 'true', 'format.newlines_in_values' 'false')"
    )
}

/// Returns a store and the oracle with the same table of some objects.
async fn both(objects: &[String]) -> (Store, SessionContext) {
    both_with(objects, |server| server).await
}

/// Returns a store with other settings of the server, and the oracle, with the same table.
async fn both_with(
    objects: &[String],
    configure: impl FnOnce(Builder) -> Builder,
) -> (Store, SessionContext) {
    let store = Store::start_with(configure).await;
    for (number, object) in objects.iter().enumerate() {
        store.put(&format!("t/{number}.csv"), object);
    }
    let stock = stock();
    let folder = store.folder.path().join(BUCKET).join("t");
    stock_rows(&stock, &ddl(&format!("{}/", folder.display()))).await.unwrap();
    (store, stock)
}

async fn engine(store: &Store, profile: StoreCapabilities) -> Engine {
    let engine = store.builder().profile(profile).scan(Scan::Auto).build().await.unwrap();
    rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    engine
}

const QUERIES: [&str; 14] = [
    "SELECT g, count(*) FROM t GROUP BY g",
    "SELECT g, count(x), sum(x), min(x), max(x), avg(x) FROM t GROUP BY g",
    "SELECT g, h, sum(k), min(t), max(t), min(g) FROM t WHERE k > 3 GROUP BY g, h",
    "SELECT h, sum(x) FILTER (WHERE g = 'a'), count(*) FILTER (WHERE t > DATE '1980-01-01'), avg(k) FROM t GROUP BY h",
    "SELECT t, count(*) FROM t WHERE k < 60 GROUP BY t",
    "SELECT x > 40, g IS NULL, sum(x * 2 - 1), count(*) FROM t GROUP BY x > 40, g IS NULL",
    "SELECT CASE WHEN g = 'a' THEN 'A' ELSE g END AS c, max(k) FROM t GROUP BY c",
    "SELECT g, sum(x) FROM t GROUP BY g HAVING count(*) > 2 ORDER BY sum(x) DESC NULLS LAST LIMIT 2",
    "SELECT DISTINCT g FROM t",
    "SELECT DISTINCT g, h FROM t WHERE k % 2 = 0 OR h = 1",
    "SELECT DISTINCT k FROM t",
    "SELECT k, sum(x) FROM t GROUP BY k",
    "SELECT h, count(*) FROM t WHERE k < 0 GROUP BY h",
    "SELECT reverse(g), count(DISTINCT h) FROM t GROUP BY reverse(g)",
];

/// Runs every query in each way, or in every n-th, over tables of one and several objects, in ranges and whole.
async fn all_ways(objects: &[String], profiles: &[StoreCapabilities], every: usize) {
    let mut grid = Grid::every(every, "each way to group over each store");
    let (store, stock) = both(objects).await;
    for profile in profiles {
        let engine = engine(&store, profile.clone()).await;
        for sql in QUERIES {
            let expected = stock_rows(&stock, sql).await.unwrap();
            for strategy in STRATEGIES {
                force(&engine, strategy).await;
                for (count, range) in [(4096, 1 << 24), (7, 300)] {
                    if !grid.takes() {
                        continue;
                    }
                    sample(&engine, count).await;
                    rows(&engine, &format!("SET sluice.range_bytes = {range}")).await;
                    let name = &profile.name;
                    let before = engine.counted();
                    let actual = rows(&engine, sql).await;
                    assert_eq!(actual, expected, "{sql}: {strategy}, {name}, {count}");
                    let counted = engine.counted().since(&before);
                    assert_eq!(counted.fallbacks, 0, "{sql}: {strategy}, {name}, {count}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_gives_the_same_groups() {
    let objects = [skewed(0, 120), skewed(120, 121), "k,g,h,x,t\n".to_owned(), String::new()];
    Box::pin(all_ways(&objects, &[StoreCapabilities::sluice()], 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_can_less_give_the_same_groups() {
    let no_case = || {
        let mut profile = StoreCapabilities::sluice();
        profile.syntax.case = false;
        profile
    };
    let no_groups = || {
        let mut profile = StoreCapabilities::sluice();
        profile.syntax.group_by = false;
        profile
    };
    let short = || StoreCapabilities { max_expression_bytes: 700, ..StoreCapabilities::sluice() };
    let profiles = [
        StoreCapabilities::aws(),
        StoreCapabilities::minio(),
        StoreCapabilities::get_only(),
        no_case(),
        no_groups(),
        one_by_one::without_case(),
        short(),
    ];
    Box::pin(all_ways(&[skewed(0, 60)], &profiles, 5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_without_rows_or_with_one_have_the_right_groups() {
    for objects in [vec![String::new()], vec!["k,g,h,x,t\n".to_owned()], vec![skewed(5, 6)]] {
        Box::pin(all_ways(&objects, &[StoreCapabilities::sluice()], 1)).await;
    }
}

/// If the store supports GROUP BY, one statement returns all groups.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_with_group_by_is_sent_one() {
    let (store, _) = both(&[skewed(0, 1000)]).await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    force(&engine, "s3").await;
    for (sql, sent, groups) in [
        (
            "SELECT g, sum(x), count(*) FROM t WHERE h = 1 GROUP BY g",
            "SELECT s._2, SUM(CAST(NULLIF(s._4, '') AS DECIMAL(10, 2))), COUNT(*) FROM S3Object s \
             WHERE CAST(NULLIF(s._3, '') AS INT) = 1 GROUP BY s._2",
            5,
        ),
        (
            "SELECT t, h, avg(x) FROM t GROUP BY t, h",
            "SELECT s._5, s._3, COUNT(NULLIF(s._4, '')), \
             SUM(CAST(NULLIF(s._4, '') AS DECIMAL(10, 2))) FROM S3Object s GROUP BY s._5, s._3",
            90,
        ),
        // The least text may be empty, so the answer is JSON.
        (
            "SELECT h, g, min(g) FROM t GROUP BY h, g",
            "SELECT CAST(NULLIF(s._3, '') AS INT) AS _1, NULLIF(s._2, '') AS _2, \
             MIN(NULLIF(s._2, '')) FROM S3Object s \
             GROUP BY CAST(NULLIF(s._3, '') AS INT), NULLIF(s._2, '')",
            15,
        ),
        (
            "SELECT k > 7, count(*) FROM t GROUP BY k > 7",
            "SELECT CAST(s._1 AS INT) > 7, COUNT(*) FROM S3Object s GROUP BY CAST(s._1 AS INT) > 7",
            2,
        ),
        ("SELECT DISTINCT h FROM t", "SELECT s._3 FROM S3Object s GROUP BY s._3", 3),
    ] {
        assert_eq!(statements(&engine, sql).await, [sent], "{sql}");
        let before = engine.counted();
        assert_eq!(rows(&engine, sql).await.len(), groups, "{sql}");
        let counted = engine.counted().since(&before);
        assert_eq!((counted.select, counted.get, counted.fallbacks), (1, 0, 0), "{sql}");
        assert_eq!(analyzed(&engine, sql).await, [groups as u64, 0, 0, 0], "{sql}");
    }
}

/// A group may arrive in several rows if the store keeps few groups at a time.
#[tokio::test(flavor = "multi_thread")]
async fn groups_that_come_in_parts_are_put_together() {
    let objects = [skewed(0, 120), skewed(120, 190)];
    for most in [1, 2, 7] {
        let (store, stock) = both_with(&objects, |server| server.max_groups(most)).await;
        let engine = engine(&store, StoreCapabilities::sluice()).await;
        force(&engine, "s3").await;
        for sql in QUERIES {
            let expected = stock_rows(&stock, sql).await.unwrap();
            assert_eq!(rows(&engine, sql).await, expected, "{sql}: {most}");
        }
        let sql = "SELECT g, count(*) FROM t GROUP BY g";
        let [pushed, left, _, repairs] = analyzed(&engine, sql).await;
        assert_eq!((left, repairs), (0, 0));
        // Each object has five groups, one of which has half of the rows.
        assert_eq!(pushed > 10, most < 5, "{pushed} with {most}");
        assert_eq!(engine.counted().fallbacks, 0);
    }
}

/// Partition values come from the object's name and are not in statements.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_keys_that_are_never_sent() {
    let store = Store::start().await;
    let stock = stock();
    for (place, from, to) in [
        ("y=2024/c=a", 0, 40),
        ("y=2024/c=b", 40, 41),
        ("y=2025/c=a", 50, 90),
        ("y=2026/c=c", 0, 0),
    ] {
        store.put(&format!("p/{place}/1.csv"), skewed(from, to));
    }
    let ddl = |location: &str| {
        format!(
            "CREATE EXTERNAL TABLE p {}, y INT, c VARCHAR) STORED AS CSV PARTITIONED BY (y, c)
             LOCATION '{location}' OPTIONS ('format.has_header' 'true')",
            COLUMNS.trim_end_matches(')')
        )
    };
    let local = store.folder.path().join(BUCKET).join("p");
    stock_rows(&stock, &ddl(&format!("{}/", local.display()))).await.unwrap();
    let engine = store.builder().scan(Scan::Auto).build().await.unwrap();
    rows(&engine, &ddl(&format!("s3://{BUCKET}/p/"))).await;
    for (sql, sent) in [
        ("SELECT c, g, sum(x), min(g) FROM p GROUP BY c, g", Some("GROUP BY NULLIF(s._2, '')")),
        ("SELECT y, h, count(*) FROM p WHERE c = 'a' GROUP BY y, h", Some("GROUP BY s._3")),
        ("SELECT y, c, avg(x), count(g) FROM p GROUP BY y, c", Some("COUNT(*) FROM S3Object s")),
        ("SELECT DISTINCT c FROM p", Some("SELECT COUNT(*) FROM S3Object s")),
        (
            "SELECT DISTINCT upper(c), y + 1, g FROM p",
            Some("SELECT s._2 FROM S3Object s GROUP BY s._2"),
        ),
        ("SELECT y + h, count(*) FROM p GROUP BY y + h", None),
    ] {
        let expected = stock_rows(&stock, sql).await.unwrap();
        for strategy in STRATEGIES {
            force(&engine, strategy).await;
            assert_eq!(rows(&engine, sql).await, expected, "{sql}: {strategy}");
        }
        force(&engine, "s3").await;
        let statements = statements(&engine, sql).await;
        assert!(statements.iter().all(|it| !it.contains("_6") && !it.contains("_7")));
        let pushed = statements.iter().any(|it| sent.is_some_and(|sent| it.contains(sent)));
        assert_eq!(pushed, sent.is_some(), "{sql}: {statements:?}");
    }
    assert_eq!(engine.counted().fallbacks, 0);
}

/// An answer that would take too much memory to buffer is not awaited.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_for_each_row_is_grouped_here() {
    let long = "x".repeat(50_000);
    let lines = (0..900).map(|k| format!("{k},{long}{k},1,2.5,2024-01-01\n"));
    let object = format!("k,g,h,x,t\n{}", lines.collect::<String>());
    let (store, _) = both(&[object]).await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    force(&engine, "s3").await;
    rows(&engine, "SET sluice.range_bytes = 1000000000").await;
    let sql = "SELECT count(*), sum(n) FROM (SELECT g, count(*) AS n FROM t GROUP BY g)";
    assert_eq!(rows(&engine, sql).await, ["\"900\" | \"900\""]);
    let [_, left, rows_left, repairs] = analyzed(&engine, sql).await;
    assert_eq!((left, rows_left, repairs), (900, 900, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_groups_are_computed_in_the_store() {
    let (store, _) = both(&[skewed(0, 1000)]).await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    force(&engine, "case").await;
    let sql = "SELECT g, sum(x) FROM t WHERE h = 1 GROUP BY g";
    let sent = statements(&engine, sql).await.join("; ");
    assert_eq!(
        sent,
        "SELECT s._2 FROM S3Object s WHERE CAST(NULLIF(s._3, '') AS INT) = 1 LIMIT 4096; \
         then of each group found (in_group stands for the condition that a row is in it) \
         SELECT COUNT(CASE WHEN in_group THEN 1 END), \
         SUM(CASE WHEN in_group THEN CAST(NULLIF(s._4, '') AS DECIMAL(10, 2)) END), COUNT(*) \
         FROM S3Object s WHERE CAST(NULLIF(s._3, '') AS INT) = 1"
    );
    let before = engine.counted();
    assert_eq!(rows(&engine, sql).await.len(), 5);
    let counted = engine.counted().since(&before);
    assert_eq!((counted.select, counted.get, counted.fallbacks), (2, 0, 0));
    assert_eq!(analyzed(&engine, sql).await, [5, 0, 0, 0]);

    // If a sample misses groups, another one is taken of the rest.
    sample(&engine, 1).await;
    let before = engine.counted();
    assert_eq!(rows(&engine, sql).await.len(), 5);
    assert_eq!(engine.counted().since(&before).fallbacks, 0);
    let [pushed, left, rows_left, repairs] = analyzed(&engine, sql).await;
    assert!(pushed + left == 5 && left > 0 && rows_left > 0 && repairs == 1);

    // Without aggregates, the groups are the whole answer.
    sample(&engine, 4096).await;
    let before = engine.counted();
    assert_eq!(rows(&engine, "SELECT DISTINCT g FROM t").await.len(), 5);
    assert_eq!(engine.counted().since(&before).select, 1);
    sample(&engine, 999).await;
    let before = engine.counted();
    assert_eq!(rows(&engine, "SELECT DISTINCT g FROM t").await.len(), 5);
    assert_eq!(engine.counted().since(&before).select, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_groups_are_computed_in_the_store_and_the_others_here() {
    let (store, stock) = both(&[skewed(0, 1000)]).await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    force(&engine, "hybrid").await;
    let sql = "SELECT k % 7 = 0, g, sum(x), count(*) FROM t GROUP BY k % 7 = 0, g";
    let sql = sql.replace("k % 7 = 0, ", "");
    let expected = stock_rows(&stock, &sql).await.unwrap();
    // The first EXPLAIN samples the new table.
    engine.explain(&sql).await.unwrap();
    let before = engine.counted();
    assert_eq!(rows(&engine, &sql).await, expected);
    let counted = engine.counted().since(&before);
    assert_eq!((counted.select, counted.get, counted.fallbacks), (3, 0, 0));
    let [pushed, left, rows_left, repairs] = analyzed(&engine, &sql).await;
    assert_eq!((pushed + left, repairs), (5, 0));
    assert!(pushed > 0 && rows_left <= 500, "{pushed} {rows_left}");
}

/// Too many groups for statements are aggregated locally.
#[tokio::test(flavor = "multi_thread")]
async fn many_groups_are_grouped_here() {
    let (store, stock) = both(&[skewed(0, 900)]).await;
    let engine = engine(&store, StoreCapabilities::sluice()).await;
    for strategy in ["case", "hybrid"] {
        force(&engine, strategy).await;
        for sql in [
            "SELECT k, count(*) FROM t GROUP BY k",
            "SELECT k % 400, g, min(k) FROM t GROUP BY 1, 2",
        ] {
            let expected = stock_rows(&stock, sql).await.unwrap();
            assert!(rows(&engine, sql).await == expected, "{sql}: {strategy}");
        }
        let sql = "SELECT k, count(*) FROM t GROUP BY k";
        let [pushed, left, rows_left, _] = analyzed(&engine, sql).await;
        assert_eq!((pushed + left, pushed + rows_left), (900, 900), "{strategy}");
    }
}

/// Statements that would be too long are split, and the counts of each are compared.
#[tokio::test(flavor = "multi_thread")]
async fn groups_are_shared_out_among_statements() {
    let (store, stock) = both(&[skewed(0, 2000)]).await;
    let profile = StoreCapabilities { max_expression_bytes: 2000, ..StoreCapabilities::sluice() };
    let engine = engine(&store, profile).await;
    force(&engine, "case").await;
    let sql = "SELECT t, count(*), sum(x), max(k) FROM t WHERE k < 150 GROUP BY t";
    let expected = stock_rows(&stock, sql).await.unwrap();
    assert!(expected.len() > 40);
    let before = engine.counted();
    assert_eq!(rows(&engine, sql).await, expected);
    let counted = engine.counted().since(&before);
    assert!(counted.select > 8 && counted.fallbacks == 0, "{counted:?}");
    let pushed = expected.len() as u64;
    assert_eq!(analyzed(&engine, sql).await, [pushed, 0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn left_to_itself_it_groups_here_what_is_hardly_fewer() {
    let (store, stock) = both(&[skewed(0, 200_000)]).await;
    let engine = store.builder().scan(Scan::Select).build().await.unwrap();
    // Statistics would decide this before the query runs.
    rows(&engine, "SET datafusion.execution.collect_statistics = false").await;
    rows(&engine, &ddl(&format!("s3://{BUCKET}/t/"))).await;
    sample(&engine, 500).await;
    for (sql, in_store) in [
        ("SELECT g, sum(x) FROM t GROUP BY g", true),
        ("SELECT k, sum(x) FROM t GROUP BY k", false),
        ("SELECT k + 1, h, sum(x) FROM t GROUP BY k + 1, h", false),
    ] {
        let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
        assert!(text.contains("S3GroupByExec") && text.contains("sample_rows=500"), "{text}");
        let [pushed, left, ..] = analyzed(&engine, sql).await;
        assert_eq!((pushed > 0, left > 0), (in_store, !in_store), "{sql}: {text}");
        assert_eq!(rows(&engine, sql).await, stock_rows(&stock, sql).await.unwrap(), "{sql}");
    }
    // A forced strategy is not reconsidered.
    force(&engine, "s3").await;
    let [pushed, left, ..] = analyzed(&engine, "SELECT k, sum(x) FROM t GROUP BY k").await;
    assert!(pushed > 0 && left == 0, "{pushed} groups in the store, {left} here");
    force(&engine, "auto").await;
    rows(&engine, "SET datafusion.execution.collect_statistics = true").await;
    let text = rows(&engine, "EXPLAIN SELECT k, sum(x) FROM t GROUP BY k").await.join("\n");
    assert!(!text.contains("S3GroupByExec"), "{text}");
    let text = rows(&engine, "EXPLAIN SELECT g, sum(x) FROM t GROUP BY g").await.join("\n");
    assert!(text.contains("S3GroupByExec"), "{text}");
}

/// Statistics show that there are few groups. The first rows of a sorted table do not show it.
#[tokio::test(flavor = "multi_thread")]
async fn no_sample_is_taken_of_groups_that_are_known_to_be_few() {
    let store = Store::start().await;
    let line = |k: u64| format!("{k},{},{},{}\n", k * 7919 % 5, k / 25_000, "x".repeat(40));
    store.put("t/0.csv", (0..100_000).map(line).collect::<String>());
    let line = |k: u64| format!("{k},{},{},{}\n", k * 7919 % 50, k / 25_000, "x".repeat(40));
    for part in 0..4 {
        let lines: String = (part * 25_000..(part + 1) * 25_000).map(line).collect();
        store.put(&format!("parts/{part}.csv"), lines);
    }
    let engine = store.builder().scan(Scan::Select).build().await.unwrap();
    for table in ["t", "parts"] {
        let ddl = format!(
            "CREATE EXTERNAL TABLE {table} (k INT, mixed INT, sorted INT, pad VARCHAR) STORED AS \
             CSV LOCATION 's3://{BUCKET}/{table}/' OPTIONS ('format.has_header' 'false')"
        );
        rows(&engine, &ddl).await;
    }
    sample(&engine, 500).await;
    let samples_of = async |table: &str, column: &str| {
        let sql = format!("SELECT {column}, count(pad), max(pad) FROM {table} GROUP BY {column}");
        let text = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
        assert!(text.contains("S3GroupByExec") && text.contains("sample_rows="), "{text}");
        !text.contains("sample_rows=0,")
    };
    // One object alone does not repeat its values often enough; all objects together do.
    assert!(!samples_of("parts", "mixed").await);
    assert!(samples_of("parts", "sorted").await);
    let samples = async |column: &str| samples_of("t", column).await;
    assert!(!samples("mixed").await);
    assert!(samples("sorted").await);
    assert!(samples("mixed, sorted").await);
    rows(&engine, "ANALYZE TABLE t").await;
    assert!(!samples("sorted").await && !samples("mixed, sorted").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_of_groups_may_have_nan_for_a_key() {
    let store = Store::start().await;
    let text: String = (0..60)
        .map(|k| if k % 3 == 0 { format!("{k},NaN\n") } else { format!("{k},{}.5\n", k % 7) })
        .collect();
    store.put("t/0.csv", format!("k,f\n{text}"));
    for scan in [Scan::Get, Scan::Select] {
        let engine = store.builder().scan(scan).build().await.unwrap();
        rows(
            &engine,
            &format!(
                "CREATE EXTERNAL TABLE t (k BIGINT, f DOUBLE) STORED AS CSV
                 LOCATION 's3://{BUCKET}/t/' OPTIONS ('format.has_header' 'true')"
            ),
        )
        .await;
        let sql = "SELECT max(k) AS z FROM t GROUP BY f ORDER BY z DESC LIMIT 3";
        assert_eq!(rows(&engine, sql).await, ["\"57\"", "\"58\"", "\"59\""]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forcing_what_cannot_be_had_says_why() {
    let (store, _) = both(&[skewed(0, 50)]).await;
    let unmet = async |profile: StoreCapabilities, strategy: &str, sql: &str| {
        let engine = engine(&store, profile).await;
        force(&engine, strategy).await;
        let warnings: Vec<_> = engine.explain(sql).await.unwrap().warnings().collect();
        let [warning] = warnings.as_slice() else { panic!("{sql}: {warnings:?}") };
        warning.clone()
    };
    let sluice = StoreCapabilities::sluice;
    let plain = "SELECT g, sum(x) FROM t GROUP BY g";
    let backwards = "SELECT reverse(g), sum(x) FROM t GROUP BY reverse(g)";
    for (profile, strategy, sql, why) in [
        (StoreCapabilities::get_only(), "s3", plain, "the store has no S3 Select"),
        // In a store without GROUP BY, the reason is the one that rules out 'case'.
        (StoreCapabilities::minio(), "s3", plain, "sum(x) is not known to be exact"),
        (StoreCapabilities::aws(), "hybrid", plain, "in a store of profile `aws`"),
        (sluice(), "s3", backwards, "are not known to be told apart"),
        (sluice(), "case", backwards, "the values of reverse(g) are not known to be told apart"),
        (
            StoreCapabilities::aws(),
            "s3",
            "SELECT DISTINCT x FROM t",
            "the values of x are not known",
        ),
        (sluice(), "hybrid", "SELECT DISTINCT g FROM t", "DISTINCT computes nothing"),
        (
            sluice(),
            "s3",
            "SELECT g, stddev(k) FROM t GROUP BY g",
            "stddev(CAST(k AS DOUBLE)) is not known to be exact",
        ),
        (
            sluice(),
            "s3",
            "SELECT g, count(*) FROM t WHERE reverse(g) = 'a' GROUP BY g",
            "filter reverse(g) = 'a' is evaluated here: S3 Select has no",
        ),
        (
            sluice(),
            "s3",
            "SELECT g, count(*) FROM t GROUP BY ROLLUP (g)",
            "there are several grouping sets",
        ),
    ] {
        let said = Box::pin(unmet(profile, strategy, sql)).await;
        let start = format!("sluice.group_by = '{strategy}' is not followed: ");
        assert!(said.contains(&start) && said.contains(why), "{sql}: {said}");
    }
    // A setting that cannot be followed leaves the other settings unchanged, and EXPLAIN agrees with the run.
    let aws = engine(&store, StoreCapabilities::aws()).await;
    rows(&aws, "SET sluice.scan = 'select'").await;
    force(&aws, "s3").await;
    let explained = aws.explain(plain).await.unwrap();
    let [group_by] = explained.decisions.as_slice() else { panic!("{explained}") };
    assert_eq!(group_by.strategy(), Some("filtered"), "{explained}");
    let said = explained.to_string();
    assert!(said.contains("(profile `aws`): 's3' groups as 'case' does"), "{said}");
    let engine = engine(&store, sluice()).await;
    for strategy in STRATEGIES {
        force(&engine, strategy).await;
        let explained = engine.explain(plain).await.unwrap();
        assert_eq!(explained.warnings().count(), 0, "{strategy}");
        let [group_by] = explained.decisions.as_slice() else { panic!("{explained}") };
        assert_eq!(group_by.operator, "group_by");
        assert!(["auto", group_by.strategy().unwrap()].contains(&strategy), "{explained}");
        assert_eq!(group_by.ways.len(), 5);
    }
    assert!(engine.query("SET sluice.group_by = 'store'").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_22_queries_group_alike_in_every_way() {
    let store = Store::start().await;
    let local = LocalFileSystem::new_with_prefix(store.folder.path().join(BUCKET)).unwrap();
    let local = Arc::new(local);
    let mut grid = Grid::every(3, "each query of TPC-H with each strategy of GROUP BY");
    for format in [Format::csv(), Format::parquet()] {
        let data = tpch::data(&format, 2, 0.01);
        generate(&data, local.as_ref(), &|_| ()).await.unwrap();
        let engine = store.engine(Scan::Auto).await;
        tpch::register(&engine, BUCKET, &data).await;
        for number in 1..=22 {
            let sql = query(number).unwrap();
            force(&engine, "server").await;
            let expected = rows(&engine, sql).await;
            for (strategy, count) in
                [("s3", 4096), ("case", 4096), ("case", 16), ("hybrid", 4096), ("auto", 4096)]
            {
                if !grid.takes() {
                    continue;
                }
                force(&engine, strategy).await;
                sample(&engine, count).await;
                let actual = rows(&engine, sql).await;
                assert_eq!(actual, expected, "query {number}: {strategy}, {count}");
            }
        }
        assert_eq!(engine.counted().fallbacks, 0);
    }
}
