//! What the catalog knows of DISTINCT.

use super::{Config, Policy, Width};
use crate::ConfigError;
use crate::algorithm::catalog::{
    Carries, Configured, Entry, Paper, Parameters, Released, Sizes, Table2,
};
use crate::algorithm::released;
use crate::theory::Configuration;

/// DISTINCT; the least recently seen key is evicted.
pub(crate) const LRU: Entry = Entry {
    name: "distinct",
    parameters: &["columns", "rows", "key_bits", "row_value", "hash_seed", "linear_hash"],
    carries: Carries::Key,
    configure: |given| configure(given, Policy::Lru, given.wide_or(true)?),
    sizes: Sizes::Columns(2),
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: ["w", "w", "d·w×64b", "0"],
            at: Configuration::Distinct { rows: 4096, columns: 2, cell_bits: 64, lru: true },
        }),
        reason: "A gateway compares 44 bits, so a key of 64 is two halves: 2 ALUs and a stage to compare for each column, and one each to mix the hash and to drop: 2w + 2 in all. Keys of 32 bits take w + 2.",
    },
    released: Some(Released {
        parameters: &["rows"],
        program: |given| {
            Ok(released::distinct(given.row_bits_or(16)?, released::Repairs::default()))
        },
    }),
};

/// DISTINCT; the oldest key is evicted.
pub(crate) const FIFO: Entry = Entry {
    name: "distinct-fifo",
    parameters: &["columns", "rows", "row_value", "hash_seed", "linear_hash"],
    carries: Carries::Key,
    configure: |given| configure(given, Policy::Fifo, false),
    sizes: Sizes::Fixed,
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: ["⌈w/A⌉", "w", "d·w×64b", "0"],
            at: Configuration::Distinct { rows: 4096, columns: 2, cell_bits: 64, lru: false },
        }),
        reason: "Two columns are one pair of registers, so one ALU sees both; keys have 32 bits, so half the memory. One stage mixes the hash and one drops.",
    },
    released: None,
};

const DEFAULTS: &str = "w = 2, d = 4096";

fn configure(given: &Parameters, policy: Policy, wide: bool) -> Result<Configured, ConfigError> {
    let width = if wide { Width::Bits64 } else { Width::Bits32 };
    let config = Config::new(given.rows_or(4096), given.columns_or(2), width, policy)?;
    if policy == Policy::Fifo && config.columns() != 2 {
        return Err(ConfigError::Conflict(
            "a packet touches a register once, so only two columns, which share one, are first in, first out; take `distinct` for more",
        ));
    }
    let by_row_value = given.row_value == Some(true);
    if by_row_value && given.hash_seed.is_some() {
        return Err(ConfigError::Conflict(
            "a row value is a hash already, and the worker's: there is no seed to set",
        ));
    }
    Ok(Configured::Distinct(if by_row_value {
        config.with_row_value()
    } else {
        config.with_hashing(given.hashing()?)
    }))
}
