//! `sluice calibrate` on the command line, against our server with and without Select. No test depends on a time.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use sluicegate_costmodel::HardwareProfile;
use sluicegate_server::{Fault, Operation, Rule};

use crate::cli::{Served, UNREACHABLE, bad, good, sluice, text};
use crate::endpoint::objects;
use crate::harness::{BUCKET, Store};

/// The smallest size and few rounds.
const LITTLE: [&str; 4] = ["--size", "64KiB", "--rounds", "2"];

fn calibrate(served: &Served, cache: &Path, more: &[&str]) -> Command {
    let mut command = served.command(&["calibrate"]);
    command.args(LITTLE).args(more).env("XDG_CACHE_HOME", cache);
    command
}

/// Runs a command that must succeed; returns its stdout and stderr.
#[track_caller]
fn both(command: &mut Command) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = text(&stderr);
    assert_eq!(status.code(), Some(0), "{said}");
    (text(&stdout), said)
}

/// Returns the number before ` requests` on the line that begins with `line`.
#[track_caller]
fn requests(said: &str, line: &str) -> u64 {
    let line = said.lines().find(|it| it.starts_with(line)).unwrap_or_else(|| panic!("{said}"));
    let (before, _) = line.split_once(" requests").unwrap();
    before.rsplit(' ').next().unwrap().replace(',', "").parse().unwrap()
}

/// Returns the only profile in the cache.
#[track_caller]
fn remembered(cache: &Path) -> HardwareProfile {
    let mut files = fs::read_dir(cache.join("sluice/hardware")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none());
    let contents = fs::read_to_string(file).unwrap();
    assert!(!contents.contains("secret"), "{contents}");
    HardwareProfile::parse(&contents).unwrap()
}

const QUERY: &str = "SELECT sum(price) FROM 's3://bucket/fruit.csv' WHERE id < 3";

/// The link is that which the server simulates, whether its kind is detected or given.
#[test]
fn a_simulated_link_is_predicted_for() {
    let served = Served::start_with(&["--link", "100mbit"]);
    for kind in ["auto", "sluice"] {
        let explained = good(&mut served.command(&["explain", "--store", kind, "-c", "SELECT 1"]));
        assert!(explained.contains("hardware local behind 0.1 Gbit/s"), "{explained}");
    }
    let given = ["explain", "--hardware", "remote-1gbit", "-c", "SELECT 1"];
    let explained = good(&mut served.command(&given));
    assert!(explained.contains("hardware remote-1gbit (2026-11"), "{explained}");
}

#[test]
fn a_calibrated_store_is_predicted_for_with_what_was_measured() {
    let served = Served::start();
    let cache = tempfile::tempdir().unwrap();
    let before = objects(&served);
    let copy = cache.path().join("copy.toml");
    let more = ["--bucket", "made-for-it", "--output", copy.to_str().unwrap(), "--format", "json"];
    let (table, said) = both(&mut calibrate(&served, cache.path(), &more));
    assert_eq!(objects(&served), before);

    // The requests sent are at most those announced.
    let (announced, counted) = (requests(&said, "calibrating"), requests(&said, "counted"));
    assert!(counted <= announced, "{said}");
    assert!(counted > announced / 2, "{said}");
    assert!(said.contains("predicted bill of the store: at most $0.0"), "{said}");

    let profile = remembered(cache.path());
    let name = served.endpoint.trim_start_matches("http://").replace(':', "-");
    assert_eq!(profile.name, name);
    let calibration = profile.calibration.clone().unwrap();
    assert_eq!((calibration.endpoint.as_str(), calibration.rounds), (served.endpoint.as_str(), 2));
    for key in [
        "link.latency_seconds",
        "select.latency_seconds",
        "select.term_seconds",
        "select.case_seconds",
        "select.probe_seconds",
        "client.startup_seconds",
        "client.json_bytes_per_second",
        "client.overlap",
    ] {
        assert!(calibration.intervals.contains_key(key), "{key}: {calibration:?}");
    }
    let rows: Vec<serde_json::Value> = serde_json::from_str(&table).unwrap();
    assert_eq!(rows.len(), profile.constants().len());
    let latency = rows.iter().find(|row| row["constant"] == "link.latency_seconds").unwrap();
    assert_eq!(latency["is"], "measured");
    assert!(latency["low"].as_f64() <= latency["value"].as_f64());

    // The profile is used for this store, and for any other by its name or its file.
    let explain = |endpoint: &str, more: &[&str]| {
        let mut command = sluice(&["explain", "--endpoint", endpoint, "-c", "SELECT 1"]);
        command.args(more).env("XDG_CACHE_HOME", cache.path());
        good(command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "x"))
    };
    let expected = format!("hardware {name} (calibrated 20");
    assert!(explain(&served.endpoint, &[]).contains(&expected));
    assert!(explain(&served.endpoint, &["--hardware", "auto"]).contains(&expected));
    let elsewhere = "http://127.0.0.1:1";
    let default = explain(elsewhere, &[]);
    assert!(default.contains("hardware local (2026-11, not calibrated)"), "{default}");
    assert!(explain(elsewhere, &["--hardware", &name]).contains(&expected));
    assert!(explain(elsewhere, &["--hardware", copy.to_str().unwrap()]).contains(&expected));
    let mut command = served.command(&["explain", "-c", QUERY]);
    let shown = good(command.env("XDG_CACHE_HOME", cache.path()));
    assert!(shown.contains(&format!("(modelled for {name})")), "{shown}");
    let mut unknown = served.command(&["explain", "-c", QUERY, "--hardware", "office"]);
    let Output { stderr, .. } = unknown.env("XDG_CACHE_HOME", cache.path()).output().unwrap();
    assert!(text(&stderr).contains(&name), "{}", text(&stderr));
}

