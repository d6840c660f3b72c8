use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::Verdict;
use crate::experiment::check::check;
use crate::experiment::conformance::{
    assert_mutants_are_caught, assert_sound, fast_forwarded, random_stream, stream,
};
use crate::switch::{Interpreter, Misfit, Packet, Target, fit};

fn keys(packets: &[Packet]) -> BTreeSet<Vec<u32>> {
    packets.iter().map(|p| p.values.clone()).collect()
}

fn config(rows: u32, columns: u32, wide: bool, policy: Policy) -> Config {
    let width = if wide { Width::Bits64 } else { Width::Bits32 };
    Config::new(rows, columns, width, policy).unwrap()
}

#[test]
fn the_second_of_a_key_is_pruned_and_zero_never() {
    for config in [
        config(4, 1, false, Policy::Lru),
        config(4, 2, true, Policy::Lru),
        config(4, 4, false, Policy::Fifo),
    ] {
        let mut run = Interpreter::new(config.program()).unwrap();
        let mut decide = |key| run.process(0, 0, &vec![key; config.pruner().values()]).unwrap();
        assert_eq!(
            [decide(7), decide(7), decide(7)],
            [Verdict::Forward, Verdict::Prune, Verdict::Prune]
        );
        assert_eq!(
            [decide(0), decide(0)],
            [Verdict::Forward, Verdict::Forward],
            "zero is the empty cell"
        );
    }
}

#[test]
fn lru_and_fifo_part_on_a_hit() {
    // Only one row matters: all keys hash to row 0 of 2.
    let hash = RowHash::single(Hashing::DEFAULT, 0, 1, 1);
    let row0: Vec<u32> = (1..100).filter(|&key| hash.one(key) == 0).take(3).collect();
    let order = [row0[0], row0[1], row0[0], row0[2], row0[0]];
    let packets: Vec<Packet> =
        (0..).zip(order).map(|(id, key)| Packet::new(0, id, [key])).collect();
    let lru = fast_forwarded(&mut config(2, 2, false, Policy::Lru).pruner(), &packets, 64);
    let fifo = fast_forwarded(&mut config(2, 2, false, Policy::Fifo).pruner(), &packets, 64);
    assert_eq!(lru, [true, true, false, true, false], "the hit moved the key to the front");
    assert_eq!(fifo, [true, true, false, true, true], "the hit changed nothing");
}

#[test]
fn refused_parameters() {
    assert!(Config::new(1025, 1, Width::Bits32, Policy::Lru).is_err());
    assert!(Config::new(1, 1, Width::Bits32, Policy::Lru).is_err());
    assert!(Config::new(4, 0, Width::Bits32, Policy::Lru).is_err());
    assert!(Config::new(4, 3, Width::Bits32, Policy::Fifo).is_err());
    assert!(Config::new(4, 2, Width::Bits64, Policy::Fifo).is_err());
    let large = Config::new(1 << 26, 64, Width::Bits64, Policy::Lru).unwrap_err();
    assert_eq!(large.to_string(), "rows × columns must be 1 to 268435456, not 4294967296");
}

#[test]
fn stages() {
    let stages =
        |config: Config, target: &Target| fit(&config.program(), target).map(|p| p.stages.len());
    let tofino1 = Target::tofino1();
    // Each takes one stage to mix the hash and one to drop.
    assert_eq!(stages(config(4096, 4, true, Policy::Lru), &tofino1), Ok(10));
    assert_eq!(stages(Config::paper(), &tofino1), Ok(6));
    assert_eq!(stages(config(4096, 2, false, Policy::Lru), &tofino1), Ok(4));
    assert_eq!(stages(config(4096, 2, false, Policy::Fifo), &tofino1), Ok(3));
    let refused = stages(config(4096, 6, true, Policy::Lru), &tofino1).unwrap_err();
    assert_eq!(refused, [Misfit::Stages { needed: 14, available: 12 }]);
    // A worker that hashes the row itself saves the stage.
    assert_eq!(stages(Config::paper().with_row_value(), &tofino1), Ok(5));
    // Chained pairs output two words, which Tofino 1 cannot.
    assert!(stages(config(4096, 4, false, Policy::Fifo), &tofino1).is_err());
    assert_eq!(stages(config(4096, 4, false, Policy::Fifo), &Target::tofino2()), Ok(4));
}

#[test]
fn memory_is_the_modelled_sram() {
    assert_eq!(
        Config::paper().program().register_bits(),
        4096 * 2 * 64,
        "64 KiB in the paper's Table 2"
    );
}

