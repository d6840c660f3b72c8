//! `SELECT key, SUM(value) GROUP BY key`, and COUNT: sum values in the switch and read the sums at the end (paper §6,
//! query B).
//!
//! The paper stores sums in the switch, but does not define the treatment of groups without room or the read-out of
//! sums. To evict a sum into the packet that takes its cell is unsound under §7.2: if that packet is lost, so is the
//! sum, and its retransmission is forwarded unprocessed. Here a group that has a cell keeps it. An entry of such a
//! group is *held* (added and dropped); an entry of a group without room is forwarded unchanged. At the end the
//! master reads the cells and adds their sums to the entries that it received.
//!
//! Because a cell is never given up, the question "is this entry's group held?" has the same answer at any time after
//! the entry was processed. A copy of a processed entry is therefore looked up again without being added: it is
//! acknowledged if its group is held, and forwarded if not. The reading of a cell is repeatable for the same reason.
//! [`protocol`](crate::protocol) relies on this for this query; [`explore`](crate::protocol::explore()) goes through
//! every order of events.
//!
//! # On the switch
//!
//! There are several tables, each with its own hash. An entry takes the first cell that is empty or holds its key. A
//! table is a stage of keys, one of the sums' low halves, whose ALU also outputs the carry, and one of the high
//! halves. The next table's stages begin one later, so `w` tables take w + 2. Sums have 64 bits: 2³² entries of 32
//! bits each do not overflow. Key 0 means an empty cell; its entries are forwarded.
//!
//! If an entry has several values, each has halves of its own beside those of the first. An entry is held or
//! forwarded as a whole.

mod entry;
pub mod plan;
mod question;

pub(crate) use entry::GROUP_SUM;

use std::fmt;

use serde::Serialize;

use crate::algorithm::config::{cells_in_range, in_range, index_bits, power_of_two};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::row_hash::Hashes;
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, FieldId, Half, Index, Op,
    Operand, Operation, POLYNOMIALS, Program, RejectedPacket, Relation, Source, Stateful, Table,
    Test, Update,
};
use crate::{ConfigError, Entries, Pruner, Selection};

/// Parameters that a program can be built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Config {
    cells: u32,
    tables: u32,
    sums: u32,
    hashing: Hashing,
}

/// The greatest number of values of an entry that are summed.
pub const MOST_SUMS: u32 = 8;

/// The sums of one group that the switch holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSums {
    /// The key of the group.
    pub key: u64,
    /// The sum of each value, modulo 2⁶⁴.
    pub sums: Vec<u64>,
}

