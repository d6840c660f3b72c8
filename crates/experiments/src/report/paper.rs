//! A page of a paper: its experiments, and the claims that no experiment can decide.

use super::Report;
use super::badge::{bar, link, published};
use super::experiment;
use super::headlines::About;
use crate::markup::Markup;
use crate::wording::readable;
use crate::{Cause, ClaimCounts, ClaimState, ClaimVerdict};

pub(super) fn write(html: &mut Markup, report: &Report<'_>, about: &About) {
    html.raw("<section id=\"").raw(about.page).raw("\" class=\"page\" aria-labelledby=\"");
    html.raw(about.page)
        .raw("-title\">\n<h1 id=\"")
        .raw(about.page)
        .raw("-title\">")
        .raw(about.name);
    html.raw("</h1>\n<p class=\"about\">").raw(about.citation).raw("</p>\n<p class=\"lead\">");
    html.raw(about.idea).raw("</p>\n");
    let counts: ClaimCounts = report.of(about.paper).collect();
    html.raw("<p>").text(counts).raw(".</p>");
    bar(html, counts);
    causes(html, report, about);
    experiments(html, report, about.page);
    external(html, report, about);
    html.raw("</section>\n");
}

/// Writes the claims that differ by the cause of the difference.
fn causes(html: &mut Markup, report: &Report<'_>, about: &About) {
    let all = || report.of(about.paper).filter(|it| it.state == ClaimState::Differs);
    if all().next().is_none() {
        return;
    }
    html.raw("<h2 id=\"").raw(about.page).raw("-causes\">What differs, by cause</h2>\n");
    html.raw("<dl class=\"causes\">\n");
    for cause in Cause::ALL.into_iter().map(Some).chain([None]) {
        let claims: Vec<&ClaimVerdict<'_>> = all().filter(|it| it.claim.cause == cause).collect();
        if claims.is_empty() {
            continue;
        }
        html.raw("<div><dt>").raw(cause.map_or("other causes", Cause::name)).raw(" <small>");
        html.text(claims.len()).raw("</small><dd>");
        for claim in claims {
            link(html, &claim.claim.id);
            html.raw(" ").text(readable(&claim.claim.text)).raw("<br/>");
        }
        html.raw("</div>\n");
    }
    html.raw("</dl>\n");
}

/// Writes the page of experiments that go beyond the papers; nothing if there are none.
pub(super) fn write_ours(html: &mut Markup, report: &Report<'_>) {
    if report.experiments("ours").next().is_none() {
        return;
    }
    html.raw("<section id=\"ours\" class=\"page\" aria-labelledby=\"ours-title\">\n");
    html.raw("<h1 id=\"ours-title\">Beyond the papers</h1>\n<p class=\"lead\">These experiments are ours: ");
    html.raw("the papers' suggestions, what their systems do together, and how good the predictions are.</p>\n");
    experiments(html, report, "ours");
    html.raw("</section>\n");
}

fn experiments(html: &mut Markup, report: &Report<'_>, folder: &'static str) {
    html.raw("<nav class=\"contents\" id=\"")
        .raw(folder)
        .raw("-contents\" aria-label=\"Experiments\"><ul>\n");
    for it in report.experiments(folder) {
        html.raw("<li><a href=\"#")
            .text(it.experiment.id)
            .raw("\">")
            .text(readable(it.experiment.title));
        html.raw("</a> <small>").text(place(it.experiment.place)).raw("</small>\n");
    }
    html.raw("</ul></nav>\n");
    for it in report.experiments(folder) {
        experiment::write(html, report, it);
    }
}

/// Returns a place in a paper without the paper's name.
pub(super) fn place(place: &str) -> &str {
    ["PushdownDB ", "Cheetah ", "ICPE "]
        .iter()
        .find_map(|name| place.strip_prefix(name))
        .unwrap_or(place)
}

fn external(html: &mut Markup, report: &Report<'_>, about: &About) {
    let all = || report.of(about.paper).filter(|it| it.state == ClaimState::External);
    if all().next().is_none() {
        return;
    }
    html.raw("<h2>External claims</h2>\n<p>Other hardware or software decides these. ");
    html.raw("The numbers are the paper's.</p>\n<ul class=\"differing\">\n");
    for verdict in all() {
        html.raw("<li><p>");
        link(html, &verdict.claim.id);
        html.raw(" ").text(readable(&verdict.claim.text));
        html.raw("</p><p class=\"pair\">Paper: <b>");
        published(html, verdict);
        html.raw("</b></p></li>\n");
    }
    html.raw("</ul>\n");
}
