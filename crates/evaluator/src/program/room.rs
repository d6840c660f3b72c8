//! How much text the functions of a statement may make.

use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// The most text that all nodes together may hold, in bytes. A batch has about one MiB, but a
/// statement may call thousands of functions that each produce as much. What takes more for many rows
/// is evaluated for fewer at a time.
pub(super) const MAX_TEXT_BYTES: usize = 32 << 20;

const TOO_MUCH: &str = "The functions of the statement produce more than 32 MiB of text for a row: \
                        use fewer of them.";

#[cold]
pub(super) fn too_much_text() -> SelectError {
    SelectError::new(SelectErrorCode::MaxOperatorsExceeded, TOO_MUCH)
}

/// Whether that is why an evaluation failed. It may succeed for fewer rows.
pub(crate) fn is_too_much_text(error: &SelectError) -> bool {
    error.message == TOO_MUCH
}
