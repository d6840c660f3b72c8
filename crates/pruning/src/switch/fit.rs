//! Places a program's tables into a target's stages, or lists the reasons why they do not fit.
//!
//! The stages are filled one by one. Each takes the tables whose dependencies are placed, while there is room, those
//! with the longest chain of dependents first. Two tables depend on each other if one matches or computes on what the
//! other writes, or if both write the same field: the later one then needs a later stage. If the later one only
//! overwrites what the earlier one reads, they may share a stage. Tables that access one register array, which no
//! packet runs together, are placed as one: they share the array's stateful ALU and so its stage.
//!
//! The model covers stages, stateful ALUs and their operands, constants and outputs, SRAM, map RAM and TCAM blocks,
//! logical tables, gateways and their widths, hash slices, crossbar bytes, and header vector containers, including
//! those of Ethernet, IPv4 and UDP. Beside a program's own tables it places the tables that every packet needs: one
//! that chooses the port by the IPv4 address and, behind the verdicts, those that rewrite headers, discard packets
//! and return packets to their sender.
//!
//! The model leaves out which SRAM rows a bus reaches, field overlay, parser and deparser limits, and popping entries
//! from packets with several.

use std::collections::{HashMap, HashSet};
use std::fmt;

use thiserror::Error;

use super::program::{
    Action, Cell, Comparand, FieldId, Op, Operand, Operation, Program, RegisterId, Table, Test,
};
use super::stateful::{Index, Source, Stateful};
use super::target::Target;
use super::validate::ProgramError;

/// The resources that the tables of one stage use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StageUse {
    /// The names of the tables in the stage.
    pub tables: Vec<String>,
    /// Stateful ALUs, one for each register array.
    pub stateful_alus: usize,
    /// Tables that match in TCAM.
    pub ternary_tables: usize,
    /// Gateways, one for each table with a condition.
    pub gateways: usize,
    /// SRAM blocks, for registers and exact tables.
    pub sram_blocks: u64,
    /// Map RAMs, for register arrays.
    pub map_rams: u64,
    /// TCAM blocks, for ternary tables.
    pub tcam_blocks: u64,
    /// Hash distribution slices of 16 bits.
    pub hash_slices: usize,
    /// Output bits of the hash units.
    pub hash_bits: usize,
    /// Bytes on the exact crossbar.
    pub exact_crossbar_bytes: usize,
    /// Bytes on the ternary crossbar.
    pub ternary_crossbar_bytes: usize,
    registers: HashSet<RegisterId>,
    hashes: HashSet<u16>,
    exact_fields: HashSet<FieldId>,
    ternary_fields: HashSet<FieldId>,
}

/// A program laid out on a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The name of the program.
    pub program: String,
    /// The name of the target.
    pub target: String,
    /// The resources of each used stage, from the first.
    pub stages: Vec<StageUse>,
    /// Register memory in bits, as declared.
    pub register_bits: u64,
    /// Bits of the header vector that headers and fields take.
    pub phv_bits: usize,
    /// Bits of [`Placement::phv_bits`] that are the program's own metadata.
    pub metadata_bits: usize,
    /// Control-plane entries in exact tables.
    pub exact_entries: usize,
    /// Control-plane entries in TCAM.
    pub ternary_entries: usize,
}

impl Placement {
    /// Returns the number of stateful ALUs in all stages.
    #[must_use]
    pub fn stateful_alus(&self) -> usize {
        self.stages.iter().map(|s| s.stateful_alus).sum()
    }

    /// Returns the number of SRAM blocks in all stages.
    #[must_use]
    pub fn sram_blocks(&self) -> u64 {
        self.stages.iter().map(|s| s.sram_blocks).sum()
    }

    /// Returns the number of TCAM blocks in all stages.
    #[must_use]
    pub fn tcam_blocks(&self) -> u64 {
        self.stages.iter().map(|s| s.tcam_blocks).sum()
    }

