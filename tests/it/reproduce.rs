//! `sluice reproduce`: the papers' experiments and the verdicts on their claims.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cli::{bad, ends, good, sluice, text};

/// The computed experiments of a paper, which need no store.
const COMPUTED: [&str; 3] = ["pushdowndb/table1", "pushdowndb/table2", "icpe/errata"];

#[test]
fn each_claim_has_a_verdict_or_the_reason_why_not() {
    let args = [&["reproduce", "--format", "json"], &COMPUTED[..]].concat();
    let results: Value = serde_json::from_str(&good(&mut sluice(&args))).unwrap();
    let claims = results["claims"].as_array().unwrap();
    assert!(claims.len() > 20);
    for claim in claims {
        let is_decided = matches!(claim["verdict"].as_str(), Some("holds" | "differs"));
        assert!(is_decided && claim["found"].is_string(), "{claim}");
        assert!(claim["verdict"] != "differs" || claim["note"].is_string(), "{claim}");
    }
}

#[test]
fn one_experiment_prints_its_numbers_and_claims() {
    let text = good(&mut sluice(&["reproduce", "pushdowndb/table2"]));
    for part in [
        "modelled for paper",
        "published cents",
        "P17",
        "14 claims: 12 hold (5 by construction), 2 differ",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let rules = good(&mut sluice(&["reproduce", "--claims", "icpe", "--format", "csv"]));
    assert_eq!(rules.lines().count(), 28);
}

#[test]
fn an_unknown_experiment_is_refused_with_those_that_there_are() {
    let none = "there is no experiment `fig1`; there are pushdowndb/";
    ends(&mut sluice(&["reproduce", "fig1"]), 2, none);
    ends(&mut sluice(&["reproduce", "--claims", "fig1"]), 2, "no claim is of `fig1`");
}

/// An experiment of several short commands.
const LIVE: [&str; 5] = ["reproduce", "cheetah/protocol", "--quick", "--scale", "0.01"];

/// Returns the numbers of `3 commands ran, the output of 4 was there`.
fn counts(output: &Output) -> [usize; 2] {
    let said = text(&output.stderr);
    let line = said.lines().find(|line| line.contains(" commands ran, "));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    let numbers = line.split_ascii_whitespace().filter_map(|word| word.parse().ok());
    numbers.collect::<Vec<usize>>().try_into().unwrap()
}

#[test]
fn a_command_that_has_run_is_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("evaluation");
    let run = || {
        let args = [&LIVE[..], &["--format", "json", "--to"]].concat();
        let output = sluice(&args).arg(&place).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        (counts(&output), text(&output.stdout))
    };
    let ([ran, reused], first) = run();
    assert!(ran > 1 && reused == 0, "{ran} {reused}");
    let (again, second) = run();
    assert_eq!((again, second), ([0, ran], first));
    let report = fs::read_to_string(place.join("report.html")).unwrap();
    assert!(report.contains("cheetah/protocol") && report.ends_with("</html>\n"), "{report}");
    let results: Value =
        serde_json::from_str(&fs::read_to_string(place.join("results.json")).unwrap()).unwrap();
    assert_eq!(results["experiments"][0]["id"], "cheetah/protocol");
    // An output that is lost is made again, alone.
    let results = place.join("results/cheetah/protocol");
    let lost = fs::read_dir(results).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(lost).unwrap();
    assert_eq!(run().0, [1, ran - 1]);
}

/// Ctrl-C and a kill lose the command that runs, and nothing else.
#[cfg(unix)]
#[test]
fn a_stopped_evaluation_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("evaluation");
    let command = || {
        let mut command = sluice(&["reproduce", "pushdowndb/fig9", "--quick", "--scale", "0.005"]);
        command.arg("--to").arg(&place);
        command
    };
    let results = place.join("results/pushdowndb/fig9");
    let finished = || fs::read_dir(&results).map_or(0, Iterator::count);
    for (signal, least, code) in [("-INT", 1, Some(130)), ("-KILL", 2, None)] {
        let mut child = command().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let started = Instant::now();
        while finished() < least && child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < Duration::from_secs(120), "nothing finished");
            thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        // It may have ended before the signal.
        if !output.status.success() {
            assert_eq!(output.status.code(), code, "{}", text(&output.stderr));
        }
    }
    let before = finished();
    let output = command().output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let [ran, reused] = counts(&output);
    assert_eq!((reused, ran + reused), (before, finished()));
}

