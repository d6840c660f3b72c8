//! Tasks over time.

use super::super::look::looks;
use super::super::{Chart, Task};
use super::canvas::{Anchor, Canvas, LINE, SIZE};
use super::frame::{Mark, Plot, legend, lines, x_axis, x_grid};
use super::number::number;
use super::scale::Scale;
use super::text;

/// The height of a series in a row, and of its bars.
const LANE: f64 = 17.0;
const THICK: f64 = 10.0;
/// The space between the rows of tasks.
const GAP: f64 = 8.0;
/// The distance of an outline from its bar. The colour of the page is between both, so that each can be told from it.
const AROUND: f64 = 2.6;

pub(super) fn draw(canvas: &mut Canvas, top: f64, chart: &Chart, tasks: &[Task]) {
    let series = distinct(tasks.iter().map(|task| task.series.as_str()));
    let looks = looks(series.iter().map(|&name| (name, false)));
    let mut entries: Vec<_> = Vec::new();
    if series.len() > 1 {
        entries.extend(series.iter().zip(&looks).map(|(name, look)| (*name, *look, Mark::Bar)));
    }
    if let Some(look) = looks.first().filter(|_| tasks.iter().any(|task| task.is_critical)) {
        entries.push(("on the critical path", *look, Mark::Outline));
    }
    let top = legend(canvas, top, &entries) + 2.0;
    let mut top = lines(canvas, top, &chart.y.title);
    let start = top;
    let names = distinct(tasks.iter().map(|task| task.name.as_str()));
    let wrapped: Vec<Vec<String>> =
        names.iter().map(|name| text::wrap(name, SIZE, 0.3 * canvas.width)).collect();
    let mut rows = Vec::new();
    for (name, lines) in names.iter().zip(&wrapped) {
        let own = tasks.iter().filter(|task| task.name == *name);
        let lanes = distinct(own.map(|task| task.series.as_str()));
        let high = (LANE * lanes.len() as f64).max(LINE * lines.len() as f64);
        rows.push((*name, lines, lanes, top + GAP / 2.0, high));
        top += high + GAP;
    }
    let duration = |task: &Task| number(task.span[1] - task.span[0]);
    let label = tasks.iter().map(|it| text::width(&duration(it), SIZE)).fold(0.0, f64::max);
    let plot = Plot {
        left: text::widest(wrapped.iter().flatten().map(String::as_str), SIZE) + 8.0 + AROUND,
        right: canvas.width - label - 8.0 - AROUND,
        top: start,
        bottom: top,
    };
    let ends = tasks.iter().flat_map(|task| task.span).chain([0.0]);
    let mut x = Scale::new(ends, chart.x.is_logarithmic, true, [plot.left, plot.right]);
    let bottom = x_axis(canvas, plot, &mut x, &chart.x.title);
    x_grid(canvas, plot, &x);
    let mut outlines = Vec::new();
    for (name, lines, lanes, top, high) in rows {
        let first = top + high / 2.0 - LINE * lines.len() as f64 / 2.0 + LINE - 4.0;
        for (at, line) in (0_u32..).zip(lines) {
            canvas.text(
                (plot.left - 7.0 - AROUND, first + LINE * f64::from(at)),
                Anchor::End,
                line,
            );
        }
        for (lane, series_name) in (0_u32..).zip(lanes) {
            let top = top + LANE * f64::from(lane);
            let mut own: Vec<&Task> = tasks
                .iter()
                .filter(|it| it.name == name && it.series == series_name)
                .filter(|it| it.span.iter().all(|end| end.is_finite()))
                .collect();
            own.sort_by(|one, other| one.span[0].total_cmp(&other.span[0]));
            let place = series.iter().position(|it| *it == series_name).unwrap_or(0);
            for task in &own {
                let [from, to] = task.span.map(|end| x.at(end));
                let area = [from, top + (LANE - THICK) / 2.0, (to - from).max(1.0), THICK];
                let hint = format!(
                    "{name}, {series_name}: {} to {}",
                    number(task.span[0]),
                    number(task.span[1])
                );
                canvas.begin(looks[place]);
                canvas.bar(area, looks[place].is_hollow(), &hint);
                canvas.end();
                if task.is_critical {
                    outlines.push(around(area));
                }
            }
            // The length of the last task is beside it, where nothing follows.
            if let Some(last) = own.last() {
                let at = (x.at(last.span[1]) + AROUND + 4.0, top + LANE / 2.0 + 4.0);
                canvas.note(at, Anchor::Start, &duration(last));
            }
        }
    }
    // Outlines are above all bars.
    outlines.into_iter().for_each(|area| canvas.outline(area));
    canvas.rule((plot.left, plot.top), (plot.left, plot.bottom), true);
    canvas.height = bottom;
}

/// Returns the outline of a bar.
const fn around([left, top, wide, high]: [f64; 4]) -> [f64; 4] {
    [left - AROUND, top - AROUND, wide + 2.0 * AROUND, high + 2.0 * AROUND]
}

/// Returns the different names, in order.
pub(super) fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outline on a bar had too little contrast with the bar's colour.
    #[test]
    fn an_outline_has_the_page_between_it_and_its_bar_and_stays_in_its_lane() {
        let bar = [100.0, (LANE - THICK) / 2.0, 40.0, THICK];
        let [left, top, wide, high] = around(bar);
        // Half of the stroke is within the outline.
        const STROKE: f64 = 1.6;
        assert!(bar[0] - left - STROKE / 2.0 > 1.5 && bar[1] - top - STROKE / 2.0 > 1.5);
        assert!(top - STROKE / 2.0 >= 0.0 && top + high + STROKE / 2.0 <= LANE);
        assert!((left + wide - 140.0 - AROUND).abs() < 1e-9);
    }
}