    /// Returns the output bits of the hash units in all stages.
    #[must_use]
    pub fn hash_bits(&self) -> usize {
        self.stages.iter().map(|s| s.hash_bits).sum()
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} on {}: {} stages, {} stateful ALUs, {} bits of registers, {} SRAM and {} TCAM blocks, {} hash bits, {} PHV bits, {} of them metadata",
            self.program,
            self.target,
            self.stages.len(),
            self.stateful_alus(),
            self.register_bits,
            self.sram_blocks(),
            self.tcam_blocks(),
            self.hash_bits(),
            self.phv_bits,
            self.metadata_bits,
        )?;
        for (number, stage) in self.stages.iter().enumerate() {
            writeln!(
                f,
                "  stage {number:>2}: {} ALUs, {} SRAM, {} TCAM, {} gateways: {}",
                stage.stateful_alus,
                stage.sram_blocks,
                stage.tcam_blocks,
                stage.gateways,
                stage.tables.join(", "),
            )?;
        }
        Ok(())
    }
}

/// The reason why a program does not fit a target.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misfit {
    /// The program is invalid on every target.
    #[error(transparent)]
    Invalid(#[from] ProgramError),
    /// The chain of dependent or crowded-out tables is too long.
    #[error("needs {needed} stages, the target has {available}")]
    Stages {
        /// The number of stages that the placement takes.
        needed: usize,
        /// The number of stages that the target has.
        available: usize,
    },
    /// One table alone needs more than a stage has.
    #[error("table `{table}` needs {needed} {resource}, a stage has {available}")]
    Table {
        /// The name of the table.
        table: String,
        /// The resource that the stage lacks.
        resource: &'static str,
        /// The amount that the table needs.
        needed: u64,
        /// The amount that the target has.
        available: u64,
    },
    /// A table needs something that a stateful ALU or gateway cannot do.
    #[error("table `{table}`: {reason}")]
    Rule {
        /// The name of the table.
        table: String,
        /// The limit that the table breaks.
        reason: String,
    },
    /// The header and metadata fields do not fit the containers.
    #[error(
        "the fields need {needed} bits of header vector containers, the target has {available}"
    )]
    Phv {
        /// The number of container bits that the fields take.
        needed: usize,
        /// The number of bits of all containers.
        available: usize,
    },
}

/// Lays `program` out on `target`.
///
/// # Errors
///
/// Returns every reason why it does not fit, with the number of stages last.
pub fn fit(program: &Program, target: &Target) -> Result<Placement, Vec<Misfit>> {
    program.validate().map_err(|error| vec![Misfit::Invalid(error)])?;
    let mut misfits = Vec::new();
    let closing = closing(program);
    let tables: Vec<&Table> = program.tables().map(|(_, table)| table).chain(&closing).collect();
    let units = units(&tables);
    for (number, table) in tables.iter().enumerate() {
        gateway_rules(program, target, table, &mut misfits);
        let unit: Vec<&Table> = members(&units, number).map(|member| tables[member]).collect();
        if unit.is_empty() {
            continue;
        }
        alu_rules(program, target, &unit, &mut misfits);
        let alone = StageUse::default().with_all(program, target, &unit);
        if let Some((resource, needed, available)) = alone.overfull(target) {
            misfits.push(Misfit::Table { table: table.name.clone(), resource, needed, available });
        }
    }
    let stages = schedule(program, target, &tables, &units);
    let (phv_bits, phv_fits) = phv(program, target);
    if !phv_fits {
        let available = 8 * target.phv[0] + 16 * target.phv[1] + 32 * target.phv[2];
        misfits.push(Misfit::Phv { needed: phv_bits, available });
    }
    if stages.len() > target.stages {
        misfits.push(Misfit::Stages { needed: stages.len(), available: target.stages });
    }
    if !misfits.is_empty() {
        return Err(misfits);
    }
    let entries = |ternary| {
        program
            .tables()
            .filter(|(_, t)| t.is_ternary() == ternary)
            .map(|(_, t)| t.entries.len())
            .sum()
    };
    Ok(Placement {
        program: program.name.clone(),
        target: target.name.clone(),
        stages,
        register_bits: program.register_bits(),
        phv_bits,
        metadata_bits: program.metadata_bits(),
        exact_entries: entries(false),
        ternary_entries: entries(true),
    })
}

