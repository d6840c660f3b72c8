//! Several programs in one pipeline (paper §6).
//!
//! [`pack()`] puts programs side by side. They share stages, each keeps its registers and its prune bit, and the flow
//! identifier selects the programs that process a packet.
//!
//! The paper lets every packed query process every packet and only selects the *bit* by flow. That is safe only for
//! queries over one and the same stream: a DISTINCT that cached another flow's key would prune the first packet of
//! its own. Here the flow also gates the tables, which costs one stage in front.
//!
//! Each query keeps its own packets: they have as many values as its program parses, and the packed program parses
//! each of these numbers ([`Program::shorter`]). A packet with another number of values than its flow's queries parse
//! is forwarded unprocessed. A program that distinguishes flows by their identifiers, like a join, gets the role of
//! each flow instead, so that several such programs can stand side by side. The rewrites of a program apply to the
//! packets that it processes.
//!
//! [`choose`] finds programs for all queries of a pipeline together. [`share`] lets queries use the same stateful ALUs.

use std::collections::BTreeSet;

use thiserror::Error;

use super::Flow;
use crate::switch::graft::{Graft, rewrite};
use crate::switch::{
    Action, Builder, Entry, FieldId, Key, Op, Operand, Pattern, Program, Stage, Table, Test,
};

mod choose;
mod share;

pub use choose::{Candidate, choose, ladder};
pub use share::{Part, Shared, SharedAlu, Sharing, share};

/// A program to pack, and the flows it serves. If several programs serve one flow, they are queries over one stream,
/// and an entry is dropped only if all of them prune it.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The program, with a single verdict.
    pub program: &'a Program,
    /// The flows whose packets it processes.
    pub flows: &'a [Flow],
}

impl Query<'_> {
    fn role(&self, fid: u16) -> Option<u16> {
        self.flows.iter().find(|flow| flow.fid == fid).map(|flow| flow.role)
    }

    fn serves(&self, fid: u16) -> bool {
        self.role(fid).is_some()
    }
}

/// The reason why programs cannot be packed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PackError {
    /// A program has verdicts for several entries of a packet.
    #[error("`{0}` has several verdicts")]
    Verdicts(String),
    /// A program acknowledges pruned packets, or discards packets: the protocol belongs in front of the whole.
    #[error("`{0}` acknowledges packets: put the protocol before the packed program instead")]
    Acknowledges(String),
    /// A program is already packed from queries with packets of several lengths.
    #[error("packets of `{0}` differ in length: pack its parts instead")]
    Lengths(String),
    /// Queries over one stream have programs that do not parse the same packets.
    #[error("queries over flow {0} parse different numbers of values")]
    Stream(u16),
    /// Several queries over one stream rewrite its packets.
    #[error("two queries rewrite the packets of flow {0}")]
    Rewrites(u16),
    /// There are more fields, registers or hash units than identifiers can number, or more than 32 queries.
    #[error(
        "{queries} queries with {fields} fields are too many for one program: the limits are {MAX_QUERIES} and {}",
        u16::MAX
    )]
    TooMany {
        /// The number of queries.
        queries: usize,
        /// The number of their fields.
        fields: usize,
    },
}

/// The greatest number of queries of a program.
const MAX_QUERIES: usize = 32;

/// Packs programs into one, to be fitted to a target as a whole.
///
/// # Errors
///
/// If a program is not one for single entries, unpacked and without the protocol, if two of them cannot serve the
/// same flow, or if there are too many.
pub fn pack(name: &str, queries: &[Query<'_>]) -> Result<Program, PackError> {
    let mut frame = frame(name, queries)?;
    for ((query, served), graft) in queries.iter().zip(&frame.served).zip(&frame.grafts) {
        let gate = |_: &Table| Some(Test::is(served.active, 1));
        graft.stages(&mut frame.program, query.program, 1, &gate);
    }
    frame.close();
    Ok(frame.program)
}

/// A packed program to which the tables of the queries are still to be added, between its first and its last stage.
#[derive(Debug, Clone)]
struct Frame<'a> {
    program: Program,
    queries: Vec<Query<'a>>,
    served: Vec<QueryFacts>,
    grafts: Vec<Graft>,
    prune: FieldId,
}

