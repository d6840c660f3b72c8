//! Identities of arithmetic that hold for every number, and not for NULL.

use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Case, Expr, Operator};

use super::exact::Number;
use super::{Answer, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "power(x, 0), log(x, 1) and x XOR x are numbers for NULL",
    upstream: &["datafusion#24246"],
    ours: "They are NULL for NULL.",
    cases: &[super::Case {
        setup: &["CREATE TABLE numbers AS SELECT * FROM (VALUES (2.0, 3), (NULL, NULL)) t(a, i)"],
        sql: "SELECT power(a, 0.0), log(a, 1.0), i XOR i FROM numbers",
        right: Answer::Rows(&["1.0, 0.0, 0", "NULL, NULL, NULL"]),
        theirs: Answer::Rows(&["1.0, 0.0, 0", "1.0, 0.0, 0"]),
    }],
};

/// An expression that DataFusion simplifies by such an identity, where it is not NULL.
pub(super) fn unless_null(expr: &Expr) -> Option<Expr> {
    let operand = match expr {
        Expr::ScalarFunction(call) => base(call)?.clone(),
        Expr::BinaryExpr(BinaryExpr { op: Operator::BitwiseXor, .. }) => {
            let mut operands = Vec::new();
            add_operands(expr, &mut operands);
            let twice = operands.iter().enumerate().find(|(at, it)| operands[..*at].contains(it));
            Expr::clone(twice?.1)
        }
        _ => return None,
    };
    let branches = vec![(Box::new(operand.is_not_null()), Box::new(expr.clone()))];
    Some(Expr::Case(Case { expr: None, when_then_expr: branches, else_expr: None }))
}

/// The base of a power or a logarithm that is a number for every base.
fn base(call: &ScalarFunction) -> Option<&Expr> {
    let is_power = |name: &str| matches!(name, "power" | "log");
    let [base, other] = call.args.as_slice() else { return None };
    let same = match other {
        Expr::ScalarFunction(inner) => {
            is_power(inner.func.name()) && inner.args.first() == Some(base)
        }
        other => other == base || is_zero_or_one(other),
    };
    (is_power(call.func.name()) && same).then_some(base)
}

fn is_zero_or_one(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => Number::of_literal(value)
            .is_some_and(|number| [0, 1].map(|it| Number::of_decimal(it, 0)).contains(&number)),
        Expr::Cast(Cast { expr, .. }) => is_zero_or_one(expr),
        _ => false,
    }
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
