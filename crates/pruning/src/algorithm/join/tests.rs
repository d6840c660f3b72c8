use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::Pruner;
use crate::experiment::check::check;
use crate::experiment::conformance::{
    assert_mutants_are_caught, assert_touches_what_fits, forwarded,
};
use crate::switch::{Misfit, Packet, Program, Target, fit};

/// Returns all packets of a join in the order that workers send them.
fn packets(passes: Passes, wide: bool, a: &[u32], b: &[u32]) -> Vec<Packet> {
    let flow = |fid: u16, keys: &[u32]| -> Vec<Packet> {
        let values = |key: u32| if wide { vec![key % 3, key] } else { vec![key] };
        (0..).zip(keys).map(|(id, &key)| Packet::new(fid, id, values(key))).collect()
    };
    match passes {
        Passes::Two => {
            [flow(BUILD_A, a), flow(BUILD_B, b), flow(PROBE_A, a), flow(PROBE_B, b)].concat()
        }
        Passes::SmallFirst => [flow(BUILD_A, a), flow(PROBE_B, b)].concat(),
    }
}

/// Returns the join's answer over the given rows of each side: pairs of row numbers, `None` for a row without a
/// match.
fn answer(kind: Kind, a: &[(u32, u32)], b: &[(u32, u32)]) -> BTreeSet<(Option<u32>, Option<u32>)> {
    let mut rows = BTreeSet::new();
    let has = |side: &[(u32, u32)], key| side.iter().any(|(_, k)| *k == key);
    for &(i, key) in a {
        for &(j, _) in b.iter().filter(|(_, k)| *k == key) {
            match kind {
                Kind::LeftSemi => rows.insert((Some(i), None)),
                Kind::RightSemi => rows.insert((None, Some(j))),
                Kind::LeftAnti | Kind::RightAnti => false,
                _ => rows.insert((Some(i), Some(j))),
            };
        }
        if !has(b, key) && matches!(kind, Kind::LeftOuter | Kind::FullOuter | Kind::LeftAnti) {
            rows.insert((Some(i), None));
        }
    }
    for &(j, key) in b {
        if !has(a, key) && matches!(kind, Kind::RightOuter | Kind::FullOuter | Kind::RightAnti) {
            rows.insert((None, Some(j)));
        }
    }
    rows
}

fn assert_join(
    program: &Program,
    pruner: &mut dyn Pruner,
    kind: Kind,
    passes: Passes,
    wide: bool,
    a: &[u32],
    b: &[u32],
) {
    let stream = packets(passes, wide, a, b);
    check(program, pruner, &stream).unwrap();
    assert_touches_what_fits(program, &stream);
    let keep = forwarded(program, &stream);
    let from_a = if passes == Passes::Two { PROBE_A } else { BUILD_A };
    for add_back in [false, true] {
        let side = |fid, keys: &[u32]| -> Vec<(u32, u32)> {
            let arrived = stream
                .iter()
                .zip(&keep)
                .filter(|(p, keep)| p.fid == fid && (**keep || (add_back && p.id % 2 == 0)));
            arrived.map(|(p, _)| (p.id, keys[p.id as usize])).collect()
        };
        let all = |keys: &[u32]| -> Vec<(u32, u32)> { (0..).zip(keys.iter().copied()).collect() };
        assert_eq!(
            answer(kind, &side(from_a, a), &side(PROBE_B, b)),
            answer(kind, &all(a), &all(b))
        );
    }
}

const KINDS: [Kind; 8] = [
    Kind::Inner,
    Kind::LeftOuter,
    Kind::RightOuter,
    Kind::FullOuter,
    Kind::LeftSemi,
    Kind::RightSemi,
    Kind::LeftAnti,
    Kind::RightAnti,
];

#[test]
fn matches_pass_and_the_rest_does_not() {
    // Table 1 of the paper: Products JOIN Ratings; here keys 1..=4 against 3..=6.
    let config =
        bloom::Config::new(Shape::new(Kind::Inner, Passes::Two, false), 1 << 10, 3).unwrap();
    let stream = packets(Passes::Two, false, &[1, 2, 3, 4], &[3, 4, 5, 6]);
    let keep = forwarded(&config.program(), &stream);
    let passed: Vec<(u16, u32)> = stream
        .iter()
        .zip(keep)
        .filter(|(_, keep)| *keep)
        .map(|(p, _)| (p.fid, p.values[0]))
        .collect();
    assert_eq!(passed, [(PROBE_A, 3), (PROBE_A, 4), (PROBE_B, 3), (PROBE_B, 4)]);
}

