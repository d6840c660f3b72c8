//! Suggestion 5 of §X: prices that depend on the work.

use sluicegate_costmodel::Provenance;
use sluicegate_workloads::pushdowndb::ITEMS;

use super::data;
use super::sweep::{self, Cell, Measured, series};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The bill of four items at the paper's prices and at prices for the work that is done, counted here.
pub const EXPERIMENT: Experiment = Experiment {
    id: "pushdowndb/suggestion5",
    title: "The bill of S3 Select by bytes scanned and by work done",
    place: "PushdownDB §X, suggestion 5",
    method: Method::Live { runs, evaluate },
};

const BOOKS: [(&str, &str); 2] =
    [("by bytes scanned", "paper-2020-us-east-1"), ("by work", "work-2020-us-east-1")];
/// The items over TPC-H, without those of several tables.
const SHOWN: [&str; 4] = ["Filter", "Top-K", "Q1", "Q6"];

fn cells(setting: &Setting) -> Vec<Cell> {
    let data = data::tpch(setting);
    let of = |(name, book): (&'static str, &'static str)| {
        let data = data.clone();
        let shown = ITEMS.iter().filter(|item| SHOWN.contains(&item.name)).enumerate();
        shown.map(move |(at, item)| {
            let point = (item.name, at as f64);
            Cell::new(name, point, &data, &[("scan", "select")], item.sql).with(&["--prices", book])
        })
    };
    BOOKS.into_iter().flat_map(of).collect()
}

fn runs(setting: &Setting) -> Vec<Run> {
    sweep::runs(&cells(setting), 1)
}

/// Returns the part of a bill, in cents, that the store charges.
fn store(it: &Measured) -> f64 {
    100.0 * (it.dollars() - it.bill().compute)
}

fn evaluate(setting: &Setting, results: &Results) -> Result<Outcome, ResultsError> {
    let measured = sweep::read(&cells(setting), results)?;
    let [scanned, work] = BOOKS.map(|(name, _)| series(&measured, name));
    let pairs = || scanned.iter().zip(&work);
    let mut outcome = Outcome::default();
    let bars = pairs().map(|(one, other)| Bar {
        name: one.cell.label.clone(),
        lengths: vec![store(one), store(other)],
    });
    outcome.charts.push(Chart {
        title: "What the store charges for four items with S3 Select".to_owned(),
        x: Axis::linear("cents"),
        y: Axis::linear(""),
        marks: Marks::Bars {
            parts: BOOKS.map(|(name, _)| name.to_owned()).to_vec(),
            bars: bars.collect(),
            is_stacked: false,
        },
        provenance: Provenance::Counted,
    });
    let row = |(one, other): (&&Measured, &&Measured)| {
        vec![
            one.cell.label.clone(),
            format!("{:.4}", store(one)),
            format!("{:.4}", store(other)),
            format!("{:.2}", store(other) / store(one)),
        ]
    };
    outcome.tables.push(Table {
        title: "Cents that the store charges, without the client's machine".to_owned(),
        columns: vec!["item", BOOKS[0].0, BOOKS[1].0, "ratio"],
        rows: pairs().map(row).collect(),
        provenance: Provenance::Counted,
    });
    outcome.tables.push(sweep::table(
        "Items with S3 Select at two books of prices",
        "item",
        &measured,
    ));
    Ok(outcome)
}
