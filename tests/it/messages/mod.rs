//! Messages about typing mistakes: one sentence and a hint, with exit code 1 for failures and 2 for usage errors.

mod files;
mod statements;
mod stores;
mod usage;

use std::process::Command;

use crate::cli::text;

/// Words that are only for programmers, or of another project.
const FOREIGN: [&str; 8] = [
    "Internal error",
    "bug in DataFusion",
    "datafusion",
    "Ident {",
    "Span(",
    "<Error>",
    "<Code>",
    "(DataType",
];

/// Checks that a command exits with this code, and prints all `parts` on stderr and nothing on stdout.
#[track_caller]
fn says(command: &mut Command, code: i32, parts: &[&str]) {
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "no {part:?} in {said:?}");
    }
    for part in FOREIGN {
        assert!(!said.contains(part), "{part:?} in {said:?}");
    }
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    if code == 1 {
        let errors = said.lines().filter(|line| line.starts_with("error: ")).count();
        let hints = said.lines().filter(|line| line.starts_with("hint: ")).count();
        assert_eq!((errors, hints), (1, 1), "{said}");
    }
}
