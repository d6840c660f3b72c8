//! A chart in words, for readers who do not see it.

use super::super::{Chart, Line, Marks};
use super::gantt::distinct;
use super::lines::shown_name;
use super::number::number;

/// Returns the marks of a chart in one or more sentences.
pub(super) fn describe(chart: &Chart) -> String {
    let (x, y) = (&chart.x.title, &chart.y.title);
    let parts: Vec<String> = match &chart.marks {
        Marks::Lines(lines) => lines.iter().map(line).collect(),
        Marks::Bars { parts, bars, .. } => {
            let lengths = |lengths: &[f64]| {
                let each = parts.iter().zip(lengths);
                each.map(|(part, it)| format!("{part} {}", number(*it)))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            bars.iter().map(|bar| format!("{}: {}", bar.name, lengths(&bar.lengths))).collect()
        }
        Marks::Points(series) => {
            let of = |name: String, count| format!("{name}: {count} points");
            let names = series.iter().map(|it| (shown_name(&it.name, it.is_published), it));
            names.map(|(name, it)| of(name, it.points.len())).collect()
        }
        Marks::Gantt(tasks) => {
            let span = |[from, to]: [f64; 2]| format!("{} to {}", number(from), number(to));
            let of =
                tasks.iter().map(|it| format!("{}, {}: {}", it.name, it.series, span(it.span)));
            of.collect()
        }
        Marks::Map(map) => {
            let cells = || map.best.iter().flatten().map(String::as_str);
            let of = |name: &str| {
                let count = cells().filter(|it| *it == name).count();
                format!("{name} is the best at {count} of {} points", cells().count())
            };
            distinct(cells()).into_iter().map(of).collect()
        }
    };
    let axes = match (x.is_empty(), y.is_empty()) {
        (false, false) => format!("{y} over {x}. "),
        (false, true) => format!("{x}. "),
        (true, false) => format!("{y}. "),
        (true, true) => String::new(),
    };
    format!("{axes}{}. {}.", parts.join("; "), chart.provenance)
}

fn line(line: &Line) -> String {
    let name = shown_name(&line.name, line.is_published);
    let value = |at: &[f64; 4]| format!("{} at {}", number(at[1]), number(at[0]));
    match &line.points[..] {
        [] => format!("{name}: nothing"),
        [only] => format!("{name}: {}", value(only)),
        [first, .., last] => format!("{name}: from {} to {}", value(first), value(last)),
    }
}
