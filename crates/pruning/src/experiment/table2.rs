//! Table 2 of the paper beside the resources of this crate's programs on a target, and the queries that fit together.
//!
//! The paper counts the stages that hold an algorithm's registers. A compiler also needs stages that compare a
//! register's output, and one that drops. [`rows`] shows both side by side, [`golden`] the stages measured with the
//! open Tofino compiler; each gives the reason for a difference.

use crate::algorithm::catalog::{
    Algorithm, CatalogError, Configured, PacketContents, Paper, Parameters,
};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::join;
use crate::algorithm::{distinct, group_by, published, top_n};
use crate::deployment::Flow;
use crate::deployment::pack::{Query, pack};
use crate::switch::{
    Action, AluOperand, Field, FieldId, Misfit, Op, Operand, Placement, Program, Stage, Table,
    Target, fit,
};
use crate::theory::{Demand, Limits};
use crate::{ConfigError, Ties};

/// A row of table 2, and ours.
#[derive(Debug, Clone)]
pub struct Row {
    /// The algorithm, at the paper's defaults.
    pub algorithm: Algorithm,
    /// The paper's default parameters.
    pub defaults: &'static str,
    /// The paper's formulas: stages, ALUs, SRAM, TCAM. `None` if table 2 has no such row.
    pub formulas: Option<[&'static str; 4]>,
    /// The values of the formulas at the defaults.
    pub paper: Option<Demand>,
    /// The placement of our program, or every reason why it does not fit.
    pub placed: Result<Placement, Vec<Misfit>>,
    /// The reason why the numbers differ.
    pub reason: &'static str,
}

/// Returns table 2: every algorithm at the paper's defaults, on `target`.
///
/// # Errors
///
/// None, unless a default of [`Algorithm::configure`] is out of range.
pub fn rows(target: &Target) -> Result<Vec<Row>, CatalogError> {
    Algorithm::ALL
        .iter()
        .map(|&algorithm| {
            let program = algorithm.configure(&Parameters::default())?.program();
            Ok(row(algorithm, fit(&program, target)))
        })
        .collect()
}

fn row(algorithm: Algorithm, placed: Result<Placement, Vec<Misfit>>) -> Row {
    const MOST_BITS: u64 = 4 << 23;
    // Table 2 has no limit on the size of an array.
    let roomy = Limits { array_bits: MOST_BITS, sram_bits_per_stage: MOST_BITS, ..Limits::paper() };
    let Paper { defaults, ref table_2, reason } = algorithm.entry().paper;
    Row {
        algorithm,
        defaults,
        formulas: table_2.as_ref().map(|row| row.formulas),
        paper: table_2.as_ref().map(|row| (row.at)(&roomy)),
        placed,
        reason,
    }
}

/// The number of stages that the paper's reliability protocol takes (published, §7.2).
pub const PROTOCOL_STAGES: usize = 2;

/// Returns the number of stages of `target` that are left beside the paper's protocol: 10 on a Tofino 1. A program
/// need not fit them by default, because the authors' own GROUP BY takes all 12.
/// [`reliable`](crate::protocol::reliable) places our protocol with the program; its stages also take the program's
/// tables that only compute.
#[must_use]
pub const fn beside_protocol(target: &Target) -> usize {
    target.stages.saturating_sub(PROTOCOL_STAGES)
}

/// A design that was compiled with the open Tofino compiler.
#[derive(Debug, Clone)]
pub struct Golden {
    /// The name of the design.
    pub design: &'static str,
    /// Ingress stages that the compiler took. It does not refuse programs that are too long.
    pub measured: usize,
    /// Our program for the design.
    pub program: Program,
    /// Our placement of it on Tofino 1.
    pub placed: Result<Placement, Vec<Misfit>>,
    /// The reason why the two differ, if they do.
    pub difference: Option<Difference>,
}

/// The difference between a program's stages and the compiler's measurement.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The reason as text.
    pub reason: &'static str,
    /// Our program with only that changed. Its placement must take the measured stages.
    pub as_compiled: Program,
}

