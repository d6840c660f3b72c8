//! Ignores PRIMARY KEY and UNIQUE, which are not enforced.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, ColumnOptionDef, Statement as Sql, TableConstraint,
};

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "PRIMARY KEY is believed and not checked",
    upstream: &[],
    ours: "PRIMARY KEY and UNIQUE of CREATE TABLE and CREATE EXTERNAL TABLE are left out, with a note: rows of one key \
           are all there. A column of the key is NOT NULL. The keys of a table that a program registers are believed.",
    cases: &[
        Case {
            setup: &["CREATE TABLE keyed(x INT PRIMARY KEY, y INT) AS VALUES (1, 1), (1, 2)"],
            sql: "SELECT DISTINCT x FROM keyed",
            right: CaseOutcome::Rows(&["1"]),
            theirs: CaseOutcome::Rows(&["1", "1"]),
        },
        Case {
            setup: &["CREATE TABLE keyed(x INT, y INT, PRIMARY KEY (x)) AS VALUES (1, 1), (1, 2)"],
            sql: "SELECT count(*) FROM (SELECT x, y FROM keyed GROUP BY x, y) d",
            right: CaseOutcome::Rows(&["2"]),
            theirs: CaseOutcome::Varies,
        },
    ],
};

/// Returns true if a statement declares a key of a table.
pub fn declares_keys(statement: &Statement) -> bool {
    let (columns, constraints) = match statement {
        Statement::Statement(sql) => match sql.as_ref() {
            Sql::CreateTable(table) => (&table.columns, &table.constraints),
            _ => return false,
        },
        Statement::CreateExternalTable(table) => (&table.columns, &table.constraints),
        _ => return false,
    };
    let mut options = columns.iter().flat_map(|column| &column.options);
    options.any(|it| is_key(&it.option)) || constraints.iter().any(is_table_key)
}

/// Removes the keys from a statement.
pub(super) fn rewrite(statement: &mut Statement) {
    match statement {
        Statement::Statement(sql) => {
            if let Sql::CreateTable(table) = sql.as_mut() {
                leave_out(&mut table.columns, &mut table.constraints);
            }
        }
        Statement::CreateExternalTable(table) => {
            leave_out(&mut table.columns, &mut table.constraints);
        }
        _ => {}
    }
}

fn leave_out(columns: &mut [ColumnDef], constraints: &mut Vec<TableConstraint>) {
    let of_table: Vec<String> = constraints
        .iter()
        .filter_map(|it| match it {
            TableConstraint::PrimaryKey(key) => Some(&key.columns),
            _ => None,
        })
        .flatten()
        .map(|column| column.column.expr.to_string())
        .collect();
    constraints.retain(|it| !is_table_key(it));
    for column in columns {
        let is_not_null =
            column.options.iter().any(|it| matches!(it.option, ColumnOption::NotNull));
        let is_in_key = of_table.contains(&column.name.to_string());
        for option in &mut column.options {
            if matches!(option.option, ColumnOption::PrimaryKey(_)) && !is_not_null {
                option.option = ColumnOption::NotNull;
            }
        }
        column.options.retain(|it| !is_key(&it.option));
        let is_not_null =
            column.options.iter().any(|it| matches!(it.option, ColumnOption::NotNull));
        if is_in_key && !is_not_null {
            let option = ColumnOption::NotNull;
            column.options.push(ColumnOptionDef { name: None, option });
        }
    }
}

fn is_key(option: &ColumnOption) -> bool {
    matches!(option, ColumnOption::PrimaryKey(_) | ColumnOption::Unique(_))
}

fn is_table_key(constraint: &TableConstraint) -> bool {
    matches!(constraint, TableConstraint::PrimaryKey(_) | TableConstraint::Unique(_))
}
