//! Answers about catalogs, schemas, tables and keys.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetTableTypes, CommandGetTables,
};
use sluicegate_postgres::SqlError;
use tonic::Status;

use super::connection::Connection;
use super::{answer, errors};
use crate::commands::serve_sql::errors::of_engine;
use crate::commands::serve_sql::tables::SessionTables;

const TABLE: &str = "TABLE";
const VIEW: &str = "VIEW";
/// The schema with the engine's own tables.
const SYSTEM: &str = "information_schema";

/// Looks the tables of a session up.
async fn tables(connection: &Arc<Connection>) -> Result<SessionTables, Status> {
    let _waiting = connection.waiting();
    let client = connection.client();
    let listed = async {
        let engine = client.engine(|_| ()).await?;
        let listed = async move {
            let listed = SessionTables::list(&engine, |schema| schema == SYSTEM).await;
            listed.map_err(|error| of_engine(&error.into(), ""))
        };
        client.run(listed).await
    };
    listed.await.map_err(|error: SqlError| errors::status(&error))
}

pub(super) async fn catalogs(
    connection: &Arc<Connection>,
    command: CommandGetCatalogs,
) -> Result<RecordBatch, Status> {
    let mut builder = command.into_builder();
    builder.append(tables(connection).await?.catalog);
    builder.build().map_err(|error| errors::of_arrow(&arrow_error(error)))
}

pub(super) async fn schemas(
    connection: &Arc<Connection>,
    command: CommandGetDbSchemas,
) -> Result<RecordBatch, Status> {
    let mut builder = command.into_builder();
    let listed = tables(connection).await?;
    for schema in &listed.schemas {
        builder.append(&listed.catalog, schema);
    }
    builder.build().map_err(|error| errors::of_arrow(&arrow_error(error)))
}

pub(super) async fn tables_of(
    connection: &Arc<Connection>,
    command: CommandGetTables,
) -> Result<RecordBatch, Status> {
    let failed = |error| errors::of_arrow(&arrow_error(error));
    let mut builder = command.into_builder();
    let listed = tables(connection).await?;
    for table in &listed.tables {
        let kind = if table.is_view { VIEW } else { TABLE };
        let columns = answer::sent_schema(&table.columns);
        builder
            .append(&listed.catalog, &table.schema, &table.name, kind, &columns)
            .map_err(failed)?;
    }
    builder.build().map_err(failed)
}

pub(super) fn table_types(command: CommandGetTableTypes) -> Result<RecordBatch, Status> {
    let mut builder = command.into_builder();
    builder.append(TABLE);
    builder.append(VIEW);
    builder.build().map_err(|error| errors::of_arrow(&arrow_error(error)))
}

/// The builders fail with errors of Flight, which nearly always are Arrow's.
fn arrow_error(error: arrow_flight::error::FlightError) -> arrow::error::ArrowError {
    match error {
        arrow_flight::error::FlightError::Arrow(error) => error,
        other => arrow::error::ArrowError::ExternalError(Box::new(other)),
    }
}

/// Returns the columns of an answer about primary keys. There are none.
pub(super) fn primary_keys() -> SchemaRef {
    let mut fields = of_table("");
    fields.push(Field::new("key_name", DataType::Utf8, true));
    fields.push(Field::new("key_sequence", DataType::Int32, false));
    Arc::new(Schema::new(fields))
}

/// Returns the columns of an answer about foreign keys. There are none.
pub(super) fn foreign_keys() -> SchemaRef {
    let mut fields = of_table("pk_");
    fields.extend(of_table("fk_"));
    fields.push(Field::new("key_sequence", DataType::Int32, false));
    fields.push(Field::new("fk_key_name", DataType::Utf8, true));
    fields.push(Field::new("pk_key_name", DataType::Utf8, true));
    fields.push(Field::new("update_rule", DataType::UInt8, false));
    fields.push(Field::new("delete_rule", DataType::UInt8, false));
    Arc::new(Schema::new(fields))
}

fn of_table(prefix: &str) -> Vec<Field> {
    let field = |name, nullable| Field::new(format!("{prefix}{name}"), DataType::Utf8, nullable);
    vec![
        field("catalog_name", true),
        field("db_schema_name", true),
        field("table_name", false),
        field("column_name", false),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_columns_of_the_protocol() {
        let names = |schema: SchemaRef| {
            schema.fields().iter().map(|it| it.name().clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            names(primary_keys()),
            "catalog_name db_schema_name table_name column_name key_name key_sequence"
        );
        assert_eq!(foreign_keys().fields().len(), 13);
        assert!(names(foreign_keys()).starts_with("pk_catalog_name pk_db_schema_name"));
        let batch = table_types(CommandGetTableTypes {}).unwrap();
        assert_eq!(batch.num_rows(), 2);
    }
}
