//! Refuses DROP TABLE of a view, and DROP VIEW of a table.

use datafusion::common::{Result, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, TableType};

use crate::context::error::{ErrorKind, UserError};

/// Checks that DROP TABLE drops a table, and DROP VIEW a view. DataFusion reports that the name does not exist, or,
/// with IF EXISTS, reports nothing.
///
/// # Errors
///
/// If the name is of the other kind. The hint contains the correct statement.
pub(crate) async fn check(state: &SessionState, plan: &LogicalPlan) -> Result<()> {
    let (name, said, if_exists) = match plan {
        LogicalPlan::Ddl(DdlStatement::DropTable(drop)) => (&drop.name, "table", drop.if_exists),
        LogicalPlan::Ddl(DdlStatement::DropView(drop)) => (&drop.name, "view", drop.if_exists),
        _ => return Ok(()),
    };
    let found = existing_kind(state, name).await?;
    let (message, hint) = match found {
        Some(is) if is == said => return Ok(()),
        Some(is) => (
            format!("`{name}` is a {is}, not a {said}"),
            format!("DROP {} {};", is.to_ascii_uppercase(), name.to_quoted_string()),
        ),
        None if if_exists => return Ok(()),
        None => (
            format!("there is no {said} `{name}`"),
            format!(
                "SHOW TABLES lists tables and views; DROP {} IF EXISTS drops one only if it is there.",
                said.to_ascii_uppercase()
            ),
        ),
    };
    Err(UserError { kind: ErrorKind::Plan, message, hint: Some(hint) }.into())
}

/// Returns `table` or `view` for an existing name, or `None` if there is none of this name.
async fn existing_kind(
    state: &SessionState,
    name: &TableReference,
) -> Result<Option<&'static str>> {
    let Ok(schema) = state.schema_for_ref(name.clone()) else { return Ok(None) };
    if !schema.table_exist(name.table()) {
        return Ok(None);
    }
    let table = schema.table(name.table()).await?;
    Ok(table.map(|table| match table.table_type() {
        TableType::View => "view",
        TableType::Base | TableType::Temporary => "table",
    }))
}
