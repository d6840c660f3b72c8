//! The pages of the site that a finished evaluation gives: what holds, what differs and why, and the charts.
//!
//! The pages have nothing of the day or the machine on which they are written, so the same evaluation gives the same pages.

use std::fmt::Write;

use super::headlines::{About, HEADLINES, Headline, PAPERS};
use super::paper::place;
use super::{Report, ReportInput, ReportedExperiment};
use crate::chart::{Chart, Marks, svg};
use crate::wording::separated;
use crate::{Cause, ClaimCounts, ClaimSource, ClaimState, ClaimVerdict, Experiment, Table};

/// The chart of the README: the experiment, and the names of its two series.
const PICTURE: (&str, &str, [&str; 2]) =
    ("pushdowndb/fig10", "figure-10.svg", ["pushdown off", "pushdown on"]);

/// The folder of our own experiments.
const OURS: &str = "ours";

/// The greatest number of rows of a table on a page.
const MOST_ROWS: usize = 20;

/// Returns the pages and their charts as names of files with their contents, in the order of the site.
#[must_use]
pub fn pages(input: &ReportInput) -> Vec<(String, String)> {
    let report = Report::new(input);
    let mut files = vec![("index.md".to_owned(), index(&report))];
    for about in &PAPERS {
        files.push((format!("{}.md", about.page), paper(&report, about)));
    }
    files.push(("ours.md".to_owned(), ours(&report)));
    files.extend(picture(&report).map(|chart| (PICTURE.1.to_owned(), chart.svg())));
    for it in &input.experiments {
        let charts = it.outcome().map_or(&[][..], |outcome| &outcome.charts);
        if !charts.is_empty() {
            files.push((file(it), svg(charts)));
        }
    }
    files
}

/// Returns the chart that shows in a minute what pushdown does.
fn picture(report: &Report<'_>) -> Option<Chart> {
    let (id, _, names) = PICTURE;
    let experiment = report.input.experiments.iter().find(|it| it.experiment.id == id)?;
    let mut chart = experiment.outcome()?.charts.first()?.clone();
    chart.title = format!(
        "Ten queries at TPC-H scale factor {}, behind a link of 1 Gbit/s",
        report.input.setting.scale
    );
    if let Marks::Bars { parts, .. } = &mut chart.marks {
        parts.iter_mut().zip(names).for_each(|(part, name)| name.clone_into(part));
    }
    Some(chart)
}

/// Returns the name of the file with an experiment's charts.
fn file(it: &ReportedExperiment) -> String {
    format!("{}.svg", it.experiment.id.replace('/', "-"))
}

fn index(report: &Report<'_>) -> String {
    let counts = report.counts();
    let mut page = String::from("# Evidence\n\n");
    let decided = counts.of(ClaimState::Holds) + counts.of(ClaimState::Differs);
    line(
        &mut page,
        format_args!(
            "Three papers make {} claims about pushdown. `sluice reproduce` tested {decided} of them: **{} hold** and \
         **{} differ**.",
            counts.total(),
            counts.of(ClaimState::Holds),
            counts.of(ClaimState::Differs)
        ),
    );
    line(
        &mut page,
        format_args!(
            "{} of those that hold do so by construction: their number is an input, or a constant of the model is fitted \
             to it.",
            counts.by_construction()
        ),
    );
    line(
        &mut page,
        format_args!(
            "{} depend on hardware or software that we do not have. Their published numbers are quoted, and they have no verdict.",
            counts.of(ClaimState::External)
        ),
    );
    match counts.of(ClaimState::Undecided) {
        0 => {}
        1 => line(&mut page, format_args!("One is undecided, because its experiment did not run.")),
        many => line(
            &mut page,
            format_args!("{many} are undecided, because their experiments did not run."),
        ),
    }
    page.push_str(
        "\n| paper | claims | hold | of these by construction | differ | external | undecided |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for about in &PAPERS {
        let of: ClaimCounts = report.of(about.paper).collect();
        let [holds, differs, external, undecided] = ClaimState::ALL.map(|state| of.of(state));
        line(
            &mut page,
            format_args!(
                "| [{}]({}.md) | {} | {holds} | {} | {differs} | {external} | {undecided} |",
                about.name,
                about.page,
                of.total(),
                of.by_construction()
            ),
        );
    }
    page.push_str("\n[Beyond the papers](ours.md) has experiments of our own.\n\n## The numbers that readers ask for\n\n");
    page.push_str("| | paper | ours | verdict | claims |\n|---|---|---|---|---|\n");
    for headline in HEADLINES {
        page.push_str(&row(report, headline));
    }
    if picture(report).is_some() {
        let name = PICTURE.1;
        line(
            &mut page,
            format_args!("\n![Seconds of ten queries with pushdown off and on]({name})"),
        );
    }
    page.push_str("\n## Machine and method\n\n| | |\n|---|---|\n");
    facts(&mut page, report.input);
    page.push_str(METHOD);
    page
}

