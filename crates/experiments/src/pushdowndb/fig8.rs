//! Figure 8: the sample of a top-K.

use std::time::Duration;

use sluicegate_costmodel::{
    AnswerFormat, Bytes, Format, HardwareProfile, PriceBook, Requests, Rows, ScanDemand, Steps,
    Terms, TopKDemand, break_even, predict,
};

use super::paper::{
    LINEITEM, LINEITEM_ROWS, OBJECTS, PARTS, ROW_BYTES, predicted, provenance, seconds,
};
use super::sweep::{self, Cell, Measured};
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

fn cells(setting: &Setting) -> Vec<Cell> {
    let data = data::tpch(setting);
    let settings = [("scan", "select"), ("top_k", "sampling")];
    let cell = |sample: f64| {
        Cell::new(names::SAMPLING, (sample.to_string(), sample), &data, &settings, query(K.0))
            .set("top_k_sample", sample)
    };
    samples(setting).map(cell).to_vec()
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let points: Vec<Point> = SAMPLES.into_iter().filter_map(point).collect();
    let mut outcome = Outcome::default();
    decide_sizes(&mut outcome, &measured, lineitem_rows(setting));
    let opposite = are_opposite(&points);
    outcome.decide("P56", if opposite { "both" } else { "not both" }, opposite);
    let best = break_even::top_k_sample(K, Rows::from_f64(lineitem_rows(setting)), MEASURED_SHARE);
    decide_bytes(&mut outcome, &measured, best.as_f64(), &points);
    let least = points.iter().map(|it| it.scan).fold(f64::INFINITY, f64::min);
    outcome.decide("P58", format!("at least {:.0} %", 100.0 * least), least > 0.5);

    let axis = || Axis::logarithmic("rows in the sample");
    outcome.charts.push(sweep::time_chart("Measured time of a top-100", axis(), &measured));
    outcome.charts.push(sweep::returned_chart("Bytes returned by a top-100", axis(), &measured));
    outcome.charts.push(sweep::cost_chart("Measured cost of a top-100", &measured));
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
fn decide_sizes(outcome: &mut Outcome, measured: &[Measured], rows: f64) {
    let best = break_even::top_k_sample(K, Rows(60_000_000), SHARE);
    outcome.decide("P53", best.0.to_string(), best.0 == 244_949);
    let (gigabytes, millions) = (LINEITEM.as_gib(), LINEITEM_ROWS.as_f64() / 1e6);
    let near = |found: f64, published: f64| (found / published - 1.0).abs() <= 0.01;
    let found = format!("{gigabytes:.2} GB, {millions:.1} million rows");
    outcome.decide("P54", found, near(gigabytes, 7.25) && near(millions, 60.0));
    let [least, most] =
        [measured.first(), measured.last()].map(|it| it.map_or(0.0, |it| it.cell.x));
    let holds = least == 10.0 * K.as_f64() && near(most, rows / 6.0);
    outcome.decide("P55", format!("{least} to {most}"), holds);
    outcome.note(
        "ten times K to a sixth of the table, as at scale factor 10, for which 1e3 to 1e7 rows are predicted",
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

/// Adds the predictions.
fn show(outcome: &mut Outcome, points: &[Point]) {
    let bar = |it: &Point| Bar {
        name: it.sample.to_string(),
        lengths: it.phases.map(|it| it.as_secs_f64()).to_vec(),
    };
    outcome.charts.push(sweep::parts_chart(
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
    fn the_predictions_agree_with_the_claims() {
        let points: Vec<Point> = SAMPLES.into_iter().filter_map(point).collect();
        assert_eq!(points.len(), SAMPLES.len());
        assert!(are_opposite(&points));
        assert!(points.iter().all(|it| it.scan > 0.5));
    }

    #[test]
    fn samples_end_at_a_sixth_of_the_table() {
        assert_eq!(samples(&Setting::QUICK), [1_000.0, 2_659.0, 7_070.0, 18_800.0, 49_988.0]);
    }
}
