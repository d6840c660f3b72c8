//! The charts of sweeps: times, bytes and bills, measured and predicted.

use sluicegate_costmodel::{Cost, Provenance};

use super::sweep::{Measured, series};
use crate::chart::{Axis, Bar, Line, Marks};
use crate::{Chart, StatementDollars};

/// Returns the names of the series, in order.
fn names<'a>(of: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names = Vec::new();
    for name in of {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The parts of a bill, in the order of [`parts`].
const PARTS: [&str; 4] = ["compute", "scan", "return", "requests"];

/// Returns the parts of a measured bill in cents.
pub(super) fn parts(dollars: &StatementDollars) -> [f64; 4] {
    [dollars.compute, dollars.scanned, dollars.returned, dollars.requests].map(|it| 100.0 * it)
}

/// Returns the parts of a predicted bill in cents.
pub(super) fn cost_parts(cost: &Cost) -> [f64; 4] {
    [cost.compute, cost.scanned, cost.returned, cost.requests].map(|it| it.cents())
}

/// A chart of seconds along an axis, a line for each series.
pub(super) fn time_chart(title: impl Into<String>, x: Axis, measured: &[Measured]) -> Chart {
    let lines = names(measured.iter().map(|it| it.cell.series.as_str())).into_iter().map(|name| {
        let points = series(measured, name).into_iter().map(Measured::point).collect();
        Line { name: name.to_owned(), points, is_published: false }
    });
    Chart {
        title: title.into(),
        x,
        y: Axis::linear("seconds"),
        marks: Marks::Lines(lines.collect()),
        provenance: Provenance::Measured,
    }
}

/// A chart of the bytes that S3 Select returns along an axis, a line for each series.
pub(super) fn returned_chart(title: impl Into<String>, x: Axis, measured: &[Measured]) -> Chart {
    let lines = names(measured.iter().map(|it| it.cell.series.as_str())).into_iter().map(|name| {
        let point = |it: &Measured| (it.cell.x, it.returned() as f64 / 1e6);
        Line::new(name, series(measured, name).into_iter().map(point))
    });
    let provenance = Provenance::Counted;
    let y = Axis::linear("MB returned");
    Chart { title: title.into(), x, y, marks: Marks::Lines(lines.collect()), provenance }
}

/// A chart of predicted seconds along an axis.
pub(super) fn predicted_chart(
    title: impl Into<String>,
    x: Axis,
    lines: Vec<Line>,
    provenance: Provenance,
) -> Chart {
    let y = Axis::linear("seconds");
    Chart { title: title.into(), x, y, marks: Marks::Lines(lines), provenance }
}

/// A chart of the predicted seconds of two parts, a bar for each point.
pub(super) fn parts_chart(
    title: impl Into<String>,
    parts: [&str; 2],
    bars: Vec<Bar>,
    is_stacked: bool,
    provenance: Provenance,
) -> Chart {
    let marks = Marks::Bars { parts: parts.map(str::to_owned).to_vec(), bars, is_stacked };
    Chart {
        title: title.into(),
        x: Axis::linear("seconds"),
        y: Axis::linear(""),
        marks,
        provenance,
    }
}

/// A chart of the parts of bills in cents, a bar for each cell, those of a point together.
pub(super) fn cost_chart(title: impl Into<String>, measured: &[Measured]) -> Chart {
    let labels = names(measured.iter().map(|it| it.cell.label.as_str()));
    let of = |label: &str| {
        let here: Vec<&Measured> = measured.iter().filter(|it| it.cell.label == label).collect();
        here.into_iter()
            .map(|it| (format!("{}, {}", it.cell.label, it.cell.series), parts(&it.bill())))
            .collect::<Vec<_>>()
    };
    cost_bars(title, Provenance::Measured, labels.into_iter().flat_map(of))
}

/// A chart of bills as bars of their parts.
pub(super) fn cost_bars(
    title: impl Into<String>,
    provenance: Provenance,
    bars: impl IntoIterator<Item = (String, [f64; 4])>,
) -> Chart {
    let bars = bars.into_iter().map(|(name, parts)| Bar { name, lengths: parts.to_vec() });
    Chart {
        title: title.into(),
        x: Axis::linear("cents"),
        y: Axis::linear(""),
        marks: Marks::Bars {
            parts: PARTS.map(str::to_owned).to_vec(),
            bars: bars.collect(),
            is_stacked: true,
        },
        provenance,
    }
}
