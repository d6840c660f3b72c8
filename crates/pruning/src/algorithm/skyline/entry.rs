//! The catalog entries of SKYLINE, one for each score.

use super::question::Undominated;
use super::{Config, Score, plan};
use crate::algorithm::catalog::{
    Configured, Entry, Guarantee, PacketContents, Paper, ParameterSpec, Parameters, Released,
    Sizes, Table2,
};
use crate::algorithm::{Pruning, published};
use crate::experiment::trial::Question;
use crate::switch::Program;
use crate::theory::{Footprint, PruningEstimate, RowStatistics, skyline};
use crate::{ConfigError, Pruner};

/// SKYLINE, points ordered by their sum.
pub(crate) const SUM: Entry = Entry {
    name: "skyline-sum",
    configure: |given| configure(given, Score::Sum),
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: ["log2 D + 2w", "2·log2 D - 1 + w(D + 1)", "w(D + 1)×64b", "0"],
            at: |limits| plan::Size { score: Score::Sum, ..PAPER }.demand(limits),
        }),
        reason: "A point's coordinates share a stage with the next point's score: w + 3 stages. Registers have 32 bits; the adder is no stateful ALU.",
    },
    released: Some(Released {
        parameters: &[],
        program: |_| Ok(published::skyline(published::Compiler::Intended)),
    }),
    ..COMMON
};

/// SKYLINE, points ordered by their approximate product.
pub(crate) const PRODUCT: Entry = Entry {
    name: "skyline-aph",
    configure: |given| configure(given, Score::Product),
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: [
                "log2 D + 2(w + 1)",
                "2·log2 D - 1 + w(D + 1)",
                "w(D + 1)×64b + 2^16×32b",
                "64·D",
            ],
            at: |limits| plan::Size { score: Score::Product, ..PAPER }.demand(limits),
        }),
        reason: "As for the sum; highest bit, shift and logarithm are stages in front. The table of logarithms has 32-bit numbers and is kept for each coordinate.",
    },
    ..COMMON
};

/// SKYLINE that keeps the first points.
pub(crate) const BASELINE: Entry = COMMON;

/// The baseline, and the fields that all scores share.
const COMMON: Entry = Entry {
    name: "skyline-baseline",
    query: "skyline",
    sql: "SKYLINE",
    guarantee: Guarantee::Deterministic,
    parameters: &[
        ParameterSpec::columns("points", 1, 32, "10"),
        ParameterSpec::numbers("dimensions", "coordinates of a point, D", 1, 4, "2"),
        ParameterSpec::TIES,
    ],
    carries: PacketContents::Coordinates,
    configure: |given| configure(given, Score::First),
    goal: |wanted| {
        Box::new(plan::Goal { dimensions: wanted.dimensions, value_bits: wanted.value_bits })
    },
    sizes: Sizes::Columns(10),
    paper: Paper {
        defaults: DEFAULTS,
        table_2: None,
        reason: "Not in table 2: without a score each point needs one stage to count and shares the rest.",
    },
    released: None,
};

const DEFAULTS: &str = "D = 2, w = 10";

const PAPER: plan::Size =
    plan::Size { dimensions: 2, points: 10, score: Score::Sum, value_bits: 64 };

fn configure(given: &Parameters, score: Score) -> Result<Configured, ConfigError> {
    let dimensions = given.dimensions.unwrap_or(2);
    Ok(Configured::Skyline(Config::new(dimensions, given.columns_or(10), score, given.ties())?))
}

/// The greatest number of points for which the size of the skyline is summed; with more points, a smaller share is
/// forwarded.
const MOST_POINTS: u64 = 1_000_000;

impl Pruning for Config {
    fn entry(&self) -> &'static Entry {
        match self.score() {
            Score::Sum => &SUM,
            Score::Product => &PRODUCT,
            Score::First => &BASELINE,
        }
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(Undominated { dimensions: self.dimensions() })
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        rows.note("dimensions that say nothing about each other");
        let points = (rows.rows().round() as u64).min(MOST_POINTS);
        let unpruned = 1.0 - skyline::optimal_pruned(self.dimensions(), points);
        PruningEstimate { unpruned, reduced: rows.rows(), reduces: false }
    }
}
