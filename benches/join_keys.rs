//! The keys of a join from its build side to the store: collected from the filter that the join gives its probe side,
//! converted to a condition, printed, and evaluated by the store.
//!
//! `cargo bench --bench join_keys`. Collecting and printing are per statement, evaluating is per byte of a table
//! whose rows mostly have no partner.

#![expect(missing_docs, reason = "criterion's macros make items without docs")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::Int64Array;
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::expressions::{BinaryExpr, Column, InListExpr, lit};
use sluicegate_engine::internals::keys::bloom::{Bloom, Shape};
use sluicegate_engine::internals::keys::{Hashing, Keys};
use sluicegate_evaluator::{Evaluation, Sink, Stats};
use sluicegate_s3select::dialect::Extras;
use sluicegate_s3select::dialect::ast::{BinaryOp, Expr, Type};
use sluicegate_s3select::request::{
    Compression, CsvInput, CsvOutput, InputFormat, InputSerialization, OutputSerialization,
    SelectRequest,
};

/// Numbers of keys: as many as fit a list, as a statement holds at 1 % false positives, and as a join hands on.
const KEYS: [i64; 3] = [1_000, 27_200, 100_000];
const ROWS: i64 = 200_000;

fn keys(count: i64) -> Vec<i64> {
    (0..count).map(|at| at * 37 + 5).collect()
}

fn schema() -> Schema {
    Schema::new(vec![Field::new("k", DataType::Int64, false)])
}

/// Builds the filter that a join gives its probe side.
fn filter(keys: &[i64], schema: &Schema) -> Arc<dyn PhysicalExpr> {
    let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new("k", 0));
    let compare = |op, value: Option<&i64>| -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(Arc::clone(&column), op, lit(*value.unwrap())))
    };
    let array = Arc::new(Int64Array::from(keys.to_vec()));
    let list = InListExpr::try_new_from_array(Arc::clone(&column), array, false, schema).unwrap();
    let low = compare(Operator::GtEq, keys.iter().min());
    let high = compare(Operator::LtEq, keys.iter().max());
    let bounds = Arc::new(BinaryExpr::new(low, Operator::And, high));
    Arc::new(BinaryExpr::new(bounds, Operator::And, Arc::new(list)))
}

/// Returns the Bloom condition for the keys of a filter as SQL.
fn statement(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> String {
    let Keys::Of(mut columns) = Keys::from_filter(filter, schema) else { return String::new() };
    let values = columns.remove(&0).and_then(|keys| keys.values).unwrap();
    let keys: Vec<i64> = values
        .iter()
        .filter_map(|value| match value {
            ScalarValue::Int64(key) => *key,
            _ => None,
        })
        .collect();
    condition(&keys).to_string()
}

fn collect(criterion: &mut Criterion) {
    let schema = schema();
    let mut group = criterion.benchmark_group("collect");
    group.sample_size(20);
    for count in KEYS {
        let filter = filter(&keys(count), &schema);
        group.throughput(Throughput::Elements(count.unsigned_abs()));
        group.bench_function(BenchmarkId::new("keys of the filter", count), |bencher| {
            bencher.iter(|| Keys::from_filter(black_box(&filter), &schema));
        });
        group.bench_function(BenchmarkId::new("to SQL", count), |bencher| {
            bencher.iter(|| statement(black_box(&filter), &schema));
        });
    }
    group.finish();
}

fn column() -> Expr {
    Expr::column(1).null_if(Expr::string("")).cast(Type::Int)
}

/// Returns PushdownDB's condition of a Bloom filter on the first field of a row.
fn condition(keys: &[i64]) -> Expr {
    Bloom::new(keys, Shape::new(keys.len(), 0.01), 1).condition(&column()).unwrap()
}

/// Returns the condition of a Bloom filter with BLOOM_CONTAINS.
fn binary(keys: &[i64]) -> Expr {
    let values: Vec<_> = keys.iter().map(|key| ScalarValue::from(*key)).collect();
    Hashing::Binary.condition(&values, Shape::new(keys.len(), 0.01), &column()).unwrap()
}

fn print(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("print");
    for count in &KEYS[..2] {
        for (name, condition) in
            [("bloom", condition(&keys(*count))), ("binary", binary(&keys(*count)))]
        {
            group.throughput(Throughput::Bytes(condition.to_string().len() as u64));
            group.bench_function(BenchmarkId::new(name, count), |bencher| {
                bencher.iter(|| black_box(&condition).to_string());
            });
        }
    }
    group.finish();
}

struct Discard;

impl Sink for Discard {
    fn records(&mut self, bytes: Bytes) -> ControlFlow<()> {
        black_box(bytes);
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn evaluate(criterion: &mut Criterion) {
    let mut table = String::new();
    for row in 0..ROWS {
        let comment = "furiously regular requests sleep about the deposits";
        writeln!(
            table,
            "{},{row},17,{}.25,1995-03-{:02},{comment}",
            row * 11,
            row * 3,
            row % 28 + 1
        )
        .unwrap();
    }
    let table = Bytes::from(table);
    let mut group = criterion.benchmark_group("evaluate");
    group.throughput(Throughput::Bytes(table.len() as u64)).sample_size(20);
    let all = Expr::column(1).cast(Type::Int).binary(BinaryOp::GtEq, Expr::int(0));
    let mut conditions = vec![("comparison".to_owned(), all)];
    conditions
        .extend(KEYS[..2].iter().map(|count| (format!("bloom/{count}"), condition(&keys(*count)))));
    conditions.extend(KEYS.iter().map(|count| (format!("binary/{count}"), binary(&keys(*count)))));
    for (name, condition) in conditions {
        let request = SelectRequest {
            expression: format!("SELECT COUNT(*) FROM S3Object s WHERE {condition}"),
            input: InputSerialization {
                format: InputFormat::Csv(CsvInput::default()),
                compression: Compression::None,
            },
            output: OutputSerialization::Csv(CsvOutput::default()),
            scan_range: None,
            progress: false,
            extras: Extras::ALL,
        };
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                // Parsing is included, because the store parses each request.
                let evaluation = Evaluation::prepare(&request, Arc::new(table.clone())).unwrap();
                evaluation.run(&mut Discard).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, collect, print, evaluate);
criterion_main!(benches);
