//! The catalog entries of HAVING.

use super::question::{AnyValue, SumAbove, SumBelow};
use super::{below, extreme, plan, sum};
use crate::Pruner;
use crate::algorithm::Pruning;
use crate::algorithm::catalog::{
    Configured, Entry, Guarantee, PacketContents, Paper, ParameterSpec, Parameters, QuerySize,
    Sizes, Table2,
};
use crate::deployment::Goal;
use crate::experiment::trial::Question;
use crate::switch::{Program, Relation};
use crate::theory::{Footprint, PruningEstimate, RowStatistics, count_min};

/// HAVING SUM or COUNT, by Count-Min.
pub(crate) const SUM: Entry = Entry {
    name: "having",
    query: "having",
    sql: "HAVING",
    guarantee: Guarantee::Deterministic,
    parameters: &[
        ParameterSpec::cells("columns", "counters in a row of the sketch", 2, "1024"),
        ParameterSpec::numbers("rows", "rows of the sketch", 1, 16, "3"),
        ParameterSpec::threshold("what a group's sum must exceed", 0, u32::MAX - 1, "1000000"),
        ParameterSpec::key_bits("32"),
        ParameterSpec::HASH_SEED,
        ParameterSpec::LINEAR_HASH,
    ],
    carries: PacketContents::KeyAndAmount,
    configure: |given| {
        let (rows, counters) = (given.rows_or(3), given.columns_or(1024));
        let (threshold, wide) = (threshold(given), given.wide_or(false)?);
        let sum = sum::Aggregate::Sum;
        let config = sum::Config::new(rows, counters, threshold, sum, wide)?;
        Ok(Configured::Having(config.with_hashing(given.hashing()?)))
    },
    goal,
    sizes: Sizes::Fixed,
    paper: Paper {
        defaults: "w = 1024, d = 3",
        table_2: Some(Table2 {
            formulas: ["⌈d/A⌉", "d", "d·w×64b", "0"],
            at: |limits| plan::Size { counters: 1024, rows: 3, counter_bits: 64 }.demand(limits),
        }),
        reason: "One stage mixes the hash and one drops. Counters have 32 bits and saturate, so half the memory.",
    },
    released: None,
};

/// HAVING SUM below a threshold, by a cell for each group.
pub(crate) const BELOW: Entry = Entry {
    name: "having-below",
    query: "having",
    sql: "HAVING",
    guarantee: Guarantee::Deterministic,
    parameters: &[
        ParameterSpec::columns("tables", 1, 16, "4"),
        ParameterSpec::rows("cells of a table", 2, "4096"),
        ParameterSpec::threshold("what a group's sum must stay below", 1, u32::MAX, "1000000"),
        ParameterSpec::HASH_SEED,
        ParameterSpec::LINEAR_HASH,
    ],
    carries: PacketContents::KeyAndAmount,
    configure: |given| {
        let (cells, tables) = (given.rows_or(4096), given.columns_or(4));
        let config = below::Config::new(cells, tables, threshold(given))?;
        Ok(Configured::HavingBelow(config.with_hashing(given.hashing()?)))
    },
    goal,
    sizes: Sizes::Columns(4),
    paper: Paper {
        defaults: "w = 4, d = 4096",
        table_2: None,
        reason: "Not in table 2: the paper defers this direction (§4.3). Keys and sums of a table are a stage each, the next table begins one later, one stage mixes the hash and one drops: w + 3.",
    },
    released: None,
};

/// HAVING MAX or MIN, by a comparison and DISTINCT.
pub(crate) const EXTREME: Entry = Entry {
    name: "having-extreme",
    query: "having",
    sql: "HAVING",
    guarantee: Guarantee::Deterministic,
    parameters: &[
        ParameterSpec::columns("keys in a row", 1, 64, "2"),
        ParameterSpec::matrix("4096"),
        ParameterSpec::threshold(
            "what a group's greatest or least value is compared with",
            0,
            u32::MAX,
            "1000000",
        ),
        ParameterSpec::relation(&["lt", "le", "gt", "ge"], "gt"),
        ParameterSpec::HASH_SEED,
        ParameterSpec::LINEAR_HASH,
    ],
    carries: PacketContents::KeyAndValue,
    configure: |given| {
        let (rows, columns) = (given.rows_or(4096), given.columns_or(2));
        let (relation, threshold) = (given.relation.unwrap_or(Relation::Gt), threshold(given));
        let config = extreme::Config::new(relation, threshold, rows, columns)?;
        Ok(Configured::HavingExtreme(config.with_hashing(given.hashing()?)))
    },
    goal,
    sizes: Sizes::Fixed,
    paper: Paper {
        defaults: "w = 2, d = 4096",
        table_2: None,
        reason: "Not in table 2: a filter on the value in front of a DISTINCT on the key.",
    },
    released: None,
};

fn goal(wanted: &QuerySize) -> Box<dyn Goal> {
    Box::new(plan::Goal { keys: wanted.keys, counter_bits: wanted.value_bits })
}

fn threshold(given: &Parameters) -> u32 {
    given.threshold.unwrap_or(1_000_000)
}

impl Pruning for sum::Config {
    fn entry(&self) -> &'static Entry {
        &SUM
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(SumAbove(self.threshold().into()))
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        let (keys, found) = (rows.keys(), rows.assume("are of groups that qualify"));
        let (counters, lines) = (u64::from(self.counters()), u64::from(self.rows()));
        let wrong = count_min::collision(keys.round() as u64, counters, lines);
        let unpruned = found + (1.0 - found) * wrong;
        PruningEstimate { unpruned, reduced: rows.of_each(keys), reduces: true }
    }

    fn rereads(&self) -> bool {
        true
    }
}

impl Pruning for below::Config {
    fn entry(&self) -> &'static Entry {
        &BELOW
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(SumBelow(self.threshold().into()))
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        let keys = rows.keys();
        let unpruned = rows.assume("come before their group reaches the threshold");
        PruningEstimate { unpruned, reduced: rows.of_each(keys), reduces: true }
    }
}

impl Pruning for extreme::Config {
    fn entry(&self) -> &'static Entry {
        &EXTREME
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(AnyValue(self.relation(), self.threshold()))
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        let (keys, unpruned) = (rows.keys(), rows.assume("are of groups that qualify"));
        PruningEstimate { unpruned, reduced: rows.of_each(keys), reduces: true }
    }

    fn rereads(&self) -> bool {
        true
    }
}
