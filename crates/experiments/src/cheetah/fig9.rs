//! Figure 9: the master's time by the unpruned fraction, modelled and measured.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::Figure;

use super::completion::{cases, lines, provenance, table};
use crate::chart::{Axis, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The master's operators complete the queries on this machine, on one core.
pub const EXPERIMENT: Experiment = Experiment {
    id: "cheetah/fig9",
    title: "The master's time by the fraction that is not pruned",
    place: "Cheetah §8.3, Figure 9",
    method: Method::Live { runs, evaluate },
};

const RUN: &str = "master";

/// An operator over a fraction of the entries.
#[derive(Debug, Deserialize)]
struct Point {
    operator: String,
    unpruned: f64,
    entries: u64,
    /// The median of the seconds.
    measured: f64,
    fastest: f64,
    slowest: f64,
    /// Seconds by the constants of the model.
    assumed: Option<f64>,
}

fn runs(setting: &Setting) -> Vec<Run> {
    let entries = setting.either("1000000", "8000000");
    let arguments = ["switch", "time", "9", "--measure", "--entries", entries, "--format", "json"];
    vec![Run::command(RUN, &arguments)]
}

/// Returns how many times as long ten times the entries take each operator, by the fastest runs.
fn growth(points: &[Point]) -> Vec<(&str, f64)> {
    let at = |fraction: f64| points.iter().filter(move |it| (it.unpruned - fraction).abs() < 1e-9);
    at(0.1)
        .filter_map(|few| {
            let all = at(1.0).find(|it| it.operator == few.operator)?;
            Some((few.operator.as_str(), all.fastest / few.fastest))
        })
        .collect()
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let points: Vec<Point> = results.output(RUN)?;
    let growth = growth(&points);
    let listed = |those: &mut dyn Iterator<Item = &(&str, f64)>| {
        those.map(|(name, times)| format!("{name} {times:.1}")).collect::<Vec<_>>().join(", ")
    };
    let mut outcome = Outcome::default();
    let found =
        format!("ten times the entries take these times as long: {}", listed(&mut growth.iter()));
    let rises = |(_, times): &&(&str, f64)| *times > 10.0;
    outcome.decide("C28", found, !growth.is_empty() && growth.iter().all(|it| rises(&it)));
    let slow = listed(&mut growth.iter().filter(|it| !rises(it)));
    let cause = "Hash tables grow beyond the caches. A filter and TOP N take less than a millisecond for the fewest \
                 entries, so their factors are inexact. The model has a constant rate for each operator, and its times \
                 rise because entries queue up";
    outcome.note(match slow.as_str() {
        "" => cause.to_owned(),
        slow => format!("not all rise faster: {slow}, by the fastest runs. {cause}"),
    });
    let row = |it: &Point| {
        let mut row = vec![it.operator.clone(), it.unpruned.to_string(), it.entries.to_string()];
        row.extend([it.measured, it.fastest, it.slowest].map(|time| format!("{time:.5}")));
        row
    };
    outcome.tables.push(Table {
        title: "Seconds of the master's operators on one core of this machine".to_owned(),
        columns: vec!["operator", "unpruned", "entries", "median", "fastest", "slowest"],
        rows: points.iter().map(row).collect(),
        provenance: Provenance::Measured,
    });
    let assumed = |it: &Point| {
        let time = it.assumed?;
        Some(vec![it.operator.clone(), it.entries.to_string(), format!("{time:.5}")])
    };
    let rows: Vec<_> = points.iter().filter_map(assumed).collect();
    if !rows.is_empty() {
        outcome.tables.push(Table {
            title: "Seconds of the master's operators by the constants of the model".to_owned(),
            columns: vec!["operator", "entries", "seconds"],
            rows,
            provenance: provenance(),
        });
    }
    let mut measured: Vec<Line> = Vec::new();
    for it in &points {
        let point = [it.unpruned, it.measured, it.fastest, it.slowest];
        match measured.iter_mut().find(|line| line.name == it.operator) {
            Some(line) => line.points.push(point),
            None => measured.push(Line { points: vec![point], ..Line::new(&it.operator, []) }),
        }
    }
    outcome.charts.push(Chart {
        title: "The master's time, measured".to_owned(),
        x: Axis::linear("unpruned fraction"),
        y: Axis::logarithmic("seconds"),
        marks: Marks::Lines(measured),
        provenance: Provenance::Measured,
    });
    let modelled = cases(Figure::Unpruned);
    outcome.tables.push(table(Figure::Unpruned, &modelled));
    outcome.remarks.push(
        "The claim is decided by the fastest runs of each operator, which other work of the machine delays least."
            .to_owned(),
    );
    let x = Axis::linear("unpruned fraction");
    outcome.charts.push(lines("Completion times by the unpruned fraction", x, &modelled));
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::Record;

    /// Returns the outcome for operators whose times rise with this power of the entries.
    fn outcome(power: f64) -> Outcome {
        let point = |operator: &str, tenth: u32| {
            let time = f64::from(tenth).powf(power) / 1000.0;
            json!({"figure": "9", "operator": operator, "unpruned": f64::from(tenth) / 10.0, "entries": 1000 * tenth,
                "measured": time, "fastest": time, "slowest": time, "assumed": null, "nanoseconds_per_entry": 5})
        };
        let operators = ["filter", "distinct", "top-n", "group-by", "join", "skyline"];
        let output: Vec<Value> =
            operators.iter().flat_map(|it| (1..=10).map(move |tenth| point(it, tenth))).collect();
        let mut results = Results::default();
        results.insert(RUN, Record { output: Value::Array(output), ..Record::default() });
        evaluate(&Setting::QUICK, &results).unwrap()
    }

    #[test]
    fn a_master_is_super_linear_or_not() {
        let linear = outcome(1.0);
        assert!(!linear.verdicts[0].holds, "{:?}", linear.verdicts);
        let rising = outcome(1.2);
        let found = &rising.verdicts[0].found;
        assert!(rising.verdicts[0].holds && found.ends_with("skyline 15.8"), "{found}");
        assert_eq!(rising.tables[0].rows.len(), 60);
    }
}