#[test]
fn two_evaluations_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let lock = fs::File::create(folder.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let mut command = sluice(&LIVE);
    command.arg("--to").arg(folder.path());
    ends(&mut command, 1, "another process evaluates in");
    let file = folder.path().join("lock");
    let mut command = sluice(&LIVE);
    bad(command.arg("--to").arg(file), "lock");
}

/// Workers are processes beside the store. DuckDB and MinIO are scripts here: DuckDB's prints times, and MinIO's serves
/// with `sluice`.
#[cfg(unix)]
#[test]
fn workers_and_other_programs_are_measured() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (place, given) = (folder.path().join("evaluation"), folder.path().join("given"));
    let sluice_file = env!("CARGO_BIN_EXE_sluice");
    let log = format!("echo \"$0 $*\" >> {}", given.display());
    let minio =
        format!("#!/bin/sh\n{log}\nexec {sluice_file} serve --dir \"$2\" --listen \"$4\"\n");
    let times = "for _ in $(seq 16); do echo 'Run Time (s): real 0.125 user 0.1 sys 0.1'; done";
    let duckdb = format!("#!/bin/sh\n{log}\n{times}\n");
    for (name, text) in [("minio", minio), ("duckdb", duckdb)] {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let args = ["reproduce", "ours/select-speed", "ours/workers", "--quick", "--scale", "0.005"];
    let mut command = sluice(&args);
    command.args(["--format", "json", "--to"]).arg(&place);
    command.env("PATH", format!("{}:{path}", folder.path().display()));
    let results: Value = serde_json::from_str(&good(&mut command)).unwrap();
    let rows = |experiment: usize, table: usize| {
        let rows = &results["experiments"][experiment]["tables"][table]["rows"];
        serde_json::from_value::<Vec<Vec<String>>>(rows.clone()).unwrap()
    };
    let states: Vec<String> = rows(0, 1).into_iter().map(|row| row[2].clone()).collect();
    assert_eq!(states, ["measured"; 4]);
    for (program, count) in [("sluice serve", 10), ("MinIO", 5), ("DuckDB", 10)] {
        assert_eq!(rows(0, 0).iter().filter(|row| row[1] == program).count(), count, "{program}");
    }
    let given = fs::read_to_string(given).unwrap();
    assert!(given.contains("/minio server ") && given.contains(" --address 127.0.0.1:"), "{given}");
    let view = "read_csv('data/ours-tpch/sf0.005/csv/lineitem/*.csv')";
    assert!(given.contains("/duckdb -json -c .timer on -c create view") && given.contains(view));
    let workers: Vec<(String, String)> =
        rows(1, 0).iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let expected = ["scan", "aggregate", "join"]
        .iter()
        .flat_map(|query| (1..=4).map(|count| ((*query).to_owned(), count.to_string())));
    assert_eq!(workers, expected.collect::<Vec<_>>());
    let temporary = fs::read_dir(place.join("temporary")).unwrap();
    let greetings = temporary.filter_map(|entry| {
        let path = entry.unwrap().path();
        path.to_str()?.ends_with(".out").then(|| fs::read_to_string(path).unwrap())
    });
    assert_eq!(greetings.filter(|it| it.starts_with("worker at http://127.0.0.1:")).count(), 4);
    let report = fs::read_to_string(place.join("report.html")).unwrap();
    for typed in [
        "sluice worker --listen 127.0.0.1:9102 &amp;",
        "sluice sql --workers http://127.0.0.1:9101,http://127.0.0.1:9102 --format csv",
        "minio server minio &amp;",
    ] {
        assert!(report.contains(typed), "{typed}");
    }
    let facts: Value =
        serde_json::from_str(&fs::read_to_string(place.join("results.json")).unwrap()).unwrap();
    assert_eq!(facts["evaluation"]["setting"]["scale"], 0.005);
}
