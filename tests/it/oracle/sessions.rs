//! Engines over one store, each with its own settings and tables, and their answers as text with types.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::FutureExt as _;
use sluicegate_engine::Engine;
use tokio::time::timeout;

use crate::harness::Store;

/// Timeout of a statement over these small tables.
const PATIENCE: Duration = Duration::from_secs(30);

/// Rows as text with the Arrow types of the columns. `None` is NULL.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// Names of the Arrow types, one for each column.
    pub(crate) types: Vec<String>,
    /// The rows in the order of the answer.
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

/// Named engines over one store.
pub(crate) struct Sessions {
    /// The store with the objects.
    pub(crate) store: Store,
    engines: HashMap<String, Engine>,
}

impl Sessions {
    pub(crate) async fn start() -> Self {
        Self { store: Store::start().await, engines: HashMap::new() }
    }

    /// Opens an engine and runs its settings and definitions.
    pub(crate) async fn open(&mut self, name: &str, statements: &[String]) -> Result<(), String> {
        let engine = self.store.builder().build().await.map_err(|error| error.to_string())?;
        for sql in statements {
            engine.collect(sql).await.map_err(|error| format!("{sql}: {error}"))?;
        }
        self.engines.insert(name.to_owned(), engine);
        Ok(())
    }

    /// Closes an engine.
    pub(crate) fn close(&mut self, name: &str) {
        self.engines.remove(name);
    }

    /// Runs a statement in the engine of this name. A panic becomes an error.
    pub(crate) async fn run(&self, name: &str, sql: &str) -> Result<Answer, String> {
        let engine = self.engines.get(name).ok_or_else(|| format!("no session `{name}`"))?;
        let answer =
            AssertUnwindSafe(timeout(PATIENCE, Box::pin(answer(engine, sql)))).catch_unwind().await;
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(format!("no answer within {PATIENCE:?}")),
            Err(_) => Err("panic".to_owned()),
        }
    }
}

async fn answer(engine: &Engine, sql: &str) -> Result<Answer, String> {
    let frame = engine.query(sql).await.map_err(|error| error.to_string())?;
    let planned = frame.schema().as_arrow().clone();
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    // The types of the rows, because the plan's types may differ before it is analyzed.
    let schema = batches.first().map_or(planned, |batch| batch.schema().as_ref().clone());
    let types = schema.fields().iter().map(|field| field.data_type().to_string()).collect();
    let mut rows = Vec::new();
    let options = FormatOptions::new();
    for batch in &batches {
        let columns = batch.columns().iter().map(|column| {
            ArrayFormatter::try_new(column.as_ref(), &options).map_err(|error| error.to_string())
        });
        let columns = columns.collect::<Result<Vec<_>, String>>()?;
        for row in 0..batch.num_rows() {
            let value = |(column, formatter): (&arrow::array::ArrayRef, &ArrayFormatter<'_>)| {
                let is_null = column.logical_nulls().is_some_and(|nulls| nulls.is_null(row));
                (!is_null).then(|| formatter.value(row).to_string())
            };
            rows.push(batch.columns().iter().zip(&columns).map(value).collect());
        }
    }
    Ok(Answer { types, rows })
}
