//! The query behind GROUP BY with SUM or COUNT.

use std::collections::BTreeMap;

use crate::experiment::opt;
use crate::experiment::question::counted;
use crate::experiment::trial::{Answer, Question, Rows};
use crate::protocol::Query;

/// The sum of each key.
#[derive(Debug)]
pub(super) struct Sums {
    /// The number of cells of the switch, in all tables.
    pub(super) cells: u64,
}

impl Question for Sums {
    /// A switch without limits forwards no entry, and returns each group at the end.
    fn optimum(&self, rows: &Rows<'_>) -> usize {
        opt::distinct(rows.kept().map(|row| row.key()))
    }

    /// The first value is summed; the packets of trials have no other.
    fn answer(&self, rows: &Rows<'_>) -> Answer {
        let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
        let forwarded = rows.kept().map(|row| (row.key(), u64::from(row.value())));
        let held = rows.held().iter().flat_map(|held| held.sums.first().map(|s| (held.key, *s)));
        for (key, value) in forwarded.chain(held) {
            let sum = sums.entry(key).or_default();
            *sum = sum.wrapping_add(value);
        }
        counted(sums.into_iter().map(|(key, sum)| vec![key, sum]))
    }

    fn in_protocol(&self) -> Option<Query> {
        Some(Query::GroupSum { cells: self.cells })
    }
}
