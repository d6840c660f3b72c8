use proptest::prelude::*;

use super::*;
use crate::experiment::conformance::{
    assert_mutants_are_caught, assert_sound, forwarded, random_stream, stream,
};
use crate::switch::{Misfit, Packet, Target, fit};

/// Returns the points that no point dominates, with their multiplicities, sorted.
fn skyline(packets: &[Packet]) -> Vec<Vec<u32>> {
    let dominated = |p: &[u32]| {
        packets.iter().any(|q| q.values.iter().zip(p).all(|(a, b)| a >= b) && q.values != p)
    };
    let mut points: Vec<Vec<u32>> =
        packets.iter().map(|p| p.values.clone()).filter(|p| !dominated(p)).collect();
    points.sort_unstable();
    points
}

#[test]
fn the_papers_example() {
    // Table 1, taste and texture: Pizza (7,5), Cheetos (8,6), Jello (9,4), Burger (5,7), Fries (3,3).
    let points = [[7, 5], [8, 6], [9, 4], [5, 7], [3, 3]];
    let packets: Vec<Packet> = (0..).zip(points).map(|(id, p)| Packet::new(0, id, p)).collect();
    assert_eq!(skyline(&packets), [[5, 7], [8, 6], [9, 4]]);
    let config = Config::new(2, 3, Score::Sum, Ties::Keep).unwrap();
    assert_eq!(forwarded(&config.program(), &packets), [true, true, true, true, false]);
}

#[test]
fn duplicates_of_a_skyline_point_stay() {
    let packets: Vec<Packet> =
        [[5, 5], [5, 5], [5, 4], [4, 4]].map(|p| Packet::new(0, 0, p)).into();
    let run = |ties| forwarded(&Config::new(2, 2, Score::Sum, ties).unwrap().program(), &packets);
    assert_eq!(run(Ties::Keep), [true, true, true, false]);
    assert_eq!(run(Ties::Prune), [true, true, false, false]);
}

#[test]
fn stages() {
    let stages = |points, score| {
        let program = Config::new(2, points, score, Ties::Keep).unwrap().program();
        fit(&program, &Target::tofino1()).map(|p| (p.stages.len(), p.stateful_alus()))
    };
    // Sum, score, coordinates, drop: the released program's three once its score is not folded away.
    assert_eq!(stages(1, Score::Sum), Ok((4, 3)));
    // A point's coordinates share a stage with the next point's score, so w points take w + 3
    // stages where the paper's Table 2 has log2 D + 2w.
    assert_eq!((stages(5, Score::Sum), stages(9, Score::Sum)), (Ok((8, 15)), Ok((12, 27))));
    assert_eq!(stages(1, Score::First), Ok((3, 3)));
    let default = fit(&Config::paper().program(), &Target::tofino1()).unwrap_err();
    assert_eq!(
        default,
        [Misfit::Stages { needed: 16, available: 12 }],
        "10 points need two pipelines"
    );
    assert!(fit(&Config::paper().program(), &Target::paper()).is_ok());
}

#[test]
fn mutants_are_caught() {
    for (dimensions, score, ties) in [
        (2, Score::Sum, Ties::Keep),
        (2, Score::Sum, Ties::Prune),
        (3, Score::First, Ties::Prune),
        (3, Score::Sum, Ties::Keep),
    ] {
        let config = Config::new(dimensions, 3, score, ties).unwrap();
        let mut streams: Vec<_> = [(7, 5), (8, 30), (9, 100_000)]
            .map(|(seed, range)| random_stream(seed, dimensions as usize, 200, range))
            .into();
        streams.extend((0..12).map(|seed| random_stream(seed, dimensions as usize, 200, 12)));
        streams.push((0..20).map(|id| Packet::new(0, id, vec![id; dimensions as usize])).collect());
        streams.push(
            (0..20).map(|id| Packet::new(0, id, vec![30 - id; dimensions as usize])).collect(),
        );
        // Only the third stored point dominates the later ones, with each kind of tie.
        let apart = [[100, 1], [1, 98], [50, 46], [50, 45], [49, 46], [49, 45], [50, 46], [51, 40]];
        streams.push(
            apart
                .iter()
                .map(|p| Packet::new(0, 0, p.repeat(2)[..dimensions as usize].to_vec()))
                .collect(),
        );
        let mut equivalent = Vec::new();
        if score == Score::First {
            let empty = "below the first free place all cells are empty and zero";
            equivalent.push(("comparator 0 Eq -> Le", "an unsigned score is never negative"));
            equivalent
                .push(("search: update 0.0 when 1111", "the score of a taken place is 1 already"));
            equivalent.extend([
                ("swap: predicate of output", empty),
                ("shift: update", empty),
                ("shift: output", empty),
            ]);
        }
        assert_mutants_are_caught(&config.program(), &mut config.pruner(), &streams, &equivalent);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn answer_is_unchanged(packets in stream(4, 120), dimensions in 1..5_u32, points in 1..6_u32, first: bool, exact: bool) {
        let score = if first { Score::First } else { Score::Sum };
        let ties = if exact { Ties::Prune } else { Ties::Keep };
        let config = Config::new(dimensions, points, score, ties).unwrap();
        let packets: Vec<Packet> = packets
            .into_iter()
            .map(|p| Packet::new(p.fid, p.id, p.values[..dimensions as usize].to_vec()))
            .collect();
        assert_sound(&config.program(), &mut config.pruner(), &packets, skyline);
    }
}

proptest! {
    // The program's tables of logarithms are large.
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn answer_is_unchanged_by_products(packets in stream(2, 150), points in 1..6_u32) {
        let config = Config::new(2, points, Score::Product, Ties::Prune).unwrap();
        assert_sound(&config.program(), &mut config.pruner(), &packets, skyline);
    }
}
