//! Pruners for the simulation: the trait, and a small one for each query.
//!
//! They have the structure of the real ones (caches that evict, filters and sketches that collide), but are so small
//! that short streams already cause evictions and collisions.

use super::packet::{Entry, Name};
use super::query::{Query, dominates};
use crate::rng::mix64;

/// A pruner that decides which entries the switch drops. The simulation calls it for entries in the order in which
/// the switch processes them.
pub trait Pruner {
    /// Processes the entry with this name and returns true to prune it.
    fn prune(&mut self, name: &Name, entry: &Entry) -> bool;

    /// Returns true if the switch holds the group of an entry that it processed: see [`Query::holds`].
    fn holds(&self, entry: &Entry) -> bool {
        let _ = entry;
        false
    }

    /// Returns the key and the sum in a cell, if it is full.
    fn read(&self, cell: u64) -> Option<(u64, u64)> {
        let _ = cell;
        None
    }

    /// Reboots: returns to the initial state.
    fn reset(&mut self);
}

/// A small pruner for each [`Query`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SmallPruner {
    query: Query,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    Nothing,
    /// Rows of keys, the most recent first.
    Cache(Vec<Vec<u64>>),
    /// The largest values so far.
    Largest(Vec<u64>),
    /// A table of keys and their maxima.
    Maxima(Vec<Option<(u64, u64)>>),
    /// A table of keys and their sums.
    Sums(Vec<Option<(u64, u64)>>),
    /// Points, the highest score first.
    Points(Vec<Entry>),
    /// One Bloom filter for each table.
    Filters([u64; 2]),
    /// The counters of a Count-Min sketch.
    Sketch([[u64; SmallPruner::COUNTERS]; 2]),
}

impl SmallPruner {
    const ROWS: usize = 3;
    const COLUMNS: usize = 2;
    const POINTS: usize = 3;
    const COUNTERS: usize = 8;

    /// Creates the pruner for `query`, with empty state.
    #[must_use]
    pub fn new(query: Query) -> Self {
        let state = match query {
            Query::Filter { .. } => State::Nothing,
            Query::Distinct | Query::HavingMax { .. } => State::Cache(vec![Vec::new(); Self::ROWS]),
            Query::TopN { .. } => State::Largest(Vec::new()),
            Query::GroupByMax => State::Maxima(vec![None; Self::ROWS]),
            Query::GroupSum { cells } => State::Sums(vec![None; cells.max(1) as usize]),
            Query::Skyline => State::Points(Vec::new()),
            Query::Join => State::Filters([0; 2]),
            Query::HavingSum { .. } => State::Sketch([[0; Self::COUNTERS]; 2]),
        };
        Self { query, state }
    }
}

/// Returns the `row`-th hash of `key`, below `bound`.
fn hash(row: u64, key: u64, bound: usize) -> usize {
    (mix64(key ^ mix64(row + 1)) % bound as u64) as usize
}

