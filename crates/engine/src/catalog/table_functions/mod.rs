//! Table functions about objects: `read_csv`, `read_json`, `read_parquet`, `read_arrow`, `read_avro`, `delta_scan`
//! (`read`) and `glob`.
//!
//! DataFusion's table functions cannot wait for a store. The text of a call therefore becomes the name of a table,
//! which is looked up like a URL (`UrlTables`).

mod glob;
mod read;

use sluicegate_guards::walk::WalkMut;
use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArguments, Ident, ObjectName, TableFactor, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

pub(crate) use self::glob::GlobTable;
pub use self::read::arguments;
pub(crate) use self::read::{Read, option_of_argument, tab};

/// The names of the functions.
pub const NAMES: [&str; 7] =
    ["read_csv", "read_json", "read_parquet", "read_arrow", "read_avro", "delta_scan", "glob"];

/// Replaces calls of the functions in a statement by names of tables.
pub(crate) fn name_calls(statement: &mut impl WalkMut) {
    struct Calls;

    impl VisitorMut for Calls {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
            if let TableFactor::Table { name, args: called @ Some(_), .. } = factor
                && let Some(function) = function(name)
                && let Some(call) = called.take()
            {
                let arguments: Vec<String> = call.args.iter().map(FunctionArg::to_string).collect();
                let text = format!("{function}({})", arguments.join(", "));
                *name = ObjectName::from(vec![Ident::with_quote('"', text)]);
            }
            ControlFlow::Continue(())
        }
    }

    let _ = statement.walk_mut(&mut Calls);
}

/// Names of the functions in DuckDB and Polars.
const SYNONYMS: [(&str, &str); 9] = [
    ("read_csv_auto", "read_csv"),
    ("read_json_auto", "read_json"),
    ("read_ndjson", "read_json"),
    ("read_ndjson_auto", "read_json"),
    ("read_ndjson_objects", "read_json"),
    ("parquet_scan", "read_parquet"),
    ("read_ipc", "read_arrow"),
    ("read_feather", "read_arrow"),
    ("scan_arrow_ipc", "read_arrow"),
];

fn function(name: &ObjectName) -> Option<&'static str> {
    let [part] = name.0.as_slice() else { return None };
    let typed = &part.as_ident()?.value;
    let synonym = SYNONYMS.into_iter().find(|(theirs, _)| typed.eq_ignore_ascii_case(theirs));
    let known = NAMES.into_iter().find(|name| typed.eq_ignore_ascii_case(name));
    known.or(synonym.map(|(_, ours)| ours))
}

/// A call of one of the functions.
#[derive(Debug, PartialEq)]
pub(crate) enum Call {
    /// A function that reads objects.
    Read(Read),
    /// The function `glob`, with its URL.
    Glob(String),
}

impl Call {
    /// Parses the name of a table as a call. Returns `None` for other names.
    ///
    /// # Errors
    ///
    /// If the function does not accept the arguments.
    pub(crate) fn parse(name: &str) -> Result<Option<Self>> {
        if !NAMES.iter().any(|function| name.starts_with(&format!("{function}("))) {
            return Ok(None);
        }
        let parsed = Parser::new(&GenericDialect {}).try_with_sql(name);
        let Ok(Expr::Function(call)) = parsed.and_then(|mut parser| parser.parse_expr()) else {
            return Ok(None);
        };
        let (Some(function), FunctionArguments::List(list)) = (function(&call.name), &call.args)
        else {
            return Ok(None);
        };
        Ok(Some(match function {
            "glob" => Self::Glob(read::url_only(function, &list.args)?),
            _ => Self::Read(Read::parse(function, &list.args)?),
        }))
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::{DFParser, Statement};

    use super::*;

    #[test]
    fn a_call_is_the_name_of_a_table() {
        let sql = "SELECT * FROM READ_CSV('s3://b/x', delim => ';') AS t, f(1), \
                   parquet_scan('s3://b/*')";
        let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
        let Statement::Statement(mut statement) = statement else { panic!("{statement}") };
        name_calls(&mut statement);
        assert_eq!(
            statement.to_string(),
            "SELECT * FROM \"read_csv('s3://b/x', delim => ';')\" AS t, f(1), \"read_parquet('s3://b/*')\""
        );
    }

    #[test]
    fn other_names_are_no_calls() {
        for name in ["t", "read_csv", "s3://b/read_csv(x", "read_csv(", "count(1)"] {
            assert_eq!(Call::parse(name).unwrap(), None, "{name}");
        }
        let glob = Call::parse("glob('s3://b/*')").unwrap();
        assert_eq!(glob, Some(Call::Glob("s3://b/*".to_owned())));
        assert!(Call::parse("glob('a', 'b')").is_err());
    }
}
