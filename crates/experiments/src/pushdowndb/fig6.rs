//! Figure 6: the number of groups that the hybrid aggregates in S3.

use std::ops::RangeInclusive;

use sluicegate_costmodel::{Bytes, Cost};

use super::groupings::{GroupBy, SAMPLED, hybrid_parts, provenance, query};
use super::sweep::{self, Cell, LINK};
use super::sweep_charts;
use super::{data, names};
use crate::chart::{Axis, Bar};
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The figure, measured here and predicted for the paper's client.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig6",
    title: "Time of the hybrid group-by by the number of groups in S3",
    place: "PushdownDB §VI-B, §VI-C2, Figure 6",
    method: Method::Live { runs, evaluate },
};

/// The numbers of groups in S3, of the figure and of the authors' code.
const PUSHED: [usize; 7] = [1, 2, 4, 6, 8, 10, 12];
const THETA: f64 = 0.9;
/// The column of this skew.
const COLUMN: &str = "g2";
/// The largest ratio of the hybrid's time to that of its slower part.
const OVERLAPPED: f64 = 1.1;
/// The runs whose plans count the sampled rows: of 1 %, and of as many rows as the engine samples by default.
const PLANS: [&str; 2] = ["sample", "default sample"];
/// The share of the rows that a sample of 1 % may have.
const ONE_PERCENT: RangeInclusive<f64> = 0.009..=0.011;
/// The objects of the table.
const OBJECTS: f64 = 4.0;

/// Returns the rows of an object that are 1 % of it.
fn sampled_rows(setting: &Setting) -> f64 {
    (rows(setting) * SAMPLED / OBJECTS).round()
}

/// Returns the rows of the table.
fn rows(setting: &Setting) -> f64 {
    6_400_000.0 * data::group_scale(setting)
}

fn cells(setting: &Setting) -> Vec<Cell> {
    let data = data::groups(setting);
    let settings = [("scan", "select"), ("group_by", "hybrid")];
    let cell = |pushed: usize| {
        let point = (pushed.to_string(), pushed as f64);
        Cell::new(names::HYBRID, point, &data, &settings, query("skewed", COLUMN))
            .set("group_by_sample", sampled_rows(setting))
            .set("group_by_pushed", pushed)
    };
    PUSHED.map(cell).to_vec()
}

fn runs(setting: &Setting) -> Vec<Run> {
    let mut runs = sweep::runs(&cells(setting), sweep::ROUNDS);
    let sample = sampled_rows(setting).to_string();
    let settings = [
        ("scan", "select"),
        ("group_by", "hybrid"),
        ("group_by_pushed", "6"),
        // The engine samples each range of an object. With this size, an object is one range.
        ("range_bytes", "1073741824"),
        ("group_by_sample", sample.as_str()),
    ];
    let data = data::groups(setting);
    let explain = [format!("explain analyze {}", query("skewed", COLUMN))];
    runs.push(Run::sql(PLANS[0], &data, LINK, &settings, &explain, 1));
    runs.push(Run::sql(PLANS[1], &data, LINK, &settings[..4], &explain, 1));
    runs
}

