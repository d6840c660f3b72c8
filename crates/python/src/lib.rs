//! The native part of the Python package `sluicegate`.
//!
//! Reading order:
//!
//! 1. `connection` plans statements, and `answer` is a statement's result. The classes that users see are in
//!    `python/sluicegate`; they add documentation, types and conversions that need other packages.
//! 2. `batches` runs a query while Python reads it, and exports it through Arrow's C stream interface. `rows` turns
//!    Arrow into Python values, with `values`. `import` reads tables of other packages.
//! 3. `store` is `sluicegate.serve`, and `command` is the command `sluice`.
//! 4. `threads` runs work while Python handles signals, `process` protects it from a fork, `interpreter` has what
//!    needs the C interface of Python, and `error` raises exceptions.
//!
//! Invariants: nobody waits for the engine while attached to the interpreter (`Python::detach`), and no thread of the
//! engine ever attaches.

mod answer;
mod batches;
mod command;
mod connection;
mod error;
mod import;
mod interpreter;
mod process;
mod rows;
mod store;
mod threads;
mod values;

use pyo3::prelude::*;

/// The native module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    threads::hide_panics();
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<connection::Connection>()?;
    module.add_class::<answer::Answer>()?;
    module.add_class::<rows::Rows>()?;
    module.add_class::<store::Store>()?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)
}
