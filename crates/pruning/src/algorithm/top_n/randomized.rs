//! TOP N with a matrix of rolling maxima (paper §5), which is right with probability at least 1 − δ.
//!
//! An entry goes to a random row. Each row keeps the greatest `columns` values that came to it, descending, and an
//! entry below all of them is dropped. The answer survives if no row receives more than `columns` of the true top N;
//! `theory` chooses rows and columns for a δ.
//!
//! The row is a hash of flow and entry identifier, chosen by a seed. The probability 1 − δ is over the seeds, and a
//! run can be repeated. The hash must not depend on the value, or equal values would crowd one row. It must be mixed
//! ([`Hashing`]), or entries at regular distances would crowd one. The identifiers of a flow begin at
//! [`first_id`](crate::first_id) for the same reason.
//!
//! # On the switch
//!
//! Each column is one stateful ALU. [`Ties::Prune`] needs no flag: each column keeps the greater of its cell and the
//! travelling value and passes the smaller on. The value that leaves the last column equals the packet's value iff
//! that was not kept. A zero value looks like an empty cell there, so zeros are always forwarded. [`Ties::Keep`] must
//! distinguish a tie from a miss. There the travelling number is the evicted value plus one, and zero while the
//! packet's own value has found no place; a table chooses between searching and shifting. The plus one saturates: the
//! greatest code may be stored one too low, which forwards more and prunes less.

use std::fmt;

use serde::Serialize;

use crate::algorithm::config::{cells_in_range, in_range};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::pruner::columns;
use crate::algorithm::row_hash::RowHash;
use crate::algorithm::rows::{self, hash_bits, row_of, rows_in_range};
use crate::algorithm::ties::Ties;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, Entry, FieldId, Half, Key, Op,
    Operand, Operation, Pattern, Program, RejectedPacket, Relation, Source, Stateful, Table, Test,
    Update,
};
use crate::{ConfigError, Entries, Pruner, Selection};

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    rows: u32,
    columns: u32,
    ties: Ties,
    hashing: Hashing,
    /// The number of rows that the query returns; the program does not depend on it.
    n: u32,
}

impl Config {
    /// Creates a matrix of `rows` (2 to 1024, or a power of two) by `columns` (1 to 64). `seed` chooses the hash of
    /// the rows.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(rows: u32, columns: u32, ties: Ties, seed: u64) -> Result<Self, ConfigError> {
        rows_in_range(rows)?;
        in_range("columns", columns, 1, 64)?;
        cells_in_range("rows × columns", rows, columns)?;
        Ok(Self { rows, columns, ties, hashing: Hashing::Mixed { seed }, n: 250 })
    }

    /// Returns the paper's default, for the greatest 250: 4096 rows of 4 values.
    #[must_use]
    pub const fn paper() -> Self {
        Self { rows: 4096, columns: 4, ties: Ties::Keep, hashing: Hashing::DEFAULT, n: 250 }
    }

    /// Replaces the hash function.
    #[must_use]
    pub const fn with_hashing(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
    }

    /// Sets the number of rows that the query returns, 250 by default as in the paper. The program does not depend on
    /// it, but its failure probability does.
    #[must_use]
    pub const fn returning(self, n: u32) -> Self {
        Self { n, ..self }
    }

    /// Returns the number of rows that the query returns.
    #[must_use]
    pub const fn n(&self) -> u32 {
        self.n
    }

    /// Returns the number of rows of the matrix.
    #[must_use]
    pub const fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the number of values in a row.
    #[must_use]
    pub const fn columns(&self) -> u32 {
        self.columns
    }

    /// Returns the treatment of ties.
    #[must_use]
    pub const fn ties(&self) -> Ties {
        self.ties
    }

    /// Returns the program; its packets carry the value.
    #[must_use]
    pub fn program(&self) -> Program {
        let mut b = Builder::new("top_n_randomized", 1);
        let value = FieldId::value(0);
        let (x, prune) = (b.field("travelling", 32), b.verdict("prune"));
        let hashed = self.hashing.mix(&mut b, &[FieldId::FID, FieldId::ID], &[FieldId::ID]);
        let row = rows::choose(&mut b, self.rows, hashed);
        let drop = Table::always(
            "drop_small",
            Action::compute("drop", [Op::set(prune, Operand::Const(1))]),
        );
        let drop = match self.ties {
            Ties::Keep => drop.when([Test::is(x, 0)]),
            Ties::Prune => {
                let zero = b.field("zero", 1);
                b.stage();
                let set = Action::compute("set", [Op::set(zero, Operand::Const(1))]);
                b.table(Table::always("zero_value", set).when([Test::is(value, 0)]));
                drop.when([Test::same(x, value)]).when([Test::is(zero, 0)])
            }
        };
        for column in 0..self.columns {
            if column > 0 || self.ties == Ties::Keep {
                b.stage();
            }
            let register = b.register(format!("column{column}"), Cell::Bit32, self.rows);
            let access = Stateful::on(register, row);
            let name = format!("roll{column}");
            b.table(match self.ties {
                Ties::Prune => {
                    let incoming = AluOperand::Field(if column == 0 { value } else { x });
                    let roll = access
                        .set_lo(Update::new(
                            ComparePredicate::ALWAYS,
                            Operation::Max,
                            AluOperand::MemLo,
                            incoming,
                        ))
                        .set_hi(Update::new(
                            ComparePredicate::ALWAYS,
                            Operation::Min,
                            AluOperand::MemLo,
                            incoming,
                        ))
                        .output(x, Source::AluHi, ComparePredicate::ALWAYS);
                    Table::always(name, Action::access("roll", roll))
                }
                Ties::Keep => {
                    let plus_one = |when| {
                        Update::new(
                            when,
                            Operation::AddSaturating,
                            AluOperand::MemLo,
                            AluOperand::Const(1),
                        )
                    };
                    let search = access
                        .clone()
                        .compare_lo(Compare::mem(Half::Lo, Relation::Le, value))
                        .set_lo(Update::set(ComparePredicate::LO, AluOperand::Field(value)))
                        .set_hi(plus_one(ComparePredicate::LO))
                        .output(x, Source::AluHi, ComparePredicate::ALWAYS);
                    let search = Action::access("search", search);
                    if column == 0 {
                        Table::always(name, search)
                    } else {
                        let (field, minus_one) = (AluOperand::Field(x), AluOperand::Const(-1));
                        let mut shift = access.set_lo(Update::new(
                            ComparePredicate::ALWAYS,
                            Operation::Add,
                            field,
                            minus_one,
                        ));
                        if column + 1 < self.columns {
                            shift = shift.set_hi(plus_one(ComparePredicate::ALWAYS)).output(
                                x,
                                Source::AluHi,
                                ComparePredicate::ALWAYS,
                            );
                        }
                        let actions = vec![search, Action::access("shift", shift)];
                        let entries = vec![Entry::new([Pattern::exactly(0)], 0)];
                        Table::matching(name, vec![Key::exact(x)], actions, entries).otherwise(1)
                    }
                }
            });
        }
        b.stage();
        b.table(drop);
        b.finish()
    }

    /// Returns the fast path, with empty state.
    #[must_use]
    pub fn pruner(&self) -> TopN {
        let bits = hash_bits(self.rows);
        TopN {
            config: *self,
            hash: RowHash::single(self.hashing, 2, 1, bits),
            cells: vec![0; (self.rows * self.columns) as usize],
        }
    }
}