impl Pruner for SmallPruner {
    fn prune(&mut self, _: &Name, entry: &Entry) -> bool {
        match (&mut self.state, self.query) {
            (State::Nothing, Query::Filter { at_least }) => entry.value < at_least,
            (State::Cache(_), Query::HavingMax { above }) if entry.value <= above => true,
            (State::Cache(rows), _) => {
                let row = &mut rows[hash(0, entry.key, Self::ROWS)];
                let position = row.iter().position(|&key| key == entry.key);
                if let Some(position) = position {
                    row.remove(position);
                }
                row.insert(0, entry.key);
                row.truncate(Self::COLUMNS);
                position.is_some()
            }
            (State::Largest(values), Query::TopN { n }) => {
                if values.len() == n && values.last().is_some_and(|&least| entry.value < least) {
                    return true;
                }
                let rank = values.partition_point(|&value| value >= entry.value);
                values.insert(rank, entry.value);
                values.truncate(n);
                false
            }
            (State::Maxima(cells), _) => {
                let cell = &mut cells[hash(0, entry.key, Self::ROWS)];
                let prune = cell.is_some_and(|(key, max)| key == entry.key && max > entry.value);
                if !prune {
                    *cell = Some((entry.key, entry.value));
                }
                prune
            }
            (State::Sums(cells), _) => {
                let size = cells.len();
                let (key, sum) = cells[hash(0, entry.key, size)].get_or_insert((entry.key, 0));
                let held = *key == entry.key;
                *sum += if held { entry.value } else { 0 };
                held
            }
            (State::Points(points), _) => {
                if points.iter().any(|point| dominates(point, entry)) {
                    return true;
                }
                let score = |point: &Entry| point.key + point.value;
                let rank = points.partition_point(|point| score(point) >= score(entry));
                points.insert(rank, *entry);
                points.truncate(Self::POINTS);
                false
            }
            (State::Filters(filters), _) => {
                let bits = (0..2).map(|row| 1u64 << hash(row, entry.key, 64));
                let mask = bits.fold(0, |mask, bit| mask | bit);
                let own = usize::from(entry.table & 1);
                if entry.pass == 0 {
                    filters[own] |= mask;
                    return true;
                }
                filters[1 - own] & mask != mask
            }
            (State::Sketch(rows), Query::HavingSum { above }) if entry.pass == 0 => {
                let mut least = u64::MAX;
                for (index, row) in rows.iter_mut().enumerate() {
                    let counter = &mut row[hash(index as u64, entry.key, Self::COUNTERS)];
                    *counter = counter.saturating_add(entry.value);
                    least = least.min(*counter);
                }
                least <= above
            }
            _ => false,
        }
    }

    fn holds(&self, entry: &Entry) -> bool {
        let State::Sums(cells) = &self.state else { return false };
        cells[hash(0, entry.key, cells.len())].is_some_and(|(key, _)| key == entry.key)
    }

    fn read(&self, cell: u64) -> Option<(u64, u64)> {
        let State::Sums(cells) = &self.state else { return None };
        *cells.get(cell as usize)?
    }

    fn reset(&mut self) {
        *self = Self::new(self.query);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const NAME: Name = Name { query: 0, fid: 0, pass: 0, id: 1, epoch: 0 };

    /// Returns the master's entries at the end, if every `keep`-th pruned entry reaches it anyway.
    fn survivors(query: Query, rows: &[Entry], keep: u64, rng: &mut Rng) -> Vec<Entry> {
        let mut pruner = SmallPruner::new(query);
        let mut pass = |pass: u8, rows: &mut dyn Iterator<Item = &Entry>| -> Vec<Entry> {
            let sent = rows.map(|row| Entry { pass, ..*row });
            sent.filter(|entry| !pruner.prune(&NAME, entry) || rng.below(keep) == 0).collect()
        };
        let first = pass(0, &mut rows.iter());
        match query.passes() {
            1 => first,
            _ if query.requests_keys() => {
                let wanted = |row: &&Entry| first.iter().any(|entry| entry.key == row.key);
                pass(1, &mut rows.iter().filter(wanted))
            }
            _ => pass(1, &mut rows.iter()),
        }
    }

    #[test]
    fn any_superset_of_what_is_forwarded_has_the_same_answer() {
        let mut rng = Rng::new(1);
        for query in Query::ALL.into_iter().filter(|query| !query.holds()) {
            let mut pruned = 0;
            for _ in 0..300 {
                let rows = query.rows(1 + rng.below(40) as usize, &mut rng);
                let expected = query.answer(&rows);
                for keep in [u64::MAX, 3] {
                    let survivors = survivors(query, &rows, keep, &mut rng);
                    assert_eq!(query.answer(&survivors), expected, "{query:?} on {rows:?}");
                    pruned += rows.len() - survivors.len();
                }
            }
            assert!(pruned > 300, "{query:?} prunes only {pruned}");
        }
    }
}
