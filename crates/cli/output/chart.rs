//! Charts of lines along an axis and of stacked bars, as SVG and as text for a terminal.

use std::path::Path;

use clap::ValueEnum;
use kuva::TerminalBackend;
use kuva::backend::svg::SvgBackend;
use kuva::prelude::{BarPlot, Figure, GanttPlot, Layout, LinePlot, LineStyle, Palette, Plot};
use kuva::render::render::render_multiple;

use crate::failure::{Failure, Result};
use crate::runtime::terminal;

/// Columns and rows of a chart in a terminal.
const TERMINAL: (usize, usize) = (96, 24);

/// The drawing library's colour of frames and titles, and its replacement: the terminal's own foreground, which is
/// visible on any background.
const BLACK: &str = "\u{1b}[38;2;0;0;0m";
const FOREGROUND: &str = "\u{1b}[39m";

/// Width and height of an SVG panel, in points.
const PANEL: (f64, f64) = (640.0, 420.0);

/// The formats of numbers along axes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChartFormat {
    /// Tables for reading, with a chart below the numbers along an axis
    #[default]
    Table,
    /// A line for each number, and at each point of an axis
    Csv,
    /// Everything, for programs
    Json,
    /// A chart of the numbers along an axis
    Svg,
}

impl ChartFormat {
    /// Returns the requested format, else the format of the file's extension.
    ///
    /// # Errors
    ///
    /// If no format was requested and the extension is unknown.
    pub(crate) fn chosen(asked: Option<Self>, file: Option<&Path>) -> Result<Self> {
        let extension = file.and_then(Path::extension).and_then(|it| it.to_str());
        // Devices and descriptors have no extension, so they get a table.
        match (asked, extension.map(str::to_ascii_lowercase).as_deref()) {
            (Some(format), _) => Ok(format),
            (None, Some("csv")) => Ok(Self::Csv),
            (None, Some("json")) => Ok(Self::Json),
            (None, Some("svg")) => Ok(Self::Svg),
            (None, Some("txt" | "md" | "log" | "out") | None) => Ok(Self::Table),
            (None, Some(other)) => Err(Failure::Usage(format!(
                "`.{other}` is no format that is written here: name a file .txt, .csv, .json or .svg, or say \
                 which with --format"
            ))),
        }
    }
}

/// A panel of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// Titles of the axes.
    pub(crate) x: String,
    pub(crate) y: String,
    /// True for a logarithmic axis: x, then y. Its numbers must be above 0. Axes of bars are never logarithmic.
    pub(crate) logarithmic: [bool; 2],
    pub(crate) marks: Marks,
}

/// The marks of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Marks {
    Lines(Vec<Line>),
    /// Horizontal bars, each of several parts one after the other.
    Bars {
        /// The names of the parts.
        parts: Vec<String>,
        /// The names of the bars, each with the lengths of its parts.
        bars: Vec<(String, Vec<f64>)>,
    },
    /// Spans of time, one below the other, in groups.
    Spans(Vec<Span>),
}

/// A span of time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    pub(crate) group: String,
    pub(crate) name: String,
    pub(crate) start: f64,
    pub(crate) end: f64,
    /// True for another colour.
    pub(crate) is_marked: bool,
}

/// A line with its interval.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// Points with x, y, and the lower and upper end of the interval of y.
    pub(crate) points: Vec<[f64; 4]>,
}

/// Draws all charts as SVG, one below the other.
pub(crate) fn svg(charts: &[Chart]) -> String {
    let panels = charts.iter().filter_map(Chart::panel);
    let (plots, layouts): (Vec<_>, Vec<_>) = panels.unzip();
    let figure = Figure::new(plots.len().max(1), 1)
        .with_cell_size(PANEL.0, PANEL.1)
        .with_plots(plots)
        .with_layouts(layouts);
    SvgBackend.render_scene(&figure.render()) + "\n"
}

/// Draws a chart as text; empty if it has no lines.
pub(crate) fn terminal(chart: &Chart, colour: bool) -> String {
    let Some((plots, layout)) = chart.panel() else { return String::new() };
    let layout = layout.with_show_grid(false).with_legend_box(false);
    let scene = render_multiple(plots, layout.with_term_rows(TERMINAL.1 as u32));
    let drawn = TerminalBackend::new(TERMINAL.0, TERMINAL.1).render_scene(&scene);
    let drawn = if colour && terminal::wants_colour() {
        drawn.replace(BLACK, FOREGROUND)
    } else {
        plain(&drawn)
    };
    let lines: Vec<_> = drawn.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

impl Chart {
    fn panel(&self) -> Option<(Vec<Plot>, Layout)> {
        let plots = match &self.marks {
            Marks::Lines(lines) => drawn_lines(lines),
            Marks::Bars { parts, bars } => drawn_bars(parts, bars),
            Marks::Spans(spans) => drawn_spans(spans),
        };
        if plots.is_empty() {
            return None;
        }
        let layout = Layout::auto_from_plots(&plots)
            .with_title(literal(&self.title))
            .with_x_label(literal(&self.x))
            .with_y_label(literal(&self.y));
        let layout = match self.logarithmic {
            [true, true] => layout.with_log_scale(),
            [true, false] => layout.with_log_x(),
            [false, true] => layout.with_log_y(),
            [false, false] => layout,
        };
        Some((plots, layout))
    }
}

/// Draws lines. Up to 32 of them differ in colour or style.
fn drawn_lines(lines: &[Line]) -> Vec<Plot> {
    const STYLES: [LineStyle; 4] =
        [LineStyle::Solid, LineStyle::Dashed, LineStyle::Dotted, LineStyle::DashDot];
    let colours = Palette::okabe_ito();
    let count = colours.colors().len();
    let mut plots = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let points: Vec<_> = line.points.iter().map(|[x, y, ..]| (*x, *y)).collect();
        let low: Vec<_> = line.points.iter().map(|point| point[2]).collect();
        let high: Vec<_> = line.points.iter().map(|point| point[3]).collect();
        if points.is_empty() {
            continue;
        }
        let style = STYLES[at / count % STYLES.len()].clone();
        let plot = LinePlot::new().with_data(points).with_band(low, high).with_line_style(style);
        plots.push(plot.with_color(&colours[at]).with_legend(&line.name).into());
    }
    plots
}