/// Returns the tables behind a program's own: one that rewrites headers, one that discards packets, and one that
/// returns a packet to its sender if all verdicts drop.
fn closing(program: &Program) -> Vec<Table> {
    let mut tables = Vec::new();
    if !program.rewrites.is_empty() {
        let set = program.rewrites.iter().map(|&(to, from)| Op::set(to, Operand::Field(from)));
        let set = Action::compute("rewrite", set.collect::<Vec<_>>());
        tables.push(Table::always("rewrite_headers", set));
    }
    if let Some(discards) = program.discards {
        let discard = Table::always("discard", Action::default());
        tables.push(discard.when([Test::is(discards, 1)]));
    }
    if program.acknowledges {
        let turn = Table::always("turn_back", Action::default());
        tables.push(program.verdicts.iter().fold(turn, |turn, v| turn.when([Test::is(*v, 1)])));
    }
    tables
}

/// Returns, for each table, the earlier ones that it depends on and by how many stages it must follow them.
fn dependencies(program: &Program, tables: &[&Table]) -> Vec<Vec<(usize, usize)>> {
    let sets: Vec<_> = tables.iter().map(|table| (program.reads(table), table.writes())).collect();
    let overlap = |a: &[FieldId], b: &[FieldId]| a.iter().any(|field| b.contains(field));
    (0..sets.len())
        .map(|later| {
            let (reads, writes) = &sets[later];
            let gap = |(r, w): &(Vec<FieldId>, Vec<FieldId>)| {
                if overlap(w, reads) || overlap(w, writes) {
                    Some(1)
                } else {
                    overlap(r, writes).then_some(0)
                }
            };
            (0..later).filter_map(|earlier| Some((earlier, gap(&sets[earlier])?))).collect()
        })
        .collect()
}

/// Returns the unit of each table, which is the number of its first table. The tables of a unit access one register
/// array, so they are placed in one stage.
fn units(tables: &[&Table]) -> Vec<usize> {
    let mut first: HashMap<RegisterId, usize> = HashMap::new();
    let unit = |(number, table): (usize, &&Table)| match table.register() {
        Some(register) => *first.entry(register).or_insert(number),
        None => number,
    };
    tables.iter().enumerate().map(unit).collect()
}

/// Returns the tables of a unit; none if a unit has another number.
fn members(units: &[usize], unit: usize) -> impl Iterator<Item = usize> {
    (unit..units.len()).filter(move |table| units[*table] == unit)
}

/// Schedules units of tables by list scheduling: each stage takes, of the units that are ready, those with the longest
/// chain of dependents first.
fn schedule(
    program: &Program,
    target: &Target,
    tables: &[&Table],
    units: &[usize],
) -> Vec<StageUse> {
    let mut dependencies = vec![Vec::new(); tables.len()];
    for (later, on) in self::dependencies(program, tables).into_iter().enumerate() {
        let (of, on) = (units[later], on.into_iter().map(|(earlier, gap)| (units[earlier], gap)));
        dependencies[of].extend(on.filter(|(earlier, _)| *earlier != of));
    }
    let mut chain = vec![0; tables.len()];
    // Units are mostly numbered in order, so one round is enough, and a second one finds nothing to change.
    for _ in 0..=tables.len() {
        let before = chain.clone();
        for later in (0..tables.len()).rev() {
            for &(earlier, gap) in &dependencies[later] {
                chain[earlier] = chain[earlier].max(chain[later] + gap);
            }
        }
        if chain == before {
            break;
        }
    }
    let mut order: Vec<usize> = (0..tables.len()).filter(|table| units[*table] == *table).collect();
    order.sort_by_key(|&table| std::cmp::Reverse(chain[table]));
    let tables_of = |unit| members(units, unit).map(|member| tables[member]).collect();
    let of_unit: Vec<Vec<&Table>> = (0..tables.len()).map(tables_of).collect();
    let mut placed: Vec<Option<usize>> = vec![None; tables.len()];
    let mut stages: Vec<StageUse> = Vec::new();
    // On a target whose blocks are so small that no stage can hold the table, forwarding is not modelled.
    let mut forwards = StageUse::default().forwarding(target).overfull(target).is_some();
    while placed.contains(&None) || !forwards {
        let number = stages.len();
        let mut stage = StageUse::default();
        // A table that only overwrites what another reads may follow it within the stage.
        loop {
            let ready = |table: &usize| {
                placed[*table].is_none()
                    && dependencies[*table]
                        .iter()
                        .all(|&(on, gap)| placed[on].is_some_and(|s| s + gap <= number))
            };
            let with = |unit: usize| stage.with_all(program, target, &of_unit[unit]);
            let next = order.iter().copied().filter(ready).find_map(|unit| {
                let with = with(unit);
                // A unit that overfills even an empty stage was reported; it gets a stage of its own.
                (with.overfull(target).is_none() || stage.tables.is_empty()).then_some((unit, with))
            });
            // Units that overwrite what each other reads wait for each other; the first one goes ahead.
            let stuck = || {
                let first = order.iter().copied().find(|unit| placed[*unit].is_none());
                first.filter(|_| stage.tables.is_empty()).map(|unit| (unit, with(unit)))
            };
            let Some((unit, with)) = next.or_else(stuck) else { break };
            members(units, unit).for_each(|member| placed[member] = Some(number));
            stage = with;
        }
        if !forwards {
            let with = stage.forwarding(target);
            forwards = with.overfull(target).is_none() || stage.tables.is_empty();
            stage = if forwards { with } else { stage };
        }
        stages.push(stage);
    }
    stages
}

