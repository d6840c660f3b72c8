//! What a format provides: batches of rows, and their columns on demand.

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
    /// What [`Columns::read_column`] is asked for.
    pub(crate) index: usize,
    /// The representation that it has there.
    pub(crate) kind: Kind,
    /// Its name in messages and JSON answers.
    pub(crate) name: String,
}

/// A column of a batch whose rows share few values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Codes<'a> {
    /// The values, of which none is in the batch's block.
    pub(crate) values: &'a Arc<Vector>,
    /// How many values there are.
    pub(crate) distinct: usize,
    /// The number of each row's value.
    pub(crate) codes: &'a [u32],
}

/// The columns of an object, by the paths of a statement.
pub(crate) trait Schema {
    /// Finds a column by its path, without the row's alias. An empty path is the row itself.
    fn resolve(&mut self, path: &[PathStep]) -> Result<Column, SelectError>;

    /// All columns, if all rows have the same: then `*` stands for them. Otherwise
    /// [`BatchReader::write_row`] says what a row has.
    fn all(&mut self) -> Result<Option<Vec<Column>>, SelectError> {
        Ok(None)
    }
}

/// The columns of a batch of rows.
pub(crate) trait Columns {
    /// How many rows the batch has; row numbers count from 0 in it.
    fn rows(&self) -> usize;

    /// The bytes that [`super::vector::Heap::Block`] stands for.
    fn block(&self) -> &[u8];

    /// Whether all text of the batch is known to be UTF-8; otherwise it is checked when used.
    fn is_utf8(&self) -> bool;

    /// Reads a column for the given rows of the batch into `out`, in the representation that
    /// [`Schema::resolve`] promised.
    fn read_column(
        &self,
        column: usize,
        rows: Rows<'_>,
        out: &mut Vector,
    ) -> Result<(), SelectError>;

    /// How many of the rows stand for nothing: a wildcard in FROM that matches nothing has such a row, which
    /// `COUNT(*)` does not count.
    fn absent(&self, _rows: Rows<'_>) -> usize {
        0
    }

    /// A column as the batch has it, if that is by few values. [`Self::read_column`] reads the same.
    fn codes(&self, _column: usize) -> Option<Codes<'_>> {
        None
    }
}

/// Reads an object in batches of rows.
pub(crate) trait BatchReader: Columns + Send {
    /// Advances to the next batch; says whether there is one. A batch may be empty, so that the
    /// caller regains control while a long stretch of bytes without rows is skipped.
    fn next_batch(&mut self) -> Result<bool, SelectError>;

    /// Writes all fields of a row: `SELECT *`. The writer has begun the row and ends it.
    fn write_row(&self, row: usize, out: &mut RowWriter) -> Result<(), SelectError>;

    /// Where a row is in the object, for messages: `record 17 (byte 2034)`.
    fn locate(&self, row: usize) -> String;

    /// Says that neither the rows after `row` nor further batches are wanted, so that bytes not
    /// needed for the rows up to it are not counted.
    fn stop_behind(&mut self, row: usize);

    /// Bytes read so far: of the object, and after decompression.
    fn bytes_read(&self) -> (u64, u64);

    /// Gives up reading ahead what takes long when told to stop.
    fn stop_with(&mut self, _: &Cancellation) {}

    /// Decompresses what follows on a thread of its own.
    fn read_ahead(&mut self) {}

    /// Records up to the end of the batch, counted as in [`Self::locate`]; called only for parts of
    /// an object.
    fn records_read(&self) -> u64 {
        0
    }
}
