//! One to four workers, as the model predicts them.

use sluicegate_costmodel::Provenance;

use super::data::tpch;
use super::model::{Case, cases};
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table, UNLIMITED};

/// The predicted time and cost of a scan by the number of workers.
pub const EXPERIMENT: Experiment = Experiment {
    id: "ours/workers",
    title: "Predicted time and cost of a scan by one to four workers",
    place: "Sluicegate",
    method: Method::Live { runs, evaluate },
};

const HARDWARE: &str = "aws-in-region";
const RUN: &str = "model";
const QUERY: &str = "select l_orderkey, l_comment from lineitem where l_quantity < 5";
const WORKERS: [u32; 4] = [1, 2, 3, 4];
/// The axis of one point at which the table has the size of scale factor 100.
const SCALE: f64 = 100.0;

fn runs(setting: &Setting) -> Vec<Run> {
    let data = tpch(setting);
    let definitions = data.definitions();
    let changes = WORKERS.map(|workers| format!("workers={workers}"));
    let times = SCALE / setting.scale;
    let sweep = format!("scale={times}..{}/2", 2.0 * times);
    let mut arguments = vec!["model", "-f", &definitions, "-c", QUERY, "--format", "json"];
    arguments.extend(["--hardware", HARDWARE, "--draws", "10", "--sweep", &sweep]);
    arguments.extend(changes.iter().flat_map(|change| ["--what-if", change.as_str()]));
    vec![Run::command(RUN, &arguments).with_data(&data).over(UNLIMITED)]
}

/// A strategy with its workers, seconds and dollars.
struct Predicted {
    strategy: String,
    workers: u32,
    seconds: f64,
    dollars: f64,
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let cases = cases(results, RUN)?;
    let predicted: Vec<Predicted> = cases.iter().flatten().flat_map(predictions).collect();
    let mut strategies: Vec<&str> = predicted.iter().map(|it| it.strategy.as_str()).collect();
    strategies.sort_unstable();
    strategies.dedup();
    let line = |strategy: &&str| {
        let of = predicted.iter().filter(|it| it.strategy == *strategy);
        Line::new(*strategy, of.map(|it| (f64::from(it.workers), it.seconds)))
    };
    let mut outcome = Outcome::default();
    outcome.charts.push(Chart {
        title: "Predicted seconds of a scan of lineitem at scale factor 100".to_owned(),
        x: Axis::linear("workers"),
        y: Axis::linear("seconds"),
        marks: Marks::Lines(strategies.iter().map(line).collect()),
        provenance: Provenance::Modelled(HARDWARE.into()),
    });
    let row = |it: &Predicted| {
        vec![
            it.strategy.clone(),
            it.workers.to_string(),
            format!("{:.2}", it.seconds),
            format!("{:.4}", it.dollars),
        ]
    };
    outcome.tables.push(Table {
        title: "Predicted time and cost of a scan of lineitem at scale factor 100, not measured"
            .to_owned(),
        columns: vec!["way", "workers", "seconds", "dollars"],
        rows: predicted.iter().map(row).collect(),
        provenance: Provenance::Modelled(HARDWARE.into()),
    });
    Ok(outcome)
}

/// Returns the ways of a case at the first point of the axis.
fn predictions(case: &Case) -> Vec<Predicted> {
    let changed = case.what_if.as_deref().and_then(|it| it.strip_prefix("workers="));
    let Some(workers) = changed.and_then(|it| it.parse().ok()) else { return Vec::new() };
    let point = case.sweeps.first().and_then(|it| it.points.first());
    let operators = point.map_or(&case.operators, |it| &it.operators);
    let ways = operators.iter().flat_map(|it| &it.ways);
    ways.map(|way| Predicted {
        strategy: way.strategy.clone(),
        workers,
        seconds: way.seconds,
        dollars: way.dollars,
    })
    .collect()
}
