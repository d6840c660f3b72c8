//! The first page: what the papers claim, what holds, what differs and why.

use super::badge::{BY_CONSTRUCTION, badge, bar, found, link, note, published, short_name};
use super::headlines::{HEADLINES, Headline, PAPERS};
use super::{Report, agreement, experiment};
use crate::markup::Markup;
use crate::wording::readable;
use crate::{ClaimCounts, ClaimState, ClaimVerdict};

pub(super) fn write(html: &mut Markup, report: &Report<'_>) {
    html.raw("<section id=\"overview\" class=\"page\" aria-labelledby=\"overview-title\">\n");
    html.raw("<h1 id=\"overview-title\">Three papers on pushdown, reproduced</h1>\n");
    lead(html, report);
    counts(html, report);
    html.raw("<h2>The numbers that readers ask for</h2>\n<ul class=\"cards\">\n");
    HEADLINES.iter().for_each(|headline| card(html, report, headline));
    html.raw("</ul>\n");
    if let Some(chart) = agreement::chart(report) {
        html.raw("<h2>Our numbers beside the papers'</h2>\n<div class=\"alone\">");
        experiment::figure(html, &chart, "agreement");
        html.raw("</div>\n");
    }
    html.raw("<h2>What the papers claim</h2>\n<div class=\"papers\">\n");
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
        .raw(" of them with Sluicegate: <strong>");
    html.text(counts.found()).raw(" hold</strong> by what we found, and <strong>");
    html.text(counts.of(ClaimState::Differs)).raw(match counts.of(ClaimState::Differs) {
        1 => " differs</strong>. ",
        _ => " differ</strong>. ",
    });
    html.text(counts.by_construction());
    html.raw(" hold <a href=\"#by-construction\">by construction</a>: their number is an input, or the model is ");
    html.raw("fitted to it. ").text(counts.of(ClaimState::External));
    html.raw(" depend on hardware or software that we do not have, and are only quoted.");
    if counts.of(ClaimState::Undecided) > 0 {
        html.raw(" ").text(counts.of(ClaimState::Undecided));
        html.raw(match counts.of(ClaimState::Undecided) {
            1 => " is undecided, because <a href=\"#not-run\">its experiment did not run</a>.",
            _ => " are undecided, because <a href=\"#not-run\">their experiments did not run</a>.",
        });
    }
    html.raw("</p>\n");
    let setting = &report.input.setting;
    html.raw("<p class=\"about\">").raw(match setting.is_quick {
        true => "Quick evaluation",
        false => "Full evaluation",
    });
    html.raw(" at TPC-H scale factor ").text(setting.scale);
    html.raw(" unless an experiment names another, Sluicegate ").text(&report.input.version);
    html.raw(", ")
        .text(&report.input.date)
        .raw(". <a href=\"#method\">Machine and method</a></p>\n");
}

