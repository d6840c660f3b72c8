//! `SELECT key, MAX(value) GROUP BY key`, and MIN: drop an entry that its group's best beats
//! (paper appendix A).
//!
//! Several direct-mapped tables of (key, value), each with its own hash. An entry is dropped if a
//! table holds its key with a better value; otherwise it replaces what it finds, and goes on to the
//! next table. Deterministic: what beats a dropped entry was forwarded before.
//!
//! # On the switch
//!
//! A key of 32 bits and its value share one pair of registers: one stage for each table. A key of
//! 64 bits fills a pair by itself, and its value needs a second stage. The hashes are CRCs with
//! different polynomials; the released program's CRC over `key + offset` maps colliding keys to
//! colliding cells in every row.
//!
//! Empty cells hold key 0 with the worst value. A tie with that cell is no tie with an entry, so with
//! [`Ties::Prune`] entries of the worst value are forwarded.

use crate::config::{in_range, index_bits, power_of_two};
use crate::pruner::columns;
use crate::row_hash::Lanes;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, FieldId, Half, Index, Op, Operand, POLYNOMIALS,
    Program, Relation, Source, Stateful, Table, Test, Update, When, WrongValues,
};
use crate::ties::Ties;
use crate::{ConfigError, Entries, Pruner, Selection};

/// Which value of a group is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    /// The greatest.
    Max,
    /// The least.
    Min,
}

impl Extreme {
    /// The value that every other beats or equals: what empty cells hold.
    const fn worst(self) -> u32 {
        match self {
            Self::Max => 0,
            Self::Min => u32::MAX,
        }
    }

    /// How a stored value that prunes relates to the packet's.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    cells: u32,
    tables: u32,
    extreme: Extreme,
    ties: Ties,
    wide: bool,
}

