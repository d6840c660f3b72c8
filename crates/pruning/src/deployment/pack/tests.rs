use proptest::prelude::*;

use super::*;
use crate::algorithm::distinct::{self, Policy, Width};
use crate::algorithm::filter::{self, Formula};
use crate::algorithm::group_by;
use crate::algorithm::having::sum::{self, Aggregate};
use crate::algorithm::join::{self, Kind, Passes, Shape};
use crate::algorithm::top_n::randomized;
use crate::experiment::conformance::{assert_touches_what_fits, stream};
use crate::switch::{
    AluOperand, Cell, ComparePredicate, Index, Interpreter, Misfit, Operation, Outcome, Packet,
    Relation, Source, Stateful, Target, Update, fit,
};
use crate::{Ties, Verdict};

fn programs() -> Vec<Program> {
    vec![
        filter::Config::new(&Formula::compare(0, Relation::Lt, 100), 1, None).unwrap().program(),
        distinct::Config::new(8, 2, Width::Bits32, Policy::Lru).unwrap().program(),
        randomized::Config::new(4, 3, Ties::Keep, 0).unwrap().program(),
        group_by::Config::new(4, 3, group_by::Extreme::Max, Ties::Keep, false).unwrap().program(),
        sum::Config::new(3, 8, 500, Aggregate::Sum, false).unwrap().program(),
    ]
}

fn flow(fid: u16, role: u16) -> Flow {
    Flow { fid, role }
}

/// Runs every flow through the packed program and through its own program alone, each packet with as many values as
/// that parses. Packets of unserved flows have one value, and some packets have one value too many.
fn assert_as_alone(programs: &[Program], fids: &[u16], packets: &[Packet]) {
    let flows: Vec<[Flow; 1]> = fids.iter().map(|fid| [Flow::from(*fid)]).collect();
    let queries: Vec<Query<'_>> =
        programs.iter().zip(&flows).map(|(program, flows)| Query { program, flows }).collect();
    let packed = pack("packed", &queries).unwrap();
    let own = |packet: &Packet| fids.iter().position(|fid| *fid == packet.fid);
    let cut = |packet: &Packet| {
        let length = own(packet).map_or(1, |n| programs[n].values);
        // One in seven has another length than its query's.
        let length = if packet.id % 7 == 3 { 3 - length } else { length };
        let mut packet = packet.clone();
        packet.values.truncate(length.into());
        packet
    };
    let packets: Vec<Packet> = packets.iter().map(cut).collect();
    assert_eq!((packed.values, packed.shorter.as_slice()), (2, &[1][..]));
    assert_touches_what_fits(&packed, &packets);
    let mut packed = Interpreter::new(packed).unwrap();
    let mut alone: Vec<Interpreter> =
        programs.iter().map(|program| Interpreter::new(program.clone()).unwrap()).collect();
    for packet in &packets {
        let together = packed.run(packet).unwrap();
        // A packet of another length is rejected, and passes.
        let expected = own(packet)
            .and_then(|n| alone[n].process(packet.fid, packet.id, &packet.values).ok())
            .unwrap_or(Verdict::Forward);
        assert_eq!(together, expected, "{packet:?}");
    }
}

#[test]
fn queries_over_one_stream_drop_what_all_prune() {
    let keep_small =
        filter::Config::new(&Formula::compare(0, Relation::Lt, 5), 1, None).unwrap().program();
    let keep_large =
        filter::Config::new(&Formula::compare(0, Relation::Gt, 9), 1, None).unwrap().program();
    let both = [
        Query { program: &keep_small, flows: &[7.into()] },
        Query { program: &keep_large, flows: &[7.into(), 8.into()] },
    ];
    let mut run = Interpreter::new(pack("two", &both).unwrap()).unwrap();
    let mut decide = |flow, value| run.process(flow, 0, &[value]).unwrap() == Verdict::Forward;
    assert_eq!([decide(7, 1), decide(7, 7), decide(7, 12)], [true, false, true]);
    assert_eq!([decide(8, 1), decide(8, 12)], [false, true]);
    assert_eq!([decide(9, 7)], [true], "a flow that nobody serves passes");
}

#[test]
fn all_light_queries_share_one_tofino() {
    // Filter, DISTINCT and HAVING beside a GROUP BY of five tables: 5 + 1 stages, and one each to
    // classify and select.
    let config = group_by::Config::new(4096, 5, group_by::Extreme::Max, Ties::Keep, false).unwrap();
    let programs = [
        filter::Config::new(&Formula::compare(0, Relation::Lt, 100), 1, None).unwrap().program(),
        distinct::Config::new(4096, 2, Width::Bits32, Policy::Lru).unwrap().program(),
        sum::Config::paper(1_000_000).program(),
        config.program(),
    ];
    let flows = [1, 2, 3, 4].map(|fid| [Flow::from(fid)]);
    let queries: Vec<_> =
        programs.iter().zip(&flows).map(|(program, flows)| Query { program, flows }).collect();
    let packed = pack("light", &queries).unwrap();
    let placement = fit(&packed, &Target::tofino1()).unwrap();
    assert_eq!(placement.stages.len(), 8);
    assert_eq!(placement.stateful_alus(), 1 + 2 + 3 + 5);
}

#[test]
fn too_much_is_refused_with_the_reason() {
    let program = group_by::Config::new(4096, 11, group_by::Extreme::Max, Ties::Keep, false)
        .unwrap()
        .program();
    let packed = pack("full", &[Query { program: &program, flows: &[1.into()] }]).unwrap();
    let misfits = fit(&packed, &Target::tofino1()).unwrap_err();
    assert_eq!(misfits, [Misfit::Stages { needed: 14, available: 12 }]);
}

