//! Keys that are too many for one statement: each part of a file gets its own keys, in any order of the table, and
//! the rows equal those of DataFusion.

mod formats;

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_plan::{ExecutionPlan, collect};
use object_store::local::LocalFileSystem;
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_engine::internals::s3_scan::as_select_scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};
use sluicegate_workloads::tpch::{self, generate};

use super::pushed_keys::keys;
use crate::harness::{BUCKET, Store, rows, without_bloom_contains};
use crate::tpch::{data, register};

/// The orders of a table's keys.
#[derive(Debug, Clone, Copy)]
enum Order {
    Ascending,
    Descending,
    /// Ascending, with some rows at wrong places.
    Nearly,
    /// Two ascending runs, one after the other.
    Twice,
    /// Ascending where samples are likely to be taken, and random between.
    Lying,
    None,
}

/// Returns the keys of a table with so many rows, `step` apart.
fn arranged(order: Order, rows: i64, from: i64, step: i64, seed: u64) -> Vec<i64> {
    let mut keys: Vec<i64> = (0..rows).map(|n| from + n * step).collect();
    let mut state = seed | 1;
    let mut random = |end: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end.max(1)
    };
    let len = keys.len();
    match order {
        Order::Ascending => {}
        Order::Descending => keys.reverse(),
        Order::Nearly => {
            for _ in 0..len / 20 {
                let (one, other) = (random(len), random(len));
                keys.swap(one, other);
            }
        }
        Order::Twice => {
            let (even, odd): (Vec<_>, Vec<_>) =
                keys.chunks(2).map(|two| (two[0], two.get(1))).unzip();
            keys = even.into_iter().chain(odd.into_iter().flatten().copied()).collect();
        }
        Order::Lying => {
            // Rows that are not near the borders of sixteenths are swapped with each other.
            let chunk = (len / 16).max(1);
            let near = |at: usize| at % chunk < chunk / 4 || at % chunk > chunk - chunk / 4;
            let inner: Vec<usize> = (0..len).filter(|at| !near(*at)).collect();
            for at in &inner {
                keys.swap(*at, inner[random(inner.len())]);
            }
        }
        Order::None => {
            for at in 0..len {
                keys.swap(at, random(len));
            }
        }
    }
    keys
}

/// Creates `p` with each of 0, 1, … once, in some order, and `b` with some of them, half of which are wanted.
async fn tables(order: Order, rows_of_p: i64, every: i64) -> Store {
    let store = Store::start().await;
    let b = (0..rows_of_p / every).map(|n| format!("{},{}\n", n * every, n % 2));
    let b: String = b.collect();
    let p = arranged(order, rows_of_p, 0, 1, 5);
    let p: String = p.into_iter().map(|k| format!("{k},value-{k}\n")).collect();
    store.put("b/b.csv", format!("k,w\n{b}"));
    store.put("p/p.csv", format!("k,v\n{p}"));
    store
}

const SQL: &str = "SELECT count(p.v) FROM b JOIN p ON b.k = p.k WHERE b.w = 1";

async fn engine(store: &Store, bytes: usize, range_bytes: usize) -> Engine {
    let profile = StoreCapabilities { max_expression_bytes: bytes, ..without_bloom_contains() };
    let engine = store.builder().scan(Scan::Select).profile(profile).build().await.unwrap();
    for (table, columns) in [("b", "k BIGINT, w INT"), ("p", "k BIGINT, v VARCHAR")] {
        let ddl = format!(
            "CREATE EXTERNAL TABLE {table} ({columns}) STORED AS CSV \
             LOCATION 's3://{BUCKET}/{table}/' OPTIONS ('format.has_header' 'true')"
        );
        rows(&engine, &ddl).await;
    }
    rows(&engine, &format!("SET sluice.range_bytes = {range_bytes}")).await;
    // Otherwise parts of so small a table would hardly be worth a sample.
    rows(&engine, "SET sluice.select_partitions = 2").await;
    rows(&engine, "SET sluice.join = 'bloom'").await;
    engine
}

