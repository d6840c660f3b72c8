//! Running a program packet by packet, bit by bit.

use std::collections::HashMap;

use thiserror::Error;

use super::hash::{HashTable, input_bytes};
use super::packet::Packet;
use super::program::{
    Cell, Comparand, Entry, FieldId, MatchKind, Op, Operand, Program, RegisterId, Table, Test,
};
use super::stateful::Index;
use super::validate::ProgramError;
use crate::Verdict;

/// One access to a register, as a trace shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The stage.
    pub stage: usize,
    /// The register array.
    pub register: RegisterId,
    /// The cell.
    pub index: u32,
    /// The cell before.
    pub before: [u32; 2],
    /// The cell after.
    pub after: [u32; 2],
}

/// One table that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The stage.
    pub stage: usize,
    /// The table's name.
    pub table: String,
    /// The action's name.
    pub action: String,
    /// The fields written, by name.
    pub writes: Vec<(String, u32)>,
    /// The register access, if any.
    pub access: Option<Access>,
}

/// All that one packet did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The tables that ran, in order.
    pub steps: Vec<Step>,
    /// The verdict on each entry of the packet.
    pub verdicts: Vec<Verdict>,
}

/// A packet that the program's parser rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the program parses {expected} values, the packet has {actual}")]
pub struct WrongValues {
    /// How many values the program parses.
    pub expected: usize,
    /// How many the packet has.
    pub actual: usize,
}

/// A program with its registers.
#[derive(Debug, Clone)]
pub struct Interpreter {
    program: Program,
    hashes: Vec<HashTable>,
    matchers: Vec<Matcher>,
    registers: Vec<Vec<[u32; 2]>>,
    fields: Vec<u32>,
    writes: Vec<(FieldId, u32)>,
    accesses: Vec<Access>,
}

impl Interpreter {
    /// Loads a program; its registers hold their initial values.
    ///
    /// # Errors
    ///
    /// If the program breaks a rule of [`Program::validate`].
    pub fn new(program: Program) -> Result<Self, ProgramError> {
        program.validate()?;
        let hashes = program
            .hashes
            .iter()
            .map(|hash| {
                let bytes =
                    hash.inputs.iter().map(|f| input_bytes(program.fields[f.index()].bits)).sum();
                HashTable::new(hash.polynomial, bytes, hash.bits)
            })
            .collect();
        let matchers = program.tables().map(|(_, table)| Matcher::of(table)).collect();
        let registers = initial_registers(&program);
        let fields = vec![0; program.fields.len()];
        Ok(Self {
            program,
            hashes,
            matchers,
            registers,
            fields,
            writes: Vec::new(),
            accesses: Vec::new(),
        })
    }

    /// The program.
    #[must_use]
    pub const fn program(&self) -> &Program {
        &self.program
    }

    /// The register arrays as they are: low (or only) and high number of each cell.
    #[must_use]
    pub fn registers(&self) -> &[Vec<[u32; 2]>] {
        &self.registers
    }

    /// Reboots: every register holds its initial value again.
    pub fn reset(&mut self) {
        self.registers = initial_registers(&self.program);
    }

    /// Runs one packet and gives the verdict on its first entry.
    ///
    /// # Errors
    ///
    /// If the packet does not carry the number of values that the program parses.
    pub fn run(&mut self, packet: &Packet) -> Result<Verdict, WrongValues> {
        self.process(packet.fid, packet.id, &packet.values)
    }

    /// As [`Interpreter::run`], from the packet's parts.
    ///
    /// # Errors
    ///
    /// If `values` is not as many as the program parses.
    pub fn process(&mut self, fid: u16, id: u32, values: &[u32]) -> Result<Verdict, WrongValues> {
        self.execute::<false>(fid, id, values, &mut Vec::new())?;
        Ok(self.verdict(self.program.verdicts[0]))
    }

    /// Runs one packet and gives the verdict on each of its entries.
    ///
    /// # Errors
    ///
    /// As [`Interpreter::run`].
    pub fn run_entries(&mut self, packet: &Packet) -> Result<Vec<Verdict>, WrongValues> {
        self.execute::<false>(packet.fid, packet.id, &packet.values, &mut Vec::new())?;
        Ok(self.program.verdicts.iter().map(|v| self.verdict(*v)).collect())
    }

