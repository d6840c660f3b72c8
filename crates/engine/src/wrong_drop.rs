//! DROP TABLE of a view, DROP VIEW of a table.

use datafusion::common::{Result, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, TableType};

use crate::error::{ErrorKind, UserError};

/// Refuses to drop as a table what is a view, and the reverse. DataFusion says that there is none of its name, or, with
/// IF EXISTS, nothing.
///
/// # Errors
///
/// Which of the two it is, and how it is dropped.
pub(crate) async fn check(state: &SessionState, plan: &LogicalPlan) -> Result<()> {
    let (name, said, if_exists) = match plan {
        LogicalPlan::Ddl(DdlStatement::DropTable(drop)) => (&drop.name, "table", drop.if_exists),
        LogicalPlan::Ddl(DdlStatement::DropView(drop)) => (&drop.name, "view", drop.if_exists),
        _ => return Ok(()),
    };
    let found = found(state, name).await?;
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

/// Whether a name is one of a table or of a view, if it is one.
async fn found(state: &SessionState, name: &TableReference) -> Result<Option<&'static str>> {
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
