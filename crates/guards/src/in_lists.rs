//! Merges two IN lists over one value correctly.

use std::borrow::Borrow;
use std::collections::HashSet;

use datafusion::logical_expr::expr::{Cast, InList, TryCast};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, binary_expr};

use super::comparisons::unless_null;
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "Two IN lists over one column forget NULL, and that columns in them may be equal",
    upstream: &["datafusion#24258"],
    ours: "Lists over one expression are merged by a rule of three-valued logic; those of columns are not merged.",
    cases: &[
        Case {
            setup: &["CREATE TABLE nullable AS SELECT * FROM (VALUES (1), (2), (NULL)) t(a)"],
            sql: "SELECT a FROM nullable WHERE a NOT IN (1) OR a NOT IN (2)",
            right: CaseOutcome::Rows(&["1", "2"]),
            theirs: CaseOutcome::Rows(&["1", "2", "NULL"]),
        },
        Case {
            setup: &[
                "CREATE TABLE nullable_int AS SELECT CAST(a AS INT) AS a FROM (VALUES (1), (2), (NULL)) t(a)",
            ],
            sql: "SELECT a FROM nullable_int WHERE a NOT IN (CAST(1 AS INT)) OR a NOT IN (2, CAST(2 AS INT))",
            right: CaseOutcome::Rows(&["1", "2"]),
            theirs: CaseOutcome::Rows(&["1", "2", "NULL"]),
        },
        Case {
            setup: &["CREATE TABLE nullable AS SELECT * FROM (VALUES (1), (NULL)) t(a)"],
            sql: "SELECT a IN (1, 2, 3, 4) AND a IN (5, 6, 7, 8) FROM nullable",
            right: CaseOutcome::Rows(&["false", "NULL"]),
            theirs: CaseOutcome::Rows(&["false", "false"]),
        },
        Case {
            setup: &["CREATE TABLE pairs AS SELECT * FROM (VALUES (1, 1, 1)) t(a, b, c)"],
            sql: "SELECT a FROM pairs WHERE a IN (b, 5) AND a IN (c, 6)",
            right: CaseOutcome::Rows(&["1"]),
            theirs: CaseOutcome::Rows(&[]),
        },
    ],
};

/// Returns `a AND b` or `a OR b` with at most one list per expression, where DataFusion would merge the lists
/// wrongly.
pub(super) fn merge(expr: &Expr) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) =
        expr
    else {
        return None;
    };
    let mut new = Vec::new();
    operands(right, *op, &mut new);
    if !new.iter().any(|it| as_list(it).is_some()) {
        return None;
    }
    let mut old = Vec::new();
    operands(left, *op, &mut old);
    // The left side is already merged.
    let twice = |it: &&Expr| as_list(it).is_some_and(|(list, _)| same(&old, list).is_some());
    if !new.iter().any(twice) {
        return None;
    }
    let mut all: Vec<Expr> = old.into_iter().cloned().collect();
    let mut any = false;
    for operand in new {
        let found = as_list(operand).and_then(|(list, _)| {
            let at = same(&all, list)?;
            Some((at, merged(list_of(&all[at])?, list_of(operand)?, *op)?))
        });
        match found {
            Some((at, (first, second))) => {
                any = true;
                all[at] = first;
                all.extend(second);
            }
            None => all.push(operand.clone()),
        }
    }
    any.then(|| all.into_iter().reduce(|all, one| binary_expr(all, *op, one)))?
}

/// Returns the index of the condition that is a list over the same expression.
fn same<T: Borrow<Expr>>(all: &[T], list: &InList) -> Option<usize> {
    let expr = without_casts(&list.expr);
    let is_same = |(it, _): (&InList, bool)| without_casts(&it.expr) == expr;
    all.iter().position(|it| as_list(it.borrow()).is_some_and(is_same))
}

/// Returns an expression without its outer casts, which DataFusion may move to the items before it merges lists.
fn without_casts(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(Cast { expr, .. }) | Expr::TryCast(TryCast { expr, .. }) => without_casts(expr),
        other => other,
    }
}

/// Collects the operands of nested operators `op`.
fn operands<'a>(expr: &'a Expr, op: Operator, into: &mut Vec<&'a Expr>) {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: other, right }) if *other == op => {
            operands(left, op, into);
            operands(right, op, into);
        }
        other => into.push(other),
    }
}

/// Returns the list of `x [NOT] IN (…)`, and whether it is negated.
fn as_list(expr: &Expr) -> Option<(&InList, bool)> {
    match expr {
        Expr::InList(list) => Some((list, list.negated)),
        Expr::Not(inner) => match inner.as_ref() {
            Expr::InList(list) => Some((list, !list.negated)),
            _ => None,
        },
        _ => None,
    }
}

