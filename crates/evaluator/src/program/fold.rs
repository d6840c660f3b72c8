//! Provides the batch for evaluating constant expressions once.

use crate::batch::Columns;
use crate::selection::Rows;
use crate::vector::Vector;
use sluicegate_s3select::error::SelectError;

/// A batch with one row and no columns.
pub(super) struct NoColumns;

impl Columns for NoColumns {
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
}
