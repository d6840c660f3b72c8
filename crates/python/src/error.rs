//! Exceptions, which are classes of the module `sluicegate._errors`.

use arrow::error::ArrowError;
use pyo3::prelude::*;
use sluicegate::embed::EmbedError;
use sluicegate_engine::{Error, ErrorKind};

/// Returns the exception for an error of the engine: a subclass of `sluicegate.Error` for each kind.
pub(crate) fn of_engine(error: &Error) -> PyErr {
    raised(error.kind(), &error.to_string(), error.hint())
}

/// Returns the exception for an invalid setting.
pub(crate) fn of_setting(error: &EmbedError) -> PyErr {
    raised(ErrorKind::Setting, &error.message, error.hint.as_deref())
}

/// Returns the exception for Arrow that another package offers and that cannot be read.
pub(crate) fn of_arrow(error: &ArrowError) -> PyErr {
    raised(ErrorKind::Data, &format!("the table cannot be read: {error}"), None)
}

/// Returns the exception for work that ended without a result.
pub(crate) fn lost(what: &str) -> PyErr {
    let hint = "This is a bug: please report it with the query.";
    raised(ErrorKind::Internal, &format!("{what} panicked"), Some(hint))
}

/// Returns the exception for a thread that the system refuses.
pub(crate) fn no_threads(why: &std::io::Error) -> PyErr {
    raised(ErrorKind::Resources, &format!("the system refuses threads: {why}"), None)
}

/// Returns the exception for a child that was forked by a process with connections or stores.
pub(crate) fn forked() -> PyErr {
    let hint = "Start the process with multiprocessing's method `spawn`, or fork it before the first connection.";
    raised(
        ErrorKind::Other,
        "the process was forked, and the threads of its parent's connections did not survive that",
        Some(hint),
    )
}

/// Returns the exception for an object that was closed.
pub(crate) fn closed(what: &str) -> PyErr {
    raised(ErrorKind::Other, &format!("the {what} is closed"), None)
}

/// Returns the exception for a text without a statement.
pub(crate) fn no_statement() -> PyErr {
    raised(ErrorKind::Syntax, "there is nothing to run: the text has no statement", None)
}

/// Returns the exception for a text with more statements than one can be explained.
pub(crate) fn several_statements() -> PyErr {
    let hint = "Run the statements before it with sql().";
    raised(ErrorKind::Unsupported, "one statement is explained at a time", Some(hint))
}

/// Returns the exception for columns that are no longer those that were announced.
pub(crate) fn other_columns() -> PyErr {
    let hint = "Call sql() again.";
    raised(
        ErrorKind::Changed,
        "the columns of the answer have changed since it was planned",
        Some(hint),
    )
}

/// Builds an exception of this kind.
fn raised(kind: ErrorKind, message: &str, hint: Option<&str>) -> PyErr {
    let made = Python::try_attach(|py| {
        let make = py.import("sluicegate._errors")?.getattr("make")?;
        make.call1((format!("{kind:?}"), message, hint)).map(PyErr::from_value)
    });
    match made {
        Some(Ok(error) | Err(error)) => error,
        // Only while the interpreter ends.
        None => pyo3::exceptions::PyRuntimeError::new_err(message.to_owned()),
    }
}
