//! `x LIKE ANY (a, b)` and `x LIKE ALL (a, b)` of a list, as chains of OR and AND.
//!
//! `NOT LIKE ANY` stays and is refused, because systems differ: it is `NOT (x LIKE ANY …)` in Snowflake, and some `NOT
//! LIKE` in PostgreSQL.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments,
};

/// Returns the chain for LIKE or ILIKE with a list of patterns; `None` for other expressions.
pub(crate) fn chain(expr: &Expr) -> Option<Expr> {
    let (negated, any, pattern) = match expr {
        Expr::Like { negated, any, pattern, .. } | Expr::ILike { negated, any, pattern, .. } => {
            (*negated, *any, pattern.as_ref())
        }
        _ => return None,
    };
    let (patterns, op) = match any {
        true if negated => return None,
        true => (listed(pattern)?, BinaryOperator::Or),
        false => (all(pattern)?, BinaryOperator::And),
    };
    let parts: Vec<Expr> = patterns.into_iter().filter_map(|it| with_pattern(expr, it)).collect();
    Some(Expr::Nested(Box::new(joined(parts, &op)?)))
}

/// Returns the members of `(a, b)`, `(a)`, `[a, b]` or `([a, b])`.
fn listed(pattern: &Expr) -> Option<Vec<Expr>> {
    match pattern {
        Expr::Tuple(list) => Some(list.clone()),
        Expr::Array(array) => Some(array.elem.clone()),
        Expr::Nested(one) => listed(one).or_else(|| Some(vec![one.as_ref().clone()])),
        Expr::Subquery(_) => None,
        one => Some(vec![one.clone()]),
    }
}

/// Returns the arguments of ALL (…), which the parser takes for a function.
fn all(pattern: &Expr) -> Option<Vec<Expr>> {
    let Expr::Function(call) = pattern else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    if !call.name.to_string().eq_ignore_ascii_case("all") || list.args.is_empty() {
        return None;
    }
    let members = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Subquery(_))) => None,
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    let members: Vec<Expr> = members.collect::<Option<_>>()?;
    match members.as_slice() {
        [one] => listed(one),
        _ => Some(members),
    }
}

/// Returns a LIKE with another pattern.
fn with_pattern(like: &Expr, other: Expr) -> Option<Expr> {
    let mut like = like.clone();
    let (Expr::Like { any, pattern, .. } | Expr::ILike { any, pattern, .. }) = &mut like else {
        return None;
    };
    (*any, **pattern) = (false, other);
    Some(like)
}

/// Joins expressions by an operator into a tree whose depth grows with the logarithm of their number.
fn joined(mut parts: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let right = parts.split_off(parts.len() / 2);
    let (left, right) = (joined(parts, op)?, joined(right, op)?);
    Some(Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) })
}
