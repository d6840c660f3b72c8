//! `sluice validate` on the command line. No test depends on a time.

use std::process::Output;

use serde_json::Value;

use crate::cli::{bad, sluice, text};

/// The arguments of the smallest run.
const LITTLE: [&str; 9] =
    ["validate", "--scale", "0.001", "--link", "unlimited", "--latency", "0ms", "--rounds", "1"];

#[test]
fn every_way_is_predicted_and_runs() {
    ["csv", "parquet"].into_iter().for_each(check_ways);
}

#[track_caller]
fn check_ways(format: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = sluice(&LITTLE);
    command.args(["--format", format]);
    command.args(["--hardware", "local", "--selectivity", "0.1,1", "--trials", "json"]);
    let Output { status, stdout, stderr } = command.env("TMPDIR", folder.path()).output().unwrap();
    let said = text(&stderr);
    assert_eq!(status.code(), Some(0), "{said}");
    let trials: Vec<Value> = serde_json::from_str(&text(&stdout)).unwrap();
    let ways = |query: &str| -> Vec<&str> {
        let of = trials.iter().filter(|it| it["query"] == query && it["selectivity"] == 0.1);
        of.map(|it| it["way"].as_str().unwrap()).collect()
    };
    assert_eq!(ways("filter"), ["get", "select", "auto"]);
    assert_eq!(ways("aggregate"), ["here", "store", "auto"]);
    assert_eq!(ways("join"), ["baseline", "filtered", "bloom", "auto"]);
    assert!(ways("group-by").starts_with(&["server", "filtered"]));
    assert!(ways("top-k").starts_with(&["server", "filtered"]));
    for trial in &trials {
        assert!(trial["predicted_s"].as_f64().unwrap() > 0.0, "{trial}");
        assert!(trial["measured_s"].as_f64().unwrap() > 0.0, "{trial}");
        assert!(trial["link_bytes"].as_u64().unwrap() > 0, "{trial}");
        assert_eq!(trial["right"].is_boolean(), trial["way"] == "auto");
        assert_eq!(trial["runs_s"].as_str().unwrap().split(' ').count(), 1, "{trial}");
        if trial["way"] == "auto" {
            assert_eq!(trial["right"], recomputed(&trials, trial), "{trial}");
        }
    }
    // A way that fetches the table reads all of it, whatever the filter.
    let bytes = |query: &str, way: &str, share: f64| {
        let found = trials
            .iter()
            .find(|it| it["query"] == query && it["way"] == way && it["selectivity"] == share);
        found.unwrap()["link_bytes"].as_u64().unwrap()
    };
    let (some, all) = (bytes("filter", "get", 0.1), bytes("filter", "get", 1.0));
    assert!(some.abs_diff(all) < 2000, "{some} {all}");
    assert!(bytes("filter", "select", 0.1) < bytes("filter", "select", 1.0));
    assert!(said.contains("mean regret") && said.contains("\nall "), "{said}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "something is left");
}

/// Recomputes from the printed trials whether the choice was right.
fn recomputed(trials: &[Value], taken: &Value) -> bool {
    let same = |a: &Value, keys: &[&str], b: &Value| keys.iter().all(|key| a[*key] == b[*key]);
    let all: Vec<_> =
        trials.iter().filter(|it| same(it, &["query", "selectivity"], taken)).collect();
    let time = |of: &Value| {
        let runs = all.iter().filter(|it| it["ran_as"] == of["ran_as"]);
        let runs: Vec<f64> =
            runs.map(|it| it["runs_s"].as_str().unwrap().parse().unwrap()).collect();
        runs.iter().sum::<f64>() / runs.len() as f64
    };
    let fastest = all.iter().map(|it| time(it)).fold(f64::INFINITY, f64::min);
    time(taken) <= 1.05 * fastest
}

#[test]
fn what_cannot_be_is_said_before_work_starts() {
    for (more, words) in [
        (["--selectivity", "2"], "is not a share, 0 to 1"),
        (["--link", "fast"], "a rate such as 1Gbit"),
        (["--query", "everything"], "possible values: filter, aggregate"),
    ] {
        let output = sluice(&["validate"]).args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
    bad(
        &mut sluice(&["validate", "--hardware", "nothing"]),
        "no hardware profile and no file `nothing`",
    );
    let mut huge = sluice(&["validate", "--scale", "-1"]);
    let output = huge.output().unwrap();
    assert_ne!(output.status.code(), Some(0));
}
