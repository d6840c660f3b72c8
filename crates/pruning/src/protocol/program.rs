//! The switch's part of the repaired protocol as a program, in front of any algorithm's.
//!
//! A packet carries one more value, first: the *epoch*, the number of the boot for which its entries were
//! first sent. Two stages look whether the entry is to be processed:
//!
//! 1. the number of this boot is read, and the flow is looked up: which program's flow it is, and
//!    which cell it has. A flow is one side of one pass of one query from one worker; the control
//!    plane installs it with the query.
//! 2. If the epoch is that of this boot, the flow's register X keeps the greatest identifier that
//!    was processed; the entry is processed if its own is greater. A flow ends before its 2³²
//!    identifiers do. Where copies may be processed ([`Copies::Replayed`]), the epoch alone decides.
//!
//! A last stage turns pruned packets back. The algorithm's tables that touch a register or drop follow
//! behind that condition; what only computes, such as the first round of a hash, runs beside these two
//! stages. An entry that is not processed goes on to the master. A pruned packet goes back to its
//! worker as an acknowledgement, and what leaves bears the number of this boot in the place of its
//! epoch ([`Program::rewrites`]).
//!
//! A packet of several entries is one to the protocol: it is processed whole or not at all, and sent
//! again whole. It is acknowledged if all of its entries are pruned; otherwise the master does so, which
//! receives the rest.
//!
//! After a reboot registers are empty, and the control plane writes the new number into the register
//! `boot`.

use super::query::Query;
use crate::ConfigError;
use crate::algorithm::config::{in_range, index_bits};
use crate::deployment::Flow;
use crate::switch::graft::{Graft, rewrite};
use crate::switch::{
    Action, AluOperand, Builder, Cell, Compare, Entry, FieldId, Half, Index, Key, Op, Operand,
    Pattern, Program, Relation, Source, Stage, Stateful, Table, Test, Update, When,
};

/// What becomes of copies of an entry in the same boot. Neither is sound for an algorithm whose switch
/// holds what it drops ([`Query::holds`]), where they must be looked up: for it there is no program with
/// the protocol in front yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// They are forwarded unprocessed.
    Once,
    /// They are processed, too: a filter keeps no state, and a Bloom filter takes a key twice.
    Replayed,
}

impl Copies {
    /// What `query` demands in `pass`.
    #[must_use]
    pub const fn of(query: Query, pass: u8) -> Self {
        if query.replayable(pass) { Self::Replayed } else { Self::Once }
    }
}

