//! The query behind GROUP BY with MAX or MIN.

use std::collections::HashMap;

use super::Extreme;
use crate::experiment::opt;
use crate::experiment::question::counted;
use crate::experiment::trial::{Answer, Question, Rows};
use crate::protocol::Query;

/// The best value of each key.
#[derive(Debug)]
pub(super) struct Best(pub(super) Extreme);

impl Question for Best {
    fn optimum(&self, rows: &Rows<'_>) -> usize {
        opt::group_by_max(rows.kept().map(|row| (row.key(), self.0.rank(row.value()))))
    }

    fn answer(&self, rows: &Rows<'_>) -> Answer {
        let mut best: HashMap<u64, u32> = HashMap::new();
        for row in rows.kept() {
            let rank = best.entry(row.key()).or_default();
            *rank = self.0.rank(row.value()).max(*rank);
        }
        counted(best.into_iter().map(|(key, rank)| vec![key, self.0.rank(rank).into()]))
    }

    fn in_protocol(&self) -> Option<Query> {
        (self.0 == Extreme::Max).then_some(Query::GroupByMax)
    }
}
