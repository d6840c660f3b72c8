//! The queries of the simulation: their answers, their passes, and the effect of lost state.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::packet::Entry;
use super::rules::OnReboot;
use crate::algorithm::catalog::PacketContents;
use crate::algorithm::group_sum;
use crate::rng::Rng;

/// A query over rows of a key and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Query {
    /// `SELECT COUNT(*) WHERE value >= at_least`.
    Filter {
        /// The least value that counts.
        at_least: u64,
    },
    /// `SELECT DISTINCT key`.
    Distinct,
    /// `SELECT value ORDER BY value DESC LIMIT n`.
    TopN {
        /// The number of values to return.
        n: usize,
    },
    /// `SELECT key, MAX(value) GROUP BY key`.
    GroupByMax,
    /// The points (key, value) that no other point exceeds in one dimension without falling behind
    /// in the other, with their multiplicities.
    Skyline,
    /// `SELECT key, SUM(value) GROUP BY key`, summed by a switch with `cells` cells, which are read in a second pass.
    GroupSum {
        /// The number of cells of the switch.
        cells: u64,
    },
    /// `SELECT key, COUNT(*) FROM table 0 JOIN table 1 USING (key) GROUP BY key`.
    Join,
    /// `SELECT key GROUP BY key HAVING MAX(value) > above`.
    HavingMax {
        /// The threshold of the greatest value.
        above: u64,
    },
    /// `SELECT key, SUM(value) GROUP BY key HAVING SUM(value) > above`.
    HavingSum {
        /// The threshold of the sum.
        above: u64,
    },
}

/// The rows of an answer, sorted.
pub type Answer = Vec<[u64; 3]>;

impl Query {
    /// The queries of the tests, one of each kind.
    pub const ALL: [Self; 9] = [
        Self::Filter { at_least: 60 },
        Self::Distinct,
        Self::TopN { n: 5 },
        Self::GroupByMax,
        Self::GroupSum { cells: 3 },
        Self::Skyline,
        Self::Join,
        Self::HavingMax { above: 60 },
        Self::HavingSum { above: 500 },
    ];

    /// Returns the values that its packets carry.
    pub(super) const fn packet_contents(self) -> PacketContents {
        match self {
            Self::Filter { .. } | Self::TopN { .. } => PacketContents::Value,
            Self::Distinct => PacketContents::Key,
            Self::Join => PacketContents::KeyOfEither,
            Self::Skyline => PacketContents::Coordinates,
            Self::GroupByMax | Self::HavingMax { .. } => PacketContents::KeyAndValue,
            Self::GroupSum { .. } | Self::HavingSum { .. } => PacketContents::KeyAndAmount,
        }
    }

    /// Returns the number of times that the data is streamed.
    #[must_use]
    pub const fn passes(self) -> u8 {
        match self {
            Self::Join | Self::HavingSum { .. } | Self::GroupSum { .. } => 2,
            _ => 1,
        }
    }

    /// Returns the rule for a reboot during `pass`.
    ///
    /// With one pass, a pruned entry has a witness among the entries forwarded before, and empty state has no
    /// witnesses: the query goes on. The filters of a join and the counts of HAVING depend on *all* entries of the
    /// first pass, so that pass is repeated. In the second pass of a join the filters cannot be rebuilt without the
    /// first, so the rest is not pruned. The second pass of HAVING is not pruned at all. Sums that the switch holds
    /// are nowhere else: if they are lost, everything is sent again.
    #[must_use]
    pub const fn on_reboot(self, pass: u8) -> OnReboot {
        match (self, pass) {
            (Self::Join | Self::HavingSum { .. }, 0) | (Self::GroupSum { .. }, _) => {
                OnReboot::Restart
            }
            (Self::Join | Self::HavingSum { .. }, _) => OnReboot::Forward,
            _ => OnReboot::Continue,
        }
    }

    /// Returns true if `pass` may process an entry several times. A filter keeps no state, a Bloom filter takes the
    /// same key again without change, and a lookup or the reading of a cell changes nothing.
    #[must_use]
    pub const fn replayable(self, pass: u8) -> bool {
        matches!(
            (self, pass),
            (Self::Filter { .. } | Self::Join, _)
                | (Self::HavingSum { .. } | Self::GroupSum { .. }, 1)
        )
    }

    /// Returns true if the switch holds dropped entries as sums. Then entries are processed in their order, copies of
    /// processed entries are looked up, and the last pass reads the switch.
    #[must_use]
    pub const fn holds(self) -> bool {
        matches!(self, Self::GroupSum { .. })
    }