impl Config {
    /// Creates `tables` (1 to 16) tables of `cells` (a power of two) groups.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn new(cells: u32, tables: u32) -> Result<Self, ConfigError> {
        power_of_two("cells", cells)?;
        in_range("tables", tables, 1, POLYNOMIALS.len() as u32)?;
        Self { cells, tables, sums: 1, hashing: Hashing::DEFAULT }.with_sums(1)
    }

    /// Sets the number of values of an entry (1 to [`MOST_SUMS`]), each of which is summed.
    ///
    /// # Errors
    ///
    /// If there are too many values or too many cells.
    pub fn with_sums(self, sums: u32) -> Result<Self, ConfigError> {
        in_range("sums", sums, 1, MOST_SUMS)?;
        // The key of a group takes one cell, each of its sums two.
        cells_in_range(
            "(1 + 2 × sums) × cells × tables",
            self.cells,
            (1 + 2 * sums) * self.tables,
        )?;
        Ok(Self { sums, ..self })
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

    /// Returns the number of values of an entry that are summed.
    #[must_use]
    pub const fn sums(&self) -> u32 {
        self.sums
    }

    /// Returns the program; its packets carry the key and the values to sum, or 1 for COUNT.
    #[must_use]
    pub fn program(&self) -> Program {
        // `with_sums` allows at most [`MOST_SUMS`].
        let sums = self.sums as u8;
        let mut b = Builder::new("group_sum", 1 + sums);
        let key = FieldId::value(0);
        let values: Vec<FieldId> = (1..=sums).map(FieldId::value).collect();
        let room: Vec<FieldId> =
            (0..sums).map(|sum| b.field(numbered("room", sum.into()), 32)).collect();
        let prune = b.verdict("prune");
        let hashed = self.hashing.mix(&mut b, &[key], &[key]);
        if self.hashing == Hashing::Linear {
            b.stage();
        }
        // The greatest low half for which the sum does not carry.
        let invert = |(&room, &value): (&FieldId, &FieldId)| {
            Op::new(room, Operation::Xor, Operand::Field(value), Operand::Const(u32::MAX))
        };
        let inverts: Vec<Op> = room.iter().zip(&values).map(invert).collect();
        b.table(Table::always("room_left", Action::compute("invert", inverts)));
        let tables: Vec<Groups> =
            (0..self.tables).map(|number| self.declare(&mut b, number, &hashed)).collect();
        // Each stage holds the keys of a table, the low halves of the table before, and the high halves of the one
        // before that.
        for stage in 0..tables.len() + 2 {
            b.stage();
            if let Some(table) = tables.get(stage) {
                let before = stage.checked_sub(1).and_then(|at| tables.get(at));
                b.table(table.find(key, before));
            }
            if let Some(table) = stage.checked_sub(1).and_then(|at| tables.get(at)) {
                for (sum, (value, room)) in table.sums.iter().zip(values.iter().zip(&room)) {
                    b.table(table.add_low(sum, *value, *room));
                }
                if stage == tables.len() {
                    let drop = Action::compute("drop", [Op::set(prune, Operand::Const(1))]);
                    let held = [Test::is_not(table.case, NEITHER)];
                    let drop = Table::always("drop_held", drop).when(held);
                    b.table(drop.when([Test::is_not(key, 0)]));
                }
            }
            if let Some(table) = stage.checked_sub(2).and_then(|at| tables.get(at)) {
                table.sums.iter().for_each(|sum| b.table(sum.add_high()));
            }
        }
        b.finish()
    }

    fn declare(&self, b: &mut Builder, number: u32, hashed: &[FieldId]) -> Groups {
        let bits = index_bits(self.cells);
        let polynomial = POLYNOMIALS[number as usize];
        let index = Index::Hash(b.hash(format!("cell{number}"), polynomial, hashed, bits));
        let register = |b: &mut Builder, name: String| {
            Stateful::on(b.register(name, Cell::Bit32, self.cells), index)
        };
        let keys = register(b, format!("keys{number}"));
        let case = b.field(format!("case{number}"), 4);
        let sums = (0..self.sums).map(|sum| {
            let name = numbered(&number.to_string(), sum);
            let [low, high] = ["low", "high"].map(|half| register(b, format!("{half}{name}")));
            Sum { carry: b.field(format!("carry{name}"), 1), name, low, high }
        });
        Groups { number, case, keys, sums: sums.collect() }
    }

    /// Returns the groups and sums in the registers of the program.
    #[must_use]
    pub fn held_in(&self, registers: &[Vec<[u32; 2]>]) -> Vec<GroupSums> {
        let arrays = 1 + 2 * self.sums as usize;
        let all = 0..u64::from(self.cells) * u64::from(self.tables);
        all.filter_map(|cell| in_cell(registers, arrays, cell)).collect()
    }

    /// Returns the fast path, with empty state.
    #[must_use]
    pub fn pruner(&self) -> GroupSum {
        let groups = (self.cells * self.tables) as usize;
        GroupSum {
            cells: self.cells as usize,
            hashes: Hashes::new(self.hashing, self.tables as usize, 1, index_bits(self.cells)),
            keys: vec![0; groups],
            sums: vec![vec![0; groups]; self.sums as usize],
        }
    }
}

checked_when_read!(Config { cells: u32, tables: u32, sums: u32, hashing: Hashing } => Self::new(cells, tables).and_then(|config| config.with_sums(sums)).map(|config| config.with_hashing(hashing)));

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cells, tables, sums, hashing } = self;
        write!(f, "group_sum(cells={cells}, tables={tables}")?;
        if *sums > 1 {
            write!(f, ", sums={sums}")?;
        }
        write!(f, "{hashing})")
    }
}

/// Returns the key and the sum in a cell of the registers of a program with one sum, if the cell is full.
pub(crate) fn held_in(registers: &[Vec<[u32; 2]>], cell: u64) -> Option<(u64, u64)> {
    let held = in_cell(registers, 3, cell)?;
    held.sums.first().map(|sum| (held.key, *sum))
}

/// Returns the group in a cell, if it is full. Registers come table after table, `arrays` for each: the keys, then
/// low and high halves of each sum. Cells are numbered through all tables.
fn in_cell(registers: &[Vec<[u32; 2]>], arrays: usize, cell: u64) -> Option<GroupSums> {
    let (cell, cells) = (usize::try_from(cell).ok()?, registers.first()?.len());
    let mut words = registers
        .chunks_exact(arrays)
        .nth(cell / cells)?
        .iter()
        .map(|array| u64::from(array[cell % cells][0]));
    let key = words.next().filter(|key| *key != 0)?;
    let halves: Vec<u64> = words.collect();
    let sums = halves.as_chunks().0.iter().map(|[low, high]| high << 32 | low).collect();
    Some(GroupSums { key, sums })
}

/// Appends the number of a sum to a name; the first sum needs none.
fn numbered(name: &str, sum: u32) -> String {
    if sum == 0 { name.to_owned() } else { format!("{name}_{sum}") }
}

/// The comparators' one-hot case in which a cell is neither empty nor of the key.
const NEITHER: u32 = 1;

/// One table on the switch.
struct Groups {
    number: u32,
    /// The case that the search found: empty, of the key, or neither; 0 if the cell was not searched.
    case: FieldId,
    keys: Stateful,
    sums: Vec<Sum>,
}

