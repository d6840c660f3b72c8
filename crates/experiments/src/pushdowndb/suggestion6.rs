//! The suggestion of §IX: compressed answers.

use super::data;
use super::suggestion::compare;
use super::sweep::{self, Cell};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// Answers over Parquet in plain and in compressed Arrow, measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/suggestion6",
    title: "Answers of S3 Select in plain and in compressed Arrow, behind 100 Mbit/s",
    place: "PushdownDB §IX, suggestion to compress transferred data",
    method: Method::Live { runs, evaluate },
};

/// The engine requests compressed answers where it assumes a link that is slower than a core compresses.
const WAYS: [(&str, &[&str]); 2] =
    [("plain", &["--hardware", "aws-in-region"]), ("compressed", &["--hardware", "local-1gbit"])];
/// Rows are added up by the client, so that all that pass are returned.
const SETTINGS: [(&str, &str); 2] = [("scan", "select"), ("aggregate", "here")];
const SELECTIVITIES: [f64; 3] = [0.1, 0.25, 0.5];
/// A link on which bytes matter more than the work to compress them.
const SLOW_LINK: &str = "100mbit";

fn cells(setting: &Setting) -> Vec<Cell> {
    let data = data::floats(setting, "parquet");
    let of = |(name, arguments): (&'static str, &'static [&'static str])| {
        let data = data.clone();
        SELECTIVITIES.map(move |selectivity| {
            let sums = "sum(f0), sum(f1), sum(f2), sum(f3)";
            let query = format!("select {sums} from floats_10 where f0 < {selectivity}");
            let point = (selectivity.to_string(), selectivity);
            Cell::new(name, point, &data, &SETTINGS, query).with(arguments).over(SLOW_LINK)
        })
    };
    WAYS.into_iter().flat_map(of).collect()
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let axis = ("selectivity", Axis::linear("selectivity"));
    Ok(compare("Answers of floats over Parquet", axis, WAYS.map(|it| it.0), &measured))
}
