//! `SELECT key, MAX(value) GROUP BY key`, and MIN: drop an entry that does not improve its group's best value (paper
//! appendix A).
//!
//! The state is several direct-mapped tables of (key, value), each with its own hash. An entry is dropped if a table
//! holds its key with a better value. Otherwise it replaces the content of its cell and goes on to the next table.
//! The algorithm is deterministic: the better value was forwarded before.
//!
//! # On the switch
//!
//! A key of 32 bits and its value share one pair of registers: one stage for each table. A key of 64 bits fills a
//! pair by itself, and its value needs a second stage. The hashes end in CRCs with different polynomials
//! ([`Hashing`]); the released program's CRC over `key + offset` maps colliding keys to colliding cells in every row.
//!
//! If an entry has several values, each has its own tables, side by side with the others' in the same stages. The
//! entry is dropped if all its values are beaten. A value that beats another came with an entry that was not beaten
//! in that value, and so was forwarded.
//!
//! Empty cells hold key 0 with the worst value. A tie with such a cell is not a tie with an entry, so with
//! [`Ties::Prune`] entries of the worst value are forwarded.

mod entry;
mod multi_value;
pub mod plan;
mod question;

pub(crate) use entry::GROUP_BY;
pub use multi_value::ExtraExtremes;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::algorithm::config::{cells_in_range, in_range, index_bits, power_of_two};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::row_hash::{CellIndexes, Hashes, SurvivingEntries};
use crate::algorithm::ties::Ties;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, FieldId, Half, Index, Op,
    Operand, POLYNOMIALS, Program, RejectedPacket, Relation, Source, Stateful, Table, Test, Update,
};
use crate::{ConfigError, Entries, Pruner, Selection};

/// The extreme value that a group keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Extreme {
    /// The greatest value of the group.
    Max,
    /// The least value of the group.
    Min,
}

impl Extreme {
    /// Returns the value that every other beats or equals; empty cells hold it.
    const fn worst(self) -> u32 {
        match self {
            Self::Max => 0,
            Self::Min => u32::MAX,
        }
    }

    /// Returns the rank of a value, where the best has the greatest; it also maps a rank back to its value.
    #[inline]
    const fn rank(self, value: u32) -> u32 {
        value ^ self.worst()
    }

    /// Returns the relation to the packet's value that lets a stored value prune it.
    const fn prunes(self, ties: Ties) -> Relation {
        match (self, ties) {
            (Self::Max, Ties::Keep) => Relation::Gt,
            (Self::Max, Ties::Prune) => Relation::Ge,
            (Self::Min, Ties::Keep) => Relation::Lt,
            (Self::Min, Ties::Prune) => Relation::Le,
        }
    }
}

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    cells: u32,
    tables: u32,
    extreme: Extreme,
    ties: Ties,
    wide: bool,
    hashing: Hashing,
    others: ExtraExtremes,
}

