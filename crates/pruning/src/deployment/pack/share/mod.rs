//! Queries that share the stateful ALUs of one pipeline (paper §6).
//!
//! [`pack`](super::pack()) gives each query ALUs of its own. If they do not suffice, the paper reuses them: rules of
//! the control plane turn an ALU that compares for a filter into a part of the comparator of TOP N or HAVING, and one
//! stage serves several tasks, each with a part of its memory. [`share`] does both, by the rule below.
//!
//! # The rule
//!
//! A stateful ALU serves one register array. It stores a few instructions, of which a packet's rule selects one. The
//! tables of several queries share an ALU if one ALU of the target could do all of it:
//!
//! * No two queries have a flow in common, so a packet runs at most one of the tables and touches one cell.
//! * The cells have one type: the width is a property of the array.
//! * Together, the accesses read no more fields, need no more constants and have no more instructions than an ALU of
//!   the target holds. Accesses that differ only in the cell and in the field that takes the output are one
//!   instruction, such as those of two GROUP BYs.
//! * The array and the tables fit a stage.
//!
//! With [`Sharing::Divided`], the cells also start with the same value, since the array has one initial value. Each
//! part starts at a multiple of the power of two that holds it, so its first cell is a constant that a rule's address
//! is OR-ed with.
//!
//! Tables keep their gateways, entries and outputs, and each query keeps its order of stages. Only ALUs and memory are
//! shared: [`fit`](crate::switch::fit()) does not count the ALUs that only compute on fields, so sharing those would
//! change none of its numbers.
//!
//! Sharing is greedy, and tables that share an ALU must share its stage. Where ALUs are plentiful, a shared program
//! may take more stages than a packed one.

use super::{Frame, PackError, Query, frame};
use crate::switch::fit::{accesses, fits_stage, instructions};
use crate::switch::{Program, Register, RegisterId, Stage, Table, Target, Test};

/// What queries share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// ALUs. All queries run at the same time, and each has a part of an array's cells.
    Divided,
    /// ALUs and their memory. One query runs at a time; before it starts, the control plane installs its rules and
    /// sets the cells to its initial values ([`Shared::installed`]).
    Alternatives,
}

/// A register array, and thus a stateful ALU, that several queries use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedAlu {
    /// The name of the array in the program.
    pub register: String,
    /// The part of each query, in the order of the queries.
    pub parts: Vec<Part>,
}

/// A query's part of a shared array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The number of the query.
    pub query: usize,
    /// The name of the array of which this part takes the place, with the query's prefix.
    pub register: String,
    /// The first cell of the part.
    pub first: u32,
    /// The number of cells.
    pub cells: u32,
    /// The initial value of the cells.
    pub initial: [u32; 2],
}

/// A program whose queries share ALUs.
#[derive(Debug, Clone)]
pub struct Shared<'a> {
    frame: Frame<'a>,
    alus: Vec<SharedAlu>,
}

/// Packs programs into one whose queries share stateful ALUs of `target`, by the rule of this module.
///
/// # Errors
///
/// As [`pack`](super::pack()).
pub fn share<'a>(
    name: &str,
    queries: &[Query<'a>],
    sharing: Sharing,
    target: &Target,
) -> Result<Shared<'a>, PackError> {
    let mut frame = frame(name, queries)?;
    let stages: Vec<Vec<Vec<Table>>> = (0..queries.len())
        .map(|number| {
            let gate = |_: &Table| Some(Test::is(frame.served[number].active, 1));
            frame.grafts[number].tables(queries[number].program, &gate).collect()
        })
        .collect();
    let longest = stages.iter().map(Vec::len).max().unwrap_or(0);
    let program = &mut frame.program;
    let mut plan = Plan { sharing, target, program, rows: Vec::new() };
    plan.rows.resize_with(longest, Row::default);
    let mut order: Vec<usize> = (0..queries.len()).collect();
    // The longest query has no choice of stages. The others find ALUs of the queries before them.
    order.sort_by_key(|&query| std::cmp::Reverse(stages[query].len()));
    for query in order {
        plan.add(query, &stages[query], has_flows_of_its_own(queries, query));
    }
    let Plan { rows, .. } = plan;
    let alus = merge(program, rows, sharing);
    frame.close();
    Ok(Shared { frame, alus })
}