/// Declares the fields, registers and hash units of all queries, and adds the first stage.
fn frame<'a>(name: &str, queries: &[Query<'a>]) -> Result<Frame<'a>, PackError> {
    check(queries)?;
    let lengths: BTreeSet<u8> = queries.iter().map(|q| q.program.values).collect();
    let values = lengths.last().copied().unwrap_or(0);
    let mut b = Builder::new(name, values);
    let prune = b.verdict("prune");
    let served: Vec<QueryFacts> =
        (0..).zip(queries).map(|(n, q)| QueryFacts::new(&mut b, n, q)).collect();
    let mut program = b.finish();
    program.shorter = lengths.iter().copied().filter(|n| *n < values).collect();
    program.stages = vec![classify_all(queries, &served, &program)];
    let mut grafts = Vec::new();
    for (number, (query, served)) in queries.iter().zip(&served).enumerate() {
        let values: Vec<FieldId> = (0..query.program.values).map(FieldId::value).collect();
        let head = [served.role.unwrap_or(FieldId::FID), FieldId::ID];
        let prefix = format!("q{number}_");
        let part = query.program;
        grafts.push(Graft::with_sources(&mut program, part, &prefix, head, &values, None));
    }
    Ok(Frame { program, queries: queries.to_vec(), served, grafts, prune })
}

