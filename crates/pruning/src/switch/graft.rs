//! Combines programs: one becomes part of another, with new names and numbers.

use std::collections::BTreeSet;

use super::{
    Action, AluOperand, Builder, Comparand, Entry, Field, FieldId, Hash, Index, Key, Op, Operand,
    Pattern, Program, Register, RegisterId, Stage, Stateful, Table, Test,
};

/// Runs `second` on the entries that `first` does not prune, and prunes what either does.
///
/// A packet carries `values` values; each program comes with the positions of those it parses. Both programs must
/// have a single verdict and positions in range. Further verdicts of `second` are ignored.
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
    graft.stages(&mut program, first.0, 0, &|_| None);
    let start = program.stages.len();
    let graft = Graft::onto(&mut program, second.0, "s1_", second.1, Some(prune));
    graft.stages(&mut program, second.0, start, &|_| Some(Test::is(prune, 0)));
    program
}

/// The new identifiers of a program that becomes part of another.
#[derive(Debug, Clone)]
pub(crate) struct Graft {
    prefix: String,
    fields: Vec<FieldId>,
    registers: u16,
    /// The number of each hash unit in the whole; parts share hash units that compute the same hash.
    hashes: Vec<u16>,
    verdicts: Vec<FieldId>,
}

impl Graft {
    /// Declares the fields, registers and hash units of `part` in `whole`, with prefixed names. `values[n]` is the
    /// position of the part's `n`-th value in the whole's packet; `verdict` replaces the part's own.
    pub(crate) fn onto(
        whole: &mut Program,
        part: &Program,
        prefix: &str,
        values: &[u8],
        verdict: Option<FieldId>,
    ) -> Self {
        let sources: Vec<FieldId> = values.iter().map(|&n| FieldId::value(n)).collect();
        Self::with_sources(whole, part, prefix, [FieldId::FID, FieldId::ID], &sources, verdict)
    }

    /// Like [`Graft::onto`], but with any fields in place of the part's header.
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
        let mut graft = Self {
            prefix: prefix.to_owned(),
            fields,
            registers: whole.registers.len() as u16,
            hashes: Vec::new(),
            verdicts: part.verdicts.clone(),
        };
        whole.registers.extend(
            part.registers
                .iter()
                .map(|r| Register { name: format!("{prefix}{}", r.name), ..r.clone() }),
        );
        for hash in &part.hashes {
            let hash = Hash {
                name: format!("{prefix}{}", hash.name),
                inputs: hash.inputs.iter().map(|f| graft.field(*f)).collect(),
                ..hash.clone()
            };
            let same = |other: &Hash| Hash { name: hash.name.clone(), ..other.clone() } == hash;
            let known = whole.hashes.iter().position(same);
            graft.hashes.push(known.unwrap_or(whole.hashes.len()) as u16);
            if known.is_none() {
                whole.hashes.push(hash);
            }
        }
        graft
    }

    /// Returns the field in the whole that stands for a field of the part.
    pub(crate) fn field(&self, field: FieldId) -> FieldId {
        self.fields.get(field.index()).copied().unwrap_or(field)
    }

    /// Returns the number in the whole of a hash unit of the part.
    fn hash(&self, number: u16) -> u16 {
        self.hashes.get(usize::from(number)).copied().unwrap_or(number)
    }

    /// Adds the part's stages to the whole, from stage `start`. Tables that access a register or write a verdict also
    /// get the test of `gate`. Other tables get none: a useless run does no harm, and they can be placed earlier.
    pub(crate) fn stages(
        &self,
        whole: &mut Program,
        part: &Program,
        start: usize,
        gate: &dyn Fn(&Table) -> Option<Test>,
    ) {
        if whole.stages.len() < start + part.stages.len() {
            whole.stages.resize(start + part.stages.len(), Stage::default());
        }
        for (stage, source) in whole.stages[start..].iter_mut().zip(self.tables(part, gate)) {
            stage.tables.extend(source);
        }
    }

    /// Returns the tables that [`Graft::stages`] adds, by stage.
    pub(crate) fn tables(
        &self,
        part: &Program,
        gate: &dyn Fn(&Table) -> Option<Test>,
    ) -> impl Iterator<Item = Vec<Table>> {
        part.stages
            .iter()
            .map(move |stage| stage.tables.iter().map(|table| self.table(table, gate)).collect())
    }

    fn table(&self, part: &Table, gate: &dyn Fn(&Table) -> Option<Test>) -> Table {
        let matters = part.register().is_some()
            || part.writes().iter().any(|field| self.verdicts.contains(field));
        let mut table = part.clone();
        table.name = format!("{}{}", self.prefix, table.name);
        for test in table.gateway.all_of.iter_mut().flatten() {
            test.field = self.field(test.field);
            if let Comparand::Field(field) = &mut test.with {
                *field = self.field(*field);
            }
        }
        if matters {
            table.gateway.all_of.extend(gate(part).map(|test| vec![test]));
        }
        table.keys.iter_mut().for_each(|key| key.field = self.field(key.field));
        for action in &mut table.actions {
            for op in &mut action.ops {
                op.to = self.field(op.to);
                for operand in [&mut op.a, &mut op.b] {
                    match operand {
                        Operand::Field(field) => *field = self.field(*field),
                        Operand::Hash(hash) => *hash = self.hash(*hash),
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
            Index::Hash(hash) => *hash = self.hash(*hash),
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

/// Adds the tables that choose new header values to the last stage, and the rewrites to the program. For each
/// `(field, active, source)`, the header field takes the source's value if the one-bit field `active` is set; the
/// first active source wins. Without one, the field stays unchanged.
pub(crate) fn rewrite(
    program: &mut Program,
    last: &mut Stage,
    all: &[(FieldId, FieldId, FieldId)],
) {
    let fields: BTreeSet<FieldId> = all.iter().map(|(to, _, _)| *to).collect();
    for to in fields {
        let header = &program.fields[to.index()];
        let name = format!("new_{}", header.name);
        let new = FieldId(program.fields.len() as u16);
        let bits = header.bits;
        program.fields.push(Field { name: name.clone(), bits });
        let of: Vec<_> = all.iter().filter(|(field, _, _)| *field == to).collect();
        let keys = of.iter().map(|(_, active, _)| Key::ternary(*active)).collect();
        let from = |source| Op::set(new, Operand::Field(source));
        let actions = (0..).zip(&of).map(|(n, (_, _, source))| {
            let n: usize = n;
            Action::compute(format!("take{n}"), [from(*source)])
        });
        let actions = actions.chain([Action::compute("keep", [from(to)])]).collect();
        let entries = (0..of.len()).map(|n| {
            let one = |at| if at == n { Pattern::exactly(1) } else { Pattern::any() };
            Entry::new((0..of.len()).map(one).collect::<Vec<_>>(), n)
        });
        let table = Table::matching(format!("rewrite_{name}"), keys, actions, entries.collect());
        last.tables.push(table.otherwise(of.len()));
        program.rewrites.push((to, new));
    }
}
