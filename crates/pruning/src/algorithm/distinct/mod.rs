//! `SELECT DISTINCT`: drop a key that was seen recently (paper §4.2).
//!
//! The state is a matrix of `rows × columns` keys. A key hashes to a row; if the row contains it, the entry is a
//! duplicate and dropped. Otherwise the key enters the row and evicts an old one. An evicted key is forwarded again
//! when it returns, which is harmless: a cache has false negatives, never false positives. (A Bloom filter errs the
//! other way and would lose keys.)
//!
//! The algorithm is deterministic for whole keys. With fingerprints instead ([`crate::encoding`]), two keys of one
//! row must not collide; [`crate::theory::distinct`] computes the bits that this takes. It assumes rows that are
//! *independent* of the fingerprints. If the row were a hash of the fingerprint itself, equal fingerprints would
//! always share a row, and the bits would have to suffice for all keys together. Packets with fingerprints therefore
//! carry a second hash of the key, for the row alone ([`Config::with_row_value`]).
//!
//! # Policies
//!
//! [`Policy::Lru`] rolls: each column takes the key that the column before it evicted, until the packet's own key
//! turns up. [`Policy::Fifo`] writes nothing on a hit. A packet may touch a register once, so a FIFO must read all
//! columns before it writes. The paper lets ALUs of one stage share memory; here two columns share one pair of
//! registers, which hardware supports. More columns chain such pairs: a pair that misses takes the key and passes its
//! oldest on, so a key that a later pair contains is then stored twice. Such a chain is no FIFO and prunes less (44 %
//! where a FIFO of 8 columns prunes 54 %), so the catalog does not offer it.
//!
//! # The empty cell
//!
//! Cells start as zero, and zero is a key like any other. A zero key is therefore stored but always forwarded, which
//! costs a gateway and no stage.

mod entry;
pub mod plan;
mod question;

pub(crate) use entry::{FIFO, LRU};

use std::fmt;
use std::hint::black_box;

use serde::{Deserialize, Serialize};

use crate::algorithm::config::{cells_in_range, in_range};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::pruner::columns;
use crate::algorithm::row_hash::{Hashes, RowHash};
use crate::algorithm::rows::{self, hash_bits, row_of, rows_in_range};
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, FieldId, Half, Index, Op,
    Operand, Program, RejectedPacket, Relation, Source, Stateful, Table, Test, Update,
};
use crate::{ConfigError, Entries, Pruner, Selection};

/// The choice of the key that is evicted from a full row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// Evicts the least recently seen key.
    Lru,
    /// Evicts the key that entered first. It needs 32-bit keys and an even number of columns.
    Fifo,
}

/// The width of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Width {
    /// One value of 32 bits.
    Bits32,
    /// Two values: the high and the low 32 bits.
    Bits64,
}

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    rows: u32,
    columns: u32,
    width: Width,
    policy: Policy,
    row_value: bool,
    hashing: Hashing,
}

impl Config {
    /// Creates a matrix of `rows` (2 to 1024, or a power of two) by `columns` (1 to 64).
    ///
    /// # Errors
    ///
    /// If a parameter is out of range, or FIFO is combined with wide keys or an odd number of columns.
    pub fn new(rows: u32, columns: u32, width: Width, policy: Policy) -> Result<Self, ConfigError> {
        rows_in_range(rows)?;
        in_range("columns", columns, 1, 64)?;
        cells_in_range("rows × columns", rows, columns)?;
        if policy == Policy::Fifo && (width == Width::Bits64 || columns % 2 == 1) {
            return Err(ConfigError::Conflict(
                "FIFO takes keys of 32 bits and an even number of columns",
            ));
        }
        Ok(Self { rows, columns, width, policy, row_value: false, hashing: Hashing::DEFAULT })
    }

