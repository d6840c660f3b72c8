//! Predicted against measured seconds, of each way to run five queries.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;

use crate::chart::{Axis, Marks, PointSeries};
use crate::experiment::Method;
use crate::results::median;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The trials of `sluice validate`, over CSV and Parquet.
pub const EXPERIMENT: Experiment = Experiment {
    id: "ours/predicted",
    title: "Predicted against measured seconds of each way to run a query",
    place: "Sluicegate",
    method: Method::Live { runs, evaluate },
};

/// The formats, which name the runs.
const FORMATS: [&str; 2] = ["csv", "parquet"];

/// A query that ran in one way behind one link.
#[derive(Debug, Deserialize)]
struct Trial {
    link: String,
    query: String,
    way: String,
    predicted_s: f64,
    measured_s: f64,
    /// Only trials of `auto` have one.
    right: Option<bool>,
}

impl Trial {
    fn error(&self) -> f64 {
        100.0 * (self.predicted_s / self.measured_s - 1.0).abs()
    }
}

/// Returns the runs. The quick ones do not calibrate, which takes longer than the trials.
fn runs(setting: &Setting) -> Vec<Run> {
    let quick = ["--scale", "0.02", "--link", "100mbit,1gbit", "--latency", "0ms"];
    let more = ["--selectivity", "0.01", "--hardware", "local", "--rounds", "1"];
    let full = ["--scale", "0.1", "--link", "100mbit,1gbit", "--latency", "0ms,5ms"];
    let calibrated = ["--selectivity", "0.0001,0.01,0.3", "--rounds", "3"];
    let sized = setting.either([&quick[..], &more].concat(), [&full[..], &calibrated].concat());
    FORMATS
        .map(|format| {
            let start = ["validate", "--trials", "json", "--format", format];
            Run::command(format, &[&start[..], &sized].concat())
        })
        .to_vec()
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut outcome = Outcome::default();
    let (mut rows, mut summary, mut series) = (Vec::new(), Vec::new(), Vec::new());
    let mut all: Vec<Trial> = Vec::new();
    for format in FORMATS {
        let trials: Vec<Trial> = results.output(format)?;
        series.push(PointSeries {
            name: format.to_owned(),
            points: trials
                .iter()
                .map(|it| (it.measured_s, it.predicted_s, String::new()))
                .collect(),
            is_published: false,
        });
        summary.push(summed(format, &trials));
        rows.extend(trials.iter().map(|it| row(format, it)));
        all.extend(trials);
    }
    outcome.remarks.push(remark(&all));
    outcome.charts.push(Chart {
        title: "Predicted against measured seconds".to_owned(),
        x: Axis::logarithmic("measured seconds"),
        y: Axis::logarithmic("predicted seconds"),
        marks: Marks::Points(series),
        provenance: mixed(setting),
    });
    let profile = setting.either("the profile local", "a profile calibrated behind each link");
    outcome.tables.push(Table {
        title: format!("Errors of predictions with {profile}"),
        columns: vec!["format", "trials", "median error, %", "right choices", "of"],
        rows: summary,
        provenance: Provenance::Measured,
    });
    outcome.tables.push(Table {
        title: "All trials".to_owned(),
        columns: vec!["format", "link", "query", "way", "predicted s", "measured s", "error, %"],
        rows,
        provenance: mixed(setting),
    });
    Ok(outcome)
}

/// The provenance of numbers of which some are measured and some predicted.
fn mixed(setting: &Setting) -> Provenance {
    let profile = setting.either("the profile local", "a profile calibrated behind each link");
    Provenance::Modelled(format!("{profile}; measured seconds are measured here").into())
}

/// Trials below these seconds are mostly what the profile has no time for: planning, and the start of requests.
const SHORT: f64 = 0.1;

/// Returns a sentence about the errors of short and of long trials.
fn remark(trials: &[Trial]) -> String {
    let (short, long): (Vec<&Trial>, Vec<&Trial>) =
        trials.iter().partition(|it| it.measured_s < SHORT);
    let error = |of: &[&Trial]| median(&of.iter().map(|it| it.error()).collect::<Vec<f64>>());
    let below = short.iter().filter(|it| it.predicted_s < it.measured_s).count();
    let mut text = format!(
        "{} of {} trials take less than {SHORT} s. {below} of these {} take longer than predicted, with a median error of {:.0} %: \
         planning, opening connections and other small work have no time in the profile.",
        short.len(),
        trials.len(),
        short.len(),
        error(&short)
    );
    if !long.is_empty() {
        text += &format!(
            " The {} longer trials have a median error of {:.0} %.",
            long.len(),
            error(&long)
        );
    }
    text
}

fn summed(format: &str, trials: &[Trial]) -> Vec<String> {
    let errors: Vec<f64> = trials.iter().map(Trial::error).collect();
    let choices: Vec<bool> = trials.iter().filter_map(|it| it.right).collect();
    vec![
        format.to_owned(),
        trials.len().to_string(),
        format!("{:.0}", median(&errors)),
        choices.iter().filter(|it| **it).count().to_string(),
        choices.len().to_string(),
    ]
}

fn row(format: &str, trial: &Trial) -> Vec<String> {
    vec![
        format.to_owned(),
        trial.link.clone(),
        trial.query.clone(),
        trial.way.clone(),
        format!("{:.4}", trial.predicted_s),
        format!("{:.4}", trial.measured_s),
        format!("{:.0}", trial.error()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_trials_have_an_error_of_their_own() {
        let trial = |predicted_s, measured_s| Trial {
            link: String::new(),
            query: String::new(),
            way: String::new(),
            predicted_s,
            measured_s,
            right: None,
        };
        let text =
            remark(&[trial(0.01, 0.02), trial(0.03, 0.02), trial(1.0, 2.0), trial(3.0, 2.0)]);
        assert!(text.starts_with("2 of 4 trials take less than 0.1 s. 1 of these 2 "), "{text}");
        assert!(text.ends_with("The 2 longer trials have a median error of 50 %."), "{text}");
    }
}