    /// Returns the entries that the first worker sends in `pass` to read the cells of the switch, or none if workers
    /// send their rows.
    pub(super) fn reads(self, pass: u8) -> Option<impl Iterator<Item = Entry>> {
        match (self, pass) {
            (Self::GroupSum { cells }, 1) => {
                Some((0..cells).map(|key| Entry { pass: 1, table: 0, key, value: 0 }))
            }
            _ => None,
        }
    }

    /// Returns the key and the sum in a cell of the registers of its program, if it holds sums and the cell is full.
    pub(super) fn group_sums_in(
        self,
        registers: &[Vec<[u32; 2]>],
        cell: u64,
    ) -> Option<(u64, u64)> {
        self.holds().then(|| group_sum::held_in(registers, cell)).flatten()
    }

    /// Returns true if the master requests only the keys that it received in the first pass.
    pub(super) const fn requests_keys(self) -> bool {
        matches!(self, Self::HavingSum { .. })
    }

    /// Returns the answer over `entries`, all of one pass.
    #[must_use]
    pub fn answer(self, entries: &[Entry]) -> Answer {
        match self {
            Self::Filter { at_least } => {
                vec![[entries.iter().filter(|e| e.value >= at_least).count() as u64, 0, 0]]
            }
            Self::Distinct => {
                let keys: BTreeSet<u64> = entries.iter().map(|e| e.key).collect();
                keys.into_iter().map(|key| [key, 0, 0]).collect()
            }
            Self::TopN { n } => {
                let mut values: Vec<u64> = entries.iter().map(|e| e.value).collect();
                values.sort_unstable_by(|a, b| b.cmp(a));
                values.into_iter().take(n).map(|value| [value, 0, 0]).collect()
            }
            Self::GroupByMax => {
                let mut groups = BTreeMap::new();
                for e in entries {
                    let max = groups.entry(e.key).or_insert(e.value);
                    *max = e.value.max(*max);
                }
                groups.into_iter().map(|(key, max)| [key, max, 0]).collect()
            }
            Self::GroupSum { .. } => {
                let mut sums = BTreeMap::new();
                for e in entries {
                    // The switch's cells wrap, too.
                    let sum = sums.entry(e.key).or_insert(0u64);
                    *sum = sum.wrapping_add(e.value);
                }
                sums.into_iter().map(|(key, sum)| [key, sum, 0]).collect()
            }
            Self::Skyline => {
                let mut points = BTreeMap::new();
                entries.iter().for_each(|e| *points.entry((e.key, e.value)).or_insert(0) += 1);
                // In order of descending keys, a point is dominated by the highest before it or by none.
                let mut highest = None;
                let mut left: Answer = Vec::new();
                for ((key, value), copies) in points.into_iter().rev() {
                    if highest.is_none_or(|highest| value > highest) {
                        highest = Some(value);
                        left.push([key, value, copies]);
                    }
                }
                left.reverse();
                left
            }
            Self::Join => {
                let mut rows: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
                for e in entries {
                    rows.entry(e.key).or_default()[usize::from(e.table & 1)] += 1;
                }
                let pairs = rows.into_iter().map(|(key, [a, b])| [key, a * b, 0]);
                pairs.filter(|row| row[1] > 0).collect()
            }
            Self::HavingMax { above } => {
                let above = entries.iter().filter(|e| e.value > above);
                let keys: BTreeSet<u64> = above.map(|e| e.key).collect();
                keys.into_iter().map(|key| [key, 0, 0]).collect()
            }
            Self::HavingSum { above } => {
                let mut sums = BTreeMap::new();
                for e in entries {
                    // The switch's cells wrap, too.
                    let sum = sums.entry(e.key).or_insert(0u64);
                    *sum = sum.wrapping_add(e.value);
                }
                sums.into_iter().filter(|&(_, sum)| sum > above).map(|(k, s)| [k, s, 0]).collect()
            }
        }
    }

    /// Returns random rows: values below 100, a quarter as many keys as rows so that keys repeat, and about as many
    /// rows of each table.
    #[must_use]
    pub fn rows(self, count: usize, rng: &mut Rng) -> Vec<Entry> {
        let keys = (count as u64 / 4).clamp(2, 1 << 20);
        let mut row = || Entry {
            pass: 0,
            table: rng.below(2) as u8,
            key: rng.below(keys).min(rng.below(2 * keys)),
            value: rng.below(100),
        };
        (0..count).map(|_| row()).collect()
    }
}

