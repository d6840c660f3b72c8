//! Parquet objects.
//!
//! The footer is read when the statement is prepared; then only the column chunks that the
//! statement touches, of the row groups that start in the scan range, and of those only the pages
//! that neither statistics, dictionaries nor the page index rule out. Columns that the filter does not
//! look at are read only where a row passes it ([`late`]). Columns that are stored as numbers of a
//! dictionary's values are handed on as such ([`coded`]). Batches have few rows where these are long ([`sizes`],
//! [`load`]), and long pages of all statements share a budget ([`crate::held`]). Row groups are the parts that several
//! threads evaluate.

mod batches;
mod coded;
mod convert;
mod delta;
mod dictionary;
mod headers;
mod late;
mod lengths;
mod load;
mod measure;
mod pages;
mod pruning;
mod reader;
mod runs;
mod schema;
mod sizes;
mod source;
mod thrift;
mod tree;

use std::panic::{AssertUnwindSafe, catch_unwind};

use sluicegate_s3select::error::{SelectError, SelectErrorCode};

use crate::held;
pub(super) use reader::ParquetReader;
pub(super) use schema::ParquetFile;

/// Runs the library's code. On some damaged files it panics, for instance where a validity mask is
/// shorter than its column; as the files are anyone's, that is an error like any other. What
/// panicked is not used again, so nothing is seen in between.
fn guarded<T>(read: impl FnOnce() -> Result<T, SelectError>) -> Result<T, SelectError> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(parquet_error("its parts contradict each other")))
}

/// What the library found wrong with an object.
fn parquet_error(error: impl std::fmt::Display) -> SelectError {
    let mut message = format!("The object is not a readable Parquet file: {error}");
    // The library makes text of all errors.
    if message.contains(held::NO_ROOM) {
        return held::no_room();
    }
    // Messages of the library may quote the object.
    if let Some((cut, _)) = message.char_indices().nth(300) {
        message.truncate(cut);
    }
    SelectError::new(SelectErrorCode::ParquetParsingError, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_without_memory_is_busy() {
        let error = parquet_error(format!("Parquet error: {}", held::NO_ROOM));
        assert_eq!(error, held::no_room());
        assert_eq!(parquet_error("x").code, SelectErrorCode::ParquetParsingError);
    }
}
