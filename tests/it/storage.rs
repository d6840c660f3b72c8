//! `sluice storage` on the command line.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use arrow::util::pretty::pretty_format_batches;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{CsvReadOptions, SessionConfig, SessionContext};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::{Served, bad, good, sluice, text};

/// Returns the example of ICPE 2020, Fig. 4: its edges, its seconds of scan, filter and project, and other times that
/// fit its 18 seconds.
fn worked_example() -> Value {
    let stage = |id: u64, sfp: f64, rest: f64, after: &[u64]| {
        json!({
            "id": id, "wall_seconds": sfp + rest, "thread_seconds": 4.0 * (sfp + rest),
            "scan_seconds": 3.0 * sfp, "filter_project_seconds": sfp, "after": after,
        })
    };
    json!({"version": 1, "name": "Fig. 4", "cores": 4, "stages": [
        stage(0, 1.0, 2.0, &[]), stage(1, 5.0, 2.0, &[]), stage(2, 8.0, 2.0, &[]),
        stage(3, 0.0, 5.0, &[1]), stage(4, 0.0, 4.0, &[2]), stage(5, 0.0, 4.0, &[0, 3, 4]),
    ]})
}

fn written(contents: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stages.json");
    fs::write(&path, contents).unwrap();
    (folder, path)
}

fn storage(path: &std::path::Path, more: &[&str]) -> Command {
    let mut command = sluice(&["storage", "--stages"]);
    command.arg(path).args(more);
    command
}

#[test]
fn the_papers_example_takes_12_of_18_seconds() {
    let (_folder, path) = written(&worked_example().to_string());
    let text = good(&mut storage(&path, &[]));
    for expected in [
        "Fig. 4: 18.000 s → 12.000 s with icpe-2020 (modelled; no limit to the stages at once): 1.50 times",
        "Scan Ratio 31.8 %, of scan, filter and project 42.4 %",
        "critical path: 2 → 4 → 5 before, 1 → 3 → 5 with the device",
        "source: Modeling Analytics for Computational Storage (ICPE 2020)",
    ] {
        assert!(text.contains(expected), "no {expected} in {text}");
    }
    let printed = good(&mut storage(&path, &["--formula", "printed"]));
    assert!(printed.contains("18.000 s → 17.000 s"), "{printed}");
    let alone = good(&mut storage(&path, &["--slots", "1", "--device", "ideal"]));
    assert!(alone.contains("33.000 s → 19.000 s"), "{alone}");
    assert!(
        alone.contains("critical path 11.000 s ≤ schedule 19.000 s ≤ Graham's bound 19.000 s"),
        "{alone}"
    );
    let stages: Vec<Value> =
        serde_json::from_str(&good(&mut storage(&path, &["--format", "json", "--setup", "0s"])))
            .unwrap();
    let of = |place: usize, field: &str| stages[place][field].as_f64().unwrap();
    assert_eq!(
        (of(2, "measured_s"), of(2, "estimated_s"), of(2, "sfp_percent")),
        (10.0, 2.0, 80.0)
    );
    assert_eq!(stages[5]["after"], "0 3 4");
}

