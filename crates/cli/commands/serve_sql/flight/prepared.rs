//! Prepared statements.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use sluicegate_engine::{Effect, Engine, Outline};
use sluicegate_postgres::{SqlError, lex, state};

use super::bounded::handle;
use super::connection::Connection;
use super::parameters::{self, Rows};
use super::planned::single;
use super::{answer, errors as status};
use crate::commands::serve_sql::{errors, literals};
use crate::output::titles::retitled;

/// A prepared statement.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    sql: Arc<str>,
    /// The values that the client has bound.
    rows: Arc<Rows>,
}

/// What a client is told about a statement that it prepares.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) handle: String,
    /// The columns; none for a statement that returns no rows.
    pub(super) columns: SchemaRef,
    pub(super) parameters: Schema,
}

impl Prepared {
    /// Returns the number of parameters.
    pub(super) fn parameters(&self) -> usize {
        lex::highest_parameter(&self.sql)
    }

    /// Returns the statement with each row of values that the client has bound.
    pub(super) fn statements(&self) -> Result<Vec<String>, SqlError> {
        self.with(&self.rows)
    }

    /// Returns the statement with each of these rows of values.
    pub(super) fn with(&self, rows: &Rows) -> Result<Vec<String>, SqlError> {
        if self.parameters() == 0 {
            return Ok(vec![self.sql.to_string()]);
        }
        if rows.is_empty() {
            let message = "the parameters of the statement have no values";
            return Err(SqlError::new(state::UNDEFINED_PARAMETER, message)
                .with_hint("Bind values before you run it."));
        }
        rows.iter().map(|row| parameters::bound(&self.sql, row)).collect()
    }
}

/// Prepares a statement. Nothing runs.
pub(super) async fn prepare(
    connection: &Arc<Connection>,
    text: &str,
) -> Result<Described, tonic::Status> {
    let _waiting = connection.waiting();
    let client = connection.client();
    let sql = single(text).map(parameters::numbered);
    let sql: Arc<str> = sql.map_err(|error| status::status(&error))?.into();
    let held = Arc::clone(&sql);
    let described = async {
        let engine = client.engine(|_| ()).await?;
        client.run(async move { outline(&engine, &sql).await }).await
    };
    let (columns, parameters) = described.await.map_err(|error| status::status(&error))?;
    let prepared = Prepared { sql: held, rows: Arc::default() };
    let (handle, bytes) = (handle()?, prepared.sql.len());
    let mut held = connection.held();
    if !held.prepared.has_room(bytes) {
        return Err(full());
    }
    held.prepared.push(handle.clone(), bytes, prepared);
    Ok(Described { handle, columns, parameters })
}

/// Returns a prepared statement.
pub(super) fn find(connection: &Connection, handle: &[u8]) -> Result<Prepared, tonic::Status> {
    let held = connection.held();
    let found = std::str::from_utf8(handle).ok().and_then(|handle| held.prepared.get(handle));
    found.cloned().ok_or_else(|| {
        tonic::Status::not_found(
            "there is no such prepared statement\nHint: Prepare it again; it ends with its connection.",
        )
    })
}

/// Binds values to the parameters of a statement.
pub(super) fn bind(
    connection: &Connection,
    handle: &[u8],
    rows: Rows,
) -> Result<(), tonic::Status> {
    let prepared = find(connection, handle)?;
    let literals = rows.iter().flatten().map(|literal| literal.len() + size_of::<String>());
    let bytes = prepared.sql.len() + literals.sum::<usize>();
    let prepared = Prepared { rows: Arc::new(rows), ..prepared };
    let handle = String::from_utf8_lossy(handle);
    match connection.held().prepared.replace(&handle, bytes, prepared) {
        true => Ok(()),
        false => Err(full()),
    }
}

fn full() -> tonic::Status {
    tonic::Status::resource_exhausted(
        "the connection has too many prepared statements\nHint: Close those that you no longer need.",
    )
}

/// Returns the columns and the parameters of a statement.
async fn outline(engine: &Engine, sql: &str) -> Result<(SchemaRef, Schema), SqlError> {
    let count = lex::highest_parameter(sql);
    let outline = match engine.outline(sql).await {
        // A type that cannot be inferred is that of a text.
        Err(_) if count > 0 => engine.outline(&literals::untyped(sql)).await,
        outline => outline,
    };
    let outline = match outline {
        Ok(outline) => outline,
        // Some statements that write have no plan before they run.
        Err(error) => match engine.effect(sql).await {
            Ok(Effect::Writes) => return Ok((Arc::new(Schema::empty()), Schema::empty())),
            _ => return Err(errors::of_engine(&error, sql)),
        },
    };
    let columns = match outline.effect {
        Effect::Reads => {
            let titled = retitled(&outline.schema, sql);
            answer::sent_schema(&titled.unwrap_or_else(|| Arc::clone(&outline.schema)))
        }
        // Drivers run statements without columns as updates.
        _ => Arc::new(Schema::empty()),
    };
    Ok((columns, parameters_of(&outline, count)))
}

fn parameters_of(outline: &Outline, count: usize) -> Schema {
    let field = |number: usize| {
        let name = format!("${number}");
        let kind = outline.parameters.get(&name).cloned().flatten();
        Field::new(name, kind.unwrap_or(DataType::Utf8), true)
    };
    let fields = (1..=count).map(field).collect::<Vec<_>>();
    Schema::clone(&answer::sent_schema(&Schema::new(fields)))
}
