//! `sluice worker` on the command line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::cli::{Served, sluice};

/// A worker's process with its output.
struct Process {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    err: BufReader<std::process::ChildStderr>,
}

impl Process {
    fn start(endpoint: &str) -> Self {
        Self::start_as(endpoint, &[])
    }

    fn start_as(endpoint: &str, options: &[&str]) -> Self {
        let mut child = sluice(&["worker", "--listen", "127.0.0.1:0", "--endpoint", endpoint])
            .args(options)
            .stdin(Stdio::piped())
            .env("AWS_ACCESS_KEY_ID", "me")
            .env("AWS_SECRET_ACCESS_KEY", "my secret")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let err = BufReader::new(child.stderr.take().unwrap());
        Self { child, out, err }
    }

    /// Waits until the worker listens and returns its URL.
    fn url(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        let (_, url) = line.trim().split_once(" at ").unwrap_or_else(|| panic!("{line}"));
        url.to_owned()
    }

    /// Returns the next line on stderr.
    fn told(&mut self) -> String {
        let mut line = String::new();
        self.err.read_line(&mut line).unwrap();
        line
    }
}

#[cfg(unix)]
impl Process {
    fn terminate(&self) {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(killed.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A worker must not assume another kind of store, because it would read tables in another way than coordinators
/// plan.
#[test]
fn a_worker_waits_for_its_store() {
    let there = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", there.local_addr().unwrap());
    let mut worker = Process::start(&endpoint);
    // A connection that is closed without an answer.
    drop(there.accept().unwrap());
    let told = worker.told();
    assert!(told.contains("does not answer") && told.contains("--store"), "{told}");
    std::thread::spawn(move || {
        for stream in there.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let answer =
                "HTTP/1.1 403 Forbidden\r\nServer: Sluicegate/0\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    assert!(worker.url().starts_with("http://127.0.0.1:"));
}

/// A program that starts a worker need not stop it, not even one that waits for its store.
#[test]
fn a_worker_ends_with_its_input_if_it_was_asked_to() {
    let served = Served::start_with(&[]);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (endpoint, listens) in
        [(served.endpoint.clone(), true), (format!("http://{closed}"), false)]
    {
        let mut worker = Process::start_as(&endpoint, &["--stop-with-stdin"]);
        if listens {
            worker.url();
        }
        drop(worker.child.stdin.take());
        assert_eq!(worker.child.wait().unwrap().code(), Some(0), "{endpoint}");
    }
}

/// The first signal lets queries end, and the second ends the process.
#[cfg(unix)]
#[test]
fn a_worker_stops_after_its_queries_or_when_it_is_asked_twice() {
    let served = Served::start_with(&["--link", "3mbit"]);
    let rows = "1,apple,1.50\n".repeat(300_000);
    std::fs::write(
        served.path().join("bucket").join("large.csv"),
        format!("id,name,price\n{rows}"),
    )
    .unwrap();
    let sql = "SELECT name, count(*) FROM 's3://bucket/large.csv' GROUP BY name";
    for twice in [false, true] {
        // The time of planning depends on the machine. A worker without a part of a query stops at the first signal,
        // so longer waits are tried.
        let seen = [1, 2, 4, 8].into_iter().any(|seconds| {
            let mut workers = [Process::start(&served.endpoint), Process::start(&served.endpoint)];
            let urls: Vec<String> = workers.iter_mut().map(Process::url).collect();
            let mut query = served
                .command(&["sql", "--scan", "get", "--workers", &urls.join(",")])
                .args(["--format", "csv", "-c", sql])
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_secs(seconds));
            let [worker, _] = &mut workers;
            worker.terminate();
            let told = worker.told();
            assert!(told.contains("asked again, at once"), "{told}");
            std::thread::sleep(Duration::from_millis(500));
            let goes_on = worker.child.try_wait().unwrap().is_none();
            if twice && goes_on {
                worker.terminate();
            }
            let code = worker.child.wait().unwrap().code();
            if twice && goes_on {
                query.kill().unwrap();
                query.wait().unwrap();
                assert_eq!(code, Some(143));
            } else {
                let answered = query.wait_with_output().unwrap();
                assert_eq!(code, Some(0));
                assert!(answered.status.success() || !goes_on);
                if goes_on {
                    let rows = String::from_utf8(answered.stdout).unwrap();
                    assert_eq!(rows, "name,count(*)\napple,300000\n");
                }
            }
            goes_on
        });
        assert!(seen, "no worker had a part of the query");
    }
}
