//! The rules that every program must keep on every target, checked before it runs.
//!
//! The central rule is the machine's: *a packet touches a register array at most once, in one stage, as one atomic
//! read-modify-write*. It holds if only one table names the array, since only one action of a table runs and an
//! action has at most one access. Several tables may name it if they are in one stage and no packet runs two of them:
//! each has a gateway that only the packets of certain flows pass, and no flow passes two.

use std::collections::{HashMap, HashSet};

use thiserror::Error;

use super::program::{
    Action, Comparand, FieldId, Key, Op, Operand, Operation, Program, RegisterId, Table, Test,
};
use super::stateful::{Index, Stateful};

/// The reason why a program is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The fields do not begin with `fid`, `id` and the values.
    #[error("the fields do not start with fid, id and {0} values")]
    Header(u8),
    /// A name is empty, not an identifier, or already taken.
    #[error("`{0}` is not a free identifier")]
    Name(String),
    /// A field is not 1 to 32 bits wide.
    #[error("field `{0}` is not 1 to 32 bits wide")]
    FieldWidth(String),
    /// A reference to a field, register, hash unit, action or argument that does not exist.
    #[error("table `{table}` refers to a {what} that does not exist")]
    Missing {
        /// The name of the table.
        table: String,
        /// The kind of thing that is missing.
        what: &'static str,
    },
    /// A register array that two tables access, in different stages or for packets of one flow: a packet could touch
    /// it twice.
    #[error("register `{0}` is accessed by two tables that one packet may run")]
    SharedRegister(String),
    /// An index that can leave the array.
    #[error("table `{table}`: an index of {bits} bits leaves register `{register}`")]
    Index {
        /// The name of the table.
        table: String,
        /// The name of the register array.
        register: String,
        /// The width of the index.
        bits: u8,
    },
    /// A table that reads or writes what another table of its stage writes.
    #[error("table `{table}` depends on field `{field}`, which its own stage writes")]
    Dependency {
        /// The name of the later table.
        table: String,
        /// The name of the field.
        field: String,
    },
    /// A table that writes a header field; only rewrites may change the packet.
    #[error("table `{table}` writes the header field `{field}`")]
    HeaderWrite {
        /// The name of the table.
        table: String,
        /// The name of the field.
        field: String,
    },
    /// An entry that does not have one pattern for each key of its table.
    #[error("table `{0}` has an entry with a wrong number of patterns")]
    Patterns(String),
    /// More than two updates of one half.
    #[error("table `{0}` updates one half of a cell more than twice")]
    Updates(String),
    /// Numbers of values that do not ascend up to that of the program, or that would leave a packet with a part of an
    /// entry.
    #[error("shorter packets have ascending numbers of values below {0}, and one entry")]
    Shorter(u8),
    /// A presence test on a field that is not a value, or one beside other tests in a clause.
    #[error("table `{0}` does not ask by itself whether the packet carries a value")]
    Presence(String),
    /// No verdict, or a verdict or discard field that is not one bit of metadata.
    #[error("a program needs verdicts; each, and what discards packets, is one bit of metadata")]
    Verdict,
    /// A rewrite of a field that is not in the header, or from a field that is not metadata.
    #[error("a rewrite takes metadata into a header field")]
    Rewrite,
    /// More fields, hashes and constants than the interpreter numbers.
    #[error("{0} fields, hashes and constants are more than 65536")]
    Words(usize),
    /// More register cells than any switch has; the model does not try to allocate them.
    #[error("{0} register cells are more than 2^28")]
    TooLarge(u64),
    /// A register array without cells, or a hash unit without bits.
    #[error("`{0}` is empty")]
    Empty(String),
}

/// The greatest number of register cells of a whole program.
const MAX_CELLS: u64 = 1 << 28;