/// Returns a counter of a plan, such as `sample_rows=16.38 K`.
pub(super) fn counter(plan: &str, name: &str) -> Option<f64> {
    let text = plan.split(&format!("{name}=")).nth(1)?.split([',', ']']).next()?;
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let factor = match unit {
        "K" => 1e3,
        "M" => 1e6,
        _ => 1.0,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// The prediction for a number of groups in S3.
struct Point {
    pushed: usize,
    seconds: f64,
    cost: Cost,
    /// The seconds of the part in S3 and of the one here.
    parts: [f64; 2],
    returned: Bytes,
}

fn points() -> [Point; PUSHED.len()] {
    PUSHED.map(|pushed| {
        let (seconds, cost) = GroupBy::Hybrid { largest: pushed, theta: THETA }.predict();
        let (parts, returned) = hybrid_parts(pushed, THETA);
        Point { pushed, seconds, cost, parts, returned }
    })
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let [set, default] = PLANS.map(|plan| results.record(plan));
    let [set, default] = [set?, default?]
        .map(|it| counter(&it.answers, "sample_rows").map(|sampled| sampled / rows(setting)));
    let mut outcome = Outcome::default();
    let percent = |share: Option<f64>| {
        share.map_or_else(|| "none".to_owned(), |it| format!("{:.2} %", 100.0 * it))
    };
    let found = format!("{}; {} by default", percent(set), percent(default));
    outcome.decide("P41", found, set.is_some_and(|it| ONE_PERCENT.contains(&it)));
    outcome.note(format!(
        "with sluice.group_by_sample set to {:.0} rows of each object, which is 1 % of it; by default the engine samples \
         4,096 rows. Here each object is one range, because the engine samples each range; the timed runs may sample an \
         object in several ranges",
        sampled_rows(setting)
    ));
    let points = points();
    decide(&mut outcome, &points);
    let fastest = measured.iter().min_by(|one, other| one.seconds().total_cmp(&other.seconds()));
    if let Some(fastest) = fastest {
        let times: Vec<f64> = measured.iter().map(sweep::Measured::seconds).collect();
        let here = format!(
            "predicted; measured here, {} groups are the fastest, and all numbers of groups take {} s",
            fastest.cell.label,
            sweep::between(&times)
        );
        outcome.add_to_note("P48", &here);
    }

    let axis = || Axis::linear("groups in S3");
    outcome.charts.push(sweep_charts::time_chart("Measured time of the hybrid", axis(), &measured));
    outcome.charts.push(sweep_charts::returned_chart(
        "Bytes that the hybrid returns",
        axis(),
        &measured,
    ));
    outcome.tables.push(sweep::table("Sums of four columns by 100 groups", "in S3", &measured));
    show(&mut outcome, &points);
    Ok(outcome)
}

fn decide(outcome: &mut Outcome, points: &[Point]) {
    let best = points.iter().min_by(|one, other| one.seconds.total_cmp(&other.seconds));
    let best = best.map_or(0, |it| it.pushed);
    outcome.decide("P48", format!("{best} groups"), (6..=8).contains(&best));
    let slower = |it: &Point| it.parts[0].max(it.parts[1]);
    // The sample and the start are the same for any number of groups.
    let before = points.iter().map(|it| it.seconds - slower(it)).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|it| (it.seconds - before) / slower(it)).fold(0.0, f64::max);
    let found = format!("at most {most:.2} times the slower part, without the sample");
    outcome.decide("P49", found, most <= OVERLAPPED);
    outcome.note(
        "the predicted plan runs both parts together by construction, so this checks the prediction and not a store; it \
         adds up the scans of both parts, which matters if the part in S3 is the slower one; the engine's times are in the \
         table",
    );
}

/// Adds the predictions.
fn show(outcome: &mut Outcome, points: &[Point]) {
    let bar = |it: &Point| Bar { name: format!("{} in S3", it.pushed), lengths: it.parts.to_vec() };
    outcome.charts.push(sweep_charts::parts_chart(
        "Predicted time of the hybrid's parts over 64 million rows",
        ["largest groups in S3", "other groups here"],
        points.iter().map(bar).collect(),
        false,
        provenance(),
    ));
    let row = |it: &Point| {
        let mut row = vec![it.pushed.to_string()];
        row.extend([it.parts[0], it.parts[1], it.seconds].map(|it| format!("{it:.1}")));
        row.push(format!("{:.0}", it.returned.as_f64() / 1e6));
        row.push(format!("{:.2}", it.cost.total().cents()));
        row
    };
    outcome.tables.push(Table {
        title: "The hybrid over 64 million rows, predicted for the paper's client".to_owned(),
        columns: vec!["in S3", "part in S3", "part here", "seconds", "MB returned", "cents"],
        rows: points.iter().map(row).collect(),
        provenance: provenance(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_units() {
        let plan = "rows_left=79.41 K, sample_rows=3.2 K, select_requests=12]";
        assert_eq!(counter(plan, "sample_rows"), Some(3_200.0));
        assert_eq!(counter(plan, "select_requests"), Some(12.0));
        assert_eq!(counter(plan, "nothing"), None);
    }

    #[test]
    fn the_predicted_claims_that_differ_are_these() {
        let mut outcome = Outcome::default();
        decide(&mut outcome, &points());
        let differing: Vec<&str> =
            outcome.verdicts.iter().filter(|it| !it.holds).map(|it| it.claim).collect();
        assert_eq!(differing, ["P49"], "{:?}", outcome.verdicts);
    }
}
