//! SHOW COLUMNS and SHOW FIELDS return the rows of DESCRIBE, with SQL names of types. DataFusion looks for the table
//! in `information_schema`, which contains no files and URLs.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, col, lit};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as Sql;

use crate::engine::sql::summarize::after_comments;
use sluicegate_guards::sql_types::sql_type;

/// Returns the DESCRIBE that replaces SHOW COLUMNS, or `None` for other statements.
pub(crate) fn query(statement: &Statement) -> Option<String> {
    let Statement::Statement(statement) = statement else { return None };
    let Sql::ShowColumns { extended: false, full: false, show_options } = statement.as_ref() else {
        return None;
    };
    if show_options.filter_position.is_some() {
        return None;
    }
    let place = show_options.show_in.as_ref()?;
    place.parent_name.as_ref().map(|name| format!("DESCRIBE {name}"))
}

/// Returns the query whose columns `DESCRIBE read_csv('t.csv')` lists, or `None` for other statements. The parser
/// does not support calls in DESCRIBE.
pub(crate) fn of_call(sql: &str) -> Option<String> {
    let sql = after_comments(sql);
    let (word, of) = sql.split_once(char::is_whitespace)?;
    let of = after_comments(of).trim_end().trim_end_matches(';');
    let (name, _) = of.split_once('(')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_call = !name.is_empty() && name.chars().all(is_name) && of.ends_with(')');
    let is_described = ["describe", "desc"].iter().any(|it| word.eq_ignore_ascii_case(it));
    (is_described && is_call).then(|| format!("SELECT * FROM {of}"))
}

/// Returns a plan that lists the columns of a query.
///
/// # Errors
///
/// If the query has no columns.
pub(crate) fn columns(schema: &Schema) -> Result<LogicalPlan> {
    let names = ["column_name", "data_type", "is_nullable"];
    shown(schema, names.map(str::to_owned).to_vec())
}

/// Replaces the plan of DESCRIBE by one with SQL names of types; other plans are unchanged.
///
/// # Errors
///
/// No error is known.
pub(crate) fn described(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::DescribeTable(described) = &plan else { return Ok(plan) };
    if described.schema.fields().is_empty() {
        return Ok(plan);
    }
    let names = described.output_schema.fields().iter().map(|field| field.name().clone());
    shown(&described.schema, names.collect())
}

/// Returns a plan with a row for each column, and these column names.
fn shown(schema: &Schema, names: Vec<String>) -> Result<LogicalPlan> {
    let row = |field: &Arc<Field>| -> Vec<Expr> {
        let nullable = if field.is_nullable() { "YES" } else { "NO" };
        vec![lit(field.name().as_str()), lit(&*sql_type(field.data_type())), lit(nullable)]
    };
    let rows: Vec<Vec<Expr>> = schema.fields().iter().map(row).collect();
    let names = names.into_iter().enumerate();
    let names = names.map(|(index, name)| col(format!("column{}", index + 1)).alias(name));
    let names: Vec<Expr> = names.collect();
    LogicalPlanBuilder::values(rows)?.project(names)?.build()
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn columns_of_calls_are_those_of_queries() {
        for (sql, expected) in [
            ("DESCRIBE read_csv('t.csv');", Some("SELECT * FROM read_csv('t.csv')")),
            ("-- which\ndesc  glob('*')", Some("SELECT * FROM glob('*')")),
            ("DESCRIBE t", None),
            ("DESCRIBE 'a(b)'", None),
            ("SELECT f(x)", None),
        ] {
            assert_eq!(of_call(sql).as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn columns_are_described() {
        for (sql, expected) in [
            ("SHOW COLUMNS FROM 't.csv'", Some("DESCRIBE 't.csv'")),
            ("show fields in a.\"B\"", Some("DESCRIBE a.\"B\"")),
            ("SHOW COLUMNS FROM t LIKE 'a%'", None),
            ("SHOW FULL COLUMNS FROM t", None),
            ("SHOW TABLES", None),
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            assert_eq!(query(&statement).as_deref(), expected, "{sql}");
        }
    }
}
