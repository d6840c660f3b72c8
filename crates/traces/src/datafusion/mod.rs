//! Reads DataFusion's output of `EXPLAIN ANALYZE`.
//!
//! The output may be text, with or without `VERBOSE`, plain or in the table that `datafusion-cli` draws, or the JSON
//! of `EXPLAIN (ANALYZE, FORMAT pgjson)`. Metrics have different meanings in different operators, so they are
//! selected as follows:
//!
//! * The thread time of an operator is its `elapsed_compute`. For a repartitioning, `repartition_time` is added.
//! * The thread time of a scan is the larger one of `elapsed_compute` and `time_elapsed_processing`: up to DataFusion
//!   55, `elapsed_compute` of a Parquet scan excludes decoding. `time_elapsed_scanning_total` is not used, because it
//!   includes the time of the operators above.
//! * Times are measured inside `poll`, so none of them includes waiting for a store.
//! * Bytes read are `bytes_scanned`. A store sends more if ranges are merged.
//!
//! A stage ends below aggregates over unordered input, sorts, and windows without a frame. It also ends at the build
//! side of a join (its first input), and at a subquery whose value is needed.

mod metrics;
mod pgjson;
mod plan;
mod printed_plan;
mod text;

use std::path::Path;

use sluicegate_costmodel::storage::StageGraph;

use self::metrics::duration;
use self::plan::{Node, operator, partitions, scans_without_time};
use self::printed_plan::PrintedPlan;
use crate::plan::{Wall, stages};
use crate::{Error, Import, Query, file};

/// Reads the printed output for a query, which gets the name of the file.
///
/// # Errors
///
/// If the file cannot be read, has no metrics, or has an invalid number. The error names the line or the field.
pub fn read(path: &Path) -> Result<Import, Error> {
    let text = file::text(path)?;
    let at = |(line, message): (u64, String)| Error::line(path, line, message);
    let printed = PrintedPlan::parse(&text).map_err(|message| Error::file(path, message))?;
    let is_json = printed.is_json();
    let plan = if is_json {
        pgjson::plan(&printed.plan).map_err(|message| Error::file(path, message))?
    } else {
        text::plan(&printed.plan).map_err(at)?
    };
    let seconds = match &printed.duration {
        Some((line, text)) => {
            duration(text).map_err(|it| at((*line, format!("`Duration` {it}"))))?
        }
        None => 0.0,
    };
    let cores = partitions(&plan);
    let mut notes = notes(&plan, is_json);
    let (wall, note) = wall(seconds, cores);
    notes.push(note);
    let mut stages = stages(&operator(plan));
    wall.share(&mut stages);
    let graph = StageGraph::new(stages).map_err(|error| Error::file(path, error.to_string()))?;
    Ok(Import { queries: vec![Query { name: file::stem(path), cores, graph }], notes })
}

fn notes(plan: &Node, is_json: bool) -> Vec<String> {
    let mut notes = vec![
        "scans take `time_elapsed_processing`, or `elapsed_compute` where that is more: time in threads, \
         without decoding in some versions, and without waiting for the store, which is taken as 0; \
         `time_elapsed_scanning_total` includes other operators"
            .to_owned(),
        "bytes read are `bytes_scanned`: a store sends more where it merges ranges".to_owned(),
    ];
    let untimed = scans_without_time(plan);
    if untimed > 0 {
        notes.push(format!("{untimed} scans have no time: their thread time is taken as 0"));
    }
    if !is_json {
        notes.push("numbers are rounded to some three digits: FORMAT pgjson has all".to_owned());
    }
    notes
}

fn wall(seconds: f64, cores: Option<f64>) -> (Wall, String) {
    if seconds > 0.0 {
        let note = "there are no times of stages: the longest chain of stages is taken to have the Duration \
                    of the query, and each stage a part of it by its thread time";
        return (Wall::Seconds(seconds), note.to_owned());
    }
    let cores = cores.unwrap_or(1.0);
    let note = format!(
        "there is no Duration (EXPLAIN ANALYZE VERBOSE has one): a stage is taken to last as long as its \
         thread time on {cores} cores, as many as the plan has partitions"
    );
    (Wall::Cores(cores), note)
}

#[cfg(test)]
mod tests;
