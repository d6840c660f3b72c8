//! What surrounds the marks: axes, their titles, and legends.

use super::super::look::Look;
use super::canvas::{Anchor, Canvas, LINE, Place, SIZE};
use super::scale::Scale;
use super::text;

/// The width of a mark in a legend, with the space behind it.
const MARK: f64 = 26.0;
/// The space behind an entry of a legend.
const GAP: f64 = 16.0;

/// The part of a picture in which the marks are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plot {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// The mark of an entry of a legend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Line,
    Point,
    Bar,
    /// The outline of a bar in the colour of text.
    Outline,
}

/// Writes lines of text below each other from this height on, and returns the height after them.
pub(super) fn lines(canvas: &mut Canvas, top: f64, text: &str) -> f64 {
    if text.is_empty() {
        return top;
    }
    let lines = text::wrap(text, SIZE, canvas.width);
    for (at, line) in (0_u32..).zip(&lines) {
        canvas.note((0.0, top + LINE * f64::from(at) + SIZE - 2.0), Anchor::Start, line);
    }
    top + LINE * lines.len() as f64 + 3.0
}

/// Writes a legend from this height on, and returns the height after it.
pub(super) fn legend(canvas: &mut Canvas, top: f64, entries: &[(&str, Look, Mark)]) -> f64 {
    let mut place: Place = (0.0, top + LINE - 4.0);
    for (name, look, mark) in entries {
        let lines = text::wrap(name, SIZE, canvas.width - MARK);
        let wide = MARK + text::widest(lines.iter().map(String::as_str), SIZE);
        if place.0 > 0.0 && place.0 + wide > canvas.width {
            place = (0.0, place.1 + LINE + 2.0);
        }
        let middle = (place.0 + 10.0, place.1 - 4.0);
        if *mark == Mark::Outline {
            canvas.outline([place.0 + 1.0, place.1 - 9.0, 18.0, 10.0]);
        } else {
            canvas.begin(*look);
            match mark {
                Mark::Line => {
                    canvas.line(
                        &[(place.0, middle.1), (place.0 + 20.0, middle.1)],
                        look.dashes(),
                        2.0,
                    );
                    canvas.marker(middle, *look, "");
                }
                Mark::Point => canvas.marker(middle, *look, ""),
                _ => canvas.bar([place.0 + 1.0, place.1 - 9.0, 18.0, 10.0], look.is_hollow(), ""),
            }
            canvas.end();
        }
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                place.1 += LINE;
            }
            canvas.text((place.0 + MARK, place.1), Anchor::Start, line);
        }
        place.0 += wide + GAP;
    }
    if entries.is_empty() { top } else { place.1 + 11.0 }
}

/// Returns the space that the labels of a vertical axis take.
pub(super) fn labels_width(scale: &Scale) -> f64 {
    text::widest(scale.ticks.iter().map(|(_, label)| label.as_str()), SIZE) + 8.0
}

/// Draws the horizontal axis below the plot: ticks, labels and the title. Returns the height after it.
pub(super) fn x_axis(canvas: &mut Canvas, plot: Plot, scale: &mut Scale, title: &str) -> f64 {
    scale.thin(|label| text::width(label, SIZE) + 10.0);
    canvas.rule((plot.left, plot.bottom), (plot.right, plot.bottom), true);
    for (value, label) in &scale.ticks {
        let x = scale.at(*value);
        canvas.rule((x, plot.bottom), (x, plot.bottom + 4.0), true);
        // A label at the edge of the picture is moved inwards.
        let half = text::width(label, SIZE) / 2.0;
        let middle = x.min(canvas.width - half).max(half);
        canvas.note((middle, plot.bottom + 17.0), Anchor::Middle, label);
    }
    x_title(canvas, plot.bottom + 22.0, plot, title)
}

/// Writes the title of the horizontal axis, at the right end of the plot. Returns the height after it.
pub(super) fn x_title(canvas: &mut Canvas, top: f64, plot: Plot, title: &str) -> f64 {
    let lines = text::wrap(title, SIZE, plot.right);
    let mut bottom = top;
    for line in lines.iter().filter(|line| !line.is_empty()) {
        canvas.note((plot.right, bottom + SIZE), Anchor::End, line);
        bottom += LINE;
    }
    bottom + 3.0
}

/// Draws the labels and the grid of a vertical axis.
pub(super) fn y_axis(canvas: &mut Canvas, plot: Plot, scale: &mut Scale) {
    scale.thin(|_| LINE);
    for (value, label) in &scale.ticks {
        let y = scale.at(*value);
        canvas.rule((plot.left, y), (plot.right, y), false);
        canvas.note((plot.left - 6.0, y + 4.0), Anchor::End, label);
    }
}

/// Draws the grid of a horizontal axis.
pub(super) fn x_grid(canvas: &mut Canvas, plot: Plot, scale: &Scale) {
    for (value, _) in &scale.ticks {
        let x = scale.at(*value);
        canvas.rule((x, plot.top), (x, plot.bottom), false);
    }
}
