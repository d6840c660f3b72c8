//! From SQL text to a logical plan.

use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    Select, SelectFlavor, SelectItem, VisitMut, VisitorMut, WildcardAdditionalOptions,
};

/// Plans a statement; nothing takes effect.
///
/// # Errors
///
/// If the text is not one statement, or names what does not exist.
pub(crate) async fn logical_plan(state: &SessionState, sql: &str) -> Result<LogicalPlan> {
    let dialect = state.config_options().sql_parser.dialect;
    let mut statement = state.sql_to_statement(sql, &dialect)?;
    select_all(&mut statement);
    state.statement_to_plan(statement).await
}

/// Makes `FROM t` mean `SELECT * FROM t`. DataFusion parses the former and plans it as a query
/// without columns.
fn select_all(statement: &mut Statement) {
    let _ = match statement {
        Statement::Statement(statement) => statement.visit(&mut SelectAll),
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.visit(&mut SelectAll),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => {
            select_all(&mut explain.statement);
            ControlFlow::Continue(())
        }
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
}

struct SelectAll;

impl VisitorMut for SelectAll {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if matches!(select.flavor, SelectFlavor::FromFirstNoSelect) {
            select.flavor = SelectFlavor::FromFirst;
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[track_caller]
    fn check(sql: &str, expected: &str) {
        let mut statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
        select_all(&mut statement);
        assert_eq!(statement.to_string(), expected);
    }

    #[test]
    fn from_alone_selects_all_columns() {
        check("FROM t LIMIT 2", "FROM t SELECT * LIMIT 2");
        check("SELECT a FROM t", "SELECT a FROM t");
        check("FROM t SELECT a", "FROM t SELECT a");
        check("SELECT * FROM (FROM t) x", "SELECT * FROM (FROM t SELECT *) x");
        check("FROM t UNION ALL FROM u", "FROM t SELECT * UNION ALL FROM u SELECT *");
        check("WITH c AS (FROM t) FROM c", "WITH c AS (FROM t SELECT *) FROM c SELECT *");
        check("EXPLAIN FROM t", "EXPLAIN FROM t SELECT *");
        check("COPY (FROM t) TO 'x.csv'", "COPY (FROM t SELECT *) TO x.csv");
        check("CREATE TABLE u AS FROM t", "CREATE TABLE u AS FROM t SELECT *");
    }
}