/// Returns stage counts measured with p4c's open Tofino backend (Tofino 1), and ours. The measured designs hash once
/// ([`Hashing::Linear`]).
///
/// # Errors
///
/// None, unless the designs' own parameters are out of range.
pub fn golden() -> Result<Vec<Golden>, ConfigError> {
    let measured = |design, measured, program| golden_of(design, measured, program, None);
    let copied = |design, measured, program: Program| {
        const REASON: &str = "The compiled program copies the packet's values into fields of their own first; ours reads the packet's in the first column.";
        let as_compiled = copying(&program);
        golden_of(design, measured, program, Some(Difference { reason: REASON, as_compiled }))
    };
    let folded = Difference {
        reason: "The compiler takes `register - sum < 0` of an unsigned register to be false, so the score decides nothing and shares a stage with the sum that it should be compared with.",
        as_compiled: published::skyline(published::Compiler::Folding),
    };
    let skyline = published::skyline(published::Compiler::Intended);
    let distinct = published::distinct(16, published::Repairs::default());
    let top_n = |columns| linear_top_n(4096, columns);
    let groups = |tables| linear_groups(4096, tables);
    Ok(vec![
        measured("released filter", 2, published::filter(10)),
        measured("released DISTINCT, 4 columns", 6, distinct),
        measured("released TOP N, 1 cutoff", 6, published::top_n(250)),
        measured("released JOIN, 6 blocks", 8, published::join(17)),
        measured("released GROUP BY, 5 rows", 12, published::group_by(17)),
        golden_of("released SKYLINE", 3, skyline, Some(folded)),
        measured("GROUP BY, register pairs, 5 rows", 6, groups(5)?),
        measured("GROUP BY, register pairs, 11 rows", 12, groups(11)?),
        copied("TOP N randomized, 4 columns", 6, top_n(4)?),
        copied("TOP N randomized, 8 columns", 10, top_n(8)?),
        copied("TOP N randomized, 11 columns", 13, top_n(11)?),
        copied("DISTINCT, flag-free LRU of 64 bits, 4 columns", 10, linear_lru(4096, 4)?),
    ])
}

fn golden_of(
    design: &'static str,
    measured: usize,
    program: Program,
    difference: Option<Difference>,
) -> Golden {
    let placed = fit(&program, &Target::tofino1());
    Golden { design, measured, program, placed, difference }
}

fn linear_top_n(rows: u32, columns: u32) -> Result<Program, ConfigError> {
    let config = top_n::randomized::Config::new(rows, columns, Ties::Keep, 0)?;
    Ok(config.with_hashing(Hashing::Linear).program())
}

fn linear_groups(rows: u32, tables: u32) -> Result<Program, ConfigError> {
    let config = group_by::Config::new(rows, tables, group_by::Extreme::Max, Ties::Keep, false)?;
    Ok(config.with_hashing(Hashing::Linear).program())
}

fn linear_lru(rows: u32, columns: u32) -> Result<Program, ConfigError> {
    let (width, policy) = (distinct::Width::Bits64, distinct::Policy::Lru);
    let config = distinct::Config::new(rows, columns, width, policy)?;
    Ok(config.with_hashing(Hashing::Linear).program())
}

