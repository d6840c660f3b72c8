//! The report: one HTML file with all charts, tables and verdicts, which needs no other file and no network.
//!
//! It is one long document. A script shows one of its pages at a time: `overview`, a `paper` each with its `experiment`s,
//! the index of `claims`, and `method`. `table` writes numbers and their CSV files. `pages` writes pages of the site instead,
//! from an evaluation that `recorded` reads. External text can only enter through
//! [`Markup::text`], which escapes it, and the page's policy forbids other scripts and all requests.

mod agreement;
mod badge;
mod claims;
mod conditions;
mod experiment;
mod headlines;
mod machine;
mod method;
mod overview;
mod pages;
mod paper;
mod policy;
mod recorded;
mod table;

use crate::chart::svg::{RULES, variables};
use crate::markup::Markup;
use crate::{ClaimCounts, ClaimVerdict, Experiment, Outcome, Paper, Setting};

use self::headlines::PAPERS;
pub use self::machine::Machine;
pub use self::pages::pages;
pub use self::recorded::RecordedError;

/// The contents of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportInput {
    /// The size of the evaluation.
    pub setting: Setting,
    /// The machine that ran it.
    pub machine: Machine,
    /// The version of `sluice`.
    pub version: String,
    /// The day of the evaluation.
    pub date: String,
    /// The command that made the report.
    pub command: String,
    /// All experiments, in the order of the papers.
    pub experiments: Vec<ReportedExperiment>,
}

/// An experiment in a report.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedExperiment {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// What became of it.
    pub result: ReportedResult,
}

/// What became of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub enum ReportedResult {
    /// It ran to its end.
    Outcome(Outcome),
    /// It failed for this reason.
    Failed(String),
    /// It was not asked for, or the evaluation was stopped.
    NotRun,
}

impl PartialEq for Experiment {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// The report's input with the verdicts on all claims.
struct Report<'a> {
    input: &'a ReportInput,
    verdicts: Vec<ClaimVerdict<'a>>,
}

impl<'a> Report<'a> {
    fn new(input: &'a ReportInput) -> Self {
        let outcomes = || input.experiments.iter().filter_map(ReportedExperiment::outcome);
        let of = |claim| ClaimVerdict::of(claim, outcomes());
        Self { input, verdicts: crate::claims().iter().map(of).collect() }
    }

    /// Returns the verdicts on the claims of a paper.
    fn of(&self, paper: Paper) -> impl Iterator<Item = &ClaimVerdict<'a>> {
        self.verdicts.iter().filter(move |it| it.claim.paper() == paper)
    }

    /// Returns the verdict on a claim.
    fn verdict(&self, id: &str) -> Option<&ClaimVerdict<'a>> {
        self.verdicts.iter().find(|it| it.claim.id == id)
    }

    /// Returns the counts of all verdicts.
    fn counts(&self) -> ClaimCounts {
        self.verdicts.iter().collect()
    }

    /// Returns the experiments in a folder.
    fn experiments(&self, folder: &'static str) -> impl Iterator<Item = &'a ReportedExperiment> {
        let is_in = move |id: &str| id.split_once('/').is_some_and(|(it, _)| it == folder);
        self.input.experiments.iter().filter(move |it| is_in(it.experiment.id))
    }
}

impl ReportedExperiment {
    /// Returns the outcome, if the experiment ran to its end.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Outcome> {
        match &self.result {
            ReportedResult::Outcome(outcome) => Some(outcome),
            ReportedResult::Failed(_) | ReportedResult::NotRun => None,
        }
    }
}

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Returns the report as an HTML file.
#[must_use]
pub fn report(input: &ReportInput) -> String {
    let report = Report::new(input);
    let mut html = Markup::default();
    head(&mut html);
    html.raw("<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
    navigation(&mut html, &report);
    html.raw("<main id=\"main\">\n");
    overview::write(&mut html, &report);
    for about in &PAPERS {
        paper::write(&mut html, &report, about);
    }
    paper::write_ours(&mut html, &report);
    claims::write(&mut html, &report);
    method::write(&mut html, &report);
    html.raw("</main>\n<footer>Sluicegate ").text(&input.version).raw(", ").text(&input.date);
    html.raw("</footer>\n<script>").raw(SCRIPT).raw("</script>\n</body></html>\n");
    html.into_string()
}

fn head(html: &mut Markup) {
    html.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">");
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"");
    html.text(policy::policy(SCRIPT))
        .raw("\">\n<title>Three papers, reproduced</title>\n<style>\n");
    html.raw(":root{").text(variables(false)).raw("}\n");
    html.raw("@media screen and (prefers-color-scheme:dark){:root:not([data-theme=light]){");
    html.text(variables(true)).raw("}}\n@media screen{:root[data-theme=dark]{");
    html.text(variables(true)).raw("}}\n").raw(RULES).raw(STYLE).raw("</style></head>\n");
}

fn navigation(html: &mut Markup, report: &Report<'_>) {
    html.raw("<header class=\"top\"><nav aria-label=\"Pages\"><ul>");
    html.raw("<li><a href=\"#overview\">Overview</a>");
    for about in &PAPERS {
        html.raw("<li><a href=\"#").raw(about.page).raw("\">").raw(about.name).raw("</a>");
    }
    if report.experiments("ours").next().is_some() {
        html.raw("<li><a href=\"#ours\">Beyond the papers</a>");
    }
    html.raw("<li><a href=\"#claims\">Claims</a><li><a href=\"#method\">Method</a></ul></nav>");
    html.raw("<button type=\"button\" class=\"theme\" hidden>Dark theme</button></header>\n");
}

#[cfg(test)]
mod tests;
