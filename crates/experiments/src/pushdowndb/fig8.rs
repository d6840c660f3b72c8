//! Figure 8: the sample of a top-K.

use sluicegate_costmodel::{
    AnswerFormat, Bytes, Format, HardwareProfile, PriceBook, Provenance, Requests, Rows,
    ScanDemand, Steps, Terms, TopKDemand, Work, break_even, predict,
};

use super::paper::{
    LINEITEM, LINEITEM_ROWS, OBJECTS, PARTS, ROW_BYTES, predicted, provenance, seconds,
};
use super::sweep::{self, Cell, Measured};
use super::{data, names};
use crate::chart::{Axis, Bar, Line, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

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
    sweep::runs(&cells(setting), sweep::rounds(setting))
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let rows = lineitem_rows(setting);
    let best = break_even::top_k_sample(K, Rows::from_f64(rows), MEASURED_SHARE);
    let mut outcome = predictions(&measured, rows, best);
    let axis = || Axis::logarithmic("rows in the sample");
    outcome.charts.push(sweep::time_chart("Measured time of a top-100", axis(), &measured));
    outcome.charts.push(Chart {
        title: "Bytes returned by a top-100".to_owned(),
        x: axis(),
        y: Axis::linear("MB"),
        marks: Marks::Lines(vec![Line::new(
            names::SAMPLING,
            measured.iter().map(|it| (it.cell.x, it.returned() as f64 / 1e6)),
        )]),
        provenance: Provenance::Counted,
    });
    outcome.charts.push(sweep::cost_chart("Measured cost of a top-100", &measured));
    let title = format!(
        "The 100 least prices of lineitem at scale factor {}; S* is {}",
        setting.scale, best.0
    );
    outcome.tables.push(sweep::table(title, "sample", &measured));
    Ok(outcome)
}

/// Decides all claims, that about the fewest bytes by what was counted.
fn predictions(measured: &[Measured], rows_here: f64, best_here: Rows) -> Outcome {
    let hardware = HardwareProfile::paper();
    let mut outcome = Outcome::default();
    let best = break_even::top_k_sample(K, Rows(60_000_000), SHARE);
    outcome.decide("P53", best.0.to_string(), best.0 == 244_949);
    let declared = format!("{:.2} GB, {:.1} million rows", LINEITEM.as_gib(), millions());
    let sizes =
        (LINEITEM.as_gib() / 7.25 - 1.0).abs() <= 0.01 && (millions() / 60.0 - 1.0).abs() <= 0.01;
    outcome.decide("P54", declared, sizes);
    let ends = measured.first().zip(measured.last());
    let found = ends.map_or_else(String::new, |(few, many)| {
        format!("{} to {}", few.cell.label, many.cell.label)
    });
    let sixth = rows_here / 6.0;
    let holds = ends.is_some_and(|(few, many)| {
        few.cell.x == 10.0 * K.as_f64() && (many.cell.x / sixth - 1.0).abs() <= 0.01
    });
    outcome.decide("P55", found, holds);
    outcome.note("as at scale factor 10: ten times K to a sixth of the table, which is predicted for 1e3 to 1e7 rows");

    let mut rows = Vec::new();
    let mut phases = Vec::new();
    let mut scanned = Vec::new();
    for sample in SAMPLES {
        let Some(Steps::InTurn(steps)) = top_k(sample).sampling() else { continue };
        let [first, second] = [0, 1].map(|at| predict(&steps[at], hardware).total());
        let returned = steps.iter().map(|it| it.work().returned).sum::<Bytes>();
        let second_cost =
            PriceBook::paper().cost(&Work { wall: second, ..steps[1].work() }).scanned.cents();
        let (time, cost) = predicted(&Steps::InTurn(steps), hardware);
        rows.push(vec![
            sample.to_string(),
            seconds(first),
            seconds(second),
            seconds(time),
            format!("{:.1}", returned.as_f64() / 1e6),
            format!("{:.2}", cost.total().cents()),
        ]);
        phases.push((sample, first, second, returned));
        scanned.push(second_cost / cost.total().cents());
    }
    let monotone = phases.windows(2).all(|pair| pair[0].1 <= pair[1].1 && pair[0].2 >= pair[1].2);
    let ends = phases.first().zip(phases.last());
    let opposite = monotone && ends.is_some_and(|(few, many)| few.1 < many.1 && few.2 > many.2);
    outcome.decide("P56", if opposite { "both" } else { "not both" }, opposite);
    let fewest = measured.iter().min_by_key(|it| it.returned()).map_or(0.0, |it| it.cell.x);
    let near = (best_here.as_f64() / 3.0..=best_here.as_f64() * 3.0).contains(&fewest);
    let turns = measured.iter().position(|it| it.cell.x == fewest);
    let inside = turns.is_some_and(|at| at > 0 && at + 1 < measured.len());
    outcome.decide("P57", format!("{fewest} rows; S* is {}", best_here.0), near && inside);
    let predicted = phases.iter().min_by_key(|it| it.3).map_or(0, |it| it.0);
    outcome
        .note(format!("at scale factor 10, the fewest bytes are predicted for {predicted} rows"));
    let least = scanned.iter().copied().fold(f64::INFINITY, f64::min);
    outcome.decide("P58", format!("at least {:.0} %", 100.0 * least), least > 0.5);
    let bars = phases.iter().map(|(sample, first, second, _)| Bar {
        name: sample.to_string(),
        lengths: [first, second].map(std::time::Duration::as_secs_f64).to_vec(),
    });
    outcome.charts.push(Chart {
        title: "Predicted time of a top-100 by its sample, at scale factor 10".to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::linear(""),
        marks: Marks::Bars {
            parts: vec!["sample".to_owned(), "scan".to_owned()],
            bars: bars.collect(),
            is_stacked: true,
        },
        provenance: provenance(),
    });
    outcome.tables.push(Table {
        title: "The 100 least prices of lineitem at scale factor 10".to_owned(),
        columns: vec!["sample", "phase 1", "phase 2", "seconds", "MB returned", "cents"],
        rows,
        provenance: provenance(),
    });
    outcome
}

fn millions() -> f64 {
    LINEITEM_ROWS.as_f64() / 1e6
}
