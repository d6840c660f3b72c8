//! The ten items of Figure 10 over Parquet, for TPC-H, which §IX mentions.

use super::data;
use super::fig10::times;
use super::items::{self, Tables};
use super::sweep::{self, Cell};
use super::sweep_charts;
use crate::experiment::Method;
use crate::tolerance::QUARTER;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The items, measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig10-parquet",
    title: "Time and cost of ten items over Parquet without and with pushdown",
    place: "PushdownDB §IX",
    method: Method::Live { runs, evaluate },
};

/// The largest gain that counts as hardly any.
const HARDLY: f64 = 1.0 + QUARTER;

fn cells(setting: &Setting) -> Vec<Cell> {
    let tables = Tables {
        tpch: data::tpch_parquet(setting),
        indexed: None,
        groups: data::groups_parquet(setting),
    };
    items::cells(&tables, sweep::LINK)
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let gains = items::gains(&measured);
    let mean = items::mean(&gains);
    let mut outcome = Outcome::default();
    outcome.decide("P68", format!("{:.2} times as fast", mean.faster), mean.faster <= HARDLY);
    if mean.faster > HARDLY {
        let most = gains.iter().map(|it| it.faster).fold(0.0, f64::max);
        outcome.note(format!(
            "the items gain up to {most:.1} times: aggregates, groups and keys of joins are pushed into the store, whose \
             answers are Arrow, not the CSV of S3 Select; the paper pushes filters and columns",
        ));
    }
    outcome.charts.push(times("Measured time of ten items over Parquet", &measured));
    outcome
        .charts
        .push(sweep_charts::cost_chart("Measured cost of ten items over Parquet", &measured));
    let title = format!("Gains over Parquet at {}", items::scales(setting));
    outcome.tables.push(items::table(title, &gains));
    outcome.tables.push(sweep::table("Ten items over Parquet", "item", &measured));
    Ok(outcome)
}