impl StageUse {
    /// Returns the use of this stage with more tables.
    fn with_all(&self, program: &Program, target: &Target, tables: &[&Table]) -> Self {
        let with = |used: &Self, table: &Table| used.with(program, target, table);
        match tables {
            [] => self.clone(),
            [first, rest @ ..] => {
                rest.iter().fold(with(self, first), |used, table| with(&used, table))
            }
        }
    }

    /// Returns the use of this stage with one more table.
    fn with(&self, program: &Program, target: &Target, table: &Table) -> Self {
        let mut used = self.clone();
        used.tables.push(table.name.clone());
        let least = program.shorter.first().copied().unwrap_or(program.values);
        let gated = !table.gateway.all_of.is_empty() || program.needs(table) > least;
        used.gateways += usize::from(gated);
        if let Some(id) = table.register()
            && let Some(register) = program.registers.get(usize::from(id.0))
            && used.registers.insert(id)
        {
            let blocks = (u64::from(register.size) * register.cell.total_bits())
                .div_ceil(target.sram_block_bits);
            used.stateful_alus += 1;
            used.sram_blocks += blocks;
            used.map_rams += blocks;
        }
        let key_bits: u64 =
            table.keys.iter().map(|k| u64::from(program.fields[k.field.index()].bits)).sum();
        let entries = table.entries.len() as u64;
        let keys = table.keys.iter().map(|key| key.field);
        if table.is_ternary() {
            used.ternary_tables += 1;
            used.tcam_blocks += entries.div_ceil(target.tcam_block_entries)
                * key_bits.div_ceil(target.tcam_block_bits);
            used.ternary_fields.extend(keys);
        } else if entries > 0 {
            let args =
                table.entries.iter().map(|e| 32 * e.call.args.len() as u64).max().unwrap_or(0);
            // The action's number and the entry's valid bit.
            let overhead = 8;
            used.sram_blocks +=
                (entries * (key_bits + args + overhead)).div_ceil(target.sram_block_bits);
            used.exact_fields.extend(keys);
        }
        used.exact_fields.extend(table.gateway.fields());
        for action in &table.actions {
            let operands = action.ops.iter().flat_map(|op| [op.a, op.b]);
            used.hashes.extend(operands.filter_map(|o| match o {
                Operand::Hash(hash) => Some(hash),
                _ => None,
            }));
            if let Some(stateful) = &action.stateful {
                used.exact_fields.extend(stateful.inputs());
                match stateful.index {
                    Index::Zero => {}
                    Index::Field(field) => {
                        used.exact_fields.insert(field);
                    }
                    Index::Hash(hash) => {
                        used.hashes.insert(hash);
                    }
                }
            }
        }
        let hashes = || used.hashes.iter().map(|h| &program.hashes[usize::from(*h)]);
        used.hash_slices = hashes().map(|h| usize::from(h.bits.div_ceil(16))).sum();
        used.hash_bits = hashes().map(|h| usize::from(h.bits)).sum();
        let inputs: Vec<FieldId> = hashes().flat_map(|h| h.inputs.iter().copied()).collect();
        used.exact_fields.extend(inputs);
        let bytes = |fields: &HashSet<FieldId>| {
            fields.iter().map(|f| usize::from(program.fields[f.index()].bits.div_ceil(8))).sum()
        };
        used.exact_crossbar_bytes = bytes(&used.exact_fields);
        used.ternary_crossbar_bytes = bytes(&used.ternary_fields);
        used
    }

