//! Turns `IS [NOT] DISTINCT FROM NULL` into a test for NULL.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Expr, Operator};

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "TRY_CAST is left out before IS [NOT] DISTINCT FROM NULL",
    upstream: &[],
    ours: "It is IS [NOT] NULL, which a failed TRY_CAST is.",
    cases: &[
        Case {
            setup: &[T],
            sql: "SELECT k FROM try_casts WHERE TRY_CAST(k AS INT) IS NOT DISTINCT FROM NULL ORDER BY k",
            right: CaseOutcome::Rows(&["abc", "NULL"]),
            theirs: CaseOutcome::Rows(&["NULL"]),
        },
        Case {
            setup: &[T],
            sql: "SELECT k FROM try_casts WHERE CAST(NULL AS INT) IS DISTINCT FROM TRY_CAST(k AS INT)",
            right: CaseOutcome::Rows(&["7"]),
            theirs: CaseOutcome::Rows(&["7", "abc"]),
        },
    ],
};

const T: &str = "CREATE TABLE try_casts AS SELECT * FROM (VALUES ('7'), ('abc'), (NULL)) t(k)";

/// Returns the test for NULL that a comparison with NULL is equivalent to.
pub(super) fn tested(left: &Expr, op: Operator, right: &Expr) -> Option<Expr> {
    let other = match (is_null(left), is_null(right)) {
        (_, true) => left,
        (true, false) => right,
        _ => return None,
    };
    match op {
        Operator::IsDistinctFrom => Some(other.clone().is_not_null()),
        Operator::IsNotDistinctFrom => Some(other.clone().is_null()),
        _ => None,
    }
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => ScalarValue::is_null(value),
        Expr::Cast(Cast { expr, .. }) => is_null(expr),
        _ => false,
    }
}
