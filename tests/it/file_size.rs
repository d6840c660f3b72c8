//! Files beyond the limit of `ulimit -f`: a write fails, and no process is killed.

use std::fs;
use std::process::{Command, Stdio};

use crate::cli::{Served, bad, good, sluice, text};

/// Limits a command to files of 512 blocks: 256 or 512 KiB, depending on the shell.
fn limited(command: Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 512 && exec \"$0\" \"$@\""]);
    shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

const ROWS: &str = "SELECT value AS n, repeat('x', 40) AS s FROM generate_series(1, 100000)";

#[test]
fn a_local_file_beyond_the_limit_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.csv");
    let path = path.to_str().unwrap();
    let copy = format!("COPY ({ROWS}) TO '{path}'");
    let too_large = "larger than this process may write";
    bad(&mut limited(sluice(&["sql", "-c", &copy])), too_large);
    bad(&mut limited(sluice(&["sql", "-o", path, "-c", ROWS])), too_large);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let small = format!("COPY (SELECT 1 AS a) TO '{path}'");
    good(&mut limited(sluice(&["sql", "-c", &small])));
}

#[test]
fn a_server_outlives_an_object_beyond_the_limit() {
    let served = Served::start_as(&[], Stdio::inherit(), limited);
    let copy = format!("COPY ({ROWS}) TO 's3://bucket/large.csv'");
    let refused = served.command(&["sql", "-c", &copy]).output().unwrap();
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("it may not write files as large"), "{said}");
    assert!(said.contains("ulimit -f"), "{said}");
    let left = fs::read_dir(served.path().join(".sluice/tmp")).unwrap();
    assert_eq!(left.count(), 0);
    let there = fs::read_dir(served.path().join("bucket")).unwrap();
    let there: Vec<_> = there.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(there, ["fruit.csv"]);
    good(&mut served.command(&["sql", "-c", "SELECT name FROM 's3://bucket/fruit.csv'"]));
}
