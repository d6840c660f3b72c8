//! The queries behind HAVING.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::experiment::opt;
use crate::experiment::question::counted;
use crate::experiment::trial::{Answer, Question, Rows};
use crate::protocol::Query;
use crate::switch::Relation;

/// The keys whose sum exceeds this.
#[derive(Debug)]
pub(super) struct SumAbove(pub(super) u64);

impl Question for SumAbove {
    fn optimum(&self, rows: &Rows<'_>) -> usize {
        opt::having_sum(rows.kept().map(|row| (row.key(), row.value().into())), self.0)
    }

    /// The second pass sums all entries of the forwarded keys.
    fn answer(&self, rows: &Rows<'_>) -> Answer {
        let keys: HashSet<u64> = rows.kept().map(|row| row.key()).collect();
        let mut sums: HashMap<u64, u64> = HashMap::new();
        for row in rows.sent().filter(|row| keys.contains(&row.key())) {
            let sum = sums.entry(row.key()).or_default();
            *sum = sum.saturating_add(row.value().into());
        }
        let above = sums.into_iter().filter(|(_, sum)| *sum > self.0);
        counted(above.map(|(key, sum)| vec![key, sum]))
    }

    fn in_protocol(&self) -> Option<Query> {
        Some(Query::HavingSum { above: self.0 })
    }
}

/// The keys whose sum is below this.
#[derive(Debug)]
pub(super) struct SumBelow(pub(super) u64);

impl Question for SumBelow {
    fn optimum(&self, rows: &Rows<'_>) -> usize {
        opt::having_below(rows.kept().map(|row| (row.key(), row.value().into())), self.0)
    }

    fn answer(&self, rows: &Rows<'_>) -> Answer {
        let mut sums: HashMap<u64, u64> = HashMap::new();
        for row in rows.kept() {
            let sum = sums.entry(row.key()).or_default();
            *sum = sum.saturating_add(row.value().into());
        }
        let below = sums.into_iter().filter(|(_, sum)| *sum < self.0);
        counted(below.map(|(key, sum)| vec![key, sum]))
    }
}

/// The keys with a value that has this relation to the constant.
#[derive(Debug)]
pub(super) struct AnyValue(pub(super) Relation, pub(super) u32);

impl AnyValue {
    fn keys<'a>(&self, rows: &Rows<'a>) -> impl Iterator<Item = u64> + use<'a> {
        let Self(relation, constant) = *self;
        let found =
            rows.kept().filter(move |row| relation.holds(row.value().into(), constant.into()));
        found.map(|row| row.key())
    }
}

impl Question for AnyValue {
    fn optimum(&self, rows: &Rows<'_>) -> usize {
        opt::distinct(self.keys(rows))
    }

    fn answer(&self, rows: &Rows<'_>) -> Answer {
        let keys: BTreeSet<u64> = self.keys(rows).collect();
        counted(keys.into_iter().map(|key| vec![key]))
    }

    fn in_protocol(&self) -> Option<Query> {
        (self.0 == Relation::Gt).then_some(Query::HavingMax { above: self.1.into() })
    }
}