    /// Returns the paper's default: 4096 rows of 2 keys of 64 bits, LRU.
    #[must_use]
    pub const fn paper() -> Self {
        Self {
            rows: 4096,
            columns: 2,
            width: Width::Bits64,
            policy: Policy::Lru,
            row_value: false,
            hashing: Hashing::DEFAULT,
        }
    }

    /// Replaces the hash function.
    #[must_use]
    pub const fn with_hashing(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
    }

    /// Adds one more value to each packet, after the key, that alone chooses the row. The value is a hash that the
    /// worker computed, so one more round suffices.
    #[must_use]
    pub const fn with_row_value(self) -> Self {
        Self { row_value: true, hashing: Hashing::Linear, ..self }
    }

    const fn key_values(&self) -> u8 {
        match self.width {
            Width::Bits32 => 1,
            Width::Bits64 => 2,
        }
    }

    const fn packet_values(&self) -> u8 {
        self.key_values() + self.row_value as u8
    }

    /// Adds the tables that choose the row, after the stage that mixes, and returns the row.
    fn row(&self, b: &mut Builder) -> Index {
        let inputs: Vec<FieldId> = if self.row_value {
            vec![FieldId::value(self.key_values())]
        } else {
            (0..self.key_values()).map(FieldId::value).collect()
        };
        let inputs = self.hashing.mix(b, &inputs, &inputs);
        rows::choose(b, self.rows, inputs)
    }

    /// Returns the number of rows of the matrix.
    #[must_use]
    pub const fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the number of keys in a row.
    #[must_use]
    pub const fn columns(&self) -> u32 {
        self.columns
    }

    /// Returns the hash function that chooses the row.
    #[must_use]
    pub const fn hashing(&self) -> Hashing {
        self.hashing
    }

    /// Returns the width of a key.
    #[must_use]
    pub const fn width(&self) -> Width {
        self.width
    }

    /// Returns the choice of the key that is evicted from a full row.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// Returns the program; its packets carry the key.
    #[must_use]
    pub fn program(&self) -> Program {
        match (self.policy, self.width) {
            (Policy::Lru, Width::Bits32) => self.lru_narrow(),
            (Policy::Lru, Width::Bits64) => self.lru_wide(),
            (Policy::Fifo, _) => self.fifo(),
        }
    }

    fn lru_narrow(&self) -> Program {
        let mut b = Builder::new("distinct", self.packet_values());
        let key = FieldId::value(0);
        let (x, zero, prune) = (b.field("travelling", 32), b.field("zero", 1), b.verdict("prune"));
        let row = self.row(&mut b);
        for column in 0..self.columns {
            b.stage();
            let register = b.register(format!("column{column}"), Cell::Bit32, self.rows);
            let incoming = if column == 0 { key } else { x };
            let swap = swap(register, row, incoming, x);
            let table = Table::always(format!("swap{column}"), Action::access("swap", swap));
            if column == 0 {
                b.table(flag("zero_key", zero).when([Test::is(key, 0)]));
                b.table(table);
            } else {
                b.table(table.when([Test::differ(x, key)]));
            }
        }
        b.stage();
        b.table(flag("drop_duplicate", prune).when([Test::same(x, key)]).when([Test::is(zero, 0)]));
        b.finish()
    }

