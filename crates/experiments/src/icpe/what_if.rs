//! §8 and §9: what a device would save that aggregates and joins, too, or that only decodes.
//!
//! Each device has a run of its own, so that small differences between devices are noise. With a device that has
//! semi-joins, DataFusion's own filters from the keys of joins are off.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::storage::{Device, Formula, Setup, Slots, estimate};

use super::fig4_5::example;
use super::paper::SPARK;
use super::ranking::{query, ranked};
use super::tpcds::{RANKING, SETUP, WHAT_IF, offloading, ranking};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The other devices.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/what-if",
    title: "What if the device aggregates and joins, too, or only decodes?",
    place: "ICPE §8 and §9",
    method: Method::Live { runs, evaluate },
};

/// The runs, each with the operations of its device and their name in tables.
const DEVICES: [(&str, &str, &str); 3] = [
    ("what if it decodes", "decode", "decode"),
    ("what if it aggregates", "decode,filter,aggregate", "and aggregate"),
    ("what if it joins", "decode,filter,semi-join,aggregate", "and semi-join"),
];
/// The paper's device, in the order of what devices do.
const PAPER: &str = "decode, filter";

fn runs(setting: &Setting) -> Vec<Run> {
    let numbers = SPARK.map(|it| it.query);
    let mut runs = vec![ranking(setting)];
    runs.extend(
        DEVICES.map(|(name, operations, _)| offloading(name, setting, &numbers, operations)),
    );
    runs
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let mut columns = vec![(PAPER, RANKING, ranked(results, RANKING)?)];
    for (run, _, name) in DEVICES {
        columns.push((name, run, ranked(results, run)?));
    }
    // A device that only decodes does less than the paper's.
    columns.swap(0, 1);
    let mut rows = Vec::new();
    for paper in &SPARK {
        let mut speedups = Vec::new();
        for (_, run, queries) in &columns {
            speedups.push(query(results, queries, paper.query, run)?.speedup());
        }
        rows.push((paper, speedups));
    }
    let names: Vec<&str> = columns.iter().map(|it| it.0).collect();
    let provenance = Provenance::Modelled(WHAT_IF.into());
    let mut outcome = Outcome::default();
    outcome.charts.push(Chart {
        title: "Speed-up by what the device does".to_owned(),
        x: Axis::linear("times as fast"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: names.iter().map(|&name| name.to_owned()).collect(),
            bars: rows
                .iter()
                .map(|(paper, speedups)| Bar {
                    name: format!("Q{}", paper.query),
                    lengths: speedups.clone(),
                })
                .collect(),
            is_stacked: false,
        },
        provenance: provenance.clone(),
    });
    outcome.tables.push(Table {
        title: format!(
            "Speed-up by what a device does that needs {SETUP} to set up; each column is of a run of its own"
        ),
        columns: [vec!["query"], names, vec!["published, decode and filter"]].concat(),
        rows: rows
            .into_iter()
            .map(|(paper, speedups)| {
                let mut row = vec![format!("Q{}", paper.query)];
                row.extend(speedups.iter().map(|it| format!("{it:.2}")));
                row.push(paper.speedup.to_string());
                row
            })
            .collect(),
        provenance: provenance.clone(),
    });
    outcome.tables.push(Table {
        title: "The example of six stages, if what is beside scans in their stages aggregates"
            .to_owned(),
        columns: vec!["the device does", "seconds", "speed-up"],
        rows: of_example(),
        provenance,
    });
    Ok(outcome)
}

/// Estimates the example of Figures 4 and 5 for the paper's device, and for one that aggregates.
fn of_example() -> Vec<Vec<String>> {
    let Some(graph) = example() else { return Vec::new() };
    let row = |(name, device): (&str, &str)| {
        let device = Device::by_name(device)?;
        let found = estimate(&graph, device, Setup::Always, Formula::Intended, Slots::Unlimited);
        let (before, after) = (found.before.makespan, found.after.makespan);
        Some(vec![name.to_owned(), after.to_string(), format!("{:.2}", before / after)])
    };
    [(PAPER, "icpe-2020"), ("decode, filter and aggregate", WHAT_IF)]
        .into_iter()
        .filter_map(row)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_aggregates_saves_two_more_seconds_of_the_example() {
        let seconds: Vec<String> = of_example().into_iter().map(|row| row[1].clone()).collect();
        assert_eq!(seconds, ["12", "10"]);
    }
}
