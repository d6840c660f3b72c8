//! The programs that are printed, compiled and driven: every algorithm at the paper's sizes, and at
//! small ones where registers fill and keys collide.

use std::error::Error;

use sluicegate_pruning::Ties;
use sluicegate_pruning::algorithm::catalog::{Algorithm, PacketContents, Parameters};
use sluicegate_pruning::algorithm::distinct::{self, Policy, Width};
use sluicegate_pruning::algorithm::filter::{self, Formula};
use sluicegate_pruning::algorithm::group_by::{self, Extreme};
use sluicegate_pruning::algorithm::group_sum;
use sluicegate_pruning::algorithm::join::{self, Kind, Passes, Shape};
use sluicegate_pruning::deployment::multi_entry::{LaneBy, multi_entry};
use sluicegate_pruning::deployment::pack::{Query, pack};
use sluicegate_pruning::protocol::{Copies, Flow, reliable, reliable_by};
use sluicegate_pruning::switch::{
    Action, AluOperand, Builder, Cell, ComparePredicate, FieldId, Index, Op, Operand, Operation,
    Program, Relation, Source, Stateful, Table, Test, Update,
};

/// Returns all programs, each with a name that is also a valid file name.
pub(crate) fn configurations() -> Result<Vec<(String, Program)>, Box<dyn Error>> {
    let mut all = Vec::new();
    let default = Parameters::default();
    for &algorithm in Algorithm::ALL {
        all.push((algorithm.name().to_owned(), algorithm.configure(&default)?.program()));
        if let Ok(program) = algorithm.released(&default) {
            all.push((format!("{}-released", algorithm.name()), program));
        }
    }
    for (suffix, algorithm, parameters) in smaller() {
        all.push((
            format!("{}-{suffix}", algorithm.name()),
            algorithm.configure(&parameters)?.program(),
        ));
    }
    all.extend(chained_fifo()?);
    all.extend(joins()?);
    all.extend(combined()?);
    all.extend(packed_joins()?);
    all.extend(several_values()?);
    all.extend(with_protocol()?);
    Ok(all)
}

