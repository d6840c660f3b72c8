use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use sluicegate_costmodel::storage::{OperatorCounts, OperatorKind, Stage};

use super::*;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)
}

fn only(name: &str) -> crate::Query {
    let mut import = read(&fixture(name)).unwrap();
    assert_eq!(import.notes, [""; 0]);
    assert_eq!(import.queries.len(), 1);
    import.queries.remove(0)
}

/// The number; seconds by the clock, of threads, scans and filters; bytes read; the stages that it waits for.
type Row<'a> = (u64, [f64; 4], f64, &'a [u64]);

fn check(stages: &[Stage], expected: &[Row<'_>]) {
    let mut stages: Vec<_> = stages.iter().collect();
    stages.sort_by_key(|stage| stage.id);
    assert_eq!(stages.len(), expected.len(), "{stages:?}");
    for (stage, (id, seconds, read, after)) in stages.into_iter().zip(expected) {
        let found = [
            stage.wall_seconds,
            stage.thread_seconds,
            stage.scan_seconds,
            stage.filter_project_seconds,
        ];
        let same = found.iter().zip(seconds).all(|(one, other)| (one - other).abs() < 1e-9);
        assert!(same && stage.id == *id, "{stage:?}, not {seconds:?}");
        assert_eq!((stage.read_bytes, stage.after.as_slice()), (*read, *after), "{stage:?}");
    }
}

/// A join of a fact table with two broadcast dimensions, written by PySpark 3.5.3. The numbers are those that Spark's
/// own REST interface returned for the application: `firstTaskLaunchedTime` to `completionTime`, `executorRunTime`,
/// the nodes' `scan time` and `duration`, `inputBytes`. Adaptive execution skipped stage 6, which repeats stage 5.
#[test]
fn a_star_join_has_the_numbers_of_sparks_pages() {
    let query = only("star-3.5.3.jsonl");
    assert_eq!((query.name.as_str(), query.cores), ("3: collect", Some(2.0)));
    check(
        query.graph.stages(),
        &[
            (3, [0.617, 0.549, 0.497, 0.002], 10_027.0, &[]),
            (4, [0.601, 0.570, 0.484, 0.040], 10_487.0, &[]),
            (5, [0.581, 0.893, 0.305, 0.0], 9_929_690.0, &[3, 4]),
            (7, [0.149, 0.111, 0.0, 0.0], 0.0, &[5]),
        ],
    );
    let ratio = (0.497 + 0.484 + 0.305) / (0.549 + 0.570 + 0.893 + 0.111);
    assert!((query.graph.scan_ratio() - ratio).abs() < 1e-9);
}

/// Runs the same query on PySpark 4.0.1, whose log is a compressed folder.
#[test]
fn a_star_join_of_spark_4_has_the_numbers_of_its_pages() {
    let query = only("eventlog_v2_star-4.0.1");
    check(
        query.graph.stages(),
        &[
            (3, [0.401, 0.350, 0.270, 0.027], 10_487.0, &[]),
            (4, [0.378, 0.334, 0.274, 0.012], 10_027.0, &[]),
            (5, [0.789, 1.288, 0.370, 0.0], 9_929_690.0, &[3, 4]),
            (7, [0.119, 0.089, 0.0, 0.0], 0.0, &[5]),
        ],
    );
}

/// Scalar subqueries, each with a shuffle, compressed with zstd.
#[test]
fn subqueries_have_the_numbers_of_sparks_pages() {
    let query = only("buckets-3.5.3.jsonl.zst");
    let stages = query.graph.stages();
    let stage = |id: u64| stages.iter().find(|it| it.id == id).unwrap();
    for (id, wall, run, scan, read) in [
        (3, 0.801, 1.147, 0.722, 4_441_415.0),
        (4, 0.353, 0.512, 0.212, 5_191_709.0),
        (5, 0.258, 0.345, 0.129, 1_434_220.0),
    ] {
        let found = stage(id);
        for (one, other) in [
            (found.wall_seconds, wall),
            (found.thread_seconds, run),
            (found.scan_seconds, scan),
            (found.read_bytes, read),
        ] {
            assert!((one - other).abs() < 1e-9, "{found:?}");
        }
    }
    // Stages 6, 8 and 10 were skipped, as they repeat stages 3, 4 and 5.
    for (id, before) in [(7, 3), (9, 4), (11, 5)] {
        assert!(stage(id).after.contains(&before), "{:?}", stage(id));
    }
    assert_eq!(stage(12).after, [7, 9, 11]);
}

/// Speculative tasks may end after their stage.
#[test]
fn a_stage_is_over_when_spark_says_so() {
    let star = String::from_utf8(star()).unwrap();
    let task = star.lines().rfind(|it| it.contains("TaskEnd\",\"Stage ID\":5")).unwrap();
    let finish = task.split_once("\"Finish Time\":").unwrap().1.split_once(',').unwrap().0;
    let late = task.replace(finish, "1999999999999").replace("\"Task Metrics\"", "\"x\"");
    let late = late.replace("\"Metadata\":\"sql\"", "\"Metadata\":\"\"");
    let (_folder, path) = written(format!("{star}{late}\n").as_bytes());
    assert_eq!(read(&path).unwrap().queries, [only("star-3.5.3.jsonl")]);
    // If the completion of a stage is not in the log, its last task ends it.
    let cut = star.replace("SparkListenerStageCompleted", "x");
    let (_folder, path) = written(cut.as_bytes());
    let walls = |query: &crate::Query| -> Vec<_> {
        query.graph.stages().iter().map(|it| it.wall_seconds).collect()
    };
    let found = walls(&read(&path).unwrap().queries[0]);
    for (one, other) in found.iter().zip(walls(&only("star-3.5.3.jsonl"))) {
        assert!((one - other).abs() < 0.1 && *one > 0.0, "{found:?}");
    }
}

/// Executors that are lost and replaced do not count at the same time.
#[test]
fn cores_are_the_most_at_once() {
    let mut text = String::from_utf8(star()).unwrap();
    for id in 1..4 {
        let executor = format!("\"Executor ID\":\"{id}\"");
        let info = "\"Executor Info\":{\"Total Cores\":4}";
        text += &format!("{{\"Event\":\"SparkListenerExecutorAdded\",{executor},{info}}}\n");
        text += &format!("{{\"Event\":\"SparkListenerExecutorRemoved\",{executor}}}\n");
    }
    let (_folder, path) = written(text.as_bytes());
    assert_eq!(read(&path).unwrap().queries[0].cores, Some(6.0));
}

#[test]
fn a_description_may_be_a_whole_statement() {
    let star = String::from_utf8(star()).unwrap();
    let name = |description: &str| {
        let text = star
            .replace("\"description\":\"collect\"", &format!("\"description\":\"{description}\""));
        let (_folder, path) = written(text.as_bytes());
        read(&path).unwrap().queries.remove(0).name
    };
    assert_eq!(name("m\\nid = 1\\n  batch = 0"), "3: m id = 1 batch = 0");
    assert_eq!(name("-- Q9\\nSELECT 1"), "3: Q9");
    assert_eq!(name(&"é".repeat(500)), format!("3: {}…", "é".repeat(77)));
}

/// Jobs of long loops list all skipped stages.
#[test]
fn long_chains_of_skipped_stages_are_followed() {
    let star = String::from_utf8(star()).unwrap();
    let mut infos = Vec::new();
    for id in 1000..50_000 {
        infos.push(format!("{{\"Stage ID\":{id},\"Parent IDs\":[{}]}}", id + 1));
    }
    infos.push("{\"Stage ID\":50000,\"Parent IDs\":[3]}".to_owned());
    let job =
        format!("{{\"Event\":\"SparkListenerJobStart\",\"Stage Infos\":[{}]}}", infos.join(","));
    let from = "\"Parent IDs\":[6]";
    assert!(star.contains(from));
    let text = format!("{}{job}\n", star.replace(from, "\"Parent IDs\":[1000]"));
    let (_folder, path) = written(text.as_bytes());
    let stages = read(&path).unwrap().queries.remove(0);
    let last = stages.graph.stages().iter().find(|it| it.id == 7).unwrap();
    assert!(last.after.contains(&3), "{last:?}");
}

/// A join and a sort, written by PySpark and compressed with Spark's codecs; unread events were removed. The numbers
/// are sums over the tasks of the logs, which another program decompressed.
#[test]
fn logs_are_read_however_spark_compressed_them() {
    let check = |name: &str, seconds: [[f64; 4]; 6], read: [f64; 3]| {
        let after: [&[u64]; 6] = [&[], &[], &[4, 5], &[6], &[6], &[8, 10]];
        let read = [&read[..], &[0.0; 3]].concat();
        let rows: Vec<_> = [4, 5, 6, 8, 10, 13]
            .into_iter()
            .zip(seconds)
            .zip(read.into_iter().zip(after))
            .map(|((id, seconds), (read, after))| (id, seconds, read, after))
            .collect();
        check(only(name).graph.stages(), &rows);
    };
    check(
        "join-4.0.1.lz4",
        [
            [1.199, 2.185, 1.898, 0.006],
            [0.289, 0.489, 0.212, 0.051],
            [1.028, 1.892, 0.404, 0.0],
            [0.321, 0.282, 0.0, 0.0],
            [0.094, 0.046, 0.0, 0.0],
            [0.164, 0.142, 0.0, 0.0],
        ],
        [9_184.0, 32_752.0, 2_974_360.0],
    );
    check(
        "join-4.0.1.snappy",
        [
            [22.202, 39.425, 34.676, 0.447],
            [1.470, 2.309, 0.933, 0.030],
            [21.155, 38.930, 8.843, 0.0],
            [2.232, 1.737, 0.0, 0.0],
            [1.135, 0.348, 0.0, 0.0],
            [0.966, 0.703, 0.0, 0.0],
        ],
        [32_752.0, 9_184.0, 2_974_360.0],
    );
    check(
        "join-3.5.3.lzf",
        [
            [0.901, 1.589, 1.338, 0.006],
            [0.259, 0.364, 0.129, 0.008],
            [0.784, 1.410, 0.347, 0.0],
            [0.221, 0.160, 0.0, 0.0],
            [0.130, 0.051, 0.0, 0.0],
            [0.163, 0.117, 0.0, 0.0],
        ],
        [32_752.0, 9_184.0, 2_974_360.0],
    );
}

/// A log that is still being written may end anywhere, whatever its compression.
#[test]
fn compressed_logs_can_end_anywhere() {
    for name in ["join-4.0.1.lz4", "join-4.0.1.snappy", "join-3.5.3.lzf"] {
        let bytes = fs::read(fixture(name)).unwrap();
        let whole = only(name);
        let mut has_read = false;
        for cut in (1..40).map(|part| bytes.len() * part / 40).chain([bytes.len() - 10]) {
            let (_folder, path) = written(&bytes[..cut]);
            match read(&path) {
                Ok(import) => {
                    assert_eq!(import.queries, std::slice::from_ref(&whole), "{name}, {cut}");
                    has_read = true;
                }
                Err(error) => {
                    let error = error.to_string();
                    let has_no_query = error.contains("has no SQL query that ran to its end")
                        && error.contains("ends in the middle of line");
                    assert!(has_no_query || error.contains("line 1: the file ends"), "{error}");
                }
            }
        }
        assert!(has_read, "{name}");
    }
}

fn written(text: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn star() -> Vec<u8> {
    fs::read(fixture("star-3.5.3.jsonl")).unwrap()
}

#[test]
fn a_log_can_end_anywhere() {
    let star = star();
    // Cut within the last line, but after the query's end.
    let (_folder, path) = written(&star[..star.len() - 10]);
    let import = read(&path).unwrap();
    assert_eq!(import.queries.len(), 1);
    assert!(import.notes[0].contains("ends in the middle of line"), "{:?}", import.notes);
    // Cut before the query's end.
    let (_folder, path) = written(&star[..star.len() * 9 / 10]);
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("has no SQL query that ran to its end"), "{error}");
    // Cut a compressed log.
    let whole = zstd::encode_all(star.as_slice(), 3).unwrap();
    let (_folder, path) = written(&whole[..whole.len() / 2]);
    assert!(read(&path).is_err());
}

#[test]
fn rolled_files_are_one_log() {
    let star = star();
    let folder = tempfile::tempdir().unwrap();
    let middle = star.len() / 2;
    let cut = middle + star[middle..].iter().position(|it| *it == b'\n').unwrap() + 1;
    fs::write(folder.path().join("events_1_app"), &star[..cut]).unwrap();
    let rest = zstd::encode_all(&star[cut..], 3).unwrap();
    fs::write(folder.path().join("events_2_app.zstd"), rest).unwrap();
    assert_eq!(read(folder.path()).unwrap().queries, [only("star-3.5.3.jsonl")]);
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    let star = String::from_utf8(star()).unwrap();
    #[track_caller]
    fn check(text: &[u8], words: &str) {
        let (_folder, path) = written(text);
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    check(b"", "has no SQL query");
    check(b"hello\n", "line 1: is no event of Spark");
    check(b"{\"a\": 1}\n", "line 1: is no event of Spark: missing field `Event`");
    check(
        format!("{star}{star}").as_bytes(),
        "begins another application: give each log for itself",
    );
    let second = star.split_once('\n').unwrap().1;
    check(second.as_bytes(), "line 1: does not begin an event log");
    check(
        star.replace("3.5.3", "2.4.8").as_bytes(),
        "line 1: is of Spark 2.4.8, but logs of 3 and 4",
    );
    let broken = star.replacen("\"Executor Run Time\":", "\"Executor Run Time\":-", 1);
    check(broken.as_bytes(), "invalid value");
    let deep = format!("{{\"Event\":\"x\",\"y\":{}{}}}\n", "[".repeat(5000), "]".repeat(5000));
    check(
        format!("{}\n{deep}", star.lines().next().unwrap()).as_bytes(),
        "line 2: nests 5001 levels",
    );
    check(b"LZ4Block....", "line 1: the file ends before this line does");
    check(b"\x1F\x8B\x08\0", "is compressed with gzip, which Spark does not use");
    let failed = star.replace("\"errorMessage\":\"\"", "\"errorMessage\":\"out of memory\\nat x\"");
    check(failed.as_bytes(), "has no SQL query");
}

#[test]
fn deep_plans_are_read() {
    let wrap = |text: &str| {
        let from = "\"sparkPlanInfo\":{\"nodeName\":\"AdaptiveSparkPlan\"";
        let wrapper = "\"sparkPlanInfo\":".to_owned()
            + &"{\"nodeName\":\"Project\",\"children\":[".repeat(200)
            + "{\"nodeName\":\"AdaptiveSparkPlan\"";
        let mut lines = Vec::new();
        for line in text.lines() {
            if line.contains(from) {
                let opened = line.replacen(from, &wrapper, 1);
                lines.push(close(&opened));
            } else {
                lines.push(line.to_owned());
            }
        }
        lines.join("\n") + "\n"
    };
    /// Closes the wrappers at the end of the wrapped plan.
    fn close(line: &str) -> String {
        let start = line.find("{\"nodeName\":\"AdaptiveSparkPlan\"").unwrap();
        let mut level = 0_usize;
        let mut quoted = false;
        for (at, byte) in line.bytes().enumerate().skip(start) {
            match byte {
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => level += 1,
                b'}' | b']' if !quoted => level -= 1,
                _ => {}
            }
            if level == 0 && at > start {
                return format!("{}{}{}", &line[..=at], "]}".repeat(200), &line[at + 1..]);
            }
        }
        line.to_owned()
    }
    let (_folder, path) = written(wrap(&String::from_utf8(star()).unwrap()).as_bytes());
    let (found, expected) = (read(&path).unwrap().queries, only("star-3.5.3.jsonl"));
    // The wrappers are projections, which are counted.
    let [found] = found.as_slice() else { panic!("{found:?}") };
    let wrapped = found.graph.operators().of(OperatorKind::Project);
    assert_eq!(wrapped, expected.graph.operators().of(OperatorKind::Project) + 200);
    let stages = |query: &crate::Query| -> Vec<Stage> {
        let stages = query.graph.stages().iter().cloned();
        stages.map(|it| Stage { operators: OperatorCounts::default(), ..it }).collect()
    };
    assert_eq!(stages(found), stages(&expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Reading any file ends with queries or an error.
    #[test]
    fn hostile_logs_are_refused_or_read(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..20),
        length in any::<proptest::sample::Index>(),
    ) {
        let mut bytes = star();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(length.index(bytes.len()) + 1);
        let (_folder, path) = written(&bytes);
        if let Ok(import) = read(&path) {
            prop_assert!(!import.queries.is_empty());
        }
    }
}
