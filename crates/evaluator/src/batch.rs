//! The traits that a format implements: batches of rows, with columns read on demand.

use std::sync::Arc;

use super::cancellation::Cancellation;
use super::output::RowWriter;
use super::selection::Rows;
use super::vector::{Kind, Vector};
use sluicegate_s3select::dialect::ast::PathStep;
use sluicegate_s3select::error::SelectError;

/// A column of an object that a statement names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// The number that identifies the column in [`Columns::read_column`].
    pub(crate) index: usize,
    /// The representation in which the column is read.
    pub(crate) kind: Kind,
    /// The name of the column in messages and JSON answers.
    pub(crate) name: String,
}

/// A dictionary-coded column of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Codes<'a> {
    /// The values, none of which points into the batch's block.
    pub(crate) values: &'a Arc<Vector>,
    /// The number of values.
    pub(crate) distinct: usize,
    /// For each row, the position of its value.
    pub(crate) codes: &'a [u32],
}

/// Resolves the paths in a statement to columns of an object.
pub(crate) trait Schema {
    /// Finds a column by its path, without the row's alias. An empty path is the row itself.
    fn resolve(&mut self, path: &[PathStep]) -> Result<Column, SelectError>;

    /// Returns all columns if `*` stands for the same columns in every row. Otherwise returns `None`, and
    /// [`BatchReader::write_row`] writes the fields of each row.
    fn all(&mut self) -> Result<Option<Vec<Column>>, SelectError> {
        Ok(None)
    }

    /// Returns the precision and scale of a column's values if the object declares them. `column` is a number that
    /// [`Self::resolve`] returned.
    fn decimal_type(&self, _column: usize) -> Option<(u8, i8)> {
        None
    }
}

/// The columns of a batch of rows.
pub(crate) trait Columns {
    /// Returns the number of rows; row numbers in a batch start at 0.
    fn rows(&self) -> usize;

    /// Returns the bytes that [`super::vector::Heap::Block`] refers to.
    fn block(&self) -> &[u8];

    /// Returns whether all text of the batch is known to be UTF-8. If not, text is checked when used.
    fn is_utf8(&self) -> bool;

    /// Reads a column for the given rows of the batch into `out`, in the representation returned by
    /// [`Schema::resolve`].
    fn read_column(
        &self,
        column: usize,
        rows: Rows<'_>,
        out: &mut Vector,
    ) -> Result<(), SelectError>;

    /// Returns how many of the rows are placeholders. A wildcard in FROM that matches nothing yields one, which
    /// `COUNT(*)` does not count.
    fn absent(&self, _rows: Rows<'_>) -> usize {
        0
    }

    /// Returns the dictionary codes of a column if the batch has them. [`Self::read_column`] reads the same values.
    fn codes(&self, _column: usize) -> Option<Codes<'_>> {
        None
    }
}

/// Reads an object in batches of rows.
pub(crate) trait BatchReader: Columns + Send {
    /// Advances to the next batch and returns whether there is one. A batch may be empty, so that the caller regains
    /// control while a long stretch without rows is skipped.
    fn next_batch(&mut self) -> Result<bool, SelectError>;

    /// Writes all fields of a row for `SELECT *`. The caller begins and ends the row in the writer.
    fn write_row(&self, row: usize, out: &mut RowWriter) -> Result<(), SelectError>;

    /// Describes the position of a row in the object for messages: `record 17 (byte 2034)`.
    fn locate(&self, row: usize) -> String;

    /// Ends reading after `row`. Bytes that are not needed for the rows up to it are not counted.
    fn stop_behind(&mut self, row: usize);

    /// Returns the bytes read from the object so far, and the bytes after decompression.
    fn bytes_read(&self) -> (u64, u64);

    /// Stops long reads ahead once the cancellation takes effect.
    fn stop_with(&mut self, _: &Cancellation) {}

    /// Decompresses the rest of the object on another thread.
    fn read_ahead(&mut self) {}

    /// Returns the number of records up to the end of the batch, counted like in [`Self::locate`]. It is called only
    /// for parts of an object.
    fn records_read(&self) -> u64 {
        0
    }
}
