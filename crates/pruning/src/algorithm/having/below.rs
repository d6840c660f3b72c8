//! `HAVING SUM(value) < c`, for values that are not negative.
//!
//! The paper leaves this direction to future work, because the sketch of [`sum`](super::sum) only bounds a sum from
//! above. Here a group has a cell of its own, as in [`group_sum`](crate::algorithm::group_sum), whose sum never
//! exceeds the group's. Once the entries of a group that were forwarded add up to c, the group cannot qualify, and its
//! further entries are dropped. The master sees a sum of at least c and excludes the group; the sums of the groups that
//! qualify are complete. The algorithm is deterministic, needs one pass, and a reboot costs only pruning. Groups
//! without a cell are forwarded.
//!
//! On the switch, a table takes a stage of keys and one of sums, whose ALU also compares. The next table's keys share
//! the stage of the sums, so `w` tables take w + 1 stages, besides the one that mixes the hash and the one that drops.

use std::fmt;

use serde::Serialize;

use crate::algorithm::config::{cells_in_range, in_range, index_bits, power_of_two};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::pruner::columns;
use crate::algorithm::row_hash::Hashes;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, FieldId, Half, Index, Op,
    Operand, Operation, POLYNOMIALS, Program, RejectedPacket, Relation, Source, Stateful, Table,
    Test, Update,
};
use crate::{ConfigError, Entries, Pruner, Selection};

/// The comparators' one-hot case in which a cell is neither empty nor of the key.
const NEITHER: u32 = 1;

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    cells: u32,
    tables: u32,
    threshold: u32,
    hashing: Hashing,
}

impl Config {
    /// Creates `tables` (1 to 16) tables of `cells` (a power of two) groups, of which those qualify whose sum is below
    /// `threshold` (1 or more).
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(cells: u32, tables: u32, threshold: u32) -> Result<Self, ConfigError> {
        power_of_two("cells", cells)?;
        in_range("tables", tables, 1, POLYNOMIALS.len() as u32)?;
        cells_in_range("2 × cells × tables", cells, 2 * tables)?;
        in_range("threshold", threshold, 1, u32::MAX)?;
        Ok(Self { cells, tables, threshold, hashing: Hashing::DEFAULT })
    }

    /// Replaces the hash functions.
    #[must_use]
    pub const fn with_hashing(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
    }

    /// Returns the sum that groups must stay below.
    #[must_use]
    pub const fn threshold(&self) -> u32 {
        self.threshold
    }

    /// Returns the program; its packets carry the key and the value.
    #[must_use]
    pub fn program(&self) -> Program {
        let mut b = Builder::new("having_below", 2);
        let (key, value) = (FieldId::value(0), FieldId::value(1));
        let (full, prune) = (b.field("full", 1), b.verdict("prune"));
        let hashed = self.hashing.mix(&mut b, &[key], &[key]);
        let index = |b: &mut Builder, number: u32| {
            let polynomial = POLYNOMIALS[number as usize];
            let (name, bits) = (format!("cell{number}"), index_bits(self.cells));
            Index::Hash(b.hash(name, polynomial, hashed.clone(), bits))
        };
        let mut before: Option<(FieldId, Table)> = None;
        for number in 0..self.tables {
            b.stage();
            let index = index(&mut b, number);
            let keys = b.register(format!("keys{number}"), Cell::Bit32, self.cells);
            let sums = b.register(format!("sums{number}"), Cell::Bit32, self.cells);
            let case = b.field(format!("case{number}"), 4);
            let find = Stateful::on(keys, index)
                .compare_lo(Compare::mem(Half::Lo, Relation::Eq, key))
                .compare_hi(Compare::mem_const(Half::Lo, Relation::Eq, 0))
                .set_lo(Update::set(ComparePredicate::HI, AluOperand::Field(key)))
                .output(case, Source::Predicate, ComparePredicate::ALWAYS);
            let find = Table::always(format!("find{number}"), Action::access("find", find));
            let add = Stateful::on(sums, index)
                .compare_lo(Compare::mem_const(Half::Lo, Relation::Ge, self.threshold))
                .set_lo(Update::new(
                    ComparePredicate::ALWAYS,
                    Operation::AddSaturating,
                    AluOperand::MemLo,
                    AluOperand::Field(value),
                ))
                .set_hi(Update::set(ComparePredicate::LO, AluOperand::Const(1)))
                .output(full, Source::AluHi, ComparePredicate::ALWAYS);
            // The sum is added if the cell belongs to the entry.
            let add = Table::always(format!("add{number}"), Action::access("add", add));
            let add = add.when([Test::is_not(case, 0)]).when([Test::is_not(case, NEITHER)]);
            match before.replace((case, add)) {
                Some((case, add)) => {
                    b.table(find.when([Test::is(case, NEITHER)]));
                    b.table(add);
                }
                None => b.table(find.when([Test::is_not(key, 0)])),
            }
        }
        if let Some((_, add)) = before {
            b.stage();
            b.table(add);
        }
        b.stage();
        let drop = Action::compute("drop", [Op::set(prune, Operand::Const(1))]);
        b.table(Table::always("drop_full", drop).when([Test::is(full, 1)]));
        b.finish()
    }

