//! `HAVING SUM(value) > c` and `HAVING COUNT(*) > c`, for values that are not negative.
//!
//! The state is a Count-Min sketch. Each row adds the value to one counter that the key hashes to, so every counter
//! is at least the sum of each of its keys. An entry is forwarded iff all its counters are above `c`. A key whose sum
//! exceeds `c` passes at its last entry at the latest. The master therefore receives every qualifying key, and some
//! that do not qualify. It requests all entries of those keys in a partial second pass and computes exactly.
//!
//! The algorithm is deterministic while the counters survive. A reboot loses sums, and a key may then never pass.
//! Counters saturate at 2³² − 1. Wider or fractional values are sent in coarser units: the worker divides each value
//! rounding *up*, and the threshold rounding *down*; then a group above the threshold is still above it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::algorithm::config::{cells_in_range, in_range, index_bits, power_of_two};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::row_hash::Hashes;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, FieldId, Half, Index, Op,
    Operand, Operation, POLYNOMIALS, Program, RejectedPacket, Relation, Source, Stateful, Table,
    Test, Update,
};
use crate::{ConfigError, Entries, Pruner, Selection};

/// The aggregate that is compared with the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Aggregate {
    /// The sum of a value.
    Sum,
    /// The number of entries.
    Count,
}

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    rows: u32,
    counters: u32,
    threshold: u32,
    aggregate: Aggregate,
    wide: bool,
    hashing: Hashing,
}

impl Config {
    /// Creates a sketch of `rows` (1 to 16) by `counters` (a power of two) for groups above `threshold` (less than
    /// 2³² − 1). `wide` keys have 64 bits, in two values, high half first.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(
        rows: u32,
        counters: u32,
        threshold: u32,
        aggregate: Aggregate,
        wide: bool,
    ) -> Result<Self, ConfigError> {
        in_range("rows", rows, 1, POLYNOMIALS.len() as u32)?;
        power_of_two("counters", counters)?;
        cells_in_range("rows × counters", counters, rows)?;
        // A saturated counter must still be above the threshold.
        if threshold == u32::MAX {
            let greatest = threshold - 1;
            return Err(ConfigError::Unreachable { value: threshold, greatest });
        }
        Ok(Self { rows, counters, threshold, aggregate, wide, hashing: Hashing::DEFAULT })
    }

    /// Returns the paper's default: 3 rows of 1024 counters.
    #[must_use]
    pub const fn paper(threshold: u32) -> Self {
        Self {
            rows: 3,
            counters: 1024,
            threshold,
            aggregate: Aggregate::Sum,
            wide: false,
            hashing: Hashing::DEFAULT,
        }
    }

    /// Replaces the hash functions.
    #[must_use]
    pub const fn with_hashing(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
    }

    /// Returns the number of rows of the sketch.
    #[must_use]
    pub const fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the number of counters in a row.
    #[must_use]
    pub const fn counters(&self) -> u32 {
        self.counters
    }

    /// Returns the threshold that a group must exceed.
    #[must_use]
    pub const fn threshold(&self) -> u32 {
        self.threshold
    }

    const fn key_values(&self) -> u8 {
        if self.wide { 2 } else { 1 }
    }

    const fn packet_values(&self) -> u8 {
        match self.aggregate {
            Aggregate::Sum => self.key_values() + 1,
            Aggregate::Count => self.key_values(),
        }
    }

    /// Returns the program; its packets carry the key, then for [`Aggregate::Sum`] the value.
    #[must_use]
    pub fn program(&self) -> Program {
        let mut b = Builder::new("having_sum", self.packet_values());
        let prune = b.verdict("prune");
        let keys: Vec<FieldId> = (0..self.key_values()).map(FieldId::value).collect();
        let value = FieldId::value(self.key_values());
        let (addend, compare) = match self.aggregate {
            Aggregate::Sum => (
                AluOperand::Field(value),
                Compare::sum(Half::Lo, value, Relation::Gt, self.threshold),
            ),
            // The counter after this entry is mem + 1, and mem + 1 > c iff mem ≥ c.
            Aggregate::Count => {
                (AluOperand::Const(1), Compare::mem_const(Half::Lo, Relation::Ge, self.threshold))
            }
        };
        let hashed = self.hashing.mix(&mut b, &keys, &keys);
        b.stage();
        let mut low = Vec::new();
        for row in 0..self.rows {
            let polynomial = POLYNOMIALS[row as usize];
            let index = b.hash(
                format!("counter{row}"),
                polynomial,
                hashed.clone(),
                index_bits(self.counters),
            );
            let register = b.register(format!("sketch{row}"), Cell::Bit32, self.counters);
            let above = b.field(format!("above{row}"), 1);
            let count = Stateful::on(register, Index::Hash(index))
                .compare_lo(compare)
                .set_lo(Update::new(
                    ComparePredicate::ALWAYS,
                    Operation::AddSaturating,
                    AluOperand::MemLo,
                    addend,
                ))
                .set_hi(Update::set(ComparePredicate::LO, AluOperand::Const(1)))
                .output(above, Source::AluHi, ComparePredicate::ALWAYS);
            b.table(Table::always(format!("count{row}"), Action::access("count", count)));
            low.push(Test::is(above, 0));
        }
        b.stage();
        let drop = Action::compute("drop", [Op::set(prune, Operand::Const(1))]);
        b.table(Table::always("drop_low", drop).when(low));
        b.finish()
    }

    /// Returns the fast path, with empty state.
    #[must_use]
    pub fn pruner(&self) -> Having {
        let bits = index_bits(self.counters);
        Having {
            config: *self,
            hashes: Hashes::new(self.hashing, self.rows as usize, self.key_values().into(), bits),
            counters: vec![0; (self.rows * self.counters) as usize],
        }
    }
}

