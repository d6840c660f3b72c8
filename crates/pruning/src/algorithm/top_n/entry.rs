//! What the catalog knows of TOP N.

use super::{deterministic, randomized};
use crate::algorithm::catalog::{Carries, Configured, Entry, Paper, Released, Sizes, Table2};
use crate::algorithm::released;
use crate::theory::Configuration;

/// TOP N by cutoffs that double.
pub(crate) const DETERMINISTIC: Entry = Entry {
    name: "top-n-deterministic",
    parameters: &["n", "columns"],
    carries: Carries::Value,
    configure: |given| {
        let config = deterministic::Config::new(given.n(), given.columns_or(4))?;
        Ok(Configured::TopNDeterministic(config))
    },
    sizes: Sizes::Columns(4),
    paper: Paper {
        defaults: "N = 250, w = 4",
        table_2: Some(Table2 {
            formulas: ["w + 1", "w + 1", "(w + 1)×64b", "0"],
            at: Configuration::TopNDeterministic { thresholds: 4, value_bits: 64 },
        }),
        reason: "Counting the first N, doubling, comparing and dropping are stages too, as in the released program (6 stages for one cutoff): w + 5 stages, w + 2 ALUs.",
    },
    released: Some(Released {
        parameters: &["n"],
        program: |given| Ok(released::top_n(given.n())),
    }),
};

/// TOP N by the greatest values of random rows.
pub(crate) const RANDOMIZED: Entry = Entry {
    name: "top-n-randomized",
    parameters: &["n", "columns", "rows", "ties", "hash_seed", "linear_hash"],
    carries: Carries::Value,
    configure: |given| {
        let (rows, columns) = (given.rows_or(4096), given.columns_or(4));
        let config = randomized::Config::new(rows, columns, given.ties(), 0)?;
        let config = config.with_hashing(given.hashing()?);
        Ok(Configured::TopNRandomized(config, given.n()))
    },
    sizes: Sizes::Columns(4),
    paper: Paper {
        defaults: "N = 250, w = 4, d = 4096",
        table_2: Some(Table2 {
            formulas: ["w", "w", "d·w×64b", "0"],
            at: Configuration::TopNRandomized { rows: 4096, columns: 4, value_bits: 64 },
        }),
        reason: "One stage mixes the hash and one drops: w + 2. Values have 32 bits, so half the memory.",
    },
    released: None,
};
