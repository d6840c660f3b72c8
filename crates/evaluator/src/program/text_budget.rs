//! Limits the text that the functions of a statement may produce.

use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// The most text that all nodes together may hold, in bytes. A batch has about one MiB, but a statement may call
/// thousands of functions that each produce as much. If many rows take more, fewer rows are evaluated at a time.
pub(super) const MAX_TEXT_BYTES: usize = 32 << 20;

const TOO_MUCH: &str = "The functions of the statement produce more than 32 MiB of text for a row: \
                        use fewer of them.";

#[cold]
pub(super) fn too_much_text() -> SelectError {
    SelectError::new(SelectErrorCode::MaxOperatorsExceeded, TOO_MUCH)
}

/// Returns whether an evaluation failed because of this limit. It may succeed for fewer rows.
pub(crate) fn is_too_much_text(error: &SelectError) -> bool {
    error.message == TOO_MUCH
}
