//! The program `sluice`. Its code is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    sluicegate::run()
}
