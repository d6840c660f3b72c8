//! An experiment: its verdicts, charts, tables and commands.

use super::badge::{badge, link, note, published};
use super::paper::place;
use super::{Report, ReportedExperiment, ReportedResult, table};
use crate::chart::svg::{Width, inline};
use crate::markup::Markup;
use crate::{Chart, ClaimVerdict, commands};

pub(super) fn write(html: &mut Markup, report: &Report<'_>, it: &ReportedExperiment) {
    let id = it.experiment.id;
    html.raw("<article class=\"experiment\" id=\"").text(id).raw("\" aria-labelledby=\"").text(id);
    html.raw("-title\">\n<h2 id=\"").text(id).raw("-title\">").text(it.experiment.title);
    html.raw("</h2>\n<p class=\"about\">").text(place(it.experiment.place)).raw(" · <code>");
    html.text(id).raw("</code></p>\n");
    match &it.result {
        ReportedResult::Outcome(outcome) => {
            // A single chart has its verdicts beside it.
            let is_single = outcome.charts.len() == 1;
            html.raw(if is_single { "<div class=\"beside\">" } else { "<div>" });
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

fn file_name(id: &str) -> String {
    id.replace('/', "-")
}

fn verdicts(html: &mut Markup, report: &Report<'_>, id: &str) {
    let own: Vec<&ClaimVerdict<'_>> =
        report.verdicts.iter().filter(|it| it.claim.experiment.as_deref() == Some(id)).collect();
    if own.is_empty() {
        return;
    }
    html.raw("<ul class=\"verdicts\">\n");
    for verdict in own {
        html.raw("<li>");
        badge(html, verdict.state);
        html.raw("<div><p>").text(&verdict.claim.text).raw(" ");
        link(html, &verdict.claim.id);
        html.raw("</p><p class=\"pair\">Paper: <b>");
        published(html, verdict);
        html.raw("</b>");
        if let Some(found) = verdict.found {
            html.raw(" Ours: <b>").text(found).raw("</b> <small>");
            html.raw(verdict.claim.class.name()).raw("</small>");
        }
        html.raw("</p>");
        note(html, verdict);
        html.raw("</div></li>\n");
    }
    html.raw("</ul>\n");
}

/// Writes a chart for screens and for phones, of which the style sheet shows one.
fn figure(html: &mut Markup, chart: &Chart, file: &str) {
    html.raw("<figure><figcaption>").text(&chart.title).raw(" <small>").text(&chart.provenance);
    html.raw("</small></figcaption>\n").append(&inline(chart, Width::Wide));
    html.append(&inline(chart, Width::Narrow)).raw("\n");
    table::write_chart(html, chart, file);
    html.raw("</figure>\n");
}

fn shown_commands(html: &mut Markup, report: &Report<'_>, it: &ReportedExperiment) {
    let mut all = vec![format!("sluice reproduce {}", it.experiment.id)];
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
