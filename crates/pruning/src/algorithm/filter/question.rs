//! The query behind WHERE.

use super::Config;
use crate::experiment::question::counted;
use crate::experiment::trial::{Answer, Question, Rows};
use crate::protocol::Query;

/// The rows that the truth table keeps.
#[derive(Debug)]
pub(super) struct FilteredRows(pub(super) Config);

impl Question for FilteredRows {
    fn optimum(&self, rows: &Rows<'_>) -> usize {
        rows.kept().filter(|row| self.0.keeps(&row.words().collect::<Vec<_>>())).count()
    }

    fn answer(&self, rows: &Rows<'_>) -> Answer {
        let words = rows.kept().map(|row| row.words().collect::<Vec<_>>());
        let kept = words.filter(|words| self.0.keeps(words));
        counted(kept.map(|words| words.into_iter().map(u64::from).collect()))
    }

    fn in_protocol(&self) -> Option<Query> {
        self.0.at_least().map(|bound| Query::Filter { at_least: bound.into() })
    }
}
