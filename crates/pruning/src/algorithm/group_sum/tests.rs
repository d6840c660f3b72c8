//! Tests that exactly the groups with a cell are held, and that nothing is lost.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::experiment::check::check;
use crate::experiment::conformance::{
    assert_mutants_are_caught, assert_touches_what_fits, fast_forwarded, random_stream, stream,
};
use crate::switch::{Interpreter, Packet, Target, fit};

fn sums(packets: &[Packet]) -> HashMap<u64, u64> {
    let mut sums = HashMap::new();
    for packet in packets {
        *sums.entry(packet.values[0].into()).or_default() += u64::from(packet.values[1]);
    }
    sums
}

/// Returns the master's final sums, from the forwarded entries and from the switch.
fn at_the_master(config: Config, packets: &[Packet]) -> HashMap<u64, u64> {
    let mut pruner = config.pruner();
    let keep = fast_forwarded(&mut pruner, packets, 64);
    let forwarded: Vec<Packet> =
        packets.iter().zip(keep).filter(|(_, keep)| *keep).map(|(p, _)| p.clone()).collect();
    let mut all = sums(&forwarded);
    for GroupSums { key, sums } in pruner.group_sums() {
        *all.entry(key).or_default() += sums[0];
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
    let held = GroupSums { key: 7, sums: vec![5 * u64::from(u32::MAX)] };
    assert_eq!(pruner.group_sums(), [held]);
}

#[test]
fn a_group_without_room_is_forwarded_for_ever() {
    let config = Config::new(2, 1).unwrap();
    // There are three keys for two cells; key 0 has none.
    let packets: Vec<Packet> = (0..40).map(|id| Packet::new(0, id, [id % 4, 1])).collect();
    let mut pruner = config.pruner();
    let keep = fast_forwarded(&mut pruner, &packets, 64);
    let held: Vec<u64> = pruner.group_sums().into_iter().map(|held| held.key).collect();
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
    /// A copy of an entry finds what the entry found and takes no cell. The same tables can therefore look up copies;
    /// only the tables of the sums must leave them out.
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

proptest! {
    /// Each of several values is summed as if it were alone, on the fast path and in the program.
    #[test]
    fn several_values_are_added_side_by_side(
        packets in stream(4, 200), bits in 1..5_u32, tables in 1..4_u32, seed: u64,
    ) {
        let one = Config::new(1 << bits, tables).unwrap().with_hashing(Hashing::Mixed { seed });
        let three = one.with_sums(3).unwrap();
        let mut pruner = three.pruner();
        check(&three.program(), &mut pruner, &packets).unwrap();
        assert_touches_what_fits(&three.program(), &packets);
        prop_assert_eq!(three.held_in(&pruner.registers()), pruner.group_sums());
        for number in 0..3 {
            let of = |packet: &Packet| {
                Packet::new(packet.fid, packet.id, [packet.values[0], packet.values[1 + number]])
            };
            let alone: Vec<Packet> = packets.iter().map(of).collect();
            let mut single = one.pruner();
            let keep = fast_forwarded(&mut single, &alone, 64);
            prop_assert_eq!(keep, fast_forwarded(&mut three.pruner(), &packets, 64));
            let sums = |held: Vec<GroupSums>, at: usize| -> Vec<(u64, u64)> {
                held.into_iter().map(|held| (held.key, held.sums[at])).collect()
            };
            prop_assert_eq!(sums(single.group_sums(), 0), sums(pruner.group_sums(), number));
        }
    }
}

#[test]
fn values_share_the_keys() {
    let target = Target::tofino1();
    let placed = |sums| {
        let config = Config::new(4096, 4).unwrap().with_sums(sums).unwrap();
        let placed = fit(&config.program(), &target).unwrap();
        (placed.stages.len(), placed.stateful_alus())
    };
    assert_eq!(placed(1), (7, 12));
    assert_eq!(placed(2).1, 20);
    let config = Config::new(16, 2).unwrap();
    assert!(config.with_sums(0).is_err() && config.with_sums(MOST_SUMS + 1).is_err());
    assert_eq!(config.with_sums(2).unwrap().to_string(), "group_sum(cells=16, tables=2, sums=2)");
}

#[test]
fn mutants_are_caught() {
    let config = Config::new(4, 2).unwrap();
    let mut great = random_stream(9, 2, 400, 1 << 31);
    great.iter_mut().for_each(|packet| packet.values[0] %= 9);
    // These sums are just below a carry.
    let full =
        (0..40).map(|id| Packet::new(0, id, [id / 2 % 10, if id % 2 == 0 { 7 } else { !7 }]));
    let streams = [random_stream(8, 2, 400, 12), great, full.collect()];
    let equivalent = [("comparator 1 Eq -> Le", "an unsigned cell is at most 0 if it is 0")];
    assert_mutants_are_caught(&config.program(), &mut config.pruner(), &streams, &equivalent);
    // The second of two values is the first with its bits inverted, so that each carries where the other does not.
    let two = config.with_sums(2).unwrap();
    let twice = |packet: Packet| {
        let [key, value] = [packet.values[0], packet.values[1]];
        Packet::new(packet.fid, packet.id, [key, value, value.rotate_left(16)])
    };
    let streams = streams.map(|stream| stream.into_iter().map(twice).collect());
    assert_mutants_are_caught(&two.program(), &mut two.pruner(), &streams, &equivalent);
}
