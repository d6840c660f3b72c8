//! Refuses options and partition columns that COPY or CREATE EXTERNAL TABLE names twice; the last would silently win.

use datafusion::common::Result;
use datafusion::sql::parser::Statement;

use crate::catalog::option_names::{canonical, once, written};
use crate::catalog::table_functions::option_of_argument;

/// Checks the lists of a statement.
///
/// # Errors
///
/// If a list has a name twice. Different names of one option are the same.
pub(crate) fn check(statement: &Statement) -> Result<()> {
    match statement {
        Statement::CopyTo(copy) => {
            let names = copy.options.iter().map(|(name, _)| name.as_str());
            once("option", names, |name| canonical(written(name).unwrap_or(name)))?;
            once("column", copy.partitioned_by.iter().map(String::as_str), str::to_owned)
        }
        Statement::CreateExternalTable(table) => {
            let names = table.options.iter().map(|(name, _)| name.as_str());
            let option =
                |name: &str| canonical(option_of_argument(&table.file_type, name).unwrap_or(name));
            once("option", names, option)?;
            once("column", table.table_partition_cols.iter().map(String::as_str), str::to_owned)
        }
        Statement::Explain(explain) => check(&explain.statement),
        Statement::Statement(_) | Statement::Reset(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn an_option_is_given_once() {
        for (sql, twice) in [
            ("COPY t TO 'x' OPTIONS (overwrite true, overwrite false)", Some("`overwrite`")),
            ("COPY t TO 'x' OPTIONS (header true, 'format.has_header' false)", Some("one option")),
            ("COPY t TO 'x/' STORED AS CSV PARTITIONED BY (a, a)", Some("the column `a`")),
            (
                "EXPLAIN COPY t TO 'x' OPTIONS ('format.delimiter' ';', DELIMITER '|')",
                Some("`format.delimiter` and `DELIMITER`"),
            ),
            (
                "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'x' OPTIONS (header true, HEADER false)",
                Some("`HEADER` is given twice"),
            ),
            (
                "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'x' OPTIONS (nullstr 'a', null_value 'b')",
                None,
            ),
            ("COPY t TO 'x' OPTIONS (overwrite true, header true) ", None),
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            let said = check(&statement).map_err(|error| error.to_string());
            match twice {
                Some(part) => assert!(said.unwrap_err().contains(part), "{sql}"),
                None => assert!(said.is_ok(), "{sql}"),
            }
        }
    }
}