/// Two joins and a DISTINCT share the switch. One join has one-word keys, the other two-word keys, and the flows are
/// in any order.
#[test]
fn several_joins_share_a_switch() {
    let join = |wide| {
        let shape = Shape::new(Kind::Inner, Passes::Two, wide);
        join::bloom::Config::new(shape, 1 << 12, 3).unwrap().program()
    };
    let programs = [join(false), join(true)];
    let distinct = distinct::Config::new(8, 2, Width::Bits32, Policy::Lru).unwrap().program();
    let roles = [join::BUILD_A, join::BUILD_B, join::PROBE_A, join::PROBE_B];
    // The identifiers of the second join are in another order than its roles.
    let of_first = roles.map(|role| flow(20 + role, role));
    let of_second = roles.map(|role| flow(3 - role, role));
    let queries = [
        Query { program: &programs[0], flows: &of_first },
        Query { program: &distinct, flows: &[flow(9, 9)] },
        Query { program: &programs[1], flows: &of_second },
    ];
    let mut run = Interpreter::new(pack("joins", &queries).unwrap()).unwrap();
    let mut forwards =
        |fid, values: &[u32]| run.process(fid, 0, values).unwrap() == Verdict::Forward;
    // Builds are pruned in both joins; the DISTINCT processes its own keys only.
    assert!(!forwards(20, &[5]) && !forwards(21, &[6]));
    assert!(!forwards(3, &[0, 6]) && !forwards(2, &[0, 5]));
    assert_eq!([forwards(9, &[5]), forwards(9, &[5])], [true, false]);
    // A probe of A meets the keys of B and vice versa, each in its own join.
    assert_eq!([22, 23].map(|fid| forwards(fid, &[5])), [false, true]);
    assert_eq!([22, 23].map(|fid| forwards(fid, &[6])), [true, false]);
    assert_eq!([1, 0].map(|fid| forwards(fid, &[0, 5])), [true, false]);
    assert_eq!([1, 0].map(|fid| forwards(fid, &[0, 6])), [false, true]);
    // A packet of another length than its query's is not processed, and passes.
    assert!(forwards(1, &[6]) && forwards(9, &[0, 5]));
}

/// Builds a program that counts its packets and writes the count into them.
fn counter(values: u8, to: u8) -> Program {
    let mut b = Builder::new("counter", values);
    let (count, prune) = (b.field("counted", 32), b.verdict("prune"));
    let cell = b.register("packets", Cell::Bit32, 1);
    let add = Update::new(
        ComparePredicate::ALWAYS,
        Operation::Add,
        AluOperand::MemLo,
        AluOperand::Const(1),
    );
    let access = Stateful::on(cell, Index::Zero).set_lo(add).output(
        count,
        Source::AluLo,
        ComparePredicate::ALWAYS,
    );
    b.table(Table::always("count", Action::access("count", access)));
    b.stage();
    b.table(Table::always("keep", Action::compute("keep", [Op::set(prune, Operand::Const(0))])));
    let mut program = b.finish();
    program.rewrites = vec![(FieldId::value(to), count)];
    program
}

#[test]
fn what_a_program_rewrites_stays_its_own() {
    let (first, second) = (counter(1, 0), counter(2, 1));
    let distinct = distinct::Config::new(8, 2, Width::Bits64, Policy::Lru).unwrap().program();
    let queries = [
        Query { program: &first, flows: &[flow(1, 1)] },
        Query { program: &second, flows: &[flow(2, 2)] },
        Query { program: &distinct, flows: &[flow(3, 3)] },
    ];
    let mut run = Interpreter::new(pack("counters", &queries).unwrap()).unwrap();
    let mut send = |fid, values: &[u32]| match run.outcome(&Packet::new(fid, 0, values)).unwrap() {
        Outcome::Forward(packet) => packet.values,
        other => panic!("{other:?}"),
    };
    assert_eq!(send(1, &[70]), [1]);
    assert_eq!(send(2, &[71, 72]), [71, 1]);
    assert_eq!(send(3, &[73, 74]), [73, 74]);
    assert_eq!(send(4, &[75, 76]), [75, 76]);
    assert_eq!(send(1, &[77]), [2]);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let (one, two) = (counter(1, 0), counter(2, 0));
    let over = |programs: [&Program; 2]| {
        let queries = programs.map(|program| Query { program, flows: &[Flow { fid: 7, role: 7 }] });
        pack("x", &queries).map(|_| ())
    };
    assert_eq!(over([&one, &two]), Err(PackError::Stream(7)));
    assert_eq!(over([&one, &one]), Err(PackError::Rewrites(7)));
    let name = || "x".to_owned();
    let named = |change: &dyn Fn(&mut Program)| {
        let mut program = one.clone();
        program.name = name();
        change(&mut program);
        over([&program, &two])
    };
    assert_eq!(named(&|p| p.acknowledges = true), Err(PackError::Acknowledges(name())));
    assert_eq!(named(&|p| p.shorter = vec![0]), Err(PackError::Lengths(name())));
    assert_eq!(named(&|p| p.verdicts.clear()), Err(PackError::Verdicts(name())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn packed_is_as_alone(packets in stream(2, 200), flow in prop::collection::vec(0..7_u16, 200)) {
        let packets: Vec<Packet> =
            packets.into_iter().zip(flow).map(|(p, fid)| Packet { fid, ..p }).collect();
        assert_as_alone(&programs(), &[1, 2, 3, 4, 5], &packets);
    }
}
