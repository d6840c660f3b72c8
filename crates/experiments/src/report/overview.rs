//! The first page: what the papers claim, what holds, what differs and why.

use super::Report;
use super::badge::{badge, bar, link, note, published, short_name};
use super::headlines::{HEADLINES, Headline, PAPERS};
use crate::markup::Markup;
use crate::{ClaimCounts, ClaimState, ClaimVerdict};

pub(super) fn write(html: &mut Markup, report: &Report<'_>) {
    html.raw("<section id=\"overview\" class=\"page\" aria-labelledby=\"overview-title\">\n");
    html.raw("<h1 id=\"overview-title\">Three papers on pushdown, reproduced</h1>\n");
    lead(html, report);
    counts(html, report);
    html.raw("<h2>The numbers that readers ask for</h2>\n<ul class=\"cards\">\n");
    HEADLINES.iter().for_each(|headline| card(html, report, headline));
    html.raw("</ul>\n<h2>What the papers claim</h2>\n<div class=\"papers\">\n");
    papers(html, report);
    html.raw("</div>\n");
    differing(html, report);
    html.raw(READING).raw("</section>\n");
}

fn lead(html: &mut Markup, report: &Report<'_>) {
    let counts = report.counts();
    let decided = counts.of(ClaimState::Holds) + counts.of(ClaimState::Differs);
    html.raw("<p class=\"lead\">The papers make <strong>").text(counts.total());
    html.raw(" claims</strong>. We tested ")
        .text(decided)
        .raw(" of them with <code>sluice</code>: <strong>");
    html.text(counts.of(ClaimState::Holds)).raw(" hold</strong> and <strong>");
    html.text(counts.of(ClaimState::Differs)).raw(match counts.of(ClaimState::Differs) {
        1 => " differs</strong>. ",
        _ => " differ</strong>. ",
    });
    html.text(counts.of(ClaimState::External));
    html.raw(" depend on hardware or software that we do not have, and are only quoted.");
    if counts.of(ClaimState::Undecided) > 0 {
        html.raw(" ").text(counts.of(ClaimState::Undecided));
        html.raw(" are undecided, because <a href=\"#not-run\">their experiments did not run</a>.");
    }
    html.raw("</p>\n");
    let setting = &report.input.setting;
    html.raw("<p class=\"about\">").raw(match setting.is_quick {
        true => "Quick evaluation",
        false => "Full evaluation",
    });
    html.raw(" at TPC-H scale factor ").text(setting.scale).raw(", ").text(&report.input.date);
    html.raw(", sluice ")
        .text(&report.input.version)
        .raw(". <a href=\"#method\">Machine and method</a></p>\n");
}

fn counts(html: &mut Markup, report: &Report<'_>) {
    html.raw("<div class=\"scroll\"><table class=\"counts\"><caption class=\"hidden\">Claims by paper and verdict");
    html.raw("</caption><thead><tr><th scope=\"col\">Paper</th><td class=\"wide\"></td>");
    for state in ClaimState::ALL {
        html.raw("<th scope=\"col\" class=\"number\">").raw(state.name()).raw("</th>");
    }
    html.raw("</tr></thead><tbody>\n");
    for about in &PAPERS {
        let counts: ClaimCounts = report.of(about.paper).collect();
        html.raw("<tr><th scope=\"row\"><a href=\"#").raw(about.page).raw("\">").raw(about.name);
        html.raw("</a></th><td class=\"wide\">");
        bar(html, counts);
        html.raw("</td>");
        for state in ClaimState::ALL {
            html.raw("<td class=\"number\">");
            if counts.of(state) > 0 {
                html.raw("<a href=\"#claims\" data-paper=\"").raw(short_name(about.paper));
                html.raw("\" data-verdict=\"").raw(state.name()).raw("\" aria-label=\"");
                html.text(counts.of(state)).raw(" claims of ").raw(about.name).raw(": ");
                html.raw(state.name()).raw("\">").text(counts.of(state)).raw("</a>");
            } else {
                html.raw("0");
            }
            html.raw("</td>");
        }
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

fn card(html: &mut Markup, report: &Report<'_>, headline: &Headline) {
    let verdicts: Vec<&ClaimVerdict<'_>> =
        headline.claims.iter().filter_map(|id| report.verdict(id)).collect();
    html.raw("<li class=\"card\"><h3>").raw(headline.title).raw("</h3>");
    match &verdicts[..] {
        [only] => {
            html.raw("<dl><div><dt>paper<dd>");
            published(html, only);
            html.raw("</div><div><dt>ours<dd class=\"ours\">").text(only.found.unwrap_or("–"));
            html.raw("</div></dl><p>");
            badge(html, only.state);
            html.raw(" ");
            link(html, &only.claim.id);
            html.raw("</p>");
            note(html, only);
        }
        several => several_claims(html, several),
    }
    html.raw("</li>\n");
}

fn several_claims(html: &mut Markup, verdicts: &[&ClaimVerdict<'_>]) {
    let counts: ClaimCounts = verdicts.iter().copied().collect();
    html.raw("<p class=\"ours\">").text(counts.of(ClaimState::Holds)).raw(" of ");
    html.text(counts.total()).raw(" hold</p>");
    bar(html, counts);
    if counts.of(ClaimState::Undecided) > 0 {
        html.raw("<p class=\"note\">").text(counts.of(ClaimState::Undecided));
        html.raw(" undecided</p>");
    }
    html.raw("<p class=\"ids\">");
    for verdict in verdicts {
        link(html, &verdict.claim.id);
        html.raw(" ");
    }
    html.raw("</p>");
}

fn papers(html: &mut Markup, report: &Report<'_>) {
    for about in &PAPERS {
        html.raw("<article><h3><a href=\"#").raw(about.page).raw("\">").raw(about.name);
        html.raw("</a></h3><p>").raw(about.idea).raw("</p><ul class=\"results\">");
        for verdict in about.results.iter().filter_map(|id| report.verdict(id)) {
            html.raw("<li>").text(&verdict.claim.text).raw(" ");
            badge(html, verdict.state);
        }
        html.raw("</ul></article>\n");
    }
}

fn differing(html: &mut Markup, report: &Report<'_>) {
    let all = || report.verdicts.iter().filter(|it| it.state == ClaimState::Differs);
    html.raw("<h2 id=\"differs\">What differs, and why</h2>\n");
    if all().next().is_none() {
        html.raw("<p>Every claim that was tested holds.</p>\n");
        return;
    }
    html.raw("<ul class=\"differing\">\n");
    for verdict in all() {
        html.raw("<li><p>");
        link(html, &verdict.claim.id);
        html.raw(" ").text(&verdict.claim.text).raw("</p><p class=\"pair\">Paper: <b>");
        published(html, verdict);
        html.raw("</b> Ours: <b>").text(verdict.found.unwrap_or("–")).raw("</b></p>");
        note(html, verdict);
        html.raw("</li>\n");
    }
    html.raw("</ul>\n");
}

const READING: &str = "<h2>How to read the numbers</h2>
<dl class=\"reading\">
<div><dt>counted<dd>Bytes, requests, rows and formulas. They are exact and the same on every machine.</div>
<div><dt>measured<dd>Times on the machine that made this report.</div>
<div><dt>modelled<dd>Predictions for the hardware of the paper.</div>
<div><dt>published<dd>Numbers of the paper. Charts show them with dashed lines and hollow marks.</div>
<div><dt>external<dd>Claims about other hardware or software. They are quoted, never counted as reproduced.</div>
<div><dt>restored<dd>The text that we have lost the number. We derived it from the paper's worked examples.</div>
</dl>
";
