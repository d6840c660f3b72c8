//! The query behind DISTINCT.

use std::collections::BTreeSet;

use crate::experiment::opt;
use crate::experiment::question::counted;
use crate::experiment::trial::{Answer, Question, Rows};
use crate::protocol::Query;

/// The set of distinct keys.
#[derive(Debug)]
pub(super) struct Keys;

impl Question for Keys {
    fn optimum(&self, rows: &Rows<'_>) -> usize {
        opt::distinct(rows.kept().map(|row| row.key()))
    }

    fn answer(&self, rows: &Rows<'_>) -> Answer {
        let keys: BTreeSet<u64> = rows.kept().map(|row| row.key()).collect();
        counted(keys.into_iter().map(|key| vec![key]))
    }

    fn in_protocol(&self) -> Option<Query> {
        Some(Query::Distinct)
    }
}
