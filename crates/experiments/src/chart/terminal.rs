//! Charts as text for terminals.
//!
//! kuva draws lines and points between axes. Bars, tasks and maps are rows of characters: kuva scales bars to a fixed
//! number of rows, which loses some of them, and cuts their names.

use kuva::TerminalBackend;
use kuva::prelude::{Layout, LinePlot, LineStyle, Plot, ScatterPlot};
use kuva::render::render::render_multiple;

use super::look::{COLOURS, Look, looks};
use super::svg::{number, shown_name};
use super::{Bar, Chart, Line, Marks, PointSeries, StrategyMap, Task};

/// Columns and rows of a chart.
const SIZE: (usize, usize) = (96, 24);

/// The most columns of names at the left of bars, tasks and maps.
const NAMES: usize = 30;

/// The columns of numbers behind bars.
const NUMBERS: usize = 10;

/// The characters of the parts of bars.
const PARTS: [&str; 8] = ["█", "▒", "▓", "░", "#", "=", "+", "-"];

/// The drawing library's colour of frames and titles, and its replacement: the terminal's own foreground, which is
/// visible on any background.
const BLACK: &str = "\u{1b}[38;2;0;0;0m";
const FOREGROUND: &str = "\u{1b}[39m";

/// Draws a chart as text, with or without colours; empty if it has no marks.
#[must_use]
pub fn terminal(chart: &Chart, colour: bool) -> String {
    let rows = match &chart.marks {
        Marks::Lines(lines) => plotted(chart, drawn_lines(chart, lines, colour), colour),
        Marks::Points(series) => plotted(chart, drawn_points(series, colour), colour),
        Marks::Bars { parts, bars, is_stacked } => drawn_bars(parts, bars, *is_stacked, colour),
        Marks::Gantt(tasks) => drawn_tasks(tasks, colour),
        Marks::Map(map) => drawn_map(map, colour),
    };
    if rows.is_empty() {
        return String::new();
    }
    let mut lines = vec![chart.title.clone(), chart.y.title.clone()];
    lines.retain(|line| !line.is_empty());
    lines.extend(rows);
    if !matches!(chart.marks, Marks::Lines(_) | Marks::Points(_)) {
        lines.push(format!("{:>width$}", chart.x.title, width = SIZE.0));
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

/// Draws lines or points with axes, below their names.
fn plotted(chart: &Chart, (plots, names): (Vec<Plot>, Vec<String>), colour: bool) -> Vec<String> {
    if plots.is_empty() {
        return Vec::new();
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_x_label(literal(&chart.x.title))
        .with_show_grid(false)
        .with_term_rows(SIZE.1 as u32);
    let layout = match (chart.x.is_logarithmic, chart.y.is_logarithmic) {
        (true, true) => layout.with_log_scale(),
        (true, false) => layout.with_log_x(),
        (false, true) => layout.with_log_y(),
        (false, false) => layout,
    };
    let drawn = TerminalBackend::new(SIZE.0, SIZE.1).render_scene(&render_multiple(plots, layout));
    let drawn = if colour { drawn.replace(BLACK, FOREGROUND) } else { plain(&drawn) };
    names.into_iter().chain(drawn.lines().map(str::to_owned)).collect()
}

/// Returns the colour of a series on a terminal, most of which are dark.
fn shade(look: Look) -> &'static str {
    COLOURS[look.colour % COLOURS.len()].dark
}

/// Draws lines without their intervals, which would hide other lines. The names are in the order of the lines' ends.
fn drawn_lines(chart: &Chart, lines: &[Line], colour: bool) -> (Vec<Plot>, Vec<String>) {
    let looks = looks(lines.iter().map(|line| (line.name.as_str(), line.is_published)));
    let is_drawn = |[x, y, ..]: &&[f64; 4]| {
        (*x > 0.0 || !chart.x.is_logarithmic) && (*y > 0.0 || !chart.y.is_logarithmic)
    };
    let (mut plots, mut names) = (Vec::new(), Vec::new());
    for (line, look) in lines.iter().zip(looks) {
        let points = line.points.iter().filter(is_drawn).map(|[x, y, ..]| (*x, *y));
        let points: Vec<(f64, f64)> = points.collect();
        let Some((_, end)) = points.last().copied() else { continue };
        let style = if look.dashes().is_empty() { LineStyle::Solid } else { LineStyle::Dashed };
        let plot = LinePlot::new().with_data(points).with_line_style(style);
        plots.push(plot.with_color(shade(look)).into());
        let mark = if look.dashes().is_empty() { "──" } else { "╶╶" };
        let name = shown_name(&line.name, line.is_published);
        names.push((end, format!("{} {name}", paint(mark, look, colour))));
    }
    names.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let mut names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
    if names.len() > 1 {
        names.insert(0, "Names from top to bottom at the right end:".to_owned());
    }
    (plots, names)
}

fn drawn_points(series: &[PointSeries], colour: bool) -> (Vec<Plot>, Vec<String>) {
    let looks = looks(series.iter().map(|it| (it.name.as_str(), it.is_published)));
    let (mut plots, mut names) = (Vec::new(), Vec::new());
    for (it, look) in series.iter().zip(looks).filter(|(it, _)| !it.points.is_empty()) {
        let points: Vec<_> = it.points.iter().map(|(x, y, _)| (*x, *y)).collect();
        let plot = ScatterPlot::new().with_data(points).with_color(shade(look));
        plots.push(plot.into());
        let name = shown_name(&it.name, it.is_published);
        names.push(format!("{} {name}", paint("●", look, colour)));
    }
    (plots, names)
}

/// Draws a row for each bar, or for each of its parts.
fn drawn_bars(parts: &[String], bars: &[Bar], is_stacked: bool, colour: bool) -> Vec<String> {
    if bars.is_empty() || parts.is_empty() {
        return Vec::new();
    }
    let looks = looks(parts.iter().map(|part| (part.as_str(), false)));
    let mark = |part: usize, count: usize| {
        paint(&PARTS[part % PARTS.len()].repeat(count), looks[part], colour)
    };
    let lengths = |bar: &Bar| -> Vec<f64> {
        bar.lengths.iter().take(parts.len()).map(|it| it.max(0.0)).collect()
    };
    let ends = bars.iter().map(|bar| match is_stacked {
        true => lengths(bar).iter().sum(),
        false => lengths(bar).into_iter().fold(0.0, f64::max),
    });
    let most = ends.fold(0.0, f64::max);
    let wide = names_width(bars.iter().map(|bar| bar.name.as_str()));
    let columns = (SIZE.0 - wide - NUMBERS) as f64;
    let place = |at: f64| if most > 0.0 { (at / most * columns).round() as usize } else { 0 };
    let mut rows = Vec::new();
    for bar in bars {
        let mut name = cut(&bar.name, wide - 1);
        let mut row = String::new();
        let mut total = 0.0;
        for (part, length) in lengths(bar).into_iter().enumerate() {
            let from = if is_stacked { total } else { 0.0 };
            row += &mark(part, place(from + length) - place(from));
            total = from + length;
            if !is_stacked {
                rows.push(format!("{name:wide$}{row} {}", number(length)));
                (name, row) = (String::new(), String::new());
            }
        }
        if is_stacked {
            rows.push(format!("{name:wide$}{row} {}", number(total)));
        }
    }
    if parts.len() > 1 {
        let entries = parts.iter().enumerate().map(|(at, name)| format!("{} {name}", mark(at, 1)));
        rows.insert(0, entries.collect::<Vec<_>>().join("   "));
    }
    rows
}

/// Draws a row for each task: `-` is its time, `=` the time of a task on the critical path.
fn drawn_tasks(tasks: &[Task], colour: bool) -> Vec<String> {
    let looks = looks(tasks.iter().map(|task| (task.series.as_str(), false)));
    let names = tasks.iter().map(|task| format!("{}, {}", task.name, task.series));
    let names: Vec<String> = names.collect();
    let wide = names_width(names.iter().map(String::as_str));
    let end = tasks.iter().map(|task| task.span[1]).fold(0.0, f64::max);
    let columns = (SIZE.0 - wide - NUMBERS) as f64;
    let place = |at: f64| if end > 0.0 { (at / end * columns).round() as usize } else { 0 };
    let row = |((task, look), name): ((&Task, Look), &String)| {
        let [from, to] = task.span.map(place);
        let mark = if task.is_critical { "=" } else { "-" };
        let bar = paint(&mark.repeat(to.saturating_sub(from).max(1)), look, colour);
        let seconds = number(task.span[1] - task.span[0]);
        format!("{:wide$}{}{bar} {seconds}", cut(name, wide - 1), " ".repeat(from))
    };
    tasks.iter().zip(looks).zip(&names).map(row).collect()
}

/// Draws a letter for each point, the first value of y at the bottom.
fn drawn_map(map: &StrategyMap, colour: bool) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in map.best.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let looks = looks(names.iter().map(|&name| (name, false)));
    let letter = |at: usize| {
        let letter = char::from_u32('A' as u32 + at as u32).unwrap_or('?').to_string();
        paint(&letter, looks[at], colour)
    };
    let labels: Vec<String> = map.y.iter().map(|it| number(*it)).collect();
    let wide = names_width(labels.iter().map(String::as_str));
    let row = |(label, best): (&String, &Vec<String>)| {
        let places = best.iter().filter_map(|name| names.iter().position(|it| it == name));
        let letters: Vec<String> = places.map(letter).collect();
        format!("{label:wide$}{}", letters.join(" "))
    };
    let mut rows: Vec<String> = labels.iter().zip(&map.best).map(row).rev().collect();
    if let [first, .., last] = &map.x[..] {
        rows.push(format!("{:wide$}{} to {}", "", number(*first), number(*last)));
    }
    rows.extend(names.iter().enumerate().map(|(at, name)| format!("{}  {name}", letter(at))));
    rows
}

/// Returns the columns of these names and the space behind them.
fn names_width<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0).min(NAMES) + 2
}

/// Returns a name in so many columns.
fn cut(name: &str, most: usize) -> String {
    match name.chars().count() <= most {
        true => name.to_owned(),
        false => name.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// Gives a text the colour of a series.
fn paint(text: &str, look: Look, colour: bool) -> String {
    let part = |at: usize| u8::from_str_radix(&shade(look)[at..at + 2], 16).unwrap_or_default();
    match colour && !text.is_empty() {
        true => format!("\u{1b}[38;2;{};{};{}m{text}{FOREGROUND}", part(1), part(3), part(5)),
        false => text.to_owned(),
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
