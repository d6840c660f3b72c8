//! The states of a statement's aggregates, with a limit on their text.

use super::aggregate::State;
use super::selection::Rows;
use super::vector::Vector;
use sluicegate_s3select::dialect::ast::Aggregate;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// The most bytes of text that the least and greatest values may have together. A row of the answer may be shorter;
/// the rest allows for values that are only compared.
const MAX_TEXT_BYTES: usize = 8 << 20;

/// The number of least and greatest texts that always fit, as a record has at most 1 MiB.
pub(super) const FEW_TEXTS: usize = 8;

/// One state for each aggregate of a statement.
#[derive(Debug)]
pub(super) struct States {
    states: Vec<State>,
    text_bytes: usize,
}

impl States {
    /// Returns the states before the first row.
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

    /// Counts rows without reading them: `COUNT(*)`.
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

    /// Fails if the states hold too much text, long before the answer would be too long to send.
    pub(super) fn check(&self) -> Result<(), SelectError> {
        if self.text_bytes > MAX_TEXT_BYTES {
            return Err(SelectError::new(
                SelectErrorCode::OverMaxRecordSize,
                "The least and greatest texts of the statement are longer than 8 MiB together.",
            ));
        }
        Ok(())
    }

    /// Iterates over the states in the order of the aggregates.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, State> {
        self.states.iter()
    }
}
