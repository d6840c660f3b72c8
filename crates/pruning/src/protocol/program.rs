//! The switch's part of the repaired protocol as a program, in front of any algorithm's.
//!
//! A packet carries one more value, first: the *epoch*, the number of the boot for which its entries were first sent.
//! Two stages determine whether the entry is to be processed:
//!
//! 1. The number of this boot is read, and the flow is looked up: its role in the program, and
//!    its cell. A flow is one side of one pass of one query from one worker; the control
//!    plane installs it with the query.
//! 2. If the epoch is that of this boot, the flow's register X keeps the greatest identifier that
//!    was processed; the entry is processed if its own is greater. A flow ends before its 2³²
//!    identifiers do. If copies may be processed ([`Copies::Replayed`]), the epoch alone decides.
//!    If they are looked up ([`Copies::LookedUp`]), X grows by one each time. The same access then distinguishes
//!    the next entry from processed ones and from entries that come too early, which are discarded
//!    ([`Program::discards`]).
//!
//! A last stage returns pruned packets. The algorithm's tables that touch a register or drop follow behind that
//! condition. Tables that only compute, such as the first round of a hash, run beside these two stages. An entry that
//! is not processed goes on to the master. A pruned packet goes back to its worker as an acknowledgement. In every
//! packet that leaves, the number of this boot replaces the epoch ([`Program::rewrites`]).
//!
//! The protocol treats a packet of several entries as one: it is processed whole or not at all, and sent again whole.
//! The switch acknowledges it if all of its entries are pruned; otherwise the master does, which receives the rest.
//!
//! After a reboot registers are empty, and the control plane writes the new number into the register `boot`.

use std::collections::HashSet;

use super::query::Query;
use crate::ConfigError;
use crate::algorithm::Pruning;
use crate::algorithm::catalog::PacketContents;
use crate::algorithm::config::{in_range, index_bits};
use crate::deployment::Flow;
use crate::switch::graft::{Graft, rewrite};
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, ComparePredicate, Entry, FieldId, Half, Index, Key,
    Op, Operand, Operation, Pattern, Program, Relation, Source, Stage, Stateful, Table, Test,
    Update,
};

/// The treatment of copies of an entry in the same boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// Copies are forwarded unprocessed.
    Once,
    /// Copies are processed, too: a filter keeps no state, and a Bloom filter may take a key twice.
    Replayed,
    /// Copies pass the tables on which the verdict depends, and no others that touch a register. This is for switches
    /// that hold sums ([`Query::holds`]): a copy is acknowledged if its original was held, and not added. Those
    /// tables must find the same for a copy as for its original, and so change nothing. Entries are processed in
    /// their order, and one that comes before its predecessor is dropped.
    LookedUp,
}

impl Copies {
    /// Returns the treatment that `query` needs in `pass`.
    #[must_use]
    pub const fn for_query(query: Query, pass: u8) -> Self {
        if query.holds() {
            Self::LookedUp
        } else if query.replayable(pass) {
            Self::Replayed
        } else {
            Self::Once
        }
    }

    /// Returns the treatment that a program of `pruning` needs in every pass: a join's flows are those of both.
    #[must_use]
    pub fn before(pruning: &dyn Pruning) -> Self {
        match pruning.entry().carries {
            _ if pruning.holds() => Self::LookedUp,
            PacketContents::KeyOfEither => Self::Replayed,
            _ => Self::Once,
        }
    }
}

/// Puts the protocol in front of `program`.
///
/// # Errors
///
/// If there is no flow or more than 65,536, or two of one identifier; if the program has the protocol in front
/// already; if its packets have no room for another value; or if copies are to be looked up by a program that
/// rewrites packets.
///
/// # Example
/// ```
/// use sluicegate_pruning::algorithm::distinct;
/// use sluicegate_pruning::protocol::{Copies, Flow, reliable};
/// use sluicegate_pruning::switch::{Interpreter, Outcome, Packet, Target, fit};
///
/// let distinct = distinct::Config::paper().program();
/// let workers = [Flow { fid: 8, role: 0 }, Flow { fid: 9, role: 0 }];
/// let program = reliable(&distinct, &workers, Copies::Once)?;
/// let stages = |program| fit(program, &Target::tofino1()).map(|placed| placed.stages.len());
/// assert_eq!(stages(&program), stages(&distinct).map(|stages| stages + 2));
///
/// let mut switch = Interpreter::new(program)?;
/// let mut send = |fid, id| switch.outcome(&Packet::new(fid, id, [0, 0, 77]));
/// assert!(matches!(send(8, 1)?, Outcome::Forward(_)));
/// assert!(matches!(send(9, 1)?, Outcome::Acknowledge(_)), "the other worker's is a duplicate");
/// assert!(matches!(send(9, 1)?, Outcome::Forward(_)), "a retransmission is not processed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn reliable(program: &Program, flows: &[Flow], copies: Copies) -> Result<Program, ConfigError> {
    reliable_by(program, flows, |_| copies)
}

