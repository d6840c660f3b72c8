//! Lines with intervals, each with its name at its end.

use super::super::look::{Look, looks};
use super::super::{Chart, Line};
use super::canvas::{Anchor, Canvas, LINE, Place, SIZE};
use super::frame::{Mark, Plot, labels_width, legend, lines, x_axis, y_axis};
use super::number::number;
use super::scale::Scale;
use super::text;

/// The space between a line's end and its name, with a marker.
const LEADER: f64 = 28.0;
/// Intervals of more lines than this are strokes at the points; bands would hide each other.
const MANY_BANDS: usize = 3;
/// From this many points on, a line has no markers.
const MANY_POINTS: usize = 40;

/// A name at the end of a line.
struct Label {
    lines: Vec<String>,
    look: Look,
    /// The end of the line.
    end: Place,
    /// The middle of the label.
    y: f64,
}

pub(super) fn draw(canvas: &mut Canvas, top: f64, chart: &Chart, series: &[Line]) {
    let looks = looks(series.iter().map(|line| (line.name.as_str(), line.is_published)));
    let names: Vec<String> = series.iter().map(shown).collect();
    let labels: Vec<Vec<String>> =
        names.iter().map(|name| text::wrap(name, SIZE, 0.26 * canvas.width)).collect();
    let height = 0.5 * canvas.width.max(400.0);
    let all_lines: usize = labels.iter().map(Vec::len).sum();
    let is_direct = canvas.width > 440.0 && all_lines as f64 * LINE < 0.9 * height;

    let mut top = top;
    if !is_direct {
        let entries = names.iter().zip(&looks);
        let entries: Vec<_> =
            entries.map(|(name, look)| (name.as_str(), *look, Mark::Line)).collect();
        top = legend(canvas, top, &entries) + 4.0;
    }
    top = lines(canvas, top, &chart.y.title) + 8.0;
    let bottom = top + height;
    let zero = (!chart.y.is_logarithmic && is_from_zero(&chart.y.title)).then_some(0.0);
    let ys = series.iter().flat_map(|line| &line.points).flat_map(|it| [it[1], it[2], it[3]]);
    let mut y = Scale::new(ys.chain(zero), chart.y.is_logarithmic, true, [bottom, top]);
    let wide = labels.iter().flatten().map(String::as_str);
    let margin = if is_direct { LEADER + text::widest(wide, SIZE) + 2.0 } else { 8.0 };
    let plot = Plot { left: labels_width(&y), right: canvas.width - margin, top, bottom };
    let xs = || series.iter().flat_map(|line| &line.points).map(|it| it[0]);
    let mut x =
        Scale::new(xs(), chart.x.is_logarithmic, false, [plot.left + 8.0, plot.right - 8.0])
            .with_ticks_at(xs());
    y_axis(canvas, plot, &mut y);
    canvas.height = x_axis(canvas, plot, &mut x, &chart.x.title);

    let is_band = series.iter().filter(|line| has_interval(line)).count() <= MANY_BANDS;
    // Bands are below all lines.
    for (line, look) in series.iter().zip(&looks).filter(|_| is_band) {
        canvas.begin(*look);
        interval(canvas, line, &x, &y);
        canvas.end();
    }
    for (at, ((line, look), name)) in series.iter().zip(&looks).zip(&names).enumerate() {
        canvas.begin(*look);
        // A line below others that are equal is wider.
        let above = series[at + 1..].iter().filter(|it| is_equal(line, it, &x, &y)).count().min(2);
        stroke(canvas, line, *look, 2.0 + 3.0 * above as f64, [&x, &y]);
        points(canvas, (line, *look, name), is_band, [&x, &y]);
        canvas.end();
    }
    if is_direct {
        let ends = series.iter().map(|line| end(line, &x, &y));
        let labels = labels.into_iter().zip(&looks).zip(ends);
        let labels = labels.filter_map(|((lines, look), end)| {
            end.map(|end| Label { lines, look: *look, end, y: end.1 })
        });
        direct_labels(canvas, plot, labels.collect());
    }
}

/// Returns true if an axis with this title starts at 0: lengths of times and amounts are compared with each other.
fn is_from_zero(title: &str) -> bool {
    ["seconds", "cents", "MB"].iter().any(|unit| title.starts_with(unit))
}

/// Returns the name of a series, which says if its numbers are published.
pub(in crate::chart) fn shown_name(name: &str, is_published: bool) -> String {
    match is_published && !super::super::look::is_published(name) {
        true => format!("{name}, published"),
        false => name.to_owned(),
    }
}

