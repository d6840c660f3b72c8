//! Several programs in one pipeline (paper §6).
//!
//! [`pack`] puts programs side by side: they share stages, each keeps its registers and its prune
//! bit, and the flow identifier selects which of them see a packet. [`chain`] puts one program
//! behind another on the same packets.
//!
//! The paper lets every packed query process every packet and only selects the *bit* by flow. That
//! is safe only for queries over one and the same stream: a DISTINCT that cached another flow's key
//! would prune the first packet of its own. So here the flow also gates the tables; that costs one
//! stage in front.

use thiserror::Error;

use crate::switch::{
    Action, AluOperand, Builder, Comparand, Entry, Field, FieldId, Hash, Index, Key, Op, Operand,
    Pattern, Program, Register, RegisterId, Stage, Stateful, Table, Test,
};

/// A program to pack, and the flows it serves. Several programs may serve one flow: then they are
/// queries over one stream, and an entry is dropped only if all of them prune it.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The program, with a single verdict.
    pub program: &'a Program,
    /// The flow identifiers whose packets it sees.
    pub flows: &'a [u16],
}

/// Why programs cannot be packed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PackError {
    /// A program that judges several entries of a packet.
    #[error("`{0}` has several verdicts")]
    Verdicts(String),
    /// More fields, registers or hash units than identifiers can name, or more than 32 queries.
    #[error("too many queries for one program")]
    TooMany,
}

