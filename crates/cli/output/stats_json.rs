//! Statistics of statements as lines of JSON, for programs.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use sluicegate_costmodel::{Cost, PriceBook, Work};
use sluicegate_engine::Engine;
use sluicegate_engine::choice::Decision;

use crate::failure::Result;
use crate::output::file::PartialFile;
use crate::session::StatementOutcome;

/// A file with a line for each statement, which appears when it is finished.
#[derive(Debug)]
pub(crate) struct StatementLog {
    file: PartialFile,
}

impl StatementLog {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// If the file could not be written.
    pub(crate) fn begin(path: &Path) -> Result<Self> {
        Ok(Self { file: PartialFile::begin(path)? })
    }

    /// Adds a statement that ran or failed.
    ///
    /// # Errors
    ///
    /// If the line cannot be written.
    pub(crate) fn add(
        &mut self,
        engine: &Engine,
        statement: &str,
        ran: &StatementOutcome,
        result: &Result<()>,
    ) -> Result<()> {
        let mut line = json!({
            "statement": statement,
            "is_definition": ran.is_definition && result.is_ok(),
            "seconds": ran.wall.as_secs_f64(),
            "rows": ran.rows,
            "notes": ran.notes,
            "error": result.as_ref().err().map(|failure| failure.words().0),
        });
        if let (Some(query), Value::Object(fields)) = (&ran.query, &mut line) {
            let prices = &engine.endpoint().prices;
            let counted = query.counted();
            if let Value::Object(numbers) = numbers(&counted.work(ran.wall), prices) {
                fields.extend(numbers);
            }
            fields.insert("retries".to_owned(), counted.retries.into());
            fields.insert("fallbacks".to_owned(), counted.fallbacks.into());
            fields.insert("prices".to_owned(), prices.name.as_str().into());
            if let Some(profile) = query.report() {
                fields.insert("predicted".to_owned(), predicted(&profile.decisions));
                fields.insert("strategies".to_owned(), strategies(&profile.decisions));
            }
        }
        Ok(writeln!(self.file.file(), "{line}")?)
    }

    /// Completes the file.
    ///
    /// # Errors
    ///
    /// If the file cannot be renamed.
    pub(crate) fn finish(self) -> Result<()> {
        self.file.finish()
    }
}

/// Returns counted requests and bytes, and what they cost.
pub(crate) fn numbers(work: &Work, prices: &PriceBook) -> Value {
    let requests = &work.requests;
    json!({
        "requests": {
            "total": requests.total().0,
            "get": requests.get.0,
            "select": requests.select.0,
            "list": requests.list.0,
            "head": requests.head.0,
            "put": requests.put.0,
        },
        "bytes": {
            "scanned": work.scanned.0,
            "returned": work.returned.0,
            "fetched": work.got.0,
            "sent": work.sent.0,
            "link": work.link.0,
        },
        "store_seconds": work.store.as_secs_f64(),
        "dollars": dollars(&prices.cost(work)),
    })
}

fn dollars(cost: &Cost) -> Value {
    json!({
        "total": cost.total().0,
        "requests": cost.requests.0,
        "scanned": cost.scanned.0,
        "processed": cost.processed.0,
        "store_compute": cost.store_compute.0,
        "returned": cost.returned.0,
        "retrieved": cost.retrieved.0,
        "transfer": cost.transfer.0,
        "compute": cost.compute.0,
    })
}

/// Returns the prediction for all operators; null if there is none.
pub(crate) fn predicted(decisions: &[Decision]) -> Value {
    let ways = || decisions.iter().filter_map(Decision::prediction);
    if ways().next().is_none() {
        return Value::Null;
    }
    let (work, cost): (Work, Cost) =
        (ways().map(|way| way.work).sum(), ways().map(|way| way.cost).sum());
    json!({
        "seconds": work.wall.as_secs_f64(),
        "dollars": cost.total().0,
        "requests": work.requests.total().0,
        "scanned": work.scanned.0,
        "link": work.link.0,
    })
}

/// Returns the strategy of each operator that has a choice.
pub(crate) fn strategies(decisions: &[Decision]) -> Value {
    let strategy = |decision: &Decision| {
        json!({
            "operator": decision.operator,
            "subject": decision.subject,
            "strategy": decision.strategy().unwrap_or_default(),
            "is_forced": decision.forced,
        })
    };
    decisions.iter().map(strategy).collect()
}