    /// Returns the use of this stage with the table that chooses the port by the IPv4 address. It does not depend on
    /// any field of a program.
    fn forwarding(&self, target: &Target) -> Self {
        /// The default size of a P4 table.
        const ENTRIES: u64 = 1024;
        /// The address, the port, the action's number and the valid bit.
        const BITS: u64 = 32 + 9 + 8;
        let mut used = self.clone();
        used.tables.push("forward".to_owned());
        used.sram_blocks += (ENTRIES * BITS).div_ceil(target.sram_block_bits);
        used.exact_crossbar_bytes += 4;
        used
    }

    /// Returns the first resource that exceeds the target: name, needed, available.
    fn overfull(&self, target: &Target) -> Option<(&'static str, u64, u64)> {
        let of = |n: usize| n as u64;
        [
            ("stateful ALUs", of(self.stateful_alus), of(target.stateful_alus)),
            ("SRAM blocks", self.sram_blocks, target.sram_blocks),
            ("map RAMs", self.map_rams, target.map_rams),
            ("TCAM blocks", self.tcam_blocks, target.tcam_blocks),
            ("hash slices", of(self.hash_slices), of(target.hash_slices)),
            ("logical tables", of(self.tables.len()), of(target.tables)),
            ("ternary tables", of(self.ternary_tables), of(target.ternary_tables)),
            ("gateways", of(self.gateways), of(target.gateways)),
            (
                "exact crossbar bytes",
                of(self.exact_crossbar_bytes),
                of(target.exact_crossbar_bytes),
            ),
            (
                "ternary crossbar bytes",
                of(self.ternary_crossbar_bytes),
                of(target.ternary_crossbar_bytes),
            ),
        ]
        .into_iter()
        .find(|(_, needed, available)| needed > available)
    }
}

/// Reports each limit of a gateway that the table breaks.
fn gateway_rules(program: &Program, target: &Target, table: &Table, misfits: &mut Vec<Misfit>) {
    let mut broken =
        |reason: String| misfits.push(Misfit::Rule { table: table.name.clone(), reason });
    // The bits of each field that the gateway compares, on the wide bus or on the narrow one.
    let (mut wide, mut narrow) = (HashMap::new(), HashMap::new());
    for test in table.gateway.all_of.iter().flatten() {
        let bits = test.mask & program.fields[test.field.index()].mask();
        // Two fields are compared byte by byte on the wide bus.
        let fields = matches!(test.with, Comparand::Field(_));
        let bus = if fields || bits.count_ones() as usize > target.gateway_narrow_bits {
            &mut wide
        } else {
            &mut narrow
        };
        *bus.entry(test.field).or_insert(0) |= bits;
    }
    let count =
        |bus: HashMap<FieldId, u32>| bus.into_values().map(|bits| bits.count_ones() as usize).sum();
    let (wide, narrow): (usize, usize) = (count(wide), count(narrow));
    if wide > target.gateway_wide_bits || narrow > target.gateway_narrow_bits {
        broken(format!(
            "its gateway compares {wide} + {narrow} bits, the target {} + {}",
            target.gateway_wide_bits, target.gateway_narrow_bits
        ));
    }
}

