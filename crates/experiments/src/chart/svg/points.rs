//! Points with labels.

use super::super::look::{Look, looks};
use super::super::{Chart, PointSeries};
use super::canvas::{Anchor, Area, Canvas, Place, SIZE};
use super::frame::{Mark, Plot, labels_width, legend, lines, x_axis, x_grid, y_axis};
use super::lines::shown_name;
use super::number::number;
use super::scale::Scale;

/// The space between the ends of a scale and those of the axis.
const INSET: f64 = 8.0;
/// The radius around a point that labels leave free.
const RADIUS: f64 = 4.5;

pub(super) fn draw(canvas: &mut Canvas, top: f64, chart: &Chart, series: &[PointSeries]) {
    let looks = looks(series.iter().map(|it| (it.name.as_str(), it.is_published)));
    let names: Vec<String> =
        series.iter().map(|it| shown_name(&it.name, it.is_published)).collect();
    let mut top = top;
    if series.len() > 1 || series.iter().any(|it| it.is_published) {
        let entries = names.iter().zip(&looks);
        let entries: Vec<_> =
            entries.map(|(name, look)| (name.as_str(), *look, Mark::Point)).collect();
        top = legend(canvas, top, &entries) + 4.0;
    }
    top = lines(canvas, top, &chart.y.title) + 8.0;
    let bottom = top + 0.56 * canvas.width.max(400.0);
    let all = || series.iter().flat_map(|it| &it.points);
    // Two ways to get the same number have the same scale.
    let both = || all().flat_map(|it| [it.0, it.1]).collect::<Vec<f64>>();
    let ys = if is_comparison(chart) { both() } else { all().map(|it| it.1).collect() };
    let mut y = Scale::new(ys, chart.y.is_logarithmic, true, [bottom - INSET, top + INSET]);
    let plot = Plot { left: labels_width(&y), right: canvas.width - 8.0, top, bottom };
    let xs = if is_comparison(chart) { both() } else { all().map(|it| it.0).collect() };
    let ends = [plot.left + INSET, plot.right - INSET];
    let mut x = Scale::new(xs, chart.x.is_logarithmic, true, ends);
    y_axis(canvas, plot, &mut y);
    canvas.height = x_axis(canvas, plot, &mut x, &chart.x.title);
    x_grid(canvas, plot, &x);

    if is_comparison(chart) {
        // On this line, both are equal.
        canvas.rule((ends[0], plot.bottom - INSET), (ends[1], plot.top + INSET), true);
    }
    let mut marks: Vec<(Place, &str)> = Vec::new();
    for ((it, look), name) in series.iter().zip(&looks).zip(&names) {
        canvas.begin(*look);
        for (x_value, y_value, label) in &it.points {
            if x_value.is_finite() && y_value.is_finite() {
                let place = (x.at(*x_value), y.at(*y_value));
                point(canvas, place, *look, (name, label, *x_value, *y_value));
                marks.push((place, label));
            }
        }
        canvas.end();
    }
    labels(canvas, plot, &marks);
}

/// Returns true if the axes are a prediction and a measurement.
fn is_comparison(chart: &Chart) -> bool {
    let is_of = |words: &[&str], title: &str| words.iter().any(|it| title.contains(it));
    let is_predicted = |title| is_of(&["predicted", "estimated", "modelled", "published"], title);
    let is_real = |title| is_of(&["measured", "counted", "found"], title);
    let (x, y) = (chart.x.title.as_str(), chart.y.title.as_str());
    chart.x.is_logarithmic == chart.y.is_logarithmic
        && ((is_predicted(x) && is_real(y)) || (is_real(x) && is_predicted(y)))
}

fn point(
    canvas: &mut Canvas,
    place: Place,
    look: Look,
    (name, label, x, y): (&str, &str, f64, f64),
) {
    let name = if label.is_empty() { name.to_owned() } else { format!("{label}, {name}") };
    canvas.marker(place, look, &format!("{name}: {} at {}", number(y), number(x)));
}

