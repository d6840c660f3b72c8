//! Explains planning errors from the statement: a query of WITH that reads itself without RECURSIVE.

use std::ops::ControlFlow;

use datafusion::common::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Query, Visitor};

use crate::context::error::{ErrorKind, UserError};
use crate::engine::sql::unsupported_clauses::visit;
use sluicegate_guards::walk::Walk;

/// Replaces an error whose cause is found in the statement; other errors are unchanged.
pub(crate) fn explained(statement: &Statement, error: DataFusionError) -> DataFusionError {
    let text = error.find_root().strip_backtrace();
    let named = text.split_once("table 'datafusion.public.");
    let Some((name, _)) = named.and_then(|(_, rest)| rest.split_once("' not found")) else {
        return error;
    };
    match visit(statement, &mut Recursion { name }) {
        ControlFlow::Break(told) => told.into(),
        ControlFlow::Continue(()) => error,
    }
}

/// Looks for a query of WITH that reads itself.
struct Recursion<'a> {
    name: &'a str,
}

impl Visitor for Recursion<'_> {
    type Break = UserError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<UserError> {
        let Some(with) = query.with.as_ref().filter(|with| !with.recursive) else {
            return ControlFlow::Continue(());
        };
        for table in &with.cte_tables {
            if is_name(&table.alias.name, self.name) && reads(&table.query, self.name) {
                let name = &table.alias.name;
                return ControlFlow::Break(UserError {
                    kind: ErrorKind::Plan,
                    message: format!("the query {name} of WITH reads {name} itself"),
                    hint: Some(format!("Write WITH RECURSIVE {name} AS (…).")),
                });
            }
        }
        ControlFlow::Continue(())
    }
}

fn is_name(ident: &Ident, name: &str) -> bool {
    match ident.quote_style {
        Some(_) => ident.value == name,
        None => ident.value.eq_ignore_ascii_case(name),
    }
}

/// Returns whether a query reads a table of this name.
fn reads(query: &Query, name: &str) -> bool {
    struct Reads<'a>(&'a str);

    impl Visitor for Reads<'_> {
        type Break = ();

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
            match relation.0.as_slice() {
                [part] if part.as_ident().is_some_and(|it| is_name(it, self.0)) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }

    query.walk(&mut Reads(name)).is_break()
}

#[cfg(test)]
mod tests {
    use datafusion::common::plan_datafusion_err;
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn a_query_that_reads_itself_is_recursive() {
        for (sql, name, expected) in [
            ("WITH r AS (SELECT 1 UNION ALL SELECT * FROM R) SELECT * FROM r", "r", true),
            ("WITH s AS (SELECT * FROM r) SELECT * FROM s", "r", false),
            ("WITH r AS (SELECT 1) SELECT * FROM r, q", "q", false),
            ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT 1", "r", false),
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            let error = plan_datafusion_err!("table 'datafusion.public.{name}' not found");
            let error = crate::Error::from(explained(&statement, error));
            let is_told = error.hint().is_some_and(|hint| hint.contains("WITH RECURSIVE r AS"));
            assert_eq!(is_told, expected, "{sql}: {error}");
        }
    }
}
