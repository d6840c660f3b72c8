//! Queries over model tables, as `sluice storage --model-tables` compares them.

use serde::Deserialize;

use super::plans::{Scanned, left_out};
use super::ranking::required;
use super::tpcds::model_tables;
use crate::{Results, ResultsError, Run, Setting};

/// A query over its tables, over copies of them, and over tables of what its scans give.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct ModelRun {
    query: String,
    pub(super) same_plan: Option<bool>,
    /// How the plan over model tables differs.
    #[serde(default)]
    pub(super) plan_difference: Option<String>,
    pub(super) original_s: Option<f64>,
    pub(super) model_s: Option<f64>,
    /// `None` if it is without limit.
    speedup: Option<f64>,
    pub(super) layout_speedup: Option<f64>,
    pub(super) bytes_ratio: Option<f64>,
    pub(super) cpu_ratio: Option<f64>,
    /// The scans, with the rows that they give.
    #[serde(default)]
    scanned: Vec<Scanned>,
    /// Why the query did not run.
    #[serde(default)]
    error: Option<String>,
}

impl ModelRun {
    pub(super) fn number(&self) -> usize {
        self.query.trim_start_matches('Q').parse().unwrap_or(0)
    }

    /// Returns the seconds over the tables, divided by those over the model tables.
    pub(super) fn speedup(&self) -> f64 {
        self.speedup.unwrap_or(f64::INFINITY)
    }

    /// Returns the part of the rows of fact tables that the scans leave out, 0 to 1.
    pub(super) fn left_out(&self) -> Option<f64> {
        left_out(&self.scanned)
    }
}

/// The name of the run.
const RUN: &str = "model tables";

/// Returns the queries: those of Table 3, and others up to the ten of Figure 9, which the paper does not all name.
fn numbers(setting: &Setting) -> &'static [usize] {
    setting.either(&[9, 44, 49, 75, 76, 72], &[9, 44, 49, 75, 76, 72, 4, 13, 28, 48])
}

/// Returns the run.
pub(super) fn run(setting: &Setting) -> Run {
    model_tables(setting, numbers(setting))
}

/// Returns the queries that ran.
pub(super) fn models(results: &Results) -> Result<Vec<ModelRun>, ResultsError> {
    let mut queries: Vec<ModelRun> = results.output(RUN)?;
    queries.retain(|it| it.error.is_none());
    Ok(queries)
}

/// Returns the query with this number.
pub(super) fn model<'a>(
    results: &Results,
    queries: &'a [ModelRun],
    number: usize,
) -> Result<&'a ModelRun, ResultsError> {
    required(results, queries.iter().find(|it| it.number() == number), number, RUN)
}

/// Formats a number that may be missing.
pub(super) fn optional(number: Option<f64>, digits: usize) -> String {
    number.map(|it| format!("{it:.digits$}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    #[test]
    fn a_query_that_did_not_run_is_missing() {
        let output = json!([
            {"query": "Q9", "same_plan": true, "speedup": null},
            {"query": "Q44", "same_plan": null, "speedup": null, "error": "out of memory"},
        ]);
        let mut results = Results::default();
        results.insert(RUN, Record { output, ..Record::default() });
        let queries = models(&results).unwrap();
        let found = |number| model(&results, &queries, number).map(ModelRun::speedup);
        assert_eq!(found(9), Ok(f64::INFINITY));
        assert_eq!(
            found(44).unwrap_err().to_string(),
            "run `Q44 of model tables`: there is no output"
        );
    }
}