/// Returns the bytes that a statement returns under a strategy.
async fn returned(engine: &Engine, strategy: &str, count: &str) -> u64 {
    rows(engine, &format!("SET sluice.join = '{strategy}'")).await;
    let before = engine.counted();
    assert_eq!(rows(engine, SQL).await, [format!("\"{count}\"")], "{strategy}");
    let counted = engine.counted().since(&before);
    assert_eq!(counted.fallbacks, 0, "{strategy}");
    counted.returned_bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_too_many_for_a_statement_are_few_enough_for_parts() {
    for order in [Order::Ascending, Order::Descending] {
        let store = tables(order, 40_000, 10).await;
        let engine = engine(&store, 4_096, 16_384).await;
        let said = keys(&engine, SQL).await;
        assert!(said.starts_with("by part on k (2000 keys); "), "{said}");
        let (own, all) = said
            .split_once("; ")
            .unwrap()
            .1
            .split_once(" parts")
            .unwrap()
            .0
            .split_once(" of ")
            .unwrap();
        assert!(own == all && own.parse::<usize>().unwrap() >= 8, "{said}");
        let bloom = returned(&engine, "bloom", "2000").await;
        let auto = returned(&engine, "auto", "2000").await;
        let filtered = returned(&engine, "filtered", "2000").await;
        // `auto` skips requests that do not save much time.
        assert!(12 * bloom < filtered && auto < filtered, "{bloom}, {auto} and {filtered}");
    }
}

/// EXPLAIN ANALYZE shows the statements of parts next to their samples, shortened; VERBOSE shows them completely.
#[tokio::test(flavor = "multi_thread")]
async fn what_parts_are_asked_is_shown() {
    let store = tables(Order::Ascending, 40_000, 10).await;
    let engine = engine(&store, 4_096, 16_384).await;
    let sent = |text: Vec<String>| {
        let text = text.join("\n");
        let of_keys = text.lines().find(|line| line.contains("keys=by part"));
        of_keys.map(ToOwned::to_owned).unwrap_or_else(|| panic!("no keys in {text}"))
    };
    let short = sent(rows(&engine, &format!("EXPLAIN ANALYZE {SQL}")).await);
    assert!(short.contains("sent=SELECT s._1 FROM S3Object s;"), "{short}");
    assert!(short.contains(" IN (") && short.contains(" more characters)"), "{short}");
    let whole = sent(rows(&engine, &format!("EXPLAIN ANALYZE VERBOSE {SQL}")).await);
    assert!(whole.contains(" IN (") && !whole.contains(" more char"), "{whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_in_no_order_is_asked_as_a_whole() {
    let store = tables(Order::None, 40_000, 10).await;
    let engine = engine(&store, 4_096, 16_384).await;
    let said = keys(&engine, SQL).await;
    assert!(said.contains("; 0 of 2 parts with keys of their own"), "{said}");
    rows(&engine, "SET sluice.join = 'bloom'").await;
    let before = engine.counted();
    assert_eq!(rows(&engine, SQL).await, ["\"2000\""]);
    let counted = engine.counted().since(&before);
    // The statements of both tables, and a few samples.
    assert!(counted.select < 40, "{counted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_where_no_look_expects_them_are_found() {
    for order in [Order::Nearly, Order::Twice, Order::Lying] {
        let store = tables(order, 40_000, 10).await;
        let engine = engine(&store, 4_096, 16_384).await;
        let bloom = returned(&engine, "bloom", "2000").await;
        let filtered = returned(&engine, "filtered", "2000").await;
        assert!(bloom <= filtered, "{order:?}: {bloom} and {filtered}");
    }
}

/// There are more keys than fit in any statement, and than DataFusion's default limit.
#[tokio::test(flavor = "multi_thread")]
async fn parts_have_room_for_more_keys_than_any_statement() {
    let store = tables(Order::Ascending, 1_200_000, 4).await;
    let engine = engine(&store, 256 * 1024, 1 << 20).await;
    let said = keys(&engine, SQL).await;
    assert!(said.starts_with("by part on k (150000 keys); "), "{said}");
    let bloom = returned(&engine, "bloom", "150000").await;
    let filtered = returned(&engine, "filtered", "150000").await;
    assert!(5 * bloom < filtered, "{bloom} and {filtered}");
}

/// There are more keys than DataFusion's join lists, in each of its partitions.
#[tokio::test(flavor = "multi_thread")]
async fn parts_have_room_for_more_keys_than_the_join_lists() {
    let store = tables(Order::Ascending, 1_300_000, 2).await;
    let engine = engine(&store, 256 * 1024, 1 << 20).await;
    let listed = "datafusion.optimizer.hash_join_inlist_pushdown_max_distinct_values";
    rows(&engine, &format!("SET {listed} = 10000")).await;
    let bloom = returned(&engine, "bloom", "325000").await;
    let filtered = returned(&engine, "filtered", "325000").await;
    assert!(3 * bloom < 2 * filtered, "{bloom} and {filtered}");
    rows(&engine, "SET sluice.join_keys = 300000").await;
    let bounds = returned(&engine, "bloom", "325000").await;
    assert!(3 * bloom < 2 * bounds, "{bloom} and {bounds}");
}

/// A fault of any request, a sample or a part, does not change the rows.
#[tokio::test(flavor = "multi_thread")]
async fn parts_survive_refusals_and_breaks() {
    let store = tables(Order::Ascending, 20_000, 10).await;
    let refused = |records, code: &str| Fault::ErrorFrame { records, code: code.to_owned() };
    for fault in [
        Fault::SlowDown,
        Fault::CutBeforeRecords(0),
        Fault::CutAfterRecords(1),
        Fault::CutInRecords(0),
        Fault::MissingEnd,
        refused(0, "UnsupportedSyntax"),
        refused(1, "CastFailed"),
    ] {
        let engine = engine(&store, 4_096, 16_384).await;
        for nth in [1, 2, 4, 8, 13] {
            let rule = Rule::new(Operation::SelectObjectContent, fault.clone());
            store.faults.inject(rule.key("p/p.csv").nth(nth).times(2));
            assert_eq!(rows(&engine, SQL).await, ["\"1000\""], "{fault:?}");
            store.faults.clear();
        }
    }
}

/// A CSV file with quoted line breaks that its table does not declare is not divided.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_plan_did_not_divide_is_not_divided() {
    let store = Store::start().await;
    let b: String = (0..2_000).map(|n| format!("{},{}\n", n * 10, n % 2)).collect();
    let p: String = (0..20_000).map(|k| format!("{k},\"value\n{k},{k}\"\n")).collect();
    store.put("b/b.csv", format!("k,w\n{b}"));
    store.put("p/p.csv", format!("k,v\n{p}"));
    let engine = engine(&store, 4_096, 16_384).await;
    rows(&engine, "SET datafusion.optimizer.repartition_file_scans = false").await;
    let said = keys(&engine, SQL).await;
    assert!(said.contains(" of 1 parts with keys of their own"), "{said}");
    assert_eq!(rows(&engine, SQL).await, ["\"1000\""]);
}

/// TPC-H's query 3, with a limit of statements and a range size that are as small relative to the data as at scale
/// factor 1: 147,126 orders, of which a Bloom filter of 256 KiB holds a fifth.
#[tokio::test(flavor = "multi_thread")]
async fn the_orders_of_query_3_reach_lineitem() {
    const SCALE: f64 = 0.05;
    let store = Store::start().await;
    let tables = data(&tpch::Format::csv(), 1, SCALE);
    let bucket = LocalFileSystem::new_with_prefix(store.folder.path().join(BUCKET)).unwrap();
    generate(&tables, &bucket, &|_| ()).await.unwrap();
    let whole = without_bloom_contains();
    let bytes = whole.max_expression_bytes as f64 * SCALE;
    let profile = StoreCapabilities { max_expression_bytes: bytes as usize, ..whole };
    let mut returned = Vec::new();
    for strategy in ["filtered", "bloom", "auto"] {
        let builder = store.builder().scan(Scan::Select).profile(profile.clone());
        let engine = builder.build().await.unwrap();
        register(&engine, BUCKET, &tables).await;
        rows(&engine, &format!("SET sluice.join = '{strategy}'")).await;
        rows(&engine, &format!("SET sluice.range_bytes = {}", (16 << 20) / 20)).await;
        let frame = engine.query(tpch::query(3).unwrap()).await.unwrap();
        let context = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.unwrap();
        collect(Arc::clone(&plan), context).await.unwrap();
        returned.push(returned_of(&plan, "l_orderkey"));
    }
    assert!(5 * returned[1] < returned[0] && 5 * returned[2] < returned[0], "{returned:?}");
}

/// Returns the bytes that the scan of the table with this column returned.
fn returned_of(plan: &Arc<dyn ExecutionPlan>, column: &str) -> usize {
    let mut returned = 0;
    plan.apply(|node| {
        if let Some((_, source)) = as_select_scan(node.as_ref())
            && source.file_schema().index_of(column).is_ok()
        {
            let metrics = source.metrics_set().clone_inner();
            returned += metrics.sum_by_name("bytes_returned").map_or(0, |sum| sum.as_usize());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    returned
}
