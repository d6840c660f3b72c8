//! The elements of a picture.

use super::super::look::Look;
use super::text;
use crate::markup::Markup;

/// The size of text, in points.
pub(super) const SIZE: f64 = 12.0;
/// The distance of lines of text.
pub(super) const LINE: f64 = 15.0;

/// A place, x before y.
pub(super) type Place = (f64, f64);

/// The end of a text that is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A rectangle that is taken by a text or a mark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    /// The area around a place.
    pub(super) const fn around(place: Place, radius: f64) -> Self {
        Self {
            left: place.0 - radius,
            top: place.1 - radius,
            right: place.0 + radius,
            bottom: place.1 + radius,
        }
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    pub(super) fn contains(&self, other: &Self) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && self.right >= other.right
            && self.bottom >= other.bottom
    }
}

/// A picture under construction. Colours are `currentColor` within groups that have the class and the colour of a
/// series, so that a style sheet can replace them.
#[derive(Debug, Clone, Default)]
pub(super) struct Canvas {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) markup: Markup,
    /// The areas of all texts.
    pub(super) texts: Vec<Area>,
}

impl Canvas {
    pub(super) fn new(width: f64) -> Self {
        Self { width, ..Self::default() }
    }

    /// Returns the area that a text takes. The place is on its base line.
    pub(super) fn area(place: Place, anchor: Anchor, text: &str) -> Area {
        let wide = text::width(text, SIZE);
        let left = match anchor {
            Anchor::Start => place.0,
            Anchor::Middle => place.0 - wide / 2.0,
            Anchor::End => place.0 - wide,
        };
        Area { left, right: left + wide, top: place.1 - 0.8 * SIZE, bottom: place.1 + 0.25 * SIZE }
    }

    /// Writes a line of text.
    pub(super) fn text(&mut self, place: Place, anchor: Anchor, text: &str) {
        self.write(place, anchor, text, "<text");
    }

    /// Writes a line of text in grey.
    pub(super) fn note(&mut self, place: Place, anchor: Anchor, text: &str) {
        self.write(place, anchor, text, "<text class=\"muted\" color=\"#59636e\"");
    }

    /// Writes a line of text with a margin in the colour of the page, so that it can be read on top of marks.
    pub(super) fn text_on_top(&mut self, place: Place, anchor: Anchor, text: &str) {
        self.write(place, anchor, text, "<text class=\"over\"");
    }

    /// Writes a line of text on a plate in the colour of the page.
    pub(super) fn plate(&mut self, place: Place, text: &str) {
        let area = Self::area(place, Anchor::Middle, text);
        self.markup.raw("<rect class=\"page\" fill=\"#fff\" rx=\"3\"");
        self.markup.attribute("x", area.left - 2.0).attribute("y", area.top - 2.0);
        self.markup.attribute("width", area.right - area.left + 4.0);
        self.markup.attribute("height", area.bottom - area.top + 4.0).raw("/>");
        self.text(place, Anchor::Middle, text);
    }

    /// Writes a title.
    pub(super) fn title(&mut self, place: Place, text: &str) {
        self.write(place, Anchor::Start, text, "<text class=\"title\" font-weight=\"600\"");
    }

    fn write(&mut self, place: Place, anchor: Anchor, text: &str, open: &'static str) {
        if text.is_empty() {
            return;
        }
        let end = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        self.markup.raw(open).attribute("x", place.0).attribute("y", place.1).raw(end).raw(">");
        self.markup.text(text).raw("</text>");
        self.texts.push(Self::area(place, anchor, text));
    }

    /// Draws a thin line of an axis or the grid.
    pub(super) fn rule(&mut self, from: Place, to: Place, is_axis: bool) {
        self.markup.raw(match is_axis {
            true => "<line class=\"axis\" stroke=\"currentColor\" stroke-opacity=\".45\"",
            false => "<line class=\"grid\" stroke=\"currentColor\" stroke-opacity=\".12\"",
        });
        self.markup.attribute("x1", from.0).attribute("y1", from.1);
        self.markup.attribute("x2", to.0).attribute("y2", to.1).raw("/>");
    }

    /// Begins the marks of a series.
    pub(super) fn begin(&mut self, look: Look) {
        let colour = look.colour();
        self.markup.raw("<g class=\"").raw(colour.class).raw("\" color=\"").raw(colour.light);
        self.markup.raw("\">");
    }