/// Like [`reliable`], but flows may differ in the treatment of copies, as in programs that are packed into one. If
/// copies of a flow are looked up, the tables on which its verdicts depend must find the same for a copy as for its
/// entry, in all programs that process the flow.
///
/// # Errors
///
/// As [`reliable`].
pub fn reliable_by(
    program: &Program,
    flows: &[Flow],
    copies: impl Fn(Flow) -> Copies,
) -> Result<Program, ConfigError> {
    in_range("flows", u32::try_from(flows.len()).unwrap_or(u32::MAX), 1, 1 << 16)?;
    in_range("values of a packet and its epoch", u32::from(program.values) + 1, 1, 255)?;
    if program.acknowledges || program.discards.is_some() {
        return Err(ConfigError::Conflict("the protocol is in front of the program already"));
    }
    let mut kinds: Vec<Copies> = Vec::new();
    let kind_of: Vec<u32> = flows
        .iter()
        .map(|flow| {
            let copies = copies(*flow);
            let at = kinds.iter().position(|kind| *kind == copies).unwrap_or(kinds.len());
            if at == kinds.len() {
                kinds.push(copies);
            }
            at as u32
        })
        .collect();
    let looked_up = kinds.contains(&Copies::LookedUp);
    if looked_up && !program.rewrites.is_empty() {
        return Err(ConfigError::Conflict("what is rewritten cannot be looked up again"));
    }
    let mut fids: Vec<u16> = flows.iter().map(|flow| flow.fid).collect();
    fids.sort_unstable();
    if fids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(ConfigError::Conflict("flows have identifiers of their own"));
    }
    let mut b = Builder::new(format!("{}_reliable", program.name), program.values + 1);
    let epoch = FieldId::value(0);
    let cells = (flows.len() as u32).next_power_of_two().max(2);
    let [stamp, role, cell] = [("stamp", 32), ("role", 16), ("cell_of_flow", index_bits(cells))]
        .map(|(n, w)| b.field(n, w));
    let turn_bits = if looked_up { 4 } else { 1 };
    let [served, turn] = [("served", 1), ("turn", turn_bits)].map(|(n, w)| b.field(n, w));
    let kind = (kinds.len() > 1).then(|| b.field("kind", 2));
    // The value of `turn` for an entry that is to be processed.
    let in_turn = if looked_up { NEXT } else { 1 };
    b.stage();
    let boot = b.register(BOOT_REGISTER, Cell::Bit32, 1);
    let read =
        Stateful::on(boot, Index::Zero).output(stamp, Source::MemLo, ComparePredicate::ALWAYS);
    b.table(Table::always("boot_number", Action::access("read", read)));
    b.table(flow_table(flows, &kind_of, [role, cell, served], kind));
    let before = looked_up.then(|| b.field("before", 32));
    if let Some(before) = before {
        let one = (Operand::Field(FieldId::ID), Operand::Const(1));
        let subtract = Op::new(before, Operation::Sub, one.0, one.1);
        b.table(Table::always("predecessor", Action::compute("subtract", [subtract])));
    }
    let last = kinds.iter().any(|kind| *kind != Copies::Replayed).then(|| x(&mut b, cells, cell));
    let mut actions = kinds.iter().map(|copies| match (copies, &last, before) {
        (Copies::Once, Some(x), _) => Action::access("advance", greater(x.clone(), turn, in_turn)),
        (Copies::LookedUp, Some(x), Some(before)) => {
            Action::access("step", next(x.clone(), before, turn))
        }
        _ => Action::compute("process", [Op::set(turn, Operand::Const(in_turn))]),
    });
    let sequence = match kind {
        None => Table::always("sequence", actions.next().unwrap_or_default()),
        Some(kind) => {
            let entries = (0..kinds.len())
                .map(|number| Entry::new([Pattern::exactly(number as u32)], number));
            let (keys, entries) = (vec![Key::exact(kind)], entries.collect());
            Table::matching("sequence", keys, actions.collect(), entries)
        }
    };
    b.stage();
    let sequence = sequence.when([Test::is(served, 1)]);
    b.table(sequence.when([Test::same(stamp, epoch)]));
    let early = looked_up.then(|| b.field("early", 1));
    if let Some(early) = early {
        b.stage();
        let mark = Action::compute("mark", [Op::set(early, Operand::Const(1))]);
        b.table(Table::always("too_early", mark).when([Test::is(turn, TOO_EARLY)]));
    }
    let mut whole = b.finish();
    whole.discards = early;
    // Only a program that matches the flow identifier gets the role instead; hashes need the identifier, which is
    // unique.
    let by_role = program.tables().any(|(_, t)| t.keys.iter().any(|k| k.field == FieldId::FID));
    let head = [if by_role { role } else { FieldId::FID }, FieldId::ID];
    let values: Vec<FieldId> = (1..=program.values).map(FieldId::value).collect();
    let graft = Graft::with_sources(&mut whole, program, "p_", head, &values, None);
    whole.shorter = program.shorter.iter().map(|values| values + 1).collect();
    whole.verdicts = program.verdicts.iter().map(|verdict| graft.field(*verdict)).collect();
    let deciding = deciding(program);
    graft.stages(&mut whole, program, 2, &|table| {
        // In a flow whose copies are not looked up, no entry has the case `PROCESSED`.
        Some(if looked_up && deciding.contains(table.name.as_str()) {
            Test::is_not(turn, 0).masked(NEXT | PROCESSED)
        } else {
            Test::is(turn, in_turn)
        })
    });
    whole.rewrites = vec![(epoch, stamp)];
    if !program.rewrites.is_empty() {
        // The values of an entry that was not processed stay unchanged.
        let field = |to: FieldId| if to.index() < 2 { to } else { graft.field(to) };
        let of = program.rewrites.iter();
        let all: Vec<_> = of.map(|&(to, from)| (field(to), turn, graft.field(from))).collect();
        let mut last = Stage::default();
        rewrite(&mut whole, &mut last, &all);
        whole.stages.push(last);
    }
    whole.acknowledges = true;
    Ok(whole)
}

