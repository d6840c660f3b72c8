//! Stages as JSON, of whatever engine: the layout of this project.
//!
//! ```json
//! {"version": 1, "name": "Q9", "cores": 16, "stages": [
//!   {"id": 0, "wall_seconds": 10.0, "thread_seconds": 120.0, "scan_seconds": 80.0,
//!    "filter_project_seconds": 20.0, "read_bytes": 4e9, "result_bytes": 2e7},
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
    if let Some(cores) = file.cores.filter(|cores| !(cores.is_finite() && *cores > 0.0)) {
        return Err(at(format!("`cores` is {cores}, but must be more than 0")));
    }
    let graph = StageGraph::new(file.stages).map_err(|error| at(error.to_string()))?;
    Ok(Query { name: file.name, cores: file.cores, graph })
}