impl Config {
    /// Creates `tables` (1 to 16) tables of `cells` (a power of two) groups; `wide` keys have 64 bits, in two values,
    /// high half first.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(
        cells: u32,
        tables: u32,
        extreme: Extreme,
        ties: Ties,
        wide: bool,
    ) -> Result<Self, ConfigError> {
        power_of_two("cells", cells)?;
        in_range("tables", tables, 1, POLYNOMIALS.len() as u32)?;
        cells_in_range("cells × tables", cells, tables)?;
        let (hashing, others) = (Hashing::DEFAULT, ExtraExtremes::NONE);
        Ok(Self { cells, tables, extreme, ties, wide, hashing, others })
    }

    /// Returns the paper's default: 8 tables of 4096 groups.
    #[must_use]
    pub const fn paper() -> Self {
        Self {
            cells: 4096,
            tables: 8,
            extreme: Extreme::Max,
            ties: Ties::Keep,
            wide: false,
            hashing: Hashing::DEFAULT,
            others: ExtraExtremes::NONE,
        }
    }

    /// Replaces the hash functions.
    #[must_use]
    pub const fn with_hashing(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
    }

    /// Returns the number of groups in a table.
    #[must_use]
    pub const fn cells(&self) -> u32 {
        self.cells
    }

    /// Returns the number of tables.
    #[must_use]
    pub const fn tables(&self) -> u32 {
        self.tables
    }

    /// Returns the extreme that a group keeps; of several values, that of the first.
    #[must_use]
    pub const fn extreme(&self) -> Extreme {
        self.extreme
    }

    /// Returns the program; its packets carry the key (one value, or two if wide), then the value or values.
    #[must_use]
    pub fn program(&self) -> Program {
        match (self.others.is_empty(), self.wide) {
            (false, _) => self.program_of_several(),
            (true, true) => self.wide_program(),
            (true, false) => self.narrow_program(),
        }
    }

    const fn key_values(&self) -> u8 {
        1 + self.wide as u8
    }

    fn narrow_program(&self) -> Program {
        let mut b = Builder::new("group_by", 2);
        let (key, value) = (FieldId::value(0), FieldId::value(1));
        let (case, prune) = (b.field("case", 4), b.verdict("prune"));
        let hashed = self.hashing.mix(&mut b, &[key], &[key]);
        for number in 0..self.tables {
            b.stage();
            let index = self.hash(&mut b, number, &hashed);
            let initial = [0, self.extreme.worst()];
            let register =
                b.register_of(format!("groups{number}"), Cell::Pair32, self.cells, initial);
            let look = Stateful::on(register, index)
                .compare_lo(Compare::mem(Half::Lo, Relation::Eq, key))
                .compare_hi(Compare::mem(Half::Hi, self.extreme.prunes(self.ties), value))
                .set_lo(Update::set(ComparePredicate::ALWAYS, AluOperand::Field(key)))
                .set_hi(Update::set(ComparePredicate::NOT_BOTH, AluOperand::Field(value)))
                .output(case, Source::Predicate, ComparePredicate::ALWAYS);
            let table = Table::always(format!("look{number}"), Action::access("look", look));
            b.table(if number == 0 { table } else { table.when([Test::is_not(case, BEATEN)]) });
        }
        self.drop(&mut b, prune, Test::is(case, BEATEN), value);
        b.finish()
    }

    fn wide_program(&self) -> Program {
        let mut b = Builder::new("group_by", 3);
        let (high, low, value) = (FieldId::value(0), FieldId::value(1), FieldId::value(2));
        let (case, beaten, prune) = (b.field("case", 4), b.field("beaten", 1), b.verdict("prune"));
        let hashed = self.hashing.mix(&mut b, &[high, low], &[high, low]);
        for number in 0..self.tables {
            let index = self.hash(&mut b, number, &hashed);
            let guard =
                |table: Table| if number == 0 { table } else { table.when([Test::is(beaten, 0)]) };
            b.stage();
            let keys = b.register(format!("keys{number}"), Cell::Pair32, self.cells);
            let swap = Stateful::on(keys, index)
                .compare_lo(Compare::mem(Half::Lo, Relation::Eq, low))
                .compare_hi(Compare::mem(Half::Hi, Relation::Eq, high))
                .set_lo(Update::set(ComparePredicate::ALWAYS, AluOperand::Field(low)))
                .set_hi(Update::set(ComparePredicate::ALWAYS, AluOperand::Field(high)))
                .output(case, Source::Predicate, ComparePredicate::ALWAYS);
            b.table(guard(Table::always(format!("key{number}"), Action::access("swap", swap))));
            b.stage();
            let initial = [self.extreme.worst(), 0];
            let values = b.register_of(format!("values{number}"), Cell::Bit32, self.cells, initial);
            let look = Stateful::on(values, index)
                .compare_lo(Compare::field_const(case, Relation::Eq, BEATEN))
                .compare_hi(Compare::mem(Half::Lo, self.extreme.prunes(self.ties), value))
                .set_lo(Update::set(ComparePredicate::NOT_BOTH, AluOperand::Field(value)))
                .set_hi(Update::set(ComparePredicate::BOTH, AluOperand::Const(1)))
                .output(beaten, Source::AluHi, ComparePredicate::ALWAYS);
            b.table(guard(Table::always(format!("value{number}"), Action::access("look", look))));
        }
        self.drop(&mut b, prune, Test::is(beaten, 1), value);
        b.finish()
    }

    fn hash(&self, b: &mut Builder, number: u32, keys: &[FieldId]) -> Index {
        let polynomial = POLYNOMIALS[number as usize];
        Index::Hash(b.hash(format!("cell{number}"), polynomial, keys, index_bits(self.cells)))
    }

    fn drop(&self, b: &mut Builder, prune: FieldId, beaten: Test, value: FieldId) {
        b.stage();
        let drop = Table::always(
            "drop_beaten",
            Action::compute("drop", [Op::set(prune, Operand::Const(1))]),
        );
        let drop = drop.when([beaten]);
        b.table(match self.ties {
            Ties::Keep => drop,
            Ties::Prune => drop.when([Test::is_not(value, self.extreme.worst())]),
        });
    }

    /// Returns the fast path, with empty state.
    #[must_use]
    pub fn pruner(&self) -> GroupBy {
        let words = self.key_values().into();
        GroupBy {
            config: *self,
            hashes: Hashes::new(self.hashing, self.tables as usize, words, index_bits(self.cells)),
            values: self.extremes().map(|extreme| Best::new(self, extreme)).collect(),
        }
    }
}

