//! Supports ORDER BY expressions that SELECT computes.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use datafusion::functions_aggregate::all_default_aggregate_functions;
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, Function, GroupByExpr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem,
    Value, Visitor,
};

use super::casts::is_literal;
use super::hidden::refers_to_hidden;
use super::text::{exact, loose, normal};
use crate::walk::Walk;
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "ORDER BY the number of a column that is computed from groups, or what DISTINCT computes, is refused",
    upstream: &[],
    ours: "The expression is written in place of its number, and the other way round beside DISTINCT.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT g, sum(x) / count(*) FROM ordered_groups GROUP BY g ORDER BY 2 DESC",
            right: CaseOutcome::Rows(&["2, 9", "1, 3"]),
            theirs: CaseOutcome::Error("GROUP BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT 10 - g, count(*) FROM ordered_groups GROUP BY g ORDER BY 1",
            right: CaseOutcome::Rows(&["8, 1", "9, 2"]),
            theirs: CaseOutcome::Error("GROUP BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT g - x, count(*) AS x FROM ordered_groups t GROUP BY g, t.x ORDER BY 1",
            right: CaseOutcome::Rows(&["-7, 1", "-3, 1", "-1, 1"]),
            theirs: CaseOutcome::Error("GROUP BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT EXISTS (SELECT 1 FROM ordered_groups u WHERE u.x = t.g), g FROM ordered_groups t \
                  GROUP BY g ORDER BY 1, 2",
            right: CaseOutcome::Rows(&["false, 1", "true, 2"]),
            theirs: CaseOutcome::Error("GROUP BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT g AS x, sum(x) FROM ordered_groups GROUP BY g ORDER BY sum(x) DESC",
            right: CaseOutcome::Rows(&["2, 9", "1, 6"]),
            theirs: CaseOutcome::Error("duplicate"),
        },
        Case {
            setup: &[T],
            sql: "SELECT g, rank() OVER (ORDER BY sum(x) DESC) FROM ordered_groups GROUP BY g ORDER BY 2",
            right: CaseOutcome::Rows(&["2, 1", "1, 2"]),
            theirs: CaseOutcome::Error("GROUP BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT -g FROM ordered_groups ORDER BY -g",
            right: CaseOutcome::Rows(&["-2", "-1"]),
            theirs: CaseOutcome::Error("must appear in select list"),
        },
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT CAST(x AS VARCHAR) FROM ordered_groups ORDER BY CAST(x AS VARCHAR) DESC",
            right: CaseOutcome::Rows(&["9", "4", "2"]),
            theirs: CaseOutcome::Error("must appear in select list"),
        },
        Case {
            setup: &[T],
            sql: "SELECT DISTINCT -t.g AS x, t.x AS y FROM ordered_groups t ORDER BY t.x DESC, -t.g",
            right: CaseOutcome::Rows(&["-2, 9", "-1, 4", "-1, 2"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T],
            sql: "SELECT t.g AS x, t.x + t.g AS y FROM ordered_groups t ORDER BY t.x + t.g DESC",
            right: CaseOutcome::Rows(&["2, 11", "1, 5", "1, 3"]),
            theirs: CaseOutcome::Error("ambiguous"),
        },
    ],
};

const T: &str =
    "CREATE TABLE ordered_groups AS SELECT * FROM (VALUES (1, 2), (1, 4), (2, 9)) v(g, x)";

/// Writes the expressions of ORDER BY such that DataFusion finds them in SELECT.
pub(super) fn place(select: &mut Select, order: &mut OrderBy) {
    let OrderByKind::Expressions(exprs) = &mut order.kind else { return };
    let is_distinct = matches!(select.distinct, Some(Distinct::Distinct));
    let is_grouped = is_grouped(select);
    let aliases = aliases(select);
    for by in exprs {
        let numbered = numbered(select, &by.expr);
        // In ORDER BY, names would refer to those of SELECT.
        let is_another = |expr: &Expr| is_distinct || reads(expr, &aliases, false);
        let at = match numbered {
            None if is_another(&by.expr) || refers_to_hidden(&by.expr, &aliases) => {
                same(select, &by.expr)
            }
            numbered => numbered,
        };
        let Some(at) = at else { continue };
        let number = || Expr::value(Value::Number((at + 1).to_string(), false));
        match select.projection.get_mut(at) {
            Some(SelectItem::UnnamedExpr(expr)) if is_grouped && !is_found(expr) => {
                if !is_another(expr) && !is_literal(expr) {
                    by.expr = expr.clone();
                    continue;
                }
                by.expr = number();
                let alias = Ident::with_quote('"', expr.to_string());
                let expr = expr.clone();
                select.projection[at] = SelectItem::ExprWithAlias { expr, alias };
            }
            _ => by.expr = number(),
        }
    }
}

/// Returns the column with this number, if it does not depend on the columns of tables.
fn numbered(select: &Select, expr: &Expr) -> Option<usize> {
    let Expr::Value(value) = expr else { return None };
    let Value::Number(digits, _) = &value.value else { return None };
    let at = digits.parse::<usize>().ok()?.checked_sub(1)?;
    let before = select.projection.get(..=at)?;
    let is_one =
        |item| matches!(item, &SelectItem::UnnamedExpr(_) | &SelectItem::ExprWithAlias { .. });
    before.iter().all(is_one).then_some(at)
}

/// Returns the column that is computed by this expression.
pub(super) fn same(select: &Select, expr: &Expr) -> Option<usize> {
    // A plain name may refer to another column.
    if matches!(expr, Expr::Identifier(_)) || is_literal(expr) {
        return None;
    }
    let text = |item: &SelectItem, text: fn(&Expr) -> String| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(text(expr)),
        _ => None,
    };
    let with = |kind: fn(&Expr) -> String| {
        let wanted = kind(expr);
        let found = select.projection.iter().enumerate();
        let mut found = found.filter(|(_, item)| text(item, kind).as_ref() == Some(&wanted));
        let (first, others) = (found.next(), found.count());
        first.filter(|_| others == 0).map(|(at, _)| at)
    };
    let at = with(exact).or_else(|| with(loose).filter(|_| !is_column(expr)))?;
    // A number also counts the columns of `*`.
    let is_wildcard =
        |item| matches!(item, &SelectItem::Wildcard(_) | &SelectItem::QualifiedWildcard(..));
    (!select.projection.iter().take(at).any(is_wildcard)).then_some(at)
}

/// Returns true if DataFusion finds an expression among the groups and aggregates.
fn is_found(expr: &Expr) -> bool {
    match expr {
        Expr::Function(function) => is_aggregate(function),
        Expr::Nested(inner) => is_found(inner),
        expr => is_column(expr),
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// Returns true if a SELECT has groups. GROUP BY ALL already includes all expressions that could be referenced.
fn is_grouped(select: &Select) -> bool {
    let by = match &select.group_by {
        GroupByExpr::Expressions(exprs, modifiers) => !exprs.is_empty() || !modifiers.is_empty(),
        GroupByExpr::All(_) => return false,
    };
    by || select.having.is_some()
        || select.projection.iter().any(|item| item.walk(&mut Aggregates { inside: 0 }).is_break())
}

/// Looks for aggregates of this SELECT.
struct Aggregates {
    inside: usize,
}

impl Visitor for Aggregates {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.inside += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.inside -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if self.inside == 0 && is_aggregate(function) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn is_aggregate(function: &Function) -> bool {
    static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let functions = all_default_aggregate_functions();
        let names = functions.iter().flat_map(|function| {
            let aliases = function.aliases().iter().cloned();
            std::iter::once(function.name().to_owned()).chain(aliases)
        });
        names.collect()
    });
    let name = function.name.0.last().and_then(|part| part.as_ident());
    function.over.is_none() && name.is_some_and(|name| NAMES.contains(&normal(name)))
}

/// Returns the aliases of the columns.
pub(super) fn aliases(select: &Select) -> HashSet<String> {
    let names = select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        _ => None,
    });
    names.collect()
}

/// Returns true if an expression would have another meaning in ORDER BY, where names refer to SELECT, or if it
/// contains a query, which must only occur once. With `apart`, names in aggregates and windows do not count.
pub(super) fn reads(expr: &Expr, names: &HashSet<String>, apart: bool) -> bool {
    expr.walk(&mut ColumnReads { names, apart, inside: 0 }).is_break()
}

struct ColumnReads<'a> {
    names: &'a HashSet<String>,
    apart: bool,
    inside: usize,
}

impl Visitor for ColumnReads<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.inside += usize::from(self.apart && is_of_rows(expr));
        match expr {
            Expr::Identifier(name) if self.inside == 0 && self.names.contains(&normal(name)) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.inside -= usize::from(self.apart && is_of_rows(expr));
        ControlFlow::Continue(())
    }
}

/// Returns true if an expression is an aggregate or a window.
pub(super) fn is_of_rows(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(function) if function.over.is_some() || is_aggregate(function))
}