/// Batches longer than a block give the same result as small ones.
#[test]
fn batches_do_not_matter() {
    let shape = Shape::new(Kind::Inner, Passes::SmallFirst, false);
    let config = bloom::Config::of_bits(shape, 5 << 13, 3).unwrap();
    let keys: Vec<u32> = (0..20_000_u32).map(|n| n.wrapping_mul(0x9E37_79B9)).collect();
    let run = |size: usize| {
        let (mut join, mut selection, mut passed) = (config.pruner(), Selection::new(), Vec::new());
        let mut send = |flow, keys: &[u32]| {
            for batch in keys.chunks(size) {
                let entries = [batch];
                join.prune(&Entries::new(flow, 0, &entries).unwrap(), &mut selection).unwrap();
                passed.extend((0..batch.len()).map(|at| selection.get(at)));
            }
        };
        send(BUILD_A, &keys[..9000]);
        send(PROBE_B, &keys);
        (passed, join.registers())
    };
    let (passed, registers) = run(keys.len());
    assert!(passed[9000..18_000].iter().all(|passes| *passes), "what was built is found");
    assert!(passed[18_000..].contains(&false));
    assert_eq!((passed, registers), run(100));
}

#[test]
fn an_empty_filter_drops_matches() {
    // This shows why a reboot between the passes must restart pass 1.
    let config =
        bloom::Config::new(Shape::new(Kind::Inner, Passes::SmallFirst, false), 1 << 10, 3).unwrap();
    assert_eq!(forwarded(&config.program(), &[Packet::new(PROBE_B, 0, [7])]), [false]);
}

#[test]
fn stages() {
    let target = Target::tofino1();
    let bloom = |shape, hashes| {
        let program = bloom::Config::new(shape, 1 << 17, hashes).unwrap().program();
        fit(&program, &target).map(|p| (p.stages.len(), p.stateful_alus()))
    };
    assert_eq!(bloom(Shape::new(Kind::Inner, Passes::SmallFirst, false), 3), Ok((3, 3)));
    // Two filters: six ALUs and six 17-bit indexes, of which the hash slices feed three in a stage.
    assert_eq!(bloom(Shape::new(Kind::Inner, Passes::Two, false), 3), Ok((4, 6)));
    let rbf =
        register_bloom::Config::new(Shape::new(Kind::Inner, Passes::Two, false), 1 << 15, 3, 16)
            .unwrap();
    let placement = fit(&rbf.program(), &target).unwrap();
    assert_eq!((placement.stages.len(), placement.stateful_alus()), (6, 4));
    assert!(
        fit(&bloom::Config::paper().program(), &target).is_err(),
        "1 MiB arrays exceed a stage's blocks"
    );
}

/// The program and the fast path of the paper's default, 4 MB for 3 hashes, have every bit of it. They report as many
/// keys that were never entered as the theorem predicts.
#[test]
fn the_papers_four_megabytes_run() {
    use crate::theory::bloom::arrays_rate;

    let shape = Shape::new(Kind::Inner, Passes::SmallFirst, true);
    let config = bloom::Config::of_bits(shape, 4 << 23, 3).unwrap();
    assert_eq!(config.arrays(), [2 << 23, 1 << 23, 1 << 23]);
    let program = config.program();
    assert_eq!(program.register_bits(), 4 << 23);
    // A stage of Tofino, or of 60 that share 100 MB, lacks the blocks for 2 MiB; other targets may have them.
    for target in [Target::tofino1(), Target::tofino2(), Target::paper()] {
        let why = fit(&program, &target).unwrap_err();
        let lacks =
            |it: &Misfit| it.to_string().starts_with("table `bloom_a0` needs 129 SRAM blocks");
        assert!(why.iter().any(lacks), "{}: {why:?}", target.name);
    }
    let roomy = "base = 'paper'\nsram_blocks = 256\nmap_rams = 256\nregister_blocks = 128";
    assert!(fit(&program, &Target::from_toml(roomy).unwrap()).is_ok());
    let some: Vec<u32> = (0..3000).collect();
    let packets = packets(Passes::SmallFirst, true, &some[..2000], &some[1000..]);
    check(&program, &mut config.pruner(), &packets).unwrap();

    // This filter has the same proportions and is full enough to be measured.
    let small = Shape::new(Kind::Inner, Passes::SmallFirst, false);
    let config = bloom::Config::of_bits(small, 1 << 14, 3).unwrap();
    let mut pruner = config.pruner();
    let mut selection = Selection::new();
    let keys: Vec<u32> = (0..400_000).collect();
    let (entered, others) = keys.split_at(6000);
    pruner.prune(&Entries::new(BUILD_A, 0, &[entered]).unwrap(), &mut selection).unwrap();
    pruner.prune(&Entries::new(PROBE_B, 0, &[others]).unwrap(), &mut selection).unwrap();
    let measured = selection.forwarded() as f64 / others.len() as f64;
    let expected = arrays_rate(&config.arrays(), 6000);
    // The fill ratio of the filter varies by about 1 %.
    assert!((measured / expected - 1.0).abs() < 0.04, "{measured} {expected}");
}

