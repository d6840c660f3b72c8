//! Horizontal bars, beside or behind each other.

use super::super::look::{Look, is_published, looks, named};
use super::super::{Bar, Chart};
use super::canvas::{Anchor, Canvas, LINE, SIZE};
use super::frame::{Mark, Plot, legend, lines, x_axis, x_grid};
use super::number::number;
use super::scale::Scale;
use super::text;

/// The space between bars, those with a part of the name in common, and other groups.
const GAPS: [f64; 3] = [10.0, 3.0, 13.0];

/// The start of the title of an axis of ratios.
const RATIO: &str = "times";

/// The bars of a chart.
pub(super) struct Bars<'a> {
    pub(super) parts: &'a [String],
    pub(super) bars: &'a [Bar],
    pub(super) is_stacked: bool,
}

pub(super) fn draw(canvas: &mut Canvas, top: f64, chart: &Chart, bars: &Bars<'_>) {
    let looks = bars.looks();
    let thick = if bars.rows() == 1 { 17.0 } else { 13.0 };
    let names: Vec<Vec<String>> =
        bars.bars.iter().map(|bar| text::wrap(&bar.name, SIZE, 0.34 * canvas.width)).collect();
    let mut top = top;
    if bars.parts.len() > 1 {
        let entries = bars.parts.iter().zip(&looks[..]);
        let entries: Vec<_> =
            entries.map(|(part, look)| (part.as_str(), look[0], Mark::Bar)).collect();
        top = legend(canvas, top, &entries) + 4.0;
    }
    let mut top = lines(canvas, top, &chart.y.title);
    let start = top + 2.0;
    let mut rows = Vec::new();
    let mut before: Option<&Bar> = None;
    for (bar, name) in bars.bars.iter().zip(&names) {
        let high = (thick * bars.rows() as f64).max(LINE * name.len() as f64);
        top += before.map_or(GAPS[0] / 2.0, |before| gap(&before.name, &bar.name));
        rows.push((bar, name, top, high));
        top += high;
        before = Some(bar);
    }
    top += GAPS[0] / 2.0;
    let values = bars.ends();
    let ends = || values.iter().map(|it| number(*it));
    let label = match bars.are_shares() {
        // The last tick is at the end.
        true => 8.0,
        false => ends().map(|it| text::width(&it, SIZE)).fold(0.0, f64::max),
    };
    let names = names.iter().flatten().map(String::as_str);
    let plot = Plot {
        left: text::widest(names, SIZE) + 8.0,
        right: canvas.width - label - 8.0,
        top: start,
        bottom: top,
    };
    // A stack has no meaning on a logarithmic axis.
    let is_logarithmic = chart.x.is_logarithmic && !bars.is_stacked;
    let zero = (!is_logarithmic).then_some(0.0);
    // Bars of ratios start where both are equal.
    let is_ratio = is_logarithmic && chart.x.title.starts_with(RATIO);
    let one = is_ratio.then_some(1.0);
    let ends = values.iter().copied().chain(zero).chain(one);
    let mut x = Scale::new(ends, is_logarithmic, true, [plot.left, plot.right]);
    let origin = x.at(if is_ratio { 1.0 } else { 0.0 });
    let bottom = x_axis(canvas, plot, &mut x, &chart.x.title);
    x_grid(canvas, plot, &x);
    for (place, (bar, name, top, high)) in rows.into_iter().enumerate() {
        let first = top + high / 2.0 - LINE * name.len() as f64 / 2.0 + LINE - 4.0;
        for (at, line) in (0_u32..).zip(name) {
            canvas.text((plot.left - 7.0, first + LINE * f64::from(at)), Anchor::End, line);
        }
        let top = top + (high - thick * bars.rows() as f64) / 2.0;
        let looks = |part: usize| looks[part][place];
        bars.draw(canvas, bar, (top, thick), (&x, origin), looks);
    }
    canvas.rule((origin, plot.top), (origin, plot.bottom), true);
    canvas.height = bottom;
}

/// Returns the space between two bars. Names such as `1e-7, index` and `1e-7, S3-side` make a group.
fn gap(before: &str, name: &str) -> f64 {
    match (before.split_once(", "), name.split_once(", ")) {
        (Some((group, item)), Some((other, next))) if group == other || item == next => GAPS[1],
        (None, None) => GAPS[0],
        _ => GAPS[2],
    }
}

impl Bars<'_> {
    /// Returns the number of rows that a bar takes.
    const fn rows(&self) -> usize {
        if self.is_stacked || self.parts.is_empty() { 1 } else { self.parts.len() }
    }

    /// Returns the values at the ends of bars.
    fn ends(&self) -> Vec<f64> {
        let finite = |it: &&f64| it.is_finite();
        match self.is_stacked {
            true => self.bars.iter().map(|bar| bar.lengths.iter().filter(finite).sum()).collect(),
            false => self.bars.iter().flat_map(|bar| bar.lengths.clone()).collect(),
        }
    }

    /// Returns true if all bars are the whole of something, so that their totals have nothing to say.
    fn are_shares(&self) -> bool {
        let is_whole = |total: f64| (total - 1.0).abs() < 1e-6;
        self.is_stacked && self.parts.len() > 1 && self.ends().into_iter().all(is_whole)
    }

    /// Returns the look of each part in each bar. Bars of a single part that are named like series have the colours of
    /// these.
    fn looks(&self) -> Vec<Vec<Look>> {
        let of_parts = looks(self.parts.iter().map(|part| (part.as_str(), false)));
        if self.parts.len() == 1 && self.bars.iter().all(|bar| named(&bar.name).is_some()) {
            return vec![looks(self.bars.iter().map(|bar| (bar.name.as_str(), false)))];
        }
        let of_bar = |look: &Look, bar: &Bar| Look {
            is_published: look.is_published || is_published(&bar.name),
            ..*look
        };
        let of_part = |look: &Look| self.bars.iter().map(|bar| of_bar(look, bar)).collect();
        of_parts.iter().map(of_part).collect()
    }

    fn draw(
        &self,
        canvas: &mut Canvas,
        bar: &Bar,
        (top, thick): (f64, f64),
        (x, origin): (&Scale, f64),
        look: impl Fn(usize) -> Look,
    ) {
        let mut total = 0.0;
        for (part, length) in bar.lengths.iter().enumerate().take(self.parts.len()) {
            if !length.is_finite() {
                continue;
            }
            let row = if self.is_stacked { 0 } else { part };
            let top = top + thick * row as f64 + 1.0;
            let from = if self.is_stacked { x.at(total) } else { origin };
            let to = x.at(total + length);
            let look = look(part);
            canvas.begin(look);
            let hint = format!("{}, {}: {}", bar.name, self.parts[part], number(*length));
            canvas.bar(
                [from.min(to), top, (to - from).abs(), thick - 2.0],
                look.is_hollow(),
                &hint,
            );
            canvas.end();
            if self.is_stacked {
                total += length;
            } else {
                let place = (to.max(origin) + 5.0, top + thick / 2.0 + 3.0);
                canvas.note(place, Anchor::Start, &number(*length));
            }
        }
        if self.is_stacked && !self.are_shares() {
            let place = (x.at(total) + 5.0, top + thick / 2.0 + 4.0);
            canvas.note(place, Anchor::Start, &number(total));
        }
    }
}
