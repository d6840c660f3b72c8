//! The demo's picture: the seconds and the bytes of each item.

use sluicegate_costmodel::Provenance;

use super::comparison::Comparison;
use crate::args::DemoArgs;
use crate::args::quantity::link_words;
use crate::commands::embedded_store::measure::Run;
use crate::output::chart::{self, Axis, Bar, Chart, Marks};

/// Draws the items with pushdown off and on as an SVG file, whose colours follow the theme of the program that shows it.
pub(super) fn svg(compared: &[Comparison], args: &DemoArgs) -> String {
    let title = format!(
        "Seconds of ten queries at scale {} as {}, behind {}",
        args.scale,
        args.format.title(),
        link_words(args.link)
    );
    let of = |title: &str, unit: &str, provenance: Provenance, of: fn(&Run) -> f64| Chart {
        title: title.to_owned(),
        x: Axis::linear(unit),
        y: Axis::default(),
        marks: bars(compared, of),
        provenance,
    };
    chart::svg(&[
        of(&title, "seconds", Provenance::Measured, |run| run.time.as_secs_f64()),
        of("Bytes over the link", "MB", Provenance::Counted, |run| run.link.0 as f64 / 1e6),
    ])
}

fn bars(compared: &[Comparison], of: fn(&Run) -> f64) -> Marks {
    let bar =
        |it: &Comparison| Bar { name: it.name.to_owned(), lengths: vec![of(&it.off), of(&it.on)] };
    Marks::Bars {
        parts: ["pushdown off", "pushdown on"].map(str::to_owned).to_vec(),
        bars: compared.iter().map(bar).collect(),
        is_stacked: false,
    }
}
