//! The picture of a plan: store, switch and client, and the rows that flow between them.

use std::time::Duration;

use sluicegate_costmodel::{Bytes, Requests, Rows};
use sluicegate_engine::choice::Decision;
use sluicegate_engine::plan_graph::{ExecutionSite, Flow, Operator, PlanGraph};

use super::rows::{Row, rows, tracks};
use super::strategies;
use crate::output::stats::{rows_words, seconds};
use sluicegate_experiments::Markup as Html;

/// Width of an arrow without bytes in pixels, and the increase for each factor of ten.
const NARROWEST: f64 = 1.5;
const FOR_TEN_TIMES: f64 = 1.7;
/// The most tracks that are drawn next to each other; a union of hundreds shares the last.
const MOST_TRACKS: usize = 10;
/// The maximum number of characters of a detail that a box shows before it is folded.
const SHOWN: usize = 150;

/// Returns the width of an arrow in pixels. It grows with the logarithm of the bytes, so that every factor of ten
/// adds the same amount.
pub(super) fn width(bytes: Bytes) -> f64 {
    NARROWEST + FOR_TEN_TIMES * (1.0 + bytes.as_f64()).log10()
}

/// A picture with the numbers of its operators.
#[derive(Debug, Clone, Copy)]
pub(super) struct GraphDrawing<'a> {
    pub(super) picture: &'a PlanGraph,
    pub(super) decisions: &'a [Decision],
    /// Description of the last operator's output.
    pub(super) answer: &'a str,
}

