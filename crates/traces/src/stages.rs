//! Stages as JSON, of whatever engine: the layout of this project.
//!
//! ```json
//! {"version": 1, "name": "Q9", "cores": 16, "stages": [
//!   {"id": 0, "wall_seconds": 10.0, "thread_seconds": 120.0, "scan_seconds": 80.0,
//!    "filter_project_seconds": 20.0, "wait_seconds": 5.0, "read_bytes": 4e9, "result_bytes": 2e7},
//!   {"id": 1, "wall_seconds": 2.0, "thread_seconds": 8.0, "after": [0]}]}
//! ```
//!
//! The fields of a stage are those of [`Stage`].

use std::path::Path;

use serde::Deserialize;
use sluicegate_costmodel::storage::{Stage, StageGraph};

use crate::{Error, Query, file};

/// The version of the layout that is read.
const VERSION: u64 = 1;

/// More cores are a mistake.
const MOST_CORES: f64 = 1e6;

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
/// If it cannot be read, is not of this layout or of another version, has no stages, or stages that cannot
/// be.
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
    if let Some(cores) = file.cores.filter(|cores| !(*cores > 0.0 && *cores <= MOST_CORES)) {
        let cores = if cores.abs() > MOST_CORES { format!("{cores:e}") } else { cores.to_string() };
        return Err(at(format!("`cores` is {cores}, but must be more than 0 and at most 1e6")));
    }
    let graph = StageGraph::new(file.stages).map_err(|error| at(error.to_string()))?;
    Ok(Query { name: file.name, cores: file.cores, graph })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(contents: &str) -> Result<Query, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stages.json");
        fs::write(&path, contents).unwrap();
        super::read(&path)
    }

    #[test]
    fn numbers_beyond_reason_are_named_in_a_few_digits() {
        let stages = r#""stages": [{"id": 0, "wall_seconds": 1, "thread_seconds": 1}]}"#;
        for (cores, words) in [
            ("1e308", "`cores` is 1e308, but must be more than 0 and at most 1e6"),
            ("0", "`cores` is 0, but must"),
            ("-4", "`cores` is -4, but must"),
        ] {
            let error =
                read(&format!(r#"{{"version": 1, "cores": {cores}, {stages}"#)).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
        let waits = r#"{"version": 1, "stages": [
            {"id": 0, "wall_seconds": 1, "thread_seconds": 1, "wait_seconds": 1e308}]}"#;
        let error = read(waits).unwrap_err().to_string();
        assert!(error.contains("`wait_seconds` is 1e308, but must"), "{error}");
    }
}
