//! Predicate transfer: the keys that a join needs reach the scans of all its tables.

use sluicegate_costmodel::Provenance;
use sluicegate_workloads::tpch::query_at_scale;

use super::data::tpch;
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Repeated, Results, ResultsError, Run, Setting, Table};

/// Queries of TPC-H with several joins, without and with predicate transfer.
pub const EXPERIMENT: Experiment = Experiment {
    id: "ours/transfer",
    title: "Queries with several joins, without and with predicate transfer",
    place: "Sluicegate",
    method: Method::Live { runs, evaluate },
};

const QUERIES: [usize; 8] = [2, 3, 5, 7, 8, 9, 10, 21];
/// The names of the runs, and the setting of each.
const WAYS: [(&str, &str); 2] = [("without", "false"), ("with", "true")];

fn runs(setting: &Setting) -> Vec<Run> {
    let data = tpch(setting);
    let texts: Vec<String> = QUERIES
        .iter()
        .filter_map(|number| Some(query_at_scale(*number, setting.scale)?.into_owned()))
        .collect();
    let rounds = setting.either(1, 3);
    WAYS.map(|(name, value)| Run::sql(name, &data, "1gbit", &[("transfer", value)], &texts, rounds))
        .to_vec()
}

fn evaluate(_: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let [without, with] = [results.queries(WAYS[0].0)?, results.queries(WAYS[1].0)?];
    let pairs: Vec<(usize, &Repeated, &Repeated)> = QUERIES
        .iter()
        .zip(&without)
        .zip(&with)
        .map(|((number, before), after)| (*number, before, after))
        .collect();
    let mut outcome = Outcome::default();
    outcome.charts.push(bars("Seconds", "seconds", &pairs, |it| it.seconds));
    outcome.charts.push(bars("Bytes over the link", "MB", &pairs, megabytes));
    let row = |(number, before, after): &(usize, &Repeated, &Repeated)| {
        vec![
            format!("Q{number}"),
            format!("{:.3}", before.seconds),
            format!("{:.3}", after.seconds),
            format!("{:.2}", before.seconds / after.seconds),
            format!("{:.2}", megabytes(before)),
            format!("{:.2}", megabytes(after)),
            format!("{:.2}", megabytes(before) / megabytes(after)),
        ]
    };
    outcome.tables.push(Table {
        title: "Queries of TPC-H over CSV behind a link of 1 Gbit/s".to_owned(),
        columns: vec![
            "query",
            "seconds without",
            "seconds with",
            "times as fast",
            "MB without",
            "MB with",
            "times fewer bytes",
        ],
        rows: pairs.iter().map(row).collect(),
        provenance: Provenance::Measured,
    });
    Ok(outcome)
}

fn megabytes(query: &Repeated) -> f64 {
    query.last.bytes.link as f64 / 1e6
}

fn bars(
    title: &str,
    unit: &str,
    pairs: &[(usize, &Repeated, &Repeated)],
    of: fn(&Repeated) -> f64,
) -> Chart {
    let bar = |(number, before, after): &(usize, &Repeated, &Repeated)| Bar {
        name: format!("Q{number}"),
        lengths: vec![of(before), of(after)],
    };
    Chart {
        title: format!("{title} without and with predicate transfer"),
        x: Axis::linear(unit),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: WAYS.map(|(name, _)| name.to_owned()).to_vec(),
            bars: pairs.iter().map(bar).collect(),
            is_stacked: false,
        },
        provenance: Provenance::Measured,
    }
}
