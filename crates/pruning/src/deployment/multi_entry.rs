//! Several entries in one packet (paper §9).
//!
//! Headers are most of a packet that carries one entry, so packing four into it nearly quarters the bytes. But a
//! packet touches a register once. The matrix is therefore split into *lanes*, each a whole copy of the program with
//! its own registers. By position ([`LaneBy::Position`]) every entry has a lane and all are processed. A key is then
//! stored in as many lanes as it has positions, and forwarded once by each. Otherwise a hash sends each entry to a
//! lane. If two entries of a packet hash to the same lane, the first gets it and the others are forwarded
//! unprocessed: with four entries, a quarter to a third.
//!
//! Either is sound for every algorithm whose pruning relies only on entries that were processed: DISTINCT, TOP N,
//! GROUP BY, SKYLINE. It is not sound for JOIN and HAVING, which must process every entry.
//!
//! Entry `e` of a packet with identifier `i` has the identifier `i + e`. A pruned entry's header is popped; the
//! packet is dropped if all are.
//!
//! A hash costs two stages in front, one to hash and one to choose, and one behind. A position costs none, except for
//! programs that read the identifier. Either takes one ALU for each lane where the program takes one.

use crate::ConfigError;
use crate::algorithm::config::in_range;
use crate::switch::graft::Graft;
use crate::switch::{
    Action, Builder, Entry, FieldId, Key, Op, Operand, Operation, POLYNOMIALS, Pattern, Program,
    Table, Test,
};

/// The choice of an entry's lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneBy {
    /// The entry's position in the packet.
    Position,
    /// A hash of this many leading values: entries with one key meet in one lane.
    Values(u8),
    /// A hash of the entry's identifier: for algorithms that spread entries at random.
    Id,
}

/// Returns the polynomial of the hash that chooses lanes. Programs use the polynomials from the first on, so lanes use
/// the last.
pub(crate) const fn lane_polynomial() -> u32 {
    POLYNOMIALS[POLYNOMIALS.len() - 1]
}

/// Turns a program for single entries into one for packets of `entries` (2, 4 or 8) entries. To keep the memory, give
/// each lane an `entries`-th of the rows. Each entry has its own verdict.
///
/// # Errors
///
/// If `entries` is another number, a packet would carry more than 255 values, or the lane depends on values that an
/// entry does not have.
pub fn multi_entry(
    program: &Program,
    entries: u8,
    lane_by: LaneBy,
) -> Result<Program, ConfigError> {
    if ![2, 4, 8].contains(&entries) {
        return Err(ConfigError::Conflict("a packet carries 2, 4 or 8 entries"));
    }
    in_range("values of a packet", u32::from(program.values) * u32::from(entries), 1, 255)?;
    if let LaneBy::Values(values) = lane_by {
        in_range("values that choose the lane", values.into(), 1, program.values.into())?;
    }
    if program.verdicts.len() != 1 {
        return Err(ConfigError::Conflict("the program must be one for single entries"));
    }
    let mut b = Builder::new(format!("{}_by_{entries}", program.name), program.values * entries);
    let shape = Shape { per_entry: program.values, entries };
    let drops: Vec<FieldId> = (0..entries).map(|e| b.verdict(format!("drop{e}"))).collect();
    if lane_by == LaneBy::Position {
        return Ok(shape.by_position(b, program, &drops));
    }
    b.stage();
    let lanes_of = shape.hash_entries(&mut b, lane_by);
    b.stage();
    let lanes: Vec<Lane> = (0..entries).map(|lane| shape.choose(&mut b, lane, &lanes_of)).collect();
    let mut whole = b.finish();
    let start = whole.stages.len();
    let mut pruned = Vec::new();
    for (number, lane) in lanes.iter().enumerate() {
        let prefix = format!("lane{number}_");
        let head = [FieldId::FID, lane.id];
        let graft = Graft::with_sources(&mut whole, program, &prefix, head, &lane.values, None);
        graft.stages(&mut whole, program, start, &|_| Some(Test::is_not(lane.taken, 0)));
        pruned.push(graft.field(program.verdicts[0]));
    }
    let mut last = crate::switch::Stage::default();
    for (entry, &drop) in (0..).zip(&drops) {
        last.tables.push(pop(entry, drop, &lanes, &pruned));
    }
    whole.stages.push(last);
    Ok(whole)
}

