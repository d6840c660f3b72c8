//! `sluice switch sweep` and `time`: numbers along axes.

use serde_json::Value;

use crate::cli::{good, sluice};
use crate::switch::cli::refused;

fn json(args: &[&str]) -> Vec<Value> {
    let said = good(sluice(args).args(["--format", "json"]));
    serde_json::from_str::<Value>(&said).unwrap().as_array().unwrap().clone()
}

const KEYS: &str = "generated:zipf:entries=20000:keys=4000";

#[test]
fn a_sweep_has_intervals_beside_the_optimum() {
    let rows = json(&[
        "switch",
        "sweep",
        "--algorithm",
        "distinct,distinct-fifo",
        "--over",
        "d=64..1024",
        "--input",
        KEYS,
        "--seeds",
        "4",
    ]);
    assert_eq!(rows.len(), 2 * 5);
    for pair in rows.chunks(5).flat_map(|line| line.windows(2)) {
        assert!(
            pair[1]["forwarded_share"].as_f64() < pair[0]["forwarded_share"].as_f64(),
            "{pair:?}"
        );
    }
    for row in &rows {
        let [low, mean, high] =
            ["low", "forwarded_share", "high"].map(|name| row[name].as_f64().unwrap());
        assert!(
            low <= mean && mean <= high && row["optimum_share"].as_f64().unwrap() <= mean,
            "{row}"
        );
        assert_eq!((row["runs"].as_u64(), row["wrong"].as_u64()), (Some(4), Some(0)));
    }
    // A second axis makes lines; a prefix of its name is enough.
    let rows = json(&[
        "switch",
        "sweep",
        "--algorithm",
        "group-by",
        "--over",
        "prefix=1000..20000/3",
        "--over",
        "w=1,4",
        "--input",
        KEYS,
        "--seeds",
        "2",
    ]);
    let of = |row: &Value| (row["line"].clone(), row["entries"].as_u64().unwrap());
    let places: Vec<_> = rows.iter().map(of).collect();
    let entries = [1000, 4472, 20000];
    let expected: Vec<_> = ["w=1", "w=4"]
        .into_iter()
        .flat_map(|line| entries.map(|entries| (Value::from(line), entries)))
        .collect();
    assert_eq!(places, expected);
    assert!(
        rows[2]["forwarded_share"].as_f64() < rows[0]["forwarded_share"].as_f64(),
        "figure 11: it scales"
    );
}