impl GraphDrawing<'_> {
    /// Returns the bytes that an operator sends over the link, if they are known.
    fn crossing(&self, operator: &Operator) -> Option<Bytes> {
        let Some(flow) = &operator.flow else {
            return Some(self.decision(operator)?.prediction()?.work.link);
        };
        match operator.place {
            ExecutionSite::Store => Some(Bytes(flow.asked?.link)),
            ExecutionSite::Switch => Some(Bytes(flow.wire?.bytes_out)),
            ExecutionSite::Client => None,
        }
    }

    fn decision(&self, operator: &Operator) -> Option<&Decision> {
        self.decisions.get(operator.decision?)
    }

    fn width_of(&self, operator: usize) -> f64 {
        let bytes = self.crossing(&self.picture.operators[operator]);
        bytes.map_or(NARROWEST, width)
    }

    /// Draws the picture, with the ways of each scan beside it.
    pub(super) fn draw(&self, html: &mut Html) {
        let rows = rows(self.picture);
        let Some(last) = rows.last() else { return };
        let places = |place| self.picture.operators.iter().any(|it| it.place == place);
        let (stores, switches) = (places(ExecutionSite::Store), places(ExecutionSite::Switch));
        html.raw("<div class=\"picture");
        html.raw(if switches { " switched" } else { "" });
        html.raw(if stores { "" } else { " local" });
        html.raw("\" style=\"--tracks:").number(tracks(&rows).min(MOST_TRACKS) as f64).raw("\">");
        html.raw("<div class=\"lanes\" aria-hidden=\"true\">");
        if stores {
            html.raw("<b class=\"store\">Store</b>");
        }
        if switches {
            html.raw("<b class=\"switch\">Switch</b>");
        }
        html.raw("<b class=\"client\">Client</b><b class=\"aside\">Ways, as predicted</b></div>");
        for row in &rows {
            self.row(html, row, switches);
        }
        html.raw("<div class=\"row end\">");
        self.track(html, "in", 0, last.puts_out());
        html.raw("<div class=\"cell client\"><div class=\"box answer\"><b>Answer</b> ");
        html.text(self.answer).raw("</div></div></div></div>");
        legend(html, self.picture.left_out);
    }

    fn row(&self, html: &mut Html, row: &Row, switches: bool) {
        let operator = &self.picture.operators[row.operator];
        let level = row.past.len();
        html.raw("<div class=\"row ").raw(class(operator.place));
        html.raw(if row.switch.is_some() { " through" } else { "" });
        html.raw("\" style=\"--level:").number(level.min(MOST_TRACKS - 1) as f64).raw("\">");
        for (track, from) in row.past.iter().enumerate() {
            self.track(html, "past", track, *from);
        }
        for (track, from) in row.inputs.iter().enumerate() {
            self.track(html, "in", level + track, *from);
        }
        self.track(html, "out", level, row.puts_out());
        if operator.place == ExecutionSite::Store {
            html.raw("<div class=\"cell store\">");
            self.operator(html, operator);
            html.raw("</div>");
            if switches {
                html.raw("<div class=\"cell switch\">");
                self.arrow(html, row.operator, true);
                if let Some(switch) = row.switch {
                    self.operator(html, &self.picture.operators[switch]);
                }
                html.raw("</div>");
            }
            html.raw("<div class=\"cell client\">");
            self.arrow(html, row.puts_out(), row.switch.is_some() || !switches);
            html.raw("</div>");
        } else {
            html.raw("<div class=\"cell client\">");
            self.operator(html, operator);
            html.raw("</div>");
        }
        html.raw("<div class=\"cell aside\">");
        if let Some(decision) = self.decision(operator) {
            strategies::table(html, decision);
            if let Some(asked) = operator.flow.as_ref().and_then(|flow| flow.asked) {
                html.raw("<p class=\"note\">Counted: ");
                html.text(Requests(asked.selects + asked.gets).in_words()).raw(", ");
                html.text(Bytes(asked.scanned)).raw(" scanned, ").text(Bytes(asked.link));
                html.raw(" over the link.</p>");
            }
        } else {
            shortened(html, &operator.detail);
        }
        for operator in [Some(row.operator), row.switch].into_iter().flatten() {
            metric_box(html, &self.picture.operators[operator]);
        }
        html.raw("</div></div>");
    }

    /// Draws a segment of a track, whose width shows the bytes on it.
    fn track(&self, html: &mut Html, how: &'static str, track: usize, from: usize) {
        html.raw("<i class=\"track ").raw(how);
        if self.crossing(&self.picture.operators[from]).is_some() {
            html.raw(" crossed");
        }
        html.raw("\" style=\"--at:").number(track.min(MOST_TRACKS - 1) as f64);
        html.raw(";--w:").number(self.width_of(from)).raw("px\"></i>");
    }

    /// Draws the arrow across a lane, with its bytes if it begins there.
    fn arrow(&self, html: &mut Html, from: usize, begins: bool) {
        let operator = &self.picture.operators[from];
        html.raw("<div class=\"arrow");
        html.raw(if self.crossing(operator).is_some() { " crossed" } else { "" });
        html.raw("\" style=\"--w:").number(self.width_of(from)).raw("px\">");
        if let Some(bytes) = self.crossing(operator).filter(|_| begins) {
            html.raw("<span class=\"bytes\">").text(bytes).raw("</span>");
        }
        html.raw("<i class=\"line\"></i></div>");
    }

    fn operator(&self, html: &mut Html, operator: &Operator) {
        html.raw("<div class=\"box ").raw(class(operator.place)).raw("\"><b>");
        match &operator.subject {
            Some(subject) => html.text(short_subject(subject)),
            None => html.text(&operator.title),
        };
        html.raw("</b>");
        let decision = self.decision(operator);
        if let Some(strategy) = decision.and_then(Decision::strategy) {
            html.raw(" <span class=\"strategy\">").text(strategy).raw("</span>");
        }
        if let Some(subject) = &operator.subject {
            html.raw("<small>").text(&operator.title).raw(": ").text(subject).raw("</small>");
        }
        match (&operator.flow, decision.and_then(Decision::prediction)) {
            (Some(flow), _) => counted(html, flow),
            (None, Some(way)) => request_box(html, way.work.requests.total(), way.work.scanned),
            (None, None) => {}
        }
        html.raw("</div>");
    }
}

fn request_box(html: &mut Html, requests: Requests, scanned: Bytes) {
    html.raw("<small>").text(requests.in_words());
    if scanned > Bytes::ZERO {
        html.raw(", ").text(scanned).raw(" scanned");
    }
    html.raw("</small>");
}

