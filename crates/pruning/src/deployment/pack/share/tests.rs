use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::algorithm::distinct::{self, Policy, Width};
use crate::algorithm::filter::{self, Formula};
use crate::algorithm::having::sum::{self, Aggregate};
use crate::algorithm::top_n::{deterministic, randomized};
use crate::algorithm::{group_by, skyline};
use crate::deployment::Flow;
use crate::deployment::pack::pack;
use crate::experiment::conformance::{assert_touches_what_fits, stream};
use crate::switch::{Interpreter, Misfit, Packet, Pattern, Placement, ProgramError, Relation, fit};
use crate::{Ties, Verdict, p4};

fn filter(constant: u32) -> Program {
    filter::Config::new(&Formula::compare(0, Relation::Lt, constant), 1, None).unwrap().program()
}

fn distinct(rows: u32) -> Program {
    distinct::Config::new(rows, 2, Width::Bits32, Policy::Lru).unwrap().program()
}

fn group_by(cells: u32, tables: u32) -> Program {
    let config =
        group_by::Config::new(cells, tables, group_by::Extreme::Max, Ties::Keep, false).unwrap();
    config.program()
}

fn having(counters: u32) -> Program {
    sum::Config::new(3, counters, 500, Aggregate::Sum, false).unwrap().program()
}

fn skyline(points: u32) -> Program {
    skyline::Config::new(2, points, skyline::Score::Sum, Ties::Keep).unwrap().program()
}

/// Queries whose packets have one or two values.
fn programs() -> Vec<Program> {
    vec![
        filter(100),
        distinct(8),
        randomized::Config::new(4, 3, Ties::Keep, 0).unwrap().program(),
        group_by(4, 3),
        having(8),
        group_by(8, 2),
        skyline(2),
        deterministic::Config::new(3, 1).unwrap().program(),
    ]
}