/// Figure 10f: over a CSV file with decimals, the threshold is in the column's unit, and a DISTINCT behind HAVING lets
/// each key through once.
#[test]
fn sums_of_decimals_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("visits.csv");
    // Twenty languages: the n-th has 300 visits of n tenths and a cent.
    let rows: String = (0..6000)
        .map(|row| format!("l{0},{1}.{2}1\n", row % 20, row % 20 / 10, row % 10))
        .collect();
    std::fs::write(&file, format!("language,revenue\n{rows}")).unwrap();
    let base = ["--algorithm", "having", "--column", "language,revenue"];
    let input = ["--input", file.to_str().unwrap()];
    let run =
        |more: &[&str]| json(&[&["switch", "run"][..], &base, &input, more].concat()).remove(0);
    // The sums are 3, 33, 63, … 573 dollars; eight of them are more than 333, and one is 333 itself.
    let distinct = ["--then-distinct", "--threshold", "333"];
    let row = run(&[&distinct[..], &["--check"]].concat());
    assert_eq!((&row["forwarded"], &row["optimum"]), (&8.into(), &8.into()), "{row}");
    assert_eq!((&row["answer"], &row["checked"]), (&"unchanged".into(), &6000.into()));
    let alone = run(&["--threshold", "333"]);
    assert!(alone["forwarded"].as_u64() > Some(500) && alone["optimum"] == 8, "{alone}");
    let rounded = run(&[&distinct[..], &["--decimals", "1"]].concat());
    assert_eq!(rounded["optimum"], 9, "a cent is rounded up to ten: {rounded}");
    let over = ["--over", "w=256..1024", "--seeds", "3"];
    let rows = json(&[&["switch", "sweep"][..], &base, &input, &over, &distinct].concat());
    for row in &rows {
        assert_eq!((&row["over_optimum"], &row["wrong"]), (&1.0.into(), &0.into()), "{row}");
    }
    let over = ["--over", "threshold=30,333", "--seeds", "1"];
    let rows =
        json(&[&["switch", "sweep"][..], &base, &input, &over, &["--then-distinct"]].concat());
    let optimum = |row: &Value| (row["optimum_share"].as_f64().unwrap() * 6000.0).round();
    assert_eq!((optimum(&rows[0]), optimum(&rows[1])), (19.0, 8.0));
    // What is rounded must stay an answer: a filter compares exactly.
    let filter = ["switch", "run", "--algorithm", "filter", "--column", "revenue"];
    let below = json(&[&filter[..], &input, &["--threshold", "1"]].concat()).remove(0);
    assert_eq!(below["forwarded"], 3000, "{below}");
    let rounded = [&filter[..], &input, &["--decimals", "1"]].concat();
    refused(&mut sluice(&rounded), "of which packets of 32 bits carry 1");
    // The greatest threshold, and the reason of the limit for sums.
    for algorithm in ["filter", "having-below"] {
        let run = ["switch", "run", "--algorithm", algorithm, "--threshold", "4294967295"];
        let row = json(&[&run[..], &["--input", KEYS]].concat()).remove(0);
        assert_eq!(row["answer"], "unchanged", "{row}");
    }
    let run = ["switch", "run", "--algorithm", "having", "--input", KEYS];
    let mut unreachable = sluice(&[&run[..], &["--threshold", "4294967295"]].concat());
    refused(
        &mut unreachable,
        "the greatest threshold is 4294967294, not 4294967295: a counter of 32",
    );
    let mut other = sluice(&["switch", "run", "--algorithm", "distinct", "--decimals", "1"]);
    refused(other.args(["--input", KEYS]), "--decimals is for a --threshold");
    let mut other = sluice(&["switch", "run", "--algorithm", "distinct", "--then-distinct"]);
    refused(other.args(["--input", KEYS]), "a DISTINCT follows `having`");
}

/// HAVING with <, which the paper leaves out: entries of a group that has reached the threshold are dropped.
#[test]
fn having_below_prunes_what_is_above() {
    let run = ["switch", "run", "--algorithm", "having-below", "--threshold", "50000"];
    let row = json(&[&run[..], &["--input", KEYS, "--check"]].concat()).remove(0);
    assert_eq!((&row["answer"], &row["checked"]), (&"unchanged".into(), &20000.into()));
    let share = |name: &str| row[name].as_f64().unwrap();
    assert!(share("optimum_share") < 0.9 && share("forwarded_share") < 0.9, "{row}");
}

#[test]
fn the_same_seeds_give_the_same_numbers() {
    let run = |first: &str| {
        json(&[
            "switch",
            "sweep",
            "--algorithm",
            "group-by",
            "--over",
            "w=2..3",
            "--input",
            KEYS,
            "--first-seed",
            first,
        ])
    };
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn a_sweep_is_a_picture_a_table_and_csv() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("10a.svg");
    let args = ["switch", "sweep", "--algorithm", "distinct", "--over", "w=1..3", "--input", KEYS];
    good(sluice(&args).args(["--output", file.to_str().unwrap()]));
    let svg = std::fs::read_to_string(file).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("OPT") && svg.contains("distinct"), "{svg}");
    let table = good(&mut sluice(&args));
    assert!(table.contains("Student's t") && table.lines().count() > 20, "{table}");
    let csv = good(sluice(&args).args(["--format", "csv"]));
    assert!(csv.starts_with("algorithm,line,axis,value,") && csv.lines().count() == 4, "{csv}");
}

