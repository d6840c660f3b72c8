//! The states of a statement's aggregates, and a bound of the text in them.

use super::aggregate::State;
use super::selection::Rows;
use super::vector::Vector;
use sluicegate_s3select::dialect::ast::Aggregate;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// The most bytes of text that the least and greatest values may have together. A row of the answer may
/// have fewer; some more are for values that are only compared.
const MAX_TEXT_BYTES: usize = 8 << 20;

/// So many least and greatest texts of records, which have at most 1 MiB each, take no more.
pub(super) const FEW_TEXTS: usize = 8;

/// A state for each aggregate of a statement.
#[derive(Debug)]
pub(super) struct States {
    states: Vec<State>,
    text_bytes: usize,
}

impl States {
    /// The states before the first row.
    pub(super) fn new(functions: impl Iterator<Item = Aggregate>) -> Self {
        Self { states: functions.map(State::new).collect(), text_bytes: 0 }
    }

    /// Adds the values of rows to a state.
    pub(super) fn update(
        &mut self,
        call: usize,
        vector: &Vector,
        rows: Rows<'_>,
        block: &[u8],
    ) -> Result<(), SelectError> {
        let state = &mut self.states[call];
        let before = state.text_bytes();
        let updated = state.update(vector, rows, block);
        self.text_bytes = self.text_bytes - before + state.text_bytes();
        updated
    }

    /// Counts rows without looking at them: `COUNT(*)`.
    pub(super) fn count_rows(&mut self, call: usize, rows: usize) {
        self.states[call].count_rows(rows);
    }

    /// Adds a zero to a sum.
    pub(super) fn add_zero(&mut self, call: usize) {
        self.states[call].add_zero();
    }

    /// Merges the states over the rows that follow.
    pub(super) fn merge(&mut self, others: Self) {
        for (state, other) in self.states.iter_mut().zip(others.states) {
            state.merge(other);
        }
        self.text_bytes = self.states.iter().map(State::text_bytes).sum();
    }

    /// Fails if they hold too much text: long before an answer would that could not be sent either.
    pub(super) fn check(&self) -> Result<(), SelectError> {
        if self.text_bytes > MAX_TEXT_BYTES {
            return Err(SelectError::new(
                SelectErrorCode::OverMaxRecordSize,
                "The least and greatest texts of the statement are longer than 8 MiB together.",
            ));
        }
        Ok(())
    }

    /// Their results.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, State> {
        self.states.iter()
    }
}
