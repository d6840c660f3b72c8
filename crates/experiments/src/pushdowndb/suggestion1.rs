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
/// The least share of the bill that is most of it.
const MOST: f64 = 0.5;

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
    let [one, many] = names.map(|name| series(&measured, name));
    let (Some(one), Some(many)) = (one.last(), many.last()) else { return Ok(outcome) };
    let share = many.requests() as f64 / one.requests() as f64;
    let slower = one.seconds() / many.seconds();
    let of_bill = one.bill().requests / one.dollars();
    let found = format!(
        "{} requests instead of {} at 1e-3; with single ranges {slower:.1} times the time, and {:.0} % of the bill are \
         requests",
        many.requests(),
        one.requests(),
        100.0 * of_bill
    );
    outcome.decide("P70", found, share <= FEWER && slower > 1.0 && of_bill > MOST);
    let milliseconds = [one, many].map(|it| format!("{:.0}", 1e3 * it.seconds()));
    outcome.note(format!(
        "single ranges take {} ms and many {} ms; the index itself takes a few GETs of each of the four objects, and the \
         rest of the bill is the client's time",
        milliseconds[0], milliseconds[1]
    ));
    Ok(outcome)
}