/// Writes the counts of an operator that ran.
fn counted(html: &mut Html, flow: &Flow) {
    if let Some(it) = flow.asked {
        request_box(html, Requests(it.selects + it.gets), Bytes(it.scanned));
        if it.fallbacks > 0 {
            html.raw("<small>").text(it.fallbacks).raw(" × read here after all</small>");
        }
    }
    if let Some(wire) = flow.wire {
        html.raw("<small>").text(Rows(wire.packets_in)).raw(" → ").text(Rows(wire.packets_out));
        html.raw(" packets</small>");
        return;
    }
    let Some(rows) = flow.rows else { return };
    html.raw("<small>").text(rows_words(rows));
    if flow.asked.is_none() && flow.computing >= Duration::from_millis(1) {
        html.raw(", computed for ").text(seconds(flow.computing));
    }
    html.raw("</small>");
}

/// Writes the descriptions that an operator reported while it ran.
fn metric_box(html: &mut Html, operator: &Operator) {
    for (what, text) in operator.flow.iter().flat_map(|flow| &flow.said) {
        html.raw("<div class=\"said\"><b>").text(what).raw("</b>");
        shortened(html, text);
        html.raw("</div>");
    }
}

fn class(place: ExecutionSite) -> &'static str {
    match place {
        ExecutionSite::Store => "store",
        ExecutionSite::Switch => "switch",
        ExecutionSite::Client => "client",
    }
}

/// Returns the name that users give a table: the folder of its objects, or its only object.
fn short_subject(subject: &str) -> &str {
    let (object, more) = match subject.split_once(" and ") {
        Some((object, _)) => (object, true),
        None => (subject, false),
    };
    let mut parts = object.rsplit('/').filter(|part| !part.is_empty());
    let name = parts.next().unwrap_or(object);
    if more { parts.next().unwrap_or(name) } else { name }
}

/// Writes a text. If it is long, only its beginning is shown until the reader opens it.
pub(super) fn shortened(html: &mut Html, text: &str) {
    if text.is_empty() {
        return;
    }
    match text.char_indices().nth(SHOWN) {
        None => html.raw("<p class=\"detail\"><code>").text(text).raw("</code></p>"),
        Some((end, _)) => {
            html.raw("<details class=\"detail\"><summary><code>").text(&text[..end]);
            html.raw("…</code></summary><code>").text(text).raw("</code></details>")
        }
    };
}

fn legend(html: &mut Html, left_out: usize) {
    html.raw("<p class=\"legend\"><span>Bytes that cross:</span>");
    for bytes in [Bytes(1 << 10), Bytes(1 << 20), Bytes(1 << 30)] {
        html.raw("<span><i class=\"sample\" style=\"--w:").number(width(bytes)).raw("px\"></i>");
        html.text(bytes).raw("</span>");
    }
    html.raw("<span><i class=\"sample within\" style=\"--w:").number(NARROWEST);
    html.raw("px\"></i>within the client</span>");
    match left_out {
        0 => {}
        1 => {
            html.raw("<span>1 node of the plan only hands rows on and is not drawn</span>");
        }
        _ => {
            html.raw("<span>").text(left_out);
            html.raw(" nodes of the plan only hand rows on and are not drawn</span>");
        }
    }
    html.raw("</p>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_are_wider_for_more_bytes_and_equally_so_for_each_factor() {
        let widths: Vec<f64> = (0..60).map(|bits| width(Bytes(1 << bits))).collect();
        assert!(widths.windows(2).all(|pair| pair[0] < pair[1]), "{widths:?}");
        let step = |exponent: u32| {
            width(Bytes(10_u64.pow(exponent + 1))) - width(Bytes(10_u64.pow(exponent)))
        };
        assert!((step(6) - step(12)).abs() < 1e-3);
        assert!((width(Bytes::ZERO) - NARROWEST).abs() < 1e-9);
    }

    #[test]
    fn a_table_is_called_as_its_folder_or_its_object() {
        for (subject, name) in [
            ("s3://b/t.csv", "t.csv"),
            ("s3://b/tpch/orders/0.csv and 3 more", "orders"),
            ("s3://b/0.csv and 3 more", "b"),
            ("no object in s3://b", "b"),
            ("", ""),
        ] {
            assert_eq!(short_subject(subject), name);
        }
    }
}
