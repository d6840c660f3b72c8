//! §8 and §9: what a device would save that aggregates and joins, too, or that only decodes.
//!
//! The command measures a query anew for each device, so the estimates of devices differ by chance, too. Each device has
//! three runs: the median counts, and a device is said to differ from the paper's only if the ranges of both are apart.
//! All speed-ups are over the same time without a device. With a device that has semi-joins, DataFusion's own filters
//! from the keys of joins are off, so the time of these runs is no time without a device.

use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::storage::{Device, Formula, Setup, Slots, estimate};

use super::fig4_5::example;
use super::paper::SPARK;
use super::ranking::{Ranked, query, ranked};
use super::tpcds::{SETUP_WORDS, WHAT_IF, offloading};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::results::median;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The other devices.
pub const EXPERIMENT: Experiment = Experiment {
    id: "icpe/what-if",
    title: "What if the device aggregates and joins, too, or only decodes?",
    place: "ICPE §8 and §9",
    method: Method::Live { runs, evaluate },
};

/// The devices in the order of what they do: the runs, the operations, and the name in tables.
const DEVICES: [(&str, &str, &str); 4] = [
    ("what if it decodes", "decode", "decode"),
    ("what if it filters", "decode,filter", PAPER),
    ("what if it aggregates", "decode,filter,aggregate", "and aggregate"),
    ("what if it joins", JOINING, "and semi-join"),
];
/// The paper's device.
const PAPER: &str = "decode, filter";
/// The operations of the device whose runs are without DataFusion's filters from the keys of joins.
const JOINING: &str = "decode,filter,semi-join,aggregate";
/// The runs of each device.
const REPEATS: usize = 3;

fn name(run: &str, repeat: usize) -> String {
    if repeat == 0 { run.to_owned() } else { format!("{run}, run {}", repeat + 1) }
}

/// Each repetition runs all devices, so that the machine's drift affects all of them.
fn runs(setting: &Setting) -> Vec<Run> {
    let numbers = SPARK.map(|it| it.query);
    (0..REPEATS)
        .flat_map(|repeat| {
            DEVICES.map(|(run, operations, _)| {
                offloading(&name(run, repeat), setting, &numbers, operations)
            })
        })
        .collect()
}

/// The speed-ups that the runs of a device give.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Speedup {
    least: f64,
    median: f64,
    greatest: f64,
}

impl Speedup {
    /// Returns those of runs with these times, over the time without a device.
    fn of(before: f64, with_device: &[f64]) -> Self {
        let all: Vec<f64> = with_device.iter().map(|seconds| before / seconds).collect();
        Self {
            least: all.iter().copied().fold(f64::INFINITY, f64::min),
            median: median(&all),
            greatest: all.iter().copied().fold(0.0, f64::max),
        }
    }

    fn is_apart(&self, other: &Self) -> bool {
        self.least > other.greatest || other.least > self.greatest
    }

    fn cell(&self) -> String {
        format!("{:.2} ({:.2} to {:.2})", self.median, self.least, self.greatest)
    }
}

/// A query with each device.
struct Row {
    query: usize,
    /// The median of the seconds without a device.
    before: f64,
    /// In the order of [`DEVICES`].
    speedups: Vec<Speedup>,
    published: f64,
}

impl Row {
    /// Returns the devices whose speed-ups are apart from those of the paper's device.
    fn apart(&self) -> String {
        let papers = DEVICES.iter().position(|it| it.2 == PAPER).unwrap_or_default();
        let other = |(at, speedup): &(usize, &Speedup)| {
            *at != papers && speedup.is_apart(&self.speedups[papers])
        };
        let apart: Vec<&str> =
            self.speedups.iter().enumerate().filter(other).map(|(at, _)| DEVICES[at].2).collect();
        if apart.is_empty() { "none".to_owned() } else { apart.join("; ") }
    }
}