impl Program {
    /// Checks the rules that hold on every target.
    ///
    /// # Errors
    ///
    /// Returns the first broken rule.
    pub fn validate(&self) -> Result<(), ProgramError> {
        self.validate_declarations()?;
        let (header, fields) = (self.header_fields(), self.fields.len());
        let rewrites = |(to, from): &(FieldId, FieldId)| {
            to.index() < header && (header..fields).contains(&from.index())
        };
        if !self.rewrites.iter().all(rewrites) {
            return Err(ProgramError::Rewrite);
        }
        let ascend = self.shorter.is_sorted_by(|a, b| a < b);
        let short = self.shorter.iter().all(|n| (1..self.values).contains(n));
        if !(ascend && short && (self.shorter.is_empty() || self.verdicts.len() == 1)) {
            return Err(ProgramError::Shorter(self.values));
        }
        let mut users: HashMap<RegisterId, Vec<(usize, &Table)>> = HashMap::new();
        for (number, stage) in self.stages.iter().enumerate() {
            let mut written: HashSet<FieldId> = HashSet::new();
            for table in &stage.tables {
                self.validate_table(table)?;
                let conflict = self
                    .reads(table)
                    .into_iter()
                    .chain(table.writes())
                    .find(|f| written.contains(f));
                if let Some(field) = conflict {
                    let field = self.fields[field.index()].name.clone();
                    return Err(ProgramError::Dependency { table: table.name.clone(), field });
                }
                written.extend(table.writes());
                let register = table.register();
                if let Some(id) = register {
                    let users = users.entry(id).or_default();
                    let exclusive = |&(stage, user): &(usize, &Table)| {
                        stage == number && self.exclude_each_other(user, table)
                    };
                    if !users.iter().all(exclusive) {
                        return Err(ProgramError::SharedRegister(
                            self.registers[usize::from(id.0)].name.clone(),
                        ));
                    }
                    users.push((number, table));
                }
            }
        }
        Ok(())
    }

    /// Returns true if no packet runs both tables: each runs only for certain flows, and they have none in common.
    fn exclude_each_other(&self, one: &Table, other: &Table) -> bool {
        match (self.flows_of(one), self.flows_of(other)) {
            (Some(one), Some(other)) => one.is_disjoint(&other),
            _ => false,
        }
    }

    /// Returns the flows whose packets a table can run for, or `None` if its gateway does not depend on the flow.
    fn flows_of(&self, table: &Table) -> Option<HashSet<u32>> {
        let flags = table.gateway.all_of.iter().filter_map(|clause| match clause.as_slice() {
            &[Test { field, equal: true, with: Comparand::Const(value), mask }]
                if value & mask != 0 =>
            {
                self.flows_that_set(field)
            }
            _ => None,
        });
        flags.reduce(|one, other| one.intersection(&other).copied().collect())
    }

    /// Returns the flows for which a metadata field can be other than 0, or `None` unless all tables that write it
    /// match exactly the flow identifier and have no default.
    fn flows_that_set(&self, field: FieldId) -> Option<HashSet<u32>> {
        let mut flows = (field.index() >= self.header_fields()).then(HashSet::new)?;
        for (_, table) in self.tables().filter(|(_, table)| table.writes().contains(&field)) {
            if table.keys != [Key::exact(FieldId::FID)] || table.default.is_some() {
                return None;
            }
            for entry in &table.entries {
                let action = table.actions.get(entry.call.action)?;
                let zero = |op: &Op| match (op.operation, op.a) {
                    (Operation::Set, Operand::Const(constant)) => constant == 0,
                    (Operation::Set, Operand::Arg(arg)) => {
                        entry.call.args.get(usize::from(arg)) == Some(&0)
                    }
                    _ => false,
                };
                let mut outputs = action.stateful.iter().flat_map(|access| &access.outputs);
                let mut ops = action.ops.iter().filter(|op| op.to == field);
                if outputs.any(|output| output.to == field) || !ops.all(zero) {
                    flows.extend(entry.patterns.iter().map(|pattern| pattern.value));
                }
            }
        }
        Some(flows)
    }

    fn validate_declarations(&self) -> Result<(), ProgramError> {
        let header_ok = self.fields.get(..self.header_fields()).is_some_and(|header| {
            header.iter().enumerate().all(|(i, f)| match i {
                0 => f.name == "fid" && f.bits == 16,
                1 => f.name == "id" && f.bits == 32,
                n => f.name == format!("v{}", n - 2) && f.bits == 32,
            })
        });
        if !header_ok {
            return Err(ProgramError::Header(self.values));
        }
        let mut names = HashSet::new();
        let fields = self.fields.iter().map(|f| &f.name);
        let registers = self.registers.iter().map(|r| &r.name);
        let hashes = self.hashes.iter().map(|h| &h.name);
        let tables = self.tables().map(|(_, t)| &t.name);
        for name in fields.chain(registers).chain(hashes).chain(tables) {
            if !is_identifier(name) || !names.insert(name) {
                return Err(ProgramError::Name(name.clone()));
            }
        }
        if let Some(field) = self.fields.iter().find(|f| !(1..=32).contains(&f.bits)) {
            return Err(ProgramError::FieldWidth(field.name.clone()));
        }
        if let Some(register) = self.registers.iter().find(|r| r.size == 0) {
            return Err(ProgramError::Empty(register.name.clone()));
        }
        let cells = self.registers.iter().map(|r| u64::from(r.size)).sum();
        if cells > MAX_CELLS {
            return Err(ProgramError::TooLarge(cells));
        }
        for hash in &self.hashes {
            if !(1..=32).contains(&hash.bits) || hash.inputs.is_empty() {
                return Err(ProgramError::Empty(hash.name.clone()));
            }
            if hash.inputs.iter().any(|f| f.index() >= self.fields.len()) {
                return Err(ProgramError::Missing { table: hash.name.clone(), what: "field" });
            }
        }
        let is_flag = |v: &FieldId| {
            v.index() >= self.header_fields()
                && self.fields.get(v.index()).is_some_and(|f| f.bits == 1)
        };
        if self.verdicts.is_empty() || !self.verdicts.iter().chain(&self.discards).all(is_flag) {
            return Err(ProgramError::Verdict);
        }
        Ok(())
    }