#[test]
fn arrays_are_as_even_as_powers_of_two_can_be() {
    let shape = Shape::new(Kind::Inner, Passes::Two, false);
    let arrays = |bits, hashes| {
        let config = bloom::Config::of_bits(shape, bits, hashes).map_err(|e| e.to_string())?;
        assert_eq!(config.arrays().iter().sum::<u32>(), bits);
        Ok::<_, String>(config.arrays())
    };
    assert_eq!(arrays(48, 3), Ok(vec![16; 3]));
    assert_eq!(arrays(1 << 10, 5), Ok(vec![256, 256, 256, 128, 128]));
    assert_eq!(arrays(32, 16), Ok(vec![2; 16]));
    assert_eq!(bloom::Config::of_bits(shape, 3 << 9, 3), bloom::Config::new(shape, 512, 3));
    assert_eq!(bloom::Config::of_bits(shape, 7 << 9, 7), bloom::Config::new(shape, 512, 7));
    for (bits, hashes) in [(7 << 9, 2), (33, 3), (0, 1), (1 << 28, 3), (30, 16), (64, 17), (64, 0)]
    {
        assert!(arrays(bits, hashes).is_err(), "{bits} {hashes}");
    }
}

#[test]
fn mutants_are_caught() {
    let streams = |passes| {
        let (a, b): (Vec<u32>, Vec<u32>) = ((0..300).collect(), (200..500).collect());
        let mut packets = packets(passes, false, &a, &b);
        packets.push(Packet::new(99, 0, [1]));
        vec![packets]
    };
    for passes in [Passes::Two, Passes::SmallFirst] {
        let shape = Shape::new(Kind::Inner, passes, false);
        let config = bloom::Config::new(shape, 512, 2).unwrap();
        assert_mutants_are_caught(&config.program(), &mut config.pruner(), &streams(passes), &[]);
        let config = register_bloom::Config::new(shape, 16, 3, 6).unwrap();
        assert_mutants_are_caught(&config.program(), &mut config.pruner(), &streams(passes), &[]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn answer_is_unchanged(
        a in prop::collection::vec(prop_oneof![0..60_u32, any::<u32>()], 0..40),
        b in prop::collection::vec(prop_oneof![0..60_u32, any::<u32>()], 0..40),
        kind in prop::sample::select(KINDS.to_vec()),
        two: bool, wide: bool, cells in 2..8_u32, hashes in 1..7_u32,
    ) {
        let passes = if two { Passes::Two } else { Passes::SmallFirst };
        let shape = Shape::new(kind, passes, wide);
        let config = bloom::Config::new(shape, 1 << cells, hashes).unwrap();
        assert_join(&config.program(), &mut config.pruner(), kind, passes, wide, &a, &b);
        let config = bloom::Config::of_bits(shape, 1 << (cells + 4), hashes).unwrap();
        assert_join(&config.program(), &mut config.pruner(), kind, passes, wide, &a, &b);
        let config = register_bloom::Config::new(shape, 1 << (cells / 2), hashes.min(6), 6).unwrap();
        assert_join(&config.program(), &mut config.pruner(), kind, passes, wide, &a, &b);
    }
}
