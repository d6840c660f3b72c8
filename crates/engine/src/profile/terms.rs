//! What statements have a store evaluate.

use sluicegate_costmodel::Terms;
use sluicegate_s3select::dialect::ast::{
    Aggregate, BinaryOp, Expr, Function, Projection, Query, Type,
};

/// What a look by `BLOOM_CONTAINS` is taken for, in comparisons: a hash and its seven bits take a little
/// less than one look by `SUBSTRING` does.
pub const BLOOM_CONTAINS: u32 = 6;

/// What a statement has the store evaluate for each row, to know whether it passes: comparisons,
/// conversions, arithmetic, CASE and Bloom filters. If it is known which share of the rows passes, what
/// stands behind AND and OR counts for the rows that get there; otherwise for all.
#[must_use]
pub fn terms(query: &Query, passing: Option<f64>) -> Terms {
    let mut known = Vec::new();
    query.filter.as_ref().map_or(Terms::NONE, |filter| condition(filter, passing, &mut known))
}

/// What a condition asks for, beyond the conversions that are known.
///
/// Of conditions that AND connects, each is taken to let the same share pass: the n-th root of what all
/// of them let pass. OR is the same of the rows that do not pass.
fn condition<'a>(expr: &'a Expr, passing: Option<f64>, known: &mut Vec<&'a Expr>) -> Terms {
    let op = match expr {
        Expr::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), .. } => *op,
        _ => return weight(expr) + casts(expr, known),
    };
    let mut parts = Vec::new();
    connected(expr, op, &mut parts);
    let root = |share: f64| share.clamp(0.0, 1.0).powf(1.0 / parts.len() as f64);
    // Which share of the rows a part passes on to the next, and which of them pass it.
    let (passed_on, passing) = match (op, passing) {
        (_, None) => (1.0, None),
        (BinaryOp::And, Some(passing)) => (root(passing), Some(root(passing))),
        (_, Some(passing)) => (root(1.0 - passing), Some(1.0 - root(1.0 - passing))),
    };
    let (mut all, mut reached) = (Terms::NONE, 1.0);
    for (number, part) in parts.into_iter().enumerate() {
        let connective = Terms::from(u32::from(number > 0));
        all = all + (condition(part, passing, known) + connective).times(reached);
        reached *= passed_on;
    }
    all
}

/// What one operator connects, in the order in which it is evaluated.
fn connected<'a>(expr: &'a Expr, by: BinaryOp, parts: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Binary { op, left, right } if *op == by => {
            connected(left, by, parts);
            connected(right, by, parts);
        }
        _ => parts.push(expr),
    }
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
    let mut of_groups = OfGroups::default();
    let mut weight = |expr| match GroupAggregate::of(expr) {
        Some(aggregate) => aggregate.weight(&mut known, &mut of_groups),
        None => weight(expr) + casts(expr, &mut known),
    };
    let items: Terms = items.iter().map(|item| weight(&item.expr)).sum();
    let key = Terms { keys: 1.0, ..Terms::NONE };
    items + query.group_by.iter().map(|by| key + self::weight(by)).sum()
}

/// An aggregate of one group, `SUM(CASE WHEN g = 'a' AND h = 'b' THEN x END)`, with 0 or NULL elsewhere.
///
/// Our server looks up each row's group once for all of them, and another store may as well.
struct GroupAggregate<'a> {
    /// What the group is known by.
    keys: Vec<&'a Expr>,
    /// What is done with the value in its rows, ...
    function: Aggregate,
    /// ... which is this.
    value: &'a Expr,
}

/// What the aggregates of several groups have in common.
#[derive(Default)]
struct OfGroups<'a> {
    /// Keys and values.
    exprs: Vec<&'a Expr>,
    /// What is done with the values of a row, in whichever group it is.
    updates: Vec<(Aggregate, &'a Expr)>,
}

