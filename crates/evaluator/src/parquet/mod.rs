//! Reads Parquet objects.
//!
//! The footer is read when the statement is prepared. After that, only column chunks that the statement uses are
//! read, and only from row groups that start in the scan range. Statistics, Bloom filters,
//! dictionaries and the page index rule out row groups and pages.
//!
//! Columns that the filter does not read are read only for rows that pass it ([`late_filter`]). Dictionary-coded columns are
//! processed as codes ([`dictionary_columns`]). Batches have few rows if rows are long ([`sizes`], [`load`]), and long pages of
//! all statements share a memory budget ([`crate::memory_budget`]). Several threads evaluate row groups as parts.

mod batches;
mod bloom_filter;
mod chunk_pages;
mod convert;
mod delta;
mod dictionary;
mod dictionary_columns;
mod headers;
mod int96;
mod late_filter;
mod layout;
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

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use sluicegate_s3select::error::{SelectError, SelectErrorCode};

use crate::memory_budget;
pub(super) use reader::ParquetReader;
pub(super) use schema::ParquetFile;

thread_local! {
    /// The number of nested calls of [`guarded`] in this thread.
    static GUARDED: Cell<usize> = const { Cell::new(0) };
}

/// Runs code of the library and turns a panic into an error. The library panics on some damaged files, for instance
/// if a validity mask is shorter than its column. As files are untrusted, such a panic is an ordinary error and is
/// not printed. State that panicked is not used again.
fn guarded<T>(read: impl FnOnce() -> Result<T, SelectError>) -> Result<T, SelectError> {
    hide_panics();
    GUARDED.set(GUARDED.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(GUARDED.get() - 1);
    result.unwrap_or_else(|_| Err(parquet_error("its parts contradict each other")))
}

/// Keeps the process's panic hook from printing panics within [`guarded`], because the hook runs before they are
/// caught. All other panics are printed.
fn hide_panics() {
    static HIDDEN: Once = Once::new();
    // The hook cannot be changed while this thread unwinds.
    if std::thread::panicking() {
        return;
    }
    HIDDEN.call_once(|| {
        let show = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            if GUARDED.get() == 0 {
                show(panicked);
            }
        }));
    });
}

/// Returns the error for an object that the library cannot read.
fn parquet_error(error: impl std::fmt::Display) -> SelectError {
    let mut message = format!("The object is not a readable Parquet file: {error}");
    // The library converts all errors to text.
    if message.contains(memory_budget::NO_ROOM) {
        return memory_budget::out_of_memory();
    }
    // The library's messages may quote the object.
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
        let error = parquet_error(format!("Parquet error: {}", memory_budget::NO_ROOM));
        assert_eq!(error, memory_budget::out_of_memory());
        assert_eq!(parquet_error("x").code, SelectErrorCode::ParquetParsingError);
    }

    /// The test runs itself in a child process to examine what is printed.
    #[test]
    fn a_panic_of_the_library_is_an_error_and_not_printed() {
        const CHILD: &str = "SLUICEGATE_TEST_PANICS";
        if std::env::var_os(CHILD).is_some() {
            let error = guarded::<()>(|| panic!("of the library")).unwrap_err();
            assert!(error.message.contains("contradict"), "{error:?}");
            assert!(catch_unwind(|| panic!("of others")).is_err());
            return;
        }
        let name = "parquet::tests::a_panic_of_the_library_is_an_error_and_not_printed";
        let program = std::env::current_exe().unwrap();
        let mut child = std::process::Command::new(program);
        let output = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}");
        assert!(printed.contains("of others") && !printed.contains("of the library"), "{printed}");
    }
}
