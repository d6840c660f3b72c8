//! `sluice endpoint` on the command line, against our server with and without Select.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::cli::{Served, UNREACHABLE, bad, good, sluice, text};

/// The table of a probe: feature, verdict and evidence.
pub(crate) struct Table(Vec<serde_json::Value>);

impl Table {
    /// Runs a command and parses its JSON output.
    pub(crate) fn from_command(command: &mut Command) -> Self {
        Self(serde_json::from_str(&good(command)).unwrap())
    }

    /// Returns the verdict on a feature.
    #[track_caller]
    pub(crate) fn verdict(&self, feature: &str) -> &str {
        let found = self.0.iter().find(|row| row["feature"] == feature);
        found.unwrap_or_else(|| panic!("no {feature}"))["verdict"].as_str().unwrap()
    }

    /// Returns the features with a verdict.
    pub(crate) fn with(&self, verdict: &str) -> Vec<&str> {
        let rows = self.0.iter().filter(|row| row["verdict"] == verdict);
        rows.map(|row| row["feature"].as_str().unwrap()).collect()
    }
}

fn probe(served: &Served, cache: &Path, more: &[&str]) -> Command {
    let mut command = served.command(&["endpoint", "probe"]);
    command.args(more).env("XDG_CACHE_HOME", cache);
    command
}

/// Returns the objects in the served folder, without the server's own files.
pub(crate) fn objects(served: &Served) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![served.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(served.path()).unwrap().display().to_string();
            if name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            }
            found.push(name);
        }
    }
    found.sort();
    found
}

#[test]
fn our_server_answers_everything_and_keeps_nothing() {
    let served = Served::start();
    let cache = tempfile::tempdir().unwrap();
    let before = objects(&served);
    for bucket in ["bucket", "made-for-it"] {
        let json = ["--bucket", bucket, "--format", "json"];
        let table = Table::from_command(&mut probe(&served, cache.path(), &json));
        assert!(table.with("works").len() > 100);
        for verdict in ["refused", "answers wrongly", "not known"] {
            assert!(table.with(verdict).is_empty(), "{verdict}: {:?}", table.with(verdict));
        }
        assert_eq!(objects(&served), before, "{bucket}");
    }
    // The probe's result is as good as a known server name.
    let sum = "SELECT sum(price) AS s FROM 's3://bucket/fruit.csv' WHERE id < 3";
    let ask = ["sql", "--store", "probed", "--scan", "select", "--stats", "--format", "csv"];
    let mut command = served.command(&ask);
    let output = command.args(["-c", sum]).env("XDG_CACHE_HOME", cache.path()).output().unwrap();
    assert_eq!(text(&output.stdout), "s\n1.5\n", "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("1 SELECT") && said.contains("0 fallbacks"), "{said}");
    let mut explain =
        served.command(&["explain", "--store", "probed", "--scan", "select", "-c", sum]);
    let shown = good(explain.env("XDG_CACHE_HOME", cache.path()));
    assert!(shown.contains("SELECT SUM(") && shown.contains("endpoint=probed"), "{shown}");
    let file = fs::read_to_string(cache.path().join("sluice/endpoints.json")).unwrap();
    assert!(file.contains(&served.endpoint) && !file.contains("my secret"), "{file}");
    let mut unknown = served.command(&["sql", "--store", "probed", "-c", "SELECT 1"]);
    bad(&mut unknown, "was not probed");
}

#[test]
fn our_server_conforms_and_keeps_nothing() {
    let served = Served::start();
    let before = objects(&served);
    for bucket in ["bucket", "made-for-it"] {
        let ask = ["endpoint", "conformance", "--bucket", bucket, "--format", "csv"];
        let Output { status, stdout, stderr } = served.command(&ask).output().unwrap();
        let said = text(&stderr);
        let none = "0 are wrong, 0 questions are refused, 0 errors have another code";
        assert!(status.success() && said.contains(none), "{said}");
        assert!(!text(&stdout).contains("wrong"), "{}", text(&stdout));
        assert_eq!(objects(&served), before, "{bucket}");
    }
}

#[test]
fn a_store_without_select_has_a_table_of_refusals_and_is_read() {
    let served = Served::start_with(&["--no-select"]);
    let cache = tempfile::tempdir().unwrap();
    let sum = "SELECT sum(id) AS s FROM 's3://bucket/fruit.csv' WHERE name <> 'plum'";
    let ask = |cache: &Path| {
        let mut command = served.command(&["sql", "--format", "csv", "-c", sum]);
        let output = command.env("XDG_CACHE_HOME", cache).output().unwrap();
        assert_eq!(text(&output.stdout), "s\n3\n", "{}", text(&output.stderr));
        text(&output.stderr)
    };
    // The server is unknown: objects are read with GET, and a note suggests the probe.
    let said = ask(cache.path());
    assert!(said.contains("sluice endpoint probe") && said.lines().count() == 1, "{said}");
    let json = ["--bucket", "bucket", "--format", "json"];
    let before = objects(&served);
    let table = Table::from_command(&mut probe(&served, cache.path(), &json));
    assert!(table.with("works").is_empty(), "{:?}", table.with("works"));
    assert!(table.with("answers wrongly").is_empty());
    assert!(table.with("refused").len() > 100);
    assert_eq!(objects(&served), before);
    // After the probe there is no note.
    assert_eq!(ask(cache.path()), "");
    let output = probe(&served, cache.path(), &["--bucket", "bucket"]).output().unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("a store without Select: 0 features work"), "{said}");
    // After the first refusal no more statements are sent.
    assert!(said.contains("1 SELECT") && said.contains("measured: "), "{said}");
}