/// `program` with the protocol in front.
///
/// # Errors
///
/// If there is no flow or more than 65,536, or two of one identifier; if the program has the protocol
/// in front already; or if its packets have no room for another value.
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
    in_range("flows", u32::try_from(flows.len()).unwrap_or(u32::MAX), 1, 1 << 16)?;
    in_range("values of a packet and its epoch", u32::from(program.values) + 1, 1, 255)?;
    if program.acknowledges {
        return Err(ConfigError::Conflict("the protocol is in front of the program already"));
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
    let [served, turn] = ["served", "in_turn"].map(|name| b.field(name, 1));
    b.stage();
    let boot = b.register(BOOT_REGISTER, Cell::Bit32, 1);
    let read = Stateful::on(boot, Index::Zero).output(stamp, Source::MemLo, When::ALWAYS);
    b.table(Table::always("boot_number", Action::access("read", read)));
    b.table(flow_table(flows, [role, cell, served]));
    b.stage();
    let in_turn = match copies {
        Copies::Once => in_turn(&mut b, cells, cell, turn),
        Copies::Replayed => Table::always(
            "sequence",
            Action::compute("process", [Op::set(turn, Operand::Const(1))]),
        ),
    };
    b.table(in_turn.when([Test::is(served, 1)]).when([Test::same(stamp, epoch)]));
    let mut whole = b.finish();
    // Only a program that looks at flows knows them by role; a hash needs what is unique.
    let by_role = program.tables().any(|(_, t)| t.keys.iter().any(|k| k.field == FieldId::FID));
    let head = [if by_role { role } else { FieldId::FID }, FieldId::ID];
    let values: Vec<FieldId> = (1..=program.values).map(FieldId::value).collect();
    let graft = Graft::with_sources(&mut whole, program, "p_", head, &values, None);
    whole.shorter = program.shorter.iter().map(|values| values + 1).collect();
    whole.verdicts = program.verdicts.iter().map(|verdict| graft.field(*verdict)).collect();
    graft.stages(&mut whole, program, 2, &[Test::is(turn, 1)]);
    whole.rewrites = vec![(epoch, stamp)];
    if !program.rewrites.is_empty() {
        // What was not processed stays as it came.
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

/// The register that holds the number of the boot.
pub const BOOT_REGISTER: &str = "boot";

/// Which flows are served, and what each is to the program.
fn flow_table(flows: &[Flow], [role, cell, served]: [FieldId; 3]) -> Table {
    let set = [
        Op::set(role, Operand::Arg(0)),
        Op::set(cell, Operand::Arg(1)),
        Op::set(served, Operand::Const(1)),
    ];
    let entries = flows.iter().zip(0..).map(|(flow, cell)| {
        Entry::new([Pattern::exactly(flow.fid.into())], 0).with([u32::from(flow.role), cell])
    });
    let actions = vec![Action::compute("serve", set)];
    Table::matching("flow", vec![Key::exact(FieldId::FID)], actions, entries.collect())
}

/// X, §7.2: whether the identifier is greater than all that were processed.
fn in_turn(b: &mut Builder, cells: u32, cell: FieldId, turn: FieldId) -> Table {
    let last = b.register("last", Cell::Bit32, cells);
    let advance = Stateful::on(last, Index::Field(cell))
        .compare_lo(Compare::mem(Half::Lo, Relation::Lt, FieldId::ID))
        .set_lo(Update::set(When::LO, AluOperand::Field(FieldId::ID)))
        .set_hi(Update::set(When::LO, AluOperand::Const(1)))
        .output(turn, Source::AluHi, When::ALWAYS);
    Table::always("sequence", Action::access("advance", advance))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::algorithm::catalog::{Algorithm, Parameters};
    use crate::algorithm::distinct::{self, Policy, Width};
    use crate::algorithm::join;
    use crate::deployment::multi_entry::{LaneBy, multi_entry};
    use crate::protocol::packet::{Entry as Row, Name};
    use crate::protocol::rules::Rules;
    use crate::protocol::switch::{Action as Verdict, Switch};
    use crate::protocol::{Programmed, explore_programs};
    use crate::switch::{Interpreter, Outcome, Packet, Placement, StageUse, Target, fit};

    /// The first stage in which a program touches a register or drops.
    fn first_effect(program: &Program, placed: &Placement) -> usize {
        let matters = |table: &Table| {
            table.register().is_some()
                || program.verdicts.iter().any(|v| table.writes().contains(v))
        };
        let names: Vec<&String> =
            program.tables().filter(|(_, t)| matters(t)).map(|(_, t)| &t.name).collect();
        let has = |stage: &StageUse| stage.tables.iter().any(|name| names.contains(&name));
        placed.stages.iter().position(has).unwrap()
    }

    /// Stages that only compute run beside its two: of a hash one, of logarithms (APH) more than two,
    /// and then only the one is added that turns packets back.
    #[test]
    fn it_fits_before_every_algorithm_beside_what_only_computes() {
        let roomy = Target { stages: 100, ..Target::tofino2() };
        let (mut seen, mut odd) = (HashSet::new(), Vec::new());
        for &algorithm in Algorithm::ALL {
            let given = algorithm.entry().with_cells(1024);
            let configured = algorithm.configure(&given).unwrap();
            if configured.holds() {
                continue;
            }
            let program = configured.program();
            let flows = Flow::of_workers(algorithm.entry().carries, 3);
            let with = reliable(&program, &flows, Copies::Once).unwrap();
            let placed = |program| fit(program, &roomy).unwrap();
            let (alone, with) = (placed(&program), placed(&with));
            let more = with.stages.len() - alone.stages.len();
            // And one turns back what is pruned.
            let expected = 3 - first_effect(&program, &alone).min(2);
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
    }

    /// A join whose flows are neither 0 to 3 nor one worker's.
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

        /// Packet by packet, the program does what the model checker explores.
        #[test]
        fn the_program_is_the_modelled_switch(
            number in 0..explore_programs().len(),
            events in prop::collection::vec(
                prop_oneof![
                    1 => Just(None),
                    20 => (0..3_u16, 1..7_u32, 0..3_u32, 0..4_u64, 0..9_u64, 0..2_u8, 0..2_u8).prop_map(Some),
                ],
                0..60,
            ),
        ) {
            let (name, query, program) = explore_programs().swap_remove(number);
            // Copies that are looked up are not a program yet.
            prop_assume!(!query.holds());
            let copies = Copies::of(query, 0);
            let flows: Vec<Flow> = (0..3).flat_map(|worker| (0..4).map(move |role| {
                Flow { fid: 40 + 4 * worker + role, role }
            })).collect();
            let mut run =
                Interpreter::new(reliable(&program, &flows, copies).unwrap()).unwrap();
            let pruner = Programmed::new(query, program.clone()).unwrap();
            let mut model = Switch::new(Rules::repaired(), query, 0, pruner);
            for event in events {
                let Some((worker, id, epoch, key, value, pass, table)) = event else {
                    model.reboot();
                    run.reset();
                    prop_assert!(run.write(BOOT_REGISTER, 0, [model.boot(), 0]));
                    continue;
                };
                let pass = if query.passes() == 2 && query == Query::Join { pass } else { 0 };
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
                    Verdict::Prune => {
                        Outcome::Acknowledge(Packet::new(fid, id, values))
                    }
                    Verdict::Drop => Outcome::Drop,
                    Verdict::Confirm | Verdict::Read(_) => unreachable!("{query:?} holds nothing"),
                };
                prop_assert_eq!(outcome, wanted, "{}, {:?}", name, expected);
            }
        }
    }
}
