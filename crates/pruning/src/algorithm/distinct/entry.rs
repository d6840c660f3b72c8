//! The catalog entries of DISTINCT.

use super::plan::{self, Size};
use super::question::Keys;
use super::{Config, Policy, Width};
use crate::algorithm::catalog::{
    Configured, Entry, Guarantee, PacketContents, Paper, ParameterSpec, Parameters, QuerySize,
    Released, Sizes, Table2,
};
use crate::algorithm::{Pruning, published};
use crate::deployment::Goal;
use crate::experiment::trial::Question;
use crate::switch::Program;
use crate::theory::{Footprint, PruningEstimate, RowStatistics, distinct};
use crate::{ConfigError, Pruner};

/// DISTINCT; the least recently seen key is evicted.
pub(crate) const LRU: Entry = Entry {
    name: "distinct",
    query: "distinct",
    sql: "DISTINCT",
    guarantee: Guarantee::Fingerprints,
    parameters: &[
        ParameterSpec::columns("keys in a row", 1, 64, "2"),
        ROWS,
        ParameterSpec::key_bits("64"),
        ParameterSpec::ROW_VALUE,
        ParameterSpec::HASH_SEED,
        ParameterSpec::LINEAR_HASH,
    ],
    carries: PacketContents::Key,
    configure: |given| configure(given, Policy::Lru, given.wide_or(true)?),
    goal,
    sizes: Sizes::Columns(2),
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: ["w", "w", "d·w×64b", "0"],
            at: |limits| Size { lru: true, ..PAPER }.demand(limits),
        }),
        reason: "A gateway compares 44 bits, so a key of 64 is two halves: 2 ALUs and a stage to compare for each column, and one each to mix the hash and to drop: 2w + 2 in all. Keys of 32 bits take w + 2.",
    },
    released: Some(Released {
        parameters: &["rows"],
        program: |given| {
            Ok(published::distinct(given.row_bits_or(16)?, published::Repairs::default()))
        },
    }),
};

/// DISTINCT; the oldest key is evicted.
pub(crate) const FIFO: Entry = Entry {
    name: "distinct-fifo",
    query: "distinct",
    sql: "DISTINCT",
    guarantee: Guarantee::Fingerprints,
    parameters: &[
        ParameterSpec::columns("keys in a row, which share a register", 2, 2, "2"),
        ROWS,
        ParameterSpec::ROW_VALUE,
        ParameterSpec::HASH_SEED,
        ParameterSpec::LINEAR_HASH,
    ],
    carries: PacketContents::Key,
    configure: |given| configure(given, Policy::Fifo, false),
    goal,
    sizes: Sizes::Fixed,
    paper: Paper {
        defaults: DEFAULTS,
        table_2: Some(Table2 {
            formulas: ["⌈w/A⌉", "w", "d·w×64b", "0"],
            at: |limits| Size { lru: false, ..PAPER }.demand(limits),
        }),
        reason: "Two columns are one pair of registers, so one ALU sees both; keys have 32 bits, so half the memory. One stage mixes the hash and one drops.",
    },
    released: None,
};

const ROWS: ParameterSpec = ParameterSpec::matrix("4096");

const DEFAULTS: &str = "w = 2, d = 4096";
const PAPER: Size = Size { rows: 4096, columns: 2, cell_bits: 64, lru: true };

fn goal(wanted: &QuerySize) -> Box<dyn Goal> {
    let QuerySize { keys, key_bits, delta, .. } = *wanted;
    Box::new(plan::Goal { distinct: keys, key_bits, delta })
}

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

impl Pruning for Config {
    fn entry(&self) -> &'static Entry {
        match self.policy() {
            Policy::Lru => &LRU,
            Policy::Fifo => &FIFO,
        }
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(Keys)
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        let keys = rows.keys();
        let cells = (u64::from(self.rows()), u64::from(self.columns()));
        let hits = distinct::expected_hit_ratio(keys.round() as u64, cells.0, cells.1);
        let forwarded = keys + (rows.rows() - keys) * (1.0 - hits);
        PruningEstimate {
            unpruned: rows.part(forwarded),
            reduced: rows.of_each(keys),
            reduces: true,
        }
    }
}
