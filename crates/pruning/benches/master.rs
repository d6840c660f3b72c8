//! Measures a master's work for each entry that the switch forwards, in entries per second and core. The results are
//! the constants of `crates/costmodel/testbeds/cheetah.toml`.

#![expect(missing_docs, reason = "criterion's macros make undocumented functions")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sluicegate_pruning::experiment::master::{OPERATORS, entries};

/// Entries of a run, enough that hash tables of keys exceed the caches.
const ENTRIES: usize = 1 << 21;

fn master(c: &mut Criterion) {
    let entries = entries(ENTRIES);
    let mut group = c.benchmark_group("master");
    group.sample_size(10).throughput(Throughput::Elements(ENTRIES as u64));
    for operator in OPERATORS {
        group.bench_function(operator.name, |bencher| {
            bencher.iter(|| (operator.complete)(black_box(&entries)));
        });
    }
    group.finish();
}

criterion_group!(benches, master);
criterion_main!(benches);
