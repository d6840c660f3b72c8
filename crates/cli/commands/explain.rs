//! `sluice explain`

use std::borrow::Cow;
use std::io::{self, Write};

use datafusion::physical_plan::displayable;
use sluicegate_costmodel::Cost;
use sluicegate_engine::choice::Decision;
use sluicegate_engine::{Engine, Explanation};

use crate::args::ExplainArgs;
use crate::commands::sql::script;
use crate::failure::{Failure, Result};
use crate::output::escape::visible;
use crate::output::html::{Numbers, Page, Section};
use crate::output::progress::print_line;
use crate::output::stats;
use crate::output::tree::tree;
use crate::runtime::terminal;
use crate::session::is_query;

pub(crate) async fn run(args: ExplainArgs) -> Result<()> {
    let script = script(&args.statements)?.unwrap_or_default();
    let statements = script.statements();
    if statements.is_empty() {
        return Err(Failure::Usage("there is nothing to explain; give a query with -c".to_owned()));
    }
    let page = args.html.as_deref().map(|path| Page::begin(path, "What the statements would do"));
    let mut page = page.transpose()?;
    let engine = args.connect.connect_with(&args.workers).await?;
    let mut outcome = Ok(());
    // Tables that a statement before would create from a query.
    let mut unmade = false;
    for (index, statement) in statements.iter().enumerate() {
        let explained = explain(&engine, statement).await;
        for note in engine.take_notes() {
            print_line(&format!("note: {note}"));
        }
        if let Some(page) = &mut page {
            page.add(section(&engine, statement, &explained));
        }
        let is_made = explained.as_ref().is_ok_and(Option::is_some);
        outcome = match explained {
            Ok(Some(explanation)) if page.is_none() => print(&engine, &explanation),
            Ok(_) => Ok(()),
            Err(failure) if unmade && failure.words().0.ends_with("' not found") => {
                let failure = failure.with_hint(NOT_MADE);
                Err(script.failed((index, statements.len()), statement, failure))
            }
            Err(failure) => Err(script.failed((index, statements.len()), statement, failure)),
        };
        if outcome.is_err() {
            break;
        }
        let mut words = statement.split_whitespace();
        unmade |= is_made && words.next().is_some_and(|word| word.eq_ignore_ascii_case("create"));
    }
    match page {
        // If the page cannot be written, too, the error of the statement is the one to report.
        Some(page) => outcome.and(page.finish(&about(&engine))),
        None => outcome,
    }
}

/// The hint for a table of CREATE TABLE … AS, which is explained and does not run.
const NOT_MADE: &str = "`sluice explain` runs no CREATE TABLE … AS: write CREATE VIEW … AS, and its query is explained with \
                        those that read it.";

/// Explains a query. A definition is executed and returns `None`.
pub(super) async fn explain(engine: &Engine, statement: &str) -> Result<Option<Explanation>> {
    // A query is planned once: what planning reads is counted.
    if engine.is_query(statement) || is_query(engine, statement).await? {
        return Ok(Some(Box::pin(engine.explain(statement)).await?));
    }
    let definition = Box::pin(engine.query(statement)).await?;
    Box::pin(definition.collect()).await?;
    Ok(None)
}

/// Returns the plan of a query, its strategies and its predicted numbers as text.
pub(crate) fn text(engine: &Engine, explanation: &Explanation) -> String {
    let endpoint = engine.endpoint();
    let estimate = explanation.estimate();
    let prediction =
        stats::prediction(&estimate, &endpoint.hardware.introduction(), &endpoint.prices);
    let planning = stats::planning(&explanation.planning)
        .map_or_else(String::new, |planning| format!("planning: {planning}\n"));
    format!("{explanation}{prediction}{planning}")
}

fn print(engine: &Engine, explanation: &Explanation) -> Result<()> {
    let text = text(engine, explanation);
    let text = visible(&text);
    let text = match (terminal::width(), text.split_once("\n\n")) {
        (Some(width), Some((plan, said))) => Cow::Owned(tree(plan, said, width)),
        _ => text,
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Returns the note of a page on the source of its numbers.
fn about(engine: &Engine) -> String {
    let endpoint = engine.endpoint();
    format!(
        "Nothing ran: all numbers are modelled, for the hardware {} and the prices {}.",
        endpoint.hardware.introduction(),
        stats::book(&endpoint.prices)
    )
}

fn section(engine: &Engine, statement: &str, explained: &Result<Option<Explanation>>) -> Section {
    let statement = statement.to_owned();
    let explanation = match explained {
        Ok(Some(explanation)) => explanation,
        Ok(None) => return Section { statement, is_definition: true, ..Section::default() },
        Err(failure) => {
            return Section { statement, failure: Some(failure.words()), ..Section::default() };
        }
    };
    let predictions = || explanation.decisions.iter().filter_map(Decision::prediction);
    let estimate = explanation.estimate();
    let cost: Cost = predictions().map(|way| way.cost).sum();
    let prices = stats::book(&engine.endpoint().prices);
    let mut work = estimate.work;
    work.wall = estimate.time;
    let refused = explanation.refusals.iter();
    Section {
        statement,
        picture: explanation.plan_graph(),
        decisions: explanation.decisions.clone(),
        plan: displayable(explanation.plan.as_ref()).indent(false).to_string(),
        numbers: Some(Numbers { work, cost, prices, has_run: false }),
        notes: refused
            .map(|it| format!("refused before, so no longer sent: {it}"))
            .chain(stats::planning(&explanation.planning))
            .collect(),
        ..Section::default()
    }
}