/// More labels than this have no leaders, which would hide the points.
const MANY_LABELS: usize = 24;
/// The distances of a label with a leader from its point.
const FAR: [f64; 5] = [20.0, 30.0, 42.0, 56.0, 72.0];

/// Writes each label beside its point where it is free, or farther away with a line to it. Of many labels, those without a
/// free place are shown while the pointer is over the point.
fn labels(canvas: &mut Canvas, plot: Plot, marks: &[(Place, &str)]) {
    let inside =
        Area { left: plot.left, right: canvas.width, top: plot.top - SIZE, bottom: plot.bottom };
    let points: Vec<Area> = marks.iter().map(|(place, _)| Area::around(*place, RADIUS)).collect();
    let is_free = |canvas: &Canvas, at: usize, area: &Area| {
        let others = points.iter().enumerate().filter(|(other, _)| *other != at);
        inside.contains(area)
            && others.into_iter().all(|(_, it)| !it.overlaps(area))
            && canvas.texts.iter().all(|it| !it.overlaps(area))
    };
    let labelled = || marks.iter().enumerate().filter(|(_, it)| !it.1.is_empty());
    let mut left_out = Vec::new();
    for (at, ((x, y), label)) in labelled() {
        let places = [
            ((x + 7.0, y + 4.0), Anchor::Start),
            ((x - 7.0, y + 4.0), Anchor::End),
            ((*x, y - 8.0), Anchor::Middle),
            ((*x, y + 16.0), Anchor::Middle),
            ((x + 6.0, y - 6.0), Anchor::Start),
            ((x - 6.0, y - 6.0), Anchor::End),
            ((x + 6.0, y + 14.0), Anchor::Start),
            ((x - 6.0, y + 14.0), Anchor::End),
        ];
        let free = places
            .into_iter()
            .find(|(place, anchor)| is_free(canvas, at, &Canvas::area(*place, *anchor, label)));
        match free {
            Some((place, anchor)) => canvas.text_on_top(place, anchor, label),
            None => left_out.push((at, (*x, *y), *label)),
        }
    }
    if labelled().count() > MANY_LABELS {
        return;
    }
    for (at, (x, y), label) in left_out {
        let turns = (0..16).map(|turn| f64::from(turn) * std::f64::consts::TAU / 16.0);
        let ways = FAR.iter().flat_map(|far| turns.clone().map(move |turn| (far, turn)));
        let mut places = ways.map(|(far, turn)| (x + far * turn.cos(), y + far * turn.sin()));
        let is_free = |place: &Place| {
            is_free(canvas, at, &Canvas::area((place.0, place.1 + 4.0), Anchor::Middle, label))
        };
        if let Some(place) = places.find(is_free) {
            let half = Canvas::area(place, Anchor::Middle, label).right - place.0;
            let near = (
                (x - place.0).clamp(-half, half) + place.0,
                place.1 + 5.0 * (y - place.1).signum(),
            );
            canvas.rule((x, y), near, true);
            canvas.text_on_top((place.0, place.1 + 4.0), Anchor::Middle, label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Axis;
    use sluicegate_costmodel::Provenance;

    #[test]
    fn a_label_within_a_crowd_has_a_leader() {
        let crowd = (0..80).map(|at| {
            let (row, column) = (f64::from(at / 10), f64::from(at % 10));
            (50.0 + column, 50.0 + row, String::new())
        });
        let mut points: Vec<(f64, f64, String)> = crowd.collect();
        points[45].2 = "Q44".to_owned();
        points.extend([(0.0, 0.0, String::new()), (100.0, 100.0, String::new())]);
        let chart = Chart {
            title: "t".to_owned(),
            x: Axis::linear("x"),
            y: Axis::linear("y"),
            marks: crate::chart::Marks::Points(Vec::new()),
            provenance: Provenance::Measured,
        };
        let series = [PointSeries { name: "all".to_owned(), points, is_published: false }];
        let mut canvas = Canvas::new(600.0);
        draw(&mut canvas, 0.0, &chart, &series);
        assert!(canvas.markup.into_string().contains(">Q44</text>"));
    }
}
