use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use sluicegate_costmodel::storage::{Slots, Stage, schedule};

use super::*;

const STAR: &str = "star.datafusion-55.0.0.txt";
const STAR_JSON: &str = "star.datafusion-55.0.0.json";
const BUCKETS: &str = "buckets.datafusion-55.0.0.txt";
const BRANDS: &str = "brands.datafusion-55.0.0.txt";

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn only(name: &str) -> Query {
    let mut import = read(&fixture(name)).unwrap();
    assert_eq!(import.queries.len(), 1);
    import.queries.remove(0)
}

fn written(text: &[u8]) -> Result<Import, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q9.txt");
    fs::write(&path, text).unwrap();
    read(&path)
}

/// Microseconds of threads, scans and filters; bytes read; bytes that scans, filters and projections pass on; the
/// stages that it waits for.
type Row<'a> = ([f64; 3], f64, f64, &'a [u64]);

#[track_caller]
fn check(stages: &[Stage], expected: &[Row<'_>]) {
    assert_eq!(stages.len(), expected.len(), "{stages:?}");
    for (stage, (micros, read, result, after)) in stages.iter().zip(expected) {
        let found = [stage.thread_seconds, stage.scan_seconds, stage.filter_project_seconds];
        let same = found.iter().zip(micros).all(|(one, other)| (one * 1e6 - other).abs() < 1e-6);
        assert!(same, "{stage:?}, not {micros:?}");
        assert!((stage.read_bytes - read).abs() < 1e-6, "{stage:?}");
        assert!((stage.result_bytes - result).abs() < 1e-6, "{stage:?}");
        assert_eq!(stage.after, *after, "{stage:?}");
    }
}

/// A join of a fact table with two dimensions, from EXPLAIN ANALYZE VERBOSE of DataFusion 55. The numbers are sums of
/// those in the file, added by hand.
#[test]
fn a_star_join_has_the_numbers_of_its_metrics() {
    let query = only(STAR);
    assert_eq!((query.name.as_str(), query.cores), ("star", Some(2.0)));
    let stages = query.graph.stages();
    check(
        stages,
        &[
            ([127.6, 127.6, 0.0], 9_240.0, 47.3 * 1024.0, &[]),
            ([193.342, 176.0, 7.5], 8_370.0, 131_072.0, &[]),
            ([21_482.74, 16_820.0, 2_020.35], 9_340_000.0, 10.2 * 1_048_576.0, &[0, 1]),
            ([53.04, 0.0, 0.0], 0.0, 0.0, &[2]),
            ([79.74, 0.0, 0.0], 0.0, 0.0, &[3]),
            ([24.35, 0.0, 0.0], 0.0, 0.0, &[4]),
        ],
    );
    let name = "AggregateExec Partial ← HashJoinExec ← FilterExec ← store_sales.parquet";
    assert_eq!(stages[2].name, name);
    // The makespan is the printed duration.
    let walls: Vec<_> = stages.iter().map(|it| it.wall_seconds).collect();
    let makespan = schedule(&query.graph, &walls, Slots::Unlimited).makespan;
    assert!((makespan - 0.008_093_184).abs() < 1e-12, "{makespan}");
}

/// Another run of that join, from EXPLAIN (ANALYZE, FORMAT pgjson), which has no duration.
#[test]
fn json_has_the_numbers_of_its_metrics() {
    let query = only(STAR_JSON);
    let stages = query.graph.stages();
    check(
        &stages[..4],
        &[
            ([129.773, 129.773, 0.0], 9_236.0, 48_421.0, &[]),
            ([242.193, 228.511, 7.201], 8_370.0, 131_072.0, &[]),
            ([28_666.455, 22_741.806, 1_681.371], 9_340_332.0, 10_745_792.0, &[0, 1]),
            ([32.18, 0.0, 0.0], 0.0, 0.0, &[2]),
        ],
    );
    assert_eq!((stages.len(), query.cores), (6, Some(2.0)));
    // The thread time is divided by two cores.
    assert!((stages[2].wall_seconds * 1e6 - 14_333.227_5).abs() < 1e-6);
}

#[test]
fn subqueries_run_beside_each_other() {
    let query = only(BUCKETS);
    let stages = query.graph.stages();
    // Each subquery is a partial and a final aggregate, the last one with a projection on top.
    let after = |id: u64| stages.iter().find(|it| it.id == id).unwrap().after.as_slice();
    let all: Vec<_> = (0..stages.len() as u64).map(after).collect();
    let expected: [&[u64]; 8] = [&[], &[0], &[], &[2], &[], &[4], &[5], &[1, 3, 6]];
    assert_eq!(all, expected);
    // The scans took 10.15, 14.57 and 2.80 ms of 31.974 ms.
    let scan: f64 = query.graph.stages().iter().map(|it| it.scan_seconds).sum();
    assert!((scan - 0.027_52).abs() < 1e-12, "{scan}");
}

/// The table is in the style of Python's `DataFrame` and of `datafusion-cli`.
#[test]
fn a_table_is_read_like_the_plan_in_it() {
    let query = only(BRANDS);
    let stages = query.graph.stages();
    check(&stages[..1], &[([6_706.332, 6_620.0, 34.62], 9_240.0, 131_072.0, &[])]);
    assert_eq!(stages.len(), 4);
    assert_eq!(stages[0].name, "AggregateExec Partial ← FilterExec ← item.parquet");

    for (name, rest) in [(STAR, ""), (STAR_JSON, "2 row(s) fetched.\nElapsed 0.023 seconds.\n")] {
        let text = fs::read_to_string(fixture(name)).unwrap();
        let import = read(&fixture(name)).unwrap();
        let drawn = format!("DataFusion CLI v55.0.0\n{}\n{rest}", table(&text));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("star.txt");
        fs::write(&path, drawn).unwrap();
        assert_eq!(read(&path).unwrap(), import);
    }
}

/// Draws printed output as a table.
fn table(text: &str) -> String {
    let mut rows = vec![("plan_type", "plan")];
    let mut label = "Plan with Metrics";
    for line in text.lines() {
        if ["Plan with Metrics", "Plan with Full Metrics", "Output Rows", "Duration"]
            .contains(&line)
        {
            label = line;
        } else {
            rows.push((std::mem::take(&mut label), line));
        }
    }
    let wide = |text: &str, most: usize| format!("{text:most$}");
    let second = rows.iter().map(|it| it.1.chars().count()).max().unwrap();
    let border = format!("+{}+{}+", "-".repeat(24), "-".repeat(second + 2));
    let rows: Vec<_> = rows
        .iter()
        .map(|(label, line)| format!("| {} | {} |", wide(label, 22), wide(line, second)))
        .collect();
    [border.clone(), rows[0].clone(), border.clone(), rows[1..].join("\n"), border].join("\n")
}

#[test]
fn notes_say_what_numbers_are() {
    let notes = read(&fixture(STAR)).unwrap().notes;
    let has = |notes: &[String], words: &str| notes.iter().any(|it| it.contains(words));
    for words in ["`time_elapsed_processing`", "`bytes_scanned`", "rounded", "the Duration"] {
        assert!(has(&notes, words), "no {words} in {notes:?}");
    }
    let notes = read(&fixture(STAR_JSON)).unwrap().notes;
    assert!(has(&notes, "on 2 cores") && !has(&notes, "rounded"), "{notes:?}");
    let untimed = "DataSourceExec: x, metrics=[bytes_scanned=3, elapsed_compute=NOT RECORDED]";
    let import = written(untimed.as_bytes()).unwrap();
    assert!(has(&import.notes, "1 scans have no time"), "{:?}", import.notes);
    assert_eq!(import.queries[0].graph.read_bytes().0, 3);
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    #[track_caller]
    fn refused(text: &str, words: &str) {
        let error = written(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains("q9.txt"), "{error}");
    }
    let star = fs::read_to_string(fixture(STAR)).unwrap();
    let json = fs::read_to_string(fixture(STAR_JSON)).unwrap();
    #[track_caller]
    fn change(text: &str, from: &str, to: &str) -> String {
        assert!(text.contains(from), "no {from}");
        text.replacen(from, to, 1)
    }
    refused("", "has no plan with metrics");
    refused("Output Rows\n3\n", "has no plan with metrics");
    refused("hello\n", "line 1: is no operator with metrics");
    refused("+---+---+\n| a | b |\n+---+---+\n", "has no plan with metrics");
    refused("+-----\n| a | b |\n", "has no plan with metrics");
    let unmeasured = "+---------------+--------+\n| plan_type     | plan   |\n+---------------+--------+\n\
                      | physical_plan | FooExec: |\n+---------------+--------+\n";
    refused(unmeasured, "has no plan with metrics");
    refused(&star[..star.find("output_bytes=608").unwrap()], "line 3: ends within the metrics");
    refused(&star[..star.find("expr=[d_year@0").unwrap()], "line 3: is no operator with metrics");
    refused(&change(&star, "=1.68ms", "=-1.68ms"), "line 11: `elapsed_compute` is -0.00168");
    refused(&change(&star, "=1.68ms", "=NaNms"), "line 11: `elapsed_compute` is NaN");
    refused(&change(&star, "=1.68ms", "=fast"), "`elapsed_compute` is `fast`, which is no number");
    refused(&change(&star, "9.34 M", "9.34e30 M"), "line 18: `bytes_scanned` is 934");
    refused(&change(&star, "8.093184ms", "long"), "`Duration` is `long`");
    refused(&change(&star, "8.093184ms", "-1s"), "`Duration` is -1, but must be between");
    refused(&change(&star, "\n  ProjectionExec", "\n   ProjectionExec"), "line 3: is no input");
    refused(&change(&star, "\n  ProjectionExec", "\n    ProjectionExec"), "line 3: is no input");
    refused(&change(&star, "\n  ProjectionExec", "\nProjectionExec"), "line 3: is no input");
    let deep: Vec<_> =
        (0..400).map(|it| format!("{}FooExec, metrics=[]", "  ".repeat(it))).collect();
    refused(&deep.join("\n"), "line 302: is deeper than the 300 levels");

    refused(&json[..json.len() / 2], "EOF while parsing");
    let drawn = "+-+-+\n| Plan with Metrics | [ |\n".replace("+-+-+", "+-------------------+---+");
    refused(&format!("{drawn}|                   | x |"), "expected value at line 3");
    refused("[]", "has 0 plans");
    refused("[{\"name\": 3}]", "has no `Plan`");
    refused("[{\"Plan\": {}}]", "operator 1 has no `Node Type`");
    let unmeasured = "[{\"Plan\": {\"Node Type\": \"FooExec\", \"Plans\": []}}]";
    refused(unmeasured, "has no metrics");
    let verbose = "[{\"Plan\": {\"Node Type\": \"FooExec\"}, \"Duration\": \"1ms\"}]";
    refused(verbose, "is of VERBOSE");
    let time = "\"Actual Total Time\": 3.494383";
    refused(&change(&json, time, "\"Actual Total Time\": -3"), "`elapsed_compute` is -0.003");
    refused(&change(&json, time, "\"Actual Total Time\": \"x\""), "`elapsed_compute` is no number");
    refused(
        &change(&json, "\"bytes_scanned\": 9236", "\"bytes_scanned\": 1e300"),
        "operator 8 (DataSourceExec), `bytes_scanned` is 1000000",
    );
    let deep = "{\"Node Type\":\"FooExec\",\"Plans\":[".repeat(400) + &"]}".repeat(400);
    refused(&format!("[{{\"Plan\":{deep}}}]"), "levels deep, but at most 600");
    // Sums may be out of range although each number is valid.
    let most = "AExec, metrics=[elapsed_compute=1e18s]";
    refused(&format!("{most}\n  {most}"), "stage 0, `wall_seconds` is 2e18");
}

#[test]
fn deep_plans_are_read() {
    let lines = |it: usize| format!("{}SortExec, metrics=[elapsed_compute=1ns]", "  ".repeat(it));
    let text: Vec<_> = (0..=300).map(lines).collect();
    let import = written(text.join("\n").as_bytes()).unwrap();
    assert_eq!(import.queries[0].graph.stages().len(), 301);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Reading any file ends with a query or an error.
    #[test]
    fn hostile_plans_are_refused_or_read(
        name in proptest::sample::select(vec![STAR_JSON, BUCKETS, BRANDS]),
        changes in proptest::collection::vec(
            (any::<proptest::sample::Index>(), proptest::sample::select(b"0-9e.,:\"{}[]|+ \n\xC2".to_vec())),
            0..6,
        ),
        keeps in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let mut bytes = fs::read(fixture(name)).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(keeps) = keeps {
            bytes.truncate(keeps.index(bytes.len()) + 1);
        }
        match written(&bytes) {
            Ok(import) => prop_assert!(import.queries.iter().all(|it| !it.graph.stages().is_empty())),
            Err(error) => prop_assert!(!error.message.is_empty()),
        }
    }
}