    fn validate_table(&self, table: &Table) -> Result<(), ProgramError> {
        let missing = |what| Err(ProgramError::Missing { table: table.name.clone(), what });
        let patterns = table.entries.iter().all(|e| e.patterns.len() == table.keys.len());
        if !patterns || (table.keys.is_empty() && !table.entries.is_empty()) {
            return Err(ProgramError::Patterns(table.name.clone()));
        }
        let hash_numbers = table.actions.iter().flat_map(|a| {
            let ops = a.ops.iter().flat_map(|op| [op.a, op.b]).filter_map(|o| match o {
                Operand::Hash(n) => Some(n),
                _ => None,
            });
            let index = a.stateful.as_ref().and_then(|s| match s.index {
                Index::Hash(n) => Some(n),
                _ => None,
            });
            ops.chain(index)
        });
        if hash_numbers.into_iter().any(|n| usize::from(n) >= self.hashes.len()) {
            return missing("hash unit");
        }
        if self
            .reads(table)
            .into_iter()
            .chain(table.writes())
            .any(|f| f.index() >= self.fields.len())
        {
            return missing("field");
        }
        let is_value = |test: &Test| (2..self.header_fields()).contains(&test.field.index());
        let misused = |clause: &Vec<Test>| {
            clause.iter().any(|test| test.is_of_presence() && (clause.len() > 1 || !is_value(test)))
        };
        if table.gateway.all_of.iter().any(misused) {
            return Err(ProgramError::Presence(table.name.clone()));
        }
        if let Some(field) = table.writes().into_iter().find(|f| f.index() < self.header_fields()) {
            let field = self.fields[field.index()].name.clone();
            return Err(ProgramError::HeaderWrite { table: table.name.clone(), field });
        }
        for call in table.entries.iter().map(|e| &e.call).chain(&table.default) {
            let Some(action) = table.actions.get(call.action) else { return missing("action") };
            let needed = action.ops.iter().flat_map(|op| [op.a, op.b]).filter_map(|o| match o {
                Operand::Arg(n) => Some(usize::from(n) + 1),
                _ => None,
            });
            if needed.max().unwrap_or(0) > call.args.len() {
                return missing("argument");
            }
        }
        table.actions.iter().try_for_each(|action| self.validate_action(table, action))
    }

    fn validate_action(&self, table: &Table, action: &Action) -> Result<(), ProgramError> {
        let constant = |o| matches!(o, Operand::Const(_));
        if action.ops.iter().any(|op| op.operation == Operation::ShiftRight && !constant(op.b)) {
            return Err(ProgramError::Missing {
                table: table.name.clone(),
                what: "constant shift",
            });
        }
        let mut written = HashSet::new();
        if let Some(field) = action_writes(action).find(|f| !written.insert(*f)) {
            let field = self.fields[field.index()].name.clone();
            return Err(ProgramError::Dependency { table: table.name.clone(), field });
        }
        let Some(stateful) = &action.stateful else { return Ok(()) };
        if stateful.update_lo.len() > 2 || stateful.update_hi.len() > 2 {
            return Err(ProgramError::Updates(table.name.clone()));
        }
        if table.register() != Some(stateful.register) {
            return Err(ProgramError::Missing {
                table: table.name.clone(),
                what: "single register",
            });
        }
        let Some(register) = self.registers.get(usize::from(stateful.register.0)) else {
            return Err(ProgramError::Missing { table: table.name.clone(), what: "register" });
        };
        let last = u64::from(stateful.first) + self.cells_named(stateful);
        if last > u64::from(register.size) {
            return Err(ProgramError::Index {
                table: table.name.clone(),
                register: register.name.clone(),
                bits: self.index_bits(stateful),
            });
        }
        Ok(())
    }

