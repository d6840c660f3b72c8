//! ROLLUP and CUBE of repeated columns, and of numbers of columns.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr, Select};

use super::text::{exact, resolved};
use crate::guards::{Answer, Case, Guard};

pub(in crate::guards) const GUARD: Guard = Guard {
    title: "ROLLUP and CUBE with a repeated column are refused, and a number in them is a constant",
    upstream: &[],
    ours: "They are written as GROUPING SETS, in each of which the column is once. A number is that of a column of \
           SELECT, as in GROUP BY, also in GROUPING SETS.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT a, count(*) FROM repeated_sets GROUP BY ROLLUP (a, a)",
            right: Answer::Rows(&["1, 2", "1, 2", "2, 1", "2, 1", "NULL, 3"]),
            theirs: Answer::Error("duplicate qualified field name"),
        },
        Case {
            setup: &[T],
            sql: "SELECT a, b, count(*) FROM repeated_sets WHERE b < 2 GROUP BY ROLLUP ((a, b), a)",
            right: Answer::Rows(&["1, 1, 1", "1, 1, 1", "NULL, NULL, 1"]),
            theirs: Answer::Varies,
        },
        Case {
            setup: &[T],
            sql: "SELECT a AS x, count(*) FROM repeated_sets GROUP BY CUBE (a, x)",
            right: Answer::Rows(&["1, 2", "1, 2", "1, 2", "2, 1", "2, 1", "2, 1", "NULL, 3"]),
            theirs: Answer::Error("duplicate qualified field name"),
        },
        Case {
            setup: &[T],
            sql: "SELECT a, count(*) FROM repeated_sets GROUP BY ROLLUP (1)",
            right: Answer::Rows(&["1, 2", "2, 1", "NULL, 3"]),
            theirs: Answer::Error("GROUP BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT b, a, count(*) FROM repeated_sets GROUP BY GROUPING SETS ((2, 1), (2), ())",
            right: Answer::Rows(&[
                "1, 1, 1",
                "2, 1, 1",
                "3, 2, 1",
                "NULL, 1, 2",
                "NULL, 2, 1",
                "NULL, NULL, 3",
            ]),
            theirs: Answer::Error("GROUP BY"),
        },
        Case {
            setup: &[T],
            sql: "SELECT 'x' || a AS t, count(*) FROM repeated_sets GROUP BY CUBE (1)",
            right: Answer::Rows(&["NULL, 3", "x1, 2", "x2, 1"]),
            theirs: Answer::Error("GROUP BY"),
        },
    ],
};

const T: &str =
    "CREATE TABLE repeated_sets AS SELECT * FROM (VALUES (1, 1), (1, 2), (2, 3)) v(a, b)";

/// The most columns of a CUBE that is written out.
const MOST: usize = 12;

/// Puts columns in place of their numbers, and writes ROLLUP and CUBE out that name a column twice.
pub(super) fn write_out(select: &mut Select) {
    let GroupByExpr::Expressions(exprs, _) = &select.group_by else { return };
    let written: Vec<Expr> =
        exprs.iter().map(|expr| written(select, &with_columns(select, expr))).collect();
    if let GroupByExpr::Expressions(exprs, _) = &mut select.group_by {
        *exprs = written;
    }
}

/// The same sets with the columns of SELECT that numbers stand for.
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
    let text = |expr: &Expr| exact(resolved(select, expr));
    let sets: Vec<Vec<&Vec<Expr>>> = match expr {
        Expr::Rollup(parts) if is_repeated(parts, text) => {
            (0..=parts.len()).rev().map(|length| parts[..length].iter().collect()).collect()
        }
        Expr::Cube(parts) if is_repeated(parts, text) && parts.len() <= MOST => (0..1
            << parts.len())
            .map(|taken: usize| {
                let parts = parts.iter().enumerate();
                parts.filter(|(at, _)| taken >> at & 1 == 1).map(|(_, part)| part).collect()
            })
            .collect(),
        expr => return expr.clone(),
    };
    let once = |set: Vec<&Vec<Expr>>| {
        let mut seen = HashSet::new();
        let exprs = set.into_iter().flatten().filter(|expr| seen.insert(text(expr)));
        exprs.cloned().collect::<Vec<Expr>>()
    };
    Expr::GroupingSets(sets.into_iter().map(once).collect())
}

fn is_repeated(parts: &[Vec<Expr>], text: impl Fn(&Expr) -> String) -> bool {
    let mut seen = HashSet::new();
    parts.iter().flatten().any(|expr| !seen.insert(text(expr)))
}
