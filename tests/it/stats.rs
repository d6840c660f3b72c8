//! Statistics of statements: on stderr, and as JSON.

use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::cli::{Served, ends, good, sluice, text};

#[test]
fn stats_say_what_was_counted() {
    let served = Served::start();
    let query = "SELECT count(*) FROM 's3://bucket/fruit.csv'";
    let args = ["sql", "--stats", "--store", "sluice", "--scan", "select", "-c", query];
    let Output { status, stderr, .. } = served.command(&args).output().unwrap();
    let said = text(&stderr);
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains("1 SELECT") && said.contains("paper-2020-us-east-1"), "{said}");
}

/// Returns the lines of a file of statistics.
fn lines(file: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_program_reads_the_statistics_of_each_statement() {
    let (served, folder) = (Served::start(), tempfile::tempdir().unwrap());
    let file = folder.path().join("stats.json");
    let query = "SELECT name FROM 's3://bucket/fruit.csv' WHERE id = 1";
    let args = ["sql", "--store", "sluice", "--scan", "select", "--format", "csv"];
    let mut command = served.command(&args);
    command.args(["-c", "SET sluice.objective = 'dollars'", "-c", query]);
    let answer = good(command.arg("--stats-json").arg(&file));
    assert_eq!(answer, "name\napple\n");
    let [definition, statement] = lines(&file).try_into().unwrap();
    assert_eq!(definition["is_definition"], true);
    assert_eq!(statement["statement"], query);
    let numbers = ["rows", "requests.select", "fallbacks"].map(|path| {
        path.split('.').fold(&statement, |value, field| &value[field]).as_u64().unwrap()
    });
    assert_eq!(numbers, [1, 1, 0]);
    // The answer is `apple` and a line end.
    assert_eq!(statement["bytes"]["returned"], 6);
    let positive = |value: &Value| value.as_f64().unwrap() > 0.0;
    assert!(positive(&statement["seconds"]) && positive(&statement["dollars"]["total"]));
    assert!(positive(&statement["predicted"]["seconds"]), "{statement}");
    let strategy = &statement["strategies"][0];
    assert_eq!((&strategy["operator"], &strategy["strategy"]), (&"scan".into(), &"select".into()));
    assert_eq!(strategy["is_forced"], true);
}

#[test]
fn the_statistics_end_with_the_statement_that_failed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stats.json");
    let args = ["sql", "-c", "SELECT 1", "-c", "SELECT nothing", "-c", "SELECT 2", "--stats-json"];
    let Output { status, stderr, .. } = sluice(&args).arg(&file).output().unwrap();
    assert_eq!(status.code(), Some(1), "{}", text(&stderr));
    let [first, failed] = lines(&file).try_into().unwrap();
    assert_eq!((&first["rows"], &first["error"]), (&1.into(), &Value::Null));
    assert!(failed["error"].as_str().unwrap().contains("No field named nothing"), "{failed}");
    assert_eq!(failed["is_definition"], false);
    let nowhere = folder.path().join("no/such/folder");
    ends(sluice(&["sql", "-c", "SELECT 1", "--stats-json"]).arg(nowhere), 1, "no/such");
}