impl Config {
    /// `tables` (1 to 16) tables of `cells` (a power of two) groups; `wide` keys are 64 bits, in two
    /// values, high half first.
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
        Ok(Self { cells, tables, extreme, ties, wide })
    }

    /// The paper's default: 8 tables of 4096 groups.
    #[must_use]
    pub const fn paper() -> Self {
        Self { cells: 4096, tables: 8, extreme: Extreme::Max, ties: Ties::Keep, wide: false }
    }

    /// Groups in a table.
    #[must_use]
    pub const fn cells(&self) -> u32 {
        self.cells
    }

    /// Tables, one after the other.
    #[must_use]
    pub const fn tables(&self) -> u32 {
        self.tables
    }

    /// The program: its packets carry the key (one value, or two if wide), then the value.
    #[must_use]
    pub fn program(&self) -> Program {
        if self.wide { self.wide_program() } else { self.narrow_program() }
    }

    fn narrow_program(&self) -> Program {
        let mut b = Builder::new("group_by", 2);
        let (key, value) = (FieldId::value(0), FieldId::value(1));
        let (case, prune) = (b.field("case", 4), b.verdict("prune"));
        for number in 0..self.tables {
            b.stage();
            let index = self.hash(&mut b, number, &[key]);
            let initial = [0, self.extreme.worst()];
            let register =
                b.register_of(format!("groups{number}"), Cell::Pair32, self.cells, initial);
            let look = Stateful::on(register, index)
                .compare_lo(Compare::mem(Half::Lo, Relation::Eq, key))
                .compare_hi(Compare::mem(Half::Hi, self.extreme.prunes(self.ties), value))
                .set_lo(Update::set(When::ALWAYS, AluOperand::Field(key)))
                .set_hi(Update::set(When::NOT_BOTH, AluOperand::Field(value)))
                .output(case, Source::Predicate, When::ALWAYS);
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
        for number in 0..self.tables {
            let index = self.hash(&mut b, number, &[high, low]);
            let guard =
                |table: Table| if number == 0 { table } else { table.when([Test::is(beaten, 0)]) };
            b.stage();
            let keys = b.register(format!("keys{number}"), Cell::Pair32, self.cells);
            let swap = Stateful::on(keys, index)
                .compare_lo(Compare::mem(Half::Lo, Relation::Eq, low))
                .compare_hi(Compare::mem(Half::Hi, Relation::Eq, high))
                .set_lo(Update::set(When::ALWAYS, AluOperand::Field(low)))
                .set_hi(Update::set(When::ALWAYS, AluOperand::Field(high)))
                .output(case, Source::Predicate, When::ALWAYS);
            b.table(guard(Table::always(format!("key{number}"), Action::access("swap", swap))));
            b.stage();
            let initial = [self.extreme.worst(), 0];
            let values = b.register_of(format!("values{number}"), Cell::Bit32, self.cells, initial);
            let look = Stateful::on(values, index)
                .compare_lo(Compare::field_const(case, Relation::Eq, BEATEN))
                .compare_hi(Compare::mem(Half::Lo, self.extreme.prunes(self.ties), value))
                .set_lo(Update::set(When::NOT_BOTH, AluOperand::Field(value)))
                .set_hi(Update::set(When::BOTH, AluOperand::Const(1)))
                .output(beaten, Source::AluHi, When::ALWAYS);
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

    /// The fast path.
    #[must_use]
    pub fn pruner(&self) -> GroupBy {
        let words = if self.wide { 2 } else { 1 };
        let bits = index_bits(self.cells);
        let banks = |lanes: usize| 0..(self.tables as usize).div_ceil(lanes);
        let hash = if bits <= 16 {
            Hashes::Narrow(banks(8).map(|bank| Lanes::new(8 * bank, words, bits)).collect())
        } else {
            Hashes::Wide(banks(4).map(|bank| Lanes::new(4 * bank, words, bits)).collect())
        };
        let groups = (self.cells * self.tables) as usize;
        let cells = if self.wide {
            Cells::Wide(vec![([0, 0], self.extreme.worst()); groups])
        } else {
            Cells::Narrow(vec![(0, self.extreme.worst()); groups])
        };
        GroupBy { config: *self, hash, cells }
    }
}

/// The comparators' one-hot case if the key is the same and its value better.
const BEATEN: u32 = 8;

#[derive(Debug, Clone)]
enum Hashes {
    Narrow(Vec<Lanes<16>>),
    Wide(Vec<Lanes<32>>),
}

#[derive(Debug, Clone)]
enum Cells {
    Narrow(Vec<(u32, u32)>),
    /// Halves and not one number: an entry takes 12 bytes, not 16.
    Wide(Vec<([u32; 2], u32)>),
}

/// The fast path of GROUP BY MAX and MIN.
#[derive(Debug, Clone)]
pub struct GroupBy {
    config: Config,
    hash: Hashes,
    cells: Cells,
}

/// What [`keeps`] needs of a bank of lanes: the cell in each of `N` tables.
trait Bank<K, const N: usize> {
    fn cells(&self, key: K) -> [usize; N];
}

impl Bank<u32, 8> for Lanes<16> {
    #[inline]
    fn cells(&self, key: u32) -> [usize; 8] {
        Self::unpack(self.one(key))
    }
}

impl Bank<[u32; 2], 8> for Lanes<16> {
    #[inline]
    fn cells(&self, key: [u32; 2]) -> [usize; 8] {
        Self::unpack(self.words(key))
    }
}

impl Bank<u32, 4> for Lanes<32> {
    #[inline]
    fn cells(&self, key: u32) -> [usize; 4] {
        Self::unpack(self.one(key))
    }
}

impl Bank<[u32; 2], 4> for Lanes<32> {
    #[inline]
    fn cells(&self, key: [u32; 2]) -> [usize; 4] {
        Self::unpack(self.words(key))
    }
}

/// Looks the key up in table after table, replacing what does not beat it; whether none did.
#[inline]
fn keeps<K: Copy + Eq, const N: usize, B: Bank<K, N>>(
    banks: &[B],
    cells: &mut [(K, u32)],
    size: usize,
    (key, value): (K, u32),
    beats: impl Fn(u32, u32) -> bool,
) -> bool {
    for (bank, tables) in banks.iter().zip(cells.chunks_mut(size * N)) {
        for (at, table) in bank.cells(key).into_iter().zip(tables.chunks_exact_mut(size)) {
            let cell = &mut table[at];
            if cell.0 == key && beats(cell.1, value) {
                return false;
            }
            *cell = (key, value);
        }
    }
    true
}

/// Selects the entries that no table beats, and those of the worst value if `tie_guard` names it.
#[inline]
fn sweep<K: Copy + Eq, const N: usize, B: Bank<K, N>>(
    entry: (usize, impl Fn(usize) -> (K, u32)),
    banks: &[B],
    (cells, size): (&mut [(K, u32)], usize),
    beats: impl Fn(u32, u32) -> bool + Copy,
    tie_guard: Option<u32>,
    selection: &mut Selection,
) {
    let (len, at) = entry;
    selection.fill(len, |i| {
        let (key, value) = at(i);
        keeps(banks, cells, size, (key, value), beats) | (Some(value) == tie_guard)
    });
}

impl GroupBy {
    #[inline]
    fn prune_by(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
        beats: impl Fn(u32, u32) -> bool + Copy,
    ) -> Result<(), WrongValues> {
        let size = self.config.cells as usize;
        let guard = (self.config.ties == Ties::Prune).then(|| self.config.extreme.worst());
        match &mut self.cells {
            Cells::Narrow(cells) => {
                let [keys, values] = columns(entries)?;
                let entry = (keys.len(), |i: usize| (keys[i], values[i]));
                match &self.hash {
                    Hashes::Narrow(banks) => {
                        sweep(entry, banks, (cells, size), beats, guard, selection)
                    }
                    Hashes::Wide(banks) => {
                        sweep(entry, banks, (cells, size), beats, guard, selection)
                    }
                }
            }
            Cells::Wide(cells) => {
                let [high, low, values] = columns(entries)?;
                let at = |i: usize| ([high[i], low[i]], values[i]);
                match &self.hash {
                    Hashes::Narrow(banks) => {
                        sweep((high.len(), at), banks, (cells, size), beats, guard, selection)
                    }
                    Hashes::Wide(banks) => {
                        sweep((high.len(), at), banks, (cells, size), beats, guard, selection)
                    }
                }
            }
        }
        Ok(())
    }
}

impl Pruner for GroupBy {
    fn values(&self) -> usize {
        if self.config.wide { 3 } else { 2 }
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), WrongValues> {
        match self.config.extreme.prunes(self.config.ties) {
            Relation::Gt => self.prune_by(entries, selection, |stored, value| stored > value),
            Relation::Ge => self.prune_by(entries, selection, |stored, value| stored >= value),
            Relation::Lt => self.prune_by(entries, selection, |stored, value| stored < value),
            _ => self.prune_by(entries, selection, |stored, value| stored <= value),
        }
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let size = self.config.cells as usize;
        match &self.cells {
            Cells::Narrow(cells) => cells
                .chunks(size)
                .map(|table| table.iter().map(|&(key, value)| [key, value]).collect())
                .collect(),
            Cells::Wide(cells) => cells
                .chunks(size)
                .flat_map(|table| {
                    let keys = table.iter().map(|&([high, low], _)| [low, high]).collect();
                    let values = table.iter().map(|&(_, value)| [value, 0]).collect();
                    [keys, values]
                })
                .collect(),
        }
    }

    fn reset(&mut self) {
        let worst = self.config.extreme.worst();
        match &mut self.cells {
            Cells::Narrow(cells) => cells.fill((0, worst)),
            Cells::Wide(cells) => cells.fill(([0, 0], worst)),
        }
    }
}

#[cfg(test)]
mod tests;
