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
//!
//! Of several values of an entry each has halves of its own beside those of the first: an entry is held
//! or forwarded as a whole.

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
    Action, AluOperand, Builder, Cell, Compare, FieldId, Half, Index, Op, Operand, Operation,
    POLYNOMIALS, Program, Relation, Source, Stateful, Table, Test, Update, When, WrongValues,
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

/// The most values of an entry that are added up.
pub const MOST_SUMS: u32 = 8;

/// What a switch holds of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The group.
    pub key: u64,
    /// The sum of each value, modulo 2⁶⁴.
    pub sums: Vec<u64>,
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
        Self { cells, tables, sums: 1, hashing: Hashing::DEFAULT }.with_sums(1)
    }

    /// The same for entries with so many values (1 to [`MOST_SUMS`]), each of which is added up.
    ///
    /// # Errors
    ///
    /// If they are too many, or their cells are.
    pub fn with_sums(self, sums: u32) -> Result<Self, ConfigError> {
        in_range("sums", sums, 1, MOST_SUMS)?;
        // The key of a group takes one, each of its sums two.
        cells_in_range(
            "(1 + 2 × sums) × cells × tables",
            self.cells,
            (1 + 2 * sums) * self.tables,
        )?;
        Ok(Self { sums, ..self })
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

    /// Values of an entry that are added up.
    #[must_use]
    pub const fn sums(&self) -> u32 {
        self.sums
    }

    /// The program: its packets carry the key and the values to add; 1 for COUNT.
    #[must_use]
    pub fn program(&self) -> Program {
        // `new` allows no more than a few.
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
        // The most that a low half may be for the sum not to carry.
        let invert = |(&room, &value): (&FieldId, &FieldId)| {
            Op::new(room, Operation::Xor, Operand::Field(value), Operand::Const(u32::MAX))
        };
        let inverts: Vec<Op> = room.iter().zip(&values).map(invert).collect();
        b.table(Table::always("room_left", Action::compute("invert", inverts)));
        let tables: Vec<Groups> =
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

    /// What the registers of the program hold.
    #[must_use]
    pub fn held_in(&self, registers: &[Vec<[u32; 2]>]) -> Vec<Held> {
        let arrays = 1 + 2 * self.sums as usize;
        let all = 0..u64::from(self.cells) * u64::from(self.tables);
        all.filter_map(|cell| in_cell(registers, arrays, cell)).collect()
    }

    /// The fast path.
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

/// The key and the sum in a cell of the registers of a program with one sum, if the cell is full.
pub(crate) fn held_in(registers: &[Vec<[u32; 2]>], cell: u64) -> Option<(u64, u64)> {
    let held = in_cell(registers, 3, cell)?;
    held.sums.first().map(|sum| (held.key, *sum))
}

/// What a cell holds, if it is full. Registers come table after table, `arrays` of each: the keys, then
/// low and high halves of each sum; cells are numbered through all tables.
fn in_cell(registers: &[Vec<[u32; 2]>], arrays: usize, cell: u64) -> Option<Held> {
    let (cell, cells) = (usize::try_from(cell).ok()?, registers.first()?.len());
    let mut words = registers
        .chunks_exact(arrays)
        .nth(cell / cells)?
        .iter()
        .map(|array| u64::from(array[cell % cells][0]));
    let key = words.next().filter(|key| *key != 0)?;
    let halves: Vec<u64> = words.collect();
    let sums = halves.as_chunks().0.iter().map(|[low, high]| high << 32 | low).collect();
    Some(Held { key, sums })
}

/// A name that tells the sums of an entry apart; the first needs no number.
fn numbered(name: &str, sum: u32) -> String {
    if sum == 0 { name.to_owned() } else { format!("{name}_{sum}") }
}

/// The comparators' one-hot case if a cell is neither empty nor of the key.
const NEITHER: u32 = 1;

/// A table on the switch.
struct Groups {
    number: u32,
    /// What the cell is to the entry; 0 if it was not looked at.
    case: FieldId,
    keys: Stateful,
    sums: Vec<Sum>,
}

/// The sums of one value in a table.
struct Sum {
    /// Which table, and which value.
    name: String,
    /// Whether the low half went round.
    carry: FieldId,
    low: Stateful,
    high: Stateful,
}

impl Groups {
    /// Looks for the key, and takes an empty cell, if the table `before` had no room.
    fn find(&self, key: FieldId, before: Option<&Self>) -> Table {
        let find = self.keys.clone();
        let find = find
            .compare_lo(Compare::mem(Half::Lo, Relation::Eq, key))
            .compare_hi(Compare::mem_const(Half::Lo, Relation::Eq, 0))
            .set_lo(Update::set(When::HI, AluOperand::Field(key)))
            .output(self.case, Source::Predicate, When::ALWAYS);
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
                When::ALWAYS,
                Operation::Add,
                AluOperand::MemLo,
                AluOperand::Field(value),
            ))
            .set_hi(Update::set(When::LO, AluOperand::Const(1)))
            .output(sum.carry, Source::AluHi, When::ALWAYS);
        // If the cell is the entry's.
        let table = Table::always(format!("add_low{}", sum.name), Action::access("add", add));
        table.when([Test::is_not(self.case, 0)]).when([Test::is_not(self.case, NEITHER)])
    }
}

impl Sum {
    fn add_high(&self) -> Table {
        let add = self.high.clone();
        let add = add.set_lo(Update::new(
            When::ALWAYS,
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
    /// Table after table; 0 means an empty cell.
    keys: Vec<u32>,
    /// Of each value, side by side with the keys.
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
    ) -> Result<(), WrongValues> {
        let wrong = WrongValues { expected: self.values(), actual: entries.columns().len() };
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

    fn held(&self) -> Vec<Held> {
        let full = self.keys.iter().enumerate().filter(|(_, key)| **key != 0);
        let of = |(at, &key): (usize, &u32)| Held {
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
