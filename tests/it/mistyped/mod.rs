//! Mistakes that an independent tester typed, and the program's reactions.

mod answers;
mod arguments;
mod blame;
mod depth;
mod ignored;
mod other_systems;
mod places;
mod scripts;
mod words;

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::cli::{sluice, text};

/// A folder with a file of three rows, in which statements run.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rows = "id,name,amount,day,Region\n1,a,1.5,2024-01-01,N\n2,b,,2024-01-02,S\n3,c,2.5,2024-01-03,N\n";
        fs::write(folder.path().join("t.csv"), rows).unwrap();
        Self(folder)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = sluice(args);
        command.current_dir(self.0.path()).env("HOME", self.0.path());
        command
    }

    /// Runs a statement and returns its rows as CSV, without the header.
    #[track_caller]
    fn rows(&self, sql: &str) -> Vec<String> {
        let output = self.command(&["sql", "--format", "csv", "-c", sql]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{sql}: {}", text(&output.stderr));
        text(&output.stdout).lines().skip(1).map(str::to_owned).collect()
    }

    /// Runs a statement that must fail, and checks that its error and hint contain the parts.
    #[track_caller]
    fn fails(&self, sql: &str, parts: &[&str]) {
        let output = self.command(&["sql", "-c", sql]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{sql}: {said}{}", text(&output.stdout));
        for part in parts {
            assert!(said.contains(part), "{sql}: no {part:?} in {said:?}");
        }
        for foreign in ["Word {", "Some(", "UserDefined", "os error", "Int64(", "Internal error"] {
            assert!(!said.contains(foreign), "{sql}: {foreign:?} in {said:?}");
        }
        assert!(said.contains("\nhint: "), "{sql}: {said}");
    }
}
