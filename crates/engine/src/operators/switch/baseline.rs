//! Rows that the workers would ship to the master without a switch between them.

use std::collections::HashSet;

use sluicegate_pruning::algorithm::catalog::Configured;

/// Counts the rows that a worker's own part of an operator leaves of the packets that it would send: its groups, its
/// best rows, its skyline, or all rows of a join.
///
/// A partial aggregate leaves one row per group and worker. A switch forwards a group for all workers together, but
/// may forward it more than once. A switch saves something only where it forwards fewer rows than the workers would
/// ship.
#[derive(Debug)]
pub(crate) struct NoSwitchBaseline {
    left: BaselineRows,
    /// Number of rows without a code. For groups, they count as one more group.
    unseen: u64,
}

#[derive(Debug)]
enum BaselineRows {
    /// One row per group, by the words of the group's key.
    Groups { words: usize, keys: HashSet<u64> },
    /// At most `most` rows.
    Best { most: u64, rows: u64 },
    /// The points that no other point of this worker dominates.
    Points(Vec<Vec<u32>>),
    /// Every row.
    All(u64),
}

impl NoSwitchBaseline {
    /// Creates an empty counter. Returns `None` for a filter: without a switch the worker filters itself, and the
    /// plan's `FilterExec` counts the rows that pass.
    pub(crate) fn new(algorithm: &Configured, key_words: usize) -> Option<Self> {
        let left = match algorithm {
            Configured::Filter(_) => return None,
            Configured::TopNDeterministic(config) => {
                BaselineRows::Best { most: config.n().into(), rows: 0 }
            }
            Configured::TopNRandomized(config) => {
                BaselineRows::Best { most: config.n().into(), rows: 0 }
            }
            Configured::Skyline(_) => BaselineRows::Points(Vec::new()),
            Configured::JoinBloom(_) | Configured::JoinRegisterBloom(_) => BaselineRows::All(0),
            Configured::Distinct(_)
            | Configured::GroupBy(_)
            | Configured::GroupSum(_)
            | Configured::Having(_)
            | Configured::HavingBelow(_)
            | Configured::HavingExtreme(_) => {
                BaselineRows::Groups { words: key_words.min(2), keys: HashSet::new() }
            }
        };
        Some(Self { left, unseen: 0 })
    }

    /// Counts a batch. `columns` holds the words of its packets column by column; `unseen` has a bit set for each row
    /// without a code.
    pub(crate) fn add(&mut self, columns: &[Vec<u32>], unseen: &[u64]) {
        let rows = columns.first().map_or(0, Vec::len);
        let is_seen = |row: usize| unseen.get(row / 64).is_none_or(|b| b >> (row % 64) & 1 == 0);
        let seen = (0..rows).filter(|row| is_seen(*row));
        self.unseen += unseen.iter().map(|bits| u64::from(bits.count_ones())).sum::<u64>();
        match &mut self.left {
            BaselineRows::Groups { words, keys } => {
                let key = |row: usize| {
                    let of = columns.iter().take(*words);
                    of.fold(0, |key, column| key << 32 | u64::from(column[row]))
                };
                keys.extend(seen.map(key));
            }
            BaselineRows::Best { rows: counted, .. } | BaselineRows::All(counted) => {
                *counted += seen.count() as u64
            }
            BaselineRows::Points(points) => {
                for row in seen {
                    enter(points, columns.iter().map(|column| column[row]).collect());
                }
            }
        }
    }

    /// Returns the number of rows that the worker ships.
    pub(crate) fn rows(&self) -> u64 {
        match &self.left {
            BaselineRows::Groups { keys, .. } => keys.len() as u64 + u64::from(self.unseen > 0),
            BaselineRows::Best { most, rows } => (*rows + self.unseen).min(*most),
            BaselineRows::Points(points) => points.len() as u64 + self.unseen,
            BaselineRows::All(rows) => *rows + self.unseen,
        }
    }
}

/// Adds a point, whose greater coordinates are better, to a skyline. Equal points all stay.
fn enter(points: &mut Vec<Vec<u32>>, point: Vec<u32>) {
    let dominates = |a: &[u32], b: &[u32]| a != b && a.iter().zip(b).all(|(a, b)| a >= b);
    if points.iter().any(|other| dominates(other, &point)) {
        return;
    }
    points.retain(|other| !dominates(&point, other));
    points.push(point);
}

#[cfg(test)]
mod tests {
    use sluicegate_pruning::Ties;
    use sluicegate_pruning::algorithm::{distinct, skyline, top_n};

    use super::*;

    fn rows(algorithm: &Configured, key_words: usize, columns: &[Vec<u32>], unseen: &[u64]) -> u64 {
        let mut alone = NoSwitchBaseline::new(algorithm, key_words).unwrap();
        alone.add(columns, unseen);
        alone.add(columns, unseen);
        alone.rows()
    }

    #[test]
    fn each_operator_leaves_its_own() {
        let distinct = Configured::Distinct(distinct::Config::paper());
        let key = vec![vec![0, 0, 1, 1], vec![5, 5, 5, 6]];
        assert_eq!(rows(&distinct, 2, &key, &[]), 3);
        assert_eq!(rows(&distinct, 1, &key, &[]), 2);
        assert_eq!(rows(&distinct, 2, &key, &[0b1001]), 3, "one group without a code");
        let six = top_n::randomized::Config::paper().returning(6);
        let top = Configured::TopNRandomized(six);
        assert_eq!(rows(&top, 0, &[vec![1, 2]], &[]), 4);
        assert_eq!(rows(&top, 0, &[vec![1, 2, 3, 4]], &[]), 6);
        let config = skyline::Config::new(2, 1, skyline::Score::Sum, Ties::Keep).unwrap();
        let points = [vec![1, 2, 2, 0], vec![1, 2, 1, 3]];
        assert_eq!(rows(&Configured::Skyline(config), 0, &points, &[]), 4, "two points, twice");
    }
}