    /// Ends the marks of a series.
    pub(super) fn end(&mut self) {
        self.markup.raw("</g>");
    }

    /// Draws a line through places.
    pub(super) fn line(&mut self, places: &[Place], dashes: &'static str, width: f64) {
        self.markup.raw("<path fill=\"none\" stroke=\"currentColor\" stroke-linejoin=\"round\"");
        self.markup.attribute("stroke-width", width);
        if !dashes.is_empty() {
            self.markup.raw(" stroke-dasharray=\"").raw(dashes).raw("\"");
        }
        self.path(places);
        self.markup.raw("\"/>");
    }

    /// Fills the area within places, so that lines below can be seen.
    pub(super) fn band(&mut self, places: &[Place]) {
        self.markup.raw("<path fill=\"currentColor\" fill-opacity=\".16\" stroke=\"none\"");
        self.path(places);
        self.markup.raw("Z\"/>");
    }

    fn path(&mut self, places: &[Place]) {
        self.markup.raw(" d=\"");
        for (at, place) in places.iter().enumerate() {
            self.markup.raw(if at == 0 { "M" } else { "L" }).number(place.0).raw(" ");
            self.markup.number(place.1);
        }
    }

    /// Draws a bar; a hollow one has an outline. The text is shown while the pointer is over it.
    pub(super) fn bar(&mut self, [left, top, wide, high]: [f64; 4], is_hollow: bool, hint: &str) {
        self.markup.raw("<rect").attribute("x", left).attribute("y", top);
        self.markup.attribute("width", wide.max(0.0)).attribute("height", high);
        self.markup.raw(match is_hollow {
            true => {
                " fill=\"currentColor\" fill-opacity=\".28\" stroke=\"currentColor\" stroke-dasharray=\"5 3\">"
            }
            false => " fill=\"currentColor\">",
        });
        self.hint(hint);
        self.markup.raw("</rect>");
    }

    /// Draws the outline of a rectangle in the colour of text.
    pub(super) fn outline(&mut self, [left, top, wide, high]: [f64; 4]) {
        self.markup
            .raw("<rect class=\"outline\" fill=\"none\" stroke=\"#1c2128\"")
            .attribute("x", left);
        self.markup.attribute("y", top).attribute("width", wide).attribute("height", high);
        self.markup.raw("/>");
    }

    /// Draws a marker, whose shape is that of its colour.
    pub(super) fn marker(&mut self, place: Place, look: Look, hint: &str) {
        const RADIUS: f64 = 3.4;
        let (x, y) = place;
        let fill = match look.is_hollow() {
            true => " class=\"hollow\" fill=\"#fff\" stroke=\"currentColor\" stroke-width=\"1.5\"",
            false => " fill=\"currentColor\"",
        };
        let r = RADIUS;
        let corners: &[Place] = match look.colour {
            1 => &[(-r, -r), (r, -r), (r, r), (-r, r)],
            2 => &[(0.0, -1.3 * r), (1.2 * r, r), (-1.2 * r, r)],
            3 => &[(0.0, -1.4 * r), (1.4 * r, 0.0), (0.0, 1.4 * r), (-1.4 * r, 0.0)],
            4 => &[(0.0, 1.3 * r), (1.2 * r, -r), (-1.2 * r, -r)],
            5 => &[
                (-1.5 * r, -0.5 * r),
                (1.5 * r, -0.5 * r),
                (1.5 * r, 0.5 * r),
                (-1.5 * r, 0.5 * r),
            ],
            6 => &[
                (-0.5 * r, -1.5 * r),
                (0.5 * r, -1.5 * r),
                (0.5 * r, 1.5 * r),
                (-0.5 * r, 1.5 * r),
            ],
            _ => &[],
        };
        if corners.is_empty() {
            self.markup.raw("<circle").raw(fill).attribute("cx", x).attribute("cy", y);
            self.markup.attribute("r", r).raw(">");
            self.hint(hint);
            self.markup.raw("</circle>");
            return;
        }
        let corners: Vec<Place> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        self.markup.raw("<path").raw(fill);
        self.path(&corners);
        self.markup.raw("Z\">");
        self.hint(hint);
        self.markup.raw("</path>");
    }

    fn hint(&mut self, text: &str) {
        if !text.is_empty() {
            self.markup.raw("<title>").text(text).raw("</title>");
        }
    }
}
