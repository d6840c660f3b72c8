//! Finds the aggregate functions of an expression.

use crate::dialect::ast::Expr;

/// Appends the aggregate functions in `expr` that `found` does not have yet.
pub(crate) fn aggregates_of(expr: &Expr, found: &mut Vec<Expr>) {
    if matches!(expr, Expr::Aggregate { .. }) {
        if !found.contains(expr) {
            found.push(expr.clone());
        }
        return;
    }
    for child in children(expr) {
        aggregates_of(child, found);
    }
}

fn children(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Literal(_) | Expr::Path(_) => Vec::new(),
        Expr::Unary { expr, .. } | Expr::Is { expr, .. } | Expr::Cast { expr, .. } => vec![expr],
        Expr::Binary { left, right, .. } => vec![left, right],
        Expr::Between { expr, low, high, .. } => vec![expr, low, high],
        Expr::Like { expr, pattern, escape, .. } => [Some(expr), Some(pattern), escape.as_ref()]
            .into_iter()
            .flatten()
            .map(|e| &**e)
            .collect(),
        Expr::In { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
        Expr::Case { operand, branches, otherwise } => {
            let ends = [operand.as_deref(), otherwise.as_deref()].into_iter().flatten();
            branches.iter().flat_map(|(when, then)| [when, then]).chain(ends).collect()
        }
        Expr::Call { args, .. } => args.iter().collect(),
        Expr::Aggregate { arg, .. } => arg.iter().map(|arg| &**arg).collect(),
    }
}
