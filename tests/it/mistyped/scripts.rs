//! Errors in files of statements, and files that are no statements.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::Folder;
use crate::cli::text;

#[test]
fn errors_name_the_file_and_the_line() {
    let folder = Folder::new();
    let write = |name: &str, sql: &str| fs::write(folder.0.path().join(name), sql).unwrap();
    write("a.sql", "select 1;\n\n-- comment\nselect\n  nope\nfrom 't.csv';\nselect 2;\n");
    write("b.sql", "select 1;\nselect (2;\n");
    write("c.sql", "-- first\n\\i a.sql\n");
    write("one.sql", "\n\nselect nope\n");
    for (name, begins) in [
        ("a.sql", "error: a.sql:4: No field named nope."),
        ("b.sql", "error: b.sql:2: syntax error at line 2, column 8: "),
        ("c.sql", "error: c.sql:2: a.sql:4: No field named nope."),
        ("one.sql", "error: one.sql:3: No field named nope."),
    ] {
        for command in ["sql", "explain"] {
            if (name, command) == ("c.sql", "explain") {
                continue;
            }
            let output = folder.command(&[command, "-f", name]).output().unwrap();
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{name}: {said}");
            assert!(said.starts_with(begins), "{command} {name}: {said}");
            assert_eq!(said.matches("error: ").count(), 1, "{said}");
        }
    }
    let mut child = folder
        .command(&["sql"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"select 1;\nselect nope;").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error: stdin:2: No field named nope."));
}

#[test]
fn an_empty_statement_is_nothing_to_run() {
    let folder = Folder::new();
    for args in [&["sql", "-c", ""][..], &["sql", " ;; "], &["sql", "-c", "-- c"]] {
        let output = folder.command(args).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.starts_with("error: there is nothing to run"), "{said}");
    }
    fs::write(folder.0.path().join("empty.sql"), "-- nothing yet\n").unwrap();
    let output = folder.command(&["sql", "-f", "empty.sql"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn commands_of_other_shells_have_a_hint() {
    let folder = Folder::new();
    for (command, part) in [
        ("\\c mydb", "--endpoint URL"),
        ("\\df", "SHOW FUNCTIONS"),
        ("\\copy t to 'x.csv'", "COPY (SELECT …) TO"),
        (".output x.csv", "COPY (SELECT …) TO"),
        ("\\pset null x", "SHOW ALL"),
    ] {
        folder.fails(command, &["there is no command `", part]);
    }
}

/// The system has no memory for the threads of the process.
#[test]
#[cfg(target_os = "linux")]
fn a_process_without_memory_ends() {
    use std::process::Command;

    let program = crate::cli::sluice(&[]);
    let program = program.get_program().to_str().unwrap().to_owned();
    let mut failed = 0;
    for kilobytes in [220_000, 260_000, 300_000, 340_000, 380_000, 420_000, 460_000] {
        let script = format!("ulimit -v {kilobytes}; exec timeout 30 {program} sql 'select 1'");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = text(&output.stderr);
        // 124 is the exit code of `timeout`.
        assert_ne!(output.status.code(), Some(124), "{kilobytes}: {said}");
        assert!(!said.contains("panicked"), "{kilobytes}: {said}");
        if output.status.code() == Some(1) {
            failed += 1;
            assert_eq!(said.matches("error: ").count(), 1, "{kilobytes}: {said}");
            assert!(said.contains("hint: "), "{kilobytes}: {said}");
        }
    }
    assert!(failed > 0);
}
