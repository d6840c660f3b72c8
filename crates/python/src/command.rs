//! The command `sluice`.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs the command with these arguments and returns its exit code. `program` runs the command in a process of its
/// own. The command may end the process.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, program: PathBuf, arguments: Vec<OsString>) -> u8 {
    py.detach(|| sluicegate::run_as(program, arguments))
}