/// The sums of one value in a table.
struct Sum {
    /// The suffix of its tables' names: the number of the table, and of the value.
    name: String,
    /// A bit that is set if the low half overflowed.
    carry: FieldId,
    low: Stateful,
    high: Stateful,
}

impl Groups {
    /// Looks for the key and takes an empty cell, if the table `before` had no room.
    fn find(&self, key: FieldId, before: Option<&Self>) -> Table {
        let find = self.keys.clone();
        let find = find
            .compare_lo(Compare::mem(Half::Lo, Relation::Eq, key))
            .compare_hi(Compare::mem_const(Half::Lo, Relation::Eq, 0))
            .set_lo(Update::set(ComparePredicate::HI, AluOperand::Field(key)))
            .output(self.case, Source::Predicate, ComparePredicate::ALWAYS);
        let table = Table::always(format!("find{}", self.number), Action::access("find", find));
        match before {
            Some(before) => table.when([Test::is(before.case, NEITHER)]),
            None => table.when([Test::is_not(key, 0)]),
        }
    }

    fn add_low(&self, sum: &Sum, value: FieldId, room: FieldId) -> Table {
        let add = sum.low.clone();
        let add = add
            .compare_lo(Compare::mem(Half::Lo, Relation::Gt, room))
            .set_lo(Update::new(
                ComparePredicate::ALWAYS,
                Operation::Add,
                AluOperand::MemLo,
                AluOperand::Field(value),
            ))
            .set_hi(Update::set(ComparePredicate::LO, AluOperand::Const(1)))
            .output(sum.carry, Source::AluHi, ComparePredicate::ALWAYS);
        // The sum is added if the cell belongs to the entry.
        let table = Table::always(format!("add_low{}", sum.name), Action::access("add", add));
        table.when([Test::is_not(self.case, 0)]).when([Test::is_not(self.case, NEITHER)])
    }
}

impl Sum {
    fn add_high(&self) -> Table {
        let add = self.high.clone();
        let add = add.set_lo(Update::new(
            ComparePredicate::ALWAYS,
            Operation::Add,
            AluOperand::MemLo,
            AluOperand::Const(1),
        ));
        let table = Table::always(format!("add_high{}", self.name), Action::access("carry", add));
        table.when([Test::is(self.carry, 1)])
    }
}

/// The fast path of GROUP BY SUM and COUNT.
#[derive(Debug, Clone)]
pub struct GroupSum {
    cells: usize,
    hashes: Hashes,
    /// The keys, table after table; 0 means an empty cell.
    keys: Vec<u32>,
    /// The sums of each value, parallel to the keys.
    sums: Vec<Vec<u64>>,
}

impl Pruner for GroupSum {
    fn values(&self) -> usize {
        1 + self.sums.len()
    }

    fn prune(
        &mut self,
        entries: &Entries<'_>,
        selection: &mut Selection,
    ) -> Result<(), RejectedPacket> {
        let wrong = RejectedPacket { expected: self.values(), actual: entries.columns().len() };
        let Some((keys, values)) = entries.columns().split_first() else { return Err(wrong) };
        if values.len() != self.sums.len() {
            return Err(wrong);
        }
        let Self { cells, hashes, keys: groups, sums } = self;
        let mut values = values.iter().zip(sums.iter_mut());
        let Some((first, of_first)) = values.next() else { return Err(wrong) };
        let mut others: Vec<_> = values.collect();
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
                    let Some(group) = groups.get_mut(at) else { break };
                    if *group == 0 || *group == key {
                        *group = key;
                        of_first[at] = of_first[at].wrapping_add(first[i].into());
                        for (values, sums) in &mut others {
                            sums[at] = sums[at].wrapping_add(values[i].into());
                        }
                        return false;
                    }
                }
                true
            },
        );
        Ok(())
    }

    fn needs_every_entry(&self) -> bool {
        true
    }

    fn group_sums(&self) -> Vec<GroupSums> {
        let full = self.keys.iter().enumerate().filter(|(_, key)| **key != 0);
        let of = |(at, &key): (usize, &u32)| GroupSums {
            key: key.into(),
            sums: self.sums.iter().map(|sums| sums[at]).collect(),
        };
        full.map(of).collect()
    }

    fn registers(&self) -> Vec<Vec<[u32; 2]>> {
        let tables = self.keys.chunks(self.cells).enumerate();
        let of = |(table, keys): (usize, &[u32])| {
            let keys = keys.iter().map(|&key| [key, 0]).collect();
            let halves = self.sums.iter().flat_map(move |sums| {
                let sums = &sums[table * self.cells..(table + 1) * self.cells];
                [0, 32].map(|shift| sums.iter().map(|sum| [(sum >> shift) as u32, 0]).collect())
            });
            std::iter::once(keys).chain(halves)
        };
        tables.flat_map(of).collect()
    }

    fn reset(&mut self) {
        self.keys.fill(0);
        self.sums.iter_mut().for_each(|sums| sums.fill(0));
    }
}

#[cfg(test)]
mod tests;
