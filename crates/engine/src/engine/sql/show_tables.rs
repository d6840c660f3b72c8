//! SHOW TABLES lists the tables of the user, all or by a pattern; views of the system only if their schema is named.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    ShowStatementFilter, ShowStatementFilterPosition, Statement as Sql,
};

/// Returns the query that replaces SHOW TABLES, or `None` for other statements.
pub(crate) fn query(statement: &Statement) -> Option<String> {
    let Statement::Statement(statement) = statement else { return None };
    let Sql::ShowTables { extended: false, full: false, show_options, .. } = statement.as_ref()
    else {
        return None;
    };
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut conditions = vec![match &show_options.show_in {
        None => "table_schema <> 'information_schema'".to_owned(),
        Some(place) => {
            let schema = place.parent_name.as_ref()?.0.last()?.as_ident()?;
            format!("table_schema = {}", quoted(&schema.value))
        }
    }];
    conditions.extend(show_options.filter_position.as_ref().map(|position| {
        let (ShowStatementFilterPosition::Infix(filter)
        | ShowStatementFilterPosition::Suffix(filter)) = position;
        match filter {
            ShowStatementFilter::Like(pattern) | ShowStatementFilter::NoKeyword(pattern) => {
                format!("table_name LIKE {}", quoted(pattern))
            }
            ShowStatementFilter::ILike(pattern) => format!("table_name ILIKE {}", quoted(pattern)),
            ShowStatementFilter::Where(condition) => format!("({condition})"),
        }
    }));
    Some(format!("SELECT * FROM information_schema.tables WHERE {}", conditions.join(" AND ")))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn tables_are_shown_by_a_query() {
        for (sql, conditions) in [
            ("SHOW TABLES", Some("table_schema <> 'information_schema'")),
            (
                "SHOW TABLES LIKE 'a%'",
                Some("table_schema <> 'information_schema' AND table_name LIKE 'a%'"),
            ),
            ("SHOW TABLES FROM information_schema", Some("table_schema = 'information_schema'")),
            ("SHOW FULL TABLES", None),
            ("SELECT 1", None),
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            let expected = conditions.map(|conditions| {
                format!("SELECT * FROM information_schema.tables WHERE {conditions}")
            });
            assert_eq!(query(&statement), expected, "{sql}");
        }
    }
}
