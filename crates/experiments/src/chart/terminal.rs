//! Charts as text for terminals.
//!
//! kuva draws axes. Tasks and maps are rows of characters.

use kuva::TerminalBackend;
use kuva::prelude::{BarPlot, Layout, LinePlot, LineStyle, Plot, ScatterPlot};
use kuva::render::render::render_multiple;

use super::look::{COLOURS, Look, looks};
use super::{Bar, Chart, Line, Marks, PointSeries, StrategyMap, Task};

/// Columns and rows of a chart.
const SIZE: (usize, usize) = (96, 24);

/// The columns of names at the left of tasks and maps.
const NAMES: usize = 24;

/// The drawing library's colour of frames and titles, and its replacement: the terminal's own foreground, which is
/// visible on any background.
const BLACK: &str = "\u{1b}[38;2;0;0;0m";
const FOREGROUND: &str = "\u{1b}[39m";

/// Draws a chart as text, with or without colours; empty if it has no marks.
#[must_use]
pub fn terminal(chart: &Chart, colour: bool) -> String {
    let plots = match &chart.marks {
        Marks::Lines(lines) => drawn_lines(lines),
        Marks::Bars { parts, bars, is_stacked } => drawn_bars(parts, bars, *is_stacked),
        Marks::Points(series) => drawn_points(series),
        Marks::Gantt(tasks) => return titled(chart, &drawn_tasks(tasks)),
        Marks::Map(map) => return titled(chart, &drawn_map(map)),
    };
    if plots.is_empty() {
        return String::new();
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title(literal(&chart.title))
        .with_x_label(literal(&chart.x.title))
        .with_y_label(literal(&chart.y.title))
        .with_show_grid(false)
        .with_legend_box(false)
        .with_term_rows(SIZE.1 as u32);
    let layout = match (chart.x.is_logarithmic, chart.y.is_logarithmic) {
        // Bars begin at 0.
        _ if matches!(chart.marks, Marks::Bars { .. }) => layout,
        (true, true) => layout.with_log_scale(),
        (true, false) => layout.with_log_x(),
        (false, true) => layout.with_log_y(),
        (false, false) => layout,
    };
    let drawn = TerminalBackend::new(SIZE.0, SIZE.1).render_scene(&render_multiple(plots, layout));
    let drawn = if colour { drawn.replace(BLACK, FOREGROUND) } else { plain(&drawn) };
    let lines: Vec<_> = drawn.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

/// Returns the colour of a series on a terminal, which is dark or light.
fn colour(look: Look) -> &'static str {
    COLOURS[look.colour % COLOURS.len()].dark
}

fn drawn_lines(lines: &[Line]) -> Vec<Plot> {
    let looks = looks(lines.iter().map(|line| (line.name.as_str(), line.is_published)));
    let mut plots = Vec::new();
    for (line, look) in lines.iter().zip(looks).filter(|(line, _)| !line.points.is_empty()) {
        let points: Vec<_> = line.points.iter().map(|[x, y, ..]| (*x, *y)).collect();
        let low: Vec<_> = line.points.iter().map(|point| point[2]).collect();
        let high: Vec<_> = line.points.iter().map(|point| point[3]).collect();
        let style = if look.dashes().is_empty() { LineStyle::Solid } else { LineStyle::Dashed };
        let plot = LinePlot::new().with_data(points).with_band(low, high).with_line_style(style);
        plots.push(plot.with_color(colour(look)).with_legend(&line.name).into());
    }
    plots
}

/// Draws bars, the first one at the top.
fn drawn_bars(parts: &[String], bars: &[Bar], is_stacked: bool) -> Vec<Plot> {
    if bars.is_empty() {
        return Vec::new();
    }
    let looks = looks(parts.iter().map(|part| (part.as_str(), false)));
    let plot = bars.iter().rev().fold(BarPlot::new(), |plot, bar| {
        let lengths = bar.lengths.iter().zip(&looks);
        plot.with_group(
            &bar.name,
            lengths.map(|(length, look)| (*length, colour(*look).to_owned())),
        )
    });
    let plot = plot.with_legend(parts.iter().map(String::as_str).collect()).with_horizontal(true);
    vec![if is_stacked { plot.with_stacked() } else { plot }.into()]
}

fn drawn_points(series: &[PointSeries]) -> Vec<Plot> {
    let looks = looks(series.iter().map(|it| (it.name.as_str(), it.is_published)));
    let mut plots = Vec::new();
    for (it, look) in series.iter().zip(looks).filter(|(it, _)| !it.points.is_empty()) {
        let points: Vec<_> = it.points.iter().map(|(x, y, _)| (*x, *y)).collect();
        let plot = ScatterPlot::new().with_data(points).with_color(colour(look));
        plots.push(plot.with_legend(&it.name).into());
    }
    plots
}

/// Draws a row for each task: `-` is its time, `=` the time of a task on the critical path.
fn drawn_tasks(tasks: &[Task]) -> Vec<String> {
    let end = tasks.iter().map(|task| task.span[1]).fold(0.0, f64::max);
    let columns = (SIZE.0 - NAMES) as f64;
    let place = |at: f64| if end > 0.0 { (at / end * columns).round() as usize } else { 0 };
    let row = |task: &Task| {
        let name: String =
            format!("{} {}", task.name, task.series).chars().take(NAMES - 1).collect();
        let [from, to] = task.span.map(place);
        let mark = if task.is_critical { "=" } else { "-" };
        let bar = mark.repeat(to.saturating_sub(from).max(1));
        format!("{name:NAMES$}{}{bar}", " ".repeat(from))
    };
    tasks.iter().map(row).collect()
}

/// Draws a letter for each point, the first value of y at the bottom.
fn drawn_map(map: &StrategyMap) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in map.best.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let letter = |at: usize| char::from_u32('A' as u32 + at as u32).unwrap_or('?');
    let row = |(y, best): (&f64, &Vec<String>)| {
        let places = best.iter().map(|name| names.iter().position(|it| it == name));
        let letters: String = places.flat_map(|it| [letter(it.unwrap_or_default()), ' ']).collect();
        format!("{:NAMES$}{}", y.to_string(), letters.trim_end())
    };
    let mut rows: Vec<String> = map.y.iter().zip(&map.best).map(row).rev().collect();
    if let [first, .., last] = &map.x[..] {
        rows.push(format!("{:NAMES$}{first} to {last}", ""));
    }
    rows.extend(names.iter().enumerate().map(|(at, name)| format!("{}  {name}", letter(at))));
    rows
}

