//! The catalog entry of GROUP BY with SUM or COUNT.

use super::question::Sums;
use super::{Config, GroupSums, plan};
use crate::Pruner;
use crate::algorithm::Pruning;
use crate::algorithm::catalog::{
    Configured, Entry, Guarantee, PacketContents, Paper, ParameterSpec, Sizes,
};
use crate::experiment::trial::Question;
use crate::switch::Program;
use crate::theory::{PruningEstimate, RowStatistics};

/// GROUP BY with SUM or COUNT.
pub(crate) const GROUP_SUM: Entry = Entry {
    name: "group-sum",
    query: "group-sum",
    sql: "GROUP BY SUM",
    guarantee: Guarantee::Deterministic,
    parameters: &[
        ParameterSpec::columns("tables", 1, 16, "4"),
        ParameterSpec::rows("cells of a table", 2, "4096"),
        ParameterSpec::HASH_SEED,
        ParameterSpec::LINEAR_HASH,
    ],
    carries: PacketContents::KeyAndAmount,
    configure: |given| {
        let config = Config::new(given.rows_or(4096), given.columns_or(4))?;
        Ok(Configured::GroupSum(config.with_hashing(given.hashing()?)))
    },
    goal: |wanted| {
        let word_bits = wanted.key_bits.max(wanted.value_bits);
        Box::new(plan::Goal { entries: wanted.entries, keys: wanted.keys, word_bits, sums: 1 })
    },
    sizes: Sizes::Columns(4),
    paper: Paper {
        defaults: "w = 4, d = 4096",
        table_2: None,
        reason: "Not in table 2: the paper stores sums (§6, query B) without saying how they get out. Keys, low and high halves are a stage each, and those of the next table begin one later: w + 2, and one mixes the hash.",
    },
    released: None,
};

impl Pruning for Config {
    fn entry(&self) -> &'static Entry {
        &GROUP_SUM
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(Sums { cells: u64::from(self.cells()) * u64::from(self.tables()) })
    }

    fn cells_held(&self) -> usize {
        self.cells() as usize * self.tables() as usize
    }

    fn group_sums_in(&self, registers: &[Vec<[u32; 2]>]) -> Vec<GroupSums> {
        self.held_in(registers)
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        let keys = rows.keys();
        let (cells, tables) = (u64::from(self.cells()), u64::from(self.tables()));
        let size = plan::Size { rows: cells, tables, word_bits: 32, sums: self.sums().into() };
        let held = size.held(keys.round() as u64);
        let forwarded = (1.0 - held) * rows.rows() + held * keys;
        PruningEstimate {
            unpruned: rows.part(forwarded),
            reduced: rows.of_each(keys),
            reduces: true,
        }
    }
}
