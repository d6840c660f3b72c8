//! Computes constant expressions once.

use crate::batch::BatchReader;
use crate::output::RowWriter;
use crate::selection::Rows;
use crate::vector::Vector;
use sluicegate_s3select::error::SelectError;

/// One row without columns: what a constant expression is evaluated on.
pub(super) struct NoColumns;

impl BatchReader for NoColumns {
    fn next_batch(&mut self) -> Result<bool, SelectError> {
        Ok(false)
    }

    fn rows(&self) -> usize {
        1
    }

    fn block(&self) -> &[u8] {
        &[]
    }

    fn is_utf8(&self) -> bool {
        true
    }

    fn read_column(&self, _: usize, _: Rows<'_>, _: &mut Vector) -> Result<(), SelectError> {
        Ok(())
    }

    fn write_row(&self, _: usize, _: &mut RowWriter) -> Result<(), SelectError> {
        Ok(())
    }

    fn locate(&self, _: usize) -> String {
        String::new()
    }

    fn stop_behind(&mut self, _: usize) {}

    fn bytes_read(&self) -> (u64, u64) {
        (0, 0)
    }
}