/// Returns true if no other query serves a flow of this one.
fn has_flows_of_its_own(queries: &[Query<'_>], query: usize) -> bool {
    let flows = queries[query].flows;
    let serves_one = |other: &Query<'_>| flows.iter().any(|flow| other.serves(flow.fid));
    queries.iter().enumerate().all(|(number, other)| number == query || !serves_one(other))
}

/// One stage of the program: its tables, and those that share an ALU.
#[derive(Default)]
struct Row {
    tables: Vec<Table>,
    groups: Vec<Group>,
}

/// Tables of one stage that share an ALU: the query of each, and its position in the stage.
#[derive(Clone)]
struct Group {
    members: Vec<(usize, usize)>,
}

struct Plan<'a> {
    sharing: Sharing,
    target: &'a Target,
    program: &'a Program,
    rows: Vec<Row>,
}

impl Plan<'_> {
    /// Places a query's stages, each where most of its tables find an ALU, and early.
    fn add(&mut self, query: usize, stages: &[Vec<Table>], may_share: bool) {
        let mut next = 0;
        for (number, tables) in stages.iter().enumerate() {
            let latest = self.rows.len() + number - stages.len();
            let wanting: Vec<&Table> =
                tables.iter().filter(|table| may_share && is_only_user(table, stages)).collect();
            let found = |row: &usize| {
                let groups = &self.rows[*row].groups;
                let mut free = vec![true; groups.len()];
                let takes = |table: &&&Table| {
                    let group = (0..groups.len())
                        .find(|n| free[*n] && self.accepts(*row, &groups[*n], query, table));
                    group.map(|group| free[group] = false).is_some()
                };
                wanting.iter().filter(takes).count()
            };
            let row = (next..=latest)
                .max_by_key(|row| (found(row), std::cmp::Reverse(*row)))
                .unwrap_or(next);
            for table in tables {
                let position = self.rows[row].tables.len();
                if may_share && is_only_user(table, stages) {
                    let groups = &self.rows[row].groups;
                    let group = (0..groups.len())
                        .find(|group| self.accepts(row, &groups[*group], query, table));
                    let groups = &mut self.rows[row].groups;
                    match group {
                        Some(group) => groups[group].members.push((query, position)),
                        None => groups.push(Group { members: vec![(query, position)] }),
                    }
                }
                self.rows[row].tables.push(table.clone());
            }
            next = row + 1;
        }
    }

    fn register(&self, table: &Table) -> Option<&Register> {
        self.program.registers.get(usize::from(table.register()?.0))
    }

    /// Returns true if one ALU can do the work of a group and of one more table.
    fn accepts(&self, row: usize, group: &Group, query: usize, table: &Table) -> bool {
        if group.members.iter().any(|(member, _)| *member == query) {
            return false;
        }
        let of_group = group.members.iter().map(|(_, position)| &self.rows[row].tables[*position]);
        let tables: Vec<&Table> = of_group.chain([table]).collect();
        let registers: Vec<&Register> =
            tables.iter().filter_map(|table| self.register(table)).collect();
        let [first, ..] = registers.as_slice() else { return false };
        let alike = |other: &&Register| {
            other.cell == first.cell
                && (self.sharing == Sharing::Alternatives || other.initial == first.initial)
        };
        if registers.len() != tables.len() || !registers.iter().all(alike) {
            return false;
        }
        let accesses: Vec<_> = accesses(&tables).collect();
        let mut inputs: Vec<_> = accesses.iter().flat_map(|access| access.inputs()).collect();
        inputs.sort_unstable();
        inputs.dedup();
        let [least, greatest] = self.target.alu_constants;
        let mut constants: Vec<i64> = accesses.iter().flat_map(|a| a.constants()).collect();
        constants.retain(|constant| !(least..=greatest).contains(constant));
        constants.sort_unstable();
        constants.dedup();
        let cells: Vec<u32> = registers.iter().map(|register| register.size).collect();
        let (_, size) = layout(self.sharing, &cells);
        let most = [self.target.register_blocks, self.target.sram_blocks, self.target.map_rams];
        let blocks = (size * first.cell.total_bits()).div_ceil(self.target.sram_block_bits);
        inputs.len() <= self.target.alu_inputs
            && constants.len() <= self.target.alu_register_file
            && instructions(&accesses) <= self.target.alu_instructions
            && most.iter().all(|most| blocks <= *most)
            && u32::try_from(size).is_ok()
            && self.fit_stage(&tables)
    }

    /// Returns true if a stage holds the tables, with one array for all of them.
    fn fit_stage(&self, tables: &[&Table]) -> bool {
        let register = tables.first().and_then(|table| table.register());
        let mut tables: Vec<Table> = tables.iter().map(|table| (*table).clone()).collect();
        let actions = tables.iter_mut().flat_map(|table| &mut table.actions);
        for access in actions.filter_map(|action| action.stateful.as_mut()) {
            access.register = register.unwrap_or(access.register);
        }
        fits_stage(self.program, self.target, &tables.iter().collect::<Vec<_>>())
    }
}

