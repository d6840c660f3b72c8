//! The demo's picture: the seconds and the bytes of each item.

use sluicegate_costmodel::Provenance;
use sluicegate_experiments::Chart;

use super::comparison::Comparison;
use crate::args::DemoArgs;
use crate::args::quantity::link_words;
use crate::commands::embedded_store::measure::Run;
use crate::output::chart::{self, Axis, Bar, Marks};

/// Draws the items with pushdown off and on as an SVG file, whose colours follow the theme of the program that shows it.
pub(super) fn svg(compared: &[Comparison], args: &DemoArgs) -> String {
    let title = format!(
        "Seconds of ten queries at scale {} as {}, behind {}",
        args.scale,
        args.format.title(),
        link_words(args.link)
    );
    let seconds = bars(&title, "seconds", compared, |run| run.time.as_secs_f64());
    let bytes = bars("Bytes over the link", "MB", compared, |run| run.link.0 as f64 / 1e6);
    chart::svg(&[
        Chart { provenance: Provenance::Measured, ..seconds },
        Chart { provenance: Provenance::Counted, ..bytes },
    ])
}

fn bars(title: &str, unit: &str, compared: &[Comparison], of: fn(&Run) -> f64) -> Chart {
    let bar =
        |it: &Comparison| Bar { name: it.name.to_owned(), lengths: vec![of(&it.off), of(&it.on)] };
    Chart {
        title: title.to_owned(),
        x: Axis::linear(unit),
        y: Axis::default(),
        marks: Marks::Bars {
            parts: ["pushdown off", "pushdown on"].map(str::to_owned).to_vec(),
            bars: compared.iter().map(bar).collect(),
            is_stacked: false,
        },
        provenance: Provenance::Counted,
    }
}
