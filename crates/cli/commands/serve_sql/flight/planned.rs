//! Planned statements, and how they run.
//!
//! A query is planned when a client asks for its `FlightInfo`, so that errors and refusals come before any data. A
//! statement that defines or writes something has run by then: drivers fetch answers in the background, while the
//! program sends its next statement.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::EmptyRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt};
use sluicegate_engine::{Effect, Engine, Error, Query};
use sluicegate_postgres::{SqlError, lex, state};
use tokio::time::timeout;

use super::connection::Connection;
use crate::commands::serve_sql::errors;
use crate::commands::serve_sql::rules::{Rules, rows_written};
use crate::output::titles::{retitled, titled};
use crate::runtime::compute::Threads;

/// The most rows of parameters of a query, each of which is planned.
const MOST_QUERIES: usize = 1024;
/// What a plan is counted with, in addition to its text. Its true size is not known.
const PLAN_BYTES: usize = 16 << 10;
/// What an update reports if its number of rows is not known.
const UNKNOWN_ROWS: i64 = -1;

/// A planned statement. It has several texts if it has several rows of parameters.
#[derive(Debug)]
pub(super) struct Planned {
    /// The columns, if they are known before the statement runs.
    pub(super) schema: Option<SchemaRef>,
    /// The bytes that the statement counts.
    pub(super) bytes: usize,
    work: Work,
}

enum Work {
    Queries(Vec<(String, Query)>),
    /// Statements that are planned when they run.
    Later(Vec<String>),
    /// The answer of statements that have run.
    Done(SchemaRef, Vec<RecordBatch>),
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Queries(_) => "Queries",
            Self::Later(_) => "Later",
            Self::Done(..) => "Done",
        })
    }
}

/// Returns the one statement of a text.
///
/// # Errors
///
/// If the text has none, or several.
pub(super) fn single(text: &str) -> Result<&str, SqlError> {
    match lex::statements(text).as_slice() {
        [(_, statement)] => Ok(statement),
        [] => Err(SqlError::new(state::SYNTAX_ERROR, "the text has no statement")),
        _ => Err(SqlError::new(state::SYNTAX_ERROR, "the text has several statements")
            .with_hint("Send one after another.")),
    }
}

/// Runs work that may take so long.
async fn timed<T>(
    limit: Option<Duration>,
    work: impl Future<Output = Result<T, SqlError>>,
) -> Result<T, SqlError> {
    let work = Box::pin(work);
    match limit {
        Some(limit) => timeout(limit, work).await.map_err(|_| timed_out())?,
        None => work.await,
    }
}

/// Returns the error of a statement that takes too long.
pub(super) fn timed_out() -> SqlError {
    let message = "the statement ran into the server's time limit for statements";
    let hint = "Ask for a higher --statement-timeout of the server.";
    SqlError::new(state::QUERY_CANCELED, message).with_hint(hint)
}

/// Plans a statement, whose texts differ only in their parameters.
pub(super) async fn plan(
    connection: &Arc<Connection>,
    statements: Vec<String>,
    limit: Option<Duration>,
) -> Result<Planned, SqlError> {
    let _waiting = connection.waiting();
    let client = connection.client();
    let rules = client.rules();
    let bytes = statements.iter().map(|sql| sql.len() + PLAN_BYTES).sum();
    let planned = async {
        let engine = client.engine(|_| ()).await?;
        client.run(async move { planned(&engine, rules, statements).await }).await
    };
    let (schema, work) = timed(limit, planned).await?;
    Ok(Planned { schema, bytes, work })
}

async fn planned(
    engine: &Engine,
    rules: Rules,
    statements: Vec<String>,
) -> Result<(Option<SchemaRef>, Work), SqlError> {
    let mut queries = Vec::new();
    for sql in &statements {
        let failed = |error: Error| errors::of_engine(&error, sql);
        if rules.check(engine, sql, false).await? != Effect::Reads {
            let outline = engine.outline(sql).await.ok();
            let schema = outline.map(|it| it.schema).filter(|it| !it.fields().is_empty());
            return Ok((schema, Work::Later(statements)));
        }
        if queries.len() == MOST_QUERIES {
            let message = format!("a query has at most {MOST_QUERIES} rows of parameters");
            return Err(SqlError::new(state::PROGRAM_LIMIT, message));
        }
        let query = engine.plan(sql).await.map_err(failed)?;
        queries.push((sql.clone(), query));
    }
    // The protocol has no place for notes that drivers show.
    drop(engine.take_notes());
    let schema = queries.first().map(|(sql, query)| titled_schema(sql, query));
    Ok((schema, Work::Queries(queries)))
}