/// Returns true if `a` is at least as large as `b` in both dimensions and larger in one.
pub(super) const fn dominates(a: &Entry, b: &Entry) -> bool {
    a.key >= b.key && a.value >= b.value && (a.key > b.key || a.value > b.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: Query, rows: &[(u8, u64, u64)], expected: &[[u64; 3]]) {
        let entry = |&(table, key, value): &(u8, u64, u64)| Entry { pass: 0, table, key, value };
        let entries: Vec<Entry> = rows.iter().map(entry).collect();
        assert_eq!(query.answer(&entries), expected, "{query:?}");
    }

    #[test]
    fn answers_are_those_of_sql() {
        let rows = [(0, 1, 5), (1, 1, 7), (0, 2, 9), (0, 1, 5), (1, 3, 9)];
        check(Query::Filter { at_least: 7 }, &rows, &[[3, 0, 0]]);
        check(Query::Distinct, &rows, &[[1, 0, 0], [2, 0, 0], [3, 0, 0]]);
        check(Query::TopN { n: 3 }, &rows, &[[9, 0, 0], [9, 0, 0], [7, 0, 0]]);
        check(Query::GroupByMax, &rows, &[[1, 7, 0], [2, 9, 0], [3, 9, 0]]);
        check(Query::GroupSum { cells: 1 }, &rows, &[[1, 17, 0], [2, 9, 0], [3, 9, 0]]);
        check(Query::Skyline, &rows, &[[3, 9, 1]]);
        check(Query::Skyline, &[(0, 1, 2), (0, 2, 1), (0, 1, 2)], &[[1, 2, 2], [2, 1, 1]]);
        check(Query::Join, &rows, &[[1, 2, 0]]);
        check(Query::HavingSum { above: 9 }, &rows, &[[1, 17, 0]]);
        check(Query::HavingMax { above: 7 }, &rows, &[[2, 0, 0], [3, 0, 0]]);
    }

    #[test]
    fn a_skyline_is_what_no_point_dominates() {
        let mut rng = Rng::new(4);
        for _ in 0..200 {
            let count = rng.below(40) as usize;
            let mut point = || Entry { pass: 0, table: 0, key: rng.below(8), value: rng.below(8) };
            let points: Vec<Entry> = (0..count).map(|_| point()).collect();
            let mut left = BTreeMap::new();
            for p in points.iter().filter(|p| !points.iter().any(|q| dominates(q, p))) {
                *left.entry((p.key, p.value)).or_insert(0) += 1;
            }
            let expected: Answer = left.into_iter().map(|((k, v), n)| [k, v, n]).collect();
            assert_eq!(Query::Skyline.answer(&points), expected, "{points:?}");
        }
    }

    #[test]
    fn table_1_of_the_paper() {
        const BURGER: u64 = 1;
        const PIZZA: u64 = 2;
        const FRIES: u64 = 3;
        const JELLO: u64 = 4;
        const CHEETOS: u64 = 5;
        const MC_CHEETAH: u64 = 10;
        const PAPIZZA: u64 = 11;
        const JELLY_FISH: u64 = 12;
        // Products have a seller and a price, ratings a taste and a texture.
        let sellers = [(0, MC_CHEETAH, 4), (0, PAPIZZA, 7), (0, MC_CHEETAH, 2), (0, JELLY_FISH, 5)];
        let ratings = [(0, 7, 5), (0, 8, 6), (0, 9, 4), (0, 5, 7), (0, 3, 3)];
        let distinct = [[MC_CHEETAH, 0, 0], [PAPIZZA, 0, 0], [JELLY_FISH, 0, 0]];
        check(Query::Distinct, &sellers, &distinct);
        let sums = [[MC_CHEETAH, 6, 0], [PAPIZZA, 7, 0]];
        check(Query::HavingSum { above: 5 }, &sellers, &sums);
        // The three largest tastes: Jello, Cheetos, Pizza.
        let tastes = ratings.map(|(_, taste, _)| (0, 0, taste));
        check(Query::TopN { n: 3 }, &tastes, &[[9, 0, 0], [8, 0, 0], [7, 0, 0]]);
        // The skyline: Burger, Cheetos, Jello.
        check(Query::Skyline, &ratings, &[[5, 7, 1], [8, 6, 1], [9, 4, 1]]);
        // Cheetos are rated but not sold.
        let products = [BURGER, PIZZA, FRIES, JELLO].map(|name| (0, name, 0));
        let rated = [PIZZA, CHEETOS, JELLO, BURGER, FRIES].map(|name| (1, name, 0));
        let both: Vec<(u8, u64, u64)> = products.into_iter().chain(rated).collect();
        let joined = [[BURGER, 1, 0], [PIZZA, 1, 0], [FRIES, 1, 0], [JELLO, 1, 0]];
        check(Query::Join, &both, &joined);
    }
}
