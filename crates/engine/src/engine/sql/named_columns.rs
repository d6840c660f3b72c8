//! Names the columns that a statement stores after the text that was typed, as in the answer of a query. The
//! planner's names would contain the types of literals and the tables of columns.

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SetExpr, Statement as Sql,
};

/// Names the computed columns of COPY, CREATE TABLE … AS and CREATE VIEW that have no alias.
pub(crate) fn name(statement: &mut Statement) {
    match statement {
        Statement::CopyTo(copy) => {
            if let CopyToSource::Query(query) = &mut copy.source {
                of_query(query);
            }
        }
        Statement::Statement(statement) => match statement.as_mut() {
            Sql::CreateTable(table) if table.columns.is_empty() => {
                if let Some(query) = &mut table.query {
                    of_query(query);
                }
            }
            Sql::CreateView(view) if view.columns.is_empty() => of_query(&mut view.query),
            _ => {}
        },
        Statement::Explain(explain) => name(&mut explain.statement),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => {}
    }
}

fn of_query(query: &mut Query) {
    if let Some(select) = first(&mut query.body) {
        select.projection.iter_mut().for_each(of_item);
    }
}

/// Returns the SELECT that names the columns of a query.
fn first(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first(&mut query.body),
        SetExpr::SetOperation { left, .. } => first(left),
        _ => None,
    }
}

fn of_item(item: &mut SelectItem) {
    let SelectItem::UnnamedExpr(expr) = item else { return };
    let has_name = matches!(
        expr,
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. }
    );
    if !has_name {
        let (expr, name) = (expr.clone(), expr.to_string());
        *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) };
    }
}
