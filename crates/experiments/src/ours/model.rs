//! The predictions of `sluice model` as JSON.

use serde::Deserialize;

use crate::{Results, ResultsError};

#[derive(Debug, Deserialize)]
struct Model {
    statements: Vec<ModelledStatement>,
}

#[derive(Debug, Deserialize)]
struct ModelledStatement {
    cases: Vec<Case>,
}

/// A statement on the hardware as it is, or with a change.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    /// The change: `workers=2`.
    pub(super) what_if: Option<String>,
    pub(super) operators: Vec<Operator>,
    #[serde(default)]
    pub(super) sweeps: Vec<Sweep>,
    /// The statement if all tables are read by GET.
    #[serde(default)]
    pub(super) without_pushdown: Total,
}

/// The prediction for a statement.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Total {
    pub(super) seconds: f64,
}

impl Case {
    /// Returns the number of workers that the case assumes.
    pub(super) fn workers(&self) -> Option<u32> {
        self.what_if.as_deref()?.strip_prefix("workers=")?.parse().ok()
    }
}

/// The predictions along an axis.
#[derive(Debug, Deserialize)]
pub(super) struct Sweep {
    pub(super) points: Vec<Point>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Point {
    pub(super) value: f64,
    pub(super) operators: Vec<Operator>,
}

/// An operator with the ways to run it.
#[derive(Debug, Deserialize)]
pub(super) struct Operator {
    pub(super) ways: Vec<Way>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Way {
    pub(super) strategy: String,
    pub(super) seconds: f64,
    #[serde(default)]
    pub(super) dollars: f64,
    /// True for the way that would be taken.
    #[serde(default)]
    pub(super) taken: bool,
}

impl Operator {
    /// Returns the strategy that would be taken.
    pub(super) fn taken(&self) -> Option<&str> {
        self.ways.iter().find(|way| way.taken).map(|way| way.strategy.as_str())
    }
}

/// Returns the cases of each statement of a run.
pub(super) fn cases(results: &Results, run: &str) -> Result<Vec<Vec<Case>>, ResultsError> {
    let model: Model = results.output(run)?;
    Ok(model.statements.into_iter().map(|it| it.cases).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Record;

    #[test]
    fn the_way_that_would_be_taken_is_read() {
        let ways = json!([
            {"strategy": "get", "seconds": 2.0, "dollars": 0.1, "taken": false},
            {"strategy": "select", "seconds": 1.0, "dollars": 0.2, "taken": true},
        ]);
        let operators = json!([{"operator": "scan", "ways": ways}]);
        let sweeps = json!([{"axis": "scale", "points": [{"value": 3.0, "operators": operators}]}]);
        let case = json!({"what_if": "workers=2", "operators": operators, "sweeps": sweeps});
        let mut results = Results::default();
        let output = json!({"statements": [{"cases": [case]}]});
        results.insert("model", Record { output, ..Record::default() });
        let cases = cases(&results, "model").unwrap();
        let point = &cases[0][0].sweeps[0].points[0];
        assert_eq!((point.value, point.operators[0].taken()), (3.0, Some("select")));
    }
}
