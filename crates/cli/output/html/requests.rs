//! The timeline of requests.

use std::cmp::Reverse;
use std::time::Duration;

use sluicegate_costmodel::{Bytes, Requests};
use sluicegate_engine::counters::RequestKind;
use sluicegate_engine::timeline::{AggregatedRequests, RequestLog, TimedRequest};

use crate::output::stats::seconds;
use sluicegate_experiments::Markup as Html;

/// The kinds of requests in the order of the table, with the name and the colour class of each.
const KINDS: [(RequestKind, &str, &str); 5] = [
    (RequestKind::Select, "SELECT", "k1"),
    (RequestKind::Get, "GET", "k0"),
    (RequestKind::List, "LIST", "k3"),
    (RequestKind::Head, "HEAD", "k5"),
    (RequestKind::Put, "PUT", "k4"),
];
/// The maximum number of lines of the drawing. If more requests are in flight at once, they share the last line.
const MOST_LINES: usize = 48;
/// Units of the drawing: its width, and the height of a line.
const ACROSS: f64 = 1000.0;
const DOWN: f64 = 9.0;
/// The maximum number of requests in the list.
const LISTED: usize = 100;
/// The most marks on the axis.
const MARKS: f64 = 5.0;

/// Draws the time of each request, and the number of requests of each kind.
pub(super) fn timeline(html: &mut Html, recorded: &RequestLog) {
    html.raw("<h3>Requests in time</h3>");
    let Some(end) = recorded.requests.iter().map(|it| it.start + it.took).max() else {
        html.raw("<p class=\"about\">No request was sent.</p>");
        return;
    };
    html.raw("<p class=\"about\">Counted and measured, from sending a request to the end of its ");
    html.raw("answer.");
    if let Some(planned) = recorded.planned {
        html.raw(" The plan was ready after ").text(seconds(planned));
        html.raw("; what was asked before was asked to make it.");
    }
    html.raw("</p>");
    drawing(html, recorded, end);
    sums(html, recorded);
    list(html, recorded);
}

fn drawing(html: &mut Html, recorded: &RequestLog, end: Duration) {
    let all = end.as_secs_f64().max(1e-6);
    let x = |time: Duration| ACROSS * time.as_secs_f64() / all;
    let lines = lines(&recorded.requests);
    let down = lines.iter().max().map_or(1, |last| last + 1) as f64 * DOWN;
    html.raw("<div class=\"times\"><svg role=\"img\" aria-label=\"Requests in time\" ");
    html.raw("preserveAspectRatio=\"none\" viewBox=\"0 0 ").number(ACROSS).raw(" ").number(down);
    html.raw("\" style=\"height:").number(down.max(3.0 * DOWN)).raw("px\">");
    if let Some(planned) = recorded.planned {
        html.raw("<rect class=\"planning\" x=\"0\" y=\"0\" width=\"");
        html.number(x(planned).min(ACROSS)).raw("\" height=\"").number(down).raw("\"></rect>");
    }
    for (request, line) in recorded.requests.iter().zip(lines) {
        let (_, name, class) = kind(request.kind);
        html.raw("<rect class=\"").raw(class).raw("\" x=\"").number(x(request.start));
        html.raw("\" y=\"").number(line as f64 * DOWN + 1.0).raw("\" width=\"");
        html.number(x(request.took).max(1.5)).raw("\" height=\"").number(DOWN - 2.0);
        html.raw("\"><title>").raw(name).raw(" ").text(&request.object).raw(", ");
        html.text(Bytes(request.bytes)).raw(", ").text(seconds(request.took));
        html.raw("</title></rect>");
    }
    html.raw("</svg><div class=\"axis\" aria-hidden=\"true\">");
    let step = step(all);
    let mut mark = 0.0;
    // The last label needs space before the right edge.
    while mark <= all * 0.95 {
        html.raw("<span style=\"left:").number(100.0 * mark / all).raw("%\">");
        html.text(label(mark, step)).raw("</span>");
        mark += step;
    }
    html.raw("</div></div>");
}

/// Returns the line of each request: the first that is free when the request begins.
fn lines(requests: &[TimedRequest]) -> Vec<usize> {
    let mut by_start: Vec<usize> = (0..requests.len()).collect();
    by_start.sort_by_key(|index| requests[*index].start);
    let mut free_from: Vec<Duration> = Vec::new();
    let mut lines = vec![0; requests.len()];
    for index in by_start {
        let request = &requests[index];
        let line = match free_from.iter().position(|free| *free <= request.start) {
            Some(line) => line,
            None if free_from.len() < MOST_LINES => {
                free_from.push(Duration::ZERO);
                free_from.len() - 1
            }
            None => MOST_LINES - 1,
        };
        free_from[line] = free_from[line].max(request.start + request.took);
        lines[index] = line;
    }
    lines
}

/// Returns the seconds between two marks: one, two or five times a power of ten.
fn step(all: f64) -> f64 {
    let least = all / MARKS;
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|by| by * power);
    steps.into_iter().find(|step| *step >= least * 0.999).unwrap_or(all)
}

