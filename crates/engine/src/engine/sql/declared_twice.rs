//! Refuses columns that CREATE TABLE declares twice.

use std::collections::HashSet;

use datafusion::common::Result;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as Sql;

use crate::context::error::{ErrorKind, UserError};

/// Checks the columns of CREATE TABLE.
///
/// # Errors
///
/// If a column is declared twice; the message contains its name.
pub(crate) fn check(statement: &Statement) -> Result<()> {
    let columns = match statement {
        Statement::Statement(statement) => match statement.as_ref() {
            Sql::CreateTable(table) => &table.columns,
            _ => return Ok(()),
        },
        Statement::CreateExternalTable(table) => &table.columns,
        _ => return Ok(()),
    };
    let mut names = HashSet::with_capacity(columns.len());
    let twice = columns.iter().map(|column| match column.name.quote_style {
        Some(_) => column.name.value.clone(),
        None => column.name.value.to_ascii_lowercase(),
    });
    let Some(name) = twice.into_iter().find(|name| !names.insert(name.clone())) else {
        return Ok(());
    };
    Err(UserError {
        kind: ErrorKind::Plan,
        message: format!("column {name} is declared twice"),
        hint: Some("Give one of the two another name.".to_owned()),
    }
    .into())
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
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            let said = check(&statement).map_err(|error| crate::Error::from(error).to_string());
            let expected = twice.map(|name| format!("column {name} is declared twice"));
            assert_eq!(said.err(), expected, "{sql}");
        }
    }
}