/// Returns the program with a table in front that copies the packet's values; its stateful ALUs read the copies.
fn copying(program: &Program) -> Program {
    let mut program = program.clone();
    let first = program.fields.len() as u16;
    let copy_of = |field: FieldId| {
        let value = usize::from(field.0).checked_sub(FieldId::value(0).index())?;
        (value < usize::from(program.values)).then(|| FieldId(first + value as u16))
    };
    let mut stages = program.stages.clone();
    let tables = stages.iter_mut().flat_map(|stage| &mut stage.tables);
    for access in tables.flat_map(|t| &mut t.actions).filter_map(|a| a.stateful.as_mut()) {
        let compared = [&mut access.lo, &mut access.hi].into_iter().flatten();
        let compared = compared.filter_map(|it| it.field.as_mut()).map(|(field, _)| field);
        let updated = access.update_lo.iter_mut().chain(&mut access.update_hi);
        let updated = updated.flat_map(|it| [&mut it.a, &mut it.b]).filter_map(|it| match it {
            AluOperand::Field(field) => Some(field),
            _ => None,
        });
        for field in compared.chain(updated) {
            *field = copy_of(*field).unwrap_or(*field);
        }
    }
    let copies: Vec<Op> = (0..program.values)
        .map(|n| Op::set(FieldId(first + u16::from(n)), Operand::Field(FieldId::value(n))))
        .collect();
    for n in 0..program.values {
        program.fields.push(Field { name: format!("copy{n}"), bits: 32 });
    }
    let copy = Table::always("copy_values", Action::compute("copy", copies));
    stages.insert(0, Stage { tables: vec![copy] });
    program.stages = stages;
    program
}

/// Returns the largest instance of an algorithm, from the paper's defaults down, that `accept` accepts.
fn largest<T>(
    algorithm: Algorithm,
    mut accept: impl FnMut(&Configured) -> Option<T>,
) -> Option<(Parameters, T)> {
    algorithm.entry().sizes.descending().into_iter().find_map(|given| {
        let configured = algorithm.configure(&given).ok()?;
        accept(&configured).map(|found| (given, found))
    })
}

/// Returns the largest instance of an algorithm, from the paper's defaults down, that fits `target` alone.
#[must_use]
pub fn largest_fitting(algorithm: Algorithm, target: &Target) -> Option<(Parameters, Placement)> {
    largest(algorithm, |configured| fit(&configured.program(), target).ok())
}

/// Queries that share one pipeline.
#[derive(Debug, Clone)]
pub struct SharedPipeline {
    /// The algorithms that fit, in the order in which they were added, with their sizes.
    pub queries: Vec<(Algorithm, Parameters)>,
    /// The placement of all of them.
    pub placement: Placement,
    /// The algorithms that did not fit, even smaller than at the paper's defaults.
    pub left_out: Vec<Algorithm>,
}