/// Lists small configurations, where registers fill and keys collide.
fn smaller() -> Vec<(&'static str, Algorithm, Parameters)> {
    let small = Parameters { rows: Some(64), ..Parameters::default() };
    let sketch = Parameters { columns: Some(64), ..Parameters::default() };
    let columns = |n| Parameters { columns: Some(n), ..small };
    let fixed = |n| Parameters { columns: Some(n), ..Parameters::default() };
    let compare = |relation, threshold| Parameters {
        relation: Some(relation),
        threshold: Some(threshold),
        ..Parameters::default()
    };
    let min = Parameters { extreme: Some(Extreme::Min), ..columns(2) };
    let prune = |p| Parameters { ties: Some(Ties::Prune), ..p };
    let wide = |p| Parameters { key_bits: Some(64), ..p };
    let narrow = |p| Parameters { key_bits: Some(32), ..p };
    let seeded = |seed, p| Parameters { hash_seed: Some(seed), ..p };
    let linear = |p| Parameters { linear_hash: Some(true), ..p };
    vec![
        ("eq", Algorithm::Filter, compare(Relation::Eq, 7)),
        ("ge", Algorithm::Filter, compare(Relation::Ge, 100)),
        ("ne", Algorithm::Filter, compare(Relation::Ne, 0)),
        ("one-column", Algorithm::Distinct, narrow(columns(1))),
        ("narrow", Algorithm::Distinct, narrow(columns(4))),
        ("wide", Algorithm::Distinct, wide(columns(3))),
        ("seeded", Algorithm::Distinct, seeded(0x0123_4567_89AB_CDEF, wide(columns(2)))),
        ("linear", Algorithm::Distinct, linear(narrow(columns(2)))),
        ("two", Algorithm::DistinctFifo, columns(2)),
        ("seeded", Algorithm::DistinctFifo, seeded(1, columns(2))),
        ("three-points", Algorithm::SkylineSum, fixed(3)),
        (
            "three-dimensions",
            Algorithm::SkylineSum,
            Parameters { dimensions: Some(3), ..prune(fixed(2)) },
        ),
        ("two-points", Algorithm::SkylineProduct, fixed(2)),
        ("prune", Algorithm::SkylineBaseline, prune(fixed(2))),
        ("small", Algorithm::TopNDeterministic, Parameters { n: Some(20), ..fixed(3) }),
        ("small", Algorithm::TopNRandomized, columns(3)),
        ("prune", Algorithm::TopNRandomized, prune(columns(2))),
        ("seeded", Algorithm::TopNRandomized, seeded(0xABCD_0000_0001, columns(2))),
        ("linear", Algorithm::TopNRandomized, linear(columns(2))),
        ("small", Algorithm::GroupBy, narrow(columns(2))),
        ("prune", Algorithm::GroupBy, prune(narrow(columns(3)))),
        ("min", Algorithm::GroupBy, narrow(min)),
        ("min-prune", Algorithm::GroupBy, prune(narrow(min))),
        ("wide", Algorithm::GroupBy, wide(columns(2))),
        ("wide-min", Algorithm::GroupBy, wide(min)),
        ("seeded", Algorithm::GroupBy, seeded(u64::MAX, wide(columns(2)))),
        ("linear", Algorithm::GroupBy, linear(narrow(columns(3)))),
        ("small", Algorithm::GroupSum, columns(2)),
        ("linear", Algorithm::GroupSum, linear(columns(3))),
        ("seeded", Algorithm::JoinBloom, seeded(9, small)),
        ("linear", Algorithm::JoinBloom, linear(small)),
        ("seeded", Algorithm::JoinRegisterBloom, seeded(1 << 40, small)),
        ("small", Algorithm::Having, Parameters { threshold: Some(3000), ..sketch }),
        (
            "wide",
            Algorithm::Having,
            wide(Parameters { threshold: Some(900), rows: Some(2), ..sketch }),
        ),
        ("seeded", Algorithm::Having, seeded(77, Parameters { threshold: Some(3000), ..sketch })),
        (
            "gt",
            Algorithm::HavingExtreme,
            Parameters { columns: Some(2), ..compare_small(Relation::Gt) },
        ),
        (
            "lt",
            Algorithm::HavingExtreme,
            Parameters { columns: Some(3), ..compare_small(Relation::Lt) },
        ),
    ]
}

fn compare_small(relation: Relation) -> Parameters {
    Parameters {
        rows: Some(64),
        relation: Some(relation),
        threshold: Some(120),
        ..Parameters::default()
    }
}

/// Builds programs with pairs of columns in a row, which the catalog does not offer. A packet's first pair passes on
/// the value that it evicts, and so outputs two words.
fn chained_fifo() -> Result<Vec<(String, Program)>, Box<dyn Error>> {
    let mut all = Vec::new();
    for (name, columns) in [("distinct-fifo-four", 4), ("distinct-fifo-six", 6)] {
        let config = distinct::Config::new(64, columns, Width::Bits32, Policy::Fifo)?;
        all.push((name.to_owned(), config.program()));
    }
    Ok(all)
}

/// Builds programs behind the reliability protocol, for one worker that sends both sides of a join twice, or for
/// three workers. The fourth flow belongs to no worker.
fn with_protocol() -> Result<Vec<(String, Program)>, Box<dyn Error>> {
    let mut all = Vec::new();
    for &algorithm in Algorithm::ALL {
        let entry = algorithm.entry();
        let takes = |name| entry.takes(name);
        let sized = entry.with_cells(64);
        let given = Parameters {
            columns: sized.columns.or_else(|| takes("columns").then_some(2)),
            hash_seed: takes("hash_seed").then_some(0x5EED_0000_1234),
            threshold: takes("threshold").then_some(120),
            n: takes("n").then_some(20),
            ..sized
        };
        let flows = if entry.carries == PacketContents::KeyOfEither {
            // The flows come in another order than the roles.
            let flows = Flow::of_workers(entry.carries, 1).into_iter();
            flows.map(|flow| Flow { fid: 3 - flow.fid, ..flow }).collect()
        } else {
            Flow::of_workers(entry.carries, 3)
        };
        let configured = algorithm.configure(&given)?;
        let copies = Copies::before(&*configured);
        let program = reliable(&configured.program(), &flows, copies)?;
        all.push((format!("{}-reliable", algorithm.name()), program));
    }
    Ok(all)
}