    /// Returns the fast path, with empty state.
    #[must_use]
    pub fn pruner(&self) -> Having {
        let groups = (self.cells * self.tables) as usize;
        Having {
            cells: self.cells as usize,
            threshold: self.threshold,
            hashes: Hashes::new(self.hashing, self.tables as usize, 1, index_bits(self.cells)),
            keys: vec![0; groups],
            sums: vec![0; groups],
        }
    }
}

checked_when_read!(Config { cells: u32, tables: u32, threshold: u32, hashing: Hashing } => Self::new(cells, tables, threshold).map(|config| config.with_hashing(hashing)));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cells, tables, threshold, hashing } = self;
        write!(f, "having_below(cells={cells}, tables={tables}, threshold={threshold}{hashing})")
    }
}

/// The fast path of HAVING SUM below a threshold.
#[derive(Debug, Clone)]
pub struct Having {
    cells: usize,
    threshold: u32,
    hashes: Hashes,
    /// The keys, table after table; 0 means an empty cell.
    keys: Vec<u32>,
    /// The sums, parallel to the keys.
    sums: Vec<u32>,
}

impl Pruner for Having {
    fn values(&self) -> usize {
        2
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let [keys, values] = columns(entries)?;
        let Self { cells, threshold, hashes, keys: groups, sums } = self;
        hashes.sweep(
            keys.len(),
            |i| [keys[i]],
            selection,
            |i, placed| {
                let key = keys[i];
                if key == 0 {
                    return true;
                }
                for at in placed.cells(*cells) {
                    let (Some(group), Some(sum)) = (groups.get_mut(at), sums.get_mut(at)) else {
                        break;
                    };
                    if *group == 0 || *group == key {
                        *group = key;
                        let below = *sum < *threshold;
                        *sum = sum.saturating_add(values[i]);
                        return below;
                    }
                }
                true
            },
        );
        Ok(())
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let array = |numbers: &[u32]| numbers.iter().map(|&number| [number, 0]).collect();
        let tables = self.keys.chunks(self.cells).zip(self.sums.chunks(self.cells));
        tables.flat_map(|(keys, sums)| [array(keys), array(sums)]).collect()
    }

    fn reset(&mut self) {
        self.keys.fill(0);
        self.sums.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::experiment::conformance::{
        assert_mutants_are_caught, assert_sound, forwarded, random_stream, stream,
    };
    use crate::switch::{Packet, Target, fit};

    /// Table 1: SUM(price) < 7 by seller qualifies McCheetah (6) and JellyFish (5). A group's further entries are
    /// dropped once it has reached the threshold.
    #[test]
    fn what_has_reached_the_threshold_is_dropped() {
        let rows = [(1, 4), (2, 7), (1, 2), (3, 5), (2, 1), (2, 9), (1, 1), (1, 1)];
        let packets: Vec<Packet> =
            (0..).zip(rows).map(|(id, (k, v))| Packet::new(0, id, [k, v])).collect();
        let config = Config::new(1024, 2, 7).unwrap();
        let expected = [true, true, true, true, false, false, true, false];
        assert_eq!(forwarded(&config.program(), &packets), expected);
    }

    #[test]
    fn stages() {
        let program = Config::new(4096, 4, 7).unwrap().program();
        let placement = fit(&program, &Target::tofino1()).unwrap();
        assert_eq!((placement.stages.len(), placement.stateful_alus()), (7, 8));
        assert!(Config::new(4096, 4, 0).is_err());
    }

    #[test]
    fn mutants_are_caught() {
        let config = Config::new(4, 2, 20).unwrap();
        let mut streams: Vec<_> = [1, 2, 3].map(|seed| random_stream(seed, 2, 600, 13)).into();
        // These sums meet the threshold exactly.
        streams.push((0..600).map(|id| Packet::new(0, id, [1 + id % 12, 1])).collect());
        let equivalent = [("comparator 1 Eq -> Le", "no key is below 0")];
        assert_mutants_are_caught(&config.program(), &mut config.pruner(), &streams, &equivalent);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn answer_is_unchanged(
            packets in stream(2, 200), bits in 1..5_u32, tables in 1..4_u32,
            c in prop_oneof![1..300_u32, 1..=u32::MAX],
        ) {
            let config = Config::new(1 << bits, tables, c).unwrap();
            assert_sound(&config.program(), &mut config.pruner(), &packets, |packets| {
                let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
                for packet in packets {
                    *sums.entry(packet.values[0]).or_default() += u64::from(packet.values[1]);
                }
                sums.retain(|_, sum| *sum < c.into());
                sums
            });
        }
    }
}