fn list_of(expr: &Expr) -> Option<InList> {
    as_list(expr).map(|(list, negated)| InList { negated, ..list.clone() })
}

/// Merges two lists to one condition, or to two that DataFusion does not merge. Returns `None` if DataFusion merges
/// them correctly.
fn merged(one: InList, other: InList, op: Operator) -> Option<(Expr, Option<Expr>)> {
    let constant = |list: &InList| {
        list.list.iter().all(|item| matches!(item, Expr::Literal(value, _) if !value.is_null()))
    };
    if op == Operator::Or && !(one.negated && other.negated) {
        return None;
    }
    if one.expr != other.expr || !constant(&one) || !constant(&other) {
        // Each list tests another random value.
        if one.expr.is_volatile() {
            return None;
        }
        return Some((each(one), Some(each(other))));
    }
    let (expr, items) = (one.expr, |list: &[Expr]| list.iter().cloned().collect::<HashSet<_>>());
    let (mut list, negated) = match (op, one.negated, other.negated) {
        (Operator::Or, _, _) | (_, false, false) => {
            let others = items(&other.list);
            (kept(one.list, |it| others.contains(it)), one.negated)
        }
        (_, true, true) => {
            let ones = items(&one.list);
            let more = kept(other.list, |it| !ones.contains(it));
            (one.list.into_iter().chain(more).collect(), true)
        }
        (_, false, true) => {
            let others = items(&other.list);
            (kept(one.list, |it| !others.contains(it)), false)
        }
        (_, true, false) => {
            let ones = items(&one.list);
            (kept(other.list, |it| !ones.contains(it)), false)
        }
    };
    let merged = match list.len() {
        // No value is in both lists, so the answer only depends on NULL.
        0 => unless_null(*expr, negated),
        1 => {
            let op = if negated { Operator::NotEq } else { Operator::Eq };
            binary_expr(*expr, op, list.swap_remove(0))
        }
        _ => Expr::InList(InList { expr, list, negated }),
    };
    Some((merged, None))
}

fn kept(list: Vec<Expr>, keep: impl Fn(&Expr) -> bool) -> Vec<Expr> {
    list.into_iter().filter(keep).collect()
}

/// Returns a list as comparisons with each of its items.
fn each(list: InList) -> Expr {
    let InList { expr, list, negated } = list;
    let op = if negated { Operator::NotEq } else { Operator::Eq };
    let each = list.iter().map(|item| binary_expr(expr.as_ref().clone(), op, item.clone()));
    let all = each.reduce(|all, one| if negated { all.and(one) } else { all.or(one) });
    all.unwrap_or_else(|| datafusion::logical_expr::lit(negated))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use datafusion::logical_expr::{cast, col, in_list, lit, not};

    use super::*;

    fn list(items: &[i64], negated: bool) -> Expr {
        in_list(col("a"), items.iter().copied().map(lit).collect(), negated)
    }

    #[track_caller]
    fn check(expr: &Expr, expected: &str) {
        let merged = merge(expr).map_or_else(|| "as it is".to_owned(), |it| it.to_string());
        assert_eq!(merged, expected);
    }

    #[test]
    fn lists_are_merged_in_three_valued_logic() {
        let (nothing, all) = ("a IS NULL AND Boolean(NULL)", "a IS NOT NULL OR Boolean(NULL)");
        check(&list(&[1], true).or(list(&[2], true)), all);
        check(&list(&[1, 2], true).or(list(&[2, 3], true)), "a != Int64(2)");
        check(&list(&[1, 2], false).and(list(&[3, 4], false)), nothing);
        check(&list(&[1, 2], false).and(list(&[2, 3], false)), "a = Int64(2)");
        check(&list(&[1, 2, 3], false).and(list(&[3], true)), "a IN ([Int64(1), Int64(2)])");
        check(&list(&[3], true).and(list(&[3], false)), nothing);
        check(
            &list(&[1, 2], true).and(list(&[2, 3], true)),
            "a NOT IN ([Int64(1), Int64(2), Int64(3)])",
        );
        check(&not(list(&[1, 2], false)).and(list(&[3, 4], false)), "a IN ([Int64(3), Int64(4)])");
        check(
            &list(&[1, 2], false).and(col("b")).and(list(&[3, 4], false)),
            &format!("{nothing} AND b"),
        );
        check(&list(&[1], false).or(list(&[2], false)), "as it is");
        check(&list(&[1], false).and(col("b")), "as it is");
        let columns = in_list(col("a"), vec![col("b"), lit(5)], false);
        check(&columns.clone().and(list(&[6], false)), "(a = b OR a = Int32(5)) AND a = Int64(6)");
        let wide = in_list(cast(col("a"), DataType::Int64), vec![lit(2_i64)], true);
        check(&list(&[1], true).or(wide), "a != Int64(1) OR CAST(a AS Int64) != Int64(2)");
    }
}
