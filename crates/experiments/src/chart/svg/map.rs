//! A map of the best strategy at each point of a grid.

use super::super::look::looks;
use super::super::{Chart, StrategyMap};
use super::canvas::{Anchor, Canvas, LINE, SIZE};
use super::frame::{Mark, Plot, legend, lines, x_title};
use super::gantt::distinct;
use super::number::number;
use super::text;

pub(super) fn draw(canvas: &mut Canvas, top: f64, chart: &Chart, map: &StrategyMap) {
    let names = distinct(map.best.iter().flatten().map(String::as_str));
    let looks = looks(names.iter().map(|&name| (name, false)));
    let entries: Vec<_> =
        names.iter().zip(&looks).map(|(name, look)| (*name, *look, Mark::Bar)).collect();
    let top = legend(canvas, top, &entries) + 4.0;
    let top = lines(canvas, top, &chart.y.title) + 2.0;
    let labels: Vec<String> = map.y.iter().map(|it| number(*it)).collect();
    let left = text::widest(labels.iter().map(String::as_str), SIZE) + 8.0;
    let columns = map.x.len().max(1) as f64;
    let wide = (canvas.width - left - 2.0) / columns;
    let high = (0.45 * canvas.width / map.y.len().max(1) as f64).clamp(18.0, 36.0);
    let bottom = top + high * map.y.len() as f64;
    let plot = Plot { left, right: canvas.width - 2.0, top, bottom };
    for (row, ((y, label), best)) in map.y.iter().zip(&labels).zip(&map.best).enumerate() {
        // The first value is at the bottom.
        let top = bottom - high * (row + 1) as f64;
        canvas.note((left - 6.0, top + high / 2.0 + 4.0), Anchor::End, label);
        for (column, (x, name)) in map.x.iter().zip(best).enumerate() {
            let place = names.iter().position(|it| it == name).unwrap_or(0);
            let area = [left + wide * column as f64 + 0.5, top + 0.5, wide - 1.0, high - 1.0];
            canvas.begin(looks[place]);
            canvas.bar(area, false, &format!("{name} at {} and {}", number(*x), number(*y)));
            canvas.end();
        }
    }
    for (row, column, run, name) in longest_runs(&map.best, &names) {
        let taken = text::width(name, SIZE);
        if taken + 10.0 < wide * run as f64 {
            let x = left + wide * (column as f64 + run as f64 / 2.0);
            let y = bottom - high * row as f64 - high / 2.0 + 4.0;
            canvas.plate((x, y), name);
        }
    }
    x_labels(canvas, plot, map, wide);
    canvas.height = x_title(canvas, bottom + 6.0 + LINE, plot, &chart.x.title);
}

/// Writes the powers of ten of the x axis if there are several, or else every value, or every second, third and so on,
/// so that there is space.
fn x_labels(canvas: &mut Canvas, plot: Plot, map: &StrategyMap, wide: f64) {
    let is_power = |it: f64| it > 0.0 && (it.log10() - it.log10().round()).abs() < 1e-6;
    let powers = map.x.iter().enumerate().filter(|(_, x)| is_power(**x));
    let powers: Vec<(usize, String)> = powers.map(|(at, x)| (at, number(*x))).collect();
    let needed = powers.iter().map(|(_, label)| text::width(label, SIZE) + 8.0);
    let apart = powers.windows(2).map(|pair| wide * (pair[1].0 - pair[0].0) as f64);
    if powers.len() > 2 && needed.fold(0.0, f64::max) <= apart.fold(f64::INFINITY, f64::min) {
        for (column, label) in &powers {
            x_label(canvas, plot, wide * (*column as f64 + 0.5), label);
        }
        return;
    }
    let labels: Vec<String> = map.x.iter().map(|it| number(*it)).collect();
    let is_free = |step: &usize| {
        let shown = labels.iter().step_by(*step).map(String::as_str);
        text::widest(shown, SIZE) + 8.0 <= wide * *step as f64
    };
    let step = (1..labels.len()).find(is_free).unwrap_or(labels.len().max(1));
    for (column, label) in labels.iter().enumerate().step_by(step) {
        x_label(canvas, plot, wide * (column as f64 + 0.5), label);
    }
}

/// Writes a label, which is moved inwards at the edge of the picture.
fn x_label(canvas: &mut Canvas, plot: Plot, from_left: f64, label: &str) {
    let half = text::width(label, SIZE) / 2.0;
    let middle = (plot.left + from_left).min(canvas.width - half);
    canvas.note((middle, plot.bottom + 16.0), Anchor::Middle, label);
}

/// Returns the row, the first column, and the length of the longest run of each name.
fn longest_runs<'a>(
    best: &[Vec<String>],
    names: &[&'a str],
) -> Vec<(usize, usize, usize, &'a str)> {
    let mut longest = Vec::new();
    for name in names {
        let mut found = (0, 0, 0, *name);
        for (row, cells) in best.iter().enumerate() {
            let mut column = 0;
            for run in cells.chunk_by(|one, next| one == next) {
                if run[0] == *name && run.len() > found.2 {
                    found = (row, column, run.len(), *name);
                }
                column += run.len();
            }
        }
        longest.push(found);
    }
    longest
}
