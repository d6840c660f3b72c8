//! Recognizes a condition that is written twice, once with its sides swapped.

use datafusion::logical_expr::{BinaryExpr, Expr};

use super::comparisons::is_comparison;
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "A condition that is written twice, once with its sides swapped, finds nothing",
    upstream: &["datafusion#24763"],
    ours: "`'7' = k` becomes `k = '7'` before conditions are compared with each other.",
    cases: &[Case {
        setup: &["CREATE TABLE flipped AS SELECT DATE '2001-01-14' AS d"],
        sql: "SELECT d FROM flipped WHERE d = '2001-01-14' AND '2001-01-14' = d",
        right: CaseOutcome::Rows(&["2001-01-14"]),
        theirs: CaseOutcome::Rows(&[]),
    }],
};

/// Puts the column first.
pub(super) fn flip(expr: &Expr) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else { return None };
    let first = matches!(right.as_ref(), Expr::Column(_)) && !left.any_column_refs();
    if !first || !is_comparison(*op) || left.contains_outer() {
        return None;
    }
    let (left, op, right) = (right.clone(), op.swap()?, left.clone());
    Some(Expr::BinaryExpr(BinaryExpr { left, op, right }))
}
