//! `sluice model` as it is typed: what is predicted of a query, here and elsewhere.

use std::process::Command;

use serde_json::Value;

use crate::cli::{Served, bad, good};

const QUERY: &str = "SELECT name, price FROM 's3://bucket/fruit.csv' WHERE id < 3";

fn model(served: &Served, more: &[&str]) -> Command {
    let mut command = served.command(&["model", "--profile", "sluice", "--draws", "200"]);
    command.args(["-c", QUERY]).args(more);
    command
}

fn json(served: &Served, more: &[&str]) -> Value {
    let text = good(model(served, more).args(["--format", "json"]));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["version"], 1);
    value["statements"][0]["cases"].clone()
}

/// The way of that name, of the first operator.
fn way<'a>(case: &'a Value, strategy: &str) -> &'a Value {
    let ways = case["operators"][0]["ways"].as_array().unwrap();
    ways.iter().find(|way| way["strategy"] == strategy).unwrap()
}

fn seconds(case: &Value, strategy: &str) -> f64 {
    way(case, strategy)["seconds"].as_f64().unwrap()
}

#[test]
fn every_way_has_the_numbers_of_explain_and_an_interval() {
    let served = Served::start();
    let cases = json(&served, &[]);
    let case = &cases[0];
    let explained = good(&mut served.command(&["explain", "--profile", "sluice", "-c", QUERY]));
    for strategy in ["get", "select"] {
        let way = way(case, strategy);
        let shown = format!("{:.3} s, $", way["seconds"].as_f64().unwrap());
        let line =
            explained.lines().find(|it| it.trim_start_matches([' ', '*']).starts_with(strategy));
        assert!(line.unwrap().contains(&shown), "{shown}: {explained}");
        for interval in ["seconds_p10_p50_p90", "dollars_p10_p50_p90"] {
            let [low, middle, high] = [0, 1, 2].map(|place| way[interval][place].as_f64().unwrap());
            assert!(0.0 < low && low < middle && middle < high, "{way}");
        }
    }
    let ways = case["operators"][0]["ways"].as_array().unwrap();
    let certain: f64 = ways.iter().map(|way| way["best_probability"].as_f64().unwrap()).sum();
    assert!((certain - 1.0).abs() < 1e-9);
    assert_eq!(ways.iter().filter(|way| way["taken"] == true).count(), 1);
    assert!(!case["operators"][0]["sensitivity"].as_array().unwrap().is_empty());
    // The same seed gives the same numbers, another one does not.
    assert_eq!(cases, json(&served, &[]));
    assert_ne!(cases, json(&served, &["--seed", "2"]));
}

#[test]
fn a_what_if_changes_what_it_names() {
    let served = Served::start();
    let cases = json(&served, &["--what-if", "latency=1s", "--what-if", "store=smart-ssd"]);
    let [here, far, smart] = [&cases[0], &cases[1], &cases[2]];
    // local-1gbit has 1 ms.
    let later = seconds(far, "get") - seconds(here, "get");
    assert!((later - 0.999).abs() < 1e-6, "{later}");
    assert_eq!(far["what_if"], "latency=1s");
    assert!(seconds(smart, "select") < seconds(here, "select"));
    assert_eq!(seconds(smart, "get"), seconds(here, "get"));
    assert!(smart["sources"][0].as_str().unwrap().contains("ICPE 2020"));
    // The store that does not sell Select offers none.
    let express = json(&served, &["--what-if", "prices=s3-express-us-east-1"]);
    assert_eq!(express[1]["operators"][0]["impossible"][0]["strategy"], "select");
}

#[test]
fn a_sweep_has_a_line_for_each_way_at_each_point() {
    let served = Served::start();
    let csv = |axis: &str| good(model(&served, &["--sweep", axis]).args(["--format", "csv"]));
    let column = |csv: &str, axis: &str, strategy: &str| -> Vec<f64> {
        let lines = csv.lines().filter(|it| it.contains(axis) && it.contains(strategy));
        lines.map(|line| line.split(',').nth(10).unwrap().parse().unwrap()).collect()
    };
    let bandwidth = csv("bandwidth=1kbit..1Gbit/4");
    let (get, select) =
        (column(&bandwidth, "bandwidth", ",get,"), column(&bandwidth, "bandwidth", ",select,"));
    assert_eq!((get.len(), select.len()), (4, 4), "{bandwidth}");
    assert!(get.is_sorted_by(|a, b| a >= b) && get[0] > 2.0 * get[3], "{get:?}");
    // More rows, more bytes; whole objects are as large as ever.
    let selectivity = csv("selectivity=0,0.5,1");
    let select = column(&selectivity, "selectivity", ",select,");
    let get = column(&selectivity, "selectivity", ",get,");
    assert!(select.is_sorted() && select[0] < select[2], "{select:?}");
    assert!(get.len() == 3, "{selectivity}");
    let scale = csv("scale=1,1000");
    let get = column(&scale, "scale", ",get,");
    assert!(get[1] > get[0], "{get:?}");
}

#[test]
fn a_picture_is_a_file_of_its_own() {
    let served = Served::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.svg");
    let output = ["--sweep", "bandwidth=0.1..10Gbit/3", "--output", path.to_str().unwrap()];
    assert_eq!(good(&mut model(&served, &output)), "");
    let svg = std::fs::read_to_string(&path).unwrap();
    assert!(svg.contains("<svg") && svg.contains("select") && svg.contains("bandwidth (Gbit/s)"));
    let table = good(&mut model(&served, &["--sweep", "bandwidth=0.1..10Gbit/3"]));
    // No colours in a pipe.
    assert!(table.contains("316 Mbit/s") || table.contains("1 Gbit/s"), "{table}");
    assert!(!table.contains('\u{1b}'), "{table}");
    let best = "`*` is the cheapest way of those that take at most 5 % longer than the fastest";
    assert!(table.contains(best), "{table}");
}

#[test]
fn what_cannot_be_is_said_before_work_starts() {
    let served = Served::start();
    let refused = |more: &[&str], words: &str| {
        let output = model(&served, more).output().unwrap();
        let said = crate::cli::text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(output.stdout.is_empty());
    };
    refused(&["--sweep", "speed=1..2"], "`speed`: is not a constant; there are bandwidth");
    refused(&["--sweep", "bandwidth=10..1Gbit"], "the first value must be below the last");
    refused(&["--what-if", "store=magic"], "there is no `magic`");
    refused(&["--what-if", "bandwidth=8Gb/s"], "write 8Gbit/s or 8GB/s");
    refused(&["--what-if", "bandwidth"], "a what-if is `name=value`");
    refused(&["--format", "svg"], "a picture needs an axis");
    bad(&mut served.command(&["model", "-c", "SET sluice.scan = 'get'"]), "there is no query");
    let nowhere = ["model", "-c", "SELECT * FROM 's3://bucket/nothing.csv'"];
    bad(&mut served.command(&nowhere), "nothing.csv");
}
