//! The real algorithms in the protocol: an adapter from entries to a fast path's columns.

use super::packet::Entry;
use super::prune::Pruner;
use super::query::Query;
use crate::algorithm::join;
use crate::rng::mix64;
use crate::{Entries, Selection};

/// A fast path of this crate as the simulation's pruner.
///
/// It must be one for the query, over these 32-bit values: the value for [`Query::Filter`] and
/// [`Query::TopN`], the key for [`Query::Distinct`] and [`Query::Join`] (in two passes), key and
/// value for the others. What does not fit 32 bits is forwarded unprocessed where that is sound;
/// keys of JOIN and HAVING are replaced by fingerprints, which can only prune less.
#[derive(Debug)]
pub struct FastPath<P> {
    query: Query,
    pruner: P,
    selection: Selection,
    entries: u32,
}

impl<P: crate::Pruner> FastPath<P> {
    /// Puts `pruner` behind `query`.
    pub fn new(query: Query, pruner: P) -> Self {
        Self { query, pruner, selection: Selection::new(), entries: 0 }
    }

    /// The flow identifier and the values that the fast path expects, if the entry has any.
    fn values(&self, entry: &Entry) -> Option<(u16, [u32; 2], usize)> {
        let narrow = |value: u64| u32::try_from(value).ok();
        let fingerprint = narrow(entry.key).unwrap_or_else(|| mix64(entry.key) as u32);
        match self.query {
            Query::Filter { .. } | Query::TopN { .. } => Some((0, [narrow(entry.value)?, 0], 1)),
            Query::Distinct => Some((0, [narrow(entry.key)?, 0], 1)),
            Query::GroupByMax | Query::Skyline => {
                Some((0, [narrow(entry.key)?, narrow(entry.value)?], 2))
            }
            Query::Join => {
                let flow = match (entry.pass, entry.table & 1) {
                    (0, 0) => join::BUILD_A,
                    (0, _) => join::BUILD_B,
                    (_, 0) => join::PROBE_A,
                    (_, _) => join::PROBE_B,
                };
                Some((flow, [fingerprint, 0], 1))
            }
            Query::HavingSum { .. } => {
                let value = narrow(entry.value).unwrap_or(u32::MAX);
                (entry.pass == 0).then_some((0, [fingerprint, value], 2))
            }
        }
    }
}

impl<P: crate::Pruner> Pruner for FastPath<P> {
    fn prune(&mut self, entry: &Entry) -> bool {
        let Some((flow, values, width)) = self.values(entry) else { return false };
        let columns: [&[u32]; 2] = [&values[..1], &values[1..]];
        self.entries = self.entries.wrapping_add(1);
        let Ok(batch) = Entries::new(flow, self.entries, &columns[..width]) else { return false };
        // A pruner for other values than the query's prunes nothing.
        self.pruner.prune(&batch, &mut self.selection).is_ok() && !self.selection.get(0)
    }

    fn reset(&mut self) {
        self.pruner.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ties;
    use crate::algorithm::join::{Kind, Passes, Shape};
    use crate::algorithm::{distinct, filter, group_by, having, skyline, top_n};
    use crate::protocol::{Config, OnReboot, Outcome, Reboots, Rules, simulate_with};
    use crate::rng::Rng;
    use crate::switch::Relation;

    /// Runs `query` through the repaired protocol with faults; returns how many entries were pruned.
    fn check<P: crate::Pruner>(query: Query, pruner: impl Fn() -> P) {
        let mut pruned = 0;
        for seed in 0..120 {
            let mut rng = Rng::new(seed);
            let mut config = Config::new(query, Rules::repaired());
            config.reboots = Reboots::Random { count: (seed % 3) as u32, until: 600 };
            let rows = (0..3).map(|_| query.rows(30, &mut rng)).collect();
            let fast_path = FastPath::new(query, pruner());
            let report = simulate_with(&config, rows, fast_path, seed).unwrap();
            assert_eq!(report.outcome, Outcome::Correct, "{query:?}, seed {seed}:\n{report}");
            pruned += report.pruned;
        }
        assert!(pruned > 120, "{query:?} prunes {pruned}");
    }

    #[test]
    fn every_algorithm_survives_the_protocol() {
        let formula = filter::Formula::compare(0, Relation::Ge, 60);
        let config = filter::Config::new(&formula, 1, None).unwrap();
        check(Query::Filter { at_least: 60 }, || config.pruner());

        let (width, policy) = (distinct::Width::Bits32, distinct::Policy::Lru);
        let config = distinct::Config::new(2, 2, width, policy).unwrap();
        check(Query::Distinct, || config.pruner());

        let config = top_n::deterministic::Config::new(5, 4).unwrap();
        check(Query::TopN { n: 5 }, || config.pruner());

        let extreme = group_by::Extreme::Max;
        let config = group_by::Config::new(4, 2, extreme, Ties::Keep, false).unwrap();
        check(Query::GroupByMax, || config.pruner());

        let config = skyline::Config::new(2, 3, skyline::Score::Sum, Ties::Keep).unwrap();
        check(Query::Skyline, || config.pruner());

        let shape = Shape::new(Kind::Inner, Passes::Two, false);
        let config = join::bloom::Config::new(shape, 64, 2).unwrap();
        check(Query::Join, || config.pruner());

        let sum = having::sum::Aggregate::Sum;
        let config = having::sum::Config::new(2, 8, 500, sum, false).unwrap();
        check(Query::HavingSum { above: 500 }, || config.pruner());
    }

    #[test]
    fn an_empty_bloom_filter_prunes_matches_after_a_reboot() {
        let shape = Shape::new(Kind::Inner, Passes::Two, false);
        let config = join::bloom::Config::new(shape, 64, 2).unwrap();
        let mut wrong = 0;
        for seed in 0..100 {
            let mut protocol = Config::new(Query::Join, Rules::repaired());
            protocol.rules.on_reboot = Some(OnReboot::Continue);
            let mut rng = Rng::new(seed);
            let rows = (0..3).map(|_| Query::Join.rows(30, &mut rng)).collect();
            let fast_path = FastPath::new(Query::Join, config.pruner());
            let report = simulate_with(&protocol, rows, fast_path, seed).unwrap();
            wrong += u32::from(report.outcome == Outcome::Wrong);
        }
        assert!(wrong > 0);
    }
}
