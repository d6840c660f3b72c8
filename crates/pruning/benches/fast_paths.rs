//! Measures entries per second through the fast paths, and packets per second through the interpreter, at the paper's
//! defaults.

#![expect(missing_docs, reason = "criterion's macros make undocumented functions")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sluicegate_pruning::algorithm::distinct::{self, Policy, Width};
use sluicegate_pruning::algorithm::filter::{self, Formula};
use sluicegate_pruning::algorithm::group_by::{self, Extreme};
use sluicegate_pruning::algorithm::group_sum;
use sluicegate_pruning::algorithm::having::{extreme, sum};
use sluicegate_pruning::algorithm::join::{self, bloom, register_bloom};
use sluicegate_pruning::algorithm::skyline::{self, Score};
use sluicegate_pruning::algorithm::top_n::{deterministic, randomized};
use sluicegate_pruning::switch::{Interpreter, Program, Relation};
use sluicegate_pruning::{Entries, Pruner, Selection, Ties};

const BATCH: usize = 8192;
const BATCHES: usize = 32;

/// Returns uniform 32-bit numbers, or Zipf-like ones over `keys` keys.
fn column(seed: u64, keys: Option<u32>) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    (0..BATCH * BATCHES)
        .map(|_| match keys {
            None => next(),
            Some(keys) => {
                let uniform = f64::from(next()) / f64::from(u32::MAX);
                f64::from(keys).powf(uniform) as u32
            }
        })
        .collect()
}

fn run(pruner: &mut dyn Pruner, flow: u16, columns: &[&[u32]], selection: &mut Selection) -> usize {
    let mut forwarded = 0;
    for batch in 0..BATCHES {
        let range = batch * BATCH..(batch + 1) * BATCH;
        let mut slices = [&[][..]; 4];
        for (slice, column) in slices.iter_mut().zip(columns) {
            *slice = &column[range.clone()];
        }
        if let Ok(entries) = Entries::new(flow, range.start as u32, &slices[..columns.len()])
            && pruner.prune(&entries, selection).is_ok()
        {
            forwarded += selection.forwarded();
        }
    }
    forwarded
}

