//! `sluice serve` from the point of view of its operator.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::{Served, good};

/// Sends a request without a signature and returns the answer.
fn ask(served: &Served, path: &str) -> String {
    let host = served.endpoint.strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(host).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

/// Waits until a file contains `words`.
fn read(path: &Path, words: &str) -> String {
    let mut text = String::new();
    for _ in 0..1000 {
        text = fs::read_to_string(path).unwrap_or_default();
        if text.contains(words) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(text.contains(words), "{text}");
    text
}

#[cfg(unix)]
#[test]
fn a_hangup_opens_the_access_log_anew_and_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (log, rotated) = (folder.path().join("log"), folder.path().join("log.1"));
    let mut served = Served::start_with(&["--access-log", log.to_str().unwrap()]);
    let sql = ["sql", "-c", "SELECT name FROM 's3://bucket/fruit.csv'"];
    good(&mut served.command(&sql));
    let text = read(&log, "/bucket/fruit.csv");
    assert!(text.lines().any(|line| line.starts_with("127.0.0.1 - me [")), "{text}");
    assert!(!text.contains("my secret"), "{text}");
    fs::rename(&log, &rotated).unwrap();
    for _ in 0..2 {
        served.signal("-HUP");
    }
    // The signal may be handled after a request.
    for _ in 0..1000 {
        let answer = ask(&served, "/health");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n"));
        if log.exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    read(&log, "GET /health HTTP/1.1\" 200");
    served.signal("-TERM");
    assert_eq!(served.ended(), Some(0));
}

#[test]
fn the_log_names_an_object_that_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let served = Served::start_logging(&[], fs::File::create(&log).unwrap().into());
    let copy = "COPY (SELECT 17 AS a, 'x' AS b) TO 's3://bucket/sub/two.csv'";
    good(&mut served.command(&["sql", "-c", copy]));
    // The modification time is restored, as after damage by a failing disk.
    let path = served.path().join("bucket/sub/two.csv");
    let bytes = fs::read(&path).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    let digit = bytes.iter().position(|byte| *byte == b'7').unwrap();
    (&file).write_all(&[&bytes[..digit], &b"8"[..], &bytes[digit + 1..]].concat()).unwrap();
    file.set_modified(modified).unwrap();
    let sql = "SELECT a FROM read_csv('s3://bucket/sub/two.csv') WHERE b = 'x'";
    for scan in ["select", "get"] {
        let args = ["sql", "--store", "sluice", "--scan", scan, "-c", sql];
        let refused = served.command(&args).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && said.contains("damaged on the disk"),
            "{scan}: {said}"
        );
    }
    let text = read(&log, "damaged on disk");
    assert!(text.contains("bucket=\"bucket\"") && text.contains("key=\"sub/two.csv\""), "{text}");
}

/// A program that starts a store need not stop it.
#[test]
fn a_store_ends_with_its_input_if_it_was_asked_to() {
    let piped = |mut command: Command| {
        command.stdin(Stdio::piped());
        command
    };
    let mut served = Served::start_as(&["--stop-with-stdin"], Stdio::null(), piped);
    assert!(ask(&served, "/health").starts_with("HTTP/1.1 200 OK"));
    drop(served.stdin());
    assert_eq!(served.ended(), Some(0));
}
