//! Reads stages of any engine as JSON, in this project's own layout.
//!
//! ```json
//! {"version": 1, "name": "Q9", "cores": 16, "stages": [
//!   {"id": 0, "wall_seconds": 10.0, "thread_seconds": 120.0, "scan_seconds": 80.0,
//!    "filter_project_seconds": 20.0, "wait_seconds": 5.0, "read_bytes": 4e9, "result_bytes": 2e7},
//!   {"id": 1, "wall_seconds": 2.0, "thread_seconds": 8.0, "after": [0]}]}
//! ```
//!
//! The fields of a stage are those of [`Stage`].

use std::ops::RangeInclusive;
use std::path::Path;

use serde::Deserialize;
use sluicegate_costmodel::storage::{Stage, StageGraph};

use crate::{Error, Query, file};

/// The version of the layout that is read.
const VERSION: u64 = 1;
/// The cores that a query may have had, from a fraction of one to those of the largest clusters.
const CORES: RangeInclusive<f64> = 1e-3..=1e6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StagesFile {
    version: u64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    cores: Option<f64>,
    stages: Vec<Stage>,
}

/// Reads and checks a file.
///
/// # Errors
///
/// If it cannot be read, does not have this layout and version, has no stages, or has invalid ones.
pub fn read(path: &Path) -> Result<Query, Error> {
    let text = file::text(path)?;
    let at = |message: String| Error::file(path, message);
    let file: StagesFile = serde_json::from_str(&text).map_err(|error| at(error.to_string()))?;
    if file.version != VERSION {
        return Err(at(format!("is of version {}, but {VERSION} is known", file.version)));
    }
    if file.stages.is_empty() {
        return Err(at("has no stages".to_owned()));
    }
    if let Some(cores) = file.cores.filter(|cores| !CORES.contains(cores)) {
        let is_long = cores.abs() > *CORES.end();
        let cores = if is_long { format!("{cores:e}") } else { cores.to_string() };
        return Err(at(format!("`cores` is {cores}, but must be between 0.001 and 1000000")));
    }
    if let Some(stage) =
        file.stages.iter().find(|it| it.wall_seconds == 0.0 && it.thread_seconds > 0.0)
    {
        return Err(at(format!(
            "stage {}, `wall_seconds` is 0, but its threads worked for {} s",
            stage.id, stage.thread_seconds
        )));
    }
    let graph = StageGraph::new(file.stages).map_err(|error| at(error.to_string()))?;
    Ok(Query { name: file.name, cores: file.cores, graph })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Query, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("q9.json");
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|error| error.to_string())
    }

    const ONE: &str = r#"{"version": 1, "cores": 2, "stages": [{"id": 3, "wall_seconds": 2, "thread_seconds": 3}]}"#;

    #[test]
    fn a_file_has_what_it_says() {
        let query = read_text(ONE).unwrap();
        assert_eq!((query.name.as_str(), query.cores), ("", Some(2.0)));
        let expected = Stage { id: 3, wall_seconds: 2.0, thread_seconds: 3.0, ..Stage::default() };
        assert_eq!(query.graph.stages(), [expected]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (from, to, words) in [
            ("1", "2", "is of version 2, but 1 is known"),
            ("\"cores\": 2", "\"cores\": 0", "`cores` is 0, but must be between 0.001 and 1000000"),
            ("\"cores\": 2", "\"cores\": 1e-300", "but must be between 0.001"),
            ("\"cores\": 2", "\"cores\": 1e300", "but must be between 0.001"),
            ("\"cores\": 2", "\"cores\": 1e999", "number out of range at line 1"),
            ("\"cores\": 2", "\"cores\": NaN", "expected value at line 1"),
            ("\"cores\"", "\"colors\"", "unknown field `colors`"),
            ("\"id\": 3", "\"id\": -3", "invalid value: integer `-3`"),
            ("[{", "[], \"stages\": [{", "duplicate field `stages`"),
            ("\"thread_seconds\": 3", "\"thread_seconds\": -3", "stage 3, `thread_seconds` is -3"),
            ("\"wall_seconds\": 2", "\"wall_seconds\": 0", "stage 3, `wall_seconds` is 0, but its"),
            (", \"thread_seconds\": 3", "", "missing field `thread_seconds`"),
            ("}]}", "}]", "EOF while parsing"),
            ("}]}", "}]}{}", "trailing characters"),
        ] {
            assert!(ONE.contains(from), "no {from}");
            let error = read_text(&ONE.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(words) && error.contains("q9.json"), "{error}");
        }
        let none = r#"{"version": 1, "stages": []}"#;
        assert!(read_text(none).unwrap_err().contains("has no stages"));
    }

    #[test]
    fn numbers_beyond_reason_are_named_in_a_few_digits() {
        let huge = ONE.replacen("\"cores\": 2", "\"cores\": 1e308", 1);
        assert!(read_text(&huge).unwrap_err().contains("`cores` is 1e308, but must"));
        let waits = ONE.replacen("\"id\": 3", "\"id\": 3, \"wait_seconds\": 1e308", 1);
        assert!(read_text(&waits).unwrap_err().contains("`wait_seconds` is 1e308, but must"));
    }
}
