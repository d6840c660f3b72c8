//! What the catalog knows of GROUP BY.

use super::Config;
use crate::algorithm::catalog::{Carries, Configured, Entry, Paper, Released, Sizes, Table2};
use crate::algorithm::released;
use crate::theory::Configuration;

/// GROUP BY with MAX or MIN.
pub(crate) const GROUP_BY: Entry = Entry {
    name: "group-by",
    parameters: &["columns", "rows", "key_bits", "extreme", "ties", "hash_seed", "linear_hash"],
    carries: Carries::KeyAndValue,
    configure: |given| {
        let (cells, tables) = (given.rows_or(4096), given.columns_or(8));
        let wide = given.wide_or(false)?;
        let config = Config::new(cells, tables, given.extreme(), given.ties(), wide)?;
        Ok(Configured::GroupBy(config.with_hashing(given.hashing()?)))
    },
    sizes: Sizes::Columns(8),
    paper: Paper {
        defaults: "w = 8, d = 4096",
        table_2: Some(Table2 {
            formulas: ["w", "w", "d·w×64b", "0"],
            at: Configuration::GroupBy { rows: 4096, tables: 8, pair_bits: 64 },
        }),
        reason: "Key and value, 32 bits each, share a pair of registers: w stages, one before them mixes the hash, and one drops.",
    },
    released: Some(Released {
        parameters: &["rows"],
        program: |given| Ok(released::group_by(given.row_bits_or(17)?)),
    }),
};