/// The fields of one lane: the number of the entry that took it (from 1; 0 for none), its identifier and values.
struct Lane {
    taken: FieldId,
    id: FieldId,
    values: Vec<FieldId>,
}

#[derive(Clone, Copy)]
struct Shape {
    per_entry: u8,
    entries: u8,
}

impl Shape {
    fn value(self, entry: u8, value: u8) -> FieldId {
        FieldId::value(entry * self.per_entry + value)
    }

    /// Adds a lane for each position.
    fn by_position(self, mut b: Builder, program: &Program, drops: &[FieldId]) -> Program {
        let counts = program.tables().any(|(_, table)| program.reads(table).contains(&FieldId::ID));
        let mut ids = vec![FieldId::ID; drops.len()];
        if counts {
            b.stage();
            for (entry, id) in (0_u32..).zip(&mut ids).skip(1) {
                *id = b.field(format!("id{entry}"), 32);
                let (first, offset) = (Operand::Field(FieldId::ID), Operand::Const(entry));
                let add = [Op::new(*id, Operation::Add, first, offset)];
                b.table(Table::always(format!("count{entry}"), Action::compute("count", add)));
            }
        }
        let mut whole = b.finish();
        let start = whole.stages.len();
        for ((entry, id), &drop) in (0..).zip(ids).zip(drops) {
            let values: Vec<FieldId> =
                (0..self.per_entry).map(|value| self.value(entry, value)).collect();
            let (prefix, head) = (format!("lane{entry}_"), [FieldId::FID, id]);
            let graft =
                Graft::with_sources(&mut whole, program, &prefix, head, &values, Some(drop));
            graft.stages(&mut whole, program, start, &|_| None);
        }
        whole
    }

    /// Adds the first stage, which computes each entry's lane, and returns the fields of the lanes.
    fn hash_entries(self, b: &mut Builder, lane_by: LaneBy) -> Vec<FieldId> {
        let bits = self.entries.trailing_zeros() as u8;
        let polynomial = lane_polynomial();
        let mut lanes = Vec::new();
        for entry in 0..self.entries {
            let lane = b.field(format!("lane_of{entry}"), bits);
            let op = match lane_by {
                LaneBy::Values(values) => {
                    let inputs: Vec<FieldId> = (0..values).map(|v| self.value(entry, v)).collect();
                    let hash = b.hash(format!("lane_hash{entry}"), polynomial, inputs, bits);
                    Op::set(lane, Operand::Hash(hash))
                }
                LaneBy::Id => {
                    // Identifiers are consecutive, so XOR with the position gives each entry another lane.
                    let hash = b.hash(format!("lane_hash{entry}"), polynomial, [FieldId::ID], bits);
                    Op::new(lane, Operation::Xor, Operand::Hash(hash), Operand::Const(entry.into()))
                }
                LaneBy::Position => Op::set(lane, Operand::Const(entry.into())),
            };
            b.table(Table::always(format!("hash_entry{entry}"), Action::compute("hash", [op])));
            lanes.push(lane);
        }
        lanes
    }

