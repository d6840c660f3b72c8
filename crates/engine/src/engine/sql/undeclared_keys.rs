//! Hints for keys of JSON that first appear after the sampled records, and therefore are no columns.

use datafusion::common::{DataFusionError, SchemaError, TableReference};
use datafusion::prelude::SessionContext;

use crate::catalog::files_table::FilesTable;
use crate::context::error::Error;
use crate::engine::sql;

/// Adds a hint to an error about an unknown column if the statement reads JSON; other errors are unchanged.
pub(crate) async fn undeclared_key_error(
    context: &SessionContext,
    sql: &str,
    error: Error,
) -> Error {
    let is_missing = matches!(
        error.datafusion().find_root(),
        DataFusionError::SchemaError(error, _)
            if matches!(error.as_ref(), SchemaError::FieldNotFound { .. })
    );
    // The error of `ORDER BY ALL` names no column.
    if !is_missing || !error.to_string().starts_with("No field named") {
        return error;
    }
    let tables = sql::tables(&context.state(), sql).unwrap_or_default();
    for table in tables {
        if is_json(context, table).await {
            return error.and_hint(
                "A key of JSON that first comes after 1,000 records is no column: read_json('…', sample_size => \
                 100000) looks at more of them, and CREATE EXTERNAL TABLE t (…) declares it.",
            );
        }
    }
    error
}

/// Returns whether a table is known to be JSON, without a request to the store.
async fn is_json(context: &SessionContext, table: TableReference) -> bool {
    let name = table.table().to_ascii_lowercase();
    if name.starts_with("read_") || name.contains(['/', '.']) {
        return [".json", ".ndjson", ".jsonl", "read_json("].iter().any(|it| name.contains(it));
    }
    let Ok(table) = context.table_provider(table).await else { return false };
    table.downcast_ref::<FilesTable>().is_some_and(FilesTable::is_json)
}
