//! Clauses that the parser knows and DataFusion leaves out of the plan without a word.

use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Select, TableFactor, Visit, Visitor};

use crate::error::{ErrorKind, Told};

/// Looks for such a clause.
///
/// # Errors
///
/// If there is one: an answer without it would be that of another query.
pub(crate) fn check(statement: &Statement) -> Result<()> {
    let found = match statement {
        Statement::Statement(statement) => statement.visit(&mut Dropped),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => query.visit(&mut Dropped),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => return check(&explain.statement),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
    match found {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break((name, hint)) => Err(Told {
            kind: ErrorKind::Unsupported,
            message: format!("{name} is not supported"),
            hint: Some(hint.to_owned()),
        }
        .into()),
    }
}

struct Dropped;

impl Visitor for Dropped {
    /// The clause, and what there is instead.
    type Break = (&'static str, &'static str);

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        if select.prewhere.is_some() {
            return ControlFlow::Break(("PREWHERE", "Write WHERE: it is pushed to the store."));
        }
        if !select.connect_by.is_empty() {
            return ControlFlow::Break(("CONNECT BY", "Write WITH RECURSIVE … instead."));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<Self::Break> {
        const SAMPLE: (&str, &str) = ("TABLESAMPLE", "Take rows by chance: WHERE random() < 0.1.");
        match table {
            TableFactor::Table { sample: Some(_), .. }
            | TableFactor::Derived { sample: Some(_), .. } => ControlFlow::Break(SAMPLE),
            TableFactor::Table { partitions, .. } if !partitions.is_empty() => ControlFlow::Break(
                ("PARTITION (…)", "Name the folder's column instead: WHERE month = 3."),
            ),
            TableFactor::Table { version: Some(_), .. } => ControlFlow::Break((
                "a version of a table",
                "Objects are read as they are; name another object.",
            )),
            _ => ControlFlow::Continue(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn what_would_be_left_out_is_refused() {
        for (sql, name) in [
            ("SELECT * FROM t TABLESAMPLE (10 PERCENT)", Some("TABLESAMPLE")),
            (
                "SELECT count(*) FROM (SELECT * FROM t TABLESAMPLE BERNOULLI (10)) u",
                Some("TABLESAMPLE"),
            ),
            ("EXPLAIN SELECT * FROM t PREWHERE id < 5", Some("PREWHERE")),
            ("COPY (SELECT * FROM t PARTITION (p0)) TO 'x.csv'", Some("PARTITION (…)")),
            ("SELECT * FROM t WHERE id < 5", None),
            ("SELECT sum(x) OVER (PARTITION BY y) FROM t", None),
        ] {
            let statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
            let said = check(&statement).map_err(|error| error.to_string());
            let expected = name.map(|name| format!("{name} is not supported"));
            assert_eq!(
                said.err().as_deref().map(|it| it.trim_start_matches("External error: ")),
                expected.as_deref(),
                "{sql}"
            );
        }
    }
}