    /// Adds the lane's table of the second stage: the first entry with this lane takes it.
    fn choose(self, b: &mut Builder, lane: u8, lanes_of: &[FieldId]) -> Lane {
        let taken = b.field(format!("taken{lane}"), 4);
        let id = b.field(format!("id{lane}"), 32);
        let values: Vec<FieldId> =
            (0..self.per_entry).map(|v| b.field(format!("value{lane}_{v}"), 32)).collect();
        let actions = (0..self.entries).map(|entry| {
            let own_id = Op::new(
                id,
                Operation::Add,
                Operand::Field(FieldId::ID),
                Operand::Const(entry.into()),
            );
            let mut ops = vec![Op::set(taken, Operand::Const(u32::from(entry) + 1)), own_id];
            ops.extend(
                (0..)
                    .zip(&values)
                    .map(|(v, &to)| Op::set(to, Operand::Field(self.value(entry, v)))),
            );
            Action::compute(format!("take{entry}"), ops)
        });
        let entries = (0..usize::from(self.entries)).map(|entry| {
            let mut patterns = vec![Pattern::any(); lanes_of.len()];
            patterns[entry] = Pattern::exactly(lane.into());
            Entry::new(patterns, entry)
        });
        let keys = lanes_of.iter().copied().map(Key::ternary).collect();
        b.table(Table::matching(
            format!("choose{lane}"),
            keys,
            actions.collect(),
            entries.collect(),
        ));
        Lane { taken, id, values }
    }
}

