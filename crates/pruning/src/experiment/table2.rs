//! Table 2 of the paper beside what the programs of this crate take on a target, and what fits
//! together.
//!
//! The paper counts the stages in which an algorithm's registers are; a compiler also needs stages
//! that compare a register's output, and one that drops. [`rows`] shows both side by side,
//! [`golden`] what was measured with the open Tofino compiler; each gives the reason for a
//! difference.

use crate::algorithm::catalog::{Algorithm, Carries, CatalogError, Configured, Paper, Parameters};
use crate::algorithm::hashing::Hashing;
use crate::algorithm::join;
use crate::algorithm::{distinct, group_by, released, top_n};
use crate::deployment::Flow;
use crate::deployment::pack::{Query, pack};
use crate::switch::{Misfit, Placement, Program, Target, fit};
use crate::theory::{Demand, Limits};
use crate::{ConfigError, Ties};

/// A row of table 2, and ours.
#[derive(Debug, Clone)]
pub struct Row {
    /// The algorithm, at the paper's defaults.
    pub algorithm: Algorithm,
    /// The paper's default parameters.
    pub defaults: &'static str,
    /// The paper's formulas: stages, ALUs, SRAM, TCAM. `None` where table 2 has no such row.
    pub formulas: Option<[&'static str; 4]>,
    /// The formulas' values at the defaults.
    pub paper: Option<Demand>,
    /// The placement of our program, or every reason why it does not fit.
    pub placed: Result<Placement, Vec<Misfit>>,
    /// Why the numbers differ.
    pub reason: &'static str,
}

/// Table 2: every algorithm at the paper's defaults, on `target`.
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
    // Table 2 knows no limit to an array.
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

/// A design that was compiled with the open Tofino compiler.
#[derive(Debug, Clone)]
pub struct Golden {
    /// The design.
    pub design: &'static str,
    /// Ingress stages that the compiler took. It does not refuse programs that are too long.
    pub measured: usize,
    /// Stages that our placement is known to take; [`Golden::placed`] says what it takes.
    pub ours: usize,
    /// Our placement on Tofino 1.
    pub placed: Result<Placement, Vec<Misfit>>,
    /// Why the two differ, or nothing.
    pub reason: &'static str,
}

/// Its name, the stages that were measured, those that ours takes, our program, and why they differ.
type Design = (&'static str, usize, usize, Result<Program, ConfigError>, &'static str);

/// Stage counts measured with p4c's open Tofino backend (Tofino 1), and ours. The measured designs hash
/// once ([`Hashing::Linear`]).
///
/// # Errors
///
/// None, unless the designs' own parameters are out of range.
pub fn golden() -> Result<Vec<Golden>, ConfigError> {
    const COPY: &str = "The compiled program copies the packet's value into the travelling field first; ours reads the value itself in the first column.";
    let target = Target::tofino1();
    let top_n = |columns| {
        Ok(top_n::randomized::Config::new(4096, columns, Ties::Keep, 0)?
            .with_hashing(Hashing::Linear)
            .program())
    };
    let pairs = |tables| {
        let extreme = group_by::Extreme::Max;
        Ok(group_by::Config::new(4096, tables, extreme, Ties::Keep, false)?
            .with_hashing(Hashing::Linear)
            .program())
    };
    let lru = |columns| {
        let (width, policy) = (distinct::Width::Bits64, distinct::Policy::Lru);
        Ok(distinct::Config::new(4096, columns, width, policy)?
            .with_hashing(Hashing::Linear)
            .program())
    };
    const FOLDED: &str = "The compiler takes `register - sum < 0` of an unsigned register to be false, so the score decides nothing and shares a stage with what it should decide.";
    let designs: Vec<Design> = vec![
        ("released filter", 2, 2, Ok(released::filter(10)), ""),
        (
            "released DISTINCT, 4 columns",
            6,
            6,
            Ok(released::distinct(16, released::Repairs::default())),
            "",
        ),
        ("released TOP N, 1 cutoff", 6, 6, Ok(released::top_n(250)), ""),
        ("released JOIN, 6 blocks", 8, 8, Ok(released::join(17)), ""),
        ("released GROUP BY, 5 rows", 12, 12, Ok(released::group_by(17)), ""),
        ("released SKYLINE", 3, 4, Ok(released::skyline(released::Compiler::Intended)), FOLDED),
        ("GROUP BY, register pairs, 5 rows", 6, 6, pairs(5), ""),
        ("GROUP BY, register pairs, 11 rows", 12, 12, pairs(11), ""),
        ("TOP N randomized, 4 columns", 6, 5, top_n(4), COPY),
        ("TOP N randomized, 8 columns", 10, 9, top_n(8), COPY),
        ("TOP N randomized, 11 columns", 13, 12, top_n(11), COPY),
        ("DISTINCT, flag-free LRU of 64 bits, 4 columns", 10, 9, lru(4), COPY),
    ];
    designs
        .into_iter()
        .map(|(design, measured, ours, program, reason)| {
            Ok(Golden { design, measured, ours, placed: fit(&program?, &target), reason })
        })
        .collect()
}

/// The largest instance of an algorithm, from the paper's defaults down, that `accept` takes.
fn largest<T>(
    algorithm: Algorithm,
    mut accept: impl FnMut(&Configured) -> Option<T>,
) -> Option<(Parameters, T)> {
    algorithm.entry().sizes.descending().into_iter().find_map(|given| {
        let configured = algorithm.configure(&given).ok()?;
        accept(&configured).map(|found| (given, found))
    })
}

/// The largest instance of an algorithm, from the paper's defaults down, that fits `target` alone.
#[must_use]
pub fn largest_fitting(algorithm: Algorithm, target: &Target) -> Option<(Parameters, Placement)> {
    largest(algorithm, |configured| fit(&configured.program(), target).ok())
}

/// Queries that share one pipeline.
#[derive(Debug, Clone)]
pub struct Together {
    /// The algorithms that fit, in the order in which they were added, with their sizes.
    pub queries: Vec<(Algorithm, Parameters)>,
    /// The placement of all of them.
    pub placement: Placement,
    /// What did not fit, even smaller than at the paper's defaults.
    pub left_out: Vec<Algorithm>,
}

/// The paper's seven queries, those that need least first, each as large as the room that is left
/// allows and at most at the paper's defaults. Greedy: another order may fit more.
#[must_use]
pub fn together(target: &Target) -> Option<Together> {
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
            Carries::KeyOfEither => [join::BUILD_A, join::PROBE_B].map(Flow::from).to_vec(),
            // Beyond the flows of a join.
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
    Some(Together { queries, placement: placement?, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix A.2.1: no query of the paper's took more than 255 bits of metadata. Two of ours do at their
    /// defaults: TOP N keeps every doubled cutoff and what it is compared with in a field of its own, and
    /// the approximate product (APH) the leading bit and the logarithm of each coordinate.
    #[test]
    fn metadata_is_within_the_papers_but_for_two() {
        let of = |algorithm: &Algorithm| {
            let program = algorithm.configure(&Parameters::default()).unwrap().program();
            (algorithm.name(), program.metadata_bits())
        };
        let over: Vec<_> = Algorithm::ALL.iter().map(of).filter(|(_, bits)| *bits > 255).collect();
        assert_eq!(over, [("skyline-aph", 434), ("top-n-deterministic", 326)]);
    }

    #[test]
    fn golden_stages_are_met() {
        for golden in golden().unwrap() {
            let placed = golden.placed.as_ref().map(|placed| placed.stages.len());
            assert_eq!(placed, Ok(golden.ours), "{}", golden.design);
            let differ = golden.ours != golden.measured;
            assert_eq!(differ, !golden.reason.is_empty(), "{}", golden.design);
        }
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
