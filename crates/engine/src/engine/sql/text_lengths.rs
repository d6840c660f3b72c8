//! The lengths in VARCHAR(10) and CHAR(10), which have no effect here, as in DuckDB.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    CharacterLength, ColumnDef, DataType, Expr, Statement as Sql, Visitor,
};

use crate::engine::sql::unsupported_clauses::visit;

/// Returns a note on the first type of a statement whose length has no effect.
pub(crate) fn note(statement: &Statement) -> Option<String> {
    let columns: &[ColumnDef] = match statement {
        Statement::CreateExternalTable(table) => &table.columns,
        Statement::Statement(statement) => match statement.as_ref() {
            Sql::CreateTable(table) => &table.columns,
            _ => &[],
        },
        _ => &[],
    };
    let declared = columns.iter().map(|column| &column.data_type).find(|kind| has_length(kind));
    let kind = match declared {
        Some(kind) => kind.clone(),
        None => match visit(statement, &mut Lengths) {
            ControlFlow::Break(kind) => kind,
            ControlFlow::Continue(()) => return None,
        },
    };
    Some(format!(
        "the length of {kind} has no effect: texts keep all their characters; left(x, n) shortens one"
    ))
}

struct Lengths;

impl Visitor for Lengths {
    type Break = DataType;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<DataType> {
        match expr {
            Expr::Cast { data_type, .. } if has_length(data_type) => {
                ControlFlow::Break(data_type.clone())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Returns whether a type is a text of a limited length.
fn has_length(kind: &DataType) -> bool {
    match kind {
        DataType::Varchar(length) | DataType::Char(length) => {
            matches!(length, Some(CharacterLength::IntegerLength { .. }))
        }
        DataType::Text | DataType::String(None) => false,
        DataType::String(Some(_)) => true,
        DataType::Array(
            datafusion::sql::sqlparser::ast::ArrayElemTypeDef::AngleBracket(inner)
            | datafusion::sql::sqlparser::ast::ArrayElemTypeDef::SquareBracket(inner, _)
            | datafusion::sql::sqlparser::ast::ArrayElemTypeDef::Parenthesis(inner),
        ) => has_length(inner),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn lengths_are_noted() {
        for (sql, kind) in [
            ("SELECT CAST(a AS VARCHAR(3)), b::CHAR(2) FROM t", Some("VARCHAR(3)")),
            ("SELECT * FROM t WHERE TRY_CAST(a AS CHAR(2)) = 'x'", Some("CHAR(2)")),
            ("CREATE TABLE t (a INT, b VARCHAR(5))", Some("VARCHAR(5)")),
            ("CREATE EXTERNAL TABLE t (b CHAR(5)) STORED AS CSV LOCATION 'x'", Some("CHAR(5)")),
            ("COPY (SELECT a::VARCHAR(3) FROM t) TO 'x.csv'", Some("VARCHAR(3)")),
            (
                "SELECT CAST(a AS VARCHAR), CAST(b AS CHAR), c::TEXT, CAST(d AS DECIMAL(3, 1)) FROM t",
                None,
            ),
            ("CREATE TABLE t (a VARCHAR, b INT, c TIMESTAMP(3))", None),
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            let found = note(&statement);
            match kind {
                Some(kind) => assert!(found.is_some_and(|it| it.contains(kind)), "{sql}"),
                None => assert_eq!(found, None, "{sql}"),
            }
        }
    }
}
