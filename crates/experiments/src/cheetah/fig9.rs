//! Figure 9: the master's time by the unpruned fraction, modelled and measured.

use serde::Deserialize;
use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::Figure;

use super::completion::{cases, lines, table};
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
/// The operators that keep more than a few rows. The others take the same time for each entry.
const GROWING: [&str; 4] = ["distinct", "group-by", "join", "skyline"];

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

/// Returns how many times as long ten times the entries take these operators together, by the fastest runs.
fn growth(points: &[Point], operators: &[&str]) -> f64 {
    let at = |fraction: f64| -> f64 {
        let there = points.iter().filter(|it| (it.unpruned - fraction).abs() < 1e-9);
        there.filter(|it| operators.contains(&it.operator.as_str())).map(|it| it.fastest).sum()
    };
    at(1.0) / at(0.1)
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let points: Vec<Point> = results.output(RUN)?;
    let together = growth(&points, &GROWING);
    let each = |operators: &[&str]| {
        let each = operators.iter().map(|it| format!("{it} {:.1}", growth(&points, &[it])));
        each.collect::<Vec<_>>().join(", ")
    };
    let mut outcome = Outcome::default();
    let found = format!("{together:.1} times as long for ten times the entries");
    outcome.decide("C28", found, together > 10.0);
    outcome.note(format!(
        "{}; hash tables grow beyond the caches, and the skyline's tree hardly deepens. Operators that keep few rows: \
         {}. The model has a constant rate for each operator, and rises because entries queue up",
        each(&GROWING),
        each(&["filter", "top-n"]),
    ));
    let row = |it: &Point| {
        let mut row = vec![it.operator.clone(), it.unpruned.to_string(), it.entries.to_string()];
        row.extend([it.measured, it.fastest, it.slowest].map(|time| format!("{time:.5}")));
        row.push(it.assumed.map_or_else(String::new, |time| format!("{time:.5}")));
        row
    };
    outcome.tables.push(Table {
        title: "Seconds of the master's operators on one core of this machine".to_owned(),
        columns: vec![
            "operator",
            "unpruned",
            "entries",
            "median",
            "fastest",
            "slowest",
            "by the model's constant",
        ],
        rows: points.iter().map(row).collect(),
        provenance: Provenance::Measured,
    });
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
        assert!(rising.verdicts[0].holds && rising.verdicts[0].found.starts_with("15.8 times"));
        assert_eq!(rising.tables[0].rows.len(), 60);
    }
}
