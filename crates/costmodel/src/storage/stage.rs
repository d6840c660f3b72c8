//! The measurements of a stage.

use serde::{Deserialize, Serialize};

use super::graph::share;
use super::{OperatorCounts, SemiJoin};
use crate::quantity::digits;

/// The largest accepted number of seconds or bytes. Larger ones are mistakes, and sums up to it stay finite.
const MOST: f64 = 1e18;

/// The measurements of a stage (ICPE 2020, §5.2).
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// The stage's number, unique in a graph.
    pub id: u64,
    /// The stage's name, for display.
    #[serde(default)]
    pub name: String,
    /// Elapsed seconds, from the start of the first task to the end of the last.
    pub wall_seconds: f64,
    /// Seconds that threads spent in all operators, over all tasks. They exceed the elapsed seconds if several
    /// threads run at the same time.
    pub thread_seconds: f64,
    /// Thread seconds spent scanning tables.
    #[serde(default)]
    pub scan_seconds: f64,
    /// Thread seconds spent in filters and projections directly above scans.
    #[serde(default)]
    pub filter_project_seconds: f64,
    /// Seconds that scans waited for storage without a running thread, over all tasks. They are not part of the
    /// thread time. Engines that block while they read (Spark) have the wait in the thread time, and 0 here.
    #[serde(default)]
    pub wait_seconds: f64,
    /// Bytes read from storage.
    #[serde(default)]
    pub read_bytes: f64,
    /// Bytes that scan, filter and project pass on: the bytes that a device would send.
    #[serde(default)]
    pub result_bytes: f64,
    /// Bytes of the decoded rows of its scans, before filters and projections; 0 if unknown.
    #[serde(default)]
    pub scanned_bytes: f64,
    /// Thread seconds of aggregates directly above scan, filter and project.
    #[serde(default)]
    pub aggregate_seconds: f64,
    /// Bytes that these aggregates are given and do not pass on.
    #[serde(default)]
    pub aggregate_dropped_bytes: f64,
    /// Joins of the scans' rows with small tables, of which a device can drop rows without a match.
    #[serde(default)]
    pub semi_joins: Vec<SemiJoin>,
    /// The numbers of its operators by kind; empty if they were not counted.
    #[serde(default)]
    pub operators: OperatorCounts,
    /// The tables that its scans read, with the rows that scan, filter and project keep; empty if unknown.
    #[serde(default)]
    pub tables: Vec<ScannedTable>,
    /// The numbers of the stages that must finish before this one starts.
    #[serde(default)]
    pub after: Vec<u64>,
}

/// The rows that a scan keeps of a table.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScannedTable {
    /// The table, or its objects.
    pub table: String,
    /// The number of rows of the table, before any are skipped; `None` if unknown.
    #[serde(default)]
    pub rows: Option<u64>,
    /// The number of rows that scan, filter and project pass on.
    pub kept: u64,
}

impl ScannedTable {
    /// The fraction of rows that are kept, 0 to 1; `None` if the table's rows are unknown.
    #[must_use]
    pub fn selectivity(&self) -> Option<f64> {
        self.rows.map(|rows| share(self.kept as f64, rows as f64))
    }
}

impl Stage {
    /// Thread seconds of scan, filter and project.
    #[must_use]
    pub fn sfp_seconds(&self) -> f64 {
        self.scan_seconds + self.filter_project_seconds
    }

    /// The fraction of thread time and waiting, 0 to 1, that is scan, filter and project with its waiting; 0 if there
    /// is no such time.
    #[must_use]
    pub fn sfp_share(&self) -> f64 {
        share(self.sfp_seconds() + self.wait_seconds, self.thread_seconds + self.wait_seconds)
    }

    /// Returns true if the stage reads a table.
    #[must_use]
    pub fn scans(&self) -> bool {
        self.sfp_seconds() + self.wait_seconds > 0.0
    }

    /// Checks that the numbers are possible.
    pub(super) fn check(&self) -> Result<(), StageError> {
        let numbers = [
            ("wall_seconds", self.wall_seconds),
            ("thread_seconds", self.thread_seconds),
            ("scan_seconds", self.scan_seconds),
            ("filter_project_seconds", self.filter_project_seconds),
            ("wait_seconds", self.wait_seconds),
            ("read_bytes", self.read_bytes),
            ("result_bytes", self.result_bytes),
            ("scanned_bytes", self.scanned_bytes),
            ("aggregate_seconds", self.aggregate_seconds),
            ("aggregate_dropped_bytes", self.aggregate_dropped_bytes),
        ];
        let joins = self.semi_joins.iter().flat_map(|join| {
            [join.build_bytes, join.seconds, join.dropped_bytes].map(|it| ("semi_joins", it))
        });
        for (field, number) in numbers.into_iter().chain(joins) {
            if !(0.0..=MOST).contains(&number) {
                let message = format!("is {}, but must be between 0 and 1e18", digits(number));
                return Err(StageError::new(self.id, field, message));
            }
        }
        // Allows for rounding errors.
        let most = self.thread_seconds * (1.0 + 1e-6);
        let joins: f64 = self.semi_joins.iter().map(|join| join.seconds).sum();
        let parts = self.sfp_seconds() + self.aggregate_seconds + joins;
        if self.sfp_seconds() <= most && parts > most {
            let message = format!(
                "is {}, less than the {parts} of scan, filter, project, aggregates and joins",
                self.thread_seconds
            );
            return Err(StageError::new(self.id, "thread_seconds", message));
        }
        if self.sfp_seconds() > most {
            let message = format!(
                "is {}, less than the {} of scan, filter and project",
                self.thread_seconds,
                self.sfp_seconds()
            );
            return Err(StageError::new(self.id, "thread_seconds", message));
        }
        Ok(())
    }
}

/// Reports a stage with impossible measurements, with the stage and the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("stage {stage}, `{field}` {message}")]
pub struct StageError {
    /// The stage's number.
    pub stage: u64,
    /// The name of the field.
    pub field: &'static str,
    /// The error, in words.
    pub message: String,
}

impl StageError {
    pub(super) fn new(stage: u64, field: &'static str, message: impl Into<String>) -> Self {
        Self { stage, field, message: message.into() }
    }
}