/// Each operation that a drive takes beyond scan, filter and project shortens the stage.
#[test]
fn drives_may_do_more_than_the_papers() {
    let stages = json!([{
        "id": 0, "wall_seconds": 22, "thread_seconds": 22, "scan_seconds": 8,
        "filter_project_seconds": 2, "aggregate_seconds": 5, "scanned_bytes": 9e9, "result_bytes": 3e9,
        "aggregate_dropped_bytes": 9e8, "read_bytes": 9e9,
        "semi_joins": [{"build_bytes": 3e6, "seconds": 4, "dropped_bytes": 2e9}],
    }]);
    for (args, words) in [
        (&[][..], "q: 22.000 s → 14.000 s with icpe-2020 (modelled;"),
        (&["--offload", "decode"], "22.000 s → 18.000 s"),
        (&["--offload", "filter,decode"], "22.000 s → 14.000 s"),
        (&["--offload", "decode,filter,aggregate"], "22.000 s → 8.700 s"),
        (
            &["--device", "icpe-2020-what-if"],
            "q: 22.000 s → 4.034 s with icpe-2020-what-if (modelled;",
        ),
        (
            &["--device", "icpe-2020-what-if"],
            "of the thread time, aggregates of scanned rows 22.7 % and joins for rows without a match 18.2 %",
        ),
        (
            &["--device", "icpe-2020-what-if"],
            "without scan, filter, project, semi-join and aggregate, 13.6 % of the thread time is left",
        ),
        (&["--offload", "decode"], "icpe-2020 (2020-04) for scan: 1s to set up"),
    ] {
        says(&printed(2.0, &stages, args), &[words]);
    }
    let (folder, path) = written(&worked_example().to_string());
    for (list, words) in [
        ("filter", "--offload must have `decode`"),
        ("magic", "is none of decode, filter, semi-join, aggregate"),
    ] {
        let output = storage(&path, &["--offload", list]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
    let output = storage(&path, &["--device", "icpe-2020-what-if"]).output().unwrap();
    let note = "note: no stage has aggregate_seconds or semi_joins";
    assert!(output.status.success() && text(&output.stderr).contains(note));
    // A drive of one's own that decodes at 1 GB/s.
    let device = folder.path().join("device.toml");
    let drive = "name = \"mine\"\ndate = \"2026\"\nsource = \"none\"\nsetup_seconds = 0\n\
                 media_bytes_per_second = inf\nlink_bytes_per_second = inf\nfilter_bytes_per_second = inf\n\
                 decode_bytes_per_second = 1e9\noffloads = [\"decode\", \"filter\"]\n";
    fs::write(&device, drive).unwrap();
    let mine = printed(2.0, &stages, &["--device", device.to_str().unwrap()]);
    says(&mine, &["22.000 s → 21.000 s with mine"]);
}

/// Both schedules, as JSON and as a Gantt chart.
#[test]
fn stages_have_two_schedules() {
    let (folder, path) = written(&worked_example().to_string());
    let stages: Vec<Value> =
        serde_json::from_str(&good(&mut storage(&path, &["--format", "json"]))).unwrap();
    let of = |place: usize| {
        let number = |field: &str| stages[place][field].as_f64().unwrap();
        let times = [
            number("measured_start_s"),
            number("measured_end_s"),
            number("start_s"),
            number("end_s"),
        ];
        (times, stages[place]["critical"].as_str().unwrap())
    };
    assert_eq!(of(2), ([0.0, 10.0, 0.0, 3.0], "before"));
    assert_eq!(of(3), ([7.0, 12.0, 3.0, 8.0], "with device"));
    assert_eq!(of(5), ([14.0, 18.0, 8.0, 12.0], "both"));
    let chart = folder.path().join("q.svg");
    good(&mut storage(&path, &["-o", chart.to_str().unwrap()]));
    let svg = fs::read_to_string(&chart).unwrap();
    says(&svg, &["<svg", "Fig. 4", "measured", "with icpe-2020 (modelled)", "critical path"]);
    assert_eq!(svg, good(&mut storage(&path, &["--format", "svg"])));
    let refused =
        sluice(&["storage", "-c", "SELECT 1", "--model-tables", "scratch", "--format", "svg"]);
    let output = { refused }.output().unwrap();
    assert!(text(&output.stderr).contains("--model-tables has none"));
}

/// Runs `sluice storage` on stages from a file and returns its output.
fn printed(cores: f64, stages: &Value, more: &[&str]) -> String {
    let file = json!({"version": 1, "name": "q", "cores": cores, "stages": stages});
    let (_folder, path) = written(&file.to_string());
    good(&mut storage(&path, more))
}

#[track_caller]
fn says(text: &str, words: &[&str]) {
    for words in words {
        assert!(text.contains(words), "no {words} in {text}");
    }
}

#[test]
fn only_what_is_offloaded_is_sent() {
    let stages = json!([
        {"id": 0, "wall_seconds": 10, "thread_seconds": 10, "scan_seconds": 5, "read_bytes": 1e9,
         "result_bytes": 1e6},
        {"id": 1, "wall_seconds": 1, "thread_seconds": 1, "result_bytes": 9e9, "after": [0]},
    ]);
    let text = printed(2.0, &stages, &[]);
    says(
        &text,
        &["; 977 KiB sent\n", "fewer bytes allow 1000.00 ×, less work for the cores 1.83 ×"],
    );
    let stays = printed(2.0, &stages, &["--setup", "100s", "--only-if-beneficial"]);
    says(&stays, &["; 0 B sent\n", "no roofline: nothing is offloaded\n"]);
}

#[test]
fn bounds_are_of_the_critical_path() {
    // By thread time it would be 1.10.
    let beside = json!([
        {"id": 0, "wall_seconds": 10, "thread_seconds": 10, "scan_seconds": 10},
        {"id": 1, "wall_seconds": 1, "thread_seconds": 100},
    ]);
    let words = [
        "bounds, for any device and any number of slots: 10.00 times as fast; by Amdahl's law on the \
         critical path alone without limit\n",
        "without scan, filter and project, 90.9 % of the thread time is left (work, which bounds no speed-up)",
        "no roofline: a stage that scans has no read_bytes\n",
    ];
    says(&printed(20.0, &beside, &["--device", "ideal"]), &words);
    // The speed-up is ten; by thread time it would be 2.
    let waits = json!([
        {"id": 0, "wall_seconds": 10, "thread_seconds": 2, "scan_seconds": 1, "wait_seconds": 8},
    ]);
    let words = [
        "any number of slots: 10.00 times as fast; by Amdahl's law on the critical path alone 10.00 times",
        "of scan, filter and project 50.0 %",
        "as sfp_percent of the stages\nhas it, scan, filter and project are 90.0 %",
    ];
    says(&printed(2.0, &waits, &["--device", "ideal"]), &words);
    let of_printed = printed(2.0, &waits, &["--formula", "printed"]);
    says(&of_printed, &["bounds of the intended formula, not of the printed one, for any device"]);
    // The rounding error of 0.3 − (0.1 + 0.2) counts as zero.
    let all = json!([{"id": 0, "wall_seconds": 1, "thread_seconds": 0.3, "scan_seconds": 0.1,
                      "filter_project_seconds": 0.2 - 1e-16}]);
    let text = printed(1.0, &all, &["--device", "ideal"]);
    says(
        &text,
        &["1.000 s → 0.000 s with ideal (modelled; no limit to the stages at once): without limit"],
    );
}

#[test]
fn numbers_are_plausible_or_doubted() {
    let one =
        |thread: f64, wall: f64| json!([{"id": 0, "wall_seconds": wall, "thread_seconds": thread}]);
    let doubted = printed(1.0, &one(100.0, 1.0), &["--slots", "1"]);
    let words = [
        "10000.0 % of 1 core busy\nwarning: threads worked 100.0 times as long as 1 core can",
        "1 stage at once",
    ];
    says(&doubted, &words);
    let fine = printed(1.0, &one(1.0, 1.0), &[]);
    says(
        &fine,
        &["other work keeps the cores busy (a Scan Ratio and cores of 50.0 % and more are high)"],
    );
    // The time of a fast stage is not rounded to zero.
    let fast = printed(1.0, &one(0.000_123_4, 0.000_123_4), &["--format", "json"]);
    says(&fast, &["\"measured_s\":0.0001234"]);
    says(&printed(1.0, &one(0.000_123_4, 0.000_123_4), &[]), &["q: 0.000123 s → 0.000123 s"]);
    let file = json!({"version": 1, "cores": 1e308, "stages": one(1.0, 1.0)});
    let (_folder, path) = written(&file.to_string());
    bad(&mut storage(&path, &[]), "`cores` is 1e308, but must be between 0.001 and 1000000");
}

#[test]
fn the_median_of_an_even_number_is_between_two() {
    let file = |scan: f64| {
        written(
            &json!({"version": 1, "name": "q", "stages": [
            {"id": 0, "wall_seconds": 10, "thread_seconds": 10, "scan_seconds": scan}]})
            .to_string(),
        )
    };
    let ((_one, fast), (_other, slow)) = (file(7.5), file(5.0));
    let mut both = sluice(&["storage", "--device", "ideal", "--stages"]);
    let text = good(both.arg(&fast).arg("--stages").arg(&slow));
    says(&text, &["median speed-up 3.00, 100.0 % of them"]);
    let mut both = sluice(&["storage", "--device", "ideal", "--format", "json", "--stages"]);
    let ranked: Vec<Value> =
        serde_json::from_str(&good(both.arg(&fast).arg("--stages").arg(&slow))).unwrap();
    for column in ["bound", "amdahl", "thread_time_ratio"] {
        assert_eq!(
            (&ranked[0][column], &ranked[1][column]),
            (&json!(4.0), &json!(2.0)),
            "{column}"
        );
    }
}

#[test]
fn queries_run_and_are_ranked() {
    let served = Served::start();
    let sql = "\n-- few\nSELECT name FROM 's3://bucket/fruit.csv' WHERE id < 3;
               SET sluice.scan = 'select';
               -- sum\nSELECT name, sum(price) FROM 's3://bucket/fruit.csv' GROUP BY name ORDER BY name";
    let run = |more: &[&str]| {
        let mut command = served.command(&["storage", "--rounds", "1", "-c", sql]);
        command.args(more);
        command
    };
    let ranked: Vec<Value> = serde_json::from_str(&good(&mut run(&["--format", "json"]))).unwrap();
    let mut names: Vec<_> = ranked.iter().map(|it| it["query"].as_str().unwrap()).collect();
    let ratio = |place: usize| ranked[place]["scan_ratio"].as_f64().unwrap();
    assert!(ratio(0) >= ratio(1) && ratio(1) > 0.0, "{ranked:?}");
    names.sort_unstable();
    assert_eq!(names, ["few", "sum"]);
    let bytes = fs::metadata(served.path().join("bucket/fruit.csv")).unwrap().len();
    for query in &ranked {
        let read = query["read_mb"].as_f64().unwrap();
        assert!(read > 0.0 && (read / (bytes as f64 / 1e6) - 1.0).abs() < 1e-3, "{query}");
    }
    let few = ranked.iter().find(|it| it["query"] == "few").unwrap();
    assert_eq!((&few["operators"]["scan"], &few["operators"]["filter"]), (&json!(1), &json!(1)));
    assert_eq!((&few["tables"][0]["rows"], &few["tables"][0]["kept"]), (&json!(3), &json!(2)));
    let table = good(&mut run(&[]));
    assert!(table.contains("2 queries with icpe-2020 (2020-04): median speed-up"), "{table}");
    // The stages of the query that was requested.
    let stages = good(&mut run(&["--query", "sum"]));
    for words in [
        "Sort",
        "← s3://bucket/fruit.csv",
        "scans waited for the store",
        "sum: ",
        "operators (counted): 1 scan, ",
        "scan of s3://bucket/fruit.csv: 3 of 3 rows are kept (100.0 %)",
    ] {
        assert!(stages.contains(words), "no {words} in {stages}");
    }
    bad(&mut run(&["--query", "none"]), "there is no query `none`");
    bad(&mut served.command(&["storage", "-c", "SET sluice.scan = 'get'"]), "no query to predict");
    bad(&mut served.command(&["storage", "-c", "SELECT x FROM nowhere"]), "nowhere");
    bad(&mut served.command(&["storage"]), "no query to predict");
    let both = served.command(&["storage", "-c", sql, "--stages", "x"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}

/// A join, a subquery, a self-join, a scan without rows and one without columns have the same answers over model
/// tables, read fewer bytes, and leave no files.
#[test]
fn queries_run_over_model_tables() {
    let served = Served::start();
    let fruit = "'s3://bucket/fruit.csv'";
    let sql = format!(
        "\n-- filtered\nSELECT name, price FROM {fruit} WHERE id < 3 ORDER BY price;
         -- self-join\nSELECT a.name, b.price FROM {fruit} a JOIN {fruit} b ON a.id = b.id WHERE b.id > 1;
         -- subquery\nSELECT name FROM {fruit} WHERE price > (SELECT avg(price) FROM {fruit});
         -- none\nSELECT count(*), max(name) FROM {fruit} WHERE id < -1;
         -- count\nSELECT count(*) FROM {fruit}"
    );
    let run = |bucket: &str, more: &[&str]| {
        let query = ["storage", "--rounds", "2", "--format", "json", "-c", &sql];
        let mut command = served.command(&query);
        command.args(["--model-tables", bucket]).args(more);
        command
    };
    let before = fs::read_dir(served.path().join("bucket")).unwrap().count();
    let compared: Vec<Value> = serde_json::from_str(&good(&mut run("bucket", &[]))).unwrap();
    let names: Vec<_> = compared.iter().map(|it| it["query"].as_str().unwrap()).collect();
    assert_eq!(names, ["filtered", "self-join", "subquery", "none", "count"]);
    for query in &compared {
        assert_eq!(query["answer"], "equal", "{query}");
    }
    // Queries that the footers of the copies answer read nothing.
    for query in &compared[..3] {
        assert!(query["layout_bytes_ratio"].as_f64().unwrap() >= 1.0, "{query}");
    }
    let of = |place: usize, field: &str| compared[place][field].as_u64().unwrap();
    assert_eq!((of(1, "scans"), of(2, "scans")), (2, 2));
    // The plans of the first three differ in nothing but the number of files. The footers of the model tables answer
    // the others without a scan.
    for (place, query) in compared.iter().enumerate() {
        let is_same = place < 3;
        assert_eq!(query["same_plan"], is_same, "{query}");
        assert_eq!(query["same_operators"], is_same, "{query}");
        match query["plan_difference"].as_str() {
            Some(words) => {
                says(words, &["0 Aggregate instead of 1, 0 scan of s3://bucket/fruit.csv"])
            }
            None => assert!(is_same, "{query}"),
        }
    }
    assert_eq!(compared[1]["operators"]["join"], 1, "{}", compared[1]);
    let kept = |place: usize| {
        let tables = compared[place]["scanned"].as_array().unwrap().iter();
        tables.map(|it| it["kept"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((kept(0), kept(3)), (vec![2], vec![0]));
    assert!(compared[3]["bytes_ratio"].as_f64().unwrap() > 10.0, "{}", compared[3]);
    assert_eq!(fs::read_dir(served.path().join("bucket")).unwrap().count(), before);
    // A bucket that was created is removed.
    good(&mut run("scratch", &["--query", "none"]));
    assert!(!served.path().join("scratch").exists());
    bad(&mut run("bucket", &["--query", "other"]), "there is no query `other`");
    let mut nowhere = served.command(&["storage", "-c", "SELECT x FROM nowhere"]);
    bad(nowhere.args(["--model-tables", "bucket"]), "nowhere");
    // Statements that write are refused, because they would write in each run.
    for writes in ["COPY (SELECT 1 AS a) TO 's3://bucket/out/' STORED AS CSV", "EXPLAIN SELECT 1"] {
        let words = "is no query that can run several times";
        bad(&mut served.command(&["storage", "-c", writes]), words);
        let output =
            served.command(&["storage", "-c", writes, "--model-tables", "bucket"]).output();
        assert!(text(&output.unwrap().stderr).contains(words));
    }
    assert!(!served.path().join("bucket/out").exists());
    // If a query fails, the measurements of the others are printed.
    let some = format!(
        "\n-- good\nSELECT count(*) FROM {fruit};
         -- bad\nSELECT 1 / (id - id) FROM {fruit};
         -- late\nSELECT max(id) FROM {fruit};
         CREATE EXTERNAL TABLE t STORED AS NOTHING LOCATION 's3://bucket/fruit.csv';
         -- last\nSELECT id FROM {fruit}"
    );
    let mut several = served.command(&["storage", "--rounds", "1", "-c", &some]);
    let output = several.args(["--model-tables", "bucket", "--format", "json"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: 2 of 5 statements failed: `bad`, `statement 4 (`"), "{said}");
    let compared: Vec<Value> = serde_json::from_str(&text(&output.stdout)).unwrap();
    let answers: Vec<_> = compared.iter().map(|it| it["answer"].as_str().unwrap()).collect();
    assert_eq!(answers, ["equal", "failed", "equal", "failed", "equal"]);
    let why = compared[1]["error"].as_str().unwrap();
    assert!(why.starts_with("statement 2 (") && why.contains("ivide by zero"), "{why}");
    assert!(compared[0]["error"].is_null() && compared[1]["model_s"].is_null());
    // The same holds for queries that are only measured.
    let output =
        served.command(&["storage", "--rounds", "1", "--format", "json", "-c", &some]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error: 2 of 5 statements failed: `bad`, `query 4`"));
    let ranked: Vec<Value> = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(ranked.len(), 3);
    assert_eq!(fs::read_dir(served.path().join("bucket")).unwrap().count(), before);
}

#[test]
fn event_logs_of_spark_are_read() {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/traces/fixtures/star-3.5.3.jsonl");
    let run = |more: &[&str]| {
        let mut command = sluice(&["storage", "--spark-log", log]);
        command.args(more);
        command
    };
    let stages: Vec<Value> =
        serde_json::from_str(&good(&mut run(&["--format", "json", "--device", "ideal"]))).unwrap();
    let seconds: Vec<_> = stages.iter().map(|it| it["measured_s"].as_f64().unwrap()).collect();
    assert_eq!(seconds, [0.617, 0.601, 0.581, 0.149]);
    assert_eq!(stages[2]["after"], "3 4");
    // The ratio is 1.286 of 2.123 seconds.
    assert!(good(&mut run(&[])).contains("Scan Ratio 60.6 %"));
    // The same stages written by hand give the same numbers.
    let stage = |id: u64, wall: f64, thread: f64, scan: f64, filter: f64, after: &[u64]| {
        json!({"id": id, "wall_seconds": wall, "thread_seconds": thread, "scan_seconds": scan,
               "filter_project_seconds": filter, "after": after})
    };
    let by_hand = json!({"version": 1, "name": "by hand", "cores": 2, "stages": [
        stage(3, 0.617, 0.549, 0.497, 0.002, &[]), stage(4, 0.601, 0.570, 0.484, 0.04, &[]),
        stage(5, 0.581, 0.893, 0.305, 0.0, &[3, 4]), stage(7, 0.149, 0.111, 0.0, 0.0, &[5]),
    ]});
    let (_folder, path) = written(&by_hand.to_string());
    let mut both =
        run(&["--stages", path.to_str().unwrap(), "--device", "ideal", "--format", "json"]);
    let ranked: Vec<Value> = serde_json::from_str(&good(&mut both)).unwrap();
    for column in ["scan_ratio", "sfp_ratio", "measured_s", "estimated_s", "speedup", "bound"] {
        assert_eq!(ranked[0][column], ranked[1][column], "{column}");
    }
    bad(&mut sluice(&["storage", "--spark-log", "nowhere"]), "nowhere");
    let (_folder, path) = written("{}");
    bad(sluice(&["storage", "--spark-log"]).arg(&path), "line 1: is no event of Spark");
}

/// Checks that an imported query and the same stages by hand give the same output.
fn same_by_hand(option: &str, log: &str, by_hand: &Value) {
    let (_folder, path) = written(&by_hand.to_string());
    let args = ["--device", "ideal", "--format", "json"];
    let single = |first: &str, file: &str| -> Value {
        let mut command = sluice(&["storage", first, file]);
        serde_json::from_str(&good(command.args(args))).unwrap()
    };
    let path = path.to_str().unwrap();
    let (imported, hand) = (single(option, log), single("--stages", path));
    assert!(!imported.as_array().unwrap().is_empty());
    for (one, other) in imported.as_array().unwrap().iter().zip(hand.as_array().unwrap()) {
        for column in ["measured_s", "sfp_percent", "estimated_s", "after", "critical"] {
            assert_eq!(one[column], other[column], "{column} of {one}");
        }
    }
    let mut both = sluice(&["storage", option, log, "--stages", path]);
    let ranked: Vec<Value> = serde_json::from_str(&good(both.args(args))).unwrap();
    assert_eq!(ranked.len(), 2);
    for column in
        ["scan_ratio", "sfp_ratio", "measured_s", "estimated_s", "speedup", "bound", "read_mb"]
    {
        assert_eq!(ranked[0][column], ranked[1][column], "{column}");
    }
}

fn fixture(name: &str) -> String {
    format!("{}/crates/traces/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Builds stages from milliseconds of threads, scans and filters, the bytes read, and the stages before. The longest
/// chain takes `latency` milliseconds.
fn stages_of(rows: &[([f64; 3], f64, &[u64])], chain: f64, latency: f64) -> Value {
    let stage = |(id, (millis, read, after)): (usize, &([f64; 3], f64, &[u64]))| {
        json!({"id": id, "wall_seconds": millis[0] / chain * latency / 1e3,
               "thread_seconds": millis[0] / 1e3, "scan_seconds": millis[1] / 1e3,
               "filter_project_seconds": millis[2] / 1e3, "read_bytes": read, "after": after})
    };
    json!({"version": 1, "stages": rows.iter().enumerate().map(stage).collect::<Vec<_>>()})
}

#[test]
fn profiles_of_duckdb_are_read() {
    let log = fixture("star.duckdb-2.0.0.json");
    let read = |millis: f64| 9_508_071.0 * millis / 11.006_584;
    let rows: [([f64; 3], f64, &[u64]); 4] = [
        ([0.085_457, 0.085_457, 0.0], read(0.085_457), &[]),
        ([0.179_819, 0.174_741, 0.005_078], read(0.174_741), &[]),
        ([12.693_827, 10.746_386, 0.0], read(10.746_386), &[0, 1]),
        ([0.041_031, 0.0, 0.0], 0.0, &[2]),
    ];
    same_by_hand("--duckdb", &log, &stages_of(&rows, 12.914_677, 10.404_47));
    let old = fixture("star.duckdb-1.4.2.json");
    let text = good(&mut sluice(&["storage", "--duckdb", &old]));
    // The ratio is 13.230053 of 16.891768 ms.
    assert!(text.contains("Scan Ratio 78.3 %") && text.contains("star: 0.011 s"), "{text}");
    let ranked =
        good(&mut sluice(&["storage", "--duckdb", &old, "--duckdb", &log, "--format", "csv"]));
    assert_eq!(ranked.lines().filter(|line| line.starts_with("star,")).count(), 2, "{ranked}");
    bad(&mut sluice(&["storage", "--duckdb", "nowhere"]), "nowhere");
    let (_folder, path) = written("{}");
    bad(sluice(&["storage", "--duckdb"]).arg(&path), "stages.json`: is no profile of DuckDB");
    let both = sluice(&["storage", "-c", "SELECT 1", "--duckdb", &log]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn what_datafusion_prints_is_read() {
    let log = fixture("star.datafusion-55.0.0.txt");
    let rows: [([f64; 3], f64, &[u64]); 6] = [
        ([0.127_6, 0.127_6, 0.0], 9_240.0, &[]),
        ([0.193_342, 0.176, 0.007_5], 8_370.0, &[]),
        ([21.482_74, 16.82, 2.020_35], 9_340_000.0, &[0, 1]),
        ([0.053_04, 0.0, 0.0], 0.0, &[2]),
        ([0.079_74, 0.0, 0.0], 0.0, &[3]),
        ([0.024_35, 0.0, 0.0], 0.0, &[4]),
    ];
    same_by_hand("--datafusion", &log, &stages_of(&rows, 21.833_212, 8.093_184));
    let json = fixture("star.datafusion-55.0.0.json");
    let output = sluice(&["storage", "--datafusion", &json]).output().unwrap();
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && notes.contains("note: there is no Duration"), "{notes}");
    let (_folder, path) = written("SELECT 1");
    bad(sluice(&["storage", "--datafusion"]).arg(&path), "line 1: is no operator with metrics");
    let both = sluice(&["storage", "-f", "x.sql", "--datafusion", &log]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
}

/// The binary imports the plans that it prints itself.
#[test]
fn what_sql_explains_is_read() {
    let (folder, table) = written(&("k,g\n".to_owned() + &"1,a\n2,b\n3,a\n".repeat(1000)));
    let renamed = table.with_extension("csv");
    fs::rename(&table, &renamed).unwrap();
    let query = format!(
        "SELECT g, sum(k), {} FROM '{}' GROUP BY g",
        (0..40).map(|k| format!("count(DISTINCT k + {k})")).collect::<Vec<_>>().join(", "),
        renamed.display()
    );
    for (analyze, is_timed) in [("EXPLAIN ANALYZE", false), ("EXPLAIN ANALYZE VERBOSE", true)] {
        let output = sluice(&["sql", &format!("{analyze} {query}")]).output().unwrap();
        let path = folder.path().join("plan.txt");
        fs::write(&path, &output.stdout).unwrap();
        let import = sluicegate_traces::datafusion::read(&path).unwrap();
        let graph = &import.queries[0].graph;
        assert!(graph.stages().len() > 1, "{}", String::from_utf8_lossy(&output.stdout));
        let without = import.notes.iter().any(|note| note.contains("there is no Duration"));
        assert_eq!(without, !is_timed, "{:?}", import.notes);
    }
}

/// Sums a metric over scans and over all operators, in seconds.
fn seconds(plan: &dyn ExecutionPlan, scans: &mut f64, all: &mut f64) {
    let metrics = plan.metrics().unwrap_or_default();
    let of = |name: &str| {
        let nanos = metrics.sum_by_name(name).map_or(0, |it| it.as_usize());
        nanos as f64 / 1e9
    };
    // `sum_by_name` does not find this metric.
    let compute = metrics.elapsed_compute().unwrap_or_default() as f64 / 1e9;
    let mut own = compute + of("repartition_time");
    if plan.children().is_empty() {
        own = own.max(of("time_elapsed_processing"));
        *scans += own;
    }
    *all += own;
    for child in plan.children() {
        seconds(child.as_ref(), scans, all);
    }
}

/// Imported plans of the linked DataFusion have the same numbers as its metrics.
#[tokio::test]
async fn what_the_linked_datafusion_prints_has_its_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..20_000).map(|it| format!("{it},{}\n", it % 7)).collect();
    let csv = folder.path().join("t.csv");
    fs::write(&csv, format!("a,b\n{rows}")).unwrap();
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    context.register_csv("t", csv.to_str().unwrap(), CsvReadOptions::new()).await.unwrap();
    let sql =
        "SELECT x.b, count(*) FROM t x JOIN t y ON x.a = y.a WHERE y.b < 3 GROUP BY x.b ORDER BY 2";
    let plan = context.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    collect(std::sync::Arc::clone(&plan), context.task_ctx()).await.unwrap();
    let (mut scans, mut all) = (0.0, 0.0);
    seconds(plan.as_ref(), &mut scans, &mut all);
    assert!(scans > 0.0 && all > scans);

    let path = folder.path().join("q.txt");
    let read = |text: String| {
        fs::write(&path, text).unwrap();
        sluicegate_traces::datafusion::read(&path).unwrap().queries.remove(0)
    };
    let displayed = DisplayableExecutionPlan::with_metrics(plan.as_ref());
    let exact = read(displayed.pgjson(false).to_string());
    let scanned =
        |query: &sluicegate_traces::Query| query.graph.scan_ratio() * query.graph.thread_seconds();
    assert!((exact.graph.thread_seconds() - all).abs() < 1e-9 * all);
    assert!((scanned(&exact) - scans).abs() < 1e-9 * scans);
    // Text is rounded to 1 % at worst.
    let rounded = read(displayed.indent(false).to_string());
    assert!((rounded.graph.thread_seconds() - all).abs() < 1e-2 * all);
    assert!((scanned(&rounded) - scans).abs() < 1e-2 * scans);
    assert_eq!(rounded.graph.stages().len(), exact.graph.stages().len());
    // EXPLAIN as a statement returns a table.
    for statement in
        ["EXPLAIN ANALYZE", "EXPLAIN ANALYZE VERBOSE", "EXPLAIN (ANALYZE, FORMAT pgjson)"]
    {
        let answer = context.sql(&format!("{statement} {sql}")).await.unwrap();
        let answer = answer.collect().await.unwrap();
        let query = read(pretty_format_batches(&answer).unwrap().to_string());
        let names = |of: &sluicegate_traces::Query| -> Vec<String> {
            of.graph.stages().iter().map(|it| it.name.clone()).collect()
        };
        assert_eq!((names(&query), query.cores), (names(&exact), Some(2.0)), "{statement}");
    }
}

#[test]
fn what_cannot_be_is_said_with_its_place() {
    let change = |from: &str, to: &str| worked_example().to_string().replacen(from, to, 1);
    let mut unknown = worked_example();
    unknown["stages"][3]["after"] = json!([77]);
    for (contents, words) in [
        (unknown.to_string(), "stage 3, `after` names stage 77, which is not there"),
        (change("\"version\":1", "\"version\":9"), "is of version 9, but 1 is known"),
        (change("\"cores\":4", "\"cores\":-4"), "`cores` is -4, but must be between 0.001 and"),
        (change("\"wall_seconds\":3.0", "\"wall_seconds\":-3.0"), "stage 0, `wall_seconds` is -3"),
        (change("\"wall_seconds\":3.0", "\"speed\":-3.0"), "unknown field `speed`"),
        ("{\"version\": 1, \"stages\": [".to_owned(), "EOF while parsing"),
        ("{\"version\": 1, \"stages\": []}".to_owned(), "has no stages"),
        ("not json".to_owned(), "line 1 column 2"),
    ] {
        let (_folder, path) = written(&contents);
        bad(&mut storage(&path, &[]), words);
    }
    let (folder, path) = written(&worked_example().to_string());
    bad(&mut storage(&path, &["--device", "magic"]), "there is no device and no file `magic`");
    bad(&mut storage(&folder.path().join("nothing"), &[]), "nothing");
    bad(&mut storage(folder.path(), &[]), "is a folder");
    let device = folder.path().join("device.toml");
    fs::write(&device, "name = \"x\"\nsetup_seconds = -1\n").unwrap();
    bad(&mut storage(&path, &["--device", device.to_str().unwrap()]), "line 2, `setup_seconds`");
}

/// These mistakes are reported before any query or request.
#[test]
fn what_would_count_twice_or_not_at_all_is_refused_first() {
    let (_folder, path) = written(&worked_example().to_string());
    let path = path.to_str().unwrap();
    let refused = |arguments: &[&str], words: &str| {
        let output = sluice(arguments).output().unwrap();
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{said}");
    };
    refused(&["storage", "--duckdb", path, "--duckdb", path], "is named twice");
    let nowhere = ["storage", "--endpoint", "http://127.0.0.1:1", "--query", "Q99"];
    refused(&[&nowhere[..], &["--command=-- Q9\nSELECT 1"]].concat(), "there is no query `Q99`");
}
