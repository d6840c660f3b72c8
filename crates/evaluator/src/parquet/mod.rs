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
mod int96;
mod late;
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

use crate::held;
pub(super) use reader::ParquetReader;
pub(super) use schema::ParquetFile;

thread_local! {
    /// How many calls of [`guarded`] this thread is in.
    static GUARDED: Cell<usize> = const { Cell::new(0) };
}

/// Runs the library's code. On some damaged files it panics, for instance where a validity mask is
/// shorter than its column; as the files are anyone's, that is an error like any other, and is not printed. What
/// panicked is not used again, so nothing is seen in between.
fn guarded<T>(read: impl FnOnce() -> Result<T, SelectError>) -> Result<T, SelectError> {
    hide_panics();
    GUARDED.set(GUARDED.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(GUARDED.get() - 1);
    result.unwrap_or_else(|_| Err(parquet_error("its parts contradict each other")))
}

/// Panics within [`guarded`] are not shown by the process's hook, which sees them before they are caught. All
/// others are.
fn hide_panics() {
    static HIDDEN: Once = Once::new();
    // The hook of a thread that unwinds cannot be changed.
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

    /// The process that runs this test again shows what is printed.
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