/// Calls `run` with the queries of these programs. Query `n` has flow `n`.
fn with_queries<T>(programs: &[Program], run: impl FnOnce(&[Query<'_>]) -> T) -> T {
    let flows: Vec<[Flow; 1]> = (0..programs.len() as u16).map(|n| [Flow::from(n)]).collect();
    let queries: Vec<Query<'_>> =
        programs.iter().zip(&flows).map(|(program, flows)| Query { program, flows }).collect();
    run(&queries)
}

fn placed_apart(programs: &[Program], target: &Target) -> Result<Placement, Vec<Misfit>> {
    fit(&with_queries(programs, |queries| pack("apart", queries).unwrap()), target)
}

fn placed(programs: &[Program], sharing: Sharing, target: &Target) -> Placement {
    with_queries(programs, |queries| {
        fit(share("shared", queries, sharing, target).unwrap().program(), target).unwrap()
    })
}

#[test]
fn group_bys_that_do_not_fit_apart_share_the_same_instruction() {
    let target = Target::tofino1();
    let programs = vec![group_by(4096, 8); 5];
    let misfits = placed_apart(&programs, &target).unwrap_err();
    assert!(matches!(misfits.as_slice(), [Misfit::Stages { .. }]), "{misfits:?}");
    let divided = placed(&programs, Sharing::Divided, &target);
    assert_eq!((divided.stages.len(), divided.stateful_alus()), (11, 8));
    assert_eq!(divided.register_bits, 5 * 8 * 4096 * 64);
    let alternatives = placed(&programs, Sharing::Alternatives, &target);
    assert_eq!((alternatives.stages.len(), alternatives.stateful_alus()), (11, 8));
    assert_eq!(alternatives.register_bits, 8 * 4096 * 64);
}

/// The paper's example: the ALU that compares for a filter is a part of the comparator of TOP N or HAVING.
#[test]
fn the_comparator_of_a_filter_serves_top_n_and_having() {
    let top_n = deterministic::Config::new(250, 1).unwrap().program();
    let programs = [filter(10), top_n, sum::Config::paper(1_000_000).program()];
    let target = Target { stages: 9, stateful_alus: 3, ..Target::tofino1() };
    let apart = placed_apart(&programs, &Target::tofino1()).unwrap();
    let alternatives = placed(&programs, Sharing::Alternatives, &target);
    assert_eq!(apart.stateful_alus(), 1 + 3 + 3);
    assert_eq!(alternatives.stateful_alus(), 3 + 2, "{alternatives}");
    let shared = with_queries(&programs, |queries| {
        share("shared", queries, Sharing::Alternatives, &target).unwrap().alus().to_vec()
    });
    let of_filter = shared.iter().find(|alu| alu.parts[0].register == "q0_constant0").unwrap();
    let others: Vec<usize> = of_filter.parts[1..].iter().map(|part| part.query).collect();
    assert!(!others.is_empty(), "{shared:?}");
    // The filter's constant is the value that its cell starts with, so it divides no array with counters.
    let divided = with_queries(&programs, |queries| {
        share("shared", queries, Sharing::Divided, &target).unwrap().alus().to_vec()
    });
    assert!(divided.iter().flat_map(|alu| &alu.parts).all(|part| part.query > 0), "{divided:?}");
}

/// The paper's other example: a part of an array for the fingerprints of DISTINCT, and one for points of SKYLINE.
#[test]
fn distinct_and_skyline_divide_the_memory_of_a_stage() {
    let programs = [distinct(4096), skyline(2)];
    let alus = with_queries(&programs, |queries| {
        share("shared", queries, Sharing::Divided, &Target::tofino1()).unwrap().alus().to_vec()
    });
    let parts: Vec<Vec<(usize, u32, u32)>> = alus
        .iter()
        .map(|alu| alu.parts.iter().map(|part| (part.query, part.first, part.cells)).collect())
        .collect();
    assert_eq!(parts, vec![vec![(0, 0, 4096), (1, 4096, 1)]; 2]);
}

#[test]
fn parts_start_at_multiples_of_their_size() {
    let divided = layout(Sharing::Divided, &[1, 4096, 8, 3, 8]);
    assert_eq!(divided, (vec![4115, 0, 4096, 4112, 4104], 4116));
    let alternatives = layout(Sharing::Alternatives, &[1, 4096, 8]);
    assert_eq!(alternatives, (vec![0; 3], 4096));
    // The greatest sizes do not overflow.
    assert_eq!(layout(Sharing::Divided, &[u32::MAX; 3]).1, (2 << 32) + u64::from(u32::MAX));
}

/// Queries over one stream, arrays that do not fit a stage together, and cells of other types keep their own ALUs.
#[test]
fn what_one_alu_cannot_do_is_not_shared() {
    let target = Target::tofino1();
    let alus = |queries: &[Query<'_>]| {
        share("shared", queries, Sharing::Divided, &target).unwrap().alus().len()
    };
    let small = [distinct(8), distinct(8), group_by(8, 1)];
    assert_eq!(with_queries(&small[..2], alus), 2);
    assert_eq!(with_queries(&small[1..], alus), 0);
    let one_stream: Vec<Query<'_>> = small[..2]
        .iter()
        .map(|program| Query { program, flows: &[Flow { fid: 7, role: 7 }] })
        .collect();
    assert_eq!(alus(&one_stream), 0);
    // Each column takes 16 of the 32 blocks of an array.
    let large = vec![distinct(1 << 16); 3];
    with_queries(&large, |queries| {
        let shared = share("shared", queries, Sharing::Divided, &target).unwrap();
        assert!(shared.alus().iter().all(|alu| alu.parts.len() == 2), "{:?}", shared.alus());
    });
    // Each of five columns swaps in a field of its own, and an ALU reads two.
    let columns =
        vec![distinct::Config::new(8, 3, Width::Bits32, Policy::Lru).unwrap().program(); 5];
    with_queries(&columns, |queries| {
        let shared = share("shared", queries, Sharing::Divided, &target).unwrap();
        assert!(fit(shared.program(), &target).is_ok());
    });
}

#[test]
fn too_many_queries_are_refused_with_the_limit() {
    let programs = vec![filter(1); 33];
    with_queries(&programs, |queries| {
        let refused = share("shared", queries, Sharing::Divided, &Target::paper()).unwrap_err();
        assert!(refused.to_string().starts_with("33 queries with "), "{refused}");
        assert!(refused.to_string().contains("the limits are 32 and 65535"), "{refused}");
        // A stage has gateways for 16 tables.
        let most = share("shared", &queries[..32], Sharing::Divided, &Target::tofino1()).unwrap();
        let parts: Vec<usize> = most.alus().iter().map(|alu| alu.parts.len()).collect();
        assert_eq!(parts, [16, 16]);
        assert_eq!(fit(most.program(), &Target::tofino1()).unwrap().stateful_alus(), 2);
    });
}

/// If the rules let a packet run two tables of one array, the program is invalid.
#[test]
fn a_packet_cannot_run_two_tables_of_one_array() {
    let programs = [distinct(8), distinct(8)];
    let program = with_queries(&programs, |queries| {
        share("shared", queries, Sharing::Divided, &Target::tofino1()).unwrap().program().clone()
    });
    assert_eq!(program.validate(), Ok(()));
    let shared = || Err(ProgramError::SharedRegister("shared0".to_owned()));
    let mut both = program.clone();
    both.stages[0].tables[0].entries[0].call.args = vec![1, 1];
    assert_eq!(both.validate(), shared());
    let mut masked = program.clone();
    masked.stages[0].tables[0].keys[0].kind = crate::switch::MatchKind::Ternary;
    masked.stages[0].tables[0].entries[0].patterns = vec![Pattern::any()];
    assert_eq!(masked.validate(), shared());
    let mut apart = program.clone();
    let position = |table: &Table| table.name == "q1_swap0";
    let stage = apart.stages.iter().position(|stage| stage.tables.iter().any(position)).unwrap();
    let at = apart.stages[stage].tables.iter().position(position).unwrap();
    let moved = apart.stages[stage].tables.remove(at);
    apart.stages.insert(stage, Stage { tables: vec![moved] });
    assert_eq!(apart.validate(), shared());
    assert!(p4::print(&program, p4::Arch::V1Model).unwrap().program.contains("index = index + 8;"));
    let refused = p4::print(&program, p4::Arch::Tna).unwrap_err().to_string();
    assert!(refused.contains("v1model only"), "{refused}");
}

/// Returns the packet as its query's program parses it.
fn cut(packet: &Packet, programs: &[Program]) -> Packet {
    let length = programs.get(usize::from(packet.fid)).map_or(1, |program| program.values);
    let mut packet = packet.clone();
    packet.values.truncate(length.into());
    packet
}

/// Checks that the registers of a query that ran alone are the parts of the shared arrays.
fn assert_parts_are(alone: &Interpreter, query: usize, shared: &Shared<'_>, run: &Interpreter) {
    let index = |program: &Program, name: &str| {
        program.registers.iter().position(|register| register.name == name)
    };
    for (register, cells) in alone.program().registers.iter().zip(alone.registers()) {
        let name = format!("q{query}_{}", register.name);
        let mut parts =
            shared.alus().iter().flat_map(|alu| alu.parts.iter().map(move |p| (alu, p)));
        let part = parts.find(|(_, part)| part.register == name);
        let (array, first) = part.map_or((&name, 0), |(alu, part)| (&alu.register, part.first));
        let array = &run.registers()[index(run.program(), array).unwrap()];
        let first = first as usize;
        assert_eq!(&array[first..first + cells.len()], cells, "{name}");
    }
}

fn packets_of(packets: Vec<Packet>, flow: Vec<u16>, programs: &[Program]) -> Vec<Packet> {
    let of = |(packet, fid): (Packet, u16)| cut(&Packet { fid, ..packet }, programs);
    packets.into_iter().zip(flow).map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// All queries run at once, and each answers and counts as it does alone: no cell has two queries.
    #[test]
    fn divided_is_as_alone(
        packets in stream(2, 240),
        flow in prop::collection::vec(0..10_u16, 240),
        paper: bool,
    ) {
        let programs = programs();
        let target = if paper { Target::paper() } else { Target::tofino1() };
        let packets = packets_of(packets, flow, &programs);
        with_queries(&programs, |queries| {
            let shared = share("shared", queries, Sharing::Divided, &target).unwrap();
            assert!(shared.alus().len() > 4, "{:?}", shared.alus());
            assert_touches_what_fits(shared.program(), &packets);
            let mut run = Interpreter::new(shared.program().clone()).unwrap();
            let mut alone: Vec<Interpreter> =
                programs.iter().map(|program| Interpreter::new(program.clone()).unwrap()).collect();
            let mut owners = BTreeMap::new();
            for packet in &packets {
                let trace = run.trace(packet).unwrap();
                let expected = match alone.get_mut(usize::from(packet.fid)) {
                    Some(alone) => alone.run(packet).unwrap(),
                    None => Verdict::Forward,
                };
                assert_eq!(trace.verdicts, [expected], "{packet:?}");
                for access in trace.steps.iter().filter_map(|step| step.access) {
                    let cell = (access.register.0, access.index);
                    assert_eq!(*owners.entry(cell).or_insert(packet.fid), packet.fid, "{cell:?}");
                }
            }
            for (query, alone) in alone.iter().enumerate() {
                assert_parts_are(alone, query, &shared, &run);
            }
        });
    }

    /// One query runs at a time. It answers as alone, and the pipeline is the same for all.
    #[test]
    fn an_alternative_is_as_alone(
        packets in stream(2, 160),
        flow in prop::collection::vec(0..10_u16, 160),
        query in 0..8_usize,
    ) {
        let programs = programs();
        let packets = packets_of(packets, flow, &programs);
        with_queries(&programs, |queries| {
            let target = Target::tofino1();
            let shared = share("shared", queries, Sharing::Alternatives, &target).unwrap();
            let installed = shared.installed(query);
            assert_touches_what_fits(&installed, &packets);
            let shape = |program: &Program| {
                let arrays = program.registers.iter().map(|it| (it.name.clone(), it.cell, it.size));
                let tables = program.tables().map(|(stage, it)| {
                    (stage, it.name.clone(), it.gateway.clone(), it.keys.clone(), it.actions.clone())
                });
                (arrays.collect::<Vec<_>>(), tables.collect::<Vec<_>>(), program.fields.clone())
            };
            assert_eq!(shape(&installed), shape(shared.program()));
            let mut run = Interpreter::new(installed).unwrap();
            let mut alone = Interpreter::new(programs[query].clone()).unwrap();
            for packet in &packets {
                let expected = if usize::from(packet.fid) == query {
                    alone.run(packet).unwrap()
                } else {
                    Verdict::Forward
                };
                assert_eq!(run.run(packet).unwrap(), expected, "{packet:?}");
            }
            assert_parts_are(&alone, query, &shared, &run);
        });
    }
}