fn titled_schema(sql: &str, query: &Query) -> SchemaRef {
    let schema = query.schema();
    retitled(&schema, sql).unwrap_or(schema)
}

/// Runs a statement to its end if it defines or writes something.
pub(super) async fn finish(
    connection: &Arc<Connection>,
    planned: Planned,
    limit: Option<Duration>,
) -> Result<Planned, SqlError> {
    if matches!(planned.work, Work::Queries(_)) {
        return Ok(planned);
    }
    let bytes = planned.bytes;
    let rows = start(connection, planned, limit).await?;
    let _waiting = connection.waiting();
    let columns = rows.schema();
    // They say how many rows were written, at most.
    let batches = timed(limit, async move {
        rows.try_collect().await.map_err(|error| errors::of_engine(&error.into(), ""))
    });
    let work = Work::Done(Arc::clone(&columns), batches.await?);
    Ok(Planned { schema: Some(columns), bytes, work })
}

/// Starts a planned statement. Dropping the rows stops it.
pub(super) async fn start(
    connection: &Arc<Connection>,
    planned: Planned,
    limit: Option<Duration>,
) -> Result<SendableRecordBatchStream, SqlError> {
    let _waiting = connection.waiting();
    let client = connection.client();
    let threads = client.threads().clone();
    let statements = match (planned.work, planned.schema) {
        (Work::Queries(queries), schema) => {
            let schema = schema.unwrap_or_else(|| Arc::new(Schema::empty()));
            return Ok(in_turn(threads, queries, schema));
        }
        (Work::Done(columns, batches), _) => {
            let batches = futures::stream::iter(batches.into_iter().map(Ok));
            return Ok(Box::pin(RecordBatchStreamAdapter::new(columns, batches)));
        }
        (Work::Later(statements), _) => statements,
    };
    let started = async {
        let engine = client.engine(|_| ()).await?;
        let (rules, on) = (client.rules(), threads.clone());
        let started = async move {
            let mut last: SendableRecordBatchStream =
                Box::pin(EmptyRecordBatchStream::new(Arc::new(Schema::empty())));
            for sql in &statements {
                drain(last, sql).await?;
                rules.check(&engine, sql, false).await?;
                let query = engine.plan(sql).await;
                let query = query.map_err(|error| errors::of_engine(&error, sql))?;
                last = titled(on.start(query), sql);
            }
            drop(engine.take_notes());
            Ok(last)
        };
        client.run(started).await
    };
    timed(limit, started).await
}

/// Returns the rows of queries, one query after another.
fn in_turn(
    threads: Threads,
    queries: Vec<(String, Query)>,
    schema: SchemaRef,
) -> SendableRecordBatchStream {
    let queries = futures::stream::iter(queries);
    let rows = queries.flat_map(move |(sql, query)| titled(threads.start(query), &sql));
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

/// Runs statements to their end, one after another. Returns the number of rows that they wrote.
pub(super) async fn update(
    connection: &Arc<Connection>,
    statements: Vec<String>,
    limit: Option<Duration>,
) -> Result<i64, SqlError> {
    let _waiting = connection.waiting();
    let client = connection.client();
    let (rules, threads) = (client.rules(), client.threads().clone());
    let updated = async {
        let engine = client.engine(|_| ()).await?;
        let updated = async move {
            let mut written = 0_i64;
            for sql in &statements {
                let effect = rules.check(&engine, sql, false).await?;
                let query = engine.plan(sql).await;
                let query = query.map_err(|error| errors::of_engine(&error, sql))?;
                let plan = query.frame().logical_plan();
                let writes = matches!(plan, LogicalPlan::Copy(_) | LogicalPlan::Dml(_));
                let rows = drain(threads.start(query), sql).await?;
                written = match (writes, effect) {
                    (true, _) => written.saturating_add(i64::try_from(rows).unwrap_or(i64::MAX)),
                    (false, Effect::Reads) => UNKNOWN_ROWS,
                    (false, _) => written,
                };
            }
            drop(engine.take_notes());
            Ok(written)
        };
        client.run(updated).await
    };
    timed(limit, updated).await
}

/// Reads all rows. Returns the number of rows that they say were written.
async fn drain(mut rows: SendableRecordBatchStream, sql: &str) -> Result<u64, SqlError> {
    let mut written = 0;
    while let Some(batch) = rows.next().await {
        written += rows_written(&batch.map_err(|error| errors::of_engine(&error.into(), sql))?);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_statement() {
        assert_eq!(single(" SELECT ';' ; -- end").unwrap().trim(), "SELECT ';'");
        single("SELECT 1; SELECT 2").unwrap_err();
        single(" -- nothing").unwrap_err();
    }
}
