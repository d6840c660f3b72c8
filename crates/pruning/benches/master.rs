//! Measures a master's work for each entry that the switch forwards, in entries per second and core. The results are
//! the constants of `crates/costmodel/testbeds/cheetah.toml`.

#![expect(missing_docs, reason = "criterion's macros make undocumented functions")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sluicegate_pruning::rng::Rng;

/// Entries of a run, enough that hash tables of keys exceed the caches.
const ENTRIES: usize = 1 << 21;

fn entries() -> Vec<(u64, u64)> {
    let mut rng = Rng::new(7);
    (0..ENTRIES).map(|_| (rng.below(1 << 20), rng.next_u64() >> 40)).collect()
}

fn filter(entries: &[(u64, u64)]) -> usize {
    entries.iter().filter(|(_, value)| *value < 10).count()
}

fn distinct(entries: &[(u64, u64)]) -> usize {
    entries.iter().map(|(key, _)| *key).collect::<HashSet<_>>().len()
}

fn top_250(entries: &[(u64, u64)]) -> usize {
    let mut best = BinaryHeap::new();
    for &(_, value) in entries {
        if best.len() < 250 {
            best.push(Reverse(value));
        } else if best.peek().is_some_and(|least: &Reverse<u64>| value > least.0) {
            best.pop();
            best.push(Reverse(value));
        }
    }
    best.len()
}

fn group_by(entries: &[(u64, u64)]) -> usize {
    let mut groups: HashMap<u64, u64> = HashMap::new();
    for &(key, value) in entries {
        groups.entry(key).and_modify(|best| *best = value.max(*best)).or_insert(value);
    }
    groups.len()
}

/// Joins the entries; the first eighth is the build side.
fn join(entries: &[(u64, u64)]) -> usize {
    let (build, probe) = entries.split_at(entries.len() / 8);
    let built: HashMap<u64, u64> = build.iter().copied().collect();
    probe.iter().filter(|(key, _)| built.contains_key(key)).count()
}

/// Computes a skyline of points whose coordinates add up to about the same, so that many are on it.
fn skyline(entries: &[(u64, u64)]) -> usize {
    let mut steps: BTreeMap<u64, u64> = BTreeMap::new();
    for &(x, noise) in entries {
        let y = (1 << 20) - x + noise % 1024;
        if steps.range(x..).next().is_some_and(|(_, height)| *height >= y) {
            continue;
        }
        let covered: Vec<u64> = steps
            .range(..=x)
            .rev()
            .take_while(|(_, height)| **height <= y)
            .map(|(x, _)| *x)
            .collect();
        for x in covered {
            steps.remove(&x);
        }
        steps.insert(x, y);
    }
    steps.len()
}

type Master = fn(&[(u64, u64)]) -> usize;

fn master(c: &mut Criterion) {
    let entries = entries();
    let mut group = c.benchmark_group("master");
    group.sample_size(10).throughput(Throughput::Elements(ENTRIES as u64));
    let all: [(&str, Master); 6] = [
        ("filter", filter),
        ("distinct", distinct),
        ("top-n", top_250),
        ("group-by", group_by),
        ("join", join),
        ("skyline", skyline),
    ];
    for (name, run) in all {
        group.bench_function(name, |bencher| bencher.iter(|| run(black_box(&entries))));
    }
    group.finish();
}

criterion_group!(benches, master);
criterion_main!(benches);
