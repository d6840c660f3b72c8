//! What the catalog knows of the filter.

use super::{Config, Formula};
use crate::algorithm::catalog::{Carries, Entry, Paper, Parameters, Question, Released, Sizes};
use crate::algorithm::released;
use crate::switch::Relation;

/// WHERE: a comparison.
pub(crate) const FILTER: Entry = Entry {
    name: "filter",
    parameters: &["threshold", "relation"],
    carries: Carries::Value,
    configure: |given| {
        let (relation, constant) = compared(given);
        Ok(Config::new(&Formula::compare(0, relation, constant), 1, None)?.into())
    },
    question: |given| {
        let (relation, constant) = compared(given);
        Question::Filter(relation, constant)
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

/// What the values are compared with: less than 10 by default.
fn compared(given: &Parameters) -> (Relation, u32) {
    (given.relation.unwrap_or(Relation::Lt), given.threshold.unwrap_or(10))
}