    /// Runs one packet and tells everything it did.
    ///
    /// # Errors
    ///
    /// As [`Interpreter::run`].
    pub fn trace(&mut self, packet: &Packet) -> Result<Trace, WrongValues> {
        let mut steps = Vec::new();
        self.execute::<true>(packet.fid, packet.id, &packet.values, &mut steps)?;
        let verdicts = self.program.verdicts.iter().map(|v| self.verdict(*v)).collect();
        Ok(Trace { steps, verdicts })
    }

    /// The value of a field after the last packet.
    #[must_use]
    pub fn field(&self, field: FieldId) -> Option<u32> {
        self.fields.get(field.index()).copied()
    }

    fn verdict(&self, field: FieldId) -> Verdict {
        if self.fields[field.index()] == 1 { Verdict::Prune } else { Verdict::Forward }
    }

    fn execute<const TRACE: bool>(
        &mut self,
        fid: u16,
        id: u32,
        values: &[u32],
        steps: &mut Vec<Step>,
    ) -> Result<(), WrongValues> {
        let Self { program, hashes, matchers, registers, fields, writes, accesses } = self;
        let expected = usize::from(program.values);
        if values.len() != expected {
            return Err(WrongValues { expected, actual: values.len() });
        }
        fields[0] = u32::from(fid);
        fields[1] = id;
        fields[2..2 + expected].copy_from_slice(values);
        fields[2 + expected..].fill(0);
        accesses.clear();
        // Within a stage no table reads or writes what an earlier one wrote, which `validate`
        // checked: running the tables one after the other is running them side by side.
        for ((stage, table), matcher) in program.tables().zip(&*matchers) {
            if !table
                .gateway
                .all_of
                .iter()
                .all(|clause| clause.iter().any(|test| holds(test, fields)))
            {
                continue;
            }
            let Some((action, args)) = matcher.choose(table, fields) else { continue };
            let action = &table.actions[action];
            writes.clear();
            if let Some(stateful) = &action.stateful {
                let index = match stateful.index {
                    Index::Zero => 0,
                    Index::Field(field) => fields[field.index()],
                    Index::Hash(hash) => hash_value(program, hashes, hash, fields),
                };
                let register = usize::from(stateful.register.0);
                let shape = program.registers[register].cell;
                let cell = &mut registers[register][index as usize];
                let before = *cell;
                stateful.run(
                    cell,
                    shape.bits(),
                    shape == Cell::Pair32,
                    |f| fields[f.index()],
                    |to, value| writes.push((to, value)),
                );
                if TRACE {
                    let (register, after) = (stateful.register, *cell);
                    accesses.push(Access { stage, register, index, before, after });
                }
            }
            for op in &action.ops {
                let value = operation(program, hashes, op, args, fields);
                writes.push((op.to, value));
            }
            for (to, value) in writes.iter_mut() {
                *value &= program.fields[to.index()].mask();
                fields[to.index()] = *value;
            }
            if TRACE {
                steps.push(Step {
                    stage,
                    table: table.name.clone(),
                    action: action.name.clone(),
                    writes: writes
                        .iter()
                        .map(|(f, v)| (program.fields[f.index()].name.clone(), *v))
                        .collect(),
                    access: action.stateful.is_some().then(|| accesses.last().copied()).flatten(),
                });
            }
        }
        Ok(())
    }
}

fn initial_registers(program: &Program) -> Vec<Vec<[u32; 2]>> {
    program.registers.iter().map(|r| vec![r.initial; r.size as usize]).collect()
}

/// A table's entries, laid out for looking up: a logarithm has 65,536 of them.
#[derive(Debug, Clone)]
struct Matcher {
    lookup: Lookup,
    /// The action of each entry.
    actions: Vec<u32>,
    /// The action data of all entries, each padded to `arity` words.
    args: Vec<u32>,
    arity: usize,
}

impl Matcher {
    fn of(table: &Table) -> Self {
        let arity = table.entries.iter().map(|entry| entry.call.args.len()).max().unwrap_or(0);
        let padded = |entry: &Entry| {
            let padding = arity - entry.call.args.len();
            entry.call.args.clone().into_iter().chain(std::iter::repeat_n(0, padding))
        };
        Self {
            lookup: Lookup::of(table),
            actions: table.entries.iter().map(|entry| entry.call.action as u32).collect(),
            args: table.entries.iter().flat_map(padded).collect(),
            arity,
        }
    }