fn label(mark: f64, step: f64) -> String {
    match step {
        step if step < 0.999e-3 => format!("{:.0} µs", mark * 1e6),
        step if step < 0.999 => format!("{:.0} ms", mark * 1e3),
        _ => format!("{mark:.0} s"),
    }
}

fn kind(kind: RequestKind) -> (RequestKind, &'static str, &'static str) {
    KINDS.into_iter().find(|known| known.0 == kind).unwrap_or(KINDS[1])
}

fn sums(html: &mut Html, recorded: &RequestLog) {
    html.raw("<table class=\"sums\"><tbody>");
    let mut all = AggregatedRequests::default();
    for (kind, name, class) in KINDS {
        let sum = recorded.sum(kind);
        if sum.requests == 0 {
            continue;
        }
        all.requests += sum.requests;
        all.bytes += sum.bytes;
        html.raw("<tr><th scope=\"row\"><i class=\"swatch ").raw(class).raw("\"></i>").raw(name);
        row(html, sum);
    }
    html.raw("<tr class=\"total\"><th scope=\"row\">total");
    row(html, all);
    html.raw("</tbody></table>");
    let drawn: u64 = recorded.requests.iter().map(|it| it.requests).sum();
    if drawn < all.requests {
        html.raw("<p class=\"note\">The first ").text(Requests(drawn).in_words());
        html.raw(" are drawn; the table has all.</p>");
    }
}

fn row(html: &mut Html, sum: AggregatedRequests) {
    html.raw("<td>").text(Requests(sum.requests).in_words()).raw("<td>").text(Bytes(sum.bytes));
}

/// Lists the longest requests, for readers who cannot use a pointer.
fn list(html: &mut Html, recorded: &RequestLog) {
    let mut longest: Vec<_> = recorded.requests.iter().collect();
    longest.sort_by_key(|request| Reverse(request.took));
    html.raw("<details><summary>");
    match longest.len() {
        all if all > LISTED => html.raw("The longest ").text(LISTED).raw(" requests"),
        _ => html.raw("The requests, the longest first"),
    };
    longest.truncate(LISTED);
    html.raw("</summary><div class=\"wide\"><table class=\"list\"><thead><tr>");
    for heading in ["kind", "from", "took", "bytes", "object"] {
        html.raw("<th scope=\"col\">").raw(heading);
    }
    html.raw("</thead><tbody>");
    for request in longest {
        html.raw("<tr><td>").raw(kind(request.kind).1);
        if request.requests > 1 {
            html.raw(" × ").text(request.requests);
        }
        html.raw("<td>").text(seconds(request.start)).raw("<td>").text(seconds(request.took));
        html.raw("<td>").text(Bytes(request.bytes)).raw("<td>").text(&request.object);
    }
    html.raw("</tbody></table></div></details>");
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn request(kind: RequestKind, start: u64, took: u64, bytes: u64) -> TimedRequest {
        TimedRequest {
            kind,
            object: "s3://b/<script>".to_owned(),
            start: Duration::from_millis(start),
            took: Duration::from_millis(took),
            bytes,
            requests: 1,
        }
    }

    #[test]
    fn requests_at_the_same_time_are_on_different_lines() {
        let get = |start, took| request(RequestKind::Get, start, took, 1);
        assert_eq!(lines(&[get(10, 5), get(0, 12), get(12, 1), get(20, 1)]), [1, 0, 0, 0]);
        let all: Vec<_> = (0..100).map(|start| get(start, 1000)).collect();
        assert_eq!(lines(&all).into_iter().max(), Some(MOST_LINES - 1));
    }

    #[test]
    fn marks_are_round() {
        for (all, expected) in [(0.0437, 0.01), (1.0, 0.2), (9.0, 2.0), (26.0, 10.0), (0.5, 0.1)] {
            assert!((step(all) / expected - 1.0).abs() < 1e-9, "{all}: {}", step(all));
        }
        assert_eq!([label(0.02, 0.01), label(2.0, 1.0)], ["20 ms", "2 s"]);
    }

    #[test]
    fn the_sums_are_those_of_all_requests() {
        let mut recorded = RequestLog {
            requests: vec![
                request(RequestKind::Get, 0, 5, 2048),
                request(RequestKind::Select, 6, 5, 1024),
            ],
            planned: Some(Duration::from_millis(5)),
            ..RequestLog::default()
        };
        recorded.others.insert(RequestKind::Get, AggregatedRequests { requests: 3, bytes: 1024 });
        let mut html = Html::default();
        timeline(&mut html, &recorded);
        let html = html.as_str();
        for expected in [
            "GET<td>4 requests<td>3.00 KiB",
            "total<td>5 requests<td>4.00 KiB",
            "The first 2 requests are drawn",
            "SELECT s3://b/&lt;script&gt;, 1.00 KiB, 0.005 s",
        ] {
            assert!(html.contains(expected), "{expected}: {html}");
        }
        assert_eq!(html.matches("<rect").count(), 3);
        let mut html = Html::default();
        timeline(&mut html, &RequestLog::default());
        assert!(html.as_str().contains("No request was sent"));
    }
}