/// Creates an entry's table of the last stage: the entry is popped if the lane that took it prunes it.
fn pop(entry: u32, drop: FieldId, lanes: &[Lane], pruned: &[FieldId]) -> Table {
    let keys = lanes
        .iter()
        .map(|lane| lane.taken)
        .chain(pruned.iter().copied())
        .map(Key::ternary)
        .collect();
    let entries = (0..lanes.len()).map(|lane| {
        let mut patterns = vec![Pattern::any(); 2 * lanes.len()];
        patterns[lane] = Pattern::exactly(entry + 1);
        patterns[lanes.len() + lane] = Pattern::exactly(1);
        Entry::new(patterns, 0)
    });
    let set = Action::compute("pop", [Op::set(drop, Operand::Const(1))]);
    Table::matching(format!("pop{entry}"), keys, vec![set], entries.collect())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::algorithm::distinct::{self, Policy, Width};
    use crate::algorithm::group_by;
    use crate::algorithm::top_n::randomized;
    use crate::experiment::conformance::{assert_touches_what_fits, stream};
    use crate::switch::{Interpreter, Packet, Target, fit};
    use crate::{Ties, Verdict, p4};

    /// Packs single entries into packets, runs them, and returns the entries that are left.
    fn left(program: &Program, singles: &[Packet], entries: usize) -> Vec<Vec<u32>> {
        let packets: Vec<Packet> = singles
            .chunks_exact(entries)
            .map(|run| {
                Packet::new(
                    0,
                    run[0].id,
                    run.iter().flat_map(|p| p.values.clone()).collect::<Vec<_>>(),
                )
            })
            .collect();
        assert_touches_what_fits(program, &packets);
        let mut interpreter = Interpreter::new(program.clone()).unwrap();
        let verdicts: Vec<Verdict> =
            packets.iter().flat_map(|packet| interpreter.run_entries(packet).unwrap()).collect();
        singles
            .iter()
            .zip(verdicts)
            .filter(|(_, v)| *v == Verdict::Forward)
            .map(|(p, _)| p.values.clone())
            .collect()
    }

    fn distinct() -> Program {
        distinct::Config::new(8, 2, Width::Bits32, Policy::Lru).unwrap().program()
    }

    #[test]
    fn entries_of_one_lane_pass_unlooked_at() {
        let program = multi_entry(&distinct(), 4, LaneBy::Values(1)).unwrap();
        let mut run = Interpreter::new(program).unwrap();
        let mut pruned = |values: [u32; 4]| {
            let verdicts = run.run_entries(&Packet::new(0, 0, values)).unwrap();
            verdicts.iter().filter(|v| **v == Verdict::Prune).count()
        };
        assert_eq!(pruned([7; 4]), 0, "the first is new, the others share its lane");
        assert_eq!(pruned([7; 4]), 1, "only the first is looked at");
    }

    /// DISTINCT of 1000 keys, four entries in a packet: by position each key passes at most once a lane, by value the
    /// entries that share a lane pass every time.
    #[test]
    fn by_position_all_are_looked_at() {
        let single = distinct::Config::new(1024, 2, Width::Bits32, Policy::Lru).unwrap().program();
        let mut rng = crate::rng::Rng::new(4);
        let singles: Vec<Packet> =
            (0..40_000).map(|id| Packet::new(0, id, [rng.below(1000) as u32 + 1])).collect();
        let passed = |lane_by| {
            let program = multi_entry(&single, 4, lane_by).unwrap();
            left(&program, &singles, 4).len() as f64 / singles.len() as f64
        };
        let (position, values) = (passed(LaneBy::Position), passed(LaneBy::Values(1)));
        assert!(position < 0.2 && values > 0.25, "{position} by position, {values} by value");
        let stages = |program| fit(&program, &Target::tofino1()).map(|placed| placed.stages.len());
        let lanes = multi_entry(&distinct(), 4, LaneBy::Position).unwrap();
        assert_eq!(stages(lanes), Ok(7));
    }

    #[test]
    fn it_fits_and_prints() {
        let program = multi_entry(&distinct(), 4, LaneBy::Values(1)).unwrap();
        let placement = fit(&program, &Target::tofino1()).unwrap();
        assert_eq!((placement.stages.len(), placement.stateful_alus()), (10, 8));
        let text = p4::print(&program, p4::Arch::V1Model).unwrap().program;
        assert!(text.contains("hdr.entry3.setInvalid();"));
        assert!(multi_entry(&distinct(), 3, LaneBy::Id).is_err());
        assert!(multi_entry(&distinct(), 4, LaneBy::Values(2)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn distinct_keeps_every_key(
            packets in stream(1, 160), entries in prop::sample::select(vec![2_u8, 4, 8]), by_position: bool,
        ) {
            let lane_by = if by_position { LaneBy::Position } else { LaneBy::Values(1) };
            let program = multi_entry(&distinct(), entries, lane_by).unwrap();
            let keys: BTreeSet<Vec<u32>> = packets.iter().map(|p| p.values.clone()).collect();
            let left: BTreeSet<Vec<u32>> = left(&program, &packets, entries.into()).into_iter().collect();
            prop_assert_eq!(left, keys);
        }

        #[test]
        fn group_by_keeps_every_maximum(packets in stream(2, 160), entries in prop::sample::select(vec![2_u8, 4])) {
            let single = group_by::Config::new(4, 2, group_by::Extreme::Max, Ties::Keep, false).unwrap();
            let program = multi_entry(&single.program(), entries, LaneBy::Values(1)).unwrap();
            let best = |entries: &mut dyn Iterator<Item = Vec<u32>>| {
                entries.fold(BTreeMap::new(), |mut best: BTreeMap<u32, u32>, e| {
                    let value = best.entry(e[0]).or_default();
                    *value = (*value).max(e[1]);
                    best
                })
            };
            let all = best(&mut packets.iter().map(|p| p.values.clone()));
            prop_assert_eq!(best(&mut left(&program, &packets, entries.into()).into_iter()), all);
        }

        #[test]
        fn top_n_keeps_the_greatest(packets in stream(1, 160), n in 1..5_u32, by_position: bool) {
            let single = randomized::Config::new(4, n, Ties::Keep, 0).unwrap().program();
            let lane_by = if by_position { LaneBy::Position } else { LaneBy::Id };
            let program = multi_entry(&single, 4, lane_by).unwrap();
            let top = |mut values: Vec<Vec<u32>>| {
                values.sort_unstable_by(|a, b| b.cmp(a));
                values.truncate(n as usize);
                values
            };
            let all = top(packets.iter().map(|p| p.values.clone()).collect());
            prop_assert_eq!(top(left(&program, &packets, 4)), all);
        }
    }
}
