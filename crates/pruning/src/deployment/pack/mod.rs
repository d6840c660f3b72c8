//! Several programs in one pipeline (paper §6).
//!
//! [`pack()`] puts programs side by side: they share stages, each keeps its registers and its prune
//! bit, and the flow identifier selects which of them see a packet.
//!
//! The paper lets every packed query process every packet and only selects the *bit* by flow. That
//! is safe only for queries over one and the same stream: a DISTINCT that cached another flow's key
//! would prune the first packet of its own. So here the flow also gates the tables; that costs one
//! stage in front.

use thiserror::Error;

use crate::switch::graft::Graft;
use crate::switch::{
    Action, Builder, Entry, FieldId, Key, Op, Operand, Pattern, Program, Stage, Table, Test,
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

/// Packs programs into one, to be fitted to a target as a whole.
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

#[cfg(test)]
mod tests;
