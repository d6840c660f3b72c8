//! `SELECT key, SUM(value) GROUP BY key`, and COUNT: add values up in the switch, which hands the sums
//! over at the end (paper §6, query B).
//!
//! The paper has the switch store sums, and says neither what happens to groups without room nor how sums
//! get out. To evict a sum into the packet that takes its place is unsound under §7.2: if that packet is
//! lost, so is the sum, and its retransmission is forwarded unprocessed. So here a group that has a cell
//! keeps it: an entry of such a group is *held* (added, and dropped), one of a group without room is
//! forwarded as it is. At the end the master reads the cells, and adds what it finds to what it got.
//!
//! Because a cell is never given up, "does the switch hold this entry's group?" has the same answer
//! whenever it is asked after the entry was processed. So a copy of an entry that was processed is looked
//! up again without being added: it is acknowledged if its group is held, and forwarded if not; and so is
//! the reading of a cell repeatable. That is what [`protocol`](crate::protocol) rests on for this query;
//! [`explore`](crate::protocol::explore()) goes through every order of events.
//!
//! # On the switch
//!
//! Several tables, each with its own hash: an entry takes the first cell that is empty or holds its key. A
//! table is a stage of keys, one of the sums' low halves, whose ALU also tells the carry, and one of the
//! high halves; the next table's stages begin one later, so `w` tables take w + 2. Sums have 64 bits: 2³²
//! entries of 32 bits each do not overflow. Key 0 means an empty cell; its entries are forwarded.

mod entry;
pub mod plan;
mod question;

pub(crate) use entry::GROUP_SUM;

use std::fmt;

use serde::Serialize;

use crate::algorithm::config::{cells_in_range, in_range, index_bits, power_of_two};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::pruner::columns;
use crate::algorithm::row_hash::Hashes;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, FieldId, Half, Index, Op, Operand, Operation,
    POLYNOMIALS, Program, Relation, Source, Stateful, Table, Test, Update, When, WrongValues,
};
use crate::{ConfigError, Entries, Pruner, Selection};

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    cells: u32,
    tables: u32,
    hashing: Hashing,
}

impl Config {
    /// `tables` (1 to 16) tables of `cells` (a power of two) groups.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(cells: u32, tables: u32) -> Result<Self, ConfigError> {
        power_of_two("cells", cells)?;
        in_range("tables", tables, 1, POLYNOMIALS.len() as u32)?;
        // A group takes three.
        cells_in_range("3 × cells × tables", cells, 3 * tables)?;
        Ok(Self { cells, tables, hashing: Hashing::DEFAULT })
    }

    /// The same with other hashes.
    #[must_use]
    pub const fn with_hashing(self, hashing: Hashing) -> Self {
        Self { hashing, ..self }
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

    /// The program: its packets carry the key and the value to add; 1 for COUNT.
    #[must_use]
    pub fn program(&self) -> Program {
        let mut b = Builder::new("group_sum", 2);
        let (key, value) = (FieldId::value(0), FieldId::value(1));
        let (room, prune) = (b.field("room", 32), b.verdict("prune"));
        let hashed = self.hashing.mix(&mut b, &[key], &[key]);
        if self.hashing == Hashing::Linear {
            b.stage();
        }
        // The most that a low half may be for the sum not to carry.
        let invert = Op::new(room, Operation::Xor, Operand::Field(value), Operand::Const(u32::MAX));
        b.table(Table::always("room_left", Action::compute("invert", [invert])));
        let tables: Vec<Sums> =
            (0..self.tables).map(|number| self.declare(&mut b, number, &hashed)).collect();
        // Each stage has the keys of a table, the low halves of the one before, and the high ones of
        // that before it.
        for stage in 0..tables.len() + 2 {
            b.stage();
            if let Some(table) = tables.get(stage) {
                let before = stage.checked_sub(1).and_then(|at| tables.get(at));
                b.table(table.find(key, before));
            }
            if let Some(table) = stage.checked_sub(1).and_then(|at| tables.get(at)) {
                b.table(table.add_low(value, room));
                if stage == tables.len() {
                    let drop = Action::compute("drop", [Op::set(prune, Operand::Const(1))]);
                    let held = [Test::is_not(table.case, NEITHER)];
                    let drop = Table::always("drop_held", drop).when(held);
                    b.table(drop.when([Test::is_not(key, 0)]));
                }
            }
            if let Some(table) = stage.checked_sub(2).and_then(|at| tables.get(at)) {
                b.table(table.add_high());
            }
        }
        b.finish()
    }

    fn declare(&self, b: &mut Builder, number: u32, hashed: &[FieldId]) -> Sums {
        let bits = index_bits(self.cells);
        let polynomial = POLYNOMIALS[number as usize];
        let index = Index::Hash(b.hash(format!("cell{number}"), polynomial, hashed, bits));
        let mut register = |what: &str| {
            Stateful::on(b.register(format!("{what}{number}"), Cell::Bit32, self.cells), index)
        };
        let [keys, low, high] = ["keys", "low", "high"].map(&mut register);
        let case = b.field(format!("case{number}"), 4);
        let carry = b.field(format!("carry{number}"), 1);
        Sums { number, case, carry, keys, low, high }
    }

    /// The fast path.
    #[must_use]
    pub fn pruner(&self) -> GroupSum {
        let groups = (self.cells * self.tables) as usize;
        GroupSum {
            cells: self.cells as usize,
            hashes: Hashes::new(self.hashing, self.tables as usize, 1, index_bits(self.cells)),
            groups: vec![(0, 0); groups],
        }
    }
}

