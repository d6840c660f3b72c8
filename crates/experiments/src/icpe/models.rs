//! Queries over model tables, as `sluice storage --model-tables` compares them.

use serde::Deserialize;

use super::tpcds::model_tables;
use crate::{Results, ResultsError, Run, Setting};

/// A query over its tables, over copies of them, and over tables of what its scans give.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ModelRun {
    query: String,
    pub(super) scans: Option<u32>,
    pub(super) same_plan: Option<bool>,
    pub(super) original_s: Option<f64>,
    pub(super) model_s: Option<f64>,
    speedup: Option<f64>,
    pub(super) layout_speedup: Option<f64>,
    pub(super) bytes_ratio: Option<f64>,
    pub(super) cpu_ratio: Option<f64>,
}

impl ModelRun {
    pub(super) fn number(&self) -> usize {
        self.query.trim_start_matches('Q').parse().unwrap_or(0)
    }

    /// Returns the seconds over the tables, divided by those over the model tables.
    pub(super) fn speedup(&self) -> f64 {
        self.speedup.unwrap_or(f64::NAN)
    }
}

/// Returns the queries: those of Table 3, and others up to the ten of Figure 9, which the paper does not all name.
fn numbers(setting: &Setting) -> &'static [usize] {
    setting.either(&[9, 44, 49, 75, 76, 72], &[9, 44, 49, 75, 76, 72, 4, 13, 28, 48])
}

/// Returns the run.
pub(super) fn run(setting: &Setting) -> Run {
    model_tables(setting, numbers(setting))
}

/// Returns the queries of the run.
pub(super) fn models(results: &Results) -> Result<Vec<ModelRun>, ResultsError> {
    results.output("model tables")
}

/// Formats a number that may be missing.
pub(super) fn optional(number: Option<f64>, digits: usize) -> String {
    number.map(|it| format!("{it:.digits$}")).unwrap_or_default()
}
