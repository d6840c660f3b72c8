//! Ctrl-C and SIGTERM end the process during any computation.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::openpty;

use crate::cli::{Served, sluice};

/// A timeout, longer than any stop takes and much shorter than the queries.
const PATIENCE: Duration = Duration::from_secs(20);

/// Queries that would run for many minutes in one operator.
const ENDLESS: [&str; 5] = [
    "SELECT count(*) FROM generate_series(1, 100000000000)",
    "SELECT count(*) FROM generate_series(1, 3000000) a JOIN generate_series(1, 3000000) b \
     ON a.value < b.value * 2",
    "SELECT t, count(*) FROM (SELECT concat('group ', value) AS t FROM \
     generate_series(1, 100000000000)) GROUP BY t ORDER BY 2 LIMIT 1",
    "SELECT sum(a.value * b.value) FROM generate_series(1, 10000000) a \
     CROSS JOIN generate_series(1, 10000000) b",
    "SELECT value FROM generate_series(1, 100000000000) ORDER BY -value LIMIT 5",
];

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits until the process ends, and kills it after the timeout.
fn end_of(child: &mut Child) -> Option<ExitStatus> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

/// Starts a query after another one, whose answer shows that it is about to run.
fn start(command: &mut Command, query: &str) -> Child {
    let mut child = command
        .args(["--format", "csv", "-c", "SELECT 'ready'", "-c", query])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.nth(1).unwrap().unwrap(), "ready");
    // Time for the query to reach the operator; nothing is measured.
    thread::sleep(Duration::from_millis(700));
    child
}

#[test]
fn any_query_stops() {
    for query in ENDLESS {
        for (name, code) in [("-INT", 130), ("-TERM", 143)] {
            let mut child = start(&mut sluice(&["sql", "--anonymous"]), query);
            signal(&child, name);
            let status = end_of(&mut child);
            assert_eq!(status.and_then(|status| status.code()), Some(code), "{name}: {query}");
        }
    }
}

#[test]
fn a_copy_that_is_stopped_leaves_nothing() {
    let served = Served::start();
    for name in ["-INT", "-TERM"] {
        let copy = "COPY (SELECT value, repeat('x', 5000) FROM generate_series(1, 100000000000)) \
                    TO 's3://bucket/fruit.csv' OPTIONS (overwrite true)";
        let before = std::fs::read(served.path().join("bucket/fruit.csv")).unwrap();
        let mut child = start(&mut served.command(&["sql"]), copy);
        signal(&child, name);
        assert!(end_of(&mut child).is_some(), "{name}");
        assert_eq!(std::fs::read(served.path().join("bucket/fruit.csv")).unwrap(), before);
        let files = |folder: &std::path::Path| -> Vec<_> {
            let mut left = Vec::new();
            let mut folders = vec![folder.to_owned()];
            while let Some(folder) = folders.pop() {
                for entry in std::fs::read_dir(folder).unwrap() {
                    let entry = entry.unwrap();
                    match entry.file_type().unwrap().is_dir() {
                        true => folders.push(entry.path()),
                        false if entry.metadata().unwrap().len() > 100_000 => {
                            left.push(entry.path())
                        }
                        false => {}
                    }
                }
            }
            left
        };
        // The server removes an incomplete part when it notices that the client is gone.
        let started = Instant::now();
        while !files(served.path()).is_empty() && started.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(
            files(served.path()),
            Vec::<std::path::PathBuf>::new(),
            "{name}: parts are left"
        );
    }
}

#[test]
fn an_answer_that_is_stopped_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("answer.csv");
    let query = "SELECT * FROM generate_series(1, 100000000000)";
    let mut child = sluice(&["sql", "--anonymous", "-c", query, "--output"])
        .arg(&file)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while std::fs::read_dir(folder.path()).unwrap().count() == 0 {
        thread::sleep(Duration::from_millis(20));
    }
    signal(&child, "-INT");
    assert_eq!(end_of(&mut child).and_then(|status| status.code()), Some(130));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// SIGTERM ends a prompt on a pseudo-terminal.
#[test]
fn the_prompt_ends_at_sigterm() {
    let pty = openpty(None, None).unwrap();
    let (theirs, ours) = (pty.slave, pty.master);
    let mut child = sluice(&["sql", "--anonymous"])
        .env("TERM", "xterm")
        .env("XDG_DATA_HOME", "/nonexistent/data")
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs)
        .spawn()
        .unwrap();
    let mut shown = Vec::new();
    let mut screen = std::fs::File::from(ours);
    let mut piece = [0; 1024];
    while !String::from_utf8_lossy(&shown).contains("sluice> ") {
        let read = screen.read(&mut piece).unwrap();
        shown.extend_from_slice(&piece[..read]);
    }
    signal(&child, "-TERM");
    assert_eq!(end_of(&mut child).and_then(|status| status.code()), Some(143));
}

/// After an interruption, half-written files are removed, and a message reports the stop.
#[test]
fn generating_into_a_folder_leaves_no_parts() {
    for name in ["-INT", "-TERM"] {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().to_str().unwrap();
        let arguments =
            ["generate", "tpch", "--scale", "1", "--tables", "lineitem,orders", "--to", to];
        let mut child =
            sluice(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let files = || {
            let all = files_below(folder.path());
            all.into_iter().filter(|name| name.contains('#')).collect::<Vec<_>>()
        };
        let started = Instant::now();
        while files().is_empty() && started.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(20));
        }
        assert!(!files().is_empty(), "nothing was begun");
        signal(&child, name);
        let status = end_of(&mut child).expect("it does not end");
        assert!(!status.success());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("stopped: what was half written is removed"), "{said}");
        assert_eq!(files(), Vec::<String>::new(), "{name}");
    }
}

/// Returns the names of all files below a folder.
fn files_below(folder: &std::path::Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => all.extend(files_below(&entry.path())),
            false => all.push(entry.file_name().to_string_lossy().into_owned()),
        }
    }
    all
}
