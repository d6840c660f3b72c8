//! `sluice switch sweep`: measures algorithms along an axis.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;
use sluicegate_costmodel::Provenance;
use sluicegate_pruning::algorithm::catalog::{Algorithm, Parameters};
use sluicegate_pruning::experiment::sweep::{
    Axis, AxisPoints, Measured, measure_in_tree, measure_on, prefix,
};
use sluicegate_pruning::experiment::trial::Run;

use super::decimals::in_unit;
use super::run::{LoadedStream, load};
use crate::args::sweep::SweepArgs;
use crate::args::switch::Variant;
use crate::failure::{Failure, Result};
use crate::output::chart::{self, Chart, ChartFormat, Line, Marks};
use crate::output::file::PartialFile;
use crate::output::listing::{ListFormat, Listing, fraction};
use crate::output::progress::Steps;

const HEADER: [&str; 12] = [
    "algorithm",
    "line",
    "axis",
    "value",
    "entries",
    "runs",
    "forwarded_share",
    "low",
    "high",
    "optimum_share",
    "over_optimum",
    "wrong",
];
const NOTES: &str = "\
forwarded_share: of the entries, the mean of the runs; low and high: its 95 % interval by Student's t;
optimum_share: what a pruner without limits would let through; over_optimum: how many times that is
forwarded; wrong: runs with another answer. Counted.
";

/// The maximum number of points of a sweep; more take hours.
const MOST_POINTS: usize = 20_000;

/// The measurement at one point of a line.
struct Point {
    value: u32,
    measured: Measured,
}

/// A line of the chart.
struct Series {
    algorithm: Algorithm,
    /// The value of the second axis as text, if there is one.
    at: Option<String>,
    points: Vec<Point>,
}

pub(super) fn run(args: &SweepArgs) -> Result<()> {
    let over = args.over.iter().map(|span| span.over(&args.algorithm));
    let over = over
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let (over, by) = match over.as_slice() {
        [over] => (over, None),
        [over, by] if over.axis != by.axis => (over, Some(by)),
        _ => return Err(Failure::Usage("give one --over, or two of different names".to_owned())),
    };
    let lines = by.map_or(1, |by| by.values.len());
    let points = args.algorithm.len() * lines * over.values.len();
    if points > MOST_POINTS {
        return Err(Failure::Usage(format!(
            "{points} points are more than {MOST_POINTS}; take fewer with `/N` behind a range"
        )));
    }
    let format = ChartFormat::chosen(args.format, args.output.as_deref())?;
    let file = args.output.as_deref().map(PartialFile::begin).transpose()?;
    let steps = Steps::new(points, "measuring");
    let mut all = Vec::new();
    for &algorithm in &args.algorithm {
        let before: usize = all.iter().map(|it: &Series| it.points.len()).sum();
        all.extend(series(args, algorithm, over, by, |done| steps.at(before + done))?);
    }
    steps.done();
    let text = match format {
        ChartFormat::Csv => listing(&all, over).text(ListFormat::Csv),
        ChartFormat::Json => listing(&all, over).text(ListFormat::Json),
        ChartFormat::Svg => chart::svg(&[drawn(&all, over)]),
        ChartFormat::Table => {
            let colour = file.is_none() && io::stdout().is_terminal();
            let table = listing(&all, over).text(ListFormat::Table);
            format!("{table}\n{NOTES}\n{}", chart::terminal(&drawn(&all, over), colour))
        }
    };
    match file {
        Some(mut file) => {
            file.file().write_all(text.as_bytes())?;
            file.finish()
        }
        None => Ok(io::stdout().write_all(text.as_bytes())?),
    }
}

