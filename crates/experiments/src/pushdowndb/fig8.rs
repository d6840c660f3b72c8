//! Figure 8: the sample of a top-K.

use std::time::Duration;

use sluicegate_costmodel::{
    AnswerFormat, Bytes, Format, HardwareProfile, PriceBook, Requests, Rows, ScanDemand, Steps,
    Terms, TopKDemand, break_even, predict,
};

use super::fig6::counter;
use super::paper::{
    LINEITEM, LINEITEM_ROWS, OBJECTS, PARTS, ROW_BYTES, predicted, provenance, seconds,
};
use super::setup::tables;
use super::sweep::{self, Cell, Measured};
use super::sweep_charts;
use super::{data, names};
use crate::chart::{Axis, Bar};
use crate::experiment::Method;
use crate::{Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The figure, predicted for the paper's client and measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig8",
    title: "Time, bytes and cost of a top-K by the size of its sample",
    place: "PushdownDB §VII, Figure 8",
    method: Method::Live { runs, evaluate },
};

const K: Rows = Rows(100);
/// The share of a row that the sorted column takes.
const SHARE: f64 = 0.1;
/// The share that the three columns of the measured query's order take of a row: 17 of 124 bytes.
const MEASURED_SHARE: f64 = 0.14;
const SAMPLES: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Returns a top-K over lineitem with a sample of this size.
fn top_k(sample: u64) -> TopKDemand {
    TopKDemand {
        scan: ScanDemand {
            objects: OBJECTS,
            format: Format::Csv,
            answer: AnswerFormat::Csv,
            needed: LINEITEM,
            gaps: Bytes::ZERO,
            rows: LINEITEM_ROWS,
            looked_up: None,
            terms: Terms::NONE,
            passing: 1.0,
            items: Terms::NONE,
            constants: 0,
            selectivity: 1.0,
            columns: 16,
            filter_columns: 0,
            bytes_per_returned_row: ROW_BYTES as f64,
            footers: Requests::ZERO,
            get_requests: Requests(PARTS),
            gets_at_once: None,
            select_requests: Some(Requests(OBJECTS)),
            selects_at_once: None,
        },
        k: K,
        share: SHARE,
        keys_needed: LINEITEM,
        sample_requests: Requests(OBJECTS),
        sample_rows: Some(Rows(sample)),
    }
}

/// The run that lists the objects of the table, and the one that counts its rows.
const TABLE: [&str; 2] = ["sizes", "rows"];
/// The runs whose plans count the rows in the smallest and in the largest sample.
const PLANS: [&str; 2] = ["smallest sample", "largest sample"];
/// The published size of lineitem. The paper's GB are GiB: its prices and cents agree with no other unit.
const PUBLISHED_GIB: f64 = 7.25;
/// The published rows of lineitem, in millions.
const PUBLISHED_MILLIONS: f64 = 60.0;

/// Returns the rows of lineitem at a scale factor.
fn lineitem_rows(setting: &Setting) -> f64 {
    LINEITEM_ROWS.as_f64() / 10.0 * setting.scale
}

/// Returns the samples that are run: 10·K rows to a sixth of the table, in five equal steps of a logarithmic axis.
fn samples(setting: &Setting) -> [f64; SAMPLES.len()] {
    let (least, most) = (10.0 * K.as_f64(), lineitem_rows(setting) / 6.0);
    let step = (most / least).powf(1.0 / 4.0);
    [0, 1, 2, 3, 4].map(|at| (least * step.powi(at)).round())
}

/// Returns the query of §VII, with an order for equal prices.
pub(super) fn query(k: u64) -> String {
    format!("select * from lineitem order by l_extendedprice, l_orderkey, l_linenumber limit {k}")
}

const SETTINGS: [(&str, &str); 2] = [("scan", "select"), ("top_k", "sampling")];

fn cells(setting: &Setting) -> Vec<Cell> {
    let data = data::tpch(setting);
    let cell = |sample: f64| {
        Cell::new(names::SAMPLING, (sample.to_string(), sample), &data, &SETTINGS, query(K.0))
            .set("top_k_sample", sample)
    };
    samples(setting).map(cell).to_vec()
}