fn counts(html: &mut Markup, report: &Report<'_>) {
    html.raw("<div class=\"scroll\"><table class=\"counts\"><caption class=\"hidden\">Claims by paper and verdict");
    html.raw("</caption><thead><tr><th scope=\"col\">Paper</th><td class=\"wide\"></td>");
    let columns = columns(report.counts());
    for (name, _) in &columns {
        html.raw("<th scope=\"col\" class=\"number\">").raw(name).raw("</th>");
    }
    html.raw("</tr></thead><tbody>\n");
    for about in &PAPERS {
        let counts: ClaimCounts = report.of(about.paper).collect();
        html.raw("<tr><th scope=\"row\"><a href=\"#").raw(about.page).raw("\">").raw(about.name);
        html.raw("</a></th><td class=\"wide\">");
        bar(html, counts);
        html.raw("</td>");
        for (name, count) in &columns {
            let count = count(&counts);
            html.raw("<td class=\"number\">");
            if count > 0 {
                html.raw("<a href=\"#claims\" data-paper=\"").raw(short_name(about.paper));
                html.raw("\" data-verdict=\"").raw(name).raw("\" aria-label=\"");
                html.text(count).raw(if count == 1 { " claim of " } else { " claims of " });
                html.raw(about.name).raw(": ");
                html.raw(name).raw("\">").text(count).raw("</a>");
            } else {
                html.raw("0");
            }
            html.raw("</td>");
        }
        html.raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

/// A column of the table of counts.
type Column = (&'static str, fn(&ClaimCounts) -> usize);

/// Returns the columns. Claims are undecided only if experiments did not run.
fn columns(all: ClaimCounts) -> Vec<Column> {
    let mut columns: Vec<Column> = vec![
        ("holds", ClaimCounts::found),
        (BY_CONSTRUCTION, ClaimCounts::by_construction),
        ("differs", |it| it.of(ClaimState::Differs)),
        ("external", |it| it.of(ClaimState::External)),
    ];
    if all.of(ClaimState::Undecided) > 0 {
        columns.push(("undecided", |it| it.of(ClaimState::Undecided)));
    }
    columns
}

/// Values of more characters than this, or with a longer word than the next, are written in a line of their own.
const LONGEST: [usize; 2] = [18, 9];

/// Returns true if a value is long.
fn is_long(text: &str) -> bool {
    let words = text.split_whitespace().map(|word| word.chars().count());
    text.chars().count() > LONGEST[0] || words.max().is_some_and(|word| word > LONGEST[1])
}

fn card(html: &mut Markup, report: &Report<'_>, headline: &Headline) {
    let verdicts: Vec<&ClaimVerdict<'_>> =
        headline.claims.iter().filter_map(|id| report.verdict(id)).collect();
    html.raw("<li class=\"card\"><h3>").raw(headline.title).raw("</h3>");
    match &verdicts[..] {
        [only] => {
            let texts = [Some(only.claim.published.as_str()), only.found];
            html.raw(match texts.into_iter().flatten().any(is_long) {
                true => "<dl class=\"long\">",
                false => "<dl>",
            });
            html.raw("<div><dt>paper<dd>");
            published(html, only);
            html.raw("</div><div><dt>ours<dd class=\"ours\">");
            found(html, only);
            html.raw("</div></dl><p>");
            badge(html, only);
            html.raw(" <small>").raw(only.claim.class.name()).raw("</small> ");
            link(html, &only.claim.id);
            html.raw("</p>");
            note(html, only);
        }
        several => several_claims(html, several, headline.rule),
    }
    html.raw("</li>\n");
}

fn several_claims(html: &mut Markup, verdicts: &[&ClaimVerdict<'_>], rule: &'static str) {
    let counts: ClaimCounts = verdicts.iter().copied().collect();
    html.raw("<p class=\"ours\">").text(counts.of(ClaimState::Holds)).raw(" of ");
    html.text(counts.total()).raw(" hold</p>");
    bar(html, counts);
    if counts.of(ClaimState::Undecided) > 0 {
        html.raw("<p class=\"note\">").text(counts.of(ClaimState::Undecided));
        html.raw(" undecided</p>");
    }
    html.raw("<p class=\"note\">").raw(rule);
    if counts.by_construction() > 0 {
        html.raw(" ").text(counts.by_construction()).raw(" hold by construction.");
    }
    for it in verdicts.iter().filter(|it| it.state == ClaimState::Differs) {
        let found = readable(it.found.unwrap_or("–"));
        if is_long(&found) {
            continue;
        }
        html.raw(" ").text(&it.claim.id).raw(" differs: ").text(found);
        html.raw(", and ").text(readable(&it.claim.published)).raw(" in the paper.");
    }
    html.raw("</p><p class=\"ids\">");
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
            html.raw("<li>").text(readable(&verdict.claim.text)).raw(" ");
            badge(html, verdict);
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
        html.raw(" ").text(readable(&verdict.claim.text));
        html.raw("</p><p class=\"pair\">Paper: <b>");
        published(html, verdict);
        html.raw("</b> Ours: <b>");
        found(html, verdict);
        html.raw("</b></p>");
        note(html, verdict);
        html.raw("</li>\n");
    }
    html.raw("</ul>\n");
}

const READING: &str = "<h2 id=\"reading\">How to read the numbers</h2>
<dl class=\"reading\">
<div><dt>counted<dd>Bytes, requests, rows, formulas, sums of given numbers, and simulations of switches with a fixed \
seed. They are the same on every machine.</div>
<div><dt>measured<dd>Times on the machine that made this report, and costs that follow from them.</div>
<div><dt>modelled<dd>Predictions for the hardware of the paper.</div>
<div><dt>published<dd>Numbers of the paper. Charts show them with dashed lines and hollow marks.</div>
<div><dt>restored<dd>Our text of the paper does not contain the number. We derived it from the paper's worked \
examples.</div>
<div><dt id=\"by-construction\">by construction<dd>The claim holds, but this is no finding: the published number is an \
<em>input</em>, or a constant of the model is <em>fitted</em> to it.</div>
<div><dt>external<dd>Claims about other hardware or software. They are quoted, never counted as reproduced.</div>
<div><dt>undecided<dd>The experiment that decides the claim did not run, or it failed.</div>
</dl>
<p>The <a href=\"#glossary\">glossary</a> has the papers' terms.</p>
";