checked_when_read!(Config { rows: u32, counters: u32, threshold: u32, aggregate: Aggregate, wide: bool, hashing: Hashing } => Self::new(rows, counters, threshold, aggregate, wide).map(|config| config.with_hashing(hashing)));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, counters, threshold, hashing, .. } = self;
        write!(f, "having_sum(rows={rows}, counters={counters}, threshold={threshold}{hashing})")
    }
}

/// The fast path of HAVING SUM and COUNT. Its state is as large as the modelled registers.
#[derive(Debug, Clone)]
pub struct Having {
    config: Config,
    hashes: Hashes,
    counters: Vec<u32>,
}

impl Having {
    #[inline]
    fn sweep<const N: usize>(
        &mut self,
        len: usize,
        key: impl Fn(usize) -> [u32; N],
        value: impl Fn(usize) -> u32,
        selection: &mut Selection,
    ) {
        let (size, threshold) = (self.config.counters as usize, self.config.threshold);
        let counters = &mut self.counters;
        self.hashes.sweep(len, key, selection, |i, placed| {
            let (value, mut above) = (value(i), true);
            for at in placed.cells(size) {
                let sum = counters[at].saturating_add(value);
                counters[at] = sum;
                above &= sum > threshold;
            }
            above
        });
    }
}

impl Pruner for Having {
    fn values(&self) -> usize {
        self.config.packet_values().into()
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let len = entries.len();
        match (entries.columns(), self.config.wide, self.config.aggregate) {
            ([key], false, Aggregate::Count) => self.sweep(len, |i| [key[i]], |_| 1, selection),
            ([key, value], false, Aggregate::Sum) => {
                self.sweep(len, |i| [key[i]], |i| value[i], selection)
            }
            ([high, low], true, Aggregate::Count) => {
                self.sweep(len, |i| [high[i], low[i]], |_| 1, selection);
            }
            ([high, low, value], true, Aggregate::Sum) => {
                self.sweep(len, |i| [high[i], low[i]], |i| value[i], selection);
            }
            (other, _, _) => {
                return Err(RejectedPacket { expected: self.values(), actual: other.len() });
            }
        }
        Ok(())
    }

    fn needs_every_entry(&self) -> bool {
        true
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let rows = self.counters.chunks(self.config.counters as usize);
        rows.map(|row| row.iter().map(|&counter| [counter, 0]).collect()).collect()
    }

