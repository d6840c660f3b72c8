//! `sluice switch time`: models the paper's figures 5 to 9 and 12, and table 3.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use serde_json::Value;
use sluicegate_costmodel::Provenance;
use sluicegate_costmodel::completion::{Case, Completion, Figure, Query, Setup, Testbed};

use super::master;
use crate::args::time::{Show, TimeArgs};
use crate::failure::{Failure, Result};
use crate::output::chart::{self, Axis, Bar, Chart, ChartFormat, Line, Marks};
use crate::output::file::PartialFile;
use crate::output::listing::{ListFormat, Listing, fraction};

const HEADER: [&str; 11] = [
    "figure", "query", "system", "axis", "value", "rules", "workers", "network", "master", "drain",
    "seconds",
];
const NOTES: &str = "\
Seconds, modelled; `sluice switch time constants` says from what. workers: making packets, as far as sending
does not hide it; master: its queue after the last packet; drain: through the switch's control plane.
";
/// Number of packets in the last columns of table 3: the rows of UserVisits.
const PACKETS: f64 = 31.7e6;

pub(super) fn run(args: &TimeArgs) -> Result<()> {
    let testbed = Testbed::cheetah();
    let here = testbed.setup();
    let setup = Setup {
        workers: args.workers.map_or(here.workers, f64::from),
        link: args.link.unwrap_or(here.link),
        per_packet: args.per_packet.into(),
    };
    if args.measure && args.show != Show::Unpruned {
        return Err(Failure::Usage("--measure completes queries for figure 9".to_owned()));
    }
    let format = ChartFormat::chosen(args.format, args.output.as_deref())?;
    let file = args.output.as_deref().map(PartialFile::begin).transpose()?;
    let colour = file.is_none() && io::stdout().is_terminal();
    let text = match args.show.figure() {
        Some(_) if args.measure => master::measured(args.entries as usize, format, colour),
        Some(figure) => drawn(figure, &figure.cases(testbed, &setup), format, colour),
        None if format == ChartFormat::Svg => {
            return Err(Failure::Usage("only figures are pictures".to_owned()));
        }
        None if args.show == Show::Table3 => listed(&devices(testbed), format, ""),
        None => listed(&constants(testbed), format, ""),
    };
    match file {
        Some(mut file) => {
            file.file().write_all(text.as_bytes())?;
            file.finish()
        }
        None => Ok(io::stdout().write_all(text.as_bytes())?),
    }
}

pub(super) fn listed(listing: &Listing, format: ChartFormat, notes: &str) -> String {
    match format {
        ChartFormat::Csv => listing.text(ListFormat::Csv),
        ChartFormat::Json => listing.text(ListFormat::Json),
        ChartFormat::Table | ChartFormat::Svg if notes.is_empty() => {
            listing.text(ListFormat::Table)
        }
        ChartFormat::Table | ChartFormat::Svg => {
            format!("{}\n{notes}", listing.text(ListFormat::Table))
        }
    }
}

fn drawn(figure: Figure, cases: &[Case], format: ChartFormat, colour: bool) -> String {
    let chart = pictured(figure, cases);
    match format {
        ChartFormat::Svg => chart::svg(&[chart]),
        ChartFormat::Table => {
            let table = listed(&listing(figure, cases), format, NOTES);
            format!("{table}\n{}", chart::terminal(&chart, colour))
        }
        _ => listed(&listing(figure, cases), format, NOTES),
    }
}

fn listing(figure: Figure, cases: &[Case]) -> Listing {
    let mut listing = Listing::new(&HEADER);
    for Case { query, system, value, completion } in cases {
        let parts = parts(completion);
        let mut row = vec![
            figure.number().into(),
            query.clone().into(),
            system.name().into(),
            figure.axis().into(),
            number(*value),
        ];
        row.extend(parts.map(|part| fraction(part.as_secs_f64())));
        row.push(fraction(completion.total().as_secs_f64()));
        listing.push(row);
    }
    listing
}

/// Returns whole numbers without decimals.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 { Value::from(value as u64) } else { fraction(value) }
}

/// Draws a line for each query and switch, or a bar if the axis is not one of numbers.
fn pictured(figure: Figure, cases: &[Case]) -> Chart {
    let title = format!("Figure {}, modelled", figure.number());
    let provenance = Provenance::Modelled(Testbed::cheetah().name.clone().into());
    if matches!(figure, Figure::Queries | Figure::Links) {
        let bar = |Case { query, value, completion, .. }: &Case| {
            let name = match figure {
                Figure::Links => format!("{query}, {value} Gbit/s"),
                _ => query.clone(),
            };
            Bar { name, lengths: parts(completion).map(|part| part.as_secs_f64()).to_vec() }
        };
        let parts = ["rules", "workers", "network", "master", "drain"].map(str::to_owned).to_vec();
        let bars = cases.iter().map(bar).collect();
        let marks = Marks::Bars { parts, bars, is_stacked: true };
        let (x, y) = (Axis::linear("seconds"), Axis::default());
        return Chart { title, x, y, marks, provenance };
    }
    let mut lines: Vec<Line> = Vec::new();
    for Case { query, system, value, completion } in cases {
        let name = match figure {
            Figure::Results | Figure::Drain => format!("{} {query}", system.name()),
            _ => query.clone(),
        };
        let seconds = completion.total().as_secs_f64();
        let point = [*value, seconds, seconds, seconds];
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { name, points: vec![point], is_published: false }),
        }
    }
    let is_logarithmic = matches!(figure, Figure::Results | Figure::Drain);
    Chart {
        title,
        x: Axis { title: figure.axis().to_owned(), is_logarithmic },
        y: Axis { title: "seconds".to_owned(), is_logarithmic },
        marks: Marks::Lines(lines),
        provenance,
    }
}

fn parts(completion: &Completion) -> [Duration; 5] {
    let Completion { rules, workers, network, master, drain } = *completion;
    [rules, workers, network, master, drain]
}

/// Returns table 3, and the time that each device takes for a table.
fn devices(testbed: &Testbed) -> Listing {
    let mut listing = Listing::new(&[
        "device",
        "gbit_from",
        "gbit_to",
        "latency_us_from",
        "latency_us_to",
        "seconds_from",
        "seconds_to",
        "source",
    ]);
    for device in &testbed.devices {
        let [slow, fast] = device.bits_per_second.map(|rate| number(rate / 1e9));
        let [short, long] = device.latency_microseconds.map(number);
        let passing = device.passing(PACKETS).map(|time| fraction(time.as_secs_f64()));
        let [from, to] = passing;
        let source = device.source.clone().into();
        listing.push(vec![device.name.clone().into(), slow, fast, short, long, from, to, source]);
    }
    listing
}

fn constants(testbed: &Testbed) -> Listing {
    let mut listing = Listing::new(&["constant", "value", "source"]);
    for (name, of) in testbed.numbers() {
        listing.push(vec![name.into(), number(of.value), of.source.clone().into()]);
    }
    for Query { name, entries, unpruned, .. } in &testbed.queries {
        for (what, of) in [("entries", entries), ("unpruned", unpruned)] {
            let source = of.source.clone().into();
            listing.push(vec![format!("{name}, {what}").into(), number(of.value), source]);
        }
    }
    listing
}