/// Measures the lines of an algorithm. `step` is called with the number of points done.
fn series(
    args: &SweepArgs,
    algorithm: Algorithm,
    over: &AxisPoints,
    by: Option<&AxisPoints>,
    step: impl Fn(usize),
) -> Result<Vec<Series>> {
    let given = args.parameters.parameters();
    // No axis changes the contents of packets, so the stream of the last point serves all: with its threshold, which
    // is the greatest, the fewest decimals fit.
    let last = [Some(over), by].into_iter().flatten().fold(given, |given, over| {
        over.values.last().map_or(given, |value| over.axis.set(&given, *value))
    });
    let LoadedStream { stream: whole, decimals, .. } =
        load(algorithm, &last, Variant::Paper, &args.input)?;
    let route = args.route.route();
    let seeds = args.first_seed..args.first_seed.saturating_add(args.seeds);
    let values: Vec<Option<u32>> =
        by.map_or_else(|| vec![None], |by| by.values.iter().copied().map(Some).collect());
    let (mut all, mut done) = (Vec::new(), 0);
    for line in values {
        let mut points = Vec::new();
        for &value in &over.values {
            let set = by.zip(line).map(|(by, value)| (by.axis, value));
            let set = set.into_iter().chain([(over.axis, value)]);
            let (mut there, mut cut): (Parameters, Option<Vec<Run>>) = (given, None);
            for (axis, value) in set {
                there = axis.set(&there, value);
                if axis == Axis::Prefix {
                    cut = Some(prefix(&whole, value as usize));
                }
            }
            let entries = cut.as_deref().unwrap_or(&whole);
            let there = in_unit(algorithm, &there, decimals)?;
            let seeds = seeds.clone();
            let measured = match args.leaves {
                0 => measure_on(&route, algorithm, &there, entries, seeds)?,
                leaves => measure_in_tree(leaves.into(), algorithm, &there, entries, seeds)?,
            };
            points.push(Point { value, measured });
            done += 1;
            step(done);
        }
        let at = by.zip(line).map(|(by, value)| format!("{}={value}", by.axis.name()));
        all.push(Series { algorithm, at, points });
    }
    Ok(all)
}

fn listing(all: &[Series], over: &AxisPoints) -> Listing {
    let mut listing = Listing::new(&HEADER);
    for series in all {
        for Point { value, measured } in &series.points {
            let Measured { entries, runs, unpruned, error, optimal, wrong } = measured;
            let bound = |sign: f64| {
                error.map_or(Value::Null, |error| {
                    fraction((unpruned + sign * error).clamp(0.0, 1.0))
                })
            };
            let ratio = (*optimal > 0.0).then(|| fraction(unpruned / optimal));
            listing.push(vec![
                series.algorithm.name().into(),
                series.at.clone().map_or(Value::Null, Value::from),
                over.axis.name().into(),
                (*value).into(),
                (*entries).into(),
                (*runs).into(),
                fraction(*unpruned),
                bound(-1.0),
                bound(1.0),
                fraction(*optimal),
                ratio.unwrap_or(Value::Null),
                (*wrong).into(),
            ]);
        }
    }
    listing
}

/// Draws a line for each series and for each optimum.
fn drawn(all: &[Series], over: &AxisPoints) -> Chart {
    let mut lines: Vec<Line> = Vec::new();
    for series in all {
        let name = match &series.at {
            Some(at) => format!("{} {at}", series.algorithm),
            None => series.algorithm.to_string(),
        };
        let point = |Point { value, measured }: &Point| {
            let (y, error) = (measured.unpruned, measured.error.unwrap_or(0.0));
            // A logarithmic axis cannot show an interval that reaches zero.
            let low = if y > error { y - error } else { y };
            [f64::from(*value), y, low, (y + error).min(1.0)]
        };
        let points = series.points.iter().map(point).collect();
        lines.push(Line { name, points, is_published: false });
    }
    for series in all {
        let point = |Point { value, measured }: &Point| {
            let y = measured.optimal;
            [f64::from(*value), y, y, y]
        };
        let points: Vec<_> = series.points.iter().map(point).collect();
        if !lines.iter().any(|line| line.name.starts_with("OPT") && line.points == points) {
            let first = !lines.iter().any(|line| line.name.starts_with("OPT"));
            let name = match (&series.at, first) {
                (_, true) => "OPT".to_owned(),
                (Some(at), false) => format!("OPT of {} {at}", series.algorithm),
                (None, false) => format!("OPT of {}", series.algorithm),
            };
            lines.push(Line { name, points, is_published: false });
        }
    }
    let positive = lines.iter().flat_map(|line| &line.points).all(|[_, _, low, _]| *low > 0.0);
    let (least, most) = (over.values.first(), over.values.last());
    let wide = least.zip(most).is_some_and(|(least, most)| most / least >= 64);
    Chart {
        title: "entries let through".to_owned(),
        x: chart::Axis { title: over.axis.name().to_owned(), is_logarithmic: wide },
        y: chart::Axis { title: "share forwarded".to_owned(), is_logarithmic: positive },
        marks: Marks::Lines(lines),
        provenance: Provenance::Counted,
    }
}