    fn reset(&mut self) {
        self.counters.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::experiment::check::check;
    use crate::experiment::conformance::{
        assert_mutants_are_caught, assert_touches_what_fits, forwarded, random_stream, stream,
    };
    use crate::switch::{Interpreter, Packet, Target, fit};

    /// Asserts that every key above the threshold arrives at the master.
    fn assert_no_key_is_lost(config: &Config, packets: &[Packet]) {
        let keys = usize::from(config.key_values());
        let mut sums: BTreeMap<&[u32], u64> = BTreeMap::new();
        for packet in packets {
            let (key, value) = packet.values.split_at(keys);
            *sums.entry(key).or_default() += value.first().map_or(1, |v| u64::from(*v));
        }
        let keep = forwarded(&config.program(), packets);
        let candidates: BTreeSet<&[u32]> = packets
            .iter()
            .zip(keep)
            .filter(|(_, keep)| *keep)
            .map(|(p, _)| &p.values[..keys])
            .collect();
        for (key, sum) in sums {
            assert!(
                sum <= u64::from(config.threshold) || candidates.contains(key),
                "{key:?} is lost"
            );
        }
    }

    #[test]
    fn the_papers_example() {
        // Table 1: SUM(price) > 5 by seller qualifies McCheetah (1) and Papizza (2).
        let rows = [(1, 4), (2, 7), (1, 2), (3, 5)];
        let packets: Vec<Packet> =
            (0..).zip(rows).map(|(id, (k, v))| Packet::new(0, id, [k, v])).collect();
        let config = Config::new(3, 1024, 5, Aggregate::Sum, false).unwrap();
        assert_eq!(forwarded(&config.program(), &packets), [false, true, true, false]);
        let counted = Config::new(3, 1024, 1, Aggregate::Count, false).unwrap();
        let keys: Vec<Packet> =
            packets.iter().map(|p| Packet::new(0, p.id, [p.values[0]])).collect();
        assert_eq!(forwarded(&counted.program(), &keys), [false, false, true, false]);
    }

    #[test]
    fn counters_saturate() {
        let config = Config::new(1, 2, u32::MAX - 1, Aggregate::Sum, false).unwrap();
        let packets: Vec<Packet> = (0..3).map(|id| Packet::new(0, id, [1, 0x7FFF_FFFF])).collect();
        assert_eq!(forwarded(&config.program(), &packets), [false, false, true]);
        let refused = Config::new(1, 2, u32::MAX, Aggregate::Sum, false).unwrap_err().to_string();
        assert!(
            refused.starts_with("the greatest threshold is 4294967294, not 4294967295: a counter")
        );
    }

    #[test]
    fn a_reboot_can_lose_a_key() {
        let mut run =
            Interpreter::new(Config::new(1, 2, 5, Aggregate::Sum, false).unwrap().program())
                .unwrap();
        let mut passed = 0;
        for reboot in [false, true] {
            if reboot {
                run.reset();
            }
            passed += usize::from(run.process(0, 0, &[1, 4]).unwrap() == crate::Verdict::Forward);
        }
        assert_eq!(passed, 0, "the sum is 8, yet nothing passed: the protocol must start over");
    }

    #[test]
    fn stages() {
        let stages = |rows| {
            let program = Config::new(rows, 1024, 5, Aggregate::Sum, false).unwrap().program();
            fit(&program, &Target::tofino1()).map(|p| (p.stages.len(), p.stateful_alus()))
        };
        assert_eq!((stages(3), stages(5)), (Ok((3, 3)), Ok((4, 5))));
    }

    #[test]
    fn mutants_are_caught() {
        for (aggregate, range) in [(Aggregate::Sum, 12), (Aggregate::Count, 12)] {
            let config = Config::new(2, 4, 20, aggregate, false).unwrap();
            let columns = config.pruner().values();
            let mut streams: Vec<_> =
                [1, 2].map(|seed| random_stream(seed, columns, 300, range)).into();
            // These sums meet the threshold exactly.
            let exact = |id| Packet::new(0, id, [3, 1][..columns].to_vec());
            streams.push((0..40).map(exact).collect());
            assert_mutants_are_caught(&config.program(), &mut config.pruner(), &streams, &[]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_qualifying_key_is_lost(
            packets in stream(3, 200), rows in 1..7_u32, counters in 1..6_u32,
            threshold in prop_oneof![0..2000_u32, 0..u32::MAX], count: bool, wide: bool,
        ) {
            let aggregate = if count { Aggregate::Count } else { Aggregate::Sum };
            let config = Config::new(rows, 1 << counters, threshold, aggregate, wide).unwrap();
            let width = config.pruner().values();
            let packets: Vec<Packet> = packets
                .into_iter()
                .map(|p| Packet::new(p.fid, p.id, p.values[..width].to_vec()))
                .collect();
            check(&config.program(), &mut config.pruner(), &packets).unwrap();
            assert_touches_what_fits(&config.program(), &packets);
            assert_no_key_is_lost(&config, &packets);
        }
    }
}
