//! Parquet objects.
//!
//! The footer is read when the statement is prepared; then only the column chunks that the
//! statement touches, of the row groups that start in the scan range and that the statistics
//! do not rule out.

mod convert;
mod pruning;
mod reader;
mod schema;
mod source;

use crate::error::{SelectError, SelectErrorCode};

pub(super) use reader::ParquetReader;
pub(super) use schema::ParquetFile;

/// What the library found wrong with an object.
fn parquet_error(error: impl std::fmt::Display) -> SelectError {
    let mut message = format!("The object is not a readable Parquet file: {error}");
    // Messages of the library may quote the object.
    if let Some((cut, _)) = message.char_indices().nth(300) {
        message.truncate(cut);
    }
    SelectError::new(SelectErrorCode::ParquetParsingError, message)
}
