//! Statements as a page: one HTML file with pictures that needs no other file.
//!
//! `section` is a statement on the page, and `executed` is one that ran. `plan_graph` and `rows` draw its plan,
//! `strategies` lists its decisions, `requests` draws the timeline, and `bill` lists the costs.
//!
//! The page has no scripts and no external resources; its policy forbids the browser to load any. External text can
//! only enter through [`Html::text`](Html::text), which escapes it.

mod bill;
mod executed;
mod plan_graph;
mod requests;
mod rows;
mod section;
mod strategies;

use std::io::Write;
use std::path::Path;

use sluicegate_engine::Engine;

pub(crate) use self::section::{Numbers, Section};
use crate::failure::Result;
use crate::output::file::PartialFile;
use crate::session::StatementOutcome;
use sluicegate_experiments::Markup as Html;

/// A page under construction. Its file appears when it is finished.
#[derive(Debug)]
pub(crate) struct Page {
    file: PartialFile,
    title: &'static str,
    sections: Vec<Section>,
}

impl Page {
    /// Begins a page.
    ///
    /// # Errors
    ///
    /// If the file could not be written.
    pub(crate) fn begin(path: &Path, title: &'static str) -> Result<Self> {
        Ok(Self { file: PartialFile::begin(path)?, title, sections: Vec::new() })
    }

    /// Adds a statement to the page.
    pub(crate) fn add(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// Adds a statement that ran or failed.
    pub(crate) fn add_run(
        &mut self,
        engine: &Engine,
        statement: &str,
        ran: StatementOutcome,
        result: &Result<()>,
    ) {
        self.add(executed::section(engine, statement, ran, result));
    }

    /// Writes the file. `about` names the sources of its numbers.
    ///
    /// # Errors
    ///
    /// If the file cannot be written; it does not appear then.
    pub(crate) fn finish(mut self, about: &str) -> Result<()> {
        let page = page(self.title, about, &self.sections);
        self.file.file().write_all(page.as_str().as_bytes())?;
        self.file.finish()
    }
}

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
    <meta name=\"color-scheme\" content=\"light dark\">\
    <meta http-equiv=\"Content-Security-Policy\" \
    content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>";

/// Builds the whole page.
fn page(title: &'static str, about: &str, sections: &[Section]) -> Html {
    let mut html = Html::default();
    html.raw(HEAD).text(title).raw("</title>\n<style>\n").raw(include_str!("page.css"));
    html.raw("</style></head>\n<body><header><h1>").text(title).raw("</h1><p class=\"about\">");
    html.text(about).raw("</p></header>\n<main>\n");
    let mut number = 1;
    for alike in sections.chunk_by(|one, next| one.is_definition && next.is_definition) {
        match alike {
            [section] if !section.is_definition => {
                section.write(&mut html, (number, sections.len()))
            }
            some => section::definitions(&mut html, some, (number, sections.len())),
        }
        number += alike.len();
        html.raw("\n");
    }
    html.raw("</main><footer>sluice ").text(env!("CARGO_PKG_VERSION"));
    html.raw("</footer></body></html>\n");
    html
}

#[cfg(test)]
mod tests {
    use sluicegate_costmodel::{
        Bytes, Candidate, HardwareProfile, Objective, Phase, PriceBook, Requests, choose,
    };
    use sluicegate_engine::choice::{Decision, Reason, Verdict};

    use super::rows::tests::joins;
    use super::*;

    const HOSTILE: &str =
        "</style></pre><script>alert(\"x\")</script><img src=x onerror='y'>&\u{202E}";

    /// Returns a decision about a scan of so many MiB.
    fn decision(subject: &str, mib: u64) -> Decision {
        let phase = Phase { gets: Requests(1), got: Bytes::mib(mib), ..Phase::default() };
        let candidate = Candidate { strategy: "get", steps: phase.into() };
        let (hardware, prices) = (HardwareProfile::paper(), PriceBook::paper());
        let choice = choose(candidate, [], hardware, prices, Objective::Time);
        let ways = vec![
            Verdict {
                strategy: "get",
                statement: Some(HOSTILE.to_owned()),
                outcome: Ok(choice.chosen),
            },
            Verdict {
                strategy: "select",
                statement: None,
                outcome: Err(Reason::new(format!("because of {HOSTILE}"))),
            },
        ];
        Decision {
            operator: "scan",
            subject: subject.to_owned(),
            chosen: Some(0),
            forced: false,
            ways,
            unmet: Some(HOSTILE.to_owned()),
            notes: vec![HOSTILE.to_owned()],
            basis: None,
        }
    }

