//! The catalog entry of GROUP BY with MAX or MIN.

use super::question::Best;
use super::{Config, plan};
use crate::Pruner;
use crate::algorithm::catalog::{
    Configured, Entry, Guarantee, PacketContents, Paper, ParameterSpec, Released, Sizes, Table2,
};
use crate::algorithm::{Pruning, published};
use crate::experiment::trial::Question;
use crate::switch::Program;
use crate::theory::{Footprint, PruningEstimate, RowStatistics, group_by};

/// GROUP BY with MAX or MIN.
pub(crate) const GROUP_BY: Entry = Entry {
    name: "group-by",
    query: "group-by",
    sql: "GROUP BY",
    guarantee: Guarantee::Deterministic,
    parameters: &[
        ParameterSpec::columns("tables", 1, 16, "8"),
        ParameterSpec::rows("cells of a table", 2, "4096"),
        ParameterSpec::key_bits("32"),
        ParameterSpec::EXTREME,
        ParameterSpec::TIES,
        ParameterSpec::HASH_SEED,
        ParameterSpec::LINEAR_HASH,
    ],
    carries: PacketContents::KeyAndValue,
    configure: |given| {
        let (cells, tables) = (given.rows_or(4096), given.columns_or(8));
        let wide = given.wide_or(false)?;
        let config = Config::new(cells, tables, given.extreme(), given.ties(), wide)?;
        Ok(Configured::GroupBy(config.with_hashing(given.hashing()?)))
    },
    goal: |wanted| {
        Box::new(plan::Goal {
            entries: wanted.entries,
            keys: wanted.keys,
            pair_bits: wanted.key_bits.saturating_add(wanted.value_bits),
        })
    },
    sizes: Sizes::Columns(8),
    paper: Paper {
        defaults: "w = 8, d = 4096",
        table_2: Some(Table2 {
            formulas: ["w", "w", "d·w×64b", "0"],
            at: |limits| plan::Size { rows: 4096, tables: 8, pair_bits: 64 }.demand(limits),
        }),
        reason: "Key and value, 32 bits each, share a pair of registers: w stages, one before them mixes the hash, and one drops.",
    },
    released: Some(Released {
        parameters: &["rows"],
        program: |given| Ok(published::group_by(given.row_bits_or(17)?)),
    }),
};

impl Pruning for Config {
    fn entry(&self) -> &'static Entry {
        &GROUP_BY
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(Best(self.extreme()))
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        let keys = rows.keys();
        let cells = (u64::from(self.cells()), u64::from(self.tables()));
        let whole = |number: f64| number.round() as u64;
        let pruned = group_by::pruned_bound(whole(rows.rows()), whole(keys), cells.0, cells.1);
        PruningEstimate { unpruned: 1.0 - pruned, reduced: rows.of_each(keys), reduces: true }
    }
}
