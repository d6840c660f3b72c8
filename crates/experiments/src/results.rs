//! The outputs of an experiment's runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// An output that is not there, or not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("run `{run}`: {problem}")]
pub struct ResultsError {
    run: String,
    problem: String,
}

/// The recorded output of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Record {
    /// The command, as it would be typed into a shell.
    pub command: String,
    /// Seconds that the command took, measured.
    pub seconds: f64,
    /// The JSON on stdout; for SQL the list of [`Statement`]s, for DuckDB the list of their seconds.
    pub output: Value,
    /// The program of others that the run needs and that is not installed, so that there is no output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The answers on stdout, for SQL.
    #[serde(default)]
    pub answers: String,
    /// Samples of CPU time and bytes, if the run is sampled.
    #[serde(default)]
    pub usage: Vec<UsageSample>,
}

/// CPU time and bytes since the start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct UsageSample {
    /// Seconds since the start of the command.
    pub at: f64,
    /// CPU seconds of the command.
    pub client_cpu: f64,
    /// CPU seconds of the store.
    pub store_cpu: f64,
    /// Bytes over the loopback device of the machine, through which store and command talk.
    pub link_bytes: u64,
    /// Bytes that the store has read from its files or the page cache.
    pub store_read: u64,
}

/// The statistics of a statement, as `sluice sql --stats-json` writes them.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Statement {
    /// The text.
    pub statement: String,
    /// True if it only defines a name or sets an option.
    pub is_definition: bool,
    /// Seconds from the text to the end of the answer, measured.
    pub seconds: f64,
    /// Rows of the answer.
    pub rows: u64,
    /// Requests by kind, counted.
    pub requests: StatementRequests,
    /// Bytes, counted.
    pub bytes: StatementBytes,
    /// Dollars by kind, at the session's prices.
    pub dollars: StatementDollars,
    /// The prediction before it ran.
    pub predicted: Option<StatementPrediction>,
    /// The strategy of each operator that was chosen.
    pub strategies: Vec<StatementStrategy>,
}

/// Requests of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct StatementRequests {
    /// Requests of all kinds.
    pub total: u64,
    /// GET requests.
    pub get: u64,
    /// Statements of S3 Select.
    pub select: u64,
}

/// Bytes of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct StatementBytes {
    /// Scanned by S3 Select.
    pub scanned: u64,
    /// Returned by S3 Select.
    pub returned: u64,
    /// Fetched by GET.
    pub fetched: u64,
    /// Over the link, in both directions.
    pub link: u64,
}

/// Cost of a statement by kind.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct StatementDollars {
    /// All of it, with the work of the store if that is billed.
    pub total: f64,
    /// Requests.
    pub requests: f64,
    /// Bytes that S3 Select scanned.
    pub scanned: f64,
    /// Bytes that S3 Select returned.
    pub returned: f64,
    /// Bytes out of the store's region.
    pub transfer: f64,
    /// The client's machine.
    pub compute: f64,
    /// Bytes that the store read, if its work is billed.
    pub processed: f64,
    /// The time of the store's cores, if its work is billed.
    pub store_compute: f64,
}

/// Predicted numbers of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct StatementPrediction {
    /// Seconds.
    pub seconds: f64,
    /// Dollars.
    pub dollars: f64,
    /// Bytes over the link.
    pub link: u64,
    /// Bytes scanned by S3 Select.
    pub scanned: u64,
}

/// The chosen strategy of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct StatementStrategy {
    /// The operator: `scan`, `join`.
    pub operator: String,
    /// The strategy, or empty if the operator is left to DataFusion.
    pub strategy: String,
}

/// A query that ran several times in a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Repeated {
    /// The statistics of its last run.
    pub last: Statement,
    /// The median of its seconds.
    pub seconds: f64,
    /// All of its seconds.
    pub all_seconds: Vec<f64>,
}

/// The records of an experiment's runs, by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results(BTreeMap<String, Record>);

impl Results {
    /// Adds the record of a run.
    pub fn insert(&mut self, run: impl Into<String>, record: Record) {
        self.0.insert(run.into(), record);
    }

    /// Returns all records, by the names of the runs.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Record)> {
        self.0.iter().map(|(name, record)| (name.as_str(), record))
    }

    /// Returns the record of a run.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn record(&self, run: &str) -> Result<&Record, ResultsError> {
        self.0.get(run).ok_or_else(|| error(run, "there is no output"))
    }

    /// Returns the program that a run needs and that is not installed; `None` if the run has an output.
    ///
    /// # Errors
    ///
    /// If there is no such run.
    pub fn missing(&self, run: &str) -> Result<Option<&str>, ResultsError> {
        Ok(self.record(run)?.missing.as_deref())
    }

    /// Returns the JSON output of a run as a value of this type.
    ///
    /// # Errors
    ///
    /// If there is none, or it is of another type.
    pub fn output<T: for<'a> Deserialize<'a>>(&self, run: &str) -> Result<T, ResultsError> {
        let output = &self.record(run)?.output;
        T::deserialize(output).map_err(|problem| error(run, &problem.to_string()))
    }

    /// Returns the queries of a run in order, without definitions and settings, each once.
    ///
    /// # Errors
    ///
    /// If there is no such run, or it is not of SQL.
    pub fn queries(&self, run: &str) -> Result<Vec<Repeated>, ResultsError> {
        let statements: Vec<Statement> = self.output(run)?;
        let mut queries: Vec<Repeated> = Vec::new();
        for statement in statements.into_iter().filter(|it| !it.is_definition) {
            let seconds = statement.seconds;
            match queries.iter_mut().find(|it| it.last.statement == statement.statement) {
                Some(query) => {
                    query.all_seconds.push(seconds);
                    query.last = statement;
                }
                None => queries.push(Repeated {
                    last: statement,
                    all_seconds: vec![seconds],
                    ..Repeated::default()
                }),
            }
        }
        for query in &mut queries {
            query.seconds = median(&query.all_seconds);
        }
        Ok(queries)
    }

    /// Returns the only query of a run.
    ///
    /// # Errors
    ///
    /// If there is none, or more than one.
    pub fn query(&self, run: &str) -> Result<Repeated, ResultsError> {
        let mut queries = self.queries(run)?;
        match queries.len() {
            1 => Ok(queries.swap_remove(0)),
            count => Err(error(run, &format!("{count} queries instead of one"))),
        }
    }
}

/// Returns the median, or 0 of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

fn error(run: &str, problem: &str) -> ResultsError {
    ResultsError { run: run.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_query_has_the_median_of_its_rounds() {
        let line = |text: &str, seconds: f64| json!({"statement": text, "seconds": seconds});
        let output = json!([
            {"statement": "SET x = 1", "is_definition": true, "seconds": 9.0},
            line("a", 3.0), line("b", 4.0), line("a", 1.0), line("b", 5.0), line("a", 2.0),
        ]);
        let mut results = Results::default();
        results.insert("r", Record { output, ..Record::default() });
        let queries = results.queries("r").unwrap();
        assert_eq!(queries.len(), 2);
        assert_eq!((queries[0].seconds, queries[1].seconds), (2.0, 4.5));
        let refused = results.query("r").unwrap_err().to_string();
        assert_eq!(refused, "run `r`: 2 queries instead of one");
        let refused = results.queries("s").unwrap_err().to_string();
        assert_eq!(refused, "run `s`: there is no output");
    }
}