/// The name of the register that holds the number of the boot.
pub const BOOT_REGISTER: &str = "boot";

/// The name of the register array of X: the last processed identifier of each flow, in the order of the flows.
pub const SEQUENCE_REGISTER: &str = "last";

/// Creates the table of flows: the served flows with their role and cell and, if there are several, the kind of their
/// treatment of copies.
fn flow_table(
    flows: &[Flow],
    kinds: &[u32],
    [role, cell, served]: [FieldId; 3],
    kind: Option<FieldId>,
) -> Table {
    let mut set = vec![
        Op::set(role, Operand::Arg(0)),
        Op::set(cell, Operand::Arg(1)),
        Op::set(served, Operand::Const(1)),
    ];
    set.extend(kind.map(|kind| Op::set(kind, Operand::Arg(2))));
    let entries = flows.iter().zip(kinds).zip(0..).map(|((flow, of), cell)| {
        let args = [u32::from(flow.role), cell].into_iter().chain(kind.map(|_| *of));
        Entry::new([Pattern::exactly(flow.fid.into())], 0).with(args.collect::<Vec<_>>())
    });
    let actions = vec![Action::compute("serve", set)];
    Table::matching("flow", vec![Key::exact(FieldId::FID)], actions, entries.collect())
}

/// Creates an access to X, §7.2, of the packet's flow.
fn x(b: &mut Builder, cells: u32, cell: FieldId) -> Stateful {
    Stateful::on(b.register(SEQUENCE_REGISTER, Cell::Bit32, cells), Index::Field(cell))
}

/// Sets `turn` to `in_turn` if the identifier is greater than all that were processed, and to 0 otherwise.
fn greater(x: Stateful, turn: FieldId, in_turn: u32) -> Stateful {
    x.compare_lo(Compare::mem(Half::Lo, Relation::Lt, FieldId::ID))
        .set_lo(Update::set(ComparePredicate::LO, AluOperand::Field(FieldId::ID)))
        .set_hi(Update::set(ComparePredicate::LO, AluOperand::Const(in_turn as i32)))
        .output(turn, Source::AluHi, ComparePredicate::ALWAYS)
}

