//! Expands ROLLUP and CUBE of repeated columns, and of numbers of columns.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr, Select};

use super::text::{exact, normal, resolved};
use crate::using::tables;
use crate::walk::{Walk, WalkMut};
use crate::{Case, CaseOutcome, Guard};

pub(crate) const GUARD: Guard = Guard {
    title: "ROLLUP and CUBE with a repeated column are refused, and a number in them is a constant",
    upstream: &[],
    ours: "They are written as GROUPING SETS, in each of which the column is once. A number is that of a column of \
           SELECT, as in GROUP BY, also in GROUPING SETS.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT a, count(*) FROM repeated_sets GROUP BY ROLLUP (a, a)",
            right: CaseOutcome::Rows(&["1, 2", "1, 2", "2, 1", "2, 1", "NULL, 3"]),
            theirs: CaseOutcome::Error("duplicate qualified field name"),
        },
        Case {
            setup: &[T],
            sql: "SELECT a, b, count(*) FROM repeated_sets WHERE b < 2 GROUP BY ROLLUP ((a, b), a)",
            right: CaseOutcome::Rows(&["1, 1, 1", "1, 1, 1", "NULL, NULL, 1"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T],
            sql: "SELECT a AS x, count(*) FROM repeated_sets GROUP BY CUBE (a, x)",
            right: CaseOutcome::Rows(&["1, 2", "1, 2", "1, 2", "2, 1", "2, 1", "2, 1", "NULL, 3"]),
            theirs: CaseOutcome::Error("duplicate qualified field name"),
        },
        Case {
            setup: &[T],
            sql: "SELECT b AS x, a AS b, count(*) FROM repeated_sets WHERE b < 2 GROUP BY ROLLUP (b, a)",
            right: CaseOutcome::Rows(&["1, 1, 1", "1, NULL, 1", "NULL, NULL, 1"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T],
            sql: "SELECT t.a, count(*) FROM repeated_sets t GROUP BY ROLLUP (a, t.a)",
            right: CaseOutcome::Rows(&["1, 2", "1, 2", "2, 1", "2, 1", "NULL, 3"]),
            theirs: CaseOutcome::Error("duplicate qualified field name"),
        },
        Case {
            setup: &[T],
            sql: "SELECT count(*) FROM repeated_sets t JOIN repeated_sets u ON t.a = u.b \
                  GROUP BY GROUPING SETS ((t.a, u.a, t.a), ())",
            right: CaseOutcome::Rows(&["2", "1", "3"]),
            theirs: CaseOutcome::Varies,
        },
        Case {
            setup: &[T],
            sql: "SELECT a, count(*) FROM repeated_sets GROUP BY ROLLUP (1)",
            right: CaseOutcome::Rows(&["1, 2", "2, 1", "NULL, 3"]),
            theirs: CaseOutcome::Error("GROUP BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT b, a, count(*) FROM repeated_sets GROUP BY GROUPING SETS ((2, 1), (2), ())",
            right: CaseOutcome::Rows(&[
                "1, 1, 1",
                "2, 1, 1",
                "3, 2, 1",
                "NULL, 1, 2",
                "NULL, 2, 1",
                "NULL, NULL, 3",
            ]),
            theirs: CaseOutcome::Error("GROUP BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT 'x' || a AS t, count(*) FROM repeated_sets GROUP BY CUBE (1)",
            right: CaseOutcome::Rows(&["NULL, 3", "x1, 2", "x2, 1"]),
            theirs: CaseOutcome::Error("GROUP BY"),
        },
    ],
};

const T: &str =
    "CREATE TABLE repeated_sets AS SELECT * FROM (VALUES (1, 1), (1, 2), (2, 3)) v(a, b)";

/// The maximum number of columns of a CUBE that is expanded.
const MOST: usize = 12;

/// Replaces numbers by columns, and expands ROLLUP and CUBE that contain a column twice.
pub(super) fn write_out(select: &mut Select) {
    let GroupByExpr::Expressions(exprs, _) = &select.group_by else { return };
    let written: Vec<Expr> =
        exprs.iter().map(|expr| written(select, &with_columns(select, expr))).collect();
    if let GroupByExpr::Expressions(exprs, _) = &mut select.group_by {
        *exprs = written;
    }
}

/// Returns the sets with the columns of SELECT instead of their numbers.
fn with_columns(select: &Select, expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    if let Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) = &mut expr {
        for part in sets.iter_mut().flatten().filter(|part| matches!(part, Expr::Value(_))) {
            *part = resolved(select, part).clone();
        }
    }
    expr
}

fn written(select: &Select, expr: &Expr) -> Expr {
    let columns = Columns::from_select(select);
    let sets: Vec<Vec<&Vec<Expr>>> = match expr {
        Expr::Rollup(parts) if columns.are_repeated(parts) => {
            (0..=parts.len()).rev().map(|length| parts[..length].iter().collect()).collect()
        }
        Expr::Cube(parts) if columns.are_repeated(parts) && parts.len() <= MOST => (0..1
            << parts.len())
            .map(|taken: usize| {
                let parts = parts.iter().enumerate();
                parts.filter(|(at, _)| taken >> at & 1 == 1).map(|(_, part)| part).collect()
            })
            .collect(),
        Expr::GroupingSets(sets) if columns.are_repeated(sets) => {
            sets.iter().map(|set| vec![set]).collect()
        }
        expr => return expr.clone(),
    };
    let once = |set: Vec<&Vec<Expr>>| {
        columns.once(set.into_iter().flatten()).into_iter().cloned().collect::<Vec<Expr>>()
    };
    Expr::GroupingSets(sets.into_iter().map(once).collect())
}

/// Resolves the expressions of GROUP BY.
struct Columns<'a> {
    select: &'a Select,
    tables: Vec<String>,
}