#[test]
fn of_a_store_without_select_the_rest_is_measured() {
    let served = Served::start_with(&["--no-select"]);
    let cache = tempfile::tempdir().unwrap();
    let before = objects(&served);
    let more = ["--bucket", "bucket", "--name", "mine"];
    let (table, said) = both(&mut calibrate(&served, cache.path(), &more));
    assert_eq!(objects(&served), before);
    assert!(said.contains("no S3 Select"), "{said}");
    assert!(!table.contains("select."), "{table}");
    let profile = remembered(cache.path());
    assert_eq!(profile.name, "mine");
    let calibration = profile.calibration.unwrap();
    assert!(calibration.assumed.contains(&"select".to_owned()), "{calibration:?}");
    assert!(calibration.intervals.contains_key("client.get_overlap"), "{calibration:?}");
    let mut command = served.command(&["explain", "--hardware", "mine", "-c", QUERY]);
    let shown = good(command.env("XDG_CACHE_HOME", cache.path()));
    assert!(shown.contains("(modelled for mine)"), "{shown}");
}

#[test]
fn what_it_would_cost_is_said_without_asking_anything() {
    let ask = ["calibrate", "--dry-run", "--bucket", "b", "--endpoint", UNREACHABLE];
    let (table, said) = both(sluice(&ask).args(LITTLE));
    assert!(table.is_empty(), "{table}");
    assert!(requests(&said, "calibrating") > 1000, "{said}");
    assert!(said.contains("predicted bill") && said.lines().count() == 2, "{said}");
}

/// Checks that a command fails after the announcement with an error that contains `words`, and a hint.
#[track_caller]
fn fails(command: &mut Command, words: &str) {
    let Output { status, stderr, .. } = command.output().unwrap();
    let said = text(&stderr);
    assert_eq!(status.code(), Some(1), "{said}");
    let last: Vec<&str> = said.lines().skip(2).collect();
    assert_eq!(last.len(), 2, "{said}");
    assert!(last[0].starts_with("error: ") && last[0].contains(words), "{said}");
    assert!(last[1].starts_with("hint: "), "{said}");
}

#[test]
fn what_hinders_a_calibration_is_said_in_a_sentence_with_a_hint() {
    let served = Served::start();
    let cache = tempfile::tempdir().unwrap();
    let bucket = |more: &[&str]| {
        let mut command = calibrate(&served, cache.path(), &["--bucket", "bucket"]);
        command.args(more);
        command
    };
    fails(&mut calibrate(&served, cache.path(), &["--bucket", "Not_A_Bucket"]), "Not_A_Bucket");
    fails(bucket(&[]).env("AWS_SECRET_ACCESS_KEY", "x"), "bucket");
    fails(&mut bucket(&["--max-cost", "0.0000001"]), "that may be more than");
    let nobody = ["calibrate", "--bucket", "bucket", "--endpoint", &served.endpoint];
    fails(sluice(&nobody).args(LITTLE).env("XDG_CACHE_HOME", cache.path()), "credentials");
    let mut unreachable = sluice(&["calibrate", "--bucket", "bucket", "--endpoint", UNREACHABLE]);
    unreachable.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "x");
    unreachable.env("XDG_CACHE_HOME", cache.path());
    fails(unreachable.args(LITTLE), "reached");
    bad(&mut bucket(&["--prices", "none"]), "price book");
    for name in ["paper", "auto", "../../x", "a/b", ".x", ""] {
        let Output { status, .. } = bucket(&["--name", name]).output().unwrap();
        assert_eq!(status.code(), Some(2), "{name}");
    }
    // These fail before anything is measured or announced.
    bad(&mut bucket(&["--output", "/nonexistent/my.toml"]), "there is no folder");
    bad(&mut bucket(&["--output", cache.path().to_str().unwrap()]), "is a folder");
    let file = cache.path().join("file");
    fs::write(&file, "").unwrap();
    let words = format!("profiles cannot be remembered in `{}/sluice/hardware`", file.display());
    bad(bucket(&[]).env("XDG_CACHE_HOME", &file), &words);
    assert_eq!(objects(&served), ["bucket", "bucket/fruit.csv"]);
    assert!(!cache.path().join("sluice").exists());
}

