//! What the suggestions of §X share: a query without and with a suggestion, along an axis.

use sluicegate_costmodel::Provenance;

use super::sweep::{self, Measured, series};
use super::sweep_charts;
use crate::chart::Axis;
use crate::{Outcome, Table};

/// Returns the tables and charts of two series. The first is without the suggestion.
pub(super) fn compare(
    title: &str,
    (column, axis): (&'static str, Axis),
    [before, after]: [&str; 2],
    measured: &[Measured],
) -> Outcome {
    let mut outcome = Outcome::default();
    let pairs = series(measured, before).into_iter().zip(series(measured, after));
    let ratio = |before: f64, after: f64| format!("{:.2}", before / after);
    let row = |(before, after): (&Measured, &Measured)| {
        vec![
            before.cell.label.clone(),
            ratio(before.seconds(), after.seconds()),
            ratio(before.dollars(), after.dollars()),
            ratio(before.link() as f64, after.link() as f64),
            ratio(before.requests() as f64, after.requests() as f64),
        ]
    };
    outcome.tables.push(Table {
        title: format!("Gains of {after} over {before}"),
        columns: vec![
            column,
            "times as fast",
            "times as cheap",
            "times fewer bytes",
            "times fewer requests",
        ],
        rows: pairs.map(row).collect(),
        provenance: Provenance::Measured,
    });
    outcome.tables.push(sweep::table(title, column, measured));
    outcome.charts.push(sweep_charts::time_chart(
        format!("{title}: measured time"),
        axis,
        measured,
    ));
    outcome.charts.push(sweep_charts::cost_chart(format!("{title}: measured cost"), measured));
    outcome
}
