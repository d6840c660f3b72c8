use super::*;
use crate::chart::svg::tests::examples;
use crate::{Results, Table, Verdict, experiments};
use sluicegate_costmodel::Provenance;

const HOSTILE: &str = "</script></style><script>alert(1)</script><img src=x onerror='y'>&\u{202E}";

/// The computed experiments, of which one failed; the others were not run.
fn input() -> ReportInput {
    let result = |it: &'static Experiment| match it.is_computed() {
        true => ReportedResult::Outcome(
            it.evaluate(&Setting::QUICK, &Results::default()).unwrap_or_default(),
        ),
        false => ReportedResult::NotRun,
    };
    let of = |experiment| ReportedExperiment { experiment, result: result(experiment) };
    let mut input = ReportInput {
        setting: Setting::QUICK,
        machine: Machine { processor: Some(HOSTILE.to_owned()), ..Machine::default() },
        version: HOSTILE.to_owned(),
        date: HOSTILE.to_owned(),
        command: HOSTILE.to_owned(),
        experiments: experiments().map(of).collect(),
    };
    let is_run = |it: &&mut ReportedExperiment| it.outcome().is_some();
    if let Some(it) = input.experiments.iter_mut().filter(is_run).nth(1) {
        it.result = ReportedResult::Failed(HOSTILE.to_owned());
    }
    let outcomes = input.experiments.iter_mut().filter(is_run);
    if let Some(ReportedResult::Outcome(outcome)) = outcomes.map(|it| &mut it.result).next() {
        let text = || HOSTILE.to_owned();
        outcome.charts = examples();
        outcome.charts.iter_mut().for_each(|chart| chart.title = text());
        outcome.tables.push(Table {
            title: text(),
            columns: vec![HOSTILE],
            rows: vec![vec![text()]],
            provenance: Provenance::Published(HOSTILE.into()),
        });
        for Verdict { found, note, .. } in &mut outcome.verdicts {
            (*found, *note) = (text(), Some(text()));
        }
    }
    input
}

#[test]
fn no_text_becomes_markup_and_nothing_is_asked_for() {
    let page = report(&input());
    // The addresses of workers are text in commands.
    let text = page.replace("http://127.0.0.1:91", "");
    for forbidden in
        ["<script>alert", "<img", "onerror='", "\u{202E}", "http://", "https://", "url("]
    {
        assert!(!text.contains(forbidden), "{forbidden}");
    }
    assert_eq!((page.matches("<script>").count(), page.matches("</script>").count()), (1, 1));
    assert_eq!((page.matches("<style>").count(), page.matches("</style>").count()), (1, 1));
    assert!(page.matches("&lt;script&gt;").count() > 20);
    assert!(page.contains("default-src &#39;none&#39;"));
}

#[test]
fn every_claim_is_in_the_index_once() {
    let page = report(&input());
    for claim in crate::claims() {
        assert_eq!(page.matches(&format!("<li id=\"{}\"", claim.id)).count(), 1, "{}", claim.id);
    }
}

#[test]
fn every_link_within_the_page_has_a_target_and_ids_are_unique() {
    let page = report(&input());
    let values = |attribute: &str| -> Vec<String> {
        let parts = page.split(attribute).skip(1);
        parts.map(|it| it.split('"').next().unwrap_or_default().to_owned()).collect()
    };
    let ids = values(" id=\"");
    for (at, id) in ids.iter().enumerate() {
        assert!(!ids[..at].contains(id), "{id}");
    }
    for target in values(" href=\"#").iter().chain(&values(" aria-labelledby=\"")) {
        assert!(ids.contains(target), "{target}");
    }
}

#[test]
fn every_experiment_is_shown_with_its_commands() {
    let input = input();
    let page = report(&input);
    for it in &input.experiments {
        let id = it.experiment.id;
        assert!(page.contains(&format!("<article class=\"experiment\" id=\"{id}\"")), "{id}");
        assert!(page.contains(&format!("<pre>sluice reproduce {id}")), "{id}");
    }
    assert!(page.contains("<strong>It failed:</strong>"));
    let outcomes = input.experiments.iter().filter_map(ReportedExperiment::outcome);
    let charts = outcomes.map(|outcome| outcome.charts.len()).sum::<usize>();
    assert!(charts >= examples().len());
    // The first page has a chart more if enough claims are decided. Each is drawn for screens and for phones.
    let drawn = page.matches("<svg").count();
    assert!([2 * charts, 2 * charts + 2].contains(&drawn), "{drawn}");
}

/// Every element is closed in order, except for those whose end may be left out.
#[test]
fn elements_are_closed_in_their_order() {
    let page = report(&input());
    let body = &page[page.find("<body>").unwrap()..page.find("<script>").unwrap()];
    let mut open: Vec<&str> = Vec::new();
    for tag in body.split('<').skip(1) {
        let name = tag.split([' ', '>']).next().unwrap();
        let is_empty = tag.split('>').next().is_some_and(|it| it.ends_with('/'));
        match name.strip_prefix('/') {
            Some(name) if ["li", "dt", "dd"].contains(&name) => {}
            Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
            None if is_empty || ["li", "dt", "dd", "input"].contains(&name) => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, ["body"]);
}
