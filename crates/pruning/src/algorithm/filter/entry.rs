//! What the catalog knows of the filter.

use super::{Config, Formula};
use crate::algorithm::catalog::{Carries, Configured, Entry, Paper, Released, Sizes};
use crate::algorithm::released;
use crate::switch::Relation;

/// WHERE: a comparison.
pub(crate) const FILTER: Entry = Entry {
    name: "filter",
    parameters: &["threshold", "relation"],
    carries: Carries::Value,
    configure: |given| {
        let relation = given.relation.unwrap_or(Relation::Lt);
        let constant = given.threshold.unwrap_or(10);
        let formula = Formula::compare(0, relation, constant);
        Ok(Configured::Filter(Config::new(&formula, 1, None)?))
    },
    sizes: Sizes::Fixed,
    paper: Paper {
        defaults: "one comparison",
        table_2: None,
        reason: "Not in table 2; the text counts 1 ALU and 32 bits. The truth table that also drops is a second stage.",
    },
    released: Some(Released {
        parameters: &["threshold"],
        program: |given| Ok(released::filter(given.threshold.unwrap_or(10))),
    }),
};
