//! Finds the aggregate functions of an expression.

use sluicegate_s3select::dialect::ast::Expr;

/// Appends the aggregate functions in `expr` that `found` does not contain yet.
pub(crate) fn aggregates_of(expr: &Expr, found: &mut Vec<Expr>) {
    if matches!(expr, Expr::Aggregate { .. }) {
        if !found.contains(expr) {
            found.push(expr.clone());
        }
        return;
    }
    for child in expr.children() {
        aggregates_of(child, found);
    }
}