fn runs(setting: &Setting) -> Vec<Run> {
    let mut runs = sweep::runs(&cells(setting), sweep::ROUNDS);
    let data = data::tpch(setting);
    let sizes = format!("select url, size from glob('s3://{}/**') order by url", data.name);
    let rows = "select count(*) from lineitem".to_owned();
    runs.extend(
        TABLE
            .into_iter()
            .zip([sizes, rows])
            .map(|(name, query)| Run::sql(name, &data, sweep::LINK, &[], &[query], 1)),
    );
    let [least, .., most] = samples(setting);
    runs.extend(PLANS.into_iter().zip([least, most]).map(|(name, sample)| {
        let sample = sample.to_string();
        let settings = [&SETTINGS[..], &[("top_k_sample", sample.as_str())]].concat();
        let explain = format!("explain analyze {}", query(K.0));
        Run::sql(name, &data, sweep::LINK, &settings, &[explain], 1)
    }));
    runs
}

/// What the runs counted.
struct Counted {
    /// The bytes of lineitem.
    bytes: f64,
    /// The rows of lineitem.
    rows: f64,
    /// The rows of the smallest and of the largest sample.
    samples: [Option<f64>; 2],
}

impl Counted {
    fn read(results: &Results) -> Result<Self, ResultsError> {
        let sizes = tables(&results.record(TABLE[0])?.answers);
        let rows = &results.record(TABLE[1])?.answers;
        let [least, most] = PLANS.map(|plan| results.record(plan));
        Ok(Self {
            bytes: sizes.iter().find(|it| it.0 == "lineitem").map_or(0.0, |it| it.1),
            rows: rows.lines().find_map(|line| line.trim().parse().ok()).unwrap_or_default(),
            samples: [least?, most?].map(|it| counter(&it.answers, "sample_rows")),
        })
    }
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let points: Vec<Point> = SAMPLES.into_iter().filter_map(point).collect();
    let mut outcome = Outcome::default();
    decide_sizes(&mut outcome, &Counted::read(results)?, setting.scale);
    let opposite = are_opposite(&points);
    outcome.decide("P56", if opposite { "both" } else { "not both" }, opposite);
    let best = break_even::top_k_sample(K, Rows::from_f64(lineitem_rows(setting)), MEASURED_SHARE);
    decide_bytes(&mut outcome, &measured, best.as_f64(), &points);
    decide_scan(&mut outcome, &points);

    let axis = || Axis::logarithmic("rows in the sample");
    outcome.charts.push(sweep_charts::time_chart("Measured time of a top-100", axis(), &measured));
    outcome.charts.push(sweep_charts::returned_chart(
        "Bytes returned by a top-100",
        axis(),
        &measured,
    ));
    outcome.charts.push(sweep_charts::cost_chart("Measured cost of a top-100", &measured));
    let scale = setting.scale;
    let title =
        format!("The 100 least prices of lineitem at scale factor {scale}; S* is {}", best.0);
    outcome.tables.push(sweep::table(title, "sample", &measured));
    show(&mut outcome, &points);
    Ok(outcome)
}

/// The prediction for a sample at scale factor 10.
struct Point {
    sample: u64,
    /// The sample, and the scan with a threshold.
    phases: [Duration; 2],
    time: Duration,
    cents: f64,
    /// The share of the cost that is the scan of the second phase.
    scan: f64,
    returned: Bytes,
}

fn point(sample: u64) -> Option<Point> {
    let hardware = HardwareProfile::paper();
    let steps = top_k(sample).sampling()?;
    let (time, cost) = predicted(&steps, hardware);
    let Steps::InTurn(phases) = &steps else { return None };
    let [first, second] = phases.as_slice() else { return None };
    let cents = cost.total().cents();
    Some(Point {
        sample,
        phases: [first, second].map(|it| predict(it, hardware).total()),
        time,
        cents,
        scan: PriceBook::paper().cost(&second.work()).scanned.cents() / cents,
        returned: steps.work().returned,
    })
}

/// Decides the claims about the best sample, the table, and the samples that are run.
fn decide_sizes(outcome: &mut Outcome, counted: &Counted, scale: f64) {
    let best = break_even::top_k_sample(K, Rows(60_000_000), SHARE);
    outcome.decide("P53", format!("{} rows", best.0), best.0 == 244_949);
    let factor = 10.0 / scale;
    let bytes = Bytes::from_f64(counted.bytes * factor);
    let millions = counted.rows * factor / 1e6;
    let near = |found: f64, published: f64| (found / published - 1.0).abs() <= 0.01;
    let found = format!("{:.2} GB of 2^30 bytes, {millions:.1} million rows", bytes.as_gib());
    let holds = near(bytes.as_gib(), PUBLISHED_GIB) && near(millions, PUBLISHED_MILLIONS);
    outcome.decide("P54", found, holds);
    outcome.note(format!(
        "counted at scale factor {scale}, times {factor}; the paper's GB have 2^30 bytes (dbgen's file, which the predictions \
         assume, has {:.2}); the rows here have {:.1} bytes and those of dbgen at scale factor 10 {:.1}, as keys are shorter at \
         a smaller scale and no line ends with a |",
        LINEITEM.as_gib(),
        counted.bytes / counted.rows,
        LINEITEM.as_f64() / LINEITEM_ROWS.as_f64(),
    ));
    let [least, most] = counted.samples;
    let holds = least.is_some_and(|it| near(it, 10.0 * K.as_f64()))
        && most.is_some_and(|it| near(it, counted.rows / 6.0));
    let number = |rows: Option<f64>| rows.map_or_else(|| "none".to_owned(), |it| it.to_string());
    let found = format!("{} to {} of {} rows", number(least), number(most), counted.rows);
    outcome.decide("P55", found, holds);
    outcome.note(
        "counted in the plans of the smallest and the largest sample: ten times K, and a sixth of the table; at scale \
         factor 10, 1e3 to 1e7 rows are predicted",
    );
}