/// Returns true if the table accesses a register array that no other table of its query does.
fn is_only_user(table: &Table, stages: &[Vec<Table>]) -> bool {
    let users = |id: RegisterId| {
        stages.iter().flatten().filter(move |other| other.register() == Some(id)).count()
    };
    table.register().is_some_and(|id| users(id) == 1)
}

/// Returns the first cell of each part, and the number of cells of the whole.
fn layout(sharing: Sharing, cells: &[u32]) -> (Vec<u64>, u64) {
    let mut firsts = vec![0; cells.len()];
    if sharing == Sharing::Alternatives {
        return (firsts, cells.iter().copied().max().unwrap_or(0).into());
    }
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|&part| std::cmp::Reverse(cells[part]));
    let mut end = 0_u64;
    for part in order {
        let size = u64::from(cells[part]);
        firsts[part] = end.next_multiple_of(size.next_power_of_two());
        end = firsts[part] + size;
    }
    (firsts, end)
}

/// Adds the stages to the program, with one array for the tables of each group.
fn merge(program: &mut Program, rows: Vec<Row>, sharing: Sharing) -> Vec<SharedAlu> {
    let old = std::mem::take(&mut program.registers);
    // The new array and the first cell of each array that is shared.
    let mut moved: Vec<Option<(u16, u32)>> = vec![None; old.len()];
    let (mut alus, mut arrays) = (Vec::new(), Vec::new());
    for row in &rows {
        for Group { members } in row.groups.iter().filter(|group| group.members.len() > 1) {
            let of = |&(query, position): &(usize, usize)| {
                let id = row.tables[position].register()?;
                Some((query, usize::from(id.0)))
            };
            let mut users: Vec<(usize, usize)> = members.iter().filter_map(of).collect();
            users.sort_unstable();
            let cells: Vec<u32> = users.iter().map(|(_, id)| old[*id].size).collect();
            let (firsts, size) = layout(sharing, &cells);
            let name = format!("shared{}", arrays.len());
            let parts = users.iter().zip(firsts).map(|(&(query, id), first)| {
                let first = first as u32;
                moved[id] = Some((arrays.len() as u16, first));
                let Register { ref name, size, initial, .. } = old[id];
                Part { query, register: name.clone(), first, cells: size, initial }
            });
            alus.push(SharedAlu { register: name.clone(), parts: parts.collect() });
            let like = &old[users[0].1];
            arrays.push(Register { name, size: size as u32, ..like.clone() });
        }
    }
    let mut numbers = Vec::new();
    for (register, moved) in old.into_iter().zip(&moved) {
        numbers.push(program.registers.len() as u16);
        if moved.is_none() {
            program.registers.push(register);
        }
    }
    let shared = program.registers.len() as u16;
    program.registers.extend(arrays);
    for row in rows {
        let mut stage = Stage { tables: row.tables };
        let actions = stage.tables.iter_mut().flat_map(|table| &mut table.actions);
        for access in actions.filter_map(|action| action.stateful.as_mut()) {
            let id = usize::from(access.register.0);
            let (number, first) = match moved[id] {
                Some((number, first)) => (shared + number, first),
                None => (numbers[id], 0),
            };
            access.register = RegisterId(number);
            access.first += first;
        }
        program.stages.push(stage);
    }
    alus
}

impl Shared<'_> {
    /// Returns the program with the rules of all queries. With [`Sharing::Alternatives`] it is the pipeline, to be
    /// fitted to a target; a switch runs [`Shared::installed`].
    #[must_use]
    pub const fn program(&self) -> &Program {
        &self.frame.program
    }

    /// Returns the stateful ALUs that several queries use.
    #[must_use]
    pub fn alus(&self) -> &[SharedAlu] {
        &self.alus
    }

    /// Returns the program as the control plane installs it for one query: the same tables and arrays, with the rules
    /// of the flows of that query and its initial values. Packets of other flows pass unprocessed.
    #[must_use]
    pub fn installed(&self, query: usize) -> Program {
        let mut program = self.frame.with_rules_of(query);
        for alu in &self.alus {
            let part = alu.parts.iter().find(|part| part.query == query);
            let array = program.registers.iter_mut().find(|it| it.name == alu.register);
            if let (Some(part), Some(array)) = (part, array) {
                array.initial = part.initial;
            }
        }
        program
    }
}

#[cfg(test)]
mod tests;
