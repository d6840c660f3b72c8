//! An experiment: its verdicts, charts, tables and commands.

use super::badge::{badge, found, link, note, published};
use super::conditions::conditions;
use super::paper::place;
use super::{Report, ReportedExperiment, ReportedResult, table};
use crate::chart::svg::{Width, inline};
use crate::chart::{Line, Marks, is_published};
use crate::markup::Markup;
use crate::wording::readable;
use crate::{Chart, ClaimVerdict, commands};
use sluicegate_costmodel::Provenance;

pub(super) fn write(html: &mut Markup, report: &Report<'_>, it: &ReportedExperiment) {
    let id = it.experiment.id;
    let page = id.split('/').next().unwrap_or_default();
    html.raw("<article class=\"experiment\" id=\"").text(id).raw("\" aria-labelledby=\"").text(id);
    html.raw("-title\">\n<h2 id=\"").text(id).raw("-title\">").text(readable(it.experiment.title));
    html.raw("</h2>\n<p class=\"about\">").text(place(it.experiment.place)).raw(" · <code>");
    html.text(id)
        .raw("</code> · <a class=\"up\" href=\"#")
        .text(page)
        .raw("-contents\">↑ Contents</a></p>\n");
    if let Some(text) = conditions(&it.experiment.runs(&report.input.setting)) {
        html.raw("<p class=\"about\">").text(readable(&text)).raw("</p>\n");
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
            let (shown, folded) = arranged(&outcome.charts);
            let draw = |html: &mut Markup, at: usize| {
                figure(html, &outcome.charts[at], &format!("{}-{}", file_name(id), at + 1));
            };
            shown.iter().for_each(|at| draw(html, *at));
            html.raw("</div>\n");
            fold(html, &outcome.charts, &folded, draw);
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
    html.raw("<figure><figcaption>")
        .text(readable(&chart.title))
        .raw(" <small>")
        .text(readable(&sources(chart)));
    html.raw(intervals(chart));
    html.raw("</small></figcaption>\n").append(&inline(chart, Width::Wide));
    html.append(&inline(chart, Width::Narrow)).raw("\n");
    table::write_chart(html, chart, file);
    html.raw("</figure>\n");
}

/// The most charts of an experiment that are shown at once.
const SHOWN: usize = 4;

/// Returns the places of the charts that are shown at once, and of those that a reader can open: bills of an experiment with
/// several charts, and charts beyond [`SHOWN`].
fn arranged(charts: &[Chart]) -> (Vec<usize>, Vec<usize>) {
    let is_bill = |at: &usize| charts.len() > 2 && charts[*at].x.title == "cents";
    let (mut folded, mut shown): (Vec<usize>, Vec<usize>) = (0..charts.len()).partition(is_bill);
    if shown.len() > SHOWN {
        folded.extend(shown.split_off(SHOWN));
        folded.sort_unstable();
    }
    (shown, folded)
}

/// Writes charts that are shown when a reader opens them.
fn fold(html: &mut Markup, charts: &[Chart], folded: &[usize], draw: impl Fn(&mut Markup, usize)) {
    if folded.is_empty() {
        return;
    }
    let titles: Vec<&str> = folded.iter().map(|at| charts[*at].title.as_str()).collect();
    html.raw("<details class=\"more\"><summary>").text(folded.len());
    html.raw(if folded.len() == 1 { " more chart <small>" } else { " more charts <small>" });
    html.text(readable(&titles.join("; "))).raw("</small></summary>\n<div class=\"charts\">");
    folded.iter().for_each(|at| draw(html, *at));
    html.raw("</div></details>\n");
}

/// The words in the names of series that are not measured.
const MODELLED: [&str; 4] = ["modelled", "predicted", "estimated", "assumed"];

/// Returns the provenance of a chart's numbers, with the series that have another one.
fn sources(chart: &Chart) -> String {
    let lines =
        |lines: &[Line]| lines.iter().map(|it| (it.name.clone(), it.is_published)).collect();
    let series: Vec<(String, bool)> = match &chart.marks {
        Marks::Lines(all) => lines(all),
        Marks::Bars { parts, .. } => parts.iter().map(|it| (it.clone(), false)).collect(),
        Marks::Points(all) => all.iter().map(|it| (it.name.clone(), it.is_published)).collect(),
        Marks::Gantt(_) | Marks::Map(_) => Vec::new(),
    };
    let mut text = chart.provenance.to_string();
    if matches!(chart.provenance, Provenance::Measured | Provenance::Counted) {
        let is_modelled = |name: &str| MODELLED.iter().any(|word| name.contains(word));
        let modelled: Vec<&str> =
            series.iter().map(|it| it.0.as_str()).filter(|it| is_modelled(it)).collect();
        if !modelled.is_empty() {
            text += &format!("; by a model: {}", modelled.join(", "));
        }
    }
    if series.iter().any(|(name, published)| *published || is_published(name)) {
        text += "; published: dashed or hollow";
    }
    text
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Axis;

    fn chart(title: &str, x: &str, names: &[&str]) -> Chart {
        Chart {
            title: title.to_owned(),
            x: Axis::linear(x),
            y: Axis::linear("seconds"),
            marks: Marks::Lines(names.iter().map(|name| Line::new(*name, [(1.0, 2.0)])).collect()),
            provenance: Provenance::Measured,
        }
    }

    #[test]
    fn a_measured_chart_names_what_is_modelled_or_published() {
        let of = |names: &[&str]| sources(&chart("t", "x", names));
        assert_eq!(of(&["get", "select"]), "measured");
        assert_eq!(of(&["measured", "modelled"]), "measured; by a model: modelled");
        assert_eq!(of(&["get", "get, published"]), "measured; published: dashed or hollow");
    }

    #[test]
    fn bills_and_charts_beyond_four_are_folded() {
        let of = |axes: &[&str]| {
            arranged(&axes.iter().map(|x| chart("t", x, &["a"])).collect::<Vec<_>>())
        };
        assert_eq!(of(&["x", "cents", "x", "cents"]), (vec![0, 2], vec![1, 3]));
        assert_eq!(of(&["x", "cents"]), (vec![0, 1], vec![]));
        assert_eq!(of(&["x"; 6]), (vec![0, 1, 2, 3], vec![4, 5]));
    }
}