/// Returns true if the first phase takes longer with a larger sample, and the second shorter.
fn are_opposite(points: &[Point]) -> bool {
    let is_monotone = points.windows(2).all(|pair| {
        pair[0].phases[0] <= pair[1].phases[0] && pair[0].phases[1] >= pair[1].phases[1]
    });
    let ends = points.first().zip(points.last());
    is_monotone
        && ends.is_some_and(|(few, many)| {
            few.phases[0] < many.phases[0] && few.phases[1] > many.phases[1]
        })
}

/// Decides the claim about the fewest bytes by what was counted.
fn decide_bytes(outcome: &mut Outcome, measured: &[Measured], best: f64, points: &[Point]) {
    let fewest = measured.iter().enumerate().min_by_key(|(_, it)| it.returned());
    let (at, sample) = fewest.map_or((0, 0.0), |(at, it)| (at, it.cell.x));
    let turns = at > 0 && at + 1 < measured.len();
    let near = (best / 3.0..=best * 3.0).contains(&sample);
    outcome.decide("P57", format!("{sample} rows; S* is {best}"), near && turns);
    let predicted = points.iter().min_by_key(|it| it.returned).map_or(0, |it| it.sample);
    outcome
        .note(format!("at scale factor 10, the fewest bytes are predicted for {predicted} rows"));
}

/// Decides the claim about the cost of the second phase.
fn decide_scan(outcome: &mut Outcome, points: &[Point]) {
    let least = points.iter().map(|it| it.scan).fold(f64::INFINITY, f64::min);
    outcome.decide("P58", format!("at least {:.0} %", 100.0 * least), least > 0.5);
    let all: Vec<String> =
        points.iter().map(|it| format!("{:.0} % with {}", 100.0 * it.scan, it.sample)).collect();
    outcome.note(format!(
        "{} rows in the sample; with few, many rows are returned, each of which takes the time that Table II implies",
        all.join(", ")
    ));
}

/// Adds the predictions.
fn show(outcome: &mut Outcome, points: &[Point]) {
    let bar = |it: &Point| Bar {
        name: it.sample.to_string(),
        lengths: it.phases.map(|it| it.as_secs_f64()).to_vec(),
    };
    outcome.charts.push(sweep_charts::parts_chart(
        "Predicted time of a top-100 by its sample, at scale factor 10",
        ["sample", "scan"],
        points.iter().map(bar).collect(),
        true,
        provenance(),
    ));
    let row = |it: &Point| {
        let mut row = vec![it.sample.to_string()];
        row.extend([it.phases[0], it.phases[1], it.time].map(seconds));
        row.push(format!("{:.1}", it.returned.as_f64() / 1e6));
        row.push(format!("{:.2}", it.cents));
        row
    };
    outcome.tables.push(Table {
        title: "The 100 least prices of lineitem at scale factor 10".to_owned(),
        columns: vec!["sample", "phase 1", "phase 2", "seconds", "MB returned", "cents"],
        rows: points.iter().map(row).collect(),
        provenance: provenance(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_small_sample_is_that_of_returned_rows() {
        let points: Vec<Point> = SAMPLES.into_iter().filter_map(point).collect();
        assert_eq!(points.len(), SAMPLES.len());
        assert!(are_opposite(&points));
        let mut outcome = Outcome::default();
        decide_scan(&mut outcome, &points);
        assert!(!outcome.verdicts[0].holds, "{:?}", outcome.verdicts);
        assert!(points[1..].iter().all(|it| it.scan > 0.5));
    }

    #[test]
    fn samples_end_at_a_sixth_of_the_table() {
        assert_eq!(samples(&Setting::QUICK), [1_000.0, 2_659.0, 7_070.0, 18_800.0, 49_988.0]);
    }
}