checked_when_read!(Config { cells: u32, tables: u32, hashing: Hashing } => Self::new(cells, tables).map(|config| config.with_hashing(hashing)));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cells, tables, hashing } = self;
        write!(f, "group_sum(cells={cells}, tables={tables}{hashing})")
    }
}

/// The key and the sum in a cell of the registers of a program, if it is full. Registers come table after
/// table: keys, low and high halves; cells are numbered through all tables.
pub(crate) fn held_in(registers: &[Vec<[u32; 2]>], cell: u64) -> Option<(u64, u64)> {
    let (tables, cell) = (registers.as_chunks::<3>().0, usize::try_from(cell).ok()?);
    let cells = registers.first()?.len();
    let halves = tables.get(cell / cells)?.each_ref().map(|half| half[cell % cells][0]);
    let [key, low, high] = halves.map(u64::from);
    (key != 0).then_some((key, high << 32 | low))
}

/// The comparators' one-hot case if a cell is neither empty nor of the key.
const NEITHER: u32 = 1;

/// A table on the switch.
struct Sums {
    number: u32,
    /// What the cell is to the entry; 0 if it was not looked at.
    case: FieldId,
    /// Whether the low half went round.
    carry: FieldId,
    keys: Stateful,
    low: Stateful,
    high: Stateful,
}

impl Sums {
    fn name(&self, what: &str) -> String {
        format!("{what}{}", self.number)
    }

    /// Looks for the key, and takes an empty cell, if the table `before` had no room.
    fn find(&self, key: FieldId, before: Option<&Self>) -> Table {
        let find = self.keys.clone();
        let find = find
            .compare_lo(Compare::mem(Half::Lo, Relation::Eq, key))
            .compare_hi(Compare::mem_const(Half::Lo, Relation::Eq, 0))
            .set_lo(Update::set(When::HI, AluOperand::Field(key)))
            .output(self.case, Source::Predicate, When::ALWAYS);
        let table = Table::always(self.name("find"), Action::access("find", find));
        match before {
            Some(before) => table.when([Test::is(before.case, NEITHER)]),
            None => table.when([Test::is_not(key, 0)]),
        }
    }

    fn add_low(&self, value: FieldId, room: FieldId) -> Table {
        let add = self.low.clone();
        let add = add
            .compare_lo(Compare::mem(Half::Lo, Relation::Gt, room))
            .set_lo(Update::new(
                When::ALWAYS,
                Operation::Add,
                AluOperand::MemLo,
                AluOperand::Field(value),
            ))
            .set_hi(Update::set(When::LO, AluOperand::Const(1)))
            .output(self.carry, Source::AluHi, When::ALWAYS);
        // If the cell is the entry's.
        let table = Table::always(self.name("add_low"), Action::access("add", add));
        table.when([Test::is_not(self.case, 0)]).when([Test::is_not(self.case, NEITHER)])
    }

    fn add_high(&self) -> Table {
        let add = self.high.clone();
        let add = add.set_lo(Update::new(
            When::ALWAYS,
            Operation::Add,
            AluOperand::MemLo,
            AluOperand::Const(1),
        ));
        let table = Table::always(self.name("add_high"), Action::access("carry", add));
        table.when([Test::is(self.carry, 1)])
    }
}

/// The fast path of GROUP BY SUM and COUNT.
#[derive(Debug, Clone)]
pub struct GroupSum {
    cells: usize,
    hashes: Hashes,
    /// Keys and sums, table after table; key 0 means an empty cell.
    groups: Vec<(u32, u64)>,
}

impl Pruner for GroupSum {
    fn values(&self) -> usize {
        2
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), WrongValues> {
        let [keys, values] = columns(entries)?;
        let Self { cells, hashes, groups } = self;
        let of = |i: usize| [keys[i]];
        hashes.sweep(keys.len(), of, selection, |i, placed| {
            let key = keys[i];
            if key == 0 {
                return true;
            }
            for at in placed.cells(*cells) {
                let Some(group) = groups.get_mut(at) else { break };
                if group.0 == 0 || group.0 == key {
                    group.0 = key;
                    group.1 = group.1.wrapping_add(values[i].into());
                    return false;
                }
            }
            true
        });
        Ok(())
    }

    fn needs_every_entry(&self) -> bool {
        true
    }

    fn held(&self) -> Vec<(u64, u64)> {
        let full = self.groups.iter().filter(|(key, _)| *key != 0);
        full.map(|&(key, sum)| (key.into(), sum)).collect()
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let of = |groups: &[(u32, u64)]| {
            let keys = groups.iter().map(|&(key, _)| [key, 0]).collect();
            let half = |shift| groups.iter().map(|(_, sum)| [(sum >> shift) as u32, 0]).collect();
            [keys, half(0), half(32)]
        };
        self.groups.chunks(self.cells).flat_map(of).collect()
    }

    fn reset(&mut self) {
        self.groups.fill((0, 0));
    }
}

#[cfg(test)]
mod tests;