impl<'a> Columns<'a> {
    fn from_select(select: &'a Select) -> Self {
        let relations = select.from.iter().flat_map(|from| {
            std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
        });
        Self { select, tables: relations.flat_map(tables).collect() }
    }

    /// Returns true if an expression occurs twice.
    fn are_repeated(&self, parts: &[Vec<Expr>]) -> bool {
        let exprs = || parts.iter().flatten();
        self.once(exprs()).len() < exprs().count()
    }

    /// Returns the first of equal expressions.
    fn once<'b>(&self, exprs: impl Iterator<Item = &'b Expr>) -> Vec<&'b Expr> {
        let mut kept: Vec<(String, String)> = Vec::new();
        exprs
            .filter(|expr| {
                let written = self.stands_for(expr);
                let (exact, bare) = (exact(written), self.without_tables(written));
                // A column without its table belongs to one table only.
                let is_same = |(other, of): &(String, String)| {
                    *other == exact || *of == bare && (*other == bare || exact == bare)
                };
                let is_new = !kept.iter().any(is_same);
                kept.push((exact, bare));
                is_new
            })
            .collect()
    }

    /// Returns the expression that a name stands for. It is a column of SELECT only if no table has a column of this
    /// name, which is assumed if SELECT reads that name.
    fn stands_for<'b>(&'b self, expr: &'b Expr) -> &'b Expr {
        let Expr::Identifier(name) = expr else { return resolved(self.select, expr) };
        let is_read = self.select.projection.walk_expressions(&mut |expr| match expr {
            Expr::Identifier(other) if normal(other) == normal(name) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        if is_read.is_break() { expr } else { resolved(self.select, expr) }
    }

    fn without_tables(&self, expr: &Expr) -> String {
        let mut bare = expr.clone();
        let _ = bare.walk_expressions_mut(&mut |expr| {
            if let Expr::CompoundIdentifier(parts) = expr
                && let [table, column] = parts.as_slice()
                && self.tables.contains(&normal(table))
            {
                *expr = Expr::Identifier(column.clone());
            }
            ControlFlow::<()>::Continue(())
        });
        exact(&bare)
    }
}