/// The comparators' one-hot cases of [`next`]; 0 if X was not read.
const TOO_EARLY: u32 = 1;
const NEXT: u32 = 2;
const PROCESSED: u32 = 4;

/// Sets `turn` to the case of the identifier: the next, processed, or too early.
fn next(x: Stateful, before: FieldId, turn: FieldId) -> Stateful {
    x.compare_lo(Compare::mem(Half::Lo, Relation::Eq, before))
        .compare_hi(Compare::mem(Half::Lo, Relation::Gt, before))
        .set_lo(Update::new(
            ComparePredicate::LO,
            Operation::Add,
            AluOperand::MemLo,
            AluOperand::Const(1),
        ))
        .output(turn, Source::Predicate, ComparePredicate::ALWAYS)
}

/// Returns the tables on which a verdict depends.
fn deciding(program: &Program) -> HashSet<&str> {
    let mut fields: HashSet<FieldId> = program.verdicts.iter().copied().collect();
    let mut names = HashSet::new();
    let tables: Vec<&Table> = program.tables().map(|(_, table)| table).collect();
    for table in tables.into_iter().rev() {
        if table.writes().iter().any(|field| fields.contains(field)) {
            fields.extend(program.reads(table));
            names.insert(table.name.as_str());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algorithm::catalog::{Algorithm, Parameters};
    use crate::algorithm::distinct::{self, Policy, Width};
    use crate::algorithm::join;
    use crate::deployment::multi_entry::{LaneBy, multi_entry};
    use crate::deployment::pack::{Query as Packed, pack};
    use crate::protocol::packet::{Entry as Row, Name};
    use crate::protocol::rules::Rules;
    use crate::protocol::switch::{Action as Verdict, Switch};
    use crate::protocol::{Programmed, Query, explore_programs};
    use crate::rng::mix64;
    use crate::switch::{Interpreter, Outcome, Packet, Placement, StageUse, Target, fit};

    /// Returns the first stage in which a program touches a register or drops, and whether it drops in its last.
    fn effects(program: &Program, placed: &Placement) -> (usize, bool) {
        let drops = |table: &Table| program.verdicts.iter().any(|v| table.writes().contains(v));
        let is_in = |stage: &StageUse, matters: &dyn Fn(&Table) -> bool| {
            let mut tables = program.tables().map(|(_, table)| table);
            tables.any(|table| matters(table) && stage.tables.contains(&table.name))
        };
        let matters = |table: &Table| table.register().is_some() || drops(table);
        let first = placed.stages.iter().position(|stage| is_in(stage, &matters)).unwrap();
        (first, is_in(placed.stages.last().unwrap(), &drops))
    }

    /// Stages that only compute run beside the protocol's two. For a hash this is one, for logarithms (APH) more than
    /// two, and then only the stage that returns packets is added. The last sums of GROUP BY carry beside that one.
    #[test]
    fn it_fits_before_every_algorithm_beside_what_only_computes() {
        let roomy = Target { stages: 100, ..Target::tofino2() };
        let (mut seen, mut odd) = (HashSet::new(), Vec::new());
        for &algorithm in Algorithm::ALL {
            let given = algorithm.entry().with_cells(1024);
            let configured = algorithm.configure(&given).unwrap();
            let program = configured.program();
            let flows = Flow::of_workers(algorithm.entry().carries, 3);
            // The table of a join's copies is simpler.
            let once = configured.entry().carries == PacketContents::KeyOfEither;
            let copies = if once { Copies::Once } else { Copies::before(&*configured) };
            let with = reliable(&program, &flows, copies).unwrap();
            let placed = |program| fit(program, &roomy).unwrap();
            let (alone, with) = (placed(&program), placed(&with));
            let more = with.stages.len() - alone.stages.len();
            let (first, drops_last) = effects(&program, &alone);
            let expected = 2 - first.min(2) + usize::from(drops_last);
            seen.insert(more);
            if more != expected || with.stateful_alus() != alone.stateful_alus() + 2 {
                odd.push(format!("{algorithm}: {more} stages more, expected {expected}"));
            }
        }
        assert!(odd.is_empty(), "{odd:#?}");
        assert_eq!(seen, HashSet::from([1, 2, 3]));
    }

    #[test]
    fn what_it_cannot_serve_is_refused() {
        let program = Algorithm::Filter.configure(&Parameters::default()).unwrap().program();
        let flow = Flow { fid: 1, role: 0 };
        assert!(reliable(&program, &[], Copies::Once).is_err());
        assert!(reliable(&program, &[flow, flow], Copies::Once).is_err());
        assert!(reliable(&program, &[flow], Copies::Once).is_ok());
        assert!(reliable(&program, &[flow], Copies::LookedUp).is_ok());
        let rewrites = Program { rewrites: vec![(FieldId::ID, program.verdicts[0])], ..program };
        assert!(reliable(&rewrites, &[flow], Copies::LookedUp).is_err());
    }

    /// The join's flows are neither 0 to 3 nor those of one worker.
    #[test]
    fn a_join_has_any_flows() {
        let given = Parameters { rows: Some(1 << 12), ..Parameters::default() };
        let program = Algorithm::JoinBloom.configure(&given).unwrap().program();
        let flows = [(70, join::BUILD_A), (71, join::BUILD_A), (90, join::PROBE_B)]
            .map(|(fid, role)| Flow { fid, role });
        let mut run =
            Interpreter::new(reliable(&program, &flows, Copies::Replayed).unwrap()).unwrap();
        let mut send = |fid, key| run.outcome(&Packet::new(fid, 1, [0, key])).unwrap();
        for (fid, key) in [(70, 5), (71, 6), (0, 9)] {
            assert!(matches!(send(fid, key), Outcome::Forward(_)));
        }
        assert!(matches!(send(90, 6), Outcome::Forward(_)));
        assert!(matches!(send(90, 9), Outcome::Acknowledge(_)), "flow 0 was nobody's");
        assert!(matches!(send(91, 9), Outcome::Forward(_)), "a flow that nobody serves passes");
    }

    /// A packet of four entries is processed whole, once, and loses the entries that are pruned.
    #[test]
    fn packets_of_several_entries_are_reliable() {
        let config = distinct::Config::new(64, 2, Width::Bits32, Policy::Lru).unwrap();
        let four = multi_entry(&config.program(), 4, LaneBy::Position).unwrap();
        let program = reliable(&four, &[Flow::from(7)], Copies::Once).unwrap();
        assert!(fit(&program, &Target::tofino1()).is_ok());
        let mut run = Interpreter::new(program).unwrap();
        let mut send = |id, values: &[u32]| {
            let outcome = run.outcome(&Packet::new(7, id, [&[0], values].concat())).unwrap();
            match outcome {
                Outcome::Forward(packet) => (true, packet.values),
                Outcome::Acknowledge(packet) => (false, packet.values),
                Outcome::Drop => panic!(),
            }
        };
        assert_eq!(send(1, &[5, 6, 7, 8]), (true, vec![0, 5, 6, 7, 8]));
        assert_eq!(send(5, &[5, 9, 7, 8]), (true, vec![0, 9]), "three are pruned");
        assert_eq!(send(5, &[5, 9, 7, 8]), (true, vec![0, 5, 9, 7, 8]), "sent again");
        assert_eq!(send(9, &[5, 9, 7, 8]), (false, vec![0, 5, 9, 7, 8]), "all are pruned");
        assert!(reliable(run.program(), &[Flow::from(7)], Copies::Once).is_err(), "twice");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Beside programs whose copies are processed again or not at all, sums are looked up as if alone, and the
        /// other programs' copies are treated as if alone.
        #[test]
        fn packed_programs_have_their_own_copies(
            seed: u64, packets in prop::collection::vec((0..8_u16, 0..9_u32), 1..200),
        ) {
            let filter = Algorithm::Filter.configure(&Parameters {
                threshold: Some(2), ..Parameters::default()
            }).unwrap().program();
            let small = Parameters { rows: Some(8), columns: Some(2), ..Parameters::default() };
            let of = |algorithm: Algorithm| algorithm.configure(&small).unwrap().program();
            let queries = [
                (filter, [0, 1], Copies::Replayed),
                (of(Algorithm::GroupSum), [2, 3], Copies::LookedUp),
                (of(Algorithm::Distinct), [4, 5], Copies::Once),
                (of(Algorithm::GroupSum), [6, 7], Copies::LookedUp),
            ];
            let flows = queries.each_ref().map(|(_, fids, _)| fids.map(Flow::from));
            let packing: Vec<Packed<'_>> = queries.iter().zip(&flows)
                .map(|((program, ..), flows)| Packed { program, flows })
                .collect();
            let packed = pack("packed", &packing).unwrap();
            let copies = |flow: Flow| queries[usize::from(flow.fid / 2)].2;
            let whole = reliable_by(&packed, &flows.concat(), copies).unwrap();
            prop_assert_eq!(whole.validate(), Ok(()));
            let mut whole = Interpreter::new(whole).unwrap();
            let mut alone = queries.iter().zip(&flows).map(|((program, _, copies), flows)| {
                Interpreter::new(reliable(program, flows, *copies).unwrap()).unwrap()
            }).collect::<Vec<_>>();
            let mut next = [0; 8];
            for (fid, id) in packets {
                // Most packets are the next of their flow; others are copies, or come too early.
                let id = if id < 6 { next[usize::from(fid)] + 1 } else { id - 5 };
                next[usize::from(fid)] = next[usize::from(fid)].max(id);
                let alone = &mut alone[usize::from(fid / 2)];
                let words = usize::from(alone.program().values) - 1;
                // A copy has the values of its entry.
                let key = mix64(seed ^ u64::from(fid) << 32 ^ u64::from(id)) as u32 % 4;
                let values: Vec<u32> = std::iter::once(0).chain([key, key + 7, 0]).take(1 + words).collect();
                let packet = Packet::new(fid, id, values);
                prop_assert_eq!(whole.outcome(&packet), alone.outcome(&packet), "{:?}", packet);
            }
        }

        /// Packet by packet, the program does what the model checker explores.
        #[test]
        fn the_program_is_the_modelled_switch(
            events in prop::collection::vec(
                prop_oneof![
                    1 => Just(None),
                    20 => (
                        0..3_u16,
                        prop_oneof![Just(None), (1..7_u32).prop_map(Some)],
                        prop_oneof![3 => Just(None), 1 => (0..3_u32).prop_map(Some)],
                        0..2_u8,
                        0..2_u8,
                    ).prop_map(Some),
                ],
                0..60,
            ),
            rows in prop::array::uniform18((0..4_u64, 0..9_u64)),
        ) {
            for (name, query, program) in explore_programs() {
                let copies = Copies::for_query(query, 0);
                let flows: Vec<Flow> = (0..3).flat_map(|worker| (0..4).map(move |role| {
                    Flow { fid: 40 + 4 * worker + role, role }
                })).collect();
                let mut run =
                    Interpreter::new(reliable(&program, &flows, copies).unwrap()).unwrap();
                let pruner = Programmed::new(query, program.clone()).unwrap();
                let mut model = Switch::new(Rules::repaired(), query, 0, pruner);
                let mut sent = [0; 3];
                for &event in &events {
                    let Some((worker, id, epoch, pass, table)) = event else {
                        model.reboot();
                        sent = [0; 3];
                        run.reset();
                        prop_assert!(run.write(BOOT_REGISTER, 0, [model.boot(), 0]));
                        continue;
                    };
                    let pass = if query.passes() == 2 && query == Query::Join { pass } else { 0 };
                    // The packet is the worker's next, for this boot, unless the event names another.
                    let next = sent[usize::from(worker)] % 6 + 1;
                    let (id, epoch) = (id.unwrap_or(next), epoch.unwrap_or(model.boot()));
                    sent[usize::from(worker)] = id;
                    // A copy has the values of its entry.
                    let (key, value) = rows[usize::from(worker) * 6 + id as usize - 1];
                    let row = Row { pass, table, key, value };
                    let role = if query == Query::Join { 2 * u16::from(pass) + u16::from(table) } else { 0 };
                    let fid = 40 + 4 * worker + role;
                    let name_of = Name { query: 0, fid, pass, id, epoch };
                    let expected = model.on_entry(&name_of, &row);
                    let mut values = Programmed::values(query, &name_of, &row, program.values.into());
                    values.insert(0, epoch);
                    let outcome = run.outcome(&Packet::new(fid, id, values.clone())).unwrap();
                    values[0] = model.boot();
                    let wanted = match expected {
                        Verdict::Forward | Verdict::ForwardUnprocessed => {
                            Outcome::Forward(Packet::new(fid, id, values))
                        }
                        Verdict::Prune | Verdict::Confirm => {
                            Outcome::Acknowledge(Packet::new(fid, id, values))
                        }
                        Verdict::Drop => Outcome::Drop,
                        Verdict::Read(_) => unreachable!("the control plane reads"),
                    };
                    prop_assert_eq!(outcome, wanted, "{}, {:?}", name, expected);
                }
            }
        }
    }
}
