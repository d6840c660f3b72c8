//! What the catalog knows of HAVING.

use super::{extreme, sum};
use crate::algorithm::catalog::{Carries, Configured, Entry, Paper, Parameters, Sizes, Table2};
use crate::switch::Relation;
use crate::theory::Configuration;

/// HAVING SUM or COUNT, by Count-Min.
pub(crate) const SUM: Entry = Entry {
    name: "having",
    parameters: &["rows", "hashes", "threshold", "key_bits", "hash_seed", "linear_hash"],
    carries: Carries::KeyAndValue,
    configure: |given| {
        let (rows, counters) = (given.hashes(), given.rows_or(1024));
        let (threshold, wide) = (threshold(given), given.wide_or(false)?);
        let sum = sum::Aggregate::Sum;
        let config = sum::Config::new(rows, counters, threshold, sum, wide)?;
        Ok(Configured::Having(config.with_hashing(given.hashing()?)))
    },
    sizes: Sizes::Fixed,
    paper: Paper {
        defaults: "w = 1024, d = 3",
        table_2: Some(Table2 {
            formulas: ["⌈d/A⌉", "d", "d·w×64b", "0"],
            at: Configuration::Having { counters: 1024, rows: 3, counter_bits: 64 },
        }),
        reason: "One stage mixes the hash and one drops. Counters have 32 bits and saturate, so half the memory.",
    },
    released: None,
};

/// HAVING MAX or MIN.
pub(crate) const EXTREME: Entry = Entry {
    name: "having-extreme",
    parameters: &["columns", "rows", "threshold", "relation", "hash_seed", "linear_hash"],
    carries: Carries::KeyAndValue,
    configure: |given| {
        let (rows, columns) = (given.rows_or(4096), given.columns_or(2));
        let (relation, threshold) = (given.relation.unwrap_or(Relation::Gt), threshold(given));
        let config = extreme::Config::new(relation, threshold, rows, columns)?;
        Ok(Configured::HavingExtreme(config.with_hashing(given.hashing()?)))
    },
    sizes: Sizes::Fixed,
    paper: Paper {
        defaults: "w = 2, d = 4096",
        table_2: None,
        reason: "Not in table 2: a filter on the value in front of a DISTINCT on the key.",
    },
    released: None,
};

fn threshold(given: &Parameters) -> u32 {
    given.threshold.unwrap_or(1_000_000)
}
