//! The ten items of PushdownDB's Figure 10 return the same rows under every strategy that can be forced.

use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::execution::object_store::ObjectStoreUrl;
use object_store::local::LocalFileSystem;
use sluicegate_workloads::pushdowndb::{self, ITEMS, TPCH_TABLES};
use sluicegate_workloads::{DataTable, Generate, generate, tpch};

use crate::harness::{Store, TestStore, rows, stock, stock_rows};

#[path = "../../benches/figure_10/strategies.rs"]
mod strategies;

use strategies::{AUTO, OFF, forced, statements};

fn tables(scale: f64) -> tpch::Generate {
    Generate {
        scale,
        tables: TPCH_TABLES.to_vec(),
        objects_per_table: NonZeroUsize::new(2).unwrap(),
        ..Generate::default()
    }
}

fn skewed(scale: f64) -> pushdowndb::Generate {
    Generate {
        scale,
        tables: vec![pushdowndb::Table::Skewed],
        objects_per_table: NonZeroUsize::new(2).unwrap(),
        ..Generate::default()
    }
}

fn definitions<T: DataTable>(request: &Generate<T>, root: &str) -> Vec<String> {
    let define = |table: &T| {
        let location = format!("{root}/{}/", request.folder(*table));
        table.create_external_table(&request.format, &location)
    };
    request.tables.iter().map(define).collect()
}

/// Runs each item in all ways; returns its name, its statements and its fallbacks.
pub(crate) async fn check_items(
    place: &dyn TestStore,
    scale: f64,
) -> Vec<(&'static str, u64, u64)> {
    let (tables, skewed) = (tables(scale), skewed(scale));
    let folder = tempfile::tempdir().unwrap();
    let local = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
    generate(&tables, local.as_ref(), &|_| ()).await.unwrap();
    generate(&skewed, local.as_ref(), &|_| ()).await.unwrap();
    let (oracle, root) = (stock(), folder.path().display().to_string());
    let engine = place.builder().build().await.unwrap();
    let bucket = format!("s3://{}", place.bucket());
    let objects = engine.runtime_env();
    let objects = objects.object_store(ObjectStoreUrl::parse(&bucket).unwrap()).unwrap();
    generate(&tables, objects.as_ref(), &|_| ()).await.unwrap();
    generate(&skewed, objects.as_ref(), &|_| ()).await.unwrap();
    let define = |root: &str| [definitions(&tables, root), definitions(&skewed, root)].concat();
    for sql in define(&root) {
        stock_rows(&oracle, &sql).await.unwrap();
    }
    for sql in define(&bucket) {
        rows(&engine, &sql).await;
    }
    let mut counts = Vec::new();
    for item in ITEMS {
        let expected = stock_rows(&oracle, item.sql).await.unwrap();
        assert!(!expected.is_empty(), "{}", item.name);
        let before = engine.counted();
        for way in [OFF].iter().chain(forced(item.operator)).chain([&AUTO]) {
            for set in statements(*way) {
                rows(&engine, &set).await;
            }
            assert_eq!(rows(&engine, item.sql).await, expected, "{}, {}", item.name, way.name);
            if way.name == OFF.name {
                assert_eq!(engine.counted().since(&before).select, 0, "{}", item.name);
            }
        }
        let counted = engine.counted().since(&before);
        counts.push((item.name, counted.select, counted.fallbacks));
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn every_strategy_gives_the_same_rows() {
    let store = Store::start().await;
    for (item, statements, fallbacks) in Box::pin(check_items(&store, 0.01)).await {
        assert!(statements > 0 && fallbacks == 0, "{item}: {statements}, {fallbacks}");
    }
}

/// The answers equal those of the authors' runs at scale factor 1. Takes minutes, and 2 GB of disk.
#[tokio::test(flavor = "multi_thread")]
async fn the_authors_answers_at_scale_1() {
    if std::env::var_os("SLUICE_TEST_SF1").is_none() {
        eprintln!("skipped: set SLUICE_TEST_SF1=1 to compare with the authors' answers at SF 1");
        return;
    }
    let store = Store::start().await;
    let engine = store.builder().build().await.unwrap();
    let bucket = store.folder.path().join(crate::harness::BUCKET);
    let bucket = LocalFileSystem::new_with_prefix(bucket).unwrap();
    generate(&tables(1.0), &bucket, &|_| ()).await.unwrap();
    for sql in definitions(&tables(1.0), &format!("s3://{}", crate::harness::BUCKET)) {
        rows(&engine, &sql).await;
    }
    for (name, published) in [("Q17", 372_414.289_99), ("Q19", 3_468_861.097_00)] {
        let item = ITEMS.into_iter().find(|item| item.name == name).unwrap();
        let answer = rows(&engine, item.sql).await.concat();
        let value: f64 = answer.trim_matches('"').parse().unwrap();
        assert!((value - published).abs() < 0.01, "{name}: {value}, published {published}");
    }
}