/// Builds joins of several kinds with the filters that they use.
fn joins() -> Result<Vec<(String, Program)>, Box<dyn Error>> {
    let inner = Shape::new(Kind::Inner, Passes::Two, false);
    let small_first = Shape::new(Kind::Inner, Passes::SmallFirst, false);
    let outer = Shape::new(Kind::LeftOuter, Passes::Two, true);
    let semi = Shape::new(Kind::RightSemi, Passes::Two, false);
    let bloom = |shape, cells, hashes| join::bloom::Config::new(shape, cells, hashes);
    let words =
        |shape, words, hashes, bits| join::register_bloom::Config::new(shape, words, hashes, bits);
    let all = [
        ("join-bloom-inner", bloom(inner, 1 << 10, 3)?.program()),
        ("join-bloom-small-first", bloom(small_first, 1 << 9, 4)?.program()),
        ("join-bloom-outer-wide", bloom(outer, 1 << 10, 2)?.program()),
        ("join-bloom-uneven", join::bloom::Config::of_bits(small_first, 1 << 10, 3)?.program()),
        ("join-bloom-semi", bloom(semi, 1 << 10, 1)?.program()),
        ("join-register-bloom-inner", words(inner, 64, 3, 6)?.program()),
        ("join-register-bloom-outer-wide", words(outer, 64, 2, 8)?.program()),
    ];
    Ok(all.map(|(name, program)| (name.to_owned(), program)).into())
}

/// Builds programs with several queries, and with several entries in a packet.
fn combined() -> Result<Vec<(String, Program)>, Box<dyn Error>> {
    let formula = Formula::Or(vec![
        Formula::And(vec![
            Formula::compare(0, Relation::Gt, 20),
            Formula::compare(1, Relation::Le, 60),
        ]),
        Formula::Not(Box::new(Formula::compare(1, Relation::Ne, 3))),
    ]);
    let formula = filter::Config::new(&formula, 2, None)?.program();
    let filter = filter::Config::new(&Formula::compare(0, Relation::Lt, 100), 1, None)?.program();
    let distinct = distinct::Config::new(16, 2, Width::Bits32, Policy::Lru)?;
    let small = Parameters { rows: Some(16), columns: Some(2), ..Parameters::default() };
    let group_by = Parameters { key_bits: Some(32), extreme: Some(Extreme::Min), ..small };
    let group_by = Algorithm::GroupBy.configure(&group_by)?.program();
    let top_n = Algorithm::TopNRandomized.configure(&small)?.program();
    let queries = [
        Query { program: &filter, flows: &[1.into(), 2.into()] },
        Query { program: &distinct.program(), flows: &[2.into()] },
        Query { program: &group_by, flows: &[3.into()] },
        Query { program: &top_n, flows: &[0.into()] },
    ];
    let packed = pack("packed", &queries)?;
    let flows = [0, 1, 2, 3].map(|fid| Flow { fid, role: fid });
    let sums = group_sum::Config::new(64, 2)?.with_sums(2)?.program();
    let with_sums = [
        Query { program: &filter, flows: &[1.into()] },
        Query { program: &sums, flows: &[0.into(), 2.into()] },
        Query { program: &distinct.program(), flows: &[3.into()] },
    ];
    let with_sums = pack("packed_sums", &with_sums)?;
    let copies = |flow: Flow| match flow.fid {
        1 => Copies::Replayed,
        3 => Copies::Once,
        _ => Copies::LookedUp,
    };
    let all = [
        ("formula", formula),
        ("group-sum-two", sums),
        ("packed-sums-reliable", reliable_by(&with_sums, &flows, copies)?),
        ("packed-reliable", reliable(&packed, &flows, Copies::Once)?),
        ("packed", packed),
        ("distinct-row-value", distinct.with_row_value().program()),
        ("filter-by-four", multi_entry(&filter, 4, LaneBy::Values(1))?),
        ("distinct-by-four", multi_entry(&distinct.program(), 4, LaneBy::Values(1))?),
        ("group-by-by-two", multi_entry(&group_by, 2, LaneBy::Values(1))?),
        ("top-n-by-two", multi_entry(&top_n, 2, LaneBy::Id)?),
        ("distinct-by-position", multi_entry(&distinct.program(), 4, LaneBy::Position)?),
        (
            "distinct-by-position-reliable",
            reliable(
                &multi_entry(&distinct.program(), 4, LaneBy::Position)?,
                &flows,
                Copies::Once,
            )?,
        ),
        (
            "group-by-by-two-reliable",
            reliable(&multi_entry(&group_by, 2, LaneBy::Values(1))?, &flows, Copies::Once)?,
        ),
        ("top-n-by-position", multi_entry(&top_n, 2, LaneBy::Position)?),
    ];
    Ok(all.map(|(name, program)| (name.to_owned(), program)).into())
}