    fn lru_wide(&self) -> Program {
        let mut b = Builder::new("distinct", self.packet_values());
        let keys = [FieldId::value(0), FieldId::value(1)];
        let halves = ["high", "low"];
        let x = halves.map(|half| b.field(format!("travelling_{half}"), 32));
        let zero = halves.map(|half| b.field(format!("zero_{half}"), 1));
        let prune = b.verdict("prune");
        let row = self.row(&mut b);
        let mut same: Option<[FieldId; 2]> = None;
        for column in 0..self.columns {
            b.stage();
            for (half, name) in halves.into_iter().enumerate() {
                let register = b.register(format!("column{column}_{name}"), Cell::Bit32, self.rows);
                let incoming = if column == 0 { keys[half] } else { x[half] };
                let action = Action::access("swap", swap(register, row, incoming, x[half]));
                let table = Table::always(format!("swap{column}_{name}"), action);
                // After a hit the travelling key stays the packet's own, so the flags of the previous column cover
                // all earlier ones.
                b.table(match same {
                    None => table,
                    Some(flags) => table.when(flags.map(|f| Test::is_not(f, 1))),
                });
                if column == 0 {
                    b.table(
                        flag(&format!("zero_key_{name}"), zero[half])
                            .when([Test::is(keys[half], 0)]),
                    );
                }
            }
            b.stage();
            let flags = halves.map(|half| b.field(format!("same{column}_{half}"), 1));
            for (half, name) in halves.into_iter().enumerate() {
                let compare = flag(&format!("compare{column}_{name}"), flags[half]);
                b.table(compare.when([Test::same(x[half], keys[half])]));
            }
            same = Some(flags);
        }
        b.stage();
        let mut drop = flag("drop_duplicate", prune).when(zero.map(|f| Test::is_not(f, 1)));
        for flag in same.into_iter().flatten() {
            drop = drop.when([Test::is(flag, 1)]);
        }
        b.table(drop);
        b.finish()
    }

    fn fifo(&self) -> Program {
        let mut b = Builder::new("distinct_fifo", self.packet_values());
        let key = FieldId::value(0);
        let (x, zero, prune) = (b.field("travelling", 32), b.field("zero", 1), b.verdict("prune"));
        // The case is one-hot: 1 if neither key of the last pair was the packet's.
        let case = b.field("case", 4);
        let row = self.row(&mut b);
        let pairs = self.columns / 2;
        for pair in 0..pairs {
            b.stage();
            let register = b.register(format!("pair{pair}"), Cell::Pair32, self.rows);
            let incoming = if pair == 0 { key } else { x };
            let mut shift = Stateful::on(register, row)
                .compare_lo(Compare::mem(Half::Lo, Relation::Eq, key))
                .compare_hi(Compare::mem(Half::Hi, Relation::Eq, key))
                .set_lo(Update::set(ComparePredicate::NEITHER, AluOperand::Field(incoming)))
                .set_hi(Update::set(ComparePredicate::NEITHER, AluOperand::MemLo))
                .output(case, Source::Predicate, ComparePredicate::ALWAYS);
            if pair + 1 < pairs {
                shift = shift.output(x, Source::MemHi, ComparePredicate::ALWAYS);
            }
            let table = Table::always(format!("shift{pair}"), Action::access("shift", shift));
            if pair == 0 {
                b.table(flag("zero_key", zero).when([Test::is(key, 0)]));
                b.table(table);
            } else {
                b.table(table.when([Test::is(case, 1)]));
            }
        }
        b.stage();
        b.table(
            flag("drop_duplicate", prune).when([Test::is_not(case, 1)]).when([Test::is(zero, 0)]),
        );
        b.finish()
    }

    /// Returns the fast path, with empty state.
    #[must_use]
    pub fn pruner(&self) -> Distinct {
        let cells = (self.rows * self.columns) as usize;
        let cells = match self.width {
            Width::Bits32 => Cells::Narrow(vec![0; cells]),
            Width::Bits64 => Cells::Wide(vec![0; cells]),
        };
        let words = if self.row_value { 1 } else { self.key_values().into() };
        Distinct {
            config: *self,
            hash: RowHash::single(self.hashing, 0, words, hash_bits(self.rows)),
            hashes: Hashes::new(self.hashing, 1, words, hash_bits(self.rows)),
            cells,
        }
    }
}

checked_when_read!(Config { rows: u32, columns: u32, width: Width, policy: Policy, row_value: bool, hashing: Hashing } => Self::new(rows, columns, width, policy).map(|config| Self { row_value, hashing, ..config }));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "distinct(rows={}, columns={}{})", self.rows, self.columns, self.hashing)
    }
}

