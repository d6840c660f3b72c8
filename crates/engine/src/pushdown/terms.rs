//! Counts the work that statements cause in a store.

use sluicegate_costmodel::Terms;
use sluicegate_s3select::dialect::ast::{
    Aggregate, BinaryOp, Expr, Function, Projection, Query, Type,
};

/// Cost of `BLOOM_CONTAINS` in comparisons. Its hash and seven bits take slightly less time than one lookup by
/// `SUBSTRING`.
pub const BLOOM_CONTAINS: u32 = 6;

/// The time to read and compile an aggregate of one group, in constants of a list: 12 µs where a constant takes 0.8 µs.
pub(crate) const CONSTANTS_OF_A_CASE: u64 = 15;

/// Returns the work of a statement's filter per row: comparisons, conversions, arithmetic, CASE and Bloom filters.
/// With `passing`, the share of rows that pass, operands behind AND and OR count for the rows that reach them.
/// Without it they count for all rows.
#[must_use]
pub fn terms(query: &Query, passing: Option<f64>) -> Terms {
    let mut known = Vec::new();
    query.filter.as_ref().map_or(Terms::NONE, |filter| condition(filter, passing, &mut known))
}

/// Returns the work of a condition, without the conversions in `known`.
///
/// Each operand of AND is assumed to pass the same share of the rows: the n-th root of the share that passes all. OR
/// is treated likewise for the rows that do not pass.
fn condition<'a>(expr: &'a Expr, passing: Option<f64>, known: &mut Vec<&'a Expr>) -> Terms {
    let op = match expr {
        Expr::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), .. } => *op,
        _ => return weight(expr) + casts(expr, known),
    };
    let mut parts = Vec::new();
    connected(expr, op, &mut parts);
    let root = |share: f64| share.clamp(0.0, 1.0).powf(1.0 / parts.len() as f64);
    // The share of the rows that reach the next operand, and the share that pass this one.
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

/// Collects the operands of nested operators `by`, in the order of evaluation.
fn connected<'a>(expr: &'a Expr, by: BinaryOp, parts: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Binary { op, left, right } if *op == by => {
            connected(left, by, parts);
            connected(right, by, parts);
        }
        _ => parts.push(expr),
    }
}

/// Returns the work of a statement for each row that passes: its items, aggregates and grouping keys.
#[must_use]
pub fn items(query: &Query) -> Terms {
    let items = match &query.projection {
        Projection::Star => &[],
        Projection::Items(items) => items.as_slice(),
    };
    let mut known = Vec::new();
    // Conversions of the filter are not repeated.
    if let Some(filter) = &query.filter {
        casts(filter, &mut known);
    }
    let mut of_groups = CommonGroupTerms::default();
    let mut weight = |expr| match GroupAggregate::from_expr(expr) {
        Some(aggregate) => aggregate.weight(&mut known, &mut of_groups),
        None => weight(expr) + casts(expr, &mut known),
    };
    let items: Terms = items.iter().map(|item| weight(&item.expr)).sum();
    let key = Terms { keys: 1.0, ..Terms::NONE };
    items + query.group_by.iter().map(|by| key + self::weight(by)).sum()
}

/// An aggregate of one group, `SUM(CASE WHEN g = 'a' AND h = 'b' THEN x END)`, with 0 or NULL otherwise.
///
/// Our server looks up each row's group once for all such aggregates, and other stores may do so, too.
struct GroupAggregate<'a> {
    /// Expressions that the group is identified by.
    keys: Vec<&'a Expr>,
    /// The aggregate function.
    function: Aggregate,
    /// Argument of the function for rows of the group.
    value: &'a Expr,
}

/// Work that the aggregates of several groups share.
#[derive(Default)]
struct CommonGroupTerms<'a> {
    /// Keys and values that are already counted.
    exprs: Vec<&'a Expr>,
    /// Updates that are already counted; a row causes each once, whatever its group.
    updates: Vec<(Aggregate, &'a Expr)>,
}

impl<'a> GroupAggregate<'a> {
    fn from_expr(expr: &'a Expr) -> Option<Self> {
        let Expr::Aggregate { function, arg: Some(arg) } = expr else { return None };
        let Expr::Case { operand: None, branches, otherwise } = arg.as_ref() else { return None };
        let [(condition, value)] = branches.as_slice() else { return None };
        if !matches!(otherwise.as_deref(), None | Some(Expr::Literal(_))) {
            return None;
        }
        let mut keys = Vec::new();
        equal_keys(condition, &mut keys).then_some(Self { keys, function: *function, value })
    }

    /// Returns the work of the aggregate without the conversions in `known` and the keys and values in `of_groups`,
    /// and adds its own to both.
    fn weight(&self, known: &mut Vec<&'a Expr>, of_groups: &mut CommonGroupTerms<'a>) -> Terms {
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

/// Collects the expressions that a condition compares with constants. Returns false if it contains anything but such
/// equalities.
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

/// Returns the work of updating an aggregate with a row.
fn updating(function: Aggregate) -> Terms {
    match function {
        // Counting only checks for NULL.
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
        // Conversions are counted once per statement.
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

/// Returns the work of an expression's conversions that are not in `known`, and adds them to it. A statement converts
/// a value once.
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

/// Returns the number of constants that the store reads before the first row: those in the lists of the filter, and
/// for each aggregate of one group `CONSTANTS_OF_A_CASE`.
#[must_use]
pub fn constants(query: &Query) -> u64 {
    let items = match &query.projection {
        Projection::Star => &[],
        Projection::Items(items) => items.as_slice(),
    };
    let cases = items.iter().filter(|item| GroupAggregate::from_expr(&item.expr).is_some()).count();
    query.filter.as_ref().map_or(0, in_lists) + CONSTANTS_OF_A_CASE * cases as u64
}

/// Returns the number of constants in the lists of a condition.
fn in_lists(expr: &Expr) -> u64 {
    match expr {
        Expr::In { list, .. } => list.len() as u64,
        Expr::Unary { expr, .. } => in_lists(expr),
        Expr::Binary { left, right, .. } => in_lists(left) + in_lists(right),
        _ => 0,
    }
}

/// Returns true if this is a substring of a constant, which is how statements look into a Bloom filter.
fn is_slice(expr: &Expr) -> bool {
    matches!(expr, Expr::Call { function: Function::Substring, args }
        if matches!(args.first(), Some(Expr::Literal(_))))
}

/// Returns the work of some conditions, all evaluated for each row, and the number of constants in their lists.
pub(crate) fn conditions<'a>(conditions: impl Iterator<Item = &'a Expr>) -> (Terms, u64) {
    conditions.fold((Terms::NONE, 0), |(terms, constants), it| {
        (terms + condition(it, None, &mut Vec::new()), constants + in_lists(it))
    })
}
