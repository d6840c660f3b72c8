//! Numbers the columns of scalar subqueries that have the same name.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, VisitorMut,
};

use super::repeated::shown;
use super::text::normal;
use crate::walk::WalkMut;
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "Two subqueries with a column of one name, in GROUP BY or in aggregates, are refused",
    upstream: &[],
    ours: "Each has a column of its own name.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT max((SELECT 1 AS m)), max((SELECT max(b) AS m FROM inner_names)) FROM inner_names",
            right: CaseOutcome::Rows(&["1, 3"]),
            theirs: CaseOutcome::Error("unique expression names"),
        },
        Case {
            setup: &[T],
            sql: "SELECT (SELECT count(*) AS m FROM inner_names i WHERE i.a = t.a) AS n, count(*) FROM inner_names t \
                  GROUP BY (SELECT count(*) AS m FROM inner_names i WHERE i.a = t.a), \
                  (SELECT max(b) AS m FROM inner_names ORDER BY m LIMIT 1) ORDER BY 1",
            right: CaseOutcome::Rows(&["1, 1", "2, 2"]),
            theirs: CaseOutcome::Error("duplicate unqualified field name"),
        },
    ],
};

const T: &str = "CREATE TABLE inner_names AS SELECT * FROM (VALUES (1, 1), (1, 2), (2, 3)) v(a, b)";

/// Numbers columns that have the name of another subquery's column. Equal subqueries keep equal names.
pub(super) fn number(select: &mut Select, order: Option<&mut OrderBy>) {
    let mut columns = Columns { of: HashMap::new(), depth: 0 };
    let _ = select.projection.walk_mut(&mut columns);
    let _ = select.group_by.walk_mut(&mut columns);
    let _ = select.having.walk_mut(&mut columns);
    let _ = select.qualify.walk_mut(&mut columns);
    if let Some(order) = order {
        let _ = order.walk_mut(&mut columns);
    }
}

/// The texts of subqueries, by the names of their columns.
struct Columns {
    of: HashMap<String, Vec<String>>,
    depth: usize,
}

impl VisitorMut for Columns {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Subquery(query) = expr else { return ControlFlow::Continue(()) };
        let text = query.to_string();
        let Some((inner, order)) = parts(query).filter(|_| self.depth == 0) else {
            return ControlFlow::Continue(());
        };
        let Some(name) = inner.projection.first().and_then(shown) else {
            return ControlFlow::Continue(());
        };
        let texts = self.of.entry(name.clone()).or_default();
        let at = texts.iter().position(|other| *other == text).unwrap_or_else(|| {
            texts.push(text);
            texts.len() - 1
        });
        if at > 0 {
            rename(inner, order, &name, Ident::with_quote('"', format!("{name}:{at}")));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

/// Returns the SELECT of a subquery of one column, and its order.
fn parts(query: &mut Query) -> Option<(&mut Select, Option<&mut OrderBy>)> {
    match query.body.as_mut() {
        SetExpr::Select(select) if select.projection.len() == 1 => {
            Some((select, query.order_by.as_mut()))
        }
        _ => None,
    }
}

fn rename(select: &mut Select, order: Option<&mut OrderBy>, name: &str, alias: Ident) {
    let is_named = |expr: &Expr| matches!(expr, Expr::Identifier(it) if normal(it) == name);
    match select.projection.first_mut() {
        Some(SelectItem::ExprWithAlias { alias: written, .. }) => {
            *written = alias.clone();
            // The column may be referenced here by its alias.
            let groups = match &mut select.group_by {
                GroupByExpr::Expressions(exprs, _) => exprs.as_mut_slice(),
                GroupByExpr::All(_) => &mut [],
            };
            let orders = match order {
                Some(OrderBy { kind: OrderByKind::Expressions(orders), .. }) => {
                    orders.as_mut_slice()
                }
                _ => &mut [],
            };
            let exprs = groups.iter_mut().chain(orders.iter_mut().map(|by| &mut by.expr));
            for expr in exprs.filter(|expr| is_named(expr)) {
                *expr = Expr::Identifier(alias.clone());
            }
        }
        Some(item @ SelectItem::UnnamedExpr(_)) => {
            if let SelectItem::UnnamedExpr(expr) = item {
                let expr = expr.clone();
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        _ => {}
    }
}
