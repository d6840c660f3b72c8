//! `sluice switch time 9 --measure`: completes queries on this machine, as the paper's figure 9 measured its master.

use std::hint::black_box;
use std::time::Instant;

use serde_json::Value;
use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::Testbed;
use sluicegate_pruning::experiment::master::{KeyAndValue, OPERATORS, Operator, entries};

use super::time::listed;
use crate::output::chart::{self, Axis, Chart, ChartFormat, Line, Marks};
use crate::output::listing::{Listing, fraction};
use crate::output::progress::Steps;

const HEADER: [&str; 9] = [
    "figure",
    "operator",
    "unpruned",
    "entries",
    "measured",
    "fastest",
    "slowest",
    "assumed",
    "nanoseconds_per_entry",
];
const NOTES: &str = "\
measured: seconds in which one core of this machine completes the query over the unpruned entries, which have
arrived; the median of the runs, with the fastest and the slowest. assumed: seconds by the constants of
`sluice switch time constants`.
";

/// Runs of each point.
const RUNS: usize = 3;
/// The unpruned fractions, in tenths.
const TENTHS: std::ops::RangeInclusive<usize> = 1..=10;

/// The times of an operator at one point.
struct Point {
    operator: &'static str,
    entries: usize,
    unpruned: f64,
    /// Seconds of the runs, ascending.
    seconds: [f64; RUNS],
    assumed: Option<f64>,
}

impl Point {
    fn median(&self) -> f64 {
        self.seconds[RUNS / 2]
    }
}

/// Measures all operators over fractions of `count` entries, and returns the result as text.
pub(super) fn measured(count: usize, format: ChartFormat, colour: bool) -> String {
    let all = entries(count);
    let steps = Steps::new(OPERATORS.len() * TENTHS.count(), "measuring");
    let mut points = Vec::new();
    for operator in OPERATORS {
        for tenth in TENTHS {
            points.push(point(operator, &all, tenth));
            steps.at(points.len());
        }
    }
    steps.done();
    match format {
        ChartFormat::Svg => chart::svg(&[drawn(&points)]),
        ChartFormat::Table => {
            let table = listed(&listing(&points), format, NOTES);
            format!("{table}\n{}", chart::terminal(&drawn(&points), colour))
        }
        ChartFormat::Csv | ChartFormat::Json => listed(&listing(&points), format, NOTES),
    }
}

fn point(operator: Operator, all: &[KeyAndValue], tenth: usize) -> Point {
    let left = &all[..(all.len() * tenth).div_ceil(10)];
    let mut seconds = [0.0; RUNS];
    for run in &mut seconds {
        let start = Instant::now();
        black_box((operator.complete)(black_box(left)));
        *run = start.elapsed().as_secs_f64();
    }
    seconds.sort_unstable_by(f64::total_cmp);
    let rate = Testbed::cheetah().master.get(operator.name);
    Point {
        operator: operator.name,
        entries: left.len(),
        unpruned: tenth as f64 / 10.0,
        seconds,
        assumed: rate.map(|rate| left.len() as f64 / rate.value),
    }
}

fn listing(points: &[Point]) -> Listing {
    let mut listing = Listing::new(&HEADER);
    for point in points {
        let nanoseconds = point.median() * 1e9 / point.entries.max(1) as f64;
        listing.push(vec![
            "9".into(),
            point.operator.into(),
            fraction(point.unpruned),
            point.entries.into(),
            fraction(point.median()),
            fraction(point.seconds[0]),
            fraction(point.seconds[RUNS - 1]),
            point.assumed.map_or(Value::Null, fraction),
            fraction(nanoseconds),
        ]);
    }
    listing
}

/// Draws a line for each operator, between its fastest and slowest run.
fn drawn(points: &[Point]) -> Chart {
    let lines = points.chunk_by(|a, b| a.operator == b.operator).map(|points| {
        let mark = |it: &Point| [it.unpruned, it.median(), it.seconds[0], it.seconds[RUNS - 1]];
        let name = points.first().map_or("", |point| point.operator).to_owned();
        Line { name, points: points.iter().map(mark).collect(), is_published: false }
    });
    Chart {
        title: "Figure 9, measured on this machine".to_owned(),
        x: Axis::linear("unpruned fraction"),
        y: Axis::logarithmic("seconds"),
        marks: Marks::Lines(lines.collect()),
        provenance: Provenance::Measured,
    }
}