fn titled(chart: &Chart, rows: &[String]) -> String {
    match rows.is_empty() {
        true => String::new(),
        false => {
            format!("{}\n\n{}\n{:NAMES$}{}\n", chart.title, rows.join("\n"), "", chart.x.title)
        }
    }
}

/// Escapes dollars, which would begin a formula.
fn literal(text: &str) -> String {
    text.replace('$', "\\$")
}

/// Removes the escape sequences of colours.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            characters.by_ref().find(|it| it.is_ascii_alphabetic());
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::svg::tests::examples;

    #[test]
    fn a_chart_of_any_kind_has_its_title_and_no_colours() {
        for chart in examples() {
            let drawn = terminal(&chart, false);
            let first: String = chart.title.chars().take(20).collect();
            assert!(drawn.contains(&first), "{drawn}");
            assert!(!drawn.contains('\u{1b}'), "{drawn}");
        }
    }

    #[test]
    fn a_chart_without_marks_is_nothing() {
        for mut chart in examples() {
            match &mut chart.marks {
                Marks::Lines(lines) => lines.clear(),
                Marks::Bars { bars, .. } => bars.clear(),
                Marks::Points(series) => series.clear(),
                Marks::Gantt(tasks) => tasks.clear(),
                Marks::Map(map) => *map = StrategyMap { x: vec![], y: vec![], best: vec![] },
            }
            assert_eq!(terminal(&chart, true), "");
        }
    }
}