fn rows(results: &Results) -> Result<Vec<Row>, ResultsError> {
    // The queries of each repetition of each device.
    let mut devices: Vec<Vec<Vec<Ranked>>> = Vec::new();
    for (run, ..) in DEVICES {
        let repeats = (0..REPEATS).map(|repeat| ranked(results, &name(run, repeat)));
        devices.push(repeats.collect::<Result<_, _>>()?);
    }
    let mut rows = Vec::new();
    for paper in &SPARK {
        let (mut before, mut with_device) = (Vec::new(), Vec::new());
        for ((run, operations, _), repeats) in DEVICES.iter().zip(&devices) {
            let mut seconds = Vec::new();
            for queries in repeats {
                let found = query(results, queries, paper.query, run)?;
                seconds.push(found.estimated_s);
                if *operations != JOINING {
                    before.push(found.measured_s);
                }
            }
            with_device.push(seconds);
        }
        let before = median(&before);
        rows.push(Row {
            query: paper.query,
            before,
            speedups: with_device.iter().map(|it| Speedup::of(before, it)).collect(),
            published: paper.speedup,
        });
    }
    Ok(rows)
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let rows = rows(results)?;
    let names = DEVICES.map(|it| it.2);
    let provenance =
        || Provenance::Modelled(format!("{WHAT_IF}, over measured times without a device").into());
    let mut outcome = Outcome::default();
    outcome.charts.push(Chart {
        title: "Speed-up by what the device does".to_owned(),
        x: Axis::linear("times as fast"),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: names.iter().map(|&name| name.to_owned()).collect(),
            bars: rows
                .iter()
                .map(|row| Bar {
                    name: format!("Q{}", row.query),
                    lengths: row.speedups.iter().map(|it| it.median).collect(),
                })
                .collect(),
            is_stacked: false,
        },
        provenance: provenance(),
    });
    let columns = [
        vec!["query", "seconds without a device"],
        names.to_vec(),
        vec!["apart from decode, filter", "published, decode and filter"],
    ];
    outcome.tables.push(Table {
        title: format!(
            "Speed-up by what a device does that needs {SETUP_WORDS} to set up: median of three runs, least and greatest"
        ),
        columns: columns.concat(),
        rows: rows
            .iter()
            .map(|row| {
                let mut cells = vec![format!("Q{}", row.query), format!("{:.4}", row.before)];
                cells.extend(row.speedups.iter().map(Speedup::cell));
                cells.extend([row.apart(), row.published.to_string()]);
                cells
            })
            .collect(),
        provenance: provenance(),
    });
    outcome.remarks.push(
        "The command measures the queries anew for each device, so that the estimates differ by chance. Each device has \
         three runs, whose median counts. A device is apart from the paper's, which decodes and filters, if all of its \
         runs are faster or all are slower. Speed-ups are over the median of the times without a device. With \
         semi-joins, DataFusion's own filters from the keys of joins are off."
            .to_owned(),
    );
    outcome.tables.push(Table {
        title: "The example of six stages, if what is beside scans in their stages aggregates"
            .to_owned(),
        columns: vec!["the device does", "seconds", "speed-up"],
        rows: of_example(),
        provenance: Provenance::Modelled(WHAT_IF.into()),
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

    /// The runs with semi-joins are slower, because filters from the keys of joins are off. They are no time without a
    /// device.
    #[test]
    fn devices_differ_only_if_their_runs_are_apart() {
        let mut results = Results::default();
        for (run, operations, _) in DEVICES {
            for repeat in 0..REPEATS {
                let by_chance = 0.1 * repeat as f64;
                let (measured, estimated) = match operations {
                    JOINING => (9.0, 2.05 + by_chance),
                    "decode,filter,aggregate" => (4.0, 1.0 + by_chance),
                    _ => (4.0, 2.0 + by_chance),
                };
                let queries = SPARK.map(|it| {
                    serde_json::json!({"query": format!("Q{}", it.query), "scan_ratio": 0.5,
                        "measured_s": measured, "estimated_s": estimated, "speedup": 1.0,
                        "operators": {}, "tables": []})
                });
                let record = crate::Record {
                    output: serde_json::Value::Array(queries.to_vec()),
                    ..crate::Record::default()
                };
                results.insert(name(run, repeat), record);
            }
        }
        let rows = rows(&results).unwrap();
        assert_eq!((rows[0].query, rows[0].before), (9, 4.0));
        assert_eq!(rows[0].speedups[0].cell(), "1.90 (1.82 to 2.00)");
        assert_eq!(rows[0].apart(), "and aggregate");
    }

    #[test]
    fn a_device_that_aggregates_saves_two_more_seconds_of_the_example() {
        let seconds: Vec<String> = of_example().into_iter().map(|row| row[1].clone()).collect();
        assert_eq!(seconds, ["12", "10"]);
    }
}
