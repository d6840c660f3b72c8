//! Keeps NULL in a chain of XOR that contains a value twice.

use datafusion::logical_expr::{BinaryExpr, Case, Expr, Operator};

use super::{CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "x ^ x is 0 for NULL",
    upstream: &["datafusion#24246"],
    ours: "It is NULL for NULL.",
    cases: &[super::Case {
        setup: &["CREATE TABLE bits AS SELECT * FROM (VALUES (3), (NULL)) t(i)"],
        sql: "SELECT i ^ i FROM bits",
        right: CaseOutcome::Rows(&["0", "NULL"]),
        theirs: CaseOutcome::Rows(&["0", "0"]),
    }],
};

/// Returns a chain of XOR that contains a value twice as one that is NULL where the value is NULL. DataFusion removes
/// the value.
pub(super) fn unless_null(expr: &Expr) -> Option<Expr> {
    let mut operands = Vec::new();
    match expr {
        Expr::BinaryExpr(BinaryExpr { op: Operator::BitwiseXor, .. }) => {
            add_operands(expr, &mut operands);
        }
        _ => return None,
    }
    let at = (1..operands.len()).find(|at| operands[..*at].contains(&operands[*at]))?;
    let present = Box::new(operands[at].clone().is_not_null());
    let branches = vec![(present, Box::new(expr.clone()))];
    Some(Expr::Case(Case { expr: None, when_then_expr: branches, else_expr: None }))
}

fn add_operands<'a>(expr: &'a Expr, all: &mut Vec<&'a Expr>) {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::BitwiseXor, right }) => {
            add_operands(left, all);
            add_operands(right, all);
        }
        other => all.push(other),
    }
}
