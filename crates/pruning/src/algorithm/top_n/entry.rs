//! The catalog entries of TOP N.

use super::question::Greatest;
use super::{deterministic, plan, randomized};
use crate::Pruner;
use crate::algorithm::catalog::{
    Configured, Entry, Guarantee, PacketContents, Paper, ParameterSpec, QuerySize, Released, Sizes,
    Table2,
};
use crate::algorithm::config::in_range;
use crate::algorithm::{Pruning, published};
use crate::deployment::Goal;
use crate::experiment::trial::Question;
use crate::switch::Program;
use crate::theory::{Footprint, PruningEstimate, RowStatistics, top_n};

/// TOP N by cutoffs that double.
pub(crate) const DETERMINISTIC: Entry = Entry {
    name: "top-n-deterministic",
    query: "top-n",
    sql: "ORDER BY LIMIT",
    guarantee: Guarantee::Deterministic,
    parameters: &[
        N,
        ParameterSpec::columns("cutoffs, each the double of the one before", 0, 31, "4"),
    ],
    carries: PacketContents::Value,
    configure: |given| {
        let config = deterministic::Config::new(given.n(), given.columns_or(4))?;
        Ok(Configured::TopNDeterministic(config))
    },
    goal,
    sizes: Sizes::Columns(4),
    paper: Paper {
        defaults: "N = 250, w = 4",
        table_2: Some(Table2 {
            formulas: ["w + 1", "w + 1", "(w + 1)×64b", "0"],
            at: |limits| plan::Cutoffs { thresholds: 4, value_bits: 64 }.demand(limits),
        }),
        reason: "Counting the first N, doubling, comparing and dropping are stages too, as in the released program (6 stages for one cutoff): w + 5 stages, w + 2 ALUs.",
    },
    released: Some(Released {
        parameters: &["n"],
        program: |given| Ok(published::top_n(given.n())),
    }),
};

/// TOP N by the greatest values of random rows.
pub(crate) const RANDOMIZED: Entry = Entry {
    name: "top-n-randomized",
    query: "top-n",
    sql: "ORDER BY LIMIT",
    guarantee: Guarantee::Probabilistic,
    parameters: &[
        N,
        ParameterSpec::columns("values in a row", 1, 64, "4"),
        ParameterSpec::matrix("4096"),
        ParameterSpec::TIES,
        ParameterSpec::HASH_SEED,
        ParameterSpec::LINEAR_HASH,
    ],
    carries: PacketContents::Value,
    configure: |given| {
        let (rows, columns) = (given.rows_or(4096), given.columns_or(4));
        let n = in_range("n", given.n(), 1, u32::MAX - 1)?;
        let config = randomized::Config::new(rows, columns, given.ties(), 0)?;
        let config = config.with_hashing(given.hashing()?);
        Ok(Configured::TopNRandomized(config.returning(n)))
    },
    goal,
    sizes: Sizes::Columns(4),
    paper: Paper {
        defaults: "N = 250, w = 4, d = 4096",
        table_2: Some(Table2 {
            formulas: ["w", "w", "d·w×64b", "0"],
            at: |limits| plan::Matrix { rows: 4096, columns: 4, value_bits: 64 }.demand(limits),
        }),
        reason: "One stage mixes the hash and one drops: w + 2. Values have 32 bits, so half the memory.",
    },
    released: None,
};

fn goal(wanted: &QuerySize) -> Box<dyn Goal> {
    let QuerySize { n, entries, value_bits, delta, .. } = *wanted;
    if delta == 0.0 {
        return Box::new(plan::Certain { n, value_bits });
    }
    Box::new(plan::Probable { n, entries, value_bits, delta })
}

const N: ParameterSpec =
    ParameterSpec::numbers("n", "rows that the query returns, N", 1, u32::MAX - 1, "250");

impl Pruning for deterministic::Config {
    fn entry(&self) -> &'static Entry {
        &DETERMINISTIC
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(Greatest(self.n()))
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        let reduced = rows.of_each(self.n().into());
        let unpruned = rows.assume("are above the cutoffs of the switch").max(rows.part(reduced));
        PruningEstimate { unpruned, reduced, reduces: true }
    }
}

impl Pruning for randomized::Config {
    fn entry(&self) -> &'static Entry {
        &RANDOMIZED
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(Greatest(self.n()))
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        let shape = top_n::Shape { rows: self.rows().into(), columns: self.columns().into() };
        let unpruned = 1.0 - top_n::expected_pruned(rows.rows().round() as u64, shape);
        PruningEstimate { unpruned, reduced: rows.of_each(self.n().into()), reduces: true }
    }
}
