use proptest::prelude::*;

use super::*;
use crate::algorithm::distinct::{self, Policy, Width};
use crate::algorithm::filter::{self, Formula};
use crate::algorithm::group_by;
use crate::algorithm::having::sum::{self, Aggregate};
use crate::algorithm::join::{self, Kind, Passes, Shape};
use crate::algorithm::top_n::randomized;
use crate::experiment::conformance::{assert_touches_what_fits, stream};
use crate::switch::{Interpreter, Misfit, Packet, Relation, Target, fit};
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

/// Runs every flow through the packed program and through its own program alone.
fn assert_as_alone(programs: &[Program], flows: &[u16], packets: &[Packet]) {
    let queries: Vec<Query<'_>> = programs
        .iter()
        .zip(flows)
        .map(|(program, flow)| Query { program, flows: std::slice::from_ref(flow) })
        .collect();
    let packed = pack("packed", &queries).unwrap();
    assert_touches_what_fits(
        &packed,
        &packets.iter().map(|p| pad(p, packed.values)).collect::<Vec<_>>(),
    );
    let mut packed = Interpreter::new(packed).unwrap();
    let mut alone: Vec<Interpreter> =
        programs.iter().map(|program| Interpreter::new(program.clone()).unwrap()).collect();
    for packet in packets {
        let together = packed.run(&pad(packet, packed.program().values)).unwrap();
        let own = flows.iter().position(|flow| *flow == packet.fid);
        let expected = own.map_or(Verdict::Forward, |n| {
            let values = alone[n].program().values;
            alone[n].process(packet.fid, packet.id, &packet.values[..usize::from(values)]).unwrap()
        });
        assert_eq!(together, expected, "{packet:?}");
    }
}

fn pad(packet: &Packet, values: u8) -> Packet {
    let mut packet = packet.clone();
    packet.values.resize(values.into(), 0);
    packet
}

#[test]
fn queries_over_one_stream_drop_what_all_prune() {
    let keep_small =
        filter::Config::new(&Formula::compare(0, Relation::Lt, 5), 1, None).unwrap().program();
    let keep_large =
        filter::Config::new(&Formula::compare(0, Relation::Gt, 9), 1, None).unwrap().program();
    let both = [
        Query { program: &keep_small, flows: &[7] },
        Query { program: &keep_large, flows: &[7, 8] },
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
    let flows = [[1], [2], [3], [4]];
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
    let packed = pack("full", &[Query { program: &program, flows: &[1] }]).unwrap();
    let misfits = fit(&packed, &Target::tofino1()).unwrap_err();
    assert_eq!(misfits, [Misfit::Stages { needed: 14, available: 12 }]);
}

#[test]
fn a_join_beside_a_distinct() {
    let shape = Shape::new(Kind::Inner, Passes::Two, false);
    let join = join::bloom::Config::new(shape, 1 << 12, 3).unwrap().program();
    let distinct = distinct::Config::new(8, 2, Width::Bits32, Policy::Lru).unwrap().program();
    let flows = [join::BUILD_A, join::BUILD_B, join::PROBE_A, join::PROBE_B];
    let queries =
        [Query { program: &join, flows: &flows }, Query { program: &distinct, flows: &[9] }];
    let mut run = Interpreter::new(pack("both", &queries).unwrap()).unwrap();
    let mut decide = |flow, key| run.process(flow, 0, &[key]).unwrap() == Verdict::Forward;
    assert_eq!(
        [decide(0, 5), decide(9, 5), decide(1, 6), decide(9, 5)],
        [false, true, false, false]
    );
    assert_eq!([decide(3, 5), decide(2, 5), decide(2, 6)], [true, false, true]);
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