    fn sections() -> Vec<Section> {
        let mut picture = joins();
        for (scan, decision) in [(0, 0), (1, 1), (4, 2)] {
            picture.operators[scan].decision = Some(decision);
        }
        for operator in &mut picture.operators {
            operator.detail = HOSTILE.repeat(4);
            operator.subject = operator.subject.as_ref().map(|it| format!("{it}/{HOSTILE}"));
        }
        let decisions = vec![
            decision("a", 1),
            decision("b", 10),
            decision("c", 100),
            Decision::refused("top_k", "sampling", HOSTILE, Reason::new(HOSTILE)),
        ];
        let predictions = || decisions.iter().filter_map(Decision::prediction);
        let numbers = Numbers {
            work: predictions().map(|way| way.work).sum(),
            cost: predictions().map(|way| way.cost).sum(),
            prices: HOSTILE.to_owned(),
            has_run: false,
        };
        let define = || Section {
            statement: format!("SET {HOSTILE}"),
            is_definition: true,
            ..Section::default()
        };
        vec![
            define(),
            define(),
            Section {
                statement: HOSTILE.repeat(99),
                picture,
                decisions,
                plan: HOSTILE.to_owned(),
                numbers: Some(numbers),
                notes: vec![HOSTILE.to_owned()],
                ..Section::default()
            },
            Section {
                statement: HOSTILE.to_owned(),
                failure: Some((HOSTILE.to_owned(), Some(HOSTILE.to_owned()))),
                ..Section::default()
            },
        ]
    }

    fn made() -> String {
        page("What", HOSTILE, &sections()).as_str().to_owned()
    }

    #[test]
    fn the_same_statements_make_the_same_page() {
        assert_eq!(made(), made());
    }

    #[test]
    fn no_text_becomes_markup_and_nothing_is_asked_for() {
        let page = made();
        for forbidden in ["<script", "<img", "onerror='", "\u{202E}", "http://", "https://", "url("]
        {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert!(page.matches("&lt;script&gt;").count() > 10);
        assert_eq!(page.matches("</style>").count(), 1);
        assert!(page.contains("default-src 'none'"));
    }

    /// Every element is closed in order, except for void elements.
    #[test]
    fn elements_are_closed_in_their_order() {
        let page = made();
        let body = &page[page.find("<body>").unwrap()..];
        let mut open: Vec<&str> = Vec::new();
        for tag in body.split('<').skip(1) {
            let name = tag.split([' ', '>']).next().unwrap();
            match name.strip_prefix('/') {
                Some("html") => {}
                Some(name) => assert_eq!(open.pop(), Some(name), "{tag}"),
                None if ["br", "dt", "dd", "th", "tr", "td"].contains(&name) => {}
                None => open.push(name),
            }
        }
        assert_eq!(open, [""; 0]);
    }

    #[test]
    fn every_operator_has_a_box_and_every_scan_its_ways() {
        let page = made();
        let of = |place: &str| page.matches(&format!("<div class=\"box {place}\">")).count();
        assert_eq!(["store", "switch", "client", "answer"].map(of), [3, 2, 3, 1]);
        assert_eq!(page.matches("<table class=\"ways\">").count(), 3);
        assert_eq!(page.matches("<tr class=\"taken\">").count(), 3);
        assert_eq!(page.matches("not possible: because of").count(), 3);
        for bytes in ["1.00 MiB", "10.0 MiB", "100 MiB"] {
            assert!(page.contains(&format!("<span class=\"bytes\">{bytes}</span>")), "{bytes}");
        }
        // The numbers are sums of those at the boxes.
        assert!(page.contains("<dt>Over the link<dd>111 MiB"), "{page}");
        assert!(page.contains("<dt>Requests<dd>3<"), "{page}");
        assert!(page.contains("Statements 1 to 2 of 4 define names or set options"), "{page}");
        assert!(page.contains("<h2>Statement 3 of 4</h2>"), "{page}");
    }
}