/// Creates the access that stores `incoming` in the cell and outputs the old content to `out`.
fn swap(
    register: crate::switch::RegisterId,
    row: Index,
    incoming: FieldId,
    out: FieldId,
) -> Stateful {
    Stateful::on(register, row)
        .set_lo(Update::set(ComparePredicate::ALWAYS, AluOperand::Field(incoming)))
        .output(out, Source::MemLo, ComparePredicate::ALWAYS)
}

/// Creates a table that sets a one-bit field.
fn flag(name: &str, field: FieldId) -> Table {
    Table::always(name, Action::compute("set", [Op::set(field, Operand::Const(1))]))
}

/// The fast path of `SELECT DISTINCT`. Its state is as large as the modelled registers.
#[derive(Debug, Clone)]
pub struct Distinct {
    config: Config,
    /// The hash of single entries; batches have their own.
    hash: RowHash<u32>,
    hashes: Hashes,
    cells: Cells,
}

#[derive(Debug, Clone)]
enum Cells {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

/// Rolls `key` into its row; returns true if it was new there.
#[inline]
fn lru<T: Copy + Eq>(row: &mut [T], key: T) -> bool {
    let mut travelling = key;
    for cell in row {
        travelling = std::mem::replace(cell, travelling);
        if travelling == key {
            return false;
        }
    }
    true
}

/// Like [`lru`] for two columns, but without a branch.
#[inline]
fn lru_pair<T: Copy + Eq>(row: &mut [T], key: T) -> bool {
    let Some([first, second]) = row.first_chunk_mut::<2>() else { return true };
    let (in_first, in_second) = (*first == key, *second == key);
    *second = if in_first { *second } else { *first };
    *first = key;
    !(in_first | in_second)
}

/// Like [`fifo`] for two columns, but without a branch.
#[inline]
fn fifo_pair(row: &mut [u32], key: u32) -> bool {
    let Some([newest, oldest]) = row.first_chunk_mut::<2>() else { return true };
    let found = (*newest == key) | (*oldest == key);
    *oldest = if found { *oldest } else { *newest };
    *newest = if found { *newest } else { key };
    !found
}

/// Looks `key` up pair by pair, entering it where it misses; returns true if it missed everywhere.
#[inline]
fn fifo(row: &mut [u32], key: u32) -> bool {
    let mut travelling = key;
    for pair in row.as_chunks_mut::<2>().0 {
        if pair.contains(&key) {
            return false;
        }
        let oldest = pair[1];
        *pair = [travelling, pair[0]];
        travelling = oldest;
    }
    true
}

impl Distinct {
    /// Enters one 32-bit key; returns true if its entry is forwarded.
    #[inline]
    pub(crate) fn enter(&mut self, key: u32) -> bool {
        let width = self.config.columns as usize;
        let start = row_of(self.hash.one(key), self.config.rows) * width;
        match &mut self.cells {
            Cells::Narrow(cells) => lru(&mut cells[start..start + width], key) | (key == 0),
            Cells::Wide(_) => true,
        }
    }
}

/// Joins two halves to a 64-bit key.
#[inline]
fn join(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Calls [`lru_pair`] for two columns, else [`lru`].
#[inline]
fn lru_any<T: Copy + Eq>(row: &mut [T], key: T) -> bool {
    if row.len() == 2 { lru_pair(row, key) } else { lru(row, key) }
}

/// Calls [`fifo_pair`] for two columns, else [`fifo`].
#[inline]
fn fifo_any(row: &mut [u32], key: u32) -> bool {
    if row.len() == 2 { fifo_pair(row, key) } else { fifo(row, key) }
}

/// Enters every key into its row; a zero key is always forwarded. `of` returns the words that are hashed to an
/// entry's row, `key` its key.
#[inline]
fn sweep<T: Copy + Eq + Default, const N: usize>(
    (hashes, len): (&mut Hashes, usize),
    of: impl Fn(usize) -> [u32; N],
    key: impl Fn(usize) -> T,
    (cells, rows, width): (&mut [T], u32, usize),
    enter: impl Fn(&mut [T], T) -> bool,
    selection: &mut Selection,
) {
    let large = size_of_val(cells) > CACHED_BYTES;
    selection.clear();
    hashes.blocks(len, of, |first, len, arrays| {
        let Some(hashed) = arrays.first() else { return };
        selection.extend_words(len, |start, count| {
            let hashed = &hashed[start..start + count];
            let first_cell = |hash: u32| row_of(hash, rows) * width;
            if large {
                // All rows of these entries are read before the first key is entered, so that cache misses overlap.
                let touched = hashed.iter().fold(false, |any, &hash| {
                    let row = first_cell(hash);
                    any | (cells[row] == cells[row + width - 1])
                });
                black_box(touched);
            }
            hashed.iter().enumerate().fold(0, |word, (bit, &hash)| {
                let (row, key) = (first_cell(hash), key(first + start + bit));
                let forward = enter(&mut cells[row..row + width], key) | (key == T::default());
                word | u64::from(forward) << bit
            })
        });
    });
}

/// The share of a core's second-level cache that is left beside a batch.
const CACHED_BYTES: usize = 512 * 1024;

impl Pruner for Distinct {
    fn values(&self) -> usize {
        self.config.packet_values().into()
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let (count, width) = (self.config.rows, self.config.columns as usize);
        let (lru, hashes) = (self.config.policy == Policy::Lru, &mut self.hashes);
        match (&mut self.cells, self.config.row_value) {
            (Cells::Narrow(cells), by_row_value) => {
                let (keys, hashed) = if by_row_value {
                    let [keys, rows] = columns(entries)?;
                    (keys, rows)
                } else {
                    let [keys] = columns(entries)?;
                    (keys, keys)
                };
                let (of, key) = (|i: usize| [hashed[i]], |i: usize| keys[i]);
                let (hashes, cells) = ((hashes, keys.len()), (cells.as_mut_slice(), count, width));
                if lru {
                    sweep(hashes, of, key, cells, lru_any, selection);
                } else {
                    sweep(hashes, of, key, cells, fifo_any, selection);
                }
            }
            (Cells::Wide(cells), false) => {
                let [high, low] = columns(entries)?;
                let (of, key) = (|i: usize| [high[i], low[i]], |i: usize| join(high[i], low[i]));
                sweep((hashes, high.len()), of, key, (cells, count, width), lru_any, selection);
            }
            (Cells::Wide(cells), true) => {
                let [high, low, rows] = columns(entries)?;
                let (of, key) = (|i: usize| [rows[i]], |i: usize| join(high[i], low[i]));
                sweep((hashes, high.len()), of, key, (cells, count, width), lru_any, selection);
            }
        }
        Ok(())
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let width = self.config.columns as usize;
        let column =
            |number: usize| (0..self.config.rows as usize).map(move |row| row * width + number);
        match (&self.cells, self.config.policy) {
            (Cells::Narrow(cells), Policy::Lru) => {
                (0..width).map(|c| column(c).map(|at| [cells[at], 0]).collect()).collect()
            }
            (Cells::Narrow(cells), Policy::Fifo) => (0..width / 2)
                .map(|pair| column(2 * pair).map(|at| [cells[at], cells[at + 1]]).collect())
                .collect(),
            (Cells::Wide(cells), _) => (0..width)
                .flat_map(|c| {
                    [32, 0]
                        .map(|shift| column(c).map(|at| [(cells[at] >> shift) as u32, 0]).collect())
                })
                .collect(),
        }
    }

    fn reset(&mut self) {
        match &mut self.cells {
            Cells::Narrow(cells) => cells.fill(0),
            Cells::Wide(cells) => cells.fill(0),
        }
    }
}

#[cfg(test)]
mod tests;
