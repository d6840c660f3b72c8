//! Stages as JSON.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use sluicegate_costmodel::storage::{Stage, StageGraph};

use super::Query;
use crate::failure::{Failure, Result};

/// The largest file: a hundred thousand stages.
const MOST_BYTES: u64 = 64 << 20;
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
pub(super) fn read(path: &Path) -> Result<Query> {
    let failed = |error| Failure::file(path, error);
    let at = |message: String| {
        Failure::new(format!("`{}`: {message}", path.display()))
            .with_hint("`sluice help storage` shows such a file.")
    };
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return Err(at("is a folder".to_owned()));
    }
    let mut text = String::new();
    let read = File::open(path).map_err(failed)?.take(MOST_BYTES + 1).read_to_string(&mut text);
    match read {
        Ok(bytes) if bytes as u64 > MOST_BYTES => {
            return Err(at(format!("is larger than {} MiB", MOST_BYTES >> 20)));
        }
        Ok(_) => {}
        Err(error) => return Err(at(error.to_string())),
    }
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
