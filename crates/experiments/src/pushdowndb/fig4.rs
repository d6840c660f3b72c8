//! Figure 4: the false-positive rate of the Bloom join.

use std::time::Duration;

use sluicegate_costmodel::{Bytes, HardwareProfile, Phase, Steps, predict};

use super::join_sweep::provenance;
use super::joins::{BOUNDS, customers, fast_client, query, scan_of_orders, slow_client};
use super::paper::{predicted, seconds};
use super::sweep::{self, Cell};
use super::{data, names};
use crate::chart::{Axis, Line};
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The figure, predicted for the paper's client and for one that is faster than its link, and measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig4",
    title: "Time of the Bloom join by false-positive rate, with a slow and a fast client",
    place: "PushdownDB §V-B3, Figure 4",
    method: Method::Live { runs, evaluate },
};

const RATES: [f64; 6] = [0.0001, 0.001, 0.01, 0.1, 0.3, 0.5];
/// The bound on customers of the measured joins. More than 1,000 customers pass, which are not sent as a list.
const BOUND: f64 = -650.0;

/// The measured joins. A store of the kind `aws` evaluates a filter by SUBSTRING, as the paper does.
fn cells(setting: &Setting) -> Vec<Cell> {
    let data = data::joins(setting);
    let cell = |rate: f64| {
        let settings = [("scan", "select"), ("join", "bloom")];
        Cell::new(names::BLOOM, (rate.to_string(), rate), &data, &settings, query(BOUND, None))
            .set("bloom_p", rate)
            .with(&["--store", "aws"])
            .often()
    };
    RATES.map(cell).to_vec()
}

/// The share of orders that the selected customers have.
fn matching() -> f64 {
    customers(BOUNDS[0]) / customers(9_999.99)
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

/// The prediction for a rate.
struct Point {
    rate: f64,
    slow: Duration,
    fast: Duration,
    /// The slow client, if it reads answers while the store scans.
    piped: Duration,
    /// The store alone.
    store: Duration,
    returned: f64,
    cost: [f64; 4],
}

fn point(rate: f64, [slow, fast, piped]: [&HardwareProfile; 3]) -> Point {
    let phase = scan_of_orders(matching(), 1.0, rate);
    let returned = phase.returned.as_f64();
    let store = Steps::from(Phase { returned: Bytes::ZERO, ..phase.clone() });
    let steps = Steps::from(phase);
    let (time, cost) = predicted(&steps, slow);
    Point {
        rate,
        slow: time,
        fast: predict(&steps, fast).total(),
        piped: predict(&steps, piped).total(),
        store: predict(&store, slow).total(),
        returned,
        cost: sweep::cost_parts(&cost),
    }
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let mut outcome = predictions();
    let axis = || Axis::logarithmic("false-positive rate");
    outcome.charts.push(sweep::time_chart("Measured time of the Bloom join", axis(), &measured));
    outcome.charts.push(sweep::returned_chart(
        "Bytes returned by the Bloom join",
        axis(),
        &measured,
    ));
    outcome.tables.push(sweep::table("Bloom joins with filters of SUBSTRING", "p", &measured));
    Ok(outcome)
}

fn predictions() -> Outcome {
    let (slow, fast) = (slow_client(), fast_client());
    let mut piped = slow.clone();
    piped.client.overlap = 1.0;
    let points = RATES.map(|rate| point(rate, [&slow, &fast, &piped]));
    let mut outcome = Outcome::default();
    let best = |time: fn(&Point) -> Duration| {
        points.iter().min_by_key(|point| time(point)).map_or(0.0, |point| point.rate)
    };
    let [best_slow, best_fast, best_piped] =
        [best(|it| it.slow), best(|it| it.fast), best(|it| it.piped)];
    outcome.decide("P38", best_slow.to_string(), best_slow == 0.01);
    outcome.note(format!(
        "with a client that is faster than its link, {best_fast} is the best; if the paper's client read answers \
         while the store scans, {best_piped} would be"
    ));
    let computes = points.windows(2).all(|pair| pair[0].store > pair[1].store);
    let returns = points.windows(2).all(|pair| pair[0].returned < pair[1].returned);
    let found = if computes && returns { "both" } else { "not both" };
    outcome.decide("P39", found, computes && returns);

    let line = |name: &str, time: fn(&Point) -> Duration| {
        Line::new(name, points.iter().map(|it| (it.rate, time(it).as_secs_f64())))
    };
    outcome.charts.push(sweep::predicted_chart(
        "Predicted time of the Bloom join's scan of orders at scale factor 10",
        Axis::logarithmic("false-positive rate"),
        vec![
            line("the paper's client", |it| it.slow),
            line("fast client", |it| it.fast),
            line("store alone", |it| it.store),
        ],
        provenance(),
    ));
    let bars = points.iter().map(|it| (it.rate.to_string(), it.cost));
    let title = "Predicted cost of the scan, with the paper's client";
    outcome.charts.push(sweep::cost_bars(title, provenance(), bars));
    let row = |it: &Point| {
        let mut row = vec![it.rate.to_string()];
        row.extend([it.slow, it.fast, it.piped, it.store].map(seconds));
        row.push(format!("{:.0}", it.returned / 1e6));
        row.push(format!("{:.2}", it.cost.iter().sum::<f64>()));
        row
    };
    outcome.tables.push(Table {
        title: "The Bloom join's scan of orders at scale factor 10".to_owned(),
        columns: vec![
            "p",
            "seconds",
            "fast client",
            "reading while scanning",
            "store alone",
            "MB returned",
            "cents",
        ],
        rows: points.iter().map(row).collect(),
        provenance: provenance(),
    });
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_client_wants_a_higher_rate() {
        let outcome = predictions();
        assert!(outcome.verdicts.iter().all(|it| it.holds), "{:?}", outcome.verdicts);
        let note = outcome.verdicts[0].note.as_deref().unwrap_or_default();
        assert!(note.contains("0.3 is the best"), "{note}");
    }
}