/// Returns a row of the table of headlines.
fn row(report: &Report<'_>, headline: &Headline) -> String {
    let verdicts: Vec<_> = headline.claims.iter().filter_map(|id| report.verdict(id)).collect();
    let links: Vec<String> = verdicts.iter().map(|it| link(it)).collect();
    let (published, found, verdict) = match &verdicts[..] {
        [only] => (published(only), found(only), only.state.name().to_owned()),
        several => {
            let counts: ClaimCounts = several.iter().copied().collect();
            let hold = format!("{} of {} hold", counts.of(ClaimState::Holds), counts.total());
            (String::new(), String::new(), hold)
        }
    };
    let title = escaped(headline.title);
    format!("| {title} | {published} | {found} | {verdict} | {} |\n", links.join(" "))
}

/// Returns a link to a claim on the page of its paper.
fn link(verdict: &ClaimVerdict<'_>) -> String {
    let id = &verdict.claim.id;
    let about = PAPERS.iter().find(|about| about.paper == verdict.claim.paper());
    about.map_or_else(String::new, |about| format!("[{id}]({}.md#{id})", about.page))
}

fn facts(page: &mut String, input: &ReportInput) {
    let unknown = || "unknown".to_owned();
    let machine = &input.machine;
    let setting = &input.setting;
    let memory = machine.memory.map(|it| format!("{:.1} GiB", it as f64 / f64::from(1 << 30)));
    let quick = if setting.is_quick { " --quick" } else { "" };
    for (name, value) in [
        ("processor", machine.processor.clone().unwrap_or_else(unknown)),
        ("cores", machine.cores.map_or_else(unknown, |it| it.to_string())),
        ("memory", memory.unwrap_or_else(unknown)),
        ("scale factor of TPC-H", setting.scale.to_string()),
        ("version", format!("sluice {}", input.version)),
        ("date", input.date.clone()),
    ] {
        line(page, format_args!("| {name} | {} |", escaped(&value)));
    }
    line(page, format_args!("| command | `sluice reproduce{quick}` |\n"));
}

const METHOD: &str = "\
A claim holds if its rule is satisfied; `sluice reproduce --claims` prints the rules. Each claim that differs has a cause
and a reason.

- **counted**: bytes, requests, rows, formulas, and simulations of switches with a fixed seed. They are the same on every
  machine.
- **measured**: times of the machine above. They are compared with each other, not with the seconds of the papers.
- **modelled**: predictions for the hardware of the paper.
- **external**: claims about other hardware or software.
- **restored**: our text of the paper does not contain the number. We derived it from the paper's worked examples.

[Reproduce experiments](../howto/reproduce.md) has the commands. [The three papers](../explanation/papers.md) maps each
mechanism to its source.
";

fn paper(report: &Report<'_>, about: &About) -> String {
    let counts: ClaimCounts = report.of(about.paper).collect();
    let mut page = format!("# {}: claims and verdicts\n\n", about.name);
    line(
        &mut page,
        format_args!("{}\n\n{}\n\n{counts}.\n\n## Claims\n", about.citation, about.idea),
    );
    page.push_str("| claim | place | statement | paper | ours | evidence | verdict |\n|---|---|---|---|---|---|---|\n");
    for verdict in report.of(about.paper) {
        let claim = verdict.claim;
        line(
            &mut page,
            format_args!(
                "| <a id=\"{}\"></a>{} | {} | {} | {} | {} | {} | {} |",
                claim.id,
                claim.id,
                escaped(place(&claim.place)),
                escaped(&claim.text),
                published(verdict),
                found(verdict),
                claim.class.name(),
                if verdict.is_by_construction() {
                    "holds by construction"
                } else {
                    verdict.state.name()
                }
            ),
        );
    }
    differing(&mut page, report, about);
    page.push_str("\n## Charts\n\nDashed lines and hollow marks are numbers of the paper.\n");
    charts(&mut page, report, about.page);
    page
}

/// Lists the claims that differ by the cause of the difference.
fn differing(page: &mut String, report: &Report<'_>, about: &About) {
    let all = || report.of(about.paper).filter(|it| it.state == ClaimState::Differs);
    if all().next().is_none() {
        return;
    }
    page.push_str("\n## What differs, and why\n");
    for cause in Cause::ALL.into_iter().map(Some).chain([None]) {
        let mut of_cause = all().filter(|it| it.claim.cause == cause).peekable();
        if of_cause.peek().is_none() {
            continue;
        }
        line(page, format_args!("\n### Cause: {}\n", cause.map_or("other", Cause::name)));
        for verdict in of_cause {
            line(
                page,
                format_args!(
                    "- **{}** {} Paper: {}. Ours: {}. Reason: {}.",
                    verdict.claim.id,
                    escaped(&verdict.claim.text),
                    published(verdict),
                    found(verdict),
                    escaped(&separated(verdict.note.unwrap_or("unknown").trim_end_matches('.')))
                ),
            );
        }
    }
}

