use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use sluicegate_costmodel::storage::{Schedule, Slots, Stage, schedule};

use super::*;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn only(name: &str) -> Query {
    let mut import = read(&fixture(name)).unwrap();
    assert_eq!((import.queries.len(), import.notes.len()), (1, 2), "{:?}", import.notes);
    import.queries.remove(0)
}

/// Seconds of threads, scans and filters; bytes that scans, filters and projections pass on; the stages that it waits
/// for.
type Row<'a> = ([f64; 3], f64, &'a [u64]);

#[track_caller]
fn check(stages: &[Stage], expected: &[Row<'_>]) {
    assert_eq!(stages.len(), expected.len(), "{stages:?}");
    for (stage, (seconds, result, after)) in stages.iter().zip(expected) {
        let found = [stage.thread_seconds, stage.scan_seconds, stage.filter_project_seconds];
        let same = found.iter().zip(seconds).all(|(one, other)| (one - other).abs() < 1e-12);
        assert!(same, "{stage:?}, not {seconds:?}");
        assert_eq!((stage.result_bytes, stage.after.as_slice()), (*result, *after), "{stage:?}");
    }
}

fn makespan(query: &Query) -> f64 {
    let walls: Vec<_> = query.graph.stages().iter().map(|it| it.wall_seconds).collect();
    let Schedule { makespan, .. } = schedule(&query.graph, &walls, Slots::Unlimited);
    makespan
}

/// A join of a fact table with two dimensions, by DuckDB 2.0.0. The numbers are sums of `timing`s in the file, added
/// by hand.
#[test]
fn a_star_join_of_duckdb_2_has_the_numbers_of_its_profile() {
    let query = only("star.duckdb-2.0.0.json");
    assert_eq!((query.name.as_str(), query.cores), ("star", None));
    let stages = query.graph.stages();
    check(
        stages,
        &[
            ([0.000_085_457, 0.000_085_457, 0.0], 48_032.0, &[]),
            ([0.000_179_819, 0.000_174_741, 0.000_005_078], 2_899.0, &[]),
            ([0.012_693_827, 0.010_746_386, 0.0], 2_674_088.0, &[0, 1]),
            ([0.000_041_031, 0.0, 0.0], 0.0, &[2]),
        ],
    );
    assert_eq!(stages[2].name, "HASH_GROUP_BY ← HASH_JOIN ← store_sales.parquet");
    // These are `cpu_time` and `total_time` of the query.
    assert!((query.graph.thread_seconds() - 0.013_000_134).abs() < 1e-12);
    assert!((makespan(&query) - 0.010_404_47).abs() < 1e-12);
    // 9,508,071 bytes are divided by the time of scans: 0.085457, 0.174741 and 10.746386 of 11.006584 ms.
    assert_eq!(query.graph.read_bytes().0, 9_508_071);
    assert!((stages[2].read_bytes - 9_508_071.0 * 10.746_386 / 11.006_584).abs() < 1e-3);
}

/// Runs the same query on DuckDB 1.4.2, whose profile has other names.
#[test]
fn a_star_join_of_duckdb_1_has_the_numbers_of_its_profile() {
    let query = only("star.duckdb-1.4.2.json");
    check(
        query.graph.stages(),
        &[
            ([0.000_085_898, 0.000_085_898, 0.0], 48_024.0, &[]),
            ([0.000_123_904, 0.000_123_904, 0.0], 2_480.0, &[]),
            ([0.016_661_235, 0.013_020_251, 0.0], 7_073_568.0, &[0, 1]),
            ([0.000_020_731, 0.0, 0.0], 0.0, &[2]),
        ],
    );
    assert!((query.graph.thread_seconds() - 0.016_891_768).abs() < 1e-12);
    assert!((makespan(&query) - 0.010_576_317).abs() < 1e-12);
    let notes = read(&fixture("star.duckdb-1.4.2.json")).unwrap().notes;
    assert!(notes[0].contains("does not say how many bytes were read; DuckDB 1"), "{notes:?}");
}

/// Three scalar subqueries wait for nothing. Projections below their aggregates belong to their scans.
#[test]
fn subqueries_run_beside_each_other() {
    let query = only("buckets.duckdb-2.0.0.json");
    let stages = query.graph.stages();
    let scans: Vec<_> = stages.iter().filter(|stage| stage.scans()).collect();
    let after: Vec<_> = scans.iter().map(|stage| stage.after.len()).collect();
    assert_eq!(after, [0, 0, 0]);
    for (scan, filter) in scans.iter().zip([0.000_045_972, 0.000_053_397, 0.000_042_234]) {
        assert!((scan.filter_project_seconds - filter).abs() < 1e-12, "{scan:?}");
    }
    assert!((query.graph.thread_seconds() - 0.017_162_021).abs() < 1e-12);
}

#[test]
fn expressions_and_kept_rows_are_read_behind_what_makes_them() {
    let query = only("cte.duckdb-2.0.0.json");
    let stages = query.graph.stages();
    // The stages are: scan and group, the kept projection of its groups, build side, join and sort, the top.
    let after: Vec<_> = stages.iter().map(|it| it.after.clone()).collect();
    assert_eq!(after, [vec![], vec![0], vec![1], vec![1, 2], vec![1, 3]]);
    assert_eq!(stages[2].name, "CTE_SCAN");
    assert_eq!(stages[0].name, "PERFECT_HASH_GROUP_BY ← store_sales.parquet");

    let query = only("delim.duckdb-1.4.2.json");
    let stages = query.graph.stages();
    // The stages are: the kept rows, their distinct values, the build side of these, and all else.
    let after: Vec<_> = stages.iter().map(|it| it.after.clone()).collect();
    assert_eq!(after, [vec![], vec![0], vec![1], vec![0, 1, 2]]);
    assert_eq!((stages[1].name.as_str(), stages[2].name.as_str()), ("HASH_GROUP_BY", "DELIM_SCAN"));
    assert!((stages[3].scan_seconds - 0.003_064_657).abs() < 1e-12);
}

/// EXPLAIN ANALYZE of DuckDB 1 has no latency.
#[test]
fn without_a_latency_stages_last_as_long_as_their_threads_worked() {
    let import = read(&fixture("window.duckdb-1.4.2.json")).unwrap();
    assert!(import.notes[1].contains("has no latency"), "{:?}", import.notes);
    let stages = import.queries[0].graph.stages();
    // The stages are: group, window, top.
    assert_eq!(stages.len(), 3);
    assert!(stages.iter().all(|it| it.wall_seconds == it.thread_seconds));
    assert!((stages[0].wall_seconds - 0.005_616_343).abs() < 1e-12, "{stages:?}");
}

/// Returns the stages of a plan in which each operator took a second for each letter of its name.
fn stages_of(plan: &str) -> Vec<Stage> {
    let timed = plan
        .split('"')
        .enumerate()
        .map(|(place, part)| match place % 2 {
            0 => {
                part.replace('[', ", \"children\": [").replace("(", "{\"type\": ").replace(')', "}")
            }
            _ => format!("\"{part}\", \"timing\": {}", part.len()),
        })
        .collect::<String>();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q");
    fs::write(&path, format!("{{\"operator\": [{timed}]}}")).unwrap();
    read(&path).unwrap().queries.remove(0).graph.stages().to_vec()
}

/// The operator that outputs the answer may take long if a scan returns many rows.
#[test]
fn the_time_of_the_answer_is_none_of_a_scan() {
    let shows = r#"("EXPLAIN_ANALYZE"[("RESULT_COLLECTOR"[PLAN])])"#;
    let of = |plan: &str| stages_of(&shows.replace("PLAN", plan));
    check(&of(r#"("TABLE_SCAN")"#), &[([41.0, 10.0, 0.0], 0.0, &[])]);
    check(&of(r#"("FILTER"[("TABLE_SCAN")])"#), &[([47.0, 10.0, 6.0], 0.0, &[])]);
    check(&of(r#"("TOP_N"[("TABLE_SCAN")])"#), &[([46.0, 10.0, 0.0], 0.0, &[])]);
    assert_eq!(of(r#"("TABLE_SCAN")"#)[0].name, "TABLE_SCAN");
}

#[test]
fn all_of_a_build_side_is_wanted_first() {
    for join in ["HASH_JOIN", "CROSS_PRODUCT", "POSITIONAL_JOIN"] {
        let plan = format!(r#"("{join}"[("TABLE_SCAN"), ("FILTER"[("TABLE_SCAN")])])"#);
        let probe = [join.len() as f64 + 10.0, 10.0, 0.0];
        check(&stages_of(&plan), &[([16.0, 10.0, 6.0], 0.0, &[]), (probe, 0.0, &[0])]);
    }
    // A placeholder never runs; a single row without a table does.
    let union = r#"("UNION"[("TABLE_SCAN"), ("DUMMY_SCAN")])"#;
    check(&stages_of(union), &[([25.0, 10.0, 0.0], 0.0, &[])]);
}

#[track_caller]
fn refused(text: &[u8], words: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q9.json");
    fs::write(&path, text).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains(words) && error.contains("q9.json"), "{error}");
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    let star = fs::read_to_string(fixture("star.duckdb-2.0.0.json")).unwrap();
    let old = fs::read_to_string(fixture("star.duckdb-1.4.2.json")).unwrap();
    let change = |from: &str, to: &str| {
        assert!(star.contains(from), "no {from}");
        star.replacen(from, to, 1)
    };
    refused(b"", "EOF while parsing");
    refused(b"hello", "line 1 column 1");
    refused(&star.as_bytes()[..star.len() / 2], "EOF while parsing");
    refused(format!("{star}{star}").as_bytes(), "trailing characters");
    refused(b"{}", "is no profile of DuckDB");
    refused(b"[1]", "is no profile of DuckDB");
    refused(b"[{\"name\": \"TOP_N\", \"children\": []}]", "is a plan that did not run");
    refused(
        b"{\"result\": 0.1, \"timings\": [], \"children\": [{\"name\": \"TOP_N\", \"timing\": 0.1}]}",
        "is a profile of DuckDB 1.0 or before",
    );
    refused(b"{\"operator\": []}", "has 0 plans");
    refused(b"{\"operator\": [3]}", "operator 1 has no `type`");
    refused(
        change("\"timing\": 0.010746386", "\"timing\": -1").as_bytes(),
        "operator 8 (TABLE_SCAN), `timing` is -1, but must be between 0 and 1e18",
    );
    refused(change("0.010746386", "1e300").as_bytes(), "(TABLE_SCAN), `timing` is 1000000");
    refused(change("0.010746386", "1e999").as_bytes(), "number out of range");
    refused(change("0.010746386", "NaN").as_bytes(), "expected value at line");
    refused(change("0.010746386", "\"x\"").as_bytes(), "`timing` is no number");
    refused(change("0.010746386", "null").as_bytes(), "`timing` is no number");
    refused(change("\"timing\": 0.010746386", "\"t\": 0").as_bytes(), "`timing` is not there");
    refused(
        change("\"total_time\": ", "\"total_time\": -").as_bytes(),
        "`query.total_time` is -0.01",
    );
    refused(
        change("\"total_bytes_read\": ", "\"total_bytes_read\": -").as_bytes(),
        "`io.total_bytes_read` is -",
    );
    refused(old.replacen("\"latency\": ", "\"latency\": -", 1).as_bytes(), "`latency` is -");
    // Sums may be out of range although each number is valid.
    let most = "{\"type\": \"FILTER\", \"timing\": 1e18}";
    let union = format!(
        "{{\"operator\": [{{\"type\": \"UNION\", \"timing\": 1e18, \"children\": [{most}]}}]}}"
    );
    refused(union.as_bytes(), "stage 0, `wall_seconds` is 2e18");
    let deep = "{\"type\":\"FILTER\",\"timing\":0,\"children\":[".repeat(400) + &"]}".repeat(400);
    refused(format!("{{\"operator\":[{deep}]}}").as_bytes(), "levels deep, but at most 600");
    let folder = tempfile::tempdir().unwrap();
    assert!(read(folder.path()).unwrap_err().to_string().contains("is a folder"));
}

#[test]
fn deep_plans_are_read() {
    let levels = 298;
    let deep = "{\"type\":\"UNGROUPED_AGGREGATE\",\"timing\":1,\"children\":[".repeat(levels)
        + "{\"type\":\"TABLE_SCAN\",\"timing\":1}"
        + &"]}".repeat(levels);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep");
    fs::write(&path, format!("{{\"operator\":[{deep}]}}")).unwrap();
    let query = read(&path).unwrap().queries.remove(0);
    assert_eq!((query.graph.stages().len(), query.name.as_str()), (levels, "deep"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Reading any file ends with a query or an error.
    #[test]
    fn hostile_profiles_are_refused_or_read(
        name in proptest::sample::select(vec![
            "star.duckdb-2.0.0.json", "star.duckdb-1.4.2.json", "delim.duckdb-1.4.2.json",
            "cte.duckdb-2.0.0.json",
        ]),
        changes in proptest::collection::vec(
            (any::<proptest::sample::Index>(), proptest::sample::select(b"0-9e.,:\"{}[]xS_".to_vec())),
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, &bytes).unwrap();
        match read(&path) {
            Ok(import) => prop_assert!(import.queries.iter().all(|it| !it.graph.stages().is_empty())),
            Err(error) => prop_assert!(!error.message.is_empty()),
        }
    }
}
