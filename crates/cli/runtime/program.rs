//! The executable of this program, for commands that start further processes of it.

use std::env;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the executable that runs `sluice`, if the executable of this process is another program, such as Python. The
/// first call counts.
pub(crate) fn set(program: PathBuf) {
    // A process runs one command.
    let _ = PROGRAM.set(program);
}

/// Returns the executable that runs `sluice`.
///
/// # Errors
///
/// If the system does not name the executable of this process.
pub(crate) fn path() -> io::Result<PathBuf> {
    PROGRAM.get().cloned().map_or_else(env::current_exe, Ok)
}
