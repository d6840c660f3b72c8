//! Measured pruning beside each theorem's bound and OPT, and the table of resources.

use super::opt;
use crate::algorithm::distinct::{self, Policy, Width};
use crate::algorithm::filter::{self, Formula};
use crate::algorithm::group_by;
use crate::algorithm::having::sum;
use crate::algorithm::join::{self, Kind, Passes, Shape, bloom, register_bloom};
use crate::algorithm::skyline::{self, Score};
use crate::algorithm::top_n::{deterministic, randomized};
use crate::encoding::{fingerprint, nonzero_bits};
use crate::experiment::conformance::fast_forwarded;
use crate::rng::{Rng, mix64};
use crate::switch::{Packet, Program, Relation, Target, fit};
use crate::theory;
use crate::{Pruner, Ties};

fn stream(
    seed: u64,
    len: u32,
    values: usize,
    mut value: impl FnMut(&mut Rng) -> u32,
) -> Vec<Packet> {
    let mut rng = Rng::new(seed);
    (0..len)
        .map(|id| Packet::new(0, id, (0..values).map(|_| value(&mut rng)).collect::<Vec<_>>()))
        .collect()
}

fn forwarded(pruner: &mut dyn Pruner, packets: &[Packet]) -> usize {
    fast_forwarded(pruner, packets, 4096).into_iter().filter(|keep| *keep).count()
}

#[test]
fn distinct_beats_theorem_1() {
    let (keys, entries) = (2000, 40_000);
    let packets = stream(1, entries, 1, |rng| mix64(rng.below(keys)) as u32);
    let duplicates = (entries as usize - opt::distinct(packets.iter().map(|p| p.values[0]))) as f64;
    for policy in [Policy::Lru, Policy::Fifo] {
        let config = distinct::Config::new(128, 8, Width::Bits32, policy).unwrap();
        let pruned = entries as usize - forwarded(&mut config.pruner(), &packets);
        let bound = theory::distinct::pruned_duplicates_bound(keys, 128, 8).unwrap();
        let expected = theory::distinct::expected_hit_ratio(keys, 128, 8);
        let rate = pruned as f64 / duplicates;
        assert!(rate >= bound && rate <= 1.0, "{policy:?}: {rate} against {bound}");
        // Chained pairs may hold a key twice, so a long FIFO stays below.
        let below = if policy == Policy::Fifo { 0.1 } else { 0.02 };
        assert!(
            (expected - below..expected + 0.02).contains(&rate),
            "{policy:?}: {rate}, {expected} expected"
        );
    }
}

#[test]
fn top_n_is_at_theorem_2() {
    let entries = 100_000;
    let packets = stream(2, entries, 1, |rng| rng.next_u64() as u32);
    let shape = theory::top_n::Shape { rows: 256, columns: 4 };
    let config = randomized::Config::new(256, 4, Ties::Keep, 0).unwrap();
    let left = forwarded(&mut config.pruner(), &packets) as f64 / f64::from(entries);
    let bound = 1.0 - theory::top_n::pruned_bound(entries.into(), shape);
    // The bound holds in expectation; a run stays within a few per cent of it.
    assert!(left <= bound * 1.03, "{left} forwarded, at most {bound} expected");
    let best = opt::top_n(packets.iter().map(|p| p.values[0]), 100) as f64 / f64::from(entries);
    assert!(best < left);
}

#[test]
fn top_n_fails_as_rarely_as_the_binomial_tail_says() {
    let (n, runs) = (20, 800);
    let shape = theory::top_n::Shape { rows: 16, columns: 5 };
    let bound = theory::top_n::failure(n, shape);
    let mut failures = 0;
    for run in 0..runs {
        let packets = stream(run, 400, 1, |rng| rng.next_u64() as u32);
        let config = randomized::Config::new(16, 5, Ties::Keep, run).unwrap();
        let keep = fast_forwarded(&mut config.pruner(), &packets, 64);
        let mut ranked: Vec<(u32, bool)> =
            packets.iter().zip(keep).map(|(p, keep)| (p.values[0], keep)).collect();
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        failures += u64::from(ranked[..n as usize].iter().any(|(_, keep)| !keep));
    }
    assert!(
        theory::confidence::is_consistent(failures, runs, bound, 0.999),
        "{failures} of {runs}, bound {bound}"
    );
}

#[test]
fn fingerprints_fail_as_rarely_as_theorem_3_says() {
    // f bits for 200 keys in 16 rows at δ = 0.1: short enough to see failures.
    let (keys, rows, delta, runs) = (200_u32, 16, 0.1, 300);
    let bits = theory::distinct::fingerprint_bits(keys.into(), rows, delta);
    let config = distinct::Config::new(rows as u32, 16, Width::Bits32, Policy::Lru).unwrap();
    let failures = |config: distinct::Config, row_value: bool| {
        let mut failures = 0;
        for run in 0..runs {
            let packet = |key: u32| {
                let hash = |seed| fingerprint(&key.to_be_bytes(), seed);
                let print = nonzero_bits(hash(2 * run), bits) as u32;
                let values =
                    if row_value { vec![print, hash(2 * run + 1) as u32] } else { vec![print] };
                Packet::new(0, key, values)
            };
            let packets: Vec<Packet> = (0..keys).map(packet).collect();
            failures += u64::from(forwarded(&mut config.pruner(), &packets) < keys as usize);
        }
        failures
    };
    let failed = failures(config.with_row_value(), true);
    assert!(theory::confidence::is_consistent(failed, runs, delta, 0.999), "{failed} of {runs}");
    // A row that is a hash of the fingerprint is not independent of it: the theorem does not hold.
    let failed = failures(config, false);
    assert!(!theory::confidence::is_consistent(failed, runs, delta, 0.999), "{failed} of {runs}");
}

