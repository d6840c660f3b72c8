//! What statements have a store evaluate.

use sluicegate_costmodel::Terms;
use sluicegate_s3select::dialect::ast::{BinaryOp, Expr, Function, Projection, Query};

/// What a look by `BLOOM_CONTAINS` is taken for, in comparisons: a hash and its seven bits take a little
/// less than one look by `SUBSTRING` does.
pub const BLOOM_CONTAINS: u32 = 6;

/// What a statement has the store evaluate for each row, to know whether it passes: comparisons,
/// conversions, arithmetic, CASE and Bloom filters.
#[must_use]
pub fn terms(query: &Query) -> Terms {
    let mut known = Vec::new();
    query.filter.as_ref().map_or(Terms::NONE, |filter| weight(filter) + casts(filter, &mut known))
}

/// What it evaluates for each row that passes: what it selects, aggregates and groups by.
#[must_use]
pub fn items(query: &Query) -> Terms {
    let items = match &query.projection {
        Projection::Star => &[],
        Projection::Items(items) => items.as_slice(),
    };
    let mut known = Vec::new();
    // What the condition converts is there.
    if let Some(filter) = &query.filter {
        casts(filter, &mut known);
    }
    let mut weight = |expr| weight(expr) + casts(expr, &mut known);
    let items: Terms = items.iter().map(|item| weight(&item.expr)).sum();
    if query.group_by.is_empty() {
        return items;
    }
    let key = Terms { keys: 1, ..Terms::NONE };
    let keys: Terms = query.group_by.iter().map(|by| key + weight(by)).sum();
    // The states to update are each row's own.
    let states = Terms { keys: items.updates, updates: 0, ..items };
    keys + states
}

fn weight(expr: &Expr) -> Terms {
    let all = |exprs: &[&Expr]| -> Terms { exprs.iter().map(|expr| weight(expr)).sum() };
    match expr {
        Expr::Literal(_) | Expr::Path(_) => Terms::NONE,
        Expr::Unary { expr, .. } | Expr::Is { expr, .. } => Terms::from(1) + weight(expr),
        Expr::Binary { op: BinaryOp::Eq, left, .. } if is_slice(left) => {
            Terms { probes: 1, ..Terms::NONE }
        }
        Expr::Binary { left, right, .. } => Terms::from(1) + all(&[left, right]),
        Expr::Between { expr, low, high, .. } => Terms::from(2) + all(&[expr, low, high]),
        Expr::Like { expr, .. } | Expr::In { expr, .. } => Terms::from(2) + weight(expr),
        Expr::Case { operand, branches, otherwise } => {
            let branch = Terms { cases: 1, ..Terms::NONE };
            let arms: Terms = branches.iter().map(|(when, then)| branch + all(&[when, then])).sum();
            let rest = [operand.as_deref(), otherwise.as_deref()];
            arms + rest.into_iter().flatten().map(weight).sum()
        }
        // Conversions are counted once for each statement.
        Expr::Cast { expr, .. } => weight(expr),
        Expr::Call { function: Function::BloomContains, args } => {
            Terms::from(BLOOM_CONTAINS) + args.iter().map(weight).sum()
        }
        Expr::Call { args, .. } => args.iter().map(weight).sum(),
        Expr::Aggregate { arg, .. } => {
            let update = Terms { updates: 1, ..Terms::NONE };
            update + arg.as_deref().map_or(Terms::NONE, weight)
        }
    }
}

/// The conversions of an expression that are not among those that are known, which they then are: a
/// statement converts a value once.
fn casts<'a>(expr: &'a Expr, known: &mut Vec<&'a Expr>) -> Terms {
    let mut all =
        |exprs: &[&'a Expr]| -> Terms { exprs.iter().map(|expr| casts(expr, known)).sum() };
    match expr {
        Expr::Literal(_) | Expr::Path(_) => Terms::NONE,
        Expr::Cast { expr: inner, .. } => {
            let is_constant = matches!(**inner, Expr::Literal(_));
            if is_constant || known.contains(&expr) {
                return Terms::NONE;
            }
            known.push(expr);
            Terms { casts: 1, ..Terms::NONE } + casts(inner, known)
        }
        Expr::Unary { expr, .. }
        | Expr::Is { expr, .. }
        | Expr::Like { expr, .. }
        | Expr::In { expr, .. } => casts(expr, known),
        Expr::Binary { left, right, .. } => all(&[left, right]),
        Expr::Between { expr, low, high, .. } => all(&[expr, low, high]),
        Expr::Case { operand, branches, otherwise } => {
            let arms: Terms = branches.iter().map(|(when, then)| all(&[when, then])).sum();
            let rest = [operand.as_deref(), otherwise.as_deref()];
            arms + rest.into_iter().flatten().map(|expr| casts(expr, known)).sum()
        }
        Expr::Call { args, .. } => args.iter().map(|arg| casts(arg, known)).sum(),
        Expr::Aggregate { arg, .. } => arg.as_deref().map_or(Terms::NONE, |arg| casts(arg, known)),
    }
}

/// The constants in the lists of a statement's condition, which the store reads before the first row.
#[must_use]
pub fn constants(query: &Query) -> u64 {
    query.filter.as_ref().map_or(0, in_lists)
}

/// The constants in the lists of a condition.
fn in_lists(expr: &Expr) -> u64 {
    match expr {
        Expr::In { list, .. } => list.len() as u64,
        Expr::Unary { expr, .. } => in_lists(expr),
        Expr::Binary { left, right, .. } => in_lists(left) + in_lists(right),
        _ => 0,
    }
}

/// Whether this is a character of a text that the statement holds, as a look into a Bloom filter is.
fn is_slice(expr: &Expr) -> bool {
    matches!(expr, Expr::Call { function: Function::Substring, args }
        if matches!(args.first(), Some(Expr::Literal(_))))
}

/// The terms of some conditions, and the constants of their lists.
pub(crate) fn conditions<'a>(conditions: impl Iterator<Item = &'a Expr>) -> (Terms, u64) {
    conditions.fold((Terms::NONE, 0), |(terms, constants), condition| {
        let casts = casts(condition, &mut Vec::new());
        (terms + weight(condition) + casts, constants + in_lists(condition))
    })
}
