//! `SELECT TOP 3 …` of SQL Server, as LIMIT.

use datafusion::sql::sqlparser::ast::{Expr, LimitClause, Query, SetExpr, TopQuantity, Value};

/// Replaces TOP by LIMIT. TOP with PERCENT or WITH TIES, beside LIMIT and in UNION stays, and is refused.
pub(crate) fn limit(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return;
    }
    let Some(top) = select.top.take_if(|top| !top.percent && !top.with_ties) else { return };
    let rows = match top.quantity {
        Some(TopQuantity::Expr(rows)) => Some(rows),
        Some(TopQuantity::Constant(rows)) => {
            Some(Expr::Value(Value::Number(rows.to_string(), false).into()))
        }
        None => None,
    };
    query.limit_clause =
        Some(LimitClause::LimitOffset { limit: rows, offset: None, limit_by: Vec::new() });
}