/// Packs programs into one, to be held against a target as a whole.
///
/// # Errors
///
/// If a program has several verdicts, or they are too many.
pub fn pack(name: &str, queries: &[Query<'_>]) -> Result<Program, PackError> {
    if let Some(query) = queries.iter().find(|q| q.program.verdicts.len() != 1) {
        return Err(PackError::Verdicts(query.program.name.clone()));
    }
    let fields: usize = queries.iter().map(|q| q.program.fields.len() + 1).sum();
    if queries.len() > 32 || fields > usize::from(u16::MAX) {
        return Err(PackError::TooMany);
    }
    let values = queries.iter().map(|q| q.program.values).max().unwrap_or(0);
    let mut b = Builder::new(name, values);
    let prune = b.verdict("prune");
    let active: Vec<FieldId> =
        (0..queries.len()).map(|n| b.field(format!("active{n}"), 1)).collect();
    let mut program = b.finish();
    program.stages = vec![Stage { tables: vec![classify(queries, &active)] }];
    let mut bits = Vec::new();
    for (number, query) in queries.iter().enumerate() {
        let all: Vec<u8> = (0..query.program.values).collect();
        let graft = Graft::onto(&mut program, query.program, &format!("q{number}_"), &all, None);
        let gate = [Test::is(active[number], 1)];
        graft.stages(&mut program, query.program, 1, &gate);
        bits.push(graft.field(query.program.verdicts[0]));
    }
    program.stages.push(Stage { tables: vec![select(queries, &bits, prune)] });
    Ok(program)
}

/// The flow identifiers that any query serves, ascending.
fn flows(queries: &[Query<'_>]) -> Vec<u16> {
    let mut flows: Vec<u16> = queries.iter().flat_map(|q| q.flows.iter().copied()).collect();
    flows.sort_unstable();
    flows.dedup();
    flows
}

/// The first table: which programs see the packet.
fn classify(queries: &[Query<'_>], active: &[FieldId]) -> Table {
    let set =
        (0..queries.len()).map(|n| Op::set(active[n], Operand::Arg(n as u8))).collect::<Vec<_>>();
    let entries = flows(queries).into_iter().map(|flow| {
        let serves = queries.iter().map(|q| u32::from(q.flows.contains(&flow)));
        Entry::new([Pattern::exactly(flow.into())], 0).with(serves.collect::<Vec<_>>())
    });
    let key = vec![Key::exact(FieldId::FID)];
    Table::matching("classify", key, vec![Action::compute("activate", set)], entries.collect())
}

/// The last table: drop if every program that saw the packet prunes it.
fn select(queries: &[Query<'_>], bits: &[FieldId], prune: FieldId) -> Table {
    let keys =
        std::iter::once(FieldId::FID).chain(bits.iter().copied()).map(Key::ternary).collect();
    let entries = flows(queries).into_iter().map(|flow| {
        let of = |q: &Query<'_>| {
            if q.flows.contains(&flow) { Pattern::exactly(1) } else { Pattern::any() }
        };
        let patterns = std::iter::once(Pattern::exactly(flow.into())).chain(queries.iter().map(of));
        Entry::new(patterns.collect::<Vec<_>>(), 0)
    });
    let drop = Action::compute("drop", [Op::set(prune, Operand::Const(1))]);
    Table::matching("select", keys, vec![drop], entries.collect())
}

/// Runs `second` on the entries that `first` does not prune, and prunes what either does.
///
/// A packet carries `values` values; each program comes with the positions of those it parses.
/// Both programs must have a single verdict, and values in range; the others of `second`'s verdicts
/// are ignored.
#[must_use]
pub fn chain(
    name: &str,
    values: u8,
    first: (&Program, &[u8]),
    second: (&Program, &[u8]),
) -> Program {
    let mut b = Builder::new(name, values);
    let prune = b.verdict("prune");
    let mut program = b.finish();
    let graft = Graft::onto(&mut program, first.0, "s0_", first.1, Some(prune));
    graft.stages(&mut program, first.0, 0, &[]);
    let start = program.stages.len();
    let graft = Graft::onto(&mut program, second.0, "s1_", second.1, Some(prune));
    graft.stages(&mut program, second.0, start, &[Test::is(prune, 0)]);
    program
}

/// How the identifiers of a program change as it becomes part of another.
pub(crate) struct Graft {
    prefix: String,
    fields: Vec<FieldId>,
    registers: u16,
    hashes: u16,
}

impl Graft {
    /// Declares everything of `part` in `whole`, names prefixed. `values[n]` is where the part's
    /// `n`-th value is in the whole's packet; `verdict` replaces the part's own.
    fn onto(
        whole: &mut Program,
        part: &Program,
        prefix: &str,
        values: &[u8],
        verdict: Option<FieldId>,
    ) -> Self {
        let sources: Vec<FieldId> = values.iter().map(|&n| FieldId::value(n)).collect();
        Self::with_sources(whole, part, prefix, [FieldId::FID, FieldId::ID], &sources, verdict)
    }

    /// As [`Graft::onto`], with any fields in the place of the part's header.
    pub(crate) fn with_sources(
        whole: &mut Program,
        part: &Program,
        prefix: &str,
        head: [FieldId; 2],
        values: &[FieldId],
        verdict: Option<FieldId>,
    ) -> Self {
        let mut fields: Vec<FieldId> = head.into_iter().chain(values.iter().copied()).collect();
        fields.truncate(part.header_fields());
        fields.resize(part.header_fields(), FieldId::ID);
        for (number, field) in part.fields.iter().enumerate().skip(part.header_fields()) {
            match verdict {
                Some(verdict) if part.verdicts.first().is_some_and(|v| v.index() == number) => {
                    fields.push(verdict);
                }
                _ => {
                    fields.push(FieldId(whole.fields.len() as u16));
                    let name = format!("{prefix}{}", field.name);
                    whole.fields.push(Field { name, bits: field.bits });
                }
            }
        }
        let graft = Self {
            prefix: prefix.to_owned(),
            fields,
            registers: whole.registers.len() as u16,
            hashes: whole.hashes.len() as u16,
        };
        whole.registers.extend(
            part.registers
                .iter()
                .map(|r| Register { name: format!("{prefix}{}", r.name), ..r.clone() }),
        );
        whole.hashes.extend(part.hashes.iter().map(|hash| Hash {
            name: format!("{prefix}{}", hash.name),
            inputs: hash.inputs.iter().map(|f| graft.field(*f)).collect(),
            ..hash.clone()
        }));
        graft
    }

    /// What a field of the part is called in the whole.
    pub(crate) fn field(&self, field: FieldId) -> FieldId {
        self.fields.get(field.index()).copied().unwrap_or(field)
    }

    /// Adds the part's stages to the whole's from number `start`, every table behind `gate` too.
    pub(crate) fn stages(&self, whole: &mut Program, part: &Program, start: usize, gate: &[Test]) {
        if whole.stages.len() < start + part.stages.len() {
            whole.stages.resize(start + part.stages.len(), Stage::default());
        }
        for (stage, source) in whole.stages[start..].iter_mut().zip(&part.stages) {
            stage.tables.extend(source.tables.iter().map(|table| self.table(table, gate)));
        }
    }

    fn table(&self, table: &Table, gate: &[Test]) -> Table {
        let mut table = table.clone();
        table.name = format!("{}{}", self.prefix, table.name);
        for test in table.gateway.all_of.iter_mut().flatten() {
            test.field = self.field(test.field);
            if let Comparand::Field(field) = &mut test.with {
                *field = self.field(*field);
            }
        }
        table.gateway.all_of.extend(gate.iter().map(|test| vec![*test]));
        table.keys.iter_mut().for_each(|key| key.field = self.field(key.field));
        for action in &mut table.actions {
            for op in &mut action.ops {
                op.to = self.field(op.to);
                for operand in [&mut op.a, &mut op.b] {
                    match operand {
                        Operand::Field(field) => *field = self.field(*field),
                        Operand::Hash(hash) => *hash += self.hashes,
                        Operand::Const(_) | Operand::Arg(_) => {}
                    }
                }
            }
            if let Some(stateful) = &mut action.stateful {
                self.stateful(stateful);
            }
        }
        table
    }

    fn stateful(&self, stateful: &mut Stateful) {
        stateful.register = RegisterId(stateful.register.0 + self.registers);
        match &mut stateful.index {
            Index::Zero => {}
            Index::Field(field) => *field = self.field(*field),
            Index::Hash(hash) => *hash += self.hashes,
        }
        for compare in [&mut stateful.lo, &mut stateful.hi].into_iter().flatten() {
            if let Some((field, _)) = &mut compare.field {
                *field = self.field(*field);
            }
        }
        for update in stateful.update_lo.iter_mut().chain(&mut stateful.update_hi) {
            for operand in [&mut update.a, &mut update.b] {
                if let AluOperand::Field(field) = operand {
                    *field = self.field(*field);
                }
            }
        }
        stateful.outputs.iter_mut().for_each(|output| output.to = self.field(output.to));
    }
}

#[cfg(test)]
mod tests;
