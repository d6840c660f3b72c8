//! The 22 queries of TPC-H with all strategies forced at once, over stores that lack features and while requests
//! fail: the answers equal DataFusion's.

use object_store::local::LocalFileSystem;
use sluicegate_engine::Engine;
use sluicegate_engine::config::Scan;
use sluicegate_s3select::capabilities::StoreCapabilities;
use sluicegate_server::{Fault, Operation, Rule};
use sluicegate_workloads::tpch::{Format, Generate, generate};

use crate::harness::{BUCKET, Grid, Store, rows};
use crate::tpch::{answer_of, compare, data, oracle, register};

const SCALE: f64 = 0.005;

/// Strategies of joins, top-K and GROUP BY that are forced together.
const FORCED: [(&str, &str, &str); 4] = [
    ("bloom", "sampling", "s3"),
    ("bloom", "late", "hybrid"),
    ("filtered", "late", "s3"),
    ("auto", "auto", "auto"),
];

/// Returns profiles that each lack a feature of our server.
fn lacking() -> Vec<(&'static str, StoreCapabilities)> {
    let without = |change: fn(&mut StoreCapabilities)| {
        let mut profile = StoreCapabilities::sluice();
        change(&mut profile);
        profile
    };
    vec![
        ("all", StoreCapabilities::sluice()),
        ("aws", StoreCapabilities::aws()),
        ("minio", StoreCapabilities::minio()),
        ("no Select", StoreCapabilities::get_only()),
        ("no GROUP BY", without(|it| it.syntax.group_by = false)),
        ("no CASE", without(|it| it.syntax.case = false)),
        ("no SUBSTRING", without(|it| it.syntax.substring = false)),
        ("no NOT IN", without(|it| it.syntax.not_in = false)),
        ("no arithmetic", without(|it| it.syntax.arithmetic = false)),
        ("no aggregates", without(|it| it.syntax.aggregates = false)),
        ("no ScanRange", without(|it| it.scan_ranges = false)),
        ("short statements", without(|it| it.max_expression_bytes = 700)),
    ]
}

async fn engine(
    store: &Store,
    profile: &StoreCapabilities,
    tables: &Generate,
    (join, top_k, group_by): (&str, &str, &str),
) -> Engine {
    let engine = store.builder().profile(profile.clone()).scan(Scan::Select).build().await.unwrap();
    register(&engine, BUCKET, tables).await;
    for set in [
        format!("SET sluice.join = '{join}'"),
        format!("SET sluice.top_k = '{top_k}'"),
        format!("SET sluice.group_by = '{group_by}'"),
        // A small range size, so that objects are split.
        "SET sluice.range_bytes = 1000000".to_owned(),
    ] {
        rows(&engine, &set).await;
    }
    engine
}

async fn check(format: Format, objects: usize) {
    let mut grid = Grid::every(7, "every query with each strategy over each store");
    let store = Store::start().await;
    let bucket = LocalFileSystem::new_with_prefix(store.folder.path().join(BUCKET)).unwrap();
    let numbers: Vec<usize> = (1..=22).collect();
    let expected = Box::pin(oracle(SCALE, &numbers, &[Format::csv()])).await;
    let tables = data(&format, objects, SCALE);
    generate(&tables, &bucket, &|_| ()).await.unwrap();
    for (name, profile) in lacking() {
        // The first strategies run over each store, and the others in turn.
        let others = FORCED.len() - 1;
        let other = 1 + name.len() % others;
        for forced in [FORCED[0], FORCED[other]] {
            let engine = engine(&store, &profile, &tables, forced).await;
            for (number, expected) in numbers.iter().zip(&expected) {
                if grid.takes() {
                    let way = format!("{name}, {forced:?}, {format:?}");
                    compare(*number, &answer_of(&engine, *number).await, expected, &way);
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tpch_is_right_whatever_is_forced_on_whichever_store_of_csv() {
    Box::pin(check(Format::csv(), 2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tpch_is_right_whatever_is_forced_on_whichever_store_of_parquet() {
    Box::pin(check(Format::parquet(), 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tpch_is_right_whichever_statement_fails() {
    let mut grid = Grid::every(3, "every query with a fault in each of its statements");
    let store = Store::start().await;
    let bucket = LocalFileSystem::new_with_prefix(store.folder.path().join(BUCKET)).unwrap();
    let numbers: Vec<usize> = (1..=22).collect();
    let expected = Box::pin(oracle(SCALE, &numbers, &[Format::csv()])).await;
    let tables = data(&Format::csv(), 2, SCALE);
    generate(&tables, &bucket, &|_| ()).await.unwrap();
    let frame = |records, code: &str| Fault::ErrorFrame { records, code: code.to_owned() };
    let faults = [
        Fault::SlowDown,
        Fault::Cut,
        Fault::CutBeforeRecords(0),
        Fault::CutInRecords(0),
        Fault::MissingEnd,
        Fault::WrongCrc(0),
        frame(0, "InternalError"),
        frame(0, "CastFailed"),
        frame(1, "CastFailed"),
        frame(0, "OverMaxRecordSize"),
    ];
    let (mut struck, mut tried, mut at) = (0, 0, 0);
    for forced in FORCED {
        let engine = engine(&store, &StoreCapabilities::sluice(), &tables, forced).await;
        for (number, expected) in numbers.iter().zip(&expected) {
            // Each query gets faults at different statements.
            for nth in [1, 2, 4, 7] {
                at += 1;
                if !grid.takes() {
                    continue;
                }
                tried += 1;
                let fault = faults[at % faults.len()].clone();
                store.faults.clear();
                let before = store.faults.struck();
                let rule = Rule::new(Operation::SelectObjectContent, fault.clone()).nth(nth);
                store.faults.inject(rule);
                let way = format!("{forced:?}, {fault:?} of statement {nth}");
                compare(*number, &answer_of(&engine, *number).await, expected, &way);
                struck += store.faults.struck() - before;
            }
        }
    }
    assert!(4 * struck > tried, "only {struck} of {tried} faults struck");
}