#[test]
fn an_object_of_yours_is_looked_at_and_left_alone() {
    let served = Served::start();
    let cache = tempfile::tempdir().unwrap();
    let before = objects(&served);
    let json = ["--object", "s3://bucket/fruit.csv", "--format", "json"];
    let table = Table::from_command(&mut probe(&served, cache.path(), &json));
    assert_eq!(table.verdict("CASE"), "works");
    assert_eq!(table.verdict("NULL != 1 is not TRUE"), "works");
    assert_eq!(table.verdict("CSV, gzip"), "not known");
    assert!(table.with("refused").is_empty() && table.with("answers wrongly").is_empty());
    assert_eq!(objects(&served), before);
    assert!(!cache.path().join("sluice").exists());
    let output = probe(&served, cache.path(), &json).output().unwrap();
    let said = text(&output.stderr);
    assert!(!said.contains(" PUT") && said.contains("nothing is remembered"), "{said}");
}

#[test]
fn what_hinders_a_probe_is_said_in_a_sentence_with_a_hint() {
    let served = Served::start();
    let cache = tempfile::tempdir().unwrap();
    let object = |url| probe(&served, cache.path(), &["--object", url]);
    bad(&mut object("s3://nowhere/x.csv"), "nowhere");
    bad(&mut object("s3://bucket/x.csv"), "x.csv");
    bad(&mut probe(&served, cache.path(), &["--bucket", "Not_A_Bucket"]), "Not_A_Bucket");
    let mut wrong = probe(&served, cache.path(), &["--bucket", "bucket"]);
    bad(wrong.env("AWS_SECRET_ACCESS_KEY", "x"), "bucket");
    let nobody = ["endpoint", "probe", "--bucket", "bucket", "--endpoint", &served.endpoint];
    bad(&mut sluice(&nobody), "credentials");
    let mut unreachable =
        sluice(&["endpoint", "probe", "--bucket", "bucket", "--endpoint", UNREACHABLE]);
    unreachable.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "x");
    bad(&mut unreachable, "reached");
    assert_eq!(objects(&served), ["bucket", "bucket/fruit.csv"]);
    let Output { status, .. } = sluice(&["endpoint", "probe"]).output().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn an_interrupted_probe_leaves_nothing() {
    let served = Served::start_with(&["--latency", "20ms"]);
    let cache = tempfile::tempdir().unwrap();
    let mut probing = probe(&served, cache.path(), &["--bucket", "made-for-it"])
        .env("RUST_LOG", "sluice=debug")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Wait until the samples are written.
    let mut said = BufReader::new(probing.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("samples are written") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0);
    }
    assert!(objects(&served).len() > 10);
    let killed = Command::new("kill").args(["-INT", &probing.id().to_string()]).status().unwrap();
    assert!(killed.success());
    // A thread reads the rest of stderr, so that the probe does not block on it.
    let rest = std::thread::spawn(move || drop(std::io::copy(&mut said, &mut std::io::sink())));
    assert_eq!(probing.wait().unwrap().code(), Some(130));
    rest.join().unwrap();
    assert_eq!(objects(&served), ["bucket", "bucket/fruit.csv"]);
    assert!(!cache.path().join("sluice").exists());
}
