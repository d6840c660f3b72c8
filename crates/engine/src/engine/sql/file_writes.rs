//! Refuses statements that would change or drop a file that is named by its URL or path.

use datafusion::common::{Result, TableReference};
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{ObjectName, ObjectType, Statement as Sql, TableObject};

use crate::context::error::hints::insert_into_file;
use crate::context::error::{ErrorKind, UserError};
use crate::context::file_names::ENDS;

/// Checks a statement.
///
/// # Errors
///
/// If it would insert into a file, because objects are written as a whole, or drop one.
pub(crate) fn check(state: &SessionState, statement: &Statement) -> Result<()> {
    let inserted = match statement {
        Statement::Explain(explain) => return check(state, &explain.statement),
        Statement::Statement(statement) => match statement.as_ref() {
            Sql::Insert(insert) => match &insert.table {
                TableObject::TableName(name) => file(name),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    // A table may have any name in quotes.
    let is_table = |name: &String| {
        let schema = state.schema_for_ref(TableReference::bare(name.as_str()));
        schema.is_ok_and(|schema| schema.table_exist(name))
    };
    if let Some(file) = dropped(statement).find(|name| !is_table(name)) {
        return Err(UserError {
            kind: ErrorKind::Unsupported,
            message: format!("'{file}' is a file, and no table that could be dropped"),
            hint: Some(
                "DROP TABLE forgets a table of CREATE TABLE; nothing here deletes files."
                    .to_owned(),
            ),
        }
        .into());
    }
    match inserted.filter(|name| !is_table(name)) {
        None => Ok(()),
        Some(file) => Err(insert_into_file(&file).into()),
    }
}

/// Returns the files that a statement drops.
fn dropped(statement: &Statement) -> impl Iterator<Item = String> {
    let names = match statement {
        Statement::Statement(statement) => match statement.as_ref() {
            Sql::Drop { object_type: ObjectType::Table | ObjectType::View, names, .. } => {
                names.as_slice()
            }
            _ => &[],
        },
        _ => &[],
    };
    names.iter().filter_map(file)
}

/// Returns the file that a name denotes, if it is one.
fn file(name: &ObjectName) -> Option<String> {
    let [part] = name.0.as_slice() else { return None };
    let name = &part.as_ident()?.value;
    let is_file = name.contains('/')
        || [".gz", ".zst"].iter().any(|end| name.to_ascii_lowercase().ends_with(end))
        || ENDS.iter().any(|end| {
            let lower = name.to_ascii_lowercase();
            lower.strip_suffix(end).is_some_and(|stem| stem.ends_with('.'))
        });
    is_file.then(|| name.clone())
}