checked_when_read!(Config { cells: u32, tables: u32, extreme: Extreme, ties: Ties, wide: bool, hashing: Hashing, others: ExtraExtremes } => others.check().and_then(|others| Ok(Self { hashing, others, ..Self::new(cells, tables, extreme, ties, wide)? })));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("group_by")?;
        for extreme in self.extremes() {
            f.write_str(if extreme == Extreme::Max { "_max" } else { "_min" })?;
        }
        let Self { cells, tables, hashing, .. } = self;
        write!(f, "(cells={cells}, tables={tables}{hashing})")
    }
}

/// The comparators' one-hot case in which the cell has the same key with a better value.
const BEATEN: u32 = 8;

/// A key with the rank of its value: the greater, the better.
trait Group: Copy {
    /// Returns true if it has the key of `other` and a rank that is at least as great, or, if ties are kept, greater.
    fn beats<const KEEP_TIES: bool>(self, other: Self) -> bool;
}

/// A 32-bit key above its rank, in one word.
impl Group for u64 {
    #[inline]
    fn beats<const KEEP_TIES: bool>(self, other: Self) -> bool {
        // The key is equal iff the difference is at most the number of ranks above the other's.
        let above = u64::from(!(other as u32));
        let by = self.wrapping_sub(other);
        if KEEP_TIES { by.wrapping_sub(1) < above } else { by <= above }
    }
}

/// High and low half of the key, and the rank. An entry takes 12 bytes, not 16.
impl Group for [u32; 3] {
    #[inline]
    fn beats<const KEEP_TIES: bool>(self, other: Self) -> bool {
        let ([high, low, rank], [other_high, other_low, other_rank]) = (self, other);
        let better = if KEEP_TIES { rank > other_rank } else { rank >= other_rank };
        (high == other_high) & (low == other_low) & better
    }
}

/// Passes a block of entries through all tables, of `size` cells each; `places` are their cells. Returns the entries
/// that no table beats.
#[inline]
fn pass<G: Group, const KEEP_TIES: bool>(
    cells: &mut [G],
    size: usize,
    places: &[CellIndexes],
    len: usize,
    entry: impl Fn(usize) -> G,
) -> SurvivingEntries {
    let mut kept = SurvivingEntries::all(len);
    // The block passes one table after the other, so that no branch depends on a result. Each table receives its
    // entries in the same order as if entry followed entry.
    for (cells, places) in cells.chunks_exact_mut(size).zip(places) {
        kept.retain(|at| {
            let Some(cell) = cells.get_mut(places[at] as usize) else { return false };
            let entry = entry(at);
            let beaten = cell.beats::<KEEP_TIES>(entry);
            *cell = if beaten { *cell } else { entry };
            !beaten
        });
    }
    kept
}

/// The groups of all tables.
#[derive(Debug, Clone)]
enum Cells {
    Narrow(Vec<u64>),
    Wide(Vec<[u32; 3]>),
}

/// The best of one value in each group.
#[derive(Debug, Clone)]
struct Best {
    extreme: Extreme,
    cells: Cells,
}

impl Best {
    fn new(config: &Config, extreme: Extreme) -> Self {
        let groups = (config.cells * config.tables) as usize;
        let cells = if config.wide {
            Cells::Wide(vec![[0; 3]; groups])
        } else {
            Cells::Narrow(vec![0; groups])
        };
        Self { extreme, cells }
    }

