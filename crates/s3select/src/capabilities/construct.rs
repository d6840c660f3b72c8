//! The constructs of a statement that stores support to different degrees.

use std::collections::BTreeSet;

use crate::dialect::ast::{BinaryOp, Expr, IsTest, Literal, PathStep, Projection, Query, UnaryOp};

/// The constructs of a statement, by name. A store that refuses a statement because of its constructs
/// also refuses every other statement that contains the same constructs.
pub fn constructs(query: &Query) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    if !query.from.path.is_empty() {
        found.insert("a path in FROM");
    }
    if query.limit.is_some() {
        found.insert("LIMIT");
    }
    let mut pending: Vec<&Expr> = query.filter.iter().collect();
    if !pending.is_empty() {
        found.insert("WHERE");
    }
    if !query.group_by.is_empty() {
        found.insert("GROUP BY");
        pending.extend(&query.group_by);
    }
    match &query.projection {
        Projection::Star => {
            found.insert("*");
        }
        Projection::Items(items) => {
            if items.iter().any(|item| item.alias.is_some()) {
                found.insert("AS");
            }
            pending.extend(items.iter().map(|item| &item.expr));
        }
    }
    // No recursion, because a chain of ORs can be thousands deep.
    while let Some(expr) = pending.pop() {
        found.extend(construct(expr));
        pending.extend(expr.children());
    }
    found
}

/// The construct of one node, without its operands.
fn construct(expr: &Expr) -> Option<&'static str> {
    use crate::dialect::ast::{Aggregate as A, Function as F, Type as T};
    Some(match expr {
        Expr::Literal(Literal::Null) => "NULL",
        Expr::Literal(Literal::Missing) => "MISSING",
        Expr::Literal(Literal::Bool(_)) => "TRUE or FALSE",
        Expr::Literal(Literal::Decimal { .. }) => "numbers with a point",
        Expr::Literal(Literal::Float(_)) => "numbers with an exponent",
        Expr::Literal(Literal::Timestamp(_)) => "timestamps in backticks",
        Expr::Literal(Literal::Int(_) | Literal::String(_)) => return None,
        Expr::Path(steps) => {
            let quoted = |step: &PathStep| matches!(step, PathStep::Field(name) if name.quoted);
            let plain = |step: &PathStep| matches!(step, PathStep::Field(_));
            if steps.iter().any(quoted) {
                "quoted names"
            } else if steps.len() > 2 || !steps.iter().all(plain) {
                "paths into values"
            } else {
                return None;
            }
        }
        Expr::Unary { op: UnaryOp::Not, .. } => "NOT",
        Expr::Unary { expr, .. } if matches!(**expr, Expr::Literal(_)) => return None,
        Expr::Unary { .. } => "arithmetic",
        Expr::Binary { op, .. } => match op {
            BinaryOp::And | BinaryOp::Or => return None,
            BinaryOp::Eq => "=",
            BinaryOp::NotEq => "!=",
            BinaryOp::Lt | BinaryOp::LtEq | BinaryOp::Gt | BinaryOp::GtEq => "< or >",
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Modulo => "arithmetic",
        },
        Expr::Between { negated: false, .. } => "BETWEEN",
        Expr::Between { negated: true, .. } => "NOT BETWEEN",
        Expr::Like { escape: Some(_), .. } => "LIKE with ESCAPE",
        Expr::Like { negated: false, .. } => "LIKE",
        Expr::Like { negated: true, .. } => "NOT LIKE",
        Expr::In { negated: false, .. } => "IN",
        Expr::In { negated: true, .. } => "NOT IN",
        Expr::Is { test: IsTest::Null, .. } => "IS NULL",
        Expr::Is { test: IsTest::Missing, .. } => "IS MISSING",
        Expr::Case { .. } => "CASE",
        Expr::Cast { to, .. } => match to {
            T::Bool => "CAST to BOOL",
            T::Int => "CAST to INT",
            T::Float => "CAST to FLOAT",
            T::Decimal(_) => "CAST to DECIMAL",
            T::String => "CAST to STRING",
            T::Timestamp => "CAST to TIMESTAMP",
        },
        Expr::Call { function, .. } => match function {
            F::Coalesce => "COALESCE",
            F::NullIf => "NULLIF",
            F::CharLength => "CHAR_LENGTH",
            F::Lower => "LOWER",
            F::Upper => "UPPER",
            F::Substring => "SUBSTRING",
            F::Trim(_) => "TRIM",
            F::DateAdd(_) => "DATE_ADD",
            F::DateDiff(_) => "DATE_DIFF",
            F::Extract(_) => "EXTRACT",
            F::ToString => "TO_STRING",
            F::ToTimestamp => "TO_TIMESTAMP",
            F::UtcNow => "UTCNOW",
            F::BloomContains => "BLOOM_CONTAINS",
            F::List => "lists in brackets",
        },
        Expr::Aggregate { function, arg } => match (function, arg) {
            (A::Count, None) => "COUNT(*)",
            (A::Count, _) => "COUNT",
            (A::Avg, _) => "AVG",
            (A::Max, _) => "MAX",
            (A::Min, _) => "MIN",
            (A::Sum, _) => "SUM",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Extras, parse, parse_with};

    #[test]
    fn constructs_are_those_that_stores_differ_in() {
        let of = |sql: &str| constructs(&parse(sql).unwrap()).into_iter().collect::<Vec<_>>();
        assert_eq!(of("SELECT s._1 FROM S3Object s"), [""; 0]);
        assert_eq!(
            of("SELECT SUM(CAST(s._1 AS INT)) FROM S3Object s WHERE s._2 NOT IN ('a') AND -1 < 2"),
            ["< or >", "CAST to INT", "NOT IN", "SUM", "WHERE"]
        );
        assert_eq!(
            of("SELECT CASE WHEN s.\"a\" = 1 THEN 1.5 END AS b FROM S3Object s LIMIT 1"),
            ["=", "AS", "CASE", "LIMIT", "numbers with a point", "quoted names"]
        );
        let grouped = "SELECT COUNT(*) FROM S3Object s GROUP BY NOT (s._1 = 1)";
        let grouped = constructs(&parse_with(grouped, Extras::ALL).unwrap());
        assert_eq!(grouped.into_iter().collect::<Vec<_>>(), ["=", "COUNT(*)", "GROUP BY", "NOT"]);
    }
}
