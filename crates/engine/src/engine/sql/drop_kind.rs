//! Refuses DROP TABLE of a view, DROP VIEW of a table, and CREATE OR REPLACE of a name of the other kind.

use datafusion::common::{Result, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, TableType};

use crate::context::error::{ErrorKind, UserError};

/// Checks that DROP and CREATE OR REPLACE of a table do not find a view, nor those of a view a table. For DROP,
/// DataFusion reports that the name does not exist, or, with IF EXISTS, reports nothing. CREATE OR REPLACE VIEW would
/// delete the rows of a table.
///
/// # Errors
///
/// If the name is of the other kind. The hint contains the correct statement.
pub(crate) async fn check(state: &SessionState, plan: &LogicalPlan) -> Result<()> {
    if let Some((name, said)) = replaced(plan) {
        return match existing_kind(state, name).await? {
            Some(is) if is != said => Err(UserError {
                kind: ErrorKind::Plan,
                message: format!(
                    "`{name}` is a {is}, which CREATE OR REPLACE {} does not replace",
                    said.to_ascii_uppercase()
                ),
                hint: Some(format!(
                    "Take another name, or remove it first: DROP {} {}.",
                    is.to_ascii_uppercase(),
                    name.to_quoted_string()
                )),
            }
            .into()),
            _ => Ok(()),
        };
    }
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

/// Returns the name that CREATE OR REPLACE replaces, and its kind.
fn replaced(plan: &LogicalPlan) -> Option<(&TableReference, &'static str)> {
    let LogicalPlan::Ddl(ddl) = plan else { return None };
    match ddl {
        DdlStatement::CreateView(view) if view.or_replace => Some((&view.name, "view")),
        DdlStatement::CreateMemoryTable(table) if table.or_replace => Some((&table.name, "table")),
        DdlStatement::CreateExternalTable(table) if table.or_replace => {
            Some((&table.name, "table"))
        }
        _ => None,
    }
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
