//! TOP N with doubling cutoffs (paper §4.3), which is always right.
//!
//! The first `n` entries set `t0`, the least of them. Cutoff `i` is `t0 · 2^i`; once `n` entries were at or above it,
//! no smaller value can be in the answer. The cutoffs grow exponentially because one register and a few stages must
//! serve values of any magnitude. They saturate, since a wrapped cutoff would prune too much. A `t0` of zero makes
//! all cutoffs zero and prunes nothing, so workers add an offset where zeros are likely.
//!
//! The algorithm is safe because a pruned value is *strictly* below a cutoff that `n` forwarded entries reach.

use std::fmt;

use serde::Serialize;

use crate::algorithm::config::in_range;
use crate::algorithm::pruner::columns;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, Entry, FieldId, Half, Index, Key,
    Op, Operand, Operation, Pattern, Program, RejectedPacket, Relation, Source, Stateful, Table,
    Test, Update,
};
use crate::{ConfigError, Entries, Pruner, Selection};

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    n: u32,
    cutoffs: u32,
}

impl Config {
    /// Returns the greatest `n` (at least 1) entries, with `cutoffs` (0 to 31) cutoffs beyond `t0`.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(n: u32, cutoffs: u32) -> Result<Self, ConfigError> {
        in_range("n", n, 1, u32::MAX - 1)?;
        in_range("cutoffs", cutoffs, 0, 31)?;
        Ok(Self { n, cutoffs })
    }

    /// Returns the paper's default: the greatest 250 with 4 cutoffs.
    #[must_use]
    pub const fn paper() -> Self {
        Self { n: 250, cutoffs: 4 }
    }

    /// Returns the number of entries that the query returns.
    #[must_use]
    pub const fn n(&self) -> u32 {
        self.n
    }

    /// Returns the number of cutoffs beyond `t0`.
    #[must_use]
    pub const fn cutoffs(&self) -> u32 {
        self.cutoffs
    }

    /// Returns the program; its packets carry the value.
    #[must_use]
    pub fn program(&self) -> Program {
        let mut b = Builder::new("top_n_deterministic", 1);
        let value = FieldId::value(0);
        let (warm, prune) = (b.field("warm", 1), b.verdict("prune"));
        let increment =
            |when| Update::new(when, Operation::Add, AluOperand::MemLo, AluOperand::Const(1));

        b.stage();
        let seen = b.register("seen", Cell::Bit32, 1);
        let count = Stateful::on(seen, Index::Zero)
            .compare_lo(Compare::mem_const(Half::Lo, Relation::Lt, self.n))
            .set_lo(increment(ComparePredicate::LO))
            .set_hi(Update::set(ComparePredicate::LO, AluOperand::Const(1)))
            .output(warm, Source::AluHi, ComparePredicate::ALWAYS);
        b.table(Table::always("count_warm", Action::access("count", count)));

        b.stage();
        let least = b.register_of("least", Cell::Bit32, 1, [u32::MAX, 0]);
        let mut cutoff = b.field("cutoff0", 32);
        let lower = Stateful::on(least, Index::Zero)
            .set_lo(Update::new(
                ComparePredicate::ALWAYS,
                Operation::Min,
                AluOperand::MemLo,
                AluOperand::Field(value),
            ))
            .output(cutoff, Source::AluLo, ComparePredicate::ALWAYS);
        let read = Stateful::on(least, Index::Zero).output(
            cutoff,
            Source::MemLo,
            ComparePredicate::ALWAYS,
        );
        let actions = vec![Action::access("lower", lower), Action::access("read", read)];
        let entries = vec![Entry::new([Pattern::exactly(1)], 0)];
        b.table(
            Table::matching("least_of_warm", vec![Key::exact(warm)], actions, entries).otherwise(1),
        );

        let mut drop = Vec::new();
        for number in 0..=self.cutoffs {
            b.stage();
            let short = b.field(format!("short{number}"), 32);
            let mut ops = vec![Op::new(
                short,
                Operation::SubSaturating,
                Operand::Field(cutoff),
                Operand::Field(value),
            )];
            if number < self.cutoffs {
                let next = b.field(format!("cutoff{}", number + 1), 32);
                let (a, b) = (Operand::Field(cutoff), Operand::Field(cutoff));
                ops.push(Op::new(next, Operation::AddSaturating, a, b));
                cutoff = next;
            }
            b.table(Table::always(format!("compare{number}"), Action::compute("compare", ops)));
            if number == 0 {
                drop.push(Test::is_not(short, 0));
            } else {
                b.stage();
                drop.push(Test::is(self.count_reached(&mut b, number, short), 1));
            }
        }
        // `warm` needs no test: none of the first n is below their least, and no cutoff is reached n times before
        // they end.
        b.stage();
        let set = Action::compute("drop", [Op::set(prune, Operand::Const(1))]);
        b.table(Table::always("drop_small", set).when(drop));
        b.finish()
    }

    /// Adds the table that counts entries at or above a cutoff, up to `n`. The returned field is set if the entry is
    /// below a cutoff that `n` entries reached.
    fn count_reached(&self, b: &mut Builder, number: u32, short: FieldId) -> FieldId {
        let below = b.field(format!("below{number}"), 1);
        let reached = b.register(format!("reached{number}"), Cell::Bit32, 1);
        let count = Stateful::on(reached, Index::Zero)
            .compare_lo(Compare::field_const(short, Relation::Eq, 0))
            .compare_hi(Compare::mem_const(Half::Lo, Relation::Lt, self.n))
            .set_lo(Update::new(
                ComparePredicate::BOTH,
                Operation::Add,
                AluOperand::MemLo,
                AluOperand::Const(1),
            ))
            .set_hi(Update::set(ComparePredicate::NEITHER, AluOperand::Const(1)))
            .output(below, Source::AluHi, ComparePredicate::ALWAYS);
        b.table(Table::always(format!("count{number}"), Action::access("count", count)));
        below
    }

    /// Returns the fast path, with empty state.
    #[must_use]
    pub fn pruner(&self) -> TopN {
        TopN { config: *self, seen: 0, least: u32::MAX, reached: vec![0; self.cutoffs as usize] }
    }
}