checked_when_read!(Config { rows: u32, columns: u32, ties: Ties, hashing: Hashing, n: u32 } => Self::new(rows, columns, ties, 0).map(|config| config.with_hashing(hashing).returning(n)));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, hashing, .. } = self;
        write!(f, "top_n_randomized(rows={rows}, columns={columns}{hashing})")
    }
}

/// The fast path of the randomized TOP N. Its state is as large as the modelled registers.
#[derive(Debug, Clone)]
pub struct TopN {
    config: Config,
    hash: RowHash<u32>,
    cells: Vec<u32>,
}

/// Puts `value` into its place of the descending row; returns true if it has one.
#[inline]
fn keep_ties(row: &mut [u32], value: u32) -> bool {
    let Some(place) = row.iter().position(|&cell| cell <= value) else { return false };
    let mut travelling = value;
    for cell in &mut row[place..] {
        // The switch passes on the old value plus one, saturated, minus one.
        travelling = std::mem::replace(cell, travelling).min(u32::MAX - 1);
    }
    true
}

/// Keeps the greater of cell and travelling value in each column; returns true if `value` was kept.
#[inline]
fn prune_ties(row: &mut [u32], value: u32) -> bool {
    let mut travelling = value;
    for cell in row {
        (*cell, travelling) = ((*cell).max(travelling), (*cell).min(travelling));
    }
    (travelling != value) | (value == 0)
}

#[inline]
fn in_four(row: &mut [u32], value: u32, keeps: impl Fn(&mut [u32], u32) -> bool) -> bool {
    match row.first_chunk_mut::<4>() {
        Some(row) => keeps(row, value),
        None => true,
    }
}

impl TopN {
    #[inline]
    fn sweep(
        &mut self,
        entries: &Entries<'_>,
        values: &[u32],
        selection: &mut Selection,
        keeps: impl Fn(&mut [u32], u32) -> bool,
    ) {
        let (width, rows) = (self.config.columns as usize, self.config.rows);
        self.hash.start(&entries.flow().to_be_bytes());
        let Self { hash, cells, .. } = self;
        selection.fill(values.len(), |i| {
            let id = entries.first_id().wrapping_add(i as u32);
            let start = row_of(hash.one(id), rows) * width;
            keeps(&mut cells[start..start + width], values[i])
        });
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
        match (self.config.ties, self.config.columns) {
            (Ties::Keep, 4) => {
                self.sweep(entries, values, selection, |row, v| in_four(row, v, keep_ties))
            }
            (Ties::Keep, _) => self.sweep(entries, values, selection, keep_ties),
            (Ties::Prune, 4) => {
                self.sweep(entries, values, selection, |row, v| in_four(row, v, prune_ties))
            }
            (Ties::Prune, _) => self.sweep(entries, values, selection, prune_ties),
        }
        Ok(())
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let (rows, width) = (self.config.rows as usize, self.config.columns as usize);
        (0..width).map(|c| (0..rows).map(|r| [self.cells[r * width + c], 0]).collect()).collect()
    }