/// A profile is saved even if the samples cannot be removed.
#[tokio::test(flavor = "multi_thread")]
async fn samples_that_cannot_be_removed_are_named_with_a_way_to_remove_them() {
    let store = Store::start().await;
    for operation in [Operation::DeleteObject, Operation::DeleteObjects] {
        store.faults.inject(Rule::new(operation, Fault::InternalError).times(u64::MAX));
    }
    let cache = tempfile::tempdir().unwrap();
    let endpoint = store.server.endpoint();
    let mut command = sluice(&["calibrate", "--endpoint", &endpoint, "--bucket", BUCKET]);
    command
        .args(LITTLE)
        .env("XDG_CACHE_HOME", cache.path())
        .env("AWS_ACCESS_KEY_ID", store.server.access_key())
        .env("AWS_SECRET_ACCESS_KEY", store.server.secret_key());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let place = format!("s3://{BUCKET}/sluice-calibrate-");
    assert!(said.contains(&format!("error: samples are left in {place}")), "{said}");
    let way = format!("hint: Remove them: `aws s3 rm --recursive {place}");
    assert!(said.contains(&way) && said.contains(&format!("--endpoint-url {endpoint}")), "{said}");
    remembered(cache.path());
}

#[test]
fn a_damaged_profile_is_named_with_a_way_out() {
    let cache = tempfile::tempdir().unwrap();
    let folder = cache.path().join("sluice/hardware");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("office.toml");
    let paper = HardwareProfile::paper().to_string();
    fs::write(&file, paper.replace("1163000000.0", "1e-300")).unwrap();
    let explain = |more: &[&str]| {
        let mut command =
            sluice(&["explain", "--endpoint", "http://127.0.0.1:1", "-c", "SELECT 1"]);
        command.args(more).env("XDG_CACHE_HOME", cache.path());
        let keys = command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", "x");
        text(&keys.output().unwrap().stderr)
    };
    let warning = format!(
        "warning: the hardware profile `{}` is damaged: line 6, `link.bytes_per_second`: must be at \
         least 1 byte per second; `inf` is no limit; it is not used: correct it, or remove it and run \
         `sluice calibrate` again\n",
        file.display()
    );
    assert_eq!(explain(&[]), warning);
    // The damaged file may be the requested profile, unless another one has the name.
    assert!(explain(&["--hardware", "office"]).starts_with(&warning));
    assert_eq!(explain(&["--hardware", "paper"]), "");
}

/// Waits for a line on stderr with `words`, interrupts the command, and returns the rest of stderr.
#[cfg(unix)]
#[track_caller]
fn interrupted(command: &mut Command, words: &str, look: impl FnOnce()) -> String {
    use std::io::{BufRead, BufReader, Read};

    let command = command.env("RUST_LOG", "sluice=debug");
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(running.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0);
    }
    look();
    let killed = Command::new("kill").args(["-INT", &running.id().to_string()]).status().unwrap();
    assert!(killed.success());
    // A thread reads the rest of stderr, so that the command does not block on it.
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        said.read_to_string(&mut rest).map(|_| rest).unwrap()
    });
    assert_eq!(running.wait().unwrap().code(), Some(130));
    let rest = rest.join().unwrap();
    assert!(rest.ends_with("stopped: nothing is remembered\n"), "{rest}");
    rest
}

#[cfg(unix)]
#[test]
fn an_interrupted_calibration_leaves_nothing() {
    let served = Served::start_with(&["--latency", "20ms"]);
    let cache = tempfile::tempdir().unwrap();
    let copy = cache.path().join("copy.toml");
    let more = ["--bucket", "made-for-it", "--output", copy.to_str().unwrap()];
    let written = || assert!(objects(&served).len() > 20);
    interrupted(&mut calibrate(&served, cache.path(), &more), "samples are written", written);
    assert_eq!(objects(&served), ["bucket", "bucket/fruit.csv"]);
    // Large samples take a while to generate, so this interrupts before the announcement.
    let large = ["--bucket", "bucket", "--size", "64MiB"];
    let mut command = served.command(&["calibrate"]);
    command.args(large).env("XDG_CACHE_HOME", cache.path());
    let said = interrupted(&mut command, "generating samples", || {});
    assert!(!said.contains("calibrating"), "{said}");
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
}
