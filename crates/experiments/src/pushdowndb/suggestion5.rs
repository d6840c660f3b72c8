//! Suggestion 5 of §X: prices that depend on the work.

use sluicegate_costmodel::{PriceBook, Provenance};
use sluicegate_workloads::pushdowndb::ITEMS;

use super::data;
use super::sweep::{self, Cell, Measured, series};
use crate::chart::{Axis, Bar, Marks};
use crate::experiment::Method;
use crate::{Chart, Experiment, Outcome, Results, ResultsError, Run, Setting, Table};

/// The bill of four items at the paper's prices and at prices for the work that is done.
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

/// The parts of the store's bill. Only the second book has prices for the work.
const PARTS: [&str; 5] = ["scanned", "returned", "requests", "bytes read", "core hours"];

/// Returns the parts of a bill, in cents, that the store charges.
fn parts(it: &Measured) -> [f64; PARTS.len()] {
    let bill = it.bill();
    let all = [bill.scanned, bill.returned, bill.requests, bill.processed, bill.store_compute];
    all.map(|it| 100.0 * it)
}

/// Returns the part of a bill, in cents, that the store charges.
fn store(it: &Measured) -> f64 {
    100.0 * (it.dollars() - it.bill().compute)
}

/// The core hours are those that the cost model has for the counted work.
fn provenance() -> Provenance {
    Provenance::Modelled("the counted work at both books of prices".into())
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
        provenance: provenance(),
    });
    let prices = BOOKS.map(|(_, book)| PriceBook::by_name(book).and_then(|it| it.select));
    if let [Some(scanned), Some(work)] = prices {
        outcome.remarks.push(format!(
            "By bytes scanned, S3 Select charges ${} for each scanned GiB. By work, it charges ${} for each GiB that it reads \
             and ${} for an hour of one of its cores, which are assumed: no store sells this.",
            scanned.scanned.0, work.processed.0, work.core_hour.0
        ));
    }
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
        provenance: provenance(),
    });
    let of_parts = |it: &Measured| {
        let mut row = vec![it.cell.series.clone(), it.cell.label.clone()];
        row.extend(parts(it).map(|part| format!("{part:.4}")));
        row.push(format!("{:.4}", store(it)));
        row
    };
    outcome.tables.push(Table {
        title: "Parts of the store's bill, in cents".to_owned(),
        columns: [&["prices", "item"][..], &PARTS, &["cents"]].concat(),
        rows: measured.iter().map(of_parts).collect(),
        provenance: provenance(),
    });
    Ok(outcome)
}
