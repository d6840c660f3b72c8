//! Held is what has a cell, exactly, and nothing is lost.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::experiment::check::check;
use crate::experiment::conformance::{
    assert_mutants_are_caught, assert_touches_what_fits, fast_forwarded, random_stream, stream,
};
use crate::switch::{Interpreter, Packet};

fn sums(packets: &[Packet]) -> HashMap<u64, u64> {
    let mut sums = HashMap::new();
    for packet in packets {
        *sums.entry(packet.values[0].into()).or_default() += u64::from(packet.values[1]);
    }
    sums
}

/// What the master has in the end: what was forwarded, and what the switch hands over.
fn at_the_master(config: Config, packets: &[Packet]) -> HashMap<u64, u64> {
    let mut pruner = config.pruner();
    let keep = fast_forwarded(&mut pruner, packets, 64);
    let forwarded: Vec<Packet> =
        packets.iter().zip(keep).filter(|(_, keep)| *keep).map(|(p, _)| p.clone()).collect();
    let mut all = sums(&forwarded);
    for (key, sum) in pruner.held() {
        *all.entry(key).or_default() += sum;
    }
    all
}

#[test]
fn sums_carry_into_their_high_half() {
    let config = Config::new(2, 1).unwrap();
    let packets: Vec<Packet> = (0..5).map(|id| Packet::new(0, id, [7, u32::MAX])).collect();
    check(&config.program(), &mut config.pruner(), &packets).unwrap();
    let mut pruner = config.pruner();
    assert!(fast_forwarded(&mut pruner, &packets, 8).iter().all(|keep| !keep));
    assert_eq!(pruner.held(), [(7, 5 * u64::from(u32::MAX))]);
}

#[test]
fn a_group_without_room_is_forwarded_for_ever() {
    let config = Config::new(2, 1).unwrap();
    // Three keys in two cells; key 0 has none.
    let packets: Vec<Packet> = (0..40).map(|id| Packet::new(0, id, [id % 4, 1])).collect();
    let mut pruner = config.pruner();
    let keep = fast_forwarded(&mut pruner, &packets, 64);
    let held: Vec<u64> = pruner.held().into_iter().map(|(key, _)| key).collect();
    assert!(!held.is_empty() && held.len() <= 2);
    for (packet, keep) in packets.iter().zip(keep) {
        assert_eq!(keep, !held.contains(&packet.values[0].into()), "{packet:?}");
    }
    assert_eq!(at_the_master(config, &packets), sums(&packets));
}

proptest! {
    #[test]
    fn nothing_is_lost(
        packets in stream(2, 200), bits in 1..6_u32, tables in 1..4_u32, seed: u64,
    ) {
        let config = Config::new(1 << bits, tables).unwrap();
        for hashing in [Hashing::Mixed { seed }, Hashing::Linear] {
            let config = config.with_hashing(hashing);
            prop_assert_eq!(at_the_master(config, &packets), sums(&packets));
            check(&config.program(), &mut config.pruner(), &packets).unwrap();
            assert_touches_what_fits(&config.program(), &packets);
        }
    }
}

proptest! {
    /// Whenever a copy of an entry comes after it, it finds what the entry found and takes no cell: so that a
    /// copy may be looked up by the same tables, of which only those of the sums must leave it out.
    #[test]
    fn a_copy_finds_what_its_entry_found(
        packets in stream(2, 100), bits in 1..4_u32, tables in 1..4_u32, seed: u64,
        copies in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 1..20),
    ) {
        let config = Config::new(1 << bits, tables).unwrap();
        let hashing = Hashing::Mixed { seed };
        let mut switch = Interpreter::new(config.with_hashing(hashing).program()).unwrap();
        let mut found = Vec::new();
        for packet in &packets {
            found.push((packet, switch.run(packet).unwrap()));
            for (which, value) in &copies {
                let (entry, verdict) = which.get(&found);
                let copy = Packet::new(entry.fid, entry.id, [entry.values[0], *value]);
                let mut switch = switch.clone();
                let keys = |switch: &Interpreter| -> Vec<_> {
                    switch.registers().iter().step_by(3).cloned().collect()
                };
                let before = keys(&switch);
                prop_assert_eq!(switch.run(&copy).unwrap(), *verdict);
                prop_assert_eq!(keys(&switch), before);
            }
        }
    }
}

#[test]
fn mutants_are_caught() {
    let config = Config::new(4, 2).unwrap();
    let mut great = random_stream(9, 2, 400, 1 << 31);
    great.iter_mut().for_each(|packet| packet.values[0] %= 9);
    // Sums that just do not carry.
    let full =
        (0..40).map(|id| Packet::new(0, id, [id / 2 % 10, if id % 2 == 0 { 7 } else { !7 }]));
    let streams = [random_stream(8, 2, 400, 12), great, full.collect()];
    let equivalent = [("comparator 1 Eq -> Le", "an unsigned cell is at most 0 if it is 0")];
    assert_mutants_are_caught(&config.program(), &mut config.pruner(), &streams, &equivalent);
}