    /// Returns the number of cells that the index of an access can reach.
    pub(crate) fn cells_named(&self, stateful: &Stateful) -> u64 {
        let greatest = match stateful.index {
            Index::Field(field) => self.greatest(field),
            Index::Zero | Index::Hash(_) => None,
        };
        greatest.map_or(1 << self.index_bits(stateful), |greatest| u64::from(greatest) + 1)
    }

    /// Returns the greatest number that a metadata field can hold, or none unless the field is only set to constants
    /// and action data.
    fn greatest(&self, field: FieldId) -> Option<u32> {
        let mut greatest = (field.index() >= self.header_fields()).then_some(0)?;
        for (_, table) in self.tables().filter(|(_, table)| table.writes().contains(&field)) {
            for (number, action) in table.actions.iter().enumerate() {
                let mut outputs = action.stateful.iter().flat_map(|access| &access.outputs);
                if outputs.any(|output| output.to == field) {
                    return None;
                }
                for op in action.ops.iter().filter(|op| op.to == field) {
                    let calls = table.entries.iter().map(|entry| &entry.call).chain(&table.default);
                    greatest = match (op.operation, op.a) {
                        (Operation::Set, Operand::Const(constant)) => greatest.max(constant),
                        (Operation::Set, Operand::Arg(arg)) => calls
                            .filter(|call| call.action == number)
                            .filter_map(|call| call.args.get(usize::from(arg)).copied())
                            .fold(greatest, u32::max),
                        _ => return None,
                    };
                }
            }
        }
        Some(greatest)
    }

    /// Returns the width in bits of the index of an access.
    #[must_use]
    pub fn index_bits(&self, stateful: &Stateful) -> u8 {
        match stateful.index {
            Index::Zero => 0,
            Index::Field(field) => self.fields[field.index()].bits,
            Index::Hash(hash) => self.hashes[usize::from(hash)].bits,
        }
    }

    /// Returns the fields that a table reads: in its gateway, keys, hash units and actions.
    #[must_use]
    pub fn reads(&self, table: &Table) -> Vec<FieldId> {
        let mut fields: Vec<FieldId> = table.keys.iter().map(|key| key.field).collect();
        fields.extend(table.gateway.fields());
        let mut hashed = Vec::new();
        for action in &table.actions {
            for operand in action.ops.iter().flat_map(|op| [op.a, op.b]) {
                match operand {
                    Operand::Field(field) => fields.push(field),
                    Operand::Hash(hash) => hashed.push(hash),
                    Operand::Const(_) | Operand::Arg(_) => {}
                }
            }
            if let Some(stateful) = &action.stateful {
                fields.extend(stateful.inputs());
                match stateful.index {
                    Index::Zero => {}
                    Index::Field(field) => fields.push(field),
                    Index::Hash(hash) => hashed.push(hash),
                }
            }
        }
        let inputs = hashed.into_iter().filter_map(|h| self.hashes.get(usize::from(h)));
        fields.extend(inputs.flat_map(|hash| hash.inputs.iter().copied()));
        fields.sort_unstable();
        fields.dedup();
        fields
    }
}

impl super::program::Gateway {
    /// Iterates over the fields that the gateway reads. A presence test reads no field.
    pub fn fields(&self) -> impl Iterator<Item = FieldId> {
        self.all_of.iter().flatten().filter(|test| !test.is_of_presence()).flat_map(|test| {
            let right = match test.with {
                Comparand::Field(field) => Some(field),
                Comparand::Const(_) => None,
            };
            [Some(test.field), right].into_iter().flatten()
        })
    }
}

impl Table {
    /// Returns the fields that the table can write.
    #[must_use]
    pub fn writes(&self) -> Vec<FieldId> {
        let mut fields: Vec<FieldId> = self.actions.iter().flat_map(action_writes).collect();
        fields.sort_unstable();
        fields.dedup();
        fields
    }
}

fn action_writes(action: &Action) -> impl Iterator<Item = FieldId> {
    let outputs = action.stateful.iter().flat_map(|s| s.outputs.iter().map(|o| o.to));
    action.ops.iter().map(|op| op.to).chain(outputs)
}

fn is_identifier(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
