//! Tests that structured keys meet the theorems, which assume random functions.
//!
//! Every algorithm that hashes is measured over keys as tables have them: dense, shifted, strided, clustered, like
//! TPC-H's order keys, sorted and in turn, narrow and wide. The rate over many seeds must be the theory's, or where
//! theory has bounds only, that of random keys in the same order, within the statistical error at 99 % confidence for
//! each table of results. `cargo test -p sluicegate-pruning rates -- --nocapture` prints the tables.

use std::collections::HashSet;

use crate::algorithm::group_by::{self, Extreme};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::having::{extreme, sum};
use crate::algorithm::join::{self, Kind, Passes, Shape, bloom, register_bloom};
use crate::algorithm::row_hash::RowHash;
use crate::algorithm::top_n::randomized;
use crate::algorithm::{distinct, distinct::Policy, distinct::Width};
use crate::rng::{Rng, mix64};
use crate::switch::Relation;
use crate::theory;
use crate::theory::confidence::is_consistent;
use crate::{Entries, Pruner, Selection, Ties, first_id};

/// A function that returns the key with a given number.
type Keys = fn(u32) -> [u32; 2];

/// The families of keys; narrow keys are the second word.
const FAMILIES: [(&str, Keys); 8] = [
    ("dense", |i| [0, i]),
    ("shifted", |i| [0, 1_000_000 + i]),
    ("strided by 1608", |i| [0, 1608 * i]),
    ("strided by 2^4", |i| [0, i << 4]),
    ("strided by 2^13", |i| [0, i << 13]),
    ("strided by 2^17", |i| [0, i << 17]),
    ("clustered", |i| [0, (mix64(u64::from(i >> 6) + 1) as u32).wrapping_add(i & 63)]),
    ("order keys", |i| [0, i >> 3 << 5 | i & 7]),
];

/// Families of 64-bit keys, of which either half or both vary.
const WIDE: [(&str, Keys); 4] = [
    ("low half", |i| [1 << 31, i]),
    ("high half", |i| [i, 0]),
    ("high half, strided", |i| [i << 12, 0]),
    ("both halves", |i| [i >> 6, i << 26]),
];

/// Returns `count` random keys.
fn random(seed: u64, count: u32) -> Vec<[u32; 2]> {
    let mut rng = Rng::new(seed);
    let (mut keys, mut seen) = (Vec::new(), HashSet::new());
    while keys.len() < count as usize {
        let key = rng.next_u64();
        if seen.insert(key as u32) {
            keys.push([(key >> 32) as u32, key as u32]);
        }
    }
    keys
}

fn keys(of: Keys, count: u32) -> Vec<[u32; 2]> {
    // A key of zeros looks like an empty cell, which is not tested here.
    let keys: Vec<[u32; 2]> = (1..=count).map(of).collect();
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
    keys
}

