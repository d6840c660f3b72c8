//! Generates tables whose rows are functions of their numbers.

use std::ops::Range;

use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchReader};

use crate::table::{DataTable, Share};

/// The number of rows in a batch.
const BATCH_ROWS: u64 = 8192;

/// The rows of a share, batch by batch. `make` generates the rows with the given numbers.
pub(crate) struct NumberedRows<F> {
    schema: SchemaRef,
    left: Range<u64>,
    make: F,
}

impl<F> NumberedRows<F>
where
    F: Fn(SchemaRef, Range<u64>) -> Result<RecordBatch, ArrowError>,
{
    pub(crate) fn new<T: DataTable>(share: Share<T>, make: F) -> Self {
        let rows = u128::from(share.table.rows(share.scale));
        // The quotient is at most the number of rows.
        let bound = |index: u32| (rows * u128::from(index) / u128::from(share.count.max(1))) as u64;
        let left = bound(share.index)..bound(share.index + 1);
        Self { schema: share.table.schema(), left, make }
    }
}

impl<F> Iterator for NumberedRows<F>
where
    F: Fn(SchemaRef, Range<u64>) -> Result<RecordBatch, ArrowError>,
{
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left.is_empty() {
            return None;
        }
        let end = self.left.end.min(self.left.start + BATCH_ROWS);
        let numbers = self.left.start..end;
        self.left.start = end;
        Some((self.make)(self.schema.clone(), numbers))
    }
}

impl<F> RecordBatchReader for NumberedRows<F>
where
    F: Fn(SchemaRef, Range<u64>) -> Result<RecordBatch, ArrowError>,
{
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