    /// Passes a block of entries through the tables, given their keys, in one word or two, and their values.
    #[inline]
    fn pass<const N: usize, const KEEP_TIES: bool>(
        &mut self,
        size: usize,
        places: &[CellIndexes],
        keys: [&[u32]; N],
        values: &[u32],
    ) -> SurvivingEntries {
        let (extreme, len) = (self.extreme, values.len());
        let rank = |at: usize| extreme.rank(values[at]);
        let [first, last] = [keys[0], keys[N - 1]];
        let mut kept = match &mut self.cells {
            Cells::Narrow(cells) => pass::<_, KEEP_TIES>(cells, size, places, len, |at| {
                u64::from(first[at]) << 32 | u64::from(rank(at))
            }),
            Cells::Wide(cells) => {
                pass::<_, KEEP_TIES>(cells, size, places, len, |at| [first[at], last[at], rank(at)])
            }
        };
        // An empty cell of key 0 ties with entries of the worst value.
        if !KEEP_TIES {
            kept.add(len, |at| values[at] == extreme.worst());
        }
        kept
    }

    fn registers(&self, size: usize) -> Vec<Vec<[u32; 2]>> {
        let extreme = self.extreme;
        match &self.cells {
            Cells::Narrow(cells) => {
                let pair = |group: &u64| [(group >> 32) as u32, extreme.rank(*group as u32)];
                cells.chunks(size).map(|table| table.iter().map(pair).collect()).collect()
            }
            Cells::Wide(cells) => {
                let both = |table: &[[u32; 3]]| {
                    let keys = table.iter().map(|&[high, low, _]| [low, high]).collect();
                    let values = table.iter().map(|&[.., rank]| [extreme.rank(rank), 0]).collect();
                    [keys, values]
                };
                cells.chunks(size).flat_map(both).collect()
            }
        }
    }

    fn reset(&mut self) {
        match &mut self.cells {
            Cells::Narrow(cells) => cells.fill(0),
            Cells::Wide(cells) => cells.fill([0; 3]),
        }
    }
}

/// The fast path of GROUP BY MAX and MIN.
#[derive(Debug, Clone)]
pub struct GroupBy {
    config: Config,
    hashes: Hashes,
    /// The tables of each value of an entry.
    values: Vec<Best>,
}

impl GroupBy {
    /// Passes entries through the tables of each value, and selects those with a value that is not beaten. Keys are
    /// hashed once for all values.
    #[inline]
    fn sweep<const N: usize, const KEEP_TIES: bool>(
        &mut self,
        keys: [&[u32]; N],
        values: &[&[u32]],
        selection: &mut Selection,
    ) {
        let (size, bests) = (self.config.cells as usize, &mut self.values);
        selection.clear();
        let key = |at: usize| keys.map(|words| words[at]);
        self.hashes.blocks(keys[0].len(), key, |start, len, places| {
            let block = start..start + len;
            let keys = keys.map(|words| &words[block.clone()]);
            let mut kept = SurvivingEntries::none();
            for (best, values) in bests.iter_mut().zip(values) {
                kept |= best.pass::<N, KEEP_TIES>(size, places, keys, &values[block.clone()]);
            }
            selection.extend_words(len, |from, _| kept.word(from));
        });
    }
}

impl Pruner for GroupBy {
    fn values(&self) -> usize {
        usize::from(self.config.key_values()) + self.values.len()
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let columns = entries.columns();
        if columns.len() != self.values() {
            return Err(RejectedPacket { expected: self.values(), actual: columns.len() });
        }
        let (keys, values) = columns.split_at(self.config.key_values().into());
        match (keys, self.config.ties) {
            (&[key], Ties::Keep) => self.sweep::<_, true>([key], values, selection),
            (&[key], Ties::Prune) => self.sweep::<_, false>([key], values, selection),
            (&[high, low], Ties::Keep) => self.sweep::<_, true>([high, low], values, selection),
            (&[high, low], Ties::Prune) => self.sweep::<_, false>([high, low], values, selection),
            // A key has one word or two.
            _ => {}
        }
        Ok(())
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let size = self.config.cells as usize;
        self.values.iter().flat_map(|best| best.registers(size)).collect()
    }

    fn reset(&mut self) {
        self.values.iter_mut().for_each(Best::reset);
    }
}

#[cfg(test)]
mod tests;
