//! The switch between workers and master in queries.

mod answers;
mod bigdata;
mod cli;
mod counts;
mod deployments;
mod floats;
mod passes;
mod plans;
mod runs;
mod sums;
mod sweeps;
mod udp;

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::datasource::MemTable;
use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionContext;
use sluicegate_engine::Engine;
use sluicegate_engine::choice::Journal;

use crate::harness::rows;

/// A switch with arrays of at most 16 registers, so that caches overflow and tables collide.
const TINY: &str = "name = 'tiny'\nsram_block_bits = 512\nregister_blocks = 1";

/// A row of the tests' tables.
#[derive(Debug, Clone, Default)]
struct Row {
    s: Option<String>,
    i: Option<i32>,
    n: Option<i64>,
    u: Option<u64>,
    d: Option<i64>,
    t: Option<i32>,
    b: Option<bool>,
    f: Option<f64>,
    g: Option<f32>,
    k: i32,
}

/// Builds a batch of rows; `id` counts on from `first`, so that no two rows are the same.
fn batch(rows: &[Row], first: usize) -> RecordBatch {
    fn column<T>(rows: &[Row], of: impl Fn(&Row) -> Option<T>) -> Vec<Option<T>> {
        rows.iter().map(of).collect()
    }
    let decimals = Decimal128Array::from(column(rows, |r| r.d.map(i128::from)));
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        (
            "id",
            Arc::new(Int64Array::from_iter_values((first..first + rows.len()).map(|n| n as i64))),
            false,
        ),
        ("k", Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.k))), false),
        ("s", Arc::new(StringArray::from(column(rows, |r| r.s.clone()))), true),
        ("i", Arc::new(Int32Array::from(column(rows, |r| r.i))), true),
        ("n", Arc::new(Int64Array::from(column(rows, |r| r.n))), true),
        ("u", Arc::new(UInt64Array::from(column(rows, |r| r.u))), true),
        ("d", Arc::new(decimals.with_precision_and_scale(12, 2).unwrap()), true),
        ("t", Arc::new(Date32Array::from(column(rows, |r| r.t))), true),
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from(column(rows, |r| {
                r.t.map(|t| i64::from(t) * 86_400_000_000)
            }))),
            true,
        ),
        ("b", Arc::new(BooleanArray::from(column(rows, |r| r.b))), true),
        ("f", Arc::new(Float64Array::from(column(rows, |r| r.f))), true),
        ("g", Arc::new(Float32Array::from(column(rows, |r| r.g))), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// Distributes rows among partitions, in batches of a few rows.
fn partitions(rows: &[Row], partitions: usize) -> Vec<Vec<RecordBatch>> {
    let mut dealt = vec![Vec::new(); partitions];
    for (number, part) in rows.chunks(7).enumerate() {
        dealt[number % partitions].push(batch(part, 7 * number));
    }
    dealt
}

fn register(context: &SessionContext, name: &str, data: &[Vec<RecordBatch>]) {
    let schema = batch(&[], 0).schema();
    let table = MemTable::try_new(schema, data.to_vec()).unwrap();
    context.register_table(name, Arc::new(table)).unwrap();
}

/// Builds an engine with a switch and without a store.
async fn engine(switch: &str) -> Engine {
    let engine = Engine::builder()
        .endpoint("http://127.0.0.1:9")
        .credentials("nobody", "secret")
        .threads(3)
        .build()
        .await
        .unwrap();
    rows(&engine, &format!("SET sluice.switch = '{switch}'")).await;
    engine
}

/// Returns the lines of the plan that describe a switch.
async fn switch_lines(engine: &Engine, sql: &str) -> Vec<String> {
    let plan = engine.explain(sql).await.unwrap().plan;
    let text = displayable(plan.as_ref()).indent(false).to_string();
    let ours = text.lines().map(str::trim).filter(|line| line.starts_with("SwitchPruneExec"));
    ours.map(str::to_owned).collect()
}

/// Returns the reasons in EXPLAIN why operators are not pruned.
async fn not_pruned(engine: &Engine, sql: &str) -> Vec<String> {
    let mut state = engine.context().state();
    let journal = Journal::default();
    journal.keep(state.config_mut().options_mut());
    let logical = state.create_logical_plan(sql).await.unwrap();
    state.create_physical_plan(&logical).await.unwrap();
    let decisions = journal.take();
    decisions.iter().filter(|d| d.operator == "switch").map(ToString::to_string).collect()
}

/// Sums a counter over the nodes in EXPLAIN ANALYZE.
fn counted(text: &str, name: &str) -> usize {
    let digits = |rest: &str| -> usize {
        let number = rest.split([',', ']', '\n', '\\']).next().unwrap().trim();
        let (number, scale) = match number.strip_suffix(" K") {
            Some(thousands) => (thousands, 1000.0),
            None => (number, 1.0),
        };
        (number.parse::<f64>().unwrap_or_else(|_| panic!("{name}={rest}")) * scale) as usize
    };
    text.split(&format!("{name}=")).skip(1).map(digits).sum()
}

/// Builds an engine with rows for tests of numbers: `id` counts, `k` repeats.
async fn counting(switch: &str, rows: usize) -> Engine {
    let engine = engine(switch).await;
    let of = |n: usize| Row {
        s: Some(format!("agent {}", n % 10)),
        i: Some((n * 7919 % 10_007) as i32),
        n: Some(n as i64),
        k: (n % 10) as i32,
        ..Row::default()
    };
    let table: Vec<Row> = (0..rows).map(of).collect();
    register(engine.context(), "x", &partitions(&table, 3));
    engine
}
