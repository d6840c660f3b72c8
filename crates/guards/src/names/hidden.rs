//! Supports ORDER BY a column of a table whose name SELECT gives to another column: `t.a`, or `a` in an aggregate.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, TableAlias,
    TableFactor, TableWithJoins, Value, Visitor,
};

use super::ordered::{aliases, is_of_rows, reads, same};
use super::repeated::shown;
use super::text::{exact, normal};
use crate::walk::Walk;
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "ORDER BY `t.a` or `max(a)` beside another column that SELECT names `a` is refused",
    upstream: &[],
    ours: "The column of the table is the one that is meant.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT -a AS a, b FROM hidden_order t ORDER BY t.a",
            right: CaseOutcome::Rows(&["-1, 5", "-2, 4", "-3, 7"]),
            theirs: CaseOutcome::Error("ambiguous"),
        },
        Case {
            setup: &[T],
            sql: "SELECT CAST(a AS VARCHAR) AS a, count(*) FROM hidden_order t GROUP BY t.a ORDER BY t.a DESC LIMIT 2",
            right: CaseOutcome::Rows(&["3, 1", "2, 1"]),
            theirs: CaseOutcome::Error("ambiguous"),
        },
        Case {
            setup: &[T],
            sql: "SELECT t.a AS x, u.b + 1 AS b FROM hidden_order t JOIN hidden_order u ON t.a = u.a ORDER BY u.b, x",
            right: CaseOutcome::Rows(&["2, 5", "1, 6", "3, 8"]),
            theirs: CaseOutcome::Error("ambiguous"),
        },
        Case {
            setup: &[T],
            sql: "SELECT sum(b) AS b, a % 2 AS a FROM hidden_order t GROUP BY t.a % 2 ORDER BY -max(b), abs(sum(b))",
            right: CaseOutcome::Rows(&["12, 1", "4, 0"]),
            theirs: CaseOutcome::Varies,
        },
    ],
};

const T: &str =
    "CREATE TABLE hidden_order AS SELECT * FROM (VALUES (1, 5), (2, 4), (3, 7)) v(a, b)";

/// Computes the expressions of ORDER BY in an inner query whose columns have unique names.
pub(super) fn wrap(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(order) = &mut query.order_by else { return };
    let OrderByKind::Expressions(exprs) = &mut order.kind else { return };
    let aliases = aliases(select);
    if select.distinct.is_some() || aliases.is_empty() {
        return;
    }
    let Some(names) = select.projection.iter().map(shown).collect::<Option<Vec<_>>>() else {
        return;
    };
    let items: HashSet<String> = select.projection.iter().filter_map(of_item).map(exact).collect();
    let is_hidden = |expr: &Expr| {
        let mut hidden = Hidden { aliases: &aliases, items: &items, inside: 0 };
        expr.walk(&mut hidden).is_break() && same(select, expr).is_none()
    };
    if !exprs.iter().any(|by| is_hidden(&by.expr)) {
        return;
    }
    let mut hidden = Vec::new();
    let mut order = Vec::new();
    for by in exprs.iter() {
        order.push(match &by.expr {
            Expr::Value(value) => Expr::Value(value.clone()),
            Expr::Identifier(name) if aliases.contains(&normal(name)) => by.expr.clone(),
            expr => match same(select, expr) {
                Some(at) => Expr::value(Value::Number((at + 1).to_string(), false)),
                None if reads(expr, &aliases, true) => return,
                None => {
                    let name = named("order", hidden.len());
                    hidden.push(SelectItem::ExprWithAlias {
                        expr: expr.clone(),
                        alias: name.clone(),
                    });
                    Expr::Identifier(name)
                }
            },
        });
    }
    for (by, expr) in exprs.iter_mut().zip(order) {
        by.expr = expr;
    }
    let mut inner = Select::clone(select);
    for (at, item) in inner.projection.iter_mut().enumerate() {
        if let Some(expr) = of_item(item).cloned() {
            *item = SelectItem::ExprWithAlias { expr, alias: named("column", at) };
        }
    }
    inner.projection.extend(hidden);
    select.projection = names
        .into_iter()
        .enumerate()
        .map(|(at, name)| {
            let (expr, alias) =
                (Expr::Identifier(named("column", at)), Ident::with_quote('"', name));
            SelectItem::ExprWithAlias { expr, alias }
        })
        .collect();
    select.selection = None;
    select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
    (select.having, select.qualify) = (None, None);
    select.named_window = Vec::new();
    let subquery = Query {
        with: None,
        body: Box::new(SetExpr::Select(Box::new(inner))),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    };
    let alias =
        TableAlias { explicit: true, name: named("ordered", 0), columns: Vec::new(), at: None };
    let relation = TableFactor::Derived {
        lateral: false,
        subquery: Box::new(subquery),
        alias: Some(alias),
        sample: None,
    };
    select.from = vec![TableWithJoins { relation, joins: Vec::new() }];
}

/// Returns true if an expression refers to a column of a table that has the name of an item.
pub(super) fn refers_to_hidden(expr: &Expr, aliases: &HashSet<String>) -> bool {
    expr.walk(&mut Hidden { aliases, items: &HashSet::new(), inside: 0 }).is_break()
}

fn named(kind: &str, at: usize) -> Ident {
    Ident::with_quote('"', format!("__{kind}_{at}"))
}

fn of_item(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// Looks for columns of tables that have the names of others and are no items themselves. A name in an aggregate or
/// window also refers to a column of a table.
struct Hidden<'a> {
    aliases: &'a HashSet<String>,
    items: &'a HashSet<String>,
    inside: usize,
}

impl Visitor for Hidden<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.inside += usize::from(is_of_rows(expr));
        let is_hidden = match expr {
            Expr::CompoundIdentifier(parts) => {
                parts.last().is_some_and(|name| self.aliases.contains(&normal(name)))
                    && !self.items.contains(&exact(expr))
            }
            Expr::Identifier(name) => self.inside > 0 && self.aliases.contains(&normal(name)),
            _ => false,
        };
        if is_hidden { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.inside -= usize::from(is_of_rows(expr));
        ControlFlow::Continue(())
    }
}
