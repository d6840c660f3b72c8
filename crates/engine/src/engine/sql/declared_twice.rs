//! Refuses columns that CREATE TABLE declares twice, or UPDATE sets twice.

use std::collections::HashSet;

use datafusion::common::Result;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, ColumnDef, Ident, Statement as Sql,
};

use crate::context::error::{ErrorKind, UserError};

/// Checks the columns of CREATE TABLE and UPDATE.
///
/// # Errors
///
/// If a column is declared or set twice; the message contains its name.
pub(crate) fn check(statement: &Statement) -> Result<()> {
    let declared = |columns: &[ColumnDef]| columns.iter().map(|it| folded(&it.name)).collect();
    let (names, twice, hint): (Vec<String>, _, _) = match statement {
        Statement::Statement(statement) => match statement.as_ref() {
            Sql::CreateTable(table) => (declared(&table.columns), "declared", ANOTHER_NAME),
            Sql::Update(update) => (targets(&update.assignments), "set", ONE_VALUE),
            _ => return Ok(()),
        },
        Statement::CreateExternalTable(table) => {
            (declared(&table.columns), "declared", ANOTHER_NAME)
        }
        Statement::Explain(explain) => return check(&explain.statement),
        _ => return Ok(()),
    };
    let mut seen = HashSet::with_capacity(names.len());
    let Some(name) = names.iter().find(|name| !seen.insert(*name)) else { return Ok(()) };
    Err(UserError {
        kind: ErrorKind::Plan,
        message: format!("column {name} is {twice} twice"),
        hint: Some(hint.to_owned()),
    }
    .into())
}

const ANOTHER_NAME: &str = "Give one of the two another name.";

const ONE_VALUE: &str = "Give it one value: SET a = 1, b = 2.";

/// Returns the columns that UPDATE sets.
fn targets(assignments: &[Assignment]) -> Vec<String> {
    let named = assignments.iter().flat_map(|assignment| match &assignment.target {
        AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
        AssignmentTarget::Tuple(names) => names.as_slice(),
    });
    named.filter_map(|name| name.0.last()?.as_ident()).map(folded).collect()
}

fn folded(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn a_name_is_declared_once() {
        for (sql, twice) in [
            ("CREATE TABLE e (a INT, b INT, A TEXT)", Some("a")),
            ("CREATE TABLE e (a INT, \"A\" TEXT)", None),
            ("CREATE EXTERNAL TABLE e (a INT, a INT) STORED AS CSV LOCATION 'x.csv'", Some("a")),
            ("CREATE TABLE e AS SELECT 1 AS a", None),
            ("UPDATE e SET a = 1, b = 2, A = 3", Some("a")),
            ("EXPLAIN UPDATE e SET a = 1, e.a = 3", Some("a")),
            ("UPDATE e SET a = 1, \"A\" = 3", None),
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            let said = check(&statement).map_err(|error| crate::Error::from(error).to_string());
            let verb = if sql.contains("UPDATE") { "set" } else { "declared" };
            let expected = twice.map(|name| format!("column {name} is {verb} twice"));
            assert_eq!(said.err(), expected, "{sql}");
        }
    }
}