/// Builds packs with two joins that have their own flows, with keys of one and of two words, and with programs that
/// write into their packets, for packets of one to three values.
fn packed_joins() -> Result<Vec<(String, Program)>, Box<dyn Error>> {
    let join = |wide| {
        let shape = Shape::new(Kind::Inner, Passes::SmallFirst, wide);
        join::bloom::Config::new(shape, 1 << 9, 2).map(|config| config.program())
    };
    let (narrow, wide) = (join(false)?, join(true)?);
    let flow = |fid, role| Flow { fid, role };
    let of_narrow = [flow(3, join::BUILD_A), flow(1, join::PROBE_B)];
    let of_wide = [flow(0, join::BUILD_A), flow(2, join::PROBE_B)];
    let joins = pack(
        "packed_joins",
        &[Query { program: &narrow, flows: &of_narrow }, Query { program: &wide, flows: &of_wide }],
    )?;
    let (first, second) = (counter(1, 0), counter(3, 1));
    let small = Parameters { rows: Some(16), columns: Some(2), ..Parameters::default() };
    let group_by = Parameters { key_bits: Some(32), ..small };
    let group_by = Algorithm::GroupBy.configure(&group_by)?.program();
    let counters = pack(
        "packed_counters",
        &[
            Query { program: &first, flows: &[1.into()] },
            Query { program: &second, flows: &[2.into()] },
            Query { program: &group_by, flows: &[3.into(), 0.into()] },
        ],
    )?;
    let flows = [0, 1, 2, 3].map(Flow::from);
    let all = [
        ("packed-joins-reliable", reliable(&joins, &flows, Copies::Replayed)?),
        ("packed-joins", joins),
        ("packed-counters-reliable", reliable(&counters, &flows, Copies::Once)?),
        ("packed-counters", counters),
    ];
    Ok(all.map(|(name, program)| (name.to_owned(), program)).into())
}

/// Builds a program that counts its packets, prunes those with an odd number, and writes the number into value `to`.
fn counter(values: u8, to: u8) -> Program {
    let mut b = Builder::new("counter", values);
    let (count, odd) = (b.field("counted", 32), b.field("odd", 1));
    let prune = b.verdict("prune");
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
    let and = Op::new(odd, Operation::And, Operand::Field(count), Operand::Const(1));
    b.table(Table::always("parity", Action::compute("parity", [and])));
    b.stage();
    let drop = Action::compute("drop", [Op::set(prune, Operand::Const(1))]);
    b.table(Table::always("drop_odd", drop).when([Test::is(odd, 1)]));
    let mut program = b.finish();
    program.rewrites = vec![(FieldId::value(to), count)];
    program
}

/// Builds GROUP BY with several extremes, and a matrix whose number of rows is not a power of two.
fn several_values() -> Result<Vec<(String, Program)>, Box<dyn Error>> {
    let group_by = |ties, wide, others: &[Extreme]| {
        let config = group_by::Config::new(16, 2, Extreme::Max, ties, wide)?;
        config.with_others(others).map(|config| config.program())
    };
    let all = [
        ("group-by-three", group_by(Ties::Keep, false, &[Extreme::Min, Extreme::Max])?),
        ("group-by-two-wide", group_by(Ties::Prune, true, &[Extreme::Min])?),
        ("distinct-600-rows", distinct::Config::new(600, 2, Width::Bits32, Policy::Lru)?.program()),
    ];
    Ok(all.map(|(name, program)| (name.to_owned(), program)).into())
}
