//! Figure 10: four operators and six queries of TPC-H, without and with pushdown.

use super::items::{self, Tables};
use super::joins::slow_client;
use super::paper::{LINEITEM, predicted};
use super::sweep::{self, Cell, Measured, series};
use super::sweep_charts;
use super::{data, join_sweep, names};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::tolerance::{QUARTER, is_within};
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};
use sluicegate_costmodel::Provenance;

/// The figure, measured here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/fig10",
    title: "Time and cost of ten items without and with pushdown",
    place: "PushdownDB §VIII, Figure 10",
    method: Method::Live { runs, evaluate },
};

/// The rate of the paper's network card, which is more than two cores can parse.
const FAST_LINK: &str = "10gbit";
/// The published seconds of the server-side filter, which fetches lineitem.
const TABLE_II: f64 = 21.7;
/// The published mean of the gains in time.
const FASTER: f64 = 6.7;
/// The published mean of the ratios of costs, and the greatest difference from it.
const COST: [f64; 2] = [0.7, 0.1];
/// The items whose cost must be mostly scanning.
const MOST: usize = 6;

fn cells(setting: &Setting) -> Vec<Cell> {
    let tables = Tables {
        tpch: data::tpch(setting),
        indexed: Some(data::indexed(setting)),
        groups: data::groups(setting),
    };
    let links = [sweep::LINK, FAST_LINK];
    links.into_iter().flat_map(|link| items::cells(&tables, link)).collect()
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), sweep::ROUNDS)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let (here, fast) = measured.split_at(measured.len() / 2);
    let [gains, fast_gains] = [here, fast].map(items::gains);
    let [mean, fast_mean] = [&gains, &fast_gains].map(|it| items::mean(it));
    let mut outcome = Outcome::default();
    let near = is_within(mean.faster, FASTER, QUARTER);
    outcome.decide("P01", format!("{:.2} times", mean.faster), near);
    outcome.note(format!(
        "behind 1 Gbit/s, whose ratio to the scan rate here is that of the paper; behind 10 Gbit/s it is {:.1}; the \
         least gains are {}, as two cores parse, scan and aggregate for both sides",
        fast_mean.faster,
        items::least(&gains)
    ));
    let far = items::far(&gains);
    if !far.is_empty() {
        outcome.add_to_note("P01", &format!("The mean hides that single items are far off: {far}"));
    }
    let cheaper = format!("{:+.0} %", 100.0 * (mean.cost - 1.0));
    let [published, off] = COST;
    outcome.decide("P02", cheaper, (mean.cost - published).abs() <= off);
    let [(slow, cents), (quick, _)] = [here, fast].map(items::baseline_per_gib);
    let paper = TABLE_II / LINEITEM.as_gib();
    outcome.note(format!(
        "the saving depends on the client's time for each GiB of the baseline: {slow:.1} s here behind 1 Gbit/s ({:.2} cents \
         of the client), and {paper:.1} s in the paper's Table II ({:.2} cents), while S3 Select charges 0.2 cents for each \
         scanned GiB; behind 10 Gbit/s it is {quick:.1} s, and pushdown costs {:+.0} %",
        100.0 * cents,
        100.0 * cents / slow * paper,
        100.0 * (fast_mean.cost - 1.0)
    ));
    let client = slow_client();
    let at_10: Vec<_> = series(here, names::PUSHDOWN)
        .into_iter()
        .map(|it| {
            let work = items::at_scale_10(it, setting);
            (it.cell.label.clone(), predicted(&work.into(), &client).1)
        })
        .collect();
    let scans = at_10.iter().filter(|(_, cost)| cost.scanned > cost.total() * 0.5).count();
    outcome.decide("P69", format!("{scans} of {}", at_10.len()), scans >= MOST);
    outcome.note(
        "counted bytes and requests at scale factor 10, and the time of a client of 100 MB/s and of the store's terms; the \
         engine reads the index of Filter by GET, so nothing of it is scanned, and Group-by and Q1 push GROUP BY, which S3 \
         Select has as CASE only",
    );

    outcome.charts.push(times("Measured time of ten items behind 1 Gbit/s", here));
    outcome
        .charts
        .push(sweep_charts::cost_chart("Measured cost of ten items behind 1 Gbit/s", here));
    outcome.charts.push(times("Measured time of ten items behind 10 Gbit/s", fast));
    let bars = at_10.iter().map(|(name, cost)| (name.clone(), sweep_charts::cost_parts(cost)));
    let title = "Predicted cost of ten items with pushdown at scale factor 10";
    outcome.charts.push(sweep_charts::cost_bars(title, join_sweep::provenance(), bars));
    let scales = items::scales(setting);
    let title = |link: &str| format!("Gains behind {link} at {scales}");
    outcome.tables.push(items::table(title("1 Gbit/s"), &gains));
    outcome.tables.push(items::table(title("10 Gbit/s"), &fast_gains));
    outcome.tables.push(sweep::table("Ten items behind 1 Gbit/s", "item", here));
    outcome.tables.push(sweep::table("Ten items behind 10 Gbit/s", "item", fast));
    let row = |(name, cost): &(String, sluicegate_costmodel::Cost)| {
        let mut row = vec![name.clone()];
        row.extend(sweep_charts::cost_parts(cost).map(|part| format!("{part:.2}")));
        row.push(format!("{:.0} %", 100.0 * (cost.scanned / cost.total())));
        row
    };
    outcome.tables.push(Table {
        title: "Cents with pushdown at scale factor 10".to_owned(),
        columns: vec!["item", "compute", "scan", "return", "requests", "share of scan"],
        rows: at_10.iter().map(row).collect(),
        provenance: join_sweep::provenance(),
    });
    Ok(outcome)
}

/// A chart of the seconds of each item, without and with pushdown.
pub(super) fn times(title: &str, measured: &[Measured]) -> Chart {
    let off = series(measured, names::BASELINE);
    let on = series(measured, names::PUSHDOWN);
    let bars = off.into_iter().zip(on).map(|(off, on)| Bar {
        name: off.cell.label.clone(),
        lengths: vec![off.seconds(), on.seconds()],
    });
    Chart {
        title: title.to_owned(),
        x: Axis::linear("seconds"),
        y: Axis::linear(""),
        marks: Marks::Bars {
            parts: [names::BASELINE, names::PUSHDOWN].map(str::to_owned).to_vec(),
            bars: bars.collect(),
            is_stacked: false,
        },
        provenance: Provenance::Measured,
    }
}
