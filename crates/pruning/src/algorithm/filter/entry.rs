//! The catalog entry of the filter.

use super::question::FilteredRows;
use super::{Config, Formula, plan};
use crate::Pruner;
use crate::algorithm::catalog::{
    Configured, Entry, Guarantee, PacketContents, Paper, ParameterSpec, Released, Sizes,
};
use crate::algorithm::{Pruning, published};
use crate::experiment::trial::Question;
use crate::switch::{Program, Relation};
use crate::theory::{PruningEstimate, RowStatistics};

/// WHERE with a single comparison.
pub(crate) const FILTER: Entry = Entry {
    name: "filter",
    query: "filter",
    sql: "WHERE",
    guarantee: Guarantee::Deterministic,
    parameters: &[
        ParameterSpec::threshold("what values are compared with", 0, u32::MAX, "10"),
        ParameterSpec::relation(&["eq", "ne", "lt", "le", "gt", "ge"], "lt"),
    ],
    carries: PacketContents::Comparands,
    configure: |given| {
        let relation = given.relation.unwrap_or(Relation::Lt);
        let constant = given.threshold.unwrap_or(10);
        let formula = Formula::compare(0, relation, constant);
        Ok(Configured::Filter(Config::new(&formula, 1, None)?))
    },
    goal: |wanted| Box::new(plan::Goal { predicates: wanted.predicates }),
    sizes: Sizes::Fixed,
    paper: Paper {
        defaults: "one comparison",
        table_2: None,
        reason: "Not in table 2; the text counts 1 ALU and 32 bits. The truth table that also drops is a second stage.",
    },
    released: Some(Released {
        parameters: &["threshold"],
        program: |given| Ok(published::filter(given.threshold.unwrap_or(10))),
    }),
};

impl Pruning for Config {
    fn entry(&self) -> &'static Entry {
        &FILTER
    }

    fn program(&self) -> Program {
        self.program()
    }

    fn pruner(&self) -> Box<dyn Pruner> {
        Box::new(self.pruner())
    }

    fn question(&self) -> Box<dyn Question> {
        Box::new(FilteredRows(self.clone()))
    }

    fn expected(&self, rows: &mut dyn RowStatistics) -> PruningEstimate {
        let passing = rows.passing();
        PruningEstimate { unpruned: passing, reduced: rows.rows() * passing, reduces: true }
    }
}