fn fast_paths(c: &mut Criterion) {
    let mut group = c.benchmark_group("fast path");
    group.throughput(Throughput::Elements((BATCH * BATCHES) as u64));
    let (uniform, other) = (column(1, None), column(2, None));
    let (keys, zeros) = (column(3, Some(100_000)), vec![0; BATCH * BATCHES]);
    let mut selection = Selection::new();
    let mut bench = |name: &str, pruner: &mut dyn Pruner, flow: u16, columns: &[&[u32]]| {
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| black_box(run(pruner, flow, black_box(columns), &mut selection)));
        });
    };

    let formula = Formula::Or(vec![
        Formula::compare(0, Relation::Lt, 1 << 30),
        Formula::And(vec![
            Formula::compare(1, Relation::Gt, 1 << 31),
            Formula::compare(0, Relation::Ne, 7),
        ]),
    ]);
    if let Ok(config) = filter::Config::new(&formula, 2, None) {
        bench("filter", &mut config.pruner(), 0, &[&uniform, &other]);
    }
    bench("distinct 64-bit zipf", &mut distinct::Config::paper().pruner(), 0, &[&zeros, &keys]);
    bench(
        "distinct 64-bit uniform",
        &mut distinct::Config::paper().pruner(),
        0,
        &[&other, &uniform],
    );
    for (name, policy) in
        [("distinct 32-bit LRU zipf", Policy::Lru), ("distinct 32-bit FIFO zipf", Policy::Fifo)]
    {
        if let Ok(config) = distinct::Config::new(4096, 2, Width::Bits32, policy) {
            bench(name, &mut config.pruner(), 0, &[&keys]);
        }
    }
    if let Ok(config) = distinct::Config::new(65_536, 9, Width::Bits64, Policy::Lru) {
        bench("distinct 64-bit, 4.5 MiB", &mut config.pruner(), 0, &[&other, &uniform]);
    }
    bench("top n randomized", &mut randomized::Config::paper().pruner(), 0, &[&uniform]);
    if let Ok(config) = randomized::Config::new(4096, 4, Ties::Prune, 0) {
        bench("top n randomized, ties pruned", &mut config.pruner(), 0, &[&uniform]);
    }
    bench("top n deterministic", &mut deterministic::Config::paper().pruner(), 0, &[&uniform]);
    bench("group by zipf", &mut group_by::Config::paper().pruner(), 0, &[&keys, &uniform]);
    bench("group by uniform", &mut group_by::Config::paper().pruner(), 0, &[&other, &uniform]);
    if let Ok(config) = group_by::Config::new(4096, 8, Extreme::Max, Ties::Prune, true) {
        bench("group by 64-bit zipf", &mut config.pruner(), 0, &[&zeros, &keys, &uniform]);
    }
    if let Ok(config) = group_by::Config::paper().with_others(&[Extreme::Min]) {
        bench("group by, two values, zipf", &mut config.pruner(), 0, &[&keys, &uniform, &other]);
    }
    for (name, sums, columns) in [
        ("group sum zipf", 1, [&keys, &uniform, &other, &zeros]),
        ("group sum uniform", 1, [&other, &uniform, &other, &zeros]),
        ("group sum, three sums, zipf", 3, [&keys, &uniform, &other, &zeros]),
    ] {
        if let Ok(config) = group_sum::Config::new(4096, 4).and_then(|one| one.with_sums(sums)) {
            let columns = columns.map(Vec::as_slice);
            bench(name, &mut config.pruner(), 0, &columns[..=sums as usize]);
        }
    }
    let mut join = bloom::Config::paper().pruner();
    bench("join build", &mut join, join::BUILD_A, &[&uniform]);
    bench("join probe", &mut join, join::PROBE_B, &[&other]);
    // This is the shape that the planner chooses for a Tofino.
    let shape = join::Shape::new(join::Kind::Inner, join::Passes::SmallFirst, true);
    if let Ok(config) = bloom::Config::new(shape, 1 << 22, 8) {
        let mut join = config.pruner();
        bench("join build, 64-bit, 8 hashes", &mut join, join::BUILD_A, &[&other, &uniform]);
        bench("join probe, 64-bit, 8 hashes", &mut join, join::PROBE_B, &[&other, &uniform]);
    }
    let mut join = register_bloom::Config::paper().pruner();
    bench("join register bloom build", &mut join, join::BUILD_A, &[&uniform]);
    bench("join register bloom probe", &mut join, join::PROBE_B, &[&other]);
    bench("having sum", &mut sum::Config::paper(1_000_000).pruner(), 0, &[&keys, &uniform]);
    if let Ok(config) = extreme::Config::new(Relation::Gt, 1 << 31, 4096, 2) {
        bench("having extreme zipf", &mut config.pruner(), 0, &[&keys, &uniform]);
    }
    for (name, score) in [("skyline product", Score::Product), ("skyline sum", Score::Sum)] {
        if let Ok(config) = skyline::Config::new(2, 10, score, Ties::Keep) {
            bench(name, &mut config.pruner(), 0, &[&uniform, &other]);
        }
    }
    group.finish();
}

fn interpreter(c: &mut Criterion) {
    let mut group = c.benchmark_group("interpreter");
    const PACKETS: usize = 20_000;
    group.throughput(Throughput::Elements(PACKETS as u64));
    let (uniform, keys) = (column(1, None), column(3, Some(100_000)));
    let mut bench = |name: &str, program: Program| {
        let Ok(mut interpreter) = Interpreter::new(program) else { return };
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| {
                let width = usize::from(interpreter.program().values);
                for id in 0..PACKETS {
                    let values = [keys[id], uniform[id], keys[id + 1]];
                    black_box(interpreter.process(0, id as u32, &values[..width]).ok());
                }
            });
        });
    };
    bench("distinct", distinct::Config::paper().program());
    bench("top n randomized", randomized::Config::paper().program());
    bench("group by", group_by::Config::paper().program());
    bench("join", bloom::Config::paper().program());
    bench("having", sum::Config::paper(1_000_000).program());
    bench("skyline", skyline::Config::paper().program());
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(2))
        .warm_up_time(std::time::Duration::from_millis(500));
    targets = fast_paths, interpreter
}
criterion_main!(benches);