fn ours(report: &Report<'_>) -> String {
    let mut page = String::from("# Beyond the papers\n\n");
    page.push_str("These experiments are ours. They decide no claim of a paper.\n");
    charts(&mut page, report, OURS);
    page
}

/// Writes the charts of the experiments in a folder. Those of our own have their short tables, too.
fn charts(page: &mut String, report: &Report<'_>, folder: &'static str) {
    let is_ours = folder == OURS;
    for it in report.experiments(folder) {
        let Experiment { id, title, place: at, .. } = it.experiment;
        let Some(outcome) = it.outcome().filter(|it| !it.charts.is_empty()) else { continue };
        let heading = if is_ours { "##" } else { "###" };
        line(page, format_args!("\n{heading} {}\n", escaped(title)));
        if !is_ours {
            write_all(page, format_args!("{}: ", escaped(place(at))));
        }
        let decided: Vec<&str> = outcome.verdicts.iter().map(|it| it.claim).collect();
        match decided.is_empty() {
            true => line(page, format_args!("`sluice reproduce {id}`.")),
            false => {
                line(page, format_args!("`sluice reproduce {id}` decides {}.", decided.join(", ")))
            }
        }
        line(page, format_args!("\n![{}]({})", escaped(title), file(it)));
        let short = |table: &&Table| is_ours && table.rows.len() <= MOST_ROWS;
        outcome.tables.iter().filter(short).for_each(|it| table(page, it));
    }
}

fn table(page: &mut String, table: &Table) {
    line(page, format_args!("\n{} ({}):\n", escaped(&table.title), table.provenance));
    let cells = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|it| escaped(it)).collect();
        format!("| {} |", cells.join(" | "))
    };
    let columns: Vec<String> = table.columns.iter().map(|&it| it.to_owned()).collect();
    line(page, format_args!("{}\n|{}", cells(&columns), "---|".repeat(columns.len())));
    table.rows.iter().for_each(|row| line(page, format_args!("{}", cells(row))));
}

fn published(verdict: &ClaimVerdict<'_>) -> String {
    let restored = if verdict.claim.source == ClaimSource::Restored { " (restored)" } else { "" };
    escaped(&verdict.claim.published) + restored
}

fn found(verdict: &ClaimVerdict<'_>) -> String {
    verdict.found.map_or_else(|| "–".to_owned(), |found| escaped(&separated(found)))
}

/// Returns a text so that Markdown shows it as it is, also in a cell of a table.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '#' => {
                escaped.push('\\');
                escaped.push(character);
            }
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    write_all(page, text);
    page.push('\n');
}

fn write_all(page: &mut String, text: std::fmt::Arguments<'_>) {
    // A string takes everything.
    let _ = page.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, ReportedResult, Results, Setting, experiments};

    #[test]
    fn the_same_evaluation_gives_the_same_pages() {
        let setting = Setting::QUICK;
        let reported = |experiment| ReportedExperiment {
            experiment,
            result: match Experiment::evaluate(experiment, &setting, &Results::default()) {
                Ok(outcome) => ReportedResult::Outcome(outcome),
                Err(_) => ReportedResult::NotRun,
            },
        };
        let input = ReportInput {
            setting,
            machine: Machine { processor: Some("a|b <c>".to_owned()), ..Machine::default() },
            version: "1".to_owned(),
            date: "2026-01-01".to_owned(),
            command: "sluice reproduce --to /secret/folder".to_owned(),
            experiments: experiments().map(reported).collect(),
        };
        let files = pages(&input);
        assert_eq!(files, pages(&input));
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[..5], ["index.md", "pushdowndb.md", "cheetah.md", "icpe.md", "ours.md"]);
        let all: String = files.iter().map(|(_, text)| text.as_str()).collect();
        assert!(!all.contains("/secret/folder") && all.contains("a\\|b \\<c\\>"));
        for claim in crate::claims() {
            assert_eq!(all.matches(&format!("<a id=\"{}\">", claim.id)).count(), 1);
        }
        for (name, _) in files.iter().filter(|(name, _)| name.ends_with(".svg")) {
            assert_eq!(all.matches(&format!("({name})")).count(), 1, "{name}");
        }
        for row in all.lines().filter(|line| line.starts_with("| <a id=")) {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 8, "{row}");
        }
    }

    #[test]
    fn text_is_shown_as_it_is() {
        assert_eq!(escaped("a|b *c* <d> [e]_f"), "a\\|b \\*c\\* \\<d\\> \\[e\\]\\_f");
        assert_eq!(escaped("a\nb"), "a b");
    }
}