    fn reset(&mut self) {
        self.cells.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::experiment::check::check;
    use crate::experiment::conformance::{
        assert_mutants_are_caught, assert_touches_what_fits, fast_forwarded, forwarded,
        random_stream, stream,
    };
    use crate::switch::{Packet, Target, fit};

    fn top(values: impl Iterator<Item = u32>, n: usize) -> Vec<u32> {
        let mut values: Vec<u32> = values.collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        values.truncate(n);
        values
    }

    #[test]
    fn ties() {
        let constant: Vec<Packet> = (0..100).map(|id| Packet::new(0, id, [7])).collect();
        let count = |ties| {
            let program = Config::new(4, 2, ties, 0).unwrap().program();
            forwarded(&program, &constant).into_iter().filter(|keep| *keep).count()
        };
        assert_eq!(count(Ties::Keep), 100);
        assert_eq!(count(Ties::Prune), 8);
    }

    #[test]
    fn stages() {
        for ties in [Ties::Keep, Ties::Prune] {
            let stages = |columns| {
                let program = Config::new(4096, columns, ties, 0).unwrap().program();
                fit(&program, &Target::tofino1()).map(|p| p.stages.len())
            };
            // One stage mixes the row's hash and one drops.
            assert_eq!((stages(4), stages(8), stages(10)), (Ok(6), Ok(10), Ok(12)));
            assert!(stages(11).is_err());
        }
    }

    #[test]
    fn mutants_are_caught() {
        let streams: Vec<_> = [6, 50, 100_000].map(|range| random_stream(5, 1, 300, range)).into();
        let keep = Config::new(4, 3, Ties::Keep, 0).unwrap();
        let equivalent = [
            (
                "roll0.search: comparator 0 Le -> Lt",
                "a tie that finds its place a column later leaves the same row",
            ),
            (
                "roll1.search: comparator 0 Le -> Lt",
                "as for roll0; roll2 is the last column and is caught",
            ),
        ];
        assert_mutants_are_caught(&keep.program(), &mut keep.pruner(), &streams, &equivalent);
        let prune = Config::new(4, 3, Ties::Prune, 0).unwrap();
        assert_mutants_are_caught(&prune.program(), &mut prune.pruner(), &streams, &[]);
    }

    /// d·P[Bin(N, 1/d) > w] bounds the failures; here 16 · P[Bin(20, 1/16) > 5] < 0.02.
    #[test]
    fn failures_stay_within_the_bound() {
        let (mut failures, runs, n) = (0, 600, 20);
        for run in 0..runs {
            let config = Config::new(16, 5, Ties::Keep, run).unwrap();
            let packets = random_stream(run, 1, 400, u32::MAX);
            let keep = fast_forwarded(&mut config.pruner(), &packets, 64);
            let left = packets.iter().zip(keep).filter(|(_, keep)| *keep).map(|(p, _)| p.values[0]);
            failures += usize::from(top(left, n) != top(packets.iter().map(|p| p.values[0]), n));
        }
        // 600 runs at 0.02 expect 12; 25 or more have a probability below 0.001.
        assert!(failures < 25, "{failures} of {runs} runs lost a row");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn fast_path_is_the_program(
            packets in stream(1, 200), rows in 1..4_u32, columns in 1..6_u32, prune: bool, seed: u64, linear: bool,
        ) {
            let ties = if prune { Ties::Prune } else { Ties::Keep };
            let mut config = Config::new(1 << rows, columns, ties, seed).unwrap();
            if linear {
                config = config.with_hashing(Hashing::Linear);
            }
            check(&config.program(), &mut config.pruner(), &packets).unwrap();
            assert_touches_what_fits(&config.program(), &packets);
        }

        /// With as many columns as the query has rows, no row can overflow, and the answer is exact.
        #[test]
        fn wide_rows_never_fail(packets in stream(1, 150), n in 1..6_u32, prune: bool) {
            let ties = if prune { Ties::Prune } else { Ties::Keep };
            let config = Config::new(4, n, ties, 0).unwrap();
            let keep = forwarded(&config.program(), &packets);
            let left = packets.iter().zip(keep).filter(|(_, keep)| *keep).map(|(p, _)| p.values[0]);
            prop_assert_eq!(top(left, n as usize), top(packets.iter().map(|p| p.values[0]), n as usize));
        }
    }
}
