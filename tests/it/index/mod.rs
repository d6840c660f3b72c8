//! Index scans return the rows of plain DataFusion, also if indexes are stale, damaged or missing; and they read few
//! bytes.

mod command;
mod manage;
mod options;
mod random;
mod reads;
mod server_index;
mod table;
mod unusable;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sluicegate_engine::Engine;
use sluicegate_engine::index::create::Column;
use sluicegate_engine::index_statements::{FreshnessCheck, Index, Indexes, Kind};

use crate::harness::{BUCKET, Store, rows};

/// Creates the missing indexes of a column.
pub(crate) async fn create(
    engine: &Engine,
    table: &str,
    column: &str,
) -> sluicegate_engine::Result<usize> {
    create_after(engine, table, column, FreshnessCheck::Top).await
}

async fn create_after(
    engine: &Engine,
    table: &str,
    column: &str,
    look: FreshnessCheck,
) -> sluicegate_engine::Result<usize> {
    let Some(indexes) = Indexes::open(engine, table).await? else { return Ok(0) };
    let column = indexes.column(column)?;
    create_missing(&indexes, &column, Kind::Blocks, look).await
}

/// Creates the missing index tables of a column.
async fn create_table(
    engine: &Engine,
    table: &str,
    column: &str,
) -> sluicegate_engine::Result<usize> {
    let Some(indexes) = Indexes::open(engine, table).await? else { return Ok(0) };
    let column = indexes.column(column)?;
    create_missing(&indexes, &column, Kind::Table, FreshnessCheck::Top).await
}

async fn create_missing(
    indexes: &Indexes,
    column: &Column,
    kind: Kind,
    look: FreshnessCheck,
) -> sluicegate_engine::Result<usize> {
    let missing = indexes.missing(column, kind, look).await?;
    let nothing: Arc<dyn Fn(u64) + Send + Sync> = Arc::new(|_| ());
    Ok(indexes.create(column, kind, missing.objects, &nothing).await?.len())
}

async fn table_indexes(engine: &Engine, table: &str) -> Indexes {
    Indexes::open(engine, table).await.unwrap().unwrap()
}

async fn list(engine: &Engine, table: &str) -> Vec<Index> {
    table_indexes(engine, table).await.list().await.unwrap()
}

/// Returns true if a plan reads through an index.
async fn is_indexed(engine: &Engine, sql: &str) -> bool {
    index_in_plan(engine, sql).await.is_some()
}

/// Returns the look-up in a plan, if there is one.
async fn index_in_plan(engine: &Engine, sql: &str) -> Option<String> {
    let plan = engine.explain(sql).await.unwrap().plan;
    let plan = datafusion::physical_plan::displayable(plan.as_ref()).indent(false).to_string();
    let (_, index) = plan.split_once(", index=")?;
    Some(index.split_once(", gap=").unwrap().0.to_owned())
}

fn key(object: usize, record: usize, records: usize) -> usize {
    (record * 7919 + object * 31) % (records * 2)
}

/// Creates a table of some objects with unordered numbers, and the index of its column `k`.
pub(crate) async fn numbers(
    store: &Store,
    engine: &Engine,
    objects: usize,
    records: usize,
) -> usize {
    let mut bytes = 0;
    for object in 0..objects {
        let mut text = String::from("k,v,pad\n");
        for record in 0..records {
            text += &format!(
                "{},{object}-{record},{}\n",
                key(object, record, records),
                "x".repeat(record % 90)
            );
        }
        bytes += text.len();
        store.put(&format!("n/{object}.csv"), &text);
    }
    rows(
        engine,
        &format!(
            "CREATE EXTERNAL TABLE n (k BIGINT, v VARCHAR, pad VARCHAR) STORED AS CSV \
             LOCATION 's3://{BUCKET}/n/' OPTIONS ('format.has_header' 'true')"
        ),
    )
    .await;
    assert_eq!(create(engine, "n", "k").await.unwrap(), objects);
    bytes
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
        .iter()
        .flat_map(|path| if path.is_dir() { files(path) } else { vec![path.clone()] })
        .collect()
}

const FEW: &str = "SELECT v FROM n WHERE k IN (40, 41, 800)";