/// Places the paper's seven queries together, the smallest first. Each is as large as the remaining room allows, and
/// at most at the paper's defaults. The method is greedy: another order may fit more.
#[must_use]
pub fn together(target: &Target) -> Option<SharedPipeline> {
    const SEVEN: [Algorithm; 7] = [
        Algorithm::Filter,
        Algorithm::Having,
        Algorithm::Distinct,
        Algorithm::TopNRandomized,
        Algorithm::GroupBy,
        Algorithm::JoinBloom,
        Algorithm::SkylineSum,
    ];
    let mut programs: Vec<(Program, Vec<Flow>)> = Vec::new();
    let (mut queries, mut left_out, mut placement) = (Vec::new(), Vec::new(), None);
    for algorithm in SEVEN {
        let flows = match algorithm.entry().carries {
            PacketContents::KeyOfEither => [join::BUILD_A, join::PROBE_B].map(Flow::from).to_vec(),
            // The flows begin beyond those of a join.
            _ => vec![Flow::from(16 + programs.len() as u16)],
        };
        let found = largest(algorithm, |configured| {
            let program = configured.program();
            let all = programs.iter().map(|(program, flows)| Query { program, flows });
            let all: Vec<Query<'_>> =
                all.chain([Query { program: &program, flows: &flows }]).collect();
            let packed = pack("together", &all).ok()?;
            let placed = fit(&packed, target).ok()?;
            Some((placed, program.clone()))
        });
        match found {
            Some((given, (placed, program))) => {
                programs.push((program, flows));
                queries.push((algorithm, given));
                placement = Some(placed);
            }
            None => left_out.push(algorithm),
        }
    }
    Some(SharedPipeline { queries, placement: placement?, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::conformance::forwarded;
    use crate::rng::Rng;
    use crate::switch::Packet;

    /// Appendix A.2.1: none of the paper's queries took more than 255 bits of metadata. Two of ours do at their
    /// defaults: TOP N keeps every doubled cutoff, and the value it is compared with, in a field of its own; the
    /// approximate product (APH) keeps the leading bit and the logarithm of each coordinate.
    #[test]
    fn metadata_is_within_the_papers_but_for_two() {
        let of = |algorithm: &Algorithm| {
            let program = algorithm.configure(&Parameters::default()).unwrap().program();
            (algorithm.name(), program.metadata_bits())
        };
        let over: Vec<_> = Algorithm::ALL.iter().map(of).filter(|(_, bits)| *bits > 255).collect();
        assert_eq!(over, [("skyline-aph", 434), ("top-n-deterministic", 326)]);
    }

    fn stages(program: &Program) -> usize {
        let long = Target { stages: 64, ..Target::tofino1() };
        fit(program, &long).unwrap().stages.len()
    }

    /// The measured stages, then the stages of our program.
    const STAGES: [(&str, usize, usize); 12] = [
        ("released filter", 2, 2),
        ("released DISTINCT, 4 columns", 6, 6),
        ("released TOP N, 1 cutoff", 6, 6),
        ("released JOIN, 6 blocks", 8, 8),
        ("released GROUP BY, 5 rows", 12, 12),
        ("released SKYLINE", 3, 4),
        ("GROUP BY, register pairs, 5 rows", 6, 6),
        ("GROUP BY, register pairs, 11 rows", 12, 12),
        ("TOP N randomized, 4 columns", 6, 5),
        ("TOP N randomized, 8 columns", 10, 9),
        ("TOP N randomized, 11 columns", 13, 12),
        ("DISTINCT, flag-free LRU of 64 bits, 4 columns", 10, 9),
    ];

    #[test]
    fn golden_stages_are_met_or_differ_for_the_reason_that_is_given() {
        let all = golden().unwrap();
        let placed = |golden: &Golden| golden.placed.as_ref().unwrap().stages.len();
        let found: Vec<_> = all.iter().map(|it| (it.design, it.measured, placed(it))).collect();
        assert_eq!(found, STAGES);
        for golden in &all {
            let compiled = golden.difference.as_ref().map_or(&golden.program, |it| &it.as_compiled);
            assert_eq!(stages(compiled), golden.measured, "{}", golden.design);
        }
    }

    /// The reasons change nothing else: the programs treat every packet alike, except for the one that the compiler
    /// misread.
    #[test]
    fn programs_as_compiled_do_what_ours_do() {
        let mut rng = Rng::new(5);
        let programs =
            [linear_top_n(4, 3).unwrap(), linear_lru(4, 2).unwrap(), linear_groups(4, 2).unwrap()];
        for program in programs {
            let compiled = copying(&program);
            compiled.validate().unwrap();
            let packets: Vec<Packet> = (0..2000)
                .map(|id| {
                    let values: Vec<u32> =
                        (0..program.values).map(|_| rng.below(12) as u32).collect();
                    Packet::new(0, id, values)
                })
                .collect();
            let ours = forwarded(&program, &packets);
            assert_eq!(ours, forwarded(&compiled, &packets), "{}", program.name);
            assert!(ours.contains(&true) && ours.contains(&false), "{}", program.name);
        }
    }

    /// The programs in use mix their hash, which costs them a stage more than the measured ones.
    #[test]
    fn a_mixed_hash_is_one_stage() {
        let mixed = |algorithm: &Algorithm, columns| {
            let given = Parameters { columns: Some(columns), ..Parameters::default() };
            stages(&algorithm.configure(&given).unwrap().program())
        };
        for columns in [4, 8] {
            let linear = stages(&linear_top_n(4096, columns).unwrap());
            assert_eq!(mixed(&Algorithm::TopNRandomized, columns), linear + 1);
            let linear = stages(&linear_groups(4096, columns).unwrap());
            assert_eq!(mixed(&Algorithm::GroupBy, columns), linear + 1);
        }
    }

    /// A program may have all 12 stages of a Tofino 1 by default, though the paper's protocol takes two. Otherwise
    /// the authors' own GROUP BY would be refused, and so would our baseline of SKYLINE at the paper's defaults.
    #[test]
    fn ten_stages_would_refuse_what_the_authors_ran() {
        let twelve = Target::tofino1();
        let ten = Target { stages: beside_protocol(&twelve), ..twelve.clone() };
        assert_eq!(ten.stages, 10);
        let needs = |needed| vec![Misfit::Stages { needed, available: 10 }];
        assert_eq!(fit(&published::group_by(17), &ten).unwrap_err(), needs(12));
        let fits = |algorithm: &&Algorithm, target| {
            fit(&algorithm.configure(&Parameters::default()).unwrap().program(), target).is_ok()
        };
        let only_twelve: Vec<_> = Algorithm::ALL
            .iter()
            .filter(|it| fits(it, &twelve) && !fits(it, &ten))
            .map(|it| it.name())
            .collect();
        assert_eq!(only_twelve, ["skyline-baseline"]);
    }

    /// The compiler placed 13 stages without an error; the model does not.
    #[test]
    fn more_than_12_stages_are_refused() {
        let given = Parameters { columns: Some(11), ..Parameters::default() };
        for algorithm in [Algorithm::TopNRandomized, Algorithm::GroupBy] {
            let program = algorithm.configure(&given).unwrap().program();
            let misfits = fit(&program, &Target::tofino1()).unwrap_err();
            assert_eq!(misfits, [Misfit::Stages { needed: 13, available: 12 }], "{algorithm}");
        }
    }

    #[test]
    fn table_2_has_the_papers_numbers() {
        let rows = rows(&Target::paper()).unwrap();
        let paper = |algorithm| {
            let row = rows.iter().find(|row| row.algorithm == algorithm).unwrap();
            row.paper.map(|demand| (demand.stages, demand.alus))
        };
        assert_eq!(paper(Algorithm::Distinct), Some((2, 2)));
        assert_eq!(paper(Algorithm::DistinctFifo), Some((1, 2)));
        assert_eq!(paper(Algorithm::SkylineSum), Some((21, 31)));
        assert_eq!(paper(Algorithm::SkylineProduct), Some((23, 31)));
        assert_eq!(paper(Algorithm::TopNDeterministic), Some((5, 5)));
        assert_eq!(paper(Algorithm::GroupBy), Some((8, 8)));
        assert_eq!(paper(Algorithm::JoinBloom), Some((2, 3)));
        assert_eq!(paper(Algorithm::JoinRegisterBloom), Some((1, 1)));
        assert_eq!(paper(Algorithm::Having), Some((1, 3)));
        assert_eq!(paper(Algorithm::Filter), None);
        // A word of 64 bits is two arrays of 2 MiB, and 100 MB in 60 stages are 1.6 MB in each.
        let misfits = rows.iter().filter(|row| row.placed.is_err()).map(|row| row.algorithm);
        assert_eq!(misfits.collect::<Vec<_>>(), [Algorithm::JoinRegisterBloom]);
    }

    #[test]
    fn the_largest_that_fits_is_smaller_than_the_paper_where_it_must_be() {
        let tofino = Target::tofino1();
        let size = |algorithm| largest_fitting(algorithm, &tofino).unwrap().0;
        assert_eq!(size(Algorithm::JoinBloom).rows, Some(1 << 22));
        assert_eq!(size(Algorithm::SkylineSum).columns, Some(9));
        assert_eq!(size(Algorithm::GroupBy).columns, Some(8));
    }

    #[test]
    fn what_fits_together_fits() {
        let together = together(&Target::tofino1()).unwrap();
        assert!(together.placement.stages.len() <= 12);
        assert!(together.queries.len() >= 4, "{:?}", together.queries);
        assert_eq!(together.queries.len() + together.left_out.len(), 7);
        let single = Target { stages: 1, ..Target::tofino1() };
        assert!(super::together(&single).is_none());
    }
}
