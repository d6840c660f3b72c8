//! What the catalog knows of SKYLINE, with each of its scores.

use super::{Config, Score};
use crate::ConfigError;
use crate::algorithm::catalog::{
    Carries, Configured, Entry, Paper, Parameters, Released, Sizes, Table2,
};
use crate::algorithm::released;
use crate::theory::{Configuration, Projection};

/// SKYLINE, points ordered by their sum.
pub(crate) const SUM: Entry = Entry {
    name: "skyline-sum",
    configure: |given| configure(given, Score::Sum),
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: ["log2 D + 2w", "2·log2 D - 1 + w(D + 1)", "w(D + 1)×64b", "0"],
            at: points(Projection::Sum),
        }),
        reason: "A point's coordinates share a stage with the next point's score: w + 3 stages. Registers have 32 bits; the adder is no stateful ALU.",
    },
    released: Some(Released {
        parameters: &[],
        program: |_| Ok(released::skyline(released::Compiler::Intended)),
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
            at: points(Projection::ApproximateProduct),
        }),
        reason: "As for the sum; highest bit, shift and logarithm are stages in front. The table of logarithms has 32-bit numbers and is kept for each coordinate.",
    },
    ..COMMON
};

/// SKYLINE, the first points stay.
pub(crate) const BASELINE: Entry = COMMON;

/// The baseline, and what all scores have in common.
const COMMON: Entry = Entry {
    name: "skyline-baseline",
    parameters: &["columns", "dimensions", "ties"],
    carries: Carries::Coordinates,
    configure: |given| configure(given, Score::First),
    sizes: Sizes::Columns(10),
    paper: Paper {
        defaults: DEFAULTS,
        table_2: None,
        reason: "Not in table 2: without a score each point needs one stage to count and shares the rest.",
    },
    released: None,
};

const DEFAULTS: &str = "D = 2, w = 10";

const fn points(projection: Projection) -> Configuration {
    Configuration::Skyline { dimensions: 2, points: 10, projection, value_bits: 64 }
}

fn configure(given: &Parameters, score: Score) -> Result<Configured, ConfigError> {
    let dimensions = given.dimensions.unwrap_or(2);
    Ok(Configured::Skyline(Config::new(dimensions, given.columns_or(10), score, given.ties())?))
}