/// Draws bars, the first one at the top.
fn drawn_bars(parts: &[String], bars: &[(String, Vec<f64>)]) -> Vec<Plot> {
    if bars.is_empty() {
        return Vec::new();
    }
    let colours = Palette::okabe_ito();
    let plot = bars.iter().rev().fold(BarPlot::new(), |plot, (name, lengths)| {
        let lengths = lengths.iter().enumerate();
        plot.with_group(name, lengths.map(|(at, length)| (*length, colours[at].to_owned())))
    });
    let legend = parts.iter().map(String::as_str).collect();
    vec![plot.with_legend(legend).with_stacked().with_horizontal(true).into()]
}

/// Draws spans in two colours, blue and orange for those that are marked.
fn drawn_spans(spans: &[Span]) -> Vec<Plot> {
    if spans.is_empty() {
        return Vec::new();
    }
    let colours = Palette::okabe_ito();
    let plot = GanttPlot::new().with_show_labels(false);
    let mut plot = spans.iter().fold(plot, |plot, span| {
        plot.with_task_group(&span.group, literal(&span.name), span.start, span.end)
    });
    for (task, span) in plot.tasks.iter_mut().zip(spans) {
        task.color = Some(colours[usize::from(!span.is_marked)].to_owned());
    }
    vec![plot.into()]
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

    #[test]
    fn formats_follow_the_extension_unless_one_is_asked_for() {
        let chosen = |asked, file: &str| ChartFormat::chosen(asked, Some(Path::new(file)));
        for (asked, file, expected) in [
            (None, "a.svg", ChartFormat::Svg),
            (None, "a.JSON", ChartFormat::Json),
            (None, "a.txt", ChartFormat::Table),
            (None, "/dev/stdout", ChartFormat::Table),
            (Some(ChartFormat::Csv), "a.svg", ChartFormat::Csv),
            (Some(ChartFormat::Table), "a.pdf", ChartFormat::Table),
        ] {
            assert_eq!(chosen(asked, file).unwrap(), expected, "{file}");
        }
        assert_eq!(ChartFormat::chosen(None, None).unwrap(), ChartFormat::Table);
        let Err(Failure::Usage(refused)) = chosen(None, "a.pdf") else { panic!("text in a.pdf") };
        assert!(refused.starts_with("`.pdf` is no format"), "{refused}");
    }

    #[test]
    fn a_chart_without_lines_is_nothing() {
        let chart = Chart {
            title: "t".to_owned(),
            x: "x".to_owned(),
            y: "y".to_owned(),
            logarithmic: [false; 2],
            marks: Marks::Lines(Vec::new()),
        };
        assert_eq!(terminal(&chart, false), "");
        let points = (1..5).map(f64::from).map(|x| [x, x, x, x]).collect();
        let lines = vec![Line { name: "costs $".to_owned(), points }];
        for logarithmic in [[false; 2], [true; 2], [true, false], [false, true]] {
            let chart = Chart { marks: Marks::Lines(lines.clone()), logarithmic, ..chart.clone() };
            assert!(svg(std::slice::from_ref(&chart)).contains("costs"));
            assert!(terminal(&chart, false).contains("costs"));
        }
    }

    /// The palette has eight colours.
    #[test]
    fn no_two_lines_look_the_same() {
        let line = |at: usize| Line { name: format!("n{at}"), points: vec![[1.0; 4], [2.0; 4]] };
        let chart = Chart {
            title: "t".to_owned(),
            x: "x".to_owned(),
            y: "y".to_owned(),
            logarithmic: [false; 2],
            marks: Marks::Lines((0..20).map(line).collect()),
        };
        let Some((plots, _)) = chart.panel() else { panic!("no lines") };
        let mut looks: Vec<String> = plots
            .iter()
            .map(|plot| match plot {
                Plot::Line(line) => format!("{} {:?}", line.color, line.line_style.dasharray()),
                _ => panic!("not a line"),
            })
            .collect();
        looks.sort_unstable();
        looks.dedup();
        assert_eq!(looks.len(), 20);
    }

    #[test]
    fn bars_have_their_names_and_parts() {
        let bar = |name: &str, parts: [f64; 2]| (name.to_owned(), parts.to_vec());
        let chart = Chart {
            title: "t".to_owned(),
            x: "seconds".to_owned(),
            y: String::new(),
            logarithmic: [false; 2],
            marks: Marks::Bars {
                parts: vec!["network".to_owned(), "master".to_owned()],
                bars: vec![bar("Join", [1.0, 2.0]), bar("TopN", [0.5, 0.25])],
            },
        };
        let drawn = svg(std::slice::from_ref(&chart));
        assert!(
            ["Join", "TopN", "network", "master", "seconds"].iter().all(|it| drawn.contains(it))
        );
        assert!(terminal(&chart, false).contains("Join"));
    }
}
