//! An experiment: its verdicts, charts, tables and commands.

use super::badge::{badge, found, link, note, published};
use super::conditions::conditions;
use super::paper::place;
use super::text::readable;
use super::{Report, ReportedExperiment, ReportedResult, table};
use crate::chart::Marks;
use crate::chart::svg::{Width, inline};
use crate::markup::Markup;
use crate::{Chart, ClaimVerdict, commands};
use sluicegate_costmodel::Provenance;

pub(super) fn write(html: &mut Markup, report: &Report<'_>, it: &ReportedExperiment) {
    let id = it.experiment.id;
    html.raw("<article class=\"experiment\" id=\"").text(id).raw("\" aria-labelledby=\"").text(id);
    html.raw("-title\">\n<h2 id=\"").text(id).raw("-title\">").text(it.experiment.title);
    html.raw("</h2>\n<p class=\"about\">").text(place(it.experiment.place)).raw(" · <code>");
    html.text(id).raw("</code></p>\n");
    if let Some(text) = conditions(&it.experiment.runs(&report.input.setting)) {
        html.raw("<p class=\"about\">").text(text).raw("</p>\n");
    }
    match &it.result {
        ReportedResult::Outcome(outcome) => {
            for remark in &outcome.remarks {
                html.raw("<p class=\"remark\">").text(readable(remark)).raw("</p>\n");
            }
            // A single chart has its verdicts beside it, if these are no longer than the chart.
            let is_beside = outcome.charts.len() == 1 && length(report, id) <= BESIDE;
            html.raw(if is_beside { "<div class=\"beside\">" } else { "<div>" });
            html.raw("<div class=\"charts\">");
            for (at, chart) in outcome.charts.iter().enumerate() {
                figure(html, chart, &format!("{}-{}", file_name(id), at + 1));
            }
            html.raw("</div>\n");
            verdicts(html, report, id);
            html.raw("</div>\n");
            for (at, numbers) in outcome.tables.iter().enumerate() {
                let file = format!("{}-table-{}", file_name(id), at + 1);
                table::write(html, numbers, &file, outcome.charts.is_empty());
            }
        }
        ReportedResult::Failed(reason) => {
            html.raw("<p class=\"missing\"><strong>It failed:</strong> ")
                .text(reason)
                .raw("</p>\n");
            verdicts(html, report, id);
        }
        ReportedResult::NotRun => {
            html.raw("<p class=\"missing\">It was not run.</p>\n");
            verdicts(html, report, id);
        }
    }
    shown_commands(html, report, it);
    html.raw("</article>\n");
}

/// The most characters of verdicts that stand beside a chart.
const BESIDE: usize = 1_100;
/// What a verdict takes beyond its texts, in characters.
const VERDICT: usize = 80;

/// Returns about how many characters the verdicts of an experiment take.
fn length(report: &Report<'_>, id: &str) -> usize {
    let of = |it: &ClaimVerdict<'_>| {
        let texts = [Some(it.claim.text.as_str()), it.found, it.note];
        VERDICT + texts.into_iter().flatten().map(str::len).sum::<usize>()
    };
    let own = report.verdicts.iter().filter(|it| it.claim.experiment.as_deref() == Some(id));
    own.map(of).sum()
}

fn file_name(id: &str) -> String {
    id.replace('/', "-")
}

fn verdicts(html: &mut Markup, report: &Report<'_>, id: &str) {
    let own: Vec<&ClaimVerdict<'_>> =
        report.verdicts.iter().filter(|it| it.claim.experiment.as_deref() == Some(id)).collect();
    if own.is_empty() {
        return;
    }
    let many =
        if own.len() > 4 { "<ul class=\"verdicts many\">\n" } else { "<ul class=\"verdicts\">\n" };
    html.raw(many);
    for verdict in own {
        html.raw("<li>");
        badge(html, verdict);
        html.raw("<div><p>").text(readable(&verdict.claim.text)).raw(" ");
        link(html, &verdict.claim.id);
        html.raw("</p><p class=\"pair\">Paper: <b>");
        published(html, verdict);
        html.raw("</b>");
        if verdict.found.is_some() {
            html.raw(" Ours: <b>");
            found(html, verdict);
            html.raw("</b> <small>");
            html.raw(verdict.claim.class.name()).raw("</small>");
        }
        html.raw("</p>");
        note(html, verdict);
        html.raw("</div></li>\n");
    }
    html.raw("</ul>\n");
}

/// Writes a chart for screens and for phones, of which the style sheet shows one.
pub(super) fn figure(html: &mut Markup, chart: &Chart, file: &str) {
    html.raw("<figure><figcaption>").text(&chart.title).raw(" <small>").text(&chart.provenance);
    html.raw(intervals(chart));
    html.raw("</small></figcaption>\n").append(&inline(chart, Width::Wide));
    html.append(&inline(chart, Width::Narrow)).raw("\n");
    table::write_chart(html, chart, file);
    html.raw("</figure>\n");
}

/// Returns what the intervals of a chart are; nothing if it has none.
fn intervals(chart: &Chart) -> &'static str {
    let Marks::Lines(lines) = &chart.marks else { return "" };
    let has = lines.iter().flat_map(|line| &line.points).any(|point| point[2] < point[3]);
    match (has, &chart.provenance) {
        (false, _) => "",
        (true, Provenance::Measured) => {
            "; each point is the median of its rounds, and bands or whiskers span the least to the greatest"
        }
        (true, _) => "; bands or whiskers are intervals of 95 %",
    }
}

fn shown_commands(html: &mut Markup, report: &Report<'_>, it: &ReportedExperiment) {
    let options = report.input.setting.options();
    let mut all = vec![format!("sluice reproduce {}{options}", it.experiment.id)];
    let runs = commands(it.experiment, &report.input.setting);
    html.raw("<details class=\"commands\"><summary>Commands</summary>\n");
    html.raw("<p>The first command makes these numbers again.");
    if !runs.is_empty() {
        html.raw(" It runs the others, beside a store.");
    }
    html.raw(
        "</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Commands of ",
    );
    html.text(it.experiment.title).raw("\"><pre>");
    all.extend(runs);
    html.text(all.join("\n")).raw("</pre></div></details>\n");
}
