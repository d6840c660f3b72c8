//! A sweep of the joins of §V: the figures 2 and 3, measured here and predicted for the paper's client.

use sluicegate_costmodel::{Cost, Provenance};

use super::data;
use super::joins::{Join, query, slow_client};
use super::paper::predicted;
use super::sweep::{self, Cell, Measured};
use super::sweep_charts;
use crate::chart::{Axis, Line};
use crate::{Outcome, Setting, Table};

/// A point of a figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Point {
    pub(super) label: String,
    pub(super) x: f64,
    /// The bound on c_acctbal.
    pub(super) bound: f64,
    /// The date that bounds o_orderdate.
    pub(super) before: Option<&'static str>,
    /// The share of orders before the date.
    pub(super) early: f64,
}

/// Returns the cells of all strategies at all points.
pub(super) fn cells(setting: &Setting, points: &[Point]) -> Vec<Cell> {
    let data = data::joins(setting);
    let of = |join: Join| {
        let data = data.clone();
        points.iter().map(move |point| {
            let query = query(point.bound, point.before);
            let point = (&point.label, point.x);
            let cell = Cell::new(join.name(), point, &data, join.settings(), query);
            if join == Join::Bloom { cell.often() } else { cell }
        })
    };
    Join::ALL.into_iter().flat_map(of).collect()
}

/// The predicted seconds and costs of the strategies, each at all points.
pub(super) fn predictions(points: &[Point]) -> [Vec<(f64, Cost)>; 3] {
    let hardware = slow_client();
    Join::ALL.map(|join| {
        let predict = |point: &Point| {
            let (time, cost) = predicted(&join.steps(point.bound, point.early), &hardware);
            (time.as_secs_f64(), cost)
        };
        points.iter().map(predict).collect()
    })
}

/// The provenance of predictions for the client of the joins.
pub(super) fn provenance() -> Provenance {
    Provenance::Modelled(
        "paper, with a client of 100 MB/s that reads only what has arrived, and 1.9 µs for a SUBSTRING"
            .into(),
    )
}

/// Adds tables and charts of what was measured and predicted. `published` are the paper's seconds at a point.
pub(super) fn show(
    outcome: &mut Outcome,
    (axis, points): (&'static str, &[Point]),
    measured: &[Measured],
    published: &[(Join, usize, f64)],
) {
    let x = || Axis::linear(axis);
    outcome.charts.push(sweep_charts::time_chart("Measured time of joins", x(), measured));
    outcome.charts.push(sweep_charts::cost_chart("Measured cost of joins", measured));
    outcome.tables.push(sweep::table("Joins of customer and orders", axis, measured));

    let (mut rows, mut lines, mut bars) = (Vec::new(), Vec::new(), Vec::new());
    let predictions = predictions(points);
    for (join, times) in Join::ALL.into_iter().zip(&predictions) {
        let line = points.iter().zip(times).map(|(point, it)| (point.x, it.0));
        lines.push(Line::new(join.name(), line));
        for (at, (point, (time, cost))) in points.iter().zip(times).enumerate() {
            let printed = published.iter().find(|it| it.0 == join && it.1 == at);
            rows.push(vec![
                join.name().to_owned(),
                point.label.clone(),
                format!("{time:.2}"),
                printed.map_or_else(String::new, |it| it.2.to_string()),
                format!("{:.2}", cost.total().cents()),
            ]);
        }
    }
    for (at, point) in points.iter().enumerate() {
        for (join, times) in Join::ALL.into_iter().zip(&predictions) {
            let name = format!("{}, {}", point.label, join.name());
            bars.extend(times.get(at).map(|it| (name, sweep_charts::cost_parts(&it.1))));
        }
    }
    for &(join, at, time) in published {
        let point = points.get(at).map(|point| (point.x, time));
        lines.push(Line::published(join.name(), point));
    }
    outcome.charts.push(sweep_charts::predicted_chart(
        "Predicted time of joins at scale factor 10",
        x(),
        lines,
        provenance(),
    ));
    let title = "Predicted cost of joins at scale factor 10";
    outcome.charts.push(sweep_charts::cost_bars(title, provenance(), bars));
    outcome.tables.push(Table {
        title: "Joins at scale factor 10, predicted for the paper's client".to_owned(),
        columns: vec!["strategy", axis, "seconds", "published", "cents"],
        rows,
        provenance: provenance(),
    });
}
