//! SHOW COLUMNS and SHOW FIELDS: what DESCRIBE shows. DataFusion looks for a table of that name in
//! `information_schema`, where files and URLs are not.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as Sql;

/// The DESCRIBE that SHOW COLUMNS stands for; nothing if a statement is another one.
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

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

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
