//! Suggestion 1 of §X: several ranges in a GET.

use super::data;
use super::fig1::query;
use super::suggestion::compare;
use super::sweep::{self, Cell, series};
use crate::chart::Axis;
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting};

/// An index with one range and with many ranges in a GET, measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/suggestion1",
    title: "An index with one range and with many ranges in a GET",
    place: "PushdownDB §X, suggestion 1",
    method: Method::Live { runs, evaluate },
};

const WAYS: [(&str, &str); 2] = [("one range", "1"), ("many ranges", "256")];
const POWERS: [i32; 3] = [-5, -4, -3];
/// The largest share of requests that are left.
const FEWER: f64 = 0.1;

fn cells(setting: &Setting) -> Vec<Cell> {
    let data = data::indexed(setting);
    let of = |(name, ranges)| {
        let data = data.clone();
        POWERS.map(move |power| {
            let settings = [("scan", "index"), ("ranges_per_request", ranges)];
            let point = (format!("1e{power}"), 10_f64.powi(power));
            Cell::new(name, point, &data, &settings, query(power))
        })
    };
    WAYS.into_iter().flat_map(of).collect()
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let axis = ("selectivity", Axis::logarithmic("selectivity"));
    let names = WAYS.map(|(name, _)| name);
    let mut outcome = compare("An index over lineitem", axis, names, &measured);
    let [one, many] =
        names.map(|name| series(&measured, name).last().map_or(0, |it| it.requests()));
    let share = many as f64 / one as f64;
    outcome.decide("P70", format!("{many} instead of {one} requests at 1e-3"), share <= FEWER);
    if share > FEWER {
        outcome.note(
            "a GET of many ranges reads one object, and the index itself takes a few GETs of each of the four objects",
        );
    }
    Ok(outcome)
}