fn mean_and_error(rates: &[f64]) -> (f64, f64) {
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// The tolerated deviation in standard errors. With up to 40 rates in a table, all of them are within 3.8 standard
/// errors with a probability of 99 %; samples are large enough for the normal approximation.
const ERRORS: f64 = 3.8;

/// Compares the mean of `rates` with an expectation that has an error of its own.
fn assert_as_expected(what: &str, rates: &[f64], expected: (f64, f64)) {
    let (mean, error) = mean_and_error(rates);
    let error = error.hypot(expected.1);
    println!("{what:<44} {mean:.5} ± {error:.5}, expected {:.5}", expected.0);
    // If the hash does not matter, the rates do not vary.
    let rounding = 1e-9;
    let difference = (mean - expected.0).abs();
    assert!(difference <= ERRORS * error + rounding, "{what}: {mean} ± {error}, {expected:?}");
}

/// Compares the rates of `run` for each family of keys, `seeds` times each, with those of random keys.
fn assert_as_random(
    what: &str,
    families: &[(&str, Keys)],
    count: u32,
    seeds: u64,
    run: impl Fn(Hashing, &[[u32; 2]], u64) -> f64,
) {
    let reference = (0..seeds)
        .map(|seed| run(Hashing::Mixed { seed: mix64(seed) }, &random(seed ^ 0x5EED, count), seed));
    let reference = mean_and_error(&reference.collect::<Vec<f64>>());
    for &(name, of) in families {
        let keys = keys(of, count);
        let rates = (0..seeds)
            .map(|seed| run(Hashing::Mixed { seed: mix64(seed + 1000) }, &keys, seed + seeds));
        assert_as_expected(&format!("{what}, {name}"), &rates.collect::<Vec<f64>>(), reference);
    }
}

/// The order of entries in a stream.
#[derive(Clone, Copy)]
enum Order {
    Random,
    /// One key after the other.
    Sorted,
    /// All keys in turn, again and again.
    InTurn,
}

/// Returns `times` entries of each key, as positions among the keys.
fn order(order: Order, keys: usize, times: usize, seed: u64) -> Vec<usize> {
    let mut all: Vec<usize> = match order {
        Order::Sorted => (0..keys * times).map(|n| n / times).collect(),
        Order::Random | Order::InTurn => (0..keys * times).map(|n| n % keys).collect(),
    };
    if let Order::Random = order {
        Rng::new(seed).shuffle(&mut all);
    }
    all
}

/// Returns the fraction of entries that are forwarded.
fn forwarded(pruner: &mut dyn Pruner, flow: u16, columns: &[&[u32]]) -> f64 {
    let mut selection = Selection::new();
    pruner.prune(&Entries::new(flow, 0, columns).unwrap(), &mut selection).unwrap();
    selection.forwarded() as f64 / selection.len() as f64
}

fn halves(keys: impl Iterator<Item = [u32; 2]>) -> [Vec<u32>; 2] {
    let (high, low) = keys.map(|[high, low]| (high, low)).unzip();
    [high, low]
}

#[test]
fn distinct_rates() {
    for (name, arrival) in
        [("random order", Order::Random), ("sorted", Order::Sorted), ("in turn", Order::InTurn)]
    {
        for (wide, families) in [(false, &FAMILIES[..]), (true, &WIDE[..])] {
            let what = format!("distinct, {name}, {}", if wide { 64 } else { 32 });
            let rate = |hashing, keys: &[[u32; 2]], seed| {
                let width = if wide { Width::Bits64 } else { Width::Bits32 };
                let config = distinct::Config::new(1024, 4, width, Policy::Lru).unwrap();
                let entries = order(arrival, keys.len(), 4, seed);
                let [high, low] = halves(entries.iter().map(|&at| keys[at]));
                let columns: [&[u32]; 2] = [&high, &low];
                let columns = if wide { &columns[..] } else { &columns[1..] };
                forwarded(&mut config.with_hashing(hashing).pruner(), 0, columns)
            };
            assert_as_random(&what, families, 5000, 60, rate);
        }
    }
}

/// The oldest key is evicted: in random order, sorted and in turn, the rates are those of random keys.
#[test]
fn distinct_fifo_rates() {
    for (name, arrival) in
        [("random order", Order::Random), ("sorted", Order::Sorted), ("in turn", Order::InTurn)]
    {
        let rate = |hashing, keys: &[[u32; 2]], seed| {
            let config = distinct::Config::new(1024, 2, Width::Bits32, Policy::Fifo).unwrap();
            let entries = order(arrival, keys.len(), 4, seed);
            let [_, low] = halves(entries.iter().map(|&at| keys[at]));
            forwarded(&mut config.with_hashing(hashing).pruner(), 0, &[&low])
        };
        assert_as_random(&format!("distinct FIFO, {name}"), &FAMILIES, 2500, 60, rate);
    }
}

/// The paper's theorem assumes random order, where the chance of a hit depends on the load of the key's row.
#[test]
fn distinct_meets_its_expectation() {
    let (distinct, rows, columns) = (5000, 1024, 4);
    let expected = theory::distinct::expected_hit_ratio(distinct.into(), rows.into(), columns);
    for (name, of) in FAMILIES {
        let keys = keys(of, distinct);
        let hits = (0..40).map(|seed| {
            // The cache is warmed up by a separate stream; then keys are independent of each other.
            let mut rng = Rng::new(seed);
            let mut stream =
                |len| (0..len).map(|_| keys[rng.below(distinct.into()) as usize][1]).collect();
            let (warm, measured): (Vec<u32>, Vec<u32>) = (stream(60_000), stream(60_000));
            let config = distinct::Config::new(rows, columns as u32, Width::Bits32, Policy::Lru);
            let hashing = Hashing::Mixed { seed: mix64(seed) };
            let mut pruner = config.unwrap().with_hashing(hashing).pruner();
            forwarded(&mut pruner, 0, &[&warm]);
            1.0 - forwarded(&mut pruner, 0, &[&measured])
        });
        let hits: Vec<f64> = hits.collect();
        assert_as_expected(&format!("distinct hits, {name}"), &hits, (expected, 0.0));
    }
}

#[test]
fn group_by_rates() {
    for (wide, families) in [(false, &FAMILIES[..]), (true, &WIDE[..])] {
        let what = format!("group by, {}", if wide { 64 } else { 32 });
        let rate = |hashing, keys: &[[u32; 2]], seed| {
            let config = group_by::Config::new(4096, 8, Extreme::Max, Ties::Prune, wide).unwrap();
            let mut rng = Rng::new(seed);
            let entries = order(Order::Random, keys.len(), 16, seed);
            let [high, low] = halves(entries.iter().map(|&at| keys[at]));
            let values: Vec<u32> = low.iter().map(|_| rng.next_u64() as u32).collect();
            let columns: [&[u32]; 3] = [&high, &low, &values];
            let columns = if wide { &columns[..] } else { &columns[1..] };
            forwarded(&mut config.with_hashing(hashing).pruner(), 0, columns)
        };
        assert_as_random(&what, families, 8192, 25, rate);
    }
}

/// With the dense keys of the paper's default size, hashing once is far off the rate of mixing.
#[test]
fn a_linear_hash_does_not_meet_theory() {
    let rate = |hashing: Hashing| {
        let config = group_by::Config::paper().with_hashing(hashing);
        let entries = order(Order::Random, 8192, 16, 1);
        let keys: Vec<u32> = entries.iter().map(|&at| at as u32).collect();
        let mut rng = Rng::new(2);
        let values: Vec<u32> = keys.iter().map(|_| rng.next_u64() as u32).collect();
        forwarded(&mut config.pruner(), 0, &[&keys, &values])
    };
    let (linear, mixed) = (rate(Hashing::Linear), rate(Hashing::Mixed { seed: 7 }));
    assert!(linear > 1.1 * mixed, "{linear} hashed once, {mixed} mixed");
}

#[test]
fn join_rates() {
    let (built, shape) = (4096, |wide| Shape::new(Kind::Inner, Passes::SmallFirst, wide));
    let expected_bloom = theory::bloom::bloom_rate(3 << 13, 3, built.into());
    let expected_register = theory::bloom::register_bloom_rate(64 << 9, 3, built.into());
    for (wide, families) in [(false, &FAMILIES[..]), (true, &WIDE[..])] {
        for &(name, of) in families {
            let keys = keys(of, 4 * built);
            let rates = |pruner: &dyn Fn(Hashing) -> Box<dyn Pruner>| -> Vec<f64> {
                let rate = |seed| {
                    let mut pruner = pruner(Hashing::Mixed { seed: mix64(seed) });
                    let (build, probe) = keys.split_at(built as usize);
                    let mut send = |flow, keys: &[[u32; 2]]| {
                        let [high, low] = halves(keys.iter().copied());
                        let columns: [&[u32]; 2] = [&high, &low];
                        let columns = if wide { &columns[..] } else { &columns[1..] };
                        forwarded(pruner.as_mut(), flow, columns)
                    };
                    send(join::BUILD_A, build);
                    send(join::PROBE_B, probe)
                };
                (0..100).map(rate).collect()
            };
            let plain = bloom::Config::new(shape(wide), 1 << 13, 3).unwrap();
            let plain = rates(&|hashing| Box::new(plain.with_hashing(hashing).pruner()));
            assert_as_expected(&format!("Bloom, {name}"), &plain, (expected_bloom, 0.0));
            let register = register_bloom::Config::new(shape(wide), 1 << 9, 3, 16).unwrap();
            let register = rates(&|hashing| Box::new(register.with_hashing(hashing).pruner()));
            let what = format!("register Bloom, {name}");
            assert_as_expected(&what, &register, (expected_register, 0.0));
        }
    }
}

#[test]
fn having_rates() {
    for (wide, families) in [(false, &FAMILIES[..]), (true, &WIDE[..])] {
        let what = format!("having, {}", if wide { 64 } else { 32 });
        let rate = |hashing, keys: &[[u32; 2]], seed| {
            // No group exceeds the threshold by itself: groups that pass share their counters.
            let aggregate = sum::Aggregate::Sum;
            let config = sum::Config::new(3, 1024, 900, aggregate, wide).unwrap();
            let mut rng = Rng::new(seed);
            let entries = order(Order::Random, keys.len(), 8, seed);
            let [high, low] = halves(entries.iter().map(|&at| keys[at]));
            let values: Vec<u32> = low.iter().map(|_| rng.below(100) as u32 + 1).collect();
            let columns: [&[u32]; 3] = [&high, &low, &values];
            let columns = if wide { &columns[..] } else { &columns[1..] };
            forwarded(&mut config.with_hashing(hashing).pruner(), 0, columns)
        };
        assert_as_random(&what, families, 3000, 60, rate);
    }
    let rate = |hashing, keys: &[[u32; 2]], seed| {
        let config = extreme::Config::new(Relation::Gt, 50, 512, 2).unwrap();
        let mut rng = Rng::new(seed);
        let entries = order(Order::Random, keys.len(), 8, seed);
        let low: Vec<u32> = entries.iter().map(|&at| keys[at][1]).collect();
        let values: Vec<u32> = low.iter().map(|_| rng.below(100) as u32).collect();
        forwarded(&mut config.with_hashing(hashing).pruner(), 0, &[&low, &values])
    };
    assert_as_random("having extreme", &FAMILIES, 3000, 60, rate);
}

/// Returns true if TOP N loses one of the entries with these flows and identifiers. The entries are the greatest and
/// come in descending order, so a row drops one iff it is full of greater ones.
fn loses_of_flows(
    hashing: Hashing,
    rows: u32,
    columns: u32,
    mut entries: impl Iterator<Item = (u16, u32)>,
) -> bool {
    let mut hash = RowHash::single(hashing, 2, 1, rows.trailing_zeros() as u8);
    let mut loads = vec![0; rows as usize];
    entries.any(|(flow, id)| {
        hash.start(&flow.to_be_bytes());
        let row = hash.one(id) as usize;
        loads[row] += 1;
        loads[row] > columns
    })
}

/// Like [`loses_of_flows`], for flow 0.
fn loses(hashing: Hashing, rows: u32, columns: u32, ids: impl Iterator<Item = u32>) -> bool {
    loses_of_flows(hashing, rows, columns, ids.map(|id| (0, id)))
}

/// Returns the number of seeds, out of `seeds`, that lose one of the greatest `n`, which come from `flows` flows in
/// turn. `begin` returns the first identifier of each flow.
fn failures_of_flows(
    (n, rows, columns): (u32, u32, u32),
    flows: u32,
    seeds: u64,
    begin: impl Fn(u16) -> u32,
) -> u64 {
    let entry = |i| {
        let flow = (i % flows) as u16;
        (flow, begin(flow).wrapping_add(i / flows))
    };
    let lost = |seed: &u64| {
        let hashing = Hashing::Mixed { seed: mix64(*seed) };
        loses_of_flows(hashing, rows, columns, (0..n).map(entry))
    };
    (0..seeds).filter(lost).count() as u64
}

/// The greatest entries are the first of each flow, as in sorted files. Identifiers that begin at [`first_id`] meet
/// the bound; those that begin at 0 do not.
fn check_several_flows(n: u32, rows: u32, columns: u32) {
    let seeds = 20_000;
    let shape = theory::top_n::Shape { rows: rows.into(), columns: columns.into() };
    let bound = theory::top_n::failure(n.into(), shape);
    for flows in [1, 2, 3, 4, 5, 8, 16, 32] {
        let failures = failures_of_flows((n, rows, columns), flows, seeds, first_id);
        println!("top {n} of {flows} flows: {failures} of {seeds}, bound {bound:.2e}");
        assert!(is_consistent(failures, seeds, bound, 1.0 - 0.01 / 24.0), "{flows}: {failures}");
    }
    let failures = failures_of_flows((n, rows, columns), 8, seeds, |_| 0);
    println!("top {n} of 8 flows from 0: {failures} of {seeds}, bound {bound:.2e}");
    assert!(n > 8 || !is_consistent(failures, seeds, bound, 0.99), "{failures}");
}

#[test]
fn top_8_and_20_of_several_flows() {
    check_several_flows(8, 16, 3);
    check_several_flows(20, 16, 5);
}

#[test]
fn top_32_of_several_flows() {
    check_several_flows(32, 64, 4);
}

/// This is the planner's choice for LIMIT 5.
#[test]
fn top_5_of_several_flows() {
    let shape = theory::top_n::Shape { rows: 16, columns: 4 };
    let bound = theory::top_n::failure(5, shape);
    let seeds = 100_000;
    for flows in [4, 5] {
        let failures = failures_of_flows((5, 16, 4), flows, seeds, first_id);
        println!("top 5 of {flows} flows: {failures} of {seeds}, bound {bound:.2e}");
        assert!(is_consistent(failures, seeds, bound, 0.99), "{flows}: {failures}");
        assert!(!is_consistent(
            failures_of_flows((5, 16, 4), flows, seeds, |_| 0),
            seeds,
            bound,
            0.99
        ));
    }
}

#[test]
fn a_row_is_lost_iff_it_is_full_of_greater_ones() {
    let (rows, columns, mut lost) = (64, 3, 0);
    for seed in 0..60 {
        let config = randomized::Config::new(rows, columns, Ties::Keep, seed).unwrap();
        let values: Vec<u32> = (0..3000).rev().collect();
        let mut selection = Selection::new();
        config.pruner().prune(&Entries::new(0, 0, &[&values]).unwrap(), &mut selection).unwrap();
        let all = (0..40).all(|id| selection.get(id));
        let hashing = Hashing::Mixed { seed };
        assert_eq!(!all, loses(hashing, rows, columns, 0..40), "seed {seed}");
        lost += u32::from(!all);
    }
    assert!((1..60).contains(&lost), "{lost}");
}

/// N = 20 with 16 rows of 5, so that there are failures to count: at most 1.9 %.
#[test]
fn top_n_failures() {
    let (n, rows, columns, seeds) = (20, 16, 5, 20_000);
    let shape = theory::top_n::Shape { rows: rows.into(), columns: columns.into() };
    let bound = theory::top_n::failure(n, shape);
    // Two rows seldom overflow at once, so random rows nearly reach the bound. If some keys fail less often, seeds
    // are no random functions of them, and other keys fail more often.
    let least = bound * seeds as f64 - ERRORS * (bound * seeds as f64).sqrt();
    for (name, of) in FAMILIES {
        let failed = |seed| {
            let ids = (0..n as u32).map(|i| of(i)[1]);
            loses(Hashing::Mixed { seed: mix64(seed) }, rows, columns, ids)
        };
        let failures = (0..seeds).filter(|seed| failed(*seed)).count() as u64;
        println!("top n, {name:<37} {failures} of {seeds}, bound {:.1}", bound * seeds as f64);
        assert!(is_consistent(failures, seeds, bound, 1.0 - 0.01 / 8.0), "{name}: {failures}");
        assert!(failures as f64 > least, "{name}: {failures} where rows are not random");
    }
}

/// The streams are the greatest of 402 000 entries at every 1 608th, and 19 584 regular strides. With a row that was
/// one CRC, each lost a row on every run, or ten times as often as the bound.
#[test]
fn top_n_of_regular_streams() {
    let seeds = 10_000;
    for (n, rows, columns, stride) in [(250, 4096, 4, 1608), (100, 256, 6, 64)] {
        let shape = theory::top_n::Shape { rows: rows.into(), columns: columns.into() };
        let bound = theory::top_n::failure(n, shape);
        let ids = || (0..n as u32).map(move |i| stride * i);
        let failures = (0..seeds)
            .filter(|&seed| loses(Hashing::Mixed { seed: mix64(seed) }, rows, columns, ids()))
            .count() as u64;
        println!("top {n}, every {stride}th: {failures} of {seeds}, bound {bound:.2e}");
        assert!(is_consistent(failures, seeds, bound, 0.99), "{n}: {failures}");
    }
    // There is one seed and all strides, which are equally good.
    for (n, rows, columns) in [(250, 4096, 4), (100, 256, 6)] {
        let shape = theory::top_n::Shape { rows: rows.into(), columns: columns.into() };
        let bound = theory::top_n::failure(n, shape);
        let strides = 19_584;
        let lost =
            |hashing, stride| loses(hashing, rows, columns, (0..n as u32).map(|i| i * stride));
        let count = |hashing| (1..=strides).filter(|s| lost(hashing, *s)).count() as u64;
        let failures = count(Hashing::Mixed { seed: 11 });
        println!("top {n}, strides: {failures} of {strides}, bound {bound:.2e}");
        assert!(is_consistent(failures, strides.into(), bound, 0.99), "{n}: {failures}");
    }
}
