//! Adaptive scans, planned for a faster link than the real one: they begin with GET and switch to Select at run time.
//! The tests compare counts, not times.

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_plan::{ExecutionPlan, collect};
use sluicegate_costmodel::{BytesPerSecond, HardwareProfile};
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;

use crate::codec::comes_back;
use crate::harness::{BUCKET, Store, rows, stock, stock_rows, text};

const OBJECTS: usize = 12;
const OPTIONS: &str = "OPTIONS ('format.has_header' 'true')";

/// Queries that read all files of a table with many files.
const STATEMENTS: [&str; 4] = [
    "SELECT v FROM t WHERE k = 77",
    "SELECT k FROM t WHERE k < 20 ORDER BY k DESC",
    "SELECT v, count(*) FROM t WHERE k < 9 AND v <> 'b' GROUP BY v",
    "SELECT t.k, s.v FROM t JOIN s ON t.k = s.k WHERE t.k < 9 AND s.v <> 'b'",
];

/// Starts a store with a table of twelve files of a quarter of a megabyte, and a small table.
async fn store(link_rate: Option<u64>) -> Store {
    let store = Store::start_with(|server| server.link_rate(link_rate)).await;
    for object in 0..OBJECTS {
        let mut file = "k,v,padding\n".to_owned();
        for row in 0..1500 {
            let k = (row * OBJECTS + object) % 1000;
            let v = ["a", "b", "\"c, d\"", ""][k % 4];
            file += &format!("{k},{v},{}\n", "x".repeat(160));
        }
        store.put(&format!("t/{object}.csv"), file);
    }
    store.put("s/0.csv", "k,v\n1,a\n5,b\n8,c\n77,d\n");
    store
}

fn tables(place: &str) -> [String; 2] {
    [("t", "k BIGINT, v VARCHAR, padding VARCHAR"), ("s", "k BIGINT, v VARCHAR")].map(
        |(name, columns)| {
            format!(
                "CREATE EXTERNAL TABLE {name} ({columns}) STORED AS CSV LOCATION \
                 '{place}/{name}/' {OPTIONS}"
            )
        },
    )
}

async fn engine(store: &Store, hardware: HardwareProfile, scan: Scan) -> Engine {
    let engine = store.builder().hardware(hardware).scan(scan).build().await.unwrap();
    for table in tables(&format!("s3://{BUCKET}")) {
        rows(&engine, &table).await;
    }
    // Aggregates are computed locally, because only scans matter here.
    rows(&engine, "SET sluice.aggregate = 'here'").await;
    engine
}

/// Returns a profile with a link of 10 Gbit/s, and a store whose statements have a higher latency than its GETs.
fn thought_fast() -> HardwareProfile {
    let mut hardware = HardwareProfile::by_name("aws-in-region").unwrap().clone();
    // With equal numbers of request waves, a statement is clearly slower.
    hardware.select.latency += Duration::from_millis(40);
    hardware
}

/// Returns a profile with a slow link on which GET is still better, because the store scans even more slowly.
fn thought_slow() -> HardwareProfile {
    let mut hardware = thought_fast();
    hardware.link.bytes_per_second = BytesPerSecond(4e6);
    hardware.select.csv_bytes_per_second = BytesPerSecond(2e6);
    hardware.select.cores = 1.0;
    hardware
}

/// Sums a metric over all nodes.
fn sum(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    let mut sum = 0;
    plan.apply(|node| {
        let metrics = node.metrics();
        sum += metrics.and_then(|it| it.sum_by_name(name)).map_or(0, |it| it.as_usize());
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    sum
}

/// Runs a statement and compares its answer with DataFusion's. Returns the numbers of files, or ranges of files, that
/// were opened by GET and by Select.
async fn opened(store: &Store, engine: &Engine, sql: &str) -> (usize, usize) {
    let stock = stock();
    for table in tables(&store.folder.path().join(BUCKET).display().to_string()) {
        stock.sql(&table).await.unwrap();
    }
    let query = engine.query(sql).await.unwrap();
    let context = Arc::new(query.task_ctx());
    let plan = query.create_physical_plan().await.unwrap();
    comes_back(&plan, &context, sql);
    let found = collect(Arc::clone(&plan), context).await.unwrap();
    assert_eq!(text(&found), stock_rows(&stock, sql).await.unwrap(), "{sql}");
    assert_eq!(sum(&plan, "select_requests"), sum(&plan, "opened_by_select"), "{sql}");
    (sum(&plan, "opened_by_get"), sum(&plan, "opened_by_select"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_turns_to_select_on_a_link_that_is_slower_than_thought() {
    let store = store(Some(1_000_000)).await;
    let engine = engine(&store, thought_fast(), Scan::Auto).await;
    for sql in STATEMENTS {
        let (got, selected) = opened(&store, &engine, sql).await;
        assert!(got >= 1 && selected >= OBJECTS / 2, "{sql}: {got}, {selected}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_said_that_a_scan_may_turn_and_that_it_did() {
    let store = store(Some(1_000_000)).await;
    let engine = engine(&store, thought_fast(), Scan::Auto).await;
    let sql = STATEMENTS[0];
    let explained = rows(&engine, &format!("EXPLAIN {sql}")).await.join("\n");
    for said in [
        "begins with GET, and may turn to select at run time if the link gives clearly less than",
        "or_select_at_run_time=SELECT",
    ] {
        assert_eq!(explained.matches(said).count(), 1, "{explained}");
    }
    let analyzed = rows(&engine, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    for said in ["link=", "/s, not 1.08 GiB/s: select for the last "] {
        assert!(analyzed.contains(said), "{said}: {analyzed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_does_not_turn_on_a_link_that_gives_what_was_thought() {
    let store = store(None).await;
    let engine = engine(&store, thought_slow(), Scan::Auto).await;
    for sql in STATEMENTS {
        let (got, selected) = opened(&store, &engine, sql).await;
        assert!(got >= OBJECTS && selected == 0, "{sql}: {got}, {selected}");
    }
}

/// If nothing is decided at run time, the plan has DataFusion's scan.
#[tokio::test(flavor = "multi_thread")]
async fn only_scans_of_many_files_that_nobody_forces_keep_select_open() {
    let store = store(None).await;
    let one = format!("SELECT v FROM 's3://{BUCKET}/t/1.csv' WHERE k = 7");
    let auto = engine(&store, thought_fast(), Scan::Auto).await;
    let forced = engine(&store, thought_fast(), Scan::Get).await;
    for (engine, sql, is_open) in [
        (&auto, STATEMENTS[0], true),
        (&auto, "SELECT v FROM t LIMIT 3", false),
        (&auto, "SELECT v FROM s WHERE k = 5", false),
        (&auto, one.as_str(), false),
        (&forced, STATEMENTS[0], false),
    ] {
        let explained = rows(engine, &format!("EXPLAIN {sql}")).await.join("\n");
        assert_eq!(explained.contains("or_select_at_run_time="), is_open, "{sql}: {explained}");
        assert_eq!(explained.contains("may turn to select"), is_open, "{sql}: {explained}");
    }
}
