use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::experiment::conformance::{
    assert_mutants_are_caught, assert_sound, forwarded, random_stream, stream,
};
use crate::switch::{Packet, Target, fit};

fn best(packets: &[Packet], extreme: Extreme) -> BTreeMap<Vec<u32>, u32> {
    let mut best = BTreeMap::new();
    for packet in packets {
        let (value, key) = packet.values.split_last().unwrap();
        best.entry(key.to_vec())
            .and_modify(|b: &mut u32| {
                *b = match extreme {
                    Extreme::Max => (*b).max(*value),
                    Extreme::Min => (*b).min(*value),
                }
            })
            .or_insert(*value);
    }
    best
}

#[test]
fn the_best_so_far_beats_the_rest() {
    let values = [5, 3, 5, 7, 6];
    let packets: Vec<Packet> =
        (0..).zip(values).map(|(id, v)| Packet::new(0, id, [1, v])).collect();
    let run = |extreme, ties| {
        forwarded(&Config::new(4, 1, extreme, ties, false).unwrap().program(), &packets)
    };
    assert_eq!(run(Extreme::Max, Ties::Keep), [true, false, true, true, false]);
    assert_eq!(run(Extreme::Max, Ties::Prune), [true, false, false, true, false]);
    assert_eq!(run(Extreme::Min, Ties::Keep), [true, true, false, false, false]);
}

#[test]
fn stages() {
    let stages = |tables, wide| {
        let program = Config::new(4096, tables, Extreme::Max, Ties::Keep, wide).unwrap().program();
        fit(&program, &Target::tofino1()).map(|p| p.stages.len())
    };
    // One stage mixes the hash and one drops. The released program takes 12 stages for 5 tables, as keys and values
    // lie in different arrays.
    assert_eq!((stages(5, false), stages(10, false)), (Ok(7), Ok(12)));
    assert!(stages(11, false).is_err());
    assert_eq!(stages(5, true), Ok(12));
}

#[test]
fn mutants_are_caught() {
    for (extreme, ties, wide) in [
        (Extreme::Max, Ties::Keep, false),
        (Extreme::Max, Ties::Prune, false),
        (Extreme::Min, Ties::Keep, false),
        (Extreme::Min, Ties::Prune, true),
        (Extreme::Max, Ties::Keep, true),
    ] {
        let config = Config::new(4, 2, extreme, ties, wide).unwrap();
        let mut pruner = config.pruner();
        let mut streams: Vec<_> =
            [3, 6, 30].map(|range| random_stream(9, pruner.values(), 500, range)).into();
        // The keys are few and far apart: over small keys, two hashes of two bits can separate them alike.
        for offset in [0, 2] {
            let spread = |mut packet: Packet| {
                let (value, key) = packet.values.split_last_mut().unwrap();
                *value = value.wrapping_sub(offset);
                key.iter_mut().for_each(|k| *k = k.wrapping_mul(0x9E37_79B9));
                packet
            };
            streams
                .push(random_stream(2, pruner.values(), 500, 5).into_iter().map(spread).collect());
        }
        let equivalent: &[_] = if wide {
            &[(".look: comparator 0 Eq -> Ge", "the one-hot case is at most 8")]
        } else {
            &[]
        };
        assert_mutants_are_caught(&config.program(), &mut pruner, &streams, equivalent);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn answer_is_unchanged(
        packets in stream(3, 200), cells in 1..5_u32, tables in 1..11_u32, min: bool, prune: bool, wide: bool,
    ) {
        let extreme = if min { Extreme::Min } else { Extreme::Max };
        let ties = if prune { Ties::Prune } else { Ties::Keep };
        let config = Config::new(1 << cells, tables, extreme, ties, wide).unwrap();
        let packets: Vec<Packet> = packets
            .into_iter()
            .map(|mut p| {
                p.values.truncate(if wide { 3 } else { 2 });
                p
            })
            .collect();
        assert_sound(&config.program(), &mut config.pruner(), &packets, |p| best(p, extreme));
    }

    /// The tables have more cells than 16 bits index, which uses the fast path's other lane width.
    #[test]
    fn large_tables(packets in stream(2, 100)) {
        let config = Config::new(1 << 17, 2, Extreme::Max, Ties::Keep, false).unwrap();
        assert_sound(&config.program(), &mut config.pruner(), &packets, |p| best(p, Extreme::Max));
    }
}
