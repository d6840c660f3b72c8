//! Reads JSON profiles of DuckDB 1.1 and later, and of 2.0: `PRAGMA enable_profiling = 'json'` with
//! `profiling_output`, or the output of `EXPLAIN (ANALYZE, FORMAT json)`.
//!
//! * The thread time of an operator is its `operator_timing` (2.0: `timing`), over all threads. Scans block while
//!   they read, so it includes waiting for storage. It also includes the filters that scans apply.
//! * A stage ends below aggregates, sorts, top-N, windows and limits that gather. It also ends at the build side of a
//!   join (its second input), where a common table expression is materialized, and where a delim join keeps its rows.
//!   Merge joins sort both of their inputs.
//! * A profile has no times of stages. The notes of an import list the values used instead.

mod breakers;
mod profile;

use std::path::Path;

use sluicegate_costmodel::storage::StageGraph;

use self::profile::Profile;
use crate::plan::{Wall, stages};
use crate::{Error, Import, Query, file, json, name_of};

/// Reads a profile. The query is named by a comment in the first line of its text, or by the file.
///
/// # Errors
///
/// If the file cannot be read, is not a profile, is from DuckDB 1.0 or before, or has invalid numbers.
pub fn read(path: &Path) -> Result<Import, Error> {
    let text = file::text(path)?;
    let failed = |message: String| Error::file(path, message);
    json::bound(text.as_bytes()).map_err(failed)?;
    let value = json::deep(text.as_bytes()).map_err(failed)?;
    let mut profile = Profile::from_json(&value).map_err(failed)?;
    let mut notes = vec![profile.share_read_bytes()];
    let mut stages = stages(&profile.plan);
    let (wall, note) = if profile.seconds > 0.0 {
        let note = "the profile has no times of stages: the longest chain of stages is taken to have the \
                    latency of the query, and each stage a part of it by its thread time";
        (Wall::Seconds(profile.seconds), note)
    } else {
        let note = "the profile has no latency (EXPLAIN ANALYZE of DuckDB 1 writes 0): a stage is taken to \
                    last as long as its thread time, as if it had one thread; PRAGMA profiling_output \
                    writes the latency";
        (Wall::Cores(1.0), note)
    };
    notes.push(note.to_owned());
    wall.share(&mut stages);
    let graph = StageGraph::new(stages).map_err(|error| failed(error.to_string()))?;
    let name = name_of(&profile.sql).unwrap_or_else(|| file::stem(path));
    Ok(Import { queries: vec![Query { name, cores: None, graph }], notes })
}

#[cfg(test)]
mod tests;
