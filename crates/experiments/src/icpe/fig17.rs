//! Figure 17: cores and bytes over the time of query 75, over its tables and over model tables.

use super::tpcds::{MODEL_75, PLAIN, data, text};
use super::usage::{outcome, run, used};
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The figure.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/fig17",
    title: "Use of the CPU and reading over the time of query 75, and over model tables",
    place: "ICPE §6.4, Figure 17",
    method: Method::Live { runs, evaluate },
};

/// The query and its number.
const QUERY: usize = 75;

fn runs(setting: &Setting) -> Vec<Run> {
    let original = run(setting, QUERY);
    let mut model = Run::sql("over model tables", &data(setting), "", &PLAIN, &[], 1);
    model.link = original.link;
    model.arguments = ["sql", "--format", "csv"].map(str::to_owned).to_vec();
    let definitions = MODEL_75.iter().map(|(table, _)| {
        format!(
            "CREATE EXTERNAL TABLE {table} STORED AS PARQUET LOCATION 's3://tpcds/q75/{table}/'"
        )
    });
    let settings = PLAIN.iter().map(|(name, value)| format!("SET sluice.{name} = '{value}'"));
    for statement in definitions.chain(settings).chain([text(QUERY)]) {
        model.arguments.extend(["-c".to_owned(), statement]);
    }
    vec![original, model.sampled()]
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let all = [
        used(results, "original", &format!("usage of Q{QUERY}"))?,
        used(results, "model tables", "over model tables")?,
    ];
    Ok(outcome(QUERY, setting, &all))
}
