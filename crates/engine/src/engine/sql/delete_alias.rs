//! `DELETE FROM t AS x WHERE x.id = 1`. DataFusion ignores the alias.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Delete, Expr, FromTable, Ident, Query, Statement as Sql, TableFactor, VisitorMut,
};

use sluicegate_guards::normal;
use sluicegate_guards::walk::WalkMut;

/// Replaces the alias of a DELETE by the name of its table. A condition with a subquery is unchanged, because the
/// alias may mean another table there.
pub(crate) fn resolve(statement: &mut Statement) {
    if let Statement::Statement(statement) = statement
        && let Sql::Delete(delete) = statement.as_mut()
    {
        resolve_in(delete);
    }
}

fn resolve_in(delete: &mut Delete) {
    let tables = match &mut delete.from {
        FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables) => tables,
    };
    let [table] = tables.as_mut_slice() else { return };
    let TableFactor::Table { name, alias, .. } = &mut table.relation else { return };
    let Some(written) = name.0.last().and_then(|part| part.as_ident()).cloned() else { return };
    let mut names = match alias {
        Some(alias) if alias.columns.is_empty() => {
            QualifierRewriter { alias: normal(&alias.name), table: written }
        }
        _ => return,
    };
    let Some(condition) = &mut delete.selection else { return };
    if condition.walk_mut(&mut FindSubquery).is_continue() {
        *alias = None;
        let _ = condition.walk_mut(&mut names);
    }
}

struct FindSubquery;

impl VisitorMut for FindSubquery {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

struct QualifierRewriter {
    alias: String,
    table: Ident,
}

impl VisitorMut for QualifierRewriter {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some(qualifier) = parts.first_mut()
            && normal(qualifier) == self.alias
        {
            *qualifier = self.table.clone();
        }
        ControlFlow::Continue(())
    }
}
