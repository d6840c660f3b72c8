//! The section of a statement that ran.

use datafusion::physical_plan::display::DisplayableExecutionPlan;
use sluicegate_costmodel::{Cost, Work};
use sluicegate_engine::Engine;
use sluicegate_engine::choice::Decision;

use super::section::{Numbers, Section};
use crate::failure::Result;
use crate::output::stats;
use crate::session::StatementOutcome;

/// Builds the section of a statement that ran or failed, with all counts until then.
pub(super) fn section(
    engine: &Engine,
    statement: &str,
    ran: StatementOutcome,
    result: &Result<()>,
) -> Section {
    let StatementOutcome { query, is_definition, wall, rows, notes } = ran;
    let failure = result.as_ref().err().map(|failure| failure.words());
    let is_definition = is_definition && failure.is_none();
    let statement = statement.to_owned();
    let section = Section { statement, is_definition, notes, failure, rows, ..Section::default() };
    let Some(query) = query else { return section };
    let Some(profile) = query.report() else { return section };
    let prices = &engine.endpoint().prices;
    let counted = query.counted();
    let work = counted.work(wall);
    let (cost, prices) = (prices.cost(&work), stats::book(prices));
    let predictions = || profile.decisions.iter().filter_map(Decision::prediction);
    let predicted: (Work, Cost) =
        (predictions().map(|way| way.work).sum(), predictions().map(|way| way.cost).sum());
    let predicted = predictions().next().is_some().then_some(predicted);
    let plan = profile.plan.as_ref().map(|plan| {
        DisplayableExecutionPlan::with_metrics(plan.as_ref()).indent(false).to_string()
    });
    Section {
        picture: profile.picture,
        decisions: profile.decisions,
        plan: plan.unwrap_or_default(),
        numbers: Some(Numbers { work, cost, prices, has_run: true }),
        predicted,
        recorded: Some(profile.recorded),
        ..section
    }
}
