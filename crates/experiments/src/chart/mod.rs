//! Charts: data that is drawn as SVG for files and pages, and as text for terminals.
//!
//! [`Chart`] is the data. `look` gives each series its colour, dash and marker. `svg` and `terminal` draw.

mod look;
pub(crate) mod svg;
mod terminal;

use sluicegate_costmodel::Provenance;

pub(crate) use self::look::is_published;
pub use self::terminal::terminal;

/// A chart, to be drawn as SVG.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What the chart shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The marks.
    pub marks: Marks,
    /// The provenance of all marks that are not published.
    pub provenance: Provenance,
}

impl Chart {
    /// Draws the chart as an SVG file. Its colours follow the theme of the program that shows it.
    #[must_use]
    pub fn svg(&self) -> String {
        svg(std::slice::from_ref(self))
    }
}

/// Draws charts below each other as one SVG file.
#[must_use]
pub fn svg(charts: &[Chart]) -> String {
    svg::file(charts)
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Axis {
    /// What it shows, with the unit.
    pub title: String,
    /// True for a logarithmic axis, whose values must be above 0.
    pub is_logarithmic: bool,
}

impl Axis {
    /// A linear axis.
    #[must_use]
    pub fn linear(title: impl Into<String>) -> Self {
        Self { title: title.into(), is_logarithmic: false }
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn logarithmic(title: impl Into<String>) -> Self {
        Self { title: title.into(), is_logarithmic: true }
    }
}

/// The marks of a chart. A series of the same name has the same colour in all charts.
#[derive(Debug, Clone, PartialEq)]
pub enum Marks {
    /// Lines with intervals.
    Lines(Vec<Line>),
    /// Horizontal bars, whose lengths are on the x axis.
    Bars {
        /// The names of the parts.
        parts: Vec<String>,
        /// The bars, each with a length for each part.
        bars: Vec<Bar>,
        /// True if the parts of a bar follow each other; false if they are beside each other.
        is_stacked: bool,
    },
    /// Points, each with a label or none.
    Points(Vec<PointSeries>),
    /// Tasks over time, from top to bottom.
    Gantt(Vec<Task>),
    /// A map of the best strategy over two axes.
    Map(StrategyMap),
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The name of the series.
    pub name: String,
    /// Points with x, y, and the lower and upper end of the interval of y.
    pub points: Vec<[f64; 4]>,
    /// True if the numbers are the paper's.
    pub is_published: bool,
}

impl Line {
    /// A line of our numbers without intervals.
    #[must_use]
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| [x, y, y, y]).collect();
        Self { name: name.into(), points, is_published: false }
    }

    /// A line of the paper's numbers.
    #[must_use]
    pub fn published(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Self { is_published: true, ..Self::new(name, points) }
    }
}

/// A bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The name of the bar.
    pub name: String,
    /// The length of each part.
    pub lengths: Vec<f64>,
}

/// Points of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct PointSeries {
    /// The name of the series.
    pub name: String,
    /// The points, x before y, with labels that may be empty.
    pub points: Vec<(f64, f64, String)>,
    /// True if the numbers are the paper's.
    pub is_published: bool,
}

/// A task of a Gantt chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The name of the task, which is a row.
    pub name: String,
    /// The start and the end, on the x axis.
    pub span: [f64; 2],
    /// The name of the series: `measured`, `estimated`.
    pub series: String,
    /// True if the task is on the critical path.
    pub is_critical: bool,
}

/// The best strategy at each point of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct StrategyMap {
    /// The values of the x axis.
    pub x: Vec<f64>,
    /// The values of the y axis.
    pub y: Vec<f64>,
    /// The name of the best strategy for each y, then each x.
    pub best: Vec<Vec<String>>,
}
