//! The index of all claims, with filters.

use super::Report;
use super::badge::{self, BY_CONSTRUCTION, badge, found, note, published, short_name};
use super::paper::place;
use crate::markup::Markup;
use crate::wording::readable;
use crate::{ClaimClass, ClaimState, ClaimVerdict, Paper};

pub(super) fn write(html: &mut Markup, report: &Report<'_>) {
    html.raw("<section id=\"claims\" class=\"page\" aria-labelledby=\"claims-title\">\n");
    html.raw("<h1 id=\"claims-title\">All claims</h1>\n<p>").text(report.counts()).raw(".</p>\n");
    filters(html);
    html.raw(
        "<div class=\"claims-head\" aria-hidden=\"true\"><span>Claim</span><span>Statement</span>",
    );
    html.raw(
        "<span>Paper</span><span>Ours</span><span>Verdict</span></div>\n<ol class=\"claims\">\n",
    );
    report.verdicts.iter().for_each(|verdict| claim(html, report, verdict));
    html.raw("</ol>\n<p class=\"nothing\" hidden>No claim matches.</p>\n</section>\n");
}

fn filters(html: &mut Markup) {
    html.raw("<form class=\"filters\" hidden role=\"search\" aria-label=\"Claims\">");
    html.raw("<label>Search <input type=\"search\" name=\"text\" placeholder=\"Bloom, 6.7, P38 …\" autocomplete=\"off\"></label>");
    select(
        html,
        "Paper",
        "paper",
        [Paper::PushdownDb, Paper::Cheetah, Paper::Icpe].map(short_name),
    );
    let [holds, others @ ..] = ClaimState::ALL.map(ClaimState::name);
    let [differs, external, undecided] = others;
    let verdicts = [holds, BY_CONSTRUCTION, differs, external, undecided];
    select(html, "Verdict", "verdict", verdicts);
    let classes =
        [ClaimClass::Counted, ClaimClass::Measured, ClaimClass::Modelled, ClaimClass::External];
    select(html, "Evidence", "class", classes.map(ClaimClass::name));
    html.raw("<button type=\"reset\">Show all</button><p role=\"status\"></p></form>\n");
}

fn select<const COUNT: usize>(
    html: &mut Markup,
    title: &'static str,
    name: &'static str,
    values: [&'static str; COUNT],
) {
    html.raw("<label>")
        .raw(title)
        .raw(" <select name=\"")
        .raw(name)
        .raw("\"><option value=\"\">any</option>");
    for value in values {
        html.raw("<option>").raw(value).raw("</option>");
    }
    html.raw("</select></label>");
}

fn claim(html: &mut Markup, report: &Report<'_>, verdict: &ClaimVerdict<'_>) {
    let claim = verdict.claim;
    html.raw("<li id=\"").text(&claim.id).raw("\" data-paper=\"").raw(short_name(claim.paper()));
    html.raw("\" data-verdict=\"").raw(badge::name(verdict)).raw("\" data-class=\"");
    html.raw(claim.class.name()).raw("\">\n<span class=\"id\">").text(&claim.id).raw("</span>");
    html.raw("<div class=\"statement\"><p>").text(readable(&claim.text));
    html.raw("</p><p class=\"about\">");
    html.raw(short_name(claim.paper())).raw(" ").text(place(&claim.place)).raw(" · ");
    html.raw(claim.class.name());
    if let Some(id) = &claim.experiment {
        let is_there = report.input.experiments.iter().any(|it| it.experiment.id == id);
        html.raw(" · ");
        match is_there {
            true => html.raw("<a href=\"#").text(id).raw("\">").text(id).raw("</a>"),
            false => html.text(id),
        };
    }
    html.raw("</p>");
    if let Some(rule) = &claim.rule {
        html.raw("<p class=\"about\">Holds if: ").text(readable(rule)).raw(".");
        if let Some(reason) = &claim.one_sided {
            html.raw(" One-sided, because ").text(readable(reason)).raw(".");
        }
        html.raw("</p>");
    }
    note(html, verdict);
    html.raw("</div><p class=\"value\"><span class=\"label\">Paper </span>");
    published(html, verdict);
    html.raw("</p><p class=\"value\"><span class=\"label\">Ours </span>");
    found(html, verdict);
    html.raw("</p><p>");
    badge(html, verdict);
    html.raw("</p></li>\n");
}