impl<'a> GroupAggregate<'a> {
    fn of(expr: &'a Expr) -> Option<Self> {
        let Expr::Aggregate { function, arg: Some(arg) } = expr else { return None };
        let Expr::Case { operand: None, branches, otherwise } = arg.as_ref() else { return None };
        let [(condition, value)] = branches.as_slice() else { return None };
        if !matches!(otherwise.as_deref(), None | Some(Expr::Literal(_))) {
            return None;
        }
        let mut keys = Vec::new();
        equal_keys(condition, &mut keys).then_some(Self { keys, function: *function, value })
    }

    /// What it asks for beyond the conversions that are `known`, and the keys and values that other
    /// aggregates `of_groups` have, which are then more.
    fn weight(&self, known: &mut Vec<&'a Expr>, of_groups: &mut OfGroups<'a>) -> Terms {
        let key = Terms { keys: 1.0, ..Terms::NONE };
        let keys = self.keys.iter().map(|it| (*it, key));
        let value = (self.value, weight(self.value));
        let mut all = Terms { cases: 1.0, ..Terms::NONE };
        for (expr, weight) in keys.chain([value]) {
            all = all + casts(expr, known);
            if !of_groups.exprs.contains(&expr) {
                of_groups.exprs.push(expr);
                all = all + weight;
            }
        }
        let update = (self.function, self.value);
        if !of_groups.updates.contains(&update) {
            of_groups.updates.push(update);
            all = all + updating(self.function);
        }
        all
    }
}

/// Finds what a condition compares with constants, if it consists of nothing but such equalities.
fn equal_keys<'a>(condition: &'a Expr, keys: &mut Vec<&'a Expr>) -> bool {
    match condition {
        Expr::Binary { op: BinaryOp::And, left, right } => {
            equal_keys(left, keys) && equal_keys(right, keys)
        }
        Expr::Binary { op: BinaryOp::Eq, left, right } if matches!(**right, Expr::Literal(_)) => {
            keys.push(left);
            true
        }
        _ => false,
    }
}

/// Updating an aggregate.
fn updating(function: Aggregate) -> Terms {
    match function {
        // Whether a value is there is seen at once.
        Aggregate::Count => Terms::from(1),
        _ => Terms { updates: 1.0, ..Terms::NONE },
    }
}

fn weight(expr: &Expr) -> Terms {
    let all = |exprs: &[&Expr]| -> Terms { exprs.iter().map(|expr| weight(expr)).sum() };
    match expr {
        Expr::Literal(_) | Expr::Path(_) => Terms::NONE,
        Expr::Unary { expr, .. } | Expr::Is { expr, .. } => Terms::from(1) + weight(expr),
        Expr::Binary { op: BinaryOp::Eq, left, .. } if is_slice(left) => {
            Terms { probes: 1.0, ..Terms::NONE }
        }
        Expr::Binary { left, right, .. } => Terms::from(1) + all(&[left, right]),
        Expr::Between { expr, low, high, .. } => Terms::from(2) + all(&[expr, low, high]),
        Expr::Like { expr, .. } | Expr::In { expr, .. } => Terms::from(2) + weight(expr),
        Expr::Case { operand, branches, otherwise } => {
            let branch = Terms::from(1);
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
        Expr::Aggregate { function, arg } => {
            updating(*function) + arg.as_deref().map_or(Terms::NONE, weight)
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
        Expr::Cast { expr: inner, to } => {
            let is_constant = matches!(**inner, Expr::Literal(_));
            if is_constant || known.contains(&expr) {
                return Terms::NONE;
            }
            known.push(expr);
            let cast = match to {
                Type::Decimal(_) | Type::Timestamp => Terms { long_casts: 1.0, ..Terms::NONE },
                _ => Terms { casts: 1.0, ..Terms::NONE },
            };
            cast + casts(inner, known)
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

/// The terms of some conditions, all of which are evaluated for each row, and the constants of their lists.
pub(crate) fn conditions<'a>(conditions: impl Iterator<Item = &'a Expr>) -> (Terms, u64) {
    conditions.fold((Terms::NONE, 0), |(terms, constants), it| {
        (terms + condition(it, None, &mut Vec::new()), constants + in_lists(it))
    })
}