fn shown(line: &Line) -> String {
    shown_name(&line.name, line.is_published)
}

fn is_drawn(point: &&[f64; 4]) -> bool {
    point[0].is_finite() && point[1].is_finite()
}

/// Returns true if two lines have the same places.
fn is_equal(one: &Line, other: &Line, x: &Scale, y: &Scale) -> bool {
    let are_near = |(a, b): (Place, Place)| (a.0 - b.0).abs() < 1.0 && (a.1 - b.1).abs() < 1.0;
    let (one, other) = (places(one, x, y), places(other, x, y));
    one.len() == other.len() && one.into_iter().zip(other).all(are_near)
}

fn places(line: &Line, x: &Scale, y: &Scale) -> Vec<Place> {
    line.points.iter().filter(is_drawn).map(|it| (x.at(it[0]), y.at(it[1]))).collect()
}

fn stroke(canvas: &mut Canvas, line: &Line, look: Look, width: f64, [x, y]: [&Scale; 2]) {
    let places = places(line, x, y);
    if places.len() > 1 {
        canvas.line(&places, look.dashes(), width);
    }
}

fn has_interval(line: &Line) -> bool {
    line.points.iter().any(|it| it[2] < it[3])
}

fn interval(canvas: &mut Canvas, line: &Line, x: &Scale, y: &Scale) {
    let with = |at: &[f64; 4]| at.iter().all(|it| it.is_finite());
    let drawn: Vec<&[f64; 4]> = line.points.iter().filter(|it| with(it)).collect();
    if !has_interval(line) {
        return;
    }
    let upper = drawn.iter().map(|it| (x.at(it[0]), y.at(it[3])));
    let lower = drawn.iter().rev().map(|it| (x.at(it[0]), y.at(it[2])));
    canvas.band(&upper.chain(lower).collect::<Vec<_>>());
}

fn points(
    canvas: &mut Canvas,
    (line, look, name): (&Line, Look, &str),
    is_band: bool,
    [x, y]: [&Scale; 2],
) {
    let drawn: Vec<&[f64; 4]> = line.points.iter().filter(is_drawn).collect();
    let places = places(line, x, y);
    if places.len() >= MANY_POINTS {
        return;
    }
    for (point, place) in drawn.iter().zip(&places) {
        if !is_band && point[2] < point[3] {
            canvas.line(&[(place.0, y.at(point[2])), (place.0, y.at(point[3]))], "", 1.0);
        }
        canvas.marker(*place, look, &hint(name, point));
    }
}

fn hint(name: &str, [x, y, low, high]: &[f64; 4]) -> String {
    let value = format!("{name}: {} at {}", number(*y), number(*x));
    match low < high {
        true => format!("{value} ({} to {})", number(*low), number(*high)),
        false => value,
    }
}

fn end(line: &Line, x: &Scale, y: &Scale) -> Option<Place> {
    line.points.iter().rfind(is_drawn).map(|it| (x.at(it[0]), y.at(it[1])))
}

/// Writes the names at the ends of the lines. Names that would overlap are moved apart.
fn direct_labels(canvas: &mut Canvas, plot: Plot, mut labels: Vec<Label>) {
    labels.sort_by(|one, other| one.end.1.total_cmp(&other.end.1));
    let high = |label: &Label| LINE * label.lines.len() as f64;
    let mut free = plot.top - 8.0;
    for label in &mut labels {
        label.y = label.y.max(free + high(label) / 2.0);
        free = label.y + high(label) / 2.0;
    }
    let mut free = plot.bottom + 4.0;
    for label in labels.iter_mut().rev() {
        label.y = label.y.min(free - high(label) / 2.0);
        free = label.y - high(label) / 2.0;
    }
    let left = plot.right + LEADER - 2.0;
    for label in &labels {
        canvas.begin(label.look);
        let from = (label.end.0 + 6.0, label.end.1);
        canvas.line(&[from, (plot.right, label.end.1), (left - 14.0, label.y)], "1 3", 1.0);
        canvas.marker((left - 8.0, label.y), label.look, "");
        canvas.end();
        let first = label.y - high(label) / 2.0 + LINE - 4.0;
        for (at, line) in (0_u32..).zip(&label.lines) {
            canvas.text((left, first + LINE * f64::from(at)), Anchor::Start, line);
        }
    }
}