checked_when_read!(Config { n: u32, cutoffs: u32 } => Self::new(n, cutoffs));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "top_n_deterministic(n={}, cutoffs={})", self.n, self.cutoffs)
    }
}

/// The fast path of the deterministic TOP N.
#[derive(Debug, Clone)]
pub struct TopN {
    config: Config,
    seen: u32,
    least: u32,
    reached: Vec<u32>,
}

impl TopN {
    #[inline]
    fn keeps(&mut self, value: u32) -> bool {
        let n = self.config.n;
        let warm = self.seen < n;
        if warm {
            self.seen += 1;
            self.least = self.least.min(value);
        }
        let mut cutoff = self.least;
        let mut below = value < cutoff;
        for reached in &mut self.reached {
            cutoff = cutoff.saturating_add(cutoff);
            if value >= cutoff {
                *reached += u32::from(*reached < n);
            } else {
                below |= *reached >= n;
            }
        }
        !below
    }
}

impl Pruner for TopN {
    fn values(&self) -> usize {
        1
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let [values] = columns(entries)?;
        selection.fill(values.len(), |i| self.keeps(values[i]));
        Ok(())
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let scalars = [self.seen, self.least].into_iter().chain(self.reached.iter().copied());
        scalars.map(|scalar| vec![[scalar, 0]]).collect()
    }

    fn reset(&mut self) {
        *self = self.config.pruner();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::experiment::conformance::{
        assert_mutants_are_caught, assert_sound, forwarded, random_stream, stream,
    };
    use crate::switch::{Packet, Target, fit};

    /// Returns the greatest `n` values, descending.
    fn top(packets: &[Packet], n: u32) -> Vec<u32> {
        let mut values: Vec<u32> = packets.iter().map(|p| p.values[0]).collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        values.truncate(n as usize);
        values
    }

    #[test]
    fn large_values_pass_and_small_ones_do_not() {
        // The released program prunes the 900 and the 1000 of this stream: see `released::top_n`.
        let values = [50, 40, 60, 500, 500, 500, 500, 500, 500, 10, 20, 30, 900, 1000];
        let packets: Vec<Packet> =
            (0..).zip(values).map(|(id, v)| Packet::new(0, id, [v])).collect();
        let keep = forwarded(&Config::new(3, 1).unwrap().program(), &packets);
        let pruned: Vec<u32> =
            values.iter().zip(keep).filter(|(_, keep)| !keep).map(|(v, _)| *v).collect();
        assert_eq!(pruned, [10, 20, 30]);
    }

    #[test]
    fn cutoffs_saturate() {
        let values = [u32::MAX - 1, u32::MAX - 2, u32::MAX - 3];
        let packets: Vec<Packet> =
            (0..).zip(values).map(|(id, v)| Packet::new(0, id, [v])).collect();
        assert_eq!(
            forwarded(&Config::new(1, 4).unwrap().program(), &packets),
            [true, false, false]
        );
    }

    #[test]
    fn stages() {
        let stages = |cutoffs| {
            let program = Config::new(250, cutoffs).unwrap().program();
            fit(&program, &Target::tofino1()).map(|p| (p.stages.len(), p.stateful_alus()))
        };
        assert_eq!(stages(1), Ok((6, 3)), "as the released program with one cutoff");
        assert_eq!(
            stages(4),
            Ok((9, 6)),
            "the paper's w + 1 leaves out doubling, comparing and dropping"
        );
        assert!(stages(8).is_err());
    }

    #[test]
    fn mutants_are_caught() {
        let config = Config::new(3, 2).unwrap();
        let mut streams: Vec<_> =
            [8, 60, 400, 5000].map(|range| random_stream(3, 1, 200, range)).into();
        streams.push((0..40).map(|id| Packet::new(0, id, [id + 5])).collect());
        streams.push((0..40).map(|id| Packet::new(0, id, [45 - id])).collect());
        let equivalent = [
            ("count_warm.count: comparator 0 Lt -> Ne", "the count never exceeds n"),
            ("count1.count: comparator 1 Lt -> Ne", "the count never exceeds n"),
            ("count2.count: comparator 1 Lt -> Ne", "the count never exceeds n"),
            ("comparator 0 Eq -> Le", "an unsigned shortfall is never negative"),
        ];
        assert_mutants_are_caught(&config.program(), &mut config.pruner(), &streams, &equivalent);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn answer_is_unchanged(packets in stream(1, 200), n in 1..20_u32, cutoffs in 0..6_u32) {
            let config = Config::new(n, cutoffs).unwrap();
            assert_sound(&config.program(), &mut config.pruner(), &packets, |p| top(p, n));
        }
    }
}