#[test]
fn a_range_has_what_the_algorithm_takes() {
    let base = ["switch", "sweep", "--algorithm", "having", "--threshold", "2000", "--seeds", "1"];
    let over = |values| [&base[..], &["--input", KEYS, "--over", values]].concat();
    let rows = json(&over("w=64..16384"));
    let values: Vec<_> = rows.iter().map(|row| row["value"].as_u64().unwrap()).collect();
    assert_eq!(values, [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]);
    refused(&mut sluice(&over("w=64,100")), "having cannot have 100");
}

#[test]
fn what_is_no_axis_is_refused() {
    for (more, says) in [
        (&["--over", "x=1..2"][..], "NAME=LOW..HIGH"),
        (&["--over", "w=3..1"], "ends before it begins"),
        (&["--over", "w=1..2", "--over", "w=3..4"], "two of different names"),
        (&["--over", "hashes=1..2"], "no parameter hashes"),
    ] {
        let mut args = vec!["switch", "sweep", "--algorithm", "distinct", "--input", KEYS];
        args.extend(more);
        refused(&mut sluice(&args), says);
    }
}

#[test]
fn completion_times_are_modelled_with_their_sources() {
    let queries = json(&["switch", "time"]);
    assert_eq!(queries.len(), 9);
    let seconds = |row: &Value| row["seconds"].as_f64().unwrap();
    for row in &queries {
        let parts = ["rules", "workers", "network", "master", "drain"];
        let sum: f64 = parts.iter().map(|part| row[part].as_f64().unwrap()).sum();
        assert!((sum - seconds(row)).abs() < 0.01 * sum, "{row}");
    }
    // At twice the rate, the query is nearly twice as fast, as in the paper's figure 8.
    let links = json(&["switch", "time", "8"]);
    let faster = seconds(&links[0]) / seconds(&links[2]);
    assert!((1.8..2.0).contains(&faster), "{links:?}");
    assert!(json(&["switch", "time", "7"]).iter().any(|row| row["system"] == "NetAccel"));
    assert_eq!(json(&["switch", "time", "table3"]).len(), 5);
    let constants = json(&["switch", "time", "constants"]);
    assert!(constants.iter().all(|row| row["source"].as_str().unwrap().contains(": ")));
    let svg = good(sluice(&["switch", "time", "9"]).args(["--format", "svg"]));
    assert!(svg.starts_with("<svg") && svg.contains("Skyline"));
    refused(sluice(&["switch", "time", "table3"]).args(["--format", "svg"]), "only figures");
    // Appendix F: the control plane is slower than a link, whatever leaves the data plane.
    let drain = json(&["switch", "time", "12"]);
    assert_eq!(drain.len(), 20);
    for pair in drain.chunks(2) {
        assert_eq!(
            (&pair[0]["system"], &pair[1]["system"]),
            (&"Cheetah".into(), &"NetAccel".into())
        );
        assert!(seconds(&pair[0]) < seconds(&pair[1]), "{pair:?}");
    }
    let overflow =
        constants.iter().find(|row| row["constant"].as_str().unwrap().contains("processor"));
    assert!(overflow.unwrap()["source"].as_str().unwrap().starts_with("assumed: "));
}

/// Figure 9 on this machine: ten fractions of each operator, beside the assumed time.
#[test]
fn a_master_is_measured() {
    let rows = json(&["switch", "time", "9", "--measure", "--entries", "20000"]);
    assert_eq!(rows.len(), 6 * 10);
    for (number, row) in rows.iter().enumerate() {
        let part = (number % 10 + 1) as u64;
        assert_eq!(row["entries"], 2_000 * part, "{row}");
        let of = |name: &str| row[name].as_f64().unwrap();
        assert!(of("fastest") <= of("measured") && of("measured") <= of("slowest"), "{row}");
        assert!(of("slowest") > 0.0 && of("assumed") > 0.0, "{row}");
    }
    let table = good(&mut sluice(&["switch", "time", "9", "--measure", "--entries", "1000"]));
    assert!(table.contains("measured: seconds") && table.contains("assumed: seconds"), "{table}");
    refused(&mut sluice(&["switch", "time", "8", "--measure"]), "for figure 9");
}