#[test]
fn mutants_are_caught() {
    for (config, equivalent) in [
        (config(4, 3, false, Policy::Lru), &[][..]),
        (config(4, 2, true, Policy::Lru), &[][..]),
        (config(4, 4, false, Policy::Fifo), &[][..]),
    ] {
        let columns = config.pruner().values();
        let streams: Vec<_> = (0..4)
            .map(|seed| random_stream(seed, columns, 400, [6, 4, 40, 3][seed as usize]))
            .collect();
        assert_mutants_are_caught(&config.program(), &mut config.pruner(), &streams, equivalent);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn narrow_answer_is_unchanged(
        packets in stream(1, 200), rows in 1..5_u32, columns in 1..5_u32, fifo: bool,
    ) {
        let policy = if fifo { Policy::Fifo } else { Policy::Lru };
        let columns = if fifo { 2 * columns } else { columns };
        let config = config(1 << rows, columns, false, policy);
        assert_sound(&config.program(), &mut config.pruner(), &packets, keys);
    }

    #[test]
    fn wide_answer_is_unchanged(packets in stream(2, 200), rows in 1..5_u32, columns in 1..4_u32) {
        let config = config(1 << rows, columns, true, Policy::Lru);
        assert_sound(&config.program(), &mut config.pruner(), &packets, keys);
    }

    /// The row comes from the last value; equal keys always bring the same one.
    #[test]
    fn rows_of_their_own(packets in stream(2, 200), rows in 1..5_u32, columns in 1..4_u32, kind in 0..3) {
        let (wide, policy) = [(false, Policy::Lru), (false, Policy::Fifo), (true, Policy::Lru)][kind as usize];
        let columns = if policy == Policy::Fifo { 2 * columns } else { columns };
        let config = config(1 << rows, columns, wide, policy).with_row_value();
        let packets: Vec<Packet> = packets
            .into_iter()
            .map(|mut p| {
                p.values.truncate(if wide { 2 } else { 1 });
                p.values.push(p.values.iter().fold(1, |row, v| (row << 5) ^ v.wrapping_mul(0x9E37_79B9)));
                p
            })
            .collect();
        assert_sound(&config.program(), &mut config.pruner(), &packets, keys);
    }

    #[test]
    fn batches_do_not_matter(packets in stream(1, 150), batch in 1..140_usize) {
        let config = config(8, 2, false, Policy::Lru);
        let whole = fast_forwarded(&mut config.pruner(), &packets, 1000);
        prop_assert_eq!(fast_forwarded(&mut config.pruner(), &packets, batch), whole);
    }

    /// Losing the state costs nothing but pruning.
    #[test]
    fn a_reboot_is_harmless(packets in stream(1, 150), at in 0..150_usize) {
        let config = config(4, 2, false, Policy::Lru);
        let mut run = Interpreter::new(config.program()).unwrap();
        let mut left = Vec::new();
        for (i, packet) in packets.iter().enumerate() {
            if i == at {
                run.reset();
            }
            if run.run(packet).unwrap() == Verdict::Forward {
                left.push(packet.clone());
            }
        }
        prop_assert_eq!(keys(&left), keys(&packets));
    }
}

/// Rows are read ahead of their turn; keys return within a batch and after it.
#[test]
fn a_matrix_beyond_the_cache_is_the_same_machine() {
    for (wide, policy) in [(false, Policy::Lru), (true, Policy::Lru), (false, Policy::Fifo)] {
        let config = config(1 << 16, 4, wide, policy);
        assert!(size_of::<[u32; 4]>() << 16 > CACHED_BYTES);
        let packets: Vec<Packet> = (0..3000_u32)
            .map(|id| {
                let key = id.wrapping_mul(2_654_435_761) % 100 * (id % 3);
                Packet::new(0, id, vec![key; config.pruner().values()])
            })
            .collect();
        check(&config.program(), &mut config.pruner(), &packets).unwrap();
        let kept = fast_forwarded(&mut config.pruner(), &packets, 100);
        assert!(kept.into_iter().filter(|kept| *kept).count() < 1500);
    }
}

#[test]
fn wrong_columns_are_told() {
    let packets = [Packet::new(0, 0, [1, 2])];
    let config = config(4, 2, false, Policy::Lru);
    assert!(check(&config.program(), &mut config.pruner(), &packets).is_err());
}
