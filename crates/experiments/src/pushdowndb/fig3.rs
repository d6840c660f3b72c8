//! Figure 3: joins by a date that bounds orders.

use super::join_sweep::{self, Point};
use super::joins::{BOUNDS, DATES, Join};
use super::names;
use super::sweep::{self, Cell, series, spread};
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// The figure, measured here and predicted for the paper's client.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig3",
    title: "Time and cost of three joins by the bound on the date of orders",
    place: "PushdownDB §V-B2, Figure 3",
    method: Method::Live { runs, evaluate },
};

/// The largest ratio of times that counts as the same.
const FLAT: f64 = 1.3;

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
    outcome.decide("P36", format!("{faster:.1} times as fast"), faster >= 2.0);
    if faster < 2.0 {
        outcome.note("orders are small here, so that requests take most of the time");
    }
    let range = spread(bloom.iter().copied());
    let costs = [names::BASELINE, names::BLOOM]
        .map(|name| series(&measured, name).into_iter().map(|it| it.dollars()).fold(0.0, f64::max));
    let found = format!("{range:.2} times; {:.2} times the cost", costs[1] / costs[0]);
    outcome.decide("P37", found, range <= FLAT && costs[1] <= costs[0]);
    if range > FLAT || costs[1] > costs[0] {
        let times: Vec<String> = bloom.iter().map(|it| format!("{:.0}", 1e3 * it)).collect();
        outcome.note(format!(
            "the joins take {} ms from the earliest date to none: scans of a tenth of a second differ by what else runs, \
             and the keys are looked up for early orders only",
            times.join(", ")
        ));
    }
    let points = points();
    join_sweep::show(&mut outcome, ("share of orders", &points), &measured, &[]);
    Ok(outcome)
}
