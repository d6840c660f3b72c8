//! The query behind an algorithm: its answer over any of the entries, and the optimum.

use std::collections::BTreeMap;
use std::fmt;

use super::trial::Run;
use crate::algorithm::group_sum::GroupSums;
use crate::protocol::Query;

/// A query over the entries that workers send. Pruning must not change its answer.
pub trait Question: fmt::Debug {
    /// Returns the number of rows that a pruner without limits would forward: see [`opt`](super::opt).
    fn optimum(&self, rows: &Rows<'_>) -> usize;

    /// Returns the answer over the rows that are kept, in a canonical form.
    fn answer(&self, rows: &Rows<'_>) -> Answer;

    /// Returns the same query for the protocol, over rows of a key and a value, or `None` if the protocol has no such
    /// query.
    fn in_protocol(&self) -> Option<Query> {
        None
    }
}

/// The rows of an answer, with the number of times that each occurs.
pub type Answer = BTreeMap<Vec<u64>, u64>;

/// Counts the rows of an answer.
pub(crate) fn counted(rows: impl IntoIterator<Item = Vec<u64>>) -> Answer {
    let mut answer = Answer::new();
    rows.into_iter().for_each(|row| *answer.entry(row).or_default() += 1);
    answer
}

/// A stream, with the choice of its rows that reached the master.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    stream: &'a [Run],
    key_columns: usize,
    keep: &'a dyn Fn(usize, usize) -> bool,
    held: &'a [GroupSums],
}

impl<'a> Rows<'a> {
    /// Takes all rows of a stream whose first `key_columns` values are the key.
    #[must_use]
    pub fn from_stream(stream: &'a [Run], key_columns: usize) -> Self {
        Self { stream, key_columns, keep: &|_, _| true, held: &[] }
    }

    /// Keeps only the rows for whose run and position `keep` returns true.
    pub(super) fn that(self, keep: &'a dyn Fn(usize, usize) -> bool) -> Self {
        Self { keep, ..self }
    }

    /// Adds the groups and sums that the switch returned: see [`Pruner::group_sums`](crate::Pruner::group_sums).
    pub(super) fn beside(self, held: &'a [GroupSums]) -> Self {
        Self { held, ..self }
    }

    /// Returns the groups and sums that the switch returned.
    #[must_use]
    pub const fn held(&self) -> &'a [GroupSums] {
        self.held
    }

    /// Iterates over every row of the stream.
    pub fn sent(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let key_columns = self.key_columns;
        self.stream
            .iter()
            .flat_map(move |run| (0..run.len()).map(move |at| Row { run, at, key_columns }))
    }

    /// Iterates over the rows that are kept.
    pub fn kept(&self) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let Self { stream, key_columns, keep, .. } = *self;
        stream.iter().enumerate().flat_map(move |(number, run)| {
            let kept = (0..run.len()).filter(move |&at| keep(number, at));
            kept.map(move |at| Row { run, at, key_columns })
        })
    }
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.kept().map(|row| row.words().collect::<Vec<u32>>())).finish()
    }
}

/// A row of a stream.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    run: &'a Run,
    at: usize,
    key_columns: usize,
}

impl<'a> Row<'a> {
    /// Returns the flow of the row.
    #[must_use]
    pub const fn flow(self) -> u16 {
        self.run.flow
    }

    /// Iterates over the values that its packet carries.
    pub fn words(self) -> impl Iterator<Item = u32> + use<'a> {
        self.run.columns.iter().map(move |column| column[self.at])
    }

    /// Returns the key: the first value, or two, high half first.
    #[must_use]
    pub fn key(self) -> u64 {
        let high = self.run.columns[0][self.at];
        match self.run.columns.get(1) {
            Some(low) if self.key_columns == 2 => u64::from(high) << 32 | u64::from(low[self.at]),
            _ => high.into(),
        }
    }

    /// Returns the last value of the row.
    #[must_use]
    pub fn value(self) -> u32 {
        self.run.columns[self.run.columns.len() - 1][self.at]
    }
}