    /// The action that runs, and its data.
    fn choose<'a>(&'a self, table: &'a Table, fields: &[u32]) -> Option<(usize, &'a [u32])> {
        let key = || table.keys.first().map_or(0, |key| fields[key.field.index()]);
        let found = match &self.lookup {
            Lookup::Scan => table.entries.iter().position(|entry| {
                table.keys.iter().zip(&entry.patterns).all(|(key, pattern)| {
                    let mask = if key.kind == MatchKind::Exact { u32::MAX } else { pattern.mask };
                    fields[key.field.index()] & mask == pattern.value & mask
                })
            }),
            Lookup::Masked(patterns) => {
                let key = key();
                patterns.iter().position(|(value, mask)| key & mask == *value)
            }
            Lookup::Dense(entries) => entries.get(key() as usize).map(|&number| number as usize),
            Lookup::Sparse(entries) => entries.get(&key()).map(|&number| number as usize),
        };
        // No entry has the number NONE.
        if let Some(number) = found
            && let Some(action) = self.actions.get(number)
        {
            return Some((*action as usize, &self.args[number * self.arity..]));
        }
        table.default.as_ref().map(|call| (call.action, call.args.as_slice()))
    }
}

/// How a table's entry is found.
#[derive(Debug, Clone)]
enum Lookup {
    /// One after the other.
    Scan,
    /// One key of any kind: values and masks, one after the other.
    Masked(Vec<(u32, u32)>),
    /// One exact key: the number of each value's entry, or [`NONE`].
    Dense(Vec<u32>),
    /// One exact key whose values lie far apart.
    Sparse(HashMap<u32, u32>),
}

/// No entry.
const NONE: u32 = u32::MAX;
/// Fewer entries than this are searched one by one.
const FEW: usize = 8;

impl Lookup {
    fn of(table: &Table) -> Self {
        let [key] = table.keys.as_slice() else { return Self::Scan };
        let entries = || table.entries.iter().map(|entry| entry.patterns[0]);
        if key.kind != MatchKind::Exact || table.entries.len() < FEW {
            let mask = |mask| if key.kind == MatchKind::Exact { u32::MAX } else { mask };
            return Self::Masked(
                entries().map(|p| (p.value & mask(p.mask), mask(p.mask))).collect(),
            );
        }
        let most = entries().map(|p| p.value as usize).max().unwrap_or(0);
        if most < 4 * table.entries.len() {
            let mut dense = vec![NONE; most + 1];
            // The first of equal entries counts.
            for (number, pattern) in (0..).zip(entries()).collect::<Vec<_>>().into_iter().rev() {
                dense[pattern.value as usize] = number;
            }
            return Self::Dense(dense);
        }
        let mut sparse = HashMap::new();
        for (number, pattern) in (0..).zip(entries()) {
            sparse.entry(pattern.value).or_insert(number);
        }
        Self::Sparse(sparse)
    }
}

fn holds(test: &Test, fields: &[u32]) -> bool {
    let right = match test.with {
        Comparand::Field(field) => fields[field.index()],
        Comparand::Const(constant) => constant,
    };
    ((fields[test.field.index()] ^ right) & test.mask == 0) == test.equal
}

fn hash_value(program: &Program, hashes: &[HashTable], number: u16, fields: &[u32]) -> u32 {
    let inputs = &program.hashes[usize::from(number)].inputs;
    let words =
        inputs.iter().map(|f| (fields[f.index()], input_bytes(program.fields[f.index()].bits)));
    hashes[usize::from(number)].hash(words)
}

fn operation(
    program: &Program,
    hashes: &[HashTable],
    op: &Op,
    args: &[u32],
    fields: &[u32],
) -> u32 {
    let read = |operand| match operand {
        Operand::Field(field) => fields[field.index()],
        Operand::Const(constant) => constant,
        Operand::Arg(n) => args[usize::from(n)],
        Operand::Hash(number) => hash_value(program, hashes, number, fields),
    };
    op.operation.apply(read(op.a), read(op.b), program.fields[op.to.index()].bits)
}
