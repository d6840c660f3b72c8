//! Figure 3: joins by a date that bounds orders.

use super::join_sweep::{self, Point};
use super::joins::{BOUNDS, DATES, Join};
use super::names;
use super::sweep::{self, Cell, Measured, ratios, series, spread};
use crate::experiment::Method;
use crate::tolerance::{MUCH, QUARTER};
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The figure, measured here and predicted for the paper's client.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig3",
    title: "Time and cost of three joins by the bound on the date of orders",
    place: "PushdownDB §V-B2, Figure 3",
    method: Method::Live { runs, evaluate },
};

/// The largest ratio of costs that counts as no more: the paper calls them comparable or cheaper.
const COMPARABLE: f64 = 1.1;
/// The largest ratio of times that counts as the same.
const FLAT: f64 = 1.0 + QUARTER;

fn points() -> Vec<Point> {
    let point = |(before, early): (Option<&'static str>, f64)| Point {
        label: before.unwrap_or("none").to_owned(),
        x: early,
        bound: BOUNDS[0],
        before,
        early,
    };
    DATES.map(point).to_vec()
}

fn cells(setting: &Setting) -> Vec<Cell> {
    join_sweep::cells(setting, &points())
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let mut outcome = Outcome::default();
    let seconds = |name: &str| {
        series(&measured, name).into_iter().map(|it| it.seconds()).collect::<Vec<f64>>()
    };
    let [baseline, filtered, bloom] = Join::ALL.map(|join| seconds(join.name()));
    let faster = baseline.first().zip(filtered.first()).map_or(0.0, |(get, select)| get / select);
    outcome.decide("P36", format!("{faster:.1} times as fast"), faster >= MUCH);
    if faster < MUCH {
        outcome.note("orders are small here, so that requests take most of the time");
    }
    let range = spread(bloom.iter().copied());
    let cost = |name: &str| ratios(&measured, [names::BLOOM, name], Measured::dollars);
    let dearest =
        [names::BASELINE, names::FILTERED].map(|name| cost(name).into_iter().fold(0.0, f64::max));
    let found = format!(
        "{range:.2} times; at most {:.2} times the cost of the baseline and {:.2} times that of the filtered join",
        dearest[0], dearest[1]
    );
    let is_flat = range <= FLAT;
    outcome.decide("P37", found, is_flat && dearest.iter().all(|it| *it <= COMPARABLE));
    let times: Vec<String> = bloom.iter().map(|it| format!("{:.0}", 1e3 * it)).collect();
    let [_, _, predicted] = join_sweep::predictions(&points());
    let seconds: Vec<f64> = predicted.iter().map(|it| it.0).collect();
    let reason = match is_flat {
        true => "",
        false => {
            ": scans of a tenth of a second differ by what else runs, and keys are looked up for early orders only"
        }
    };
    outcome.note(format!(
        "measured here, the joins take {} ms from the earliest date to none{reason}. The prediction for the paper's client \
         is not flat, as the chart shows: {} s, because the model evaluates the filter's hash functions for early orders \
         only",
        times.join(", "),
        sweep::between(&seconds),
    ));
    let points = points();
    join_sweep::show(&mut outcome, ("share of orders", &points), &measured, &[]);
    Ok(outcome)
}