impl Frame<'_> {
    /// Adds the last stage.
    fn close(&mut self) {
        let mut rewrites = Vec::new();
        for ((query, served), graft) in self.queries.iter().zip(&self.served).zip(&self.grafts) {
            let of = query.program.rewrites.iter();
            rewrites.extend(of.map(|&(to, from)| (to, served.active, graft.field(from))));
        }
        let mut last = Stage { tables: vec![self.select(&self.queries)] };
        rewrite(&mut self.program, &mut last, &rewrites);
        self.program.stages.push(last);
    }

    fn select(&self, queries: &[Query<'_>]) -> Table {
        let bit = |(query, graft): (&Query<'_>, &Graft)| graft.field(query.program.verdicts[0]);
        let bits: Vec<FieldId> = self.queries.iter().zip(&self.grafts).map(bit).collect();
        select(queries, &bits, self.prune)
    }

    /// Returns the closed program with the rules of one query only.
    fn with_rules_of(&self, query: usize) -> Program {
        let mut queries = self.queries.clone();
        for (number, other) in queries.iter_mut().enumerate() {
            other.flows = if number == query { other.flows } else { &[] };
        }
        let mut program = self.program.clone();
        if let Some(first) = program.stages.first_mut() {
            *first = classify_all(&queries, &self.served, &self.program);
        }
        // The table that selects is the first of the last stage.
        let last = program.stages.last_mut().and_then(|stage| stage.tables.first_mut());
        if let Some(last) = last {
            *last = self.select(&queries);
        }
        program
    }
}

/// Creates the first stage, which activates the programs.
fn classify_all(queries: &[Query<'_>], served: &[QueryFacts], whole: &Program) -> Stage {
    let lengths = whole.shorter.iter().chain([&whole.values]);
    Stage { tables: lengths.map(|&length| classify(queries, served, length, whole)).collect() }
}

fn check(queries: &[Query<'_>]) -> Result<(), PackError> {
    for Query { program, .. } in queries {
        let name = || program.name.clone();
        if program.verdicts.len() != 1 {
            return Err(PackError::Verdicts(name()));
        }
        if program.acknowledges || program.discards.is_some() {
            return Err(PackError::Acknowledges(name()));
        }
        if !program.shorter.is_empty() {
            return Err(PackError::Lengths(name()));
        }
    }
    let fields: usize = queries.iter().map(|q| q.program.fields.len() + 2).sum();
    if queries.len() > MAX_QUERIES || fields > usize::from(u16::MAX) {
        return Err(PackError::TooMany { queries: queries.len(), fields });
    }
    for fid in flows(queries) {
        let over = || queries.iter().filter(|q| q.serves(fid)).map(|q| q.program);
        let lengths: BTreeSet<u8> = over().map(|program| program.values).collect();
        if lengths.len() > 1 {
            return Err(PackError::Stream(fid));
        }
        if over().filter(|program| !program.rewrites.is_empty()).count() > 1 {
            return Err(PackError::Rewrites(fid));
        }
    }
    Ok(())
}

/// The fields that hold a query's view of the packet before its tables run.
#[derive(Debug, Clone, Copy)]
struct QueryFacts {
    /// A bit that is set if the query processes the packet.
    active: FieldId,
    /// The flow's role, if the program matches the flow identifier. Hashes use the identifier itself, which is
    /// unique.
    role: Option<FieldId>,
}

impl QueryFacts {
    fn new(b: &mut Builder, number: usize, query: &Query<'_>) -> Self {
        let by_role =
            query.program.tables().any(|(_, t)| t.keys.iter().any(|k| k.field == FieldId::FID));
        let active = b.field(format!("active{number}"), 1);
        Self { active, role: by_role.then(|| b.field(format!("role{number}"), 16)) }
    }
}

/// Returns the flow identifiers that any query serves, ascending.
fn flows(queries: &[Query<'_>]) -> BTreeSet<u16> {
    queries.iter().flat_map(|q| q.flows).map(|flow| flow.fid).collect()
}

/// Creates a table of the first stage, which activates the programs for packets of `length` values.
fn classify(queries: &[Query<'_>], served: &[QueryFacts], length: u8, whole: &Program) -> Table {
    let of = || queries.iter().zip(served).filter(|(query, _)| query.program.values == length);
    let fields = of().flat_map(|(_, served)| std::iter::once(served.active).chain(served.role));
    let set: Vec<Op> = (0..).zip(fields).map(|(n, to)| Op::set(to, Operand::Arg(n))).collect();
    let fids = flows(queries).into_iter().filter(|fid| of().any(|(query, _)| query.serves(*fid)));
    let entries = fids.map(|fid| {
        let args = of().flat_map(|(query, served)| {
            let role = query.role(fid);
            let known = served.role.map(|_| u32::from(role.unwrap_or(0)));
            std::iter::once(u32::from(role.is_some())).chain(known)
        });
        Entry::new([Pattern::exactly(fid.into())], 0).with(args.collect::<Vec<_>>())
    });
    let (key, activate) = (vec![Key::exact(FieldId::FID)], Action::compute("activate", set));
    let all = std::iter::once(&whole.values).chain(&whole.shorter);
    let name =
        if whole.shorter.is_empty() { "classify".to_owned() } else { format!("classify_{length}") };
    let mut table = Table::matching(name, key, vec![activate], entries.collect());
    if all.clone().any(|other| *other < length) {
        table = table.when([Test::carries(FieldId::value(length - 1), true)]);
    }
    if all.clone().any(|other| *other > length) {
        table = table.when([Test::carries(FieldId::value(length), false)]);
    }
    table
}

/// Creates the last table, which drops a packet if every program that processed it prunes it.
fn select(queries: &[Query<'_>], bits: &[FieldId], prune: FieldId) -> Table {
    let keys =
        std::iter::once(FieldId::FID).chain(bits.iter().copied()).map(Key::ternary).collect();
    let entries = flows(queries).into_iter().map(|fid| {
        let of = |q: &Query<'_>| {
            if q.serves(fid) { Pattern::exactly(1) } else { Pattern::any() }
        };
        let patterns = std::iter::once(Pattern::exactly(fid.into())).chain(queries.iter().map(of));
        Entry::new(patterns.collect::<Vec<_>>(), 0)
    });
    let drop = Action::compute("drop", [Op::set(prune, Operand::Const(1))]);
    Table::matching("select", keys, vec![drop], entries.collect())
}

#[cfg(test)]
mod tests;