#[test]
fn join_filters_have_the_rates_of_theory() {
    let (keys, probes) = (4096, 40_000);
    let mut rng = Rng::new(5);
    let mut key = || rng.next_u64() as u32;
    let build: Vec<Packet> = (0..keys).map(|id| Packet::new(join::BUILD_A, id, [key()])).collect();
    let probe: Vec<Packet> =
        (0..probes).map(|id| Packet::new(join::PROBE_B, id, [key()])).collect();
    let shape = Shape::new(Kind::Inner, Passes::SmallFirst, false);
    let rate = |pruner: &mut dyn Pruner| {
        fast_forwarded(pruner, &build, 4096);
        forwarded(pruner, &probe) as f64 / f64::from(probes)
    };
    let plain = rate(&mut bloom::Config::new(shape, 1 << 13, 3).unwrap().pruner());
    let expected = theory::bloom::bloom_rate(3 << 13, 3, keys.into());
    assert!((plain / expected - 1.0).abs() < 0.1, "{plain}, {expected} expected");
    let register = rate(&mut register_bloom::Config::new(shape, 1 << 9, 3, 16).unwrap().pruner());
    let expected = theory::bloom::register_bloom_rate(64 << 9, 3, keys.into());
    assert!((register / expected - 1.0).abs() < 0.1, "{register}, {expected} expected");
}

#[test]
fn having_and_skyline_near_opt() {
    let packets = stream(7, 50_000, 2, |rng| (rng.next_u64() % 400) as u32 + 1);
    // 400 keys of about 125 entries of about 200: sums near 25,000.
    let config = sum::Config::new(3, 1024, 27_000, sum::Aggregate::Sum, false).unwrap();
    let left = forwarded(&mut config.pruner(), &packets);
    let best =
        opt::having_sum(packets.iter().map(|p| (p.values[0], u64::from(p.values[1]))), 27_000);
    assert!(best > 0 && best <= left && left < 4000, "{left} left, {best} by OPT");
    let points = stream(8, 50_000, 2, |rng| rng.next_u64() as u32 >> 8);
    let best = opt::skyline(points.iter().map(|p| (p.values[0], p.values[1])));
    for score in [Score::Sum, Score::Product] {
        let config = skyline::Config::new(2, 10, score, Ties::Keep).unwrap();
        let left = forwarded(&mut config.pruner(), &points);
        assert!(best <= left && left < 1000, "{score:?}: {left} left, {best} by OPT");
    }
}

/// Stages and stateful ALUs at the paper's defaults (Table 2 in brackets), on the target `paper`. Programs that hash
/// take one more stage, to mix.
#[test]
fn resources_at_the_papers_defaults() {
    let where_one = |kind| Shape::new(kind, Passes::SmallFirst, false);
    let two_columns =
        |policy| distinct::Config::new(4096, 2, Width::Bits32, policy).unwrap().program();
    let skyline = |score| skyline::Config::new(2, 10, score, Ties::Keep).unwrap().program();
    let filter = filter::Config::new(&Formula::compare(0, Relation::Lt, 10), 1, None).unwrap();
    let rows: Vec<(Program, usize, usize)> = vec![
        // One ALU, then the truth table.
        (filter.program(), 2, 1),
        // [1 stage, 2 ALUs]: a pair of registers needs one ALU; one stage drops.
        (two_columns(Policy::Fifo), 3, 1),
        // [2, 2]: like the table, and one stage drops.
        (two_columns(Policy::Lru), 4, 2),
        // 64 bits: two ALUs and a stage to compare for each column.
        (distinct::Config::paper().program(), 6, 4),
        // [21, 31]: coordinates share a stage with the next point's score; sum and drop are two more.
        (skyline(Score::Sum), 13, 30),
        // [23, 31]: highest bit, logarithm, shift and sum; ALUs of the PHV are not counted.
        (skyline(Score::Product), 16, 30),
        // [5, 5]: count, least, then compare, count for each cutoff in a pipeline, drop.
        (deterministic::Config::paper().program(), 9, 6),
        // [4, 4] and one stage drops.
        (randomized::Config::paper().program(), 6, 4),
        // [8, 8] and one stage drops.
        (group_by::Config::paper().program(), 10, 8),
        // [2, 3] for one filter.
        (bloom::Config::new(where_one(Kind::Inner), 1 << 20, 3).unwrap().program(), 3, 3),
        // [1, 1]: choosing, looking up, comparing a mask and dropping are stages; a word is two arrays.
        (
            register_bloom::Config::new(where_one(Kind::Inner), 1 << 17, 3, 16).unwrap().program(),
            6,
            2,
        ),
        // [1, 3] and one stage drops.
        (sum::Config::paper(1_000_000).program(), 3, 3),
    ];
    for (program, stages, alus) in rows {
        let placement = fit(&program, &Target::paper()).unwrap();
        assert_eq!(
            (placement.stages.len(), placement.stateful_alus()),
            (stages, alus),
            "{placement}"
        );
    }
}