/// Reports each limit of a single stateful ALU that tables break which access one register array.
fn alu_rules(program: &Program, target: &Target, unit: &[&Table], misfits: &mut Vec<Misfit>) {
    let [table, ..] = unit else { return };
    let mut broken =
        |reason: String| misfits.push(Misfit::Rule { table: table.name.clone(), reason });
    let accesses: Vec<&Stateful> = accesses(unit).collect();
    let Some(register) = table.register().and_then(|id| program.registers.get(usize::from(id.0)))
    else {
        return;
    };
    let blocks =
        (u64::from(register.size) * register.cell.total_bits()).div_ceil(target.sram_block_bits);
    if blocks > target.register_blocks {
        broken(format!(
            "register `{}` takes {blocks} SRAM blocks, an array may take {}",
            register.name, target.register_blocks
        ));
    }
    if register.cell.total_bits() > target.cell_bits {
        broken(format!(
            "register `{}` has cells wider than {} bits",
            register.name, target.cell_bits
        ));
    }
    let inputs: HashSet<FieldId> = accesses.iter().flat_map(|s| s.inputs()).collect();
    if inputs.len() > target.alu_inputs {
        broken(format!(
            "its stateful ALU reads {} fields, the target's {}",
            inputs.len(),
            target.alu_inputs
        ));
    }
    let [least, greatest] = target.alu_constants;
    let constants: HashSet<i64> = accesses
        .iter()
        .flat_map(|s| s.constants())
        .filter(|c| !(least..=greatest).contains(c))
        .collect();
    if constants.len() > target.alu_register_file {
        broken(format!(
            "its stateful ALU needs {} constants beyond {least}..={greatest}, the register file holds {}",
            constants.len(),
            target.alu_register_file
        ));
    }
    let instructions = instructions(&accesses);
    if instructions > target.alu_instructions {
        broken(format!(
            "its stateful ALU runs {instructions} instructions, the target's {}",
            target.alu_instructions
        ));
    }
    for stateful in accesses {
        if stateful.outputs.len() > target.alu_outputs {
            broken(format!(
                "its stateful ALU outputs {} words, the target's {}",
                stateful.outputs.len(),
                target.alu_outputs
            ));
        }
        let shifts = stateful.update_lo.iter().chain(&stateful.update_hi);
        if shifts.into_iter().any(|u| u.operation == Operation::ShiftRight) {
            broken("a stateful ALU cannot shift".into());
        }
        let bit = register.cell == Cell::Bit1;
        if bit && (stateful.lo.is_some() || stateful.hi.is_some() || !stateful.update_hi.is_empty())
        {
            broken("one-bit cells can only be set, cleared and read".into());
        }
        if !bit && stateful.outputs.iter().any(|o| o.source == Source::NotMemLo) {
            broken("only one-bit cells put out their complement".into());
        }
    }
}

/// Containers of 8, 16 and 32 bits for the headers that every packet has beside the program's fields: the number of
/// values, Ethernet (an address is 32 and 16 bits), IPv4 and UDP.
const HEADERS: [usize; 3] = [1, 7, 7];

/// Returns the container bits that headers and fields take, and whether the containers suffice.
///
/// A field of more than 16 bits takes a 32-bit container, one of more than 8 a 16-bit container; narrower ones share
/// 8-bit containers. Fields without room spill into containers of other sizes.
fn phv(program: &Program, target: &Target) -> (usize, bool) {
    let of =
        |low: u8, high: u8| program.fields.iter().filter(move |f| (low..=high).contains(&f.bits));
    let narrow: usize = of(1, 8).map(|f| usize::from(f.bits)).sum();
    let [h8, h16, h32] = HEADERS;
    let (n8, n16, n32) =
        (narrow.div_ceil(8) + h8, of(9, 16).count() + h16, of(17, 32).count() + h32);
    let bits = 8 * n8 + 16 * n16 + 32 * n32;
    let [c8, c16, c32] = target.phv;
    let half_words = n16 + 2 * n32.saturating_sub(c32);
    let bytes = n8 + 2 * half_words.saturating_sub(c16);
    let spare = 2 * c16.saturating_sub(half_words) + 4 * c32.saturating_sub(n32);
    (bits, bytes <= c8 + spare)
}

/// Returns true if one stage of the target holds these tables.
pub(crate) fn fits_stage(program: &Program, target: &Target, tables: &[&Table]) -> bool {
    StageUse::default().with_all(program, target, tables).overfull(target).is_none()
}

/// Iterates over the register accesses of tables.
pub(crate) fn accesses<'a>(tables: &'a [&Table]) -> impl Iterator<Item = &'a Stateful> {
    tables.iter().flat_map(|table| &table.actions).filter_map(|action| action.stateful.as_ref())
}

/// Returns the number of instructions that a stateful ALU needs for these accesses. Those that differ only in the
/// cell and in the field that takes an output are one instruction.
pub(crate) fn instructions(accesses: &[&Stateful]) -> usize {
    let mut distinct: Vec<Stateful> = Vec::new();
    for &access in accesses {
        let mut instruction =
            Stateful { register: RegisterId(0), index: Index::Zero, first: 0, ..access.clone() };
        instruction.outputs.iter_mut().for_each(|output| output.to = FieldId::FID);
        if !distinct.contains(&instruction) {
            distinct.push(instruction);
        }
    }
    distinct.len()
}
