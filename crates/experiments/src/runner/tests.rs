//! The runner with programs that are scripts.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;
use crate::experiment::Method;
use crate::{Outcome, ours};

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: RunEvent<'_>) {}

    fn is_stopped(&mut self) -> bool {
        false
    }
}

fn script(path: PathBuf, text: &str) -> PathBuf {
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn runner(folder: &Path, sluice: &str) -> Runner<Silent> {
    let program = script(folder.join("sluice"), sluice);
    let mut runner =
        Runner::new(&program, &folder.join("evaluation"), Setting::QUICK, Silent).unwrap();
    runner.folder.search_in(folder);
    runner
}

fn experiment(runs: fn(&Setting) -> Vec<Run>) -> Experiment {
    let evaluate = |_: &Setting, _: &Results| Ok(Outcome::default());
    Experiment { id: "x/y", title: "", place: "", method: Method::Live { runs, evaluate } }
}

#[test]
fn a_command_that_takes_too_long_is_stopped_and_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let sluice = "if [ \"$1\" = slow ]; then exec sleep 600; fi; echo '[1]'";
    let mut runner = runner(folder.path(), sluice).with_limit(Duration::from_millis(200));
    let started = Instant::now();
    let error = runner.run(&experiment(|_| vec![Run::command("a", &["slow", "one"])]));
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("`sluice slow one` was stopped after 0.2 s, the limit"), "{error}");
    assert!(error.contains("--scale") && started.elapsed() < Duration::from_secs(60), "{error}");
    runner.surroundings.limit = LIMIT;
    let results = runner.run(&experiment(|_| vec![Run::command("b", &["fast"])])).unwrap();
    assert_eq!(results.output::<Vec<u8>>("b").unwrap(), [1]);
}

#[test]
fn larger_data_get_more_time() {
    let folder = tempfile::tempdir().unwrap();
    let program = script(folder.path().join("sluice"), "");
    let setting = Setting { scale: 10.0, ..Setting::FULL };
    let runner = Runner::new(&program, &folder.path().join("e"), setting, Silent).unwrap();
    assert_eq!(runner.surroundings.limit, 10 * LIMIT);
}

fn local(_: &Setting) -> Vec<Run> {
    vec![Run {
        data: Vec::new(),
        ..Run::duckdb("d", &Data::new("none", &[]), &["select 1".to_owned(), "select 2".to_owned()])
    }]
}

#[test]
fn a_program_of_others_is_measured_where_it_is_installed() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = runner(folder.path(), "");
    let none = runner.run(&experiment(local)).unwrap();
    assert_eq!(none.missing("d").unwrap(), Some("duckdb"));
    assert_eq!(runner.missing(&[&experiment(local)]).unwrap(), 0);
    let said = "[{\"1\":1}]\\nRun Time (s): real 0.250 user 0.1 sys 0.0";
    let text = format!(
        "printf '%s ' \"$@\" > {}/given; printf '{said}\\n{said}\\n'",
        folder.path().display()
    );
    script(folder.path().join("duckdb"), &text);
    // The program is an input of the run.
    assert_eq!(runner.missing(&[&experiment(local)]).unwrap(), 1);
    let found = runner.run(&experiment(local)).unwrap();
    assert_eq!(found.missing("d").unwrap(), None);
    assert_eq!(found.output::<Vec<f64>>("d").unwrap(), [0.25, 0.25]);
    let given = fs::read_to_string(folder.path().join("given")).unwrap();
    assert_eq!(given, "-json -c .timer on -c select 1 -c select 2 ");
}

#[test]
fn records_are_read_whatever_program_wrote_them() {
    let folder = tempfile::tempdir().unwrap();
    let fast = experiment(|_| vec![Run::command("b", &["fast"])]);
    runner(folder.path(), "echo '[1]'").run(&fast).unwrap();
    let place = folder.path().join("evaluation");
    assert_eq!(runner(folder.path(), "echo '[2]'").missing(&[&fast]).unwrap(), 1);
    let read = recorded(&place, &fast, &Setting::QUICK).unwrap();
    assert_eq!(read.output::<Vec<u8>>("b").unwrap(), [1]);
    let other = experiment(|_| vec![Run::command("b", &["other"])]);
    assert!(recorded(&place, &other, &Setting::QUICK).unwrap().record("b").is_err());
}

/// The programs that are compared may be missing.
#[test]
fn select_speed_needs_no_other_program() {
    let setting = Setting::QUICK;
    let statement = |text: &str| {
        serde_json::json!({
            "statement": text, "seconds": 0.5, "bytes": {"scanned": 1_000_000, "returned": 1},
        })
    };
    let mut results = Results::default();
    let runs = ours::select_speed::EXPERIMENT.runs(&setting);
    for run in &runs {
        let missing = run.peer.map(|it| it.program().to_owned());
        let output = (0..5).map(|at| statement(&at.to_string())).collect();
        results.insert(run.name.clone(), Record { output, missing, ..Record::default() });
    }
    let outcome = ours::select_speed::EXPERIMENT.evaluate(&setting, &results).unwrap();
    let states: Vec<&str> = outcome.tables[1].rows.iter().map(|row| row[2].as_str()).collect();
    let missing = "not installed on this machine";
    assert_eq!(states, ["measured", missing, missing, missing]);
    // A view, and three rounds of five queries.
    let output = (0..16).map(f64::from).collect();
    let duckdb = runs.iter().find(|run| run.name == "DuckDB, CSV").unwrap();
    results.insert(duckdb.name.clone(), Record { output, ..Record::default() });
    let outcome = ours::select_speed::EXPERIMENT.evaluate(&setting, &results).unwrap();
    let rows = &outcome.tables[0].rows;
    let seconds = rows.iter().filter(|row| row[1] == "DuckDB").map(|row| row[5].as_str());
    assert_eq!(seconds.collect::<Vec<_>>(), ["6.000", "7.000", "8.000", "9.000", "10.000"]);
}
