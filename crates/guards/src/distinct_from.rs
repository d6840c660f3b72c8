//! Corrects the precedence of `IS [NOT] DISTINCT FROM`.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, VisitorMut};

use super::chain::{Chain, null};
use super::{Case, CaseOutcome, Guard, visit};

pub(super) const GUARD: Guard = Guard {
    title: "IS DISTINCT FROM takes the AND and OR that follow for its operand",
    upstream: &[],
    ours: "IS [NOT] DISTINCT FROM binds as in standard SQL: more strongly than NOT, AND and OR, and less strongly \
           than comparisons.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT 1 IS NOT DISTINCT FROM 1 AND 2 IS NOT DISTINCT FROM 2",
            right: CaseOutcome::Rows(&["true"]),
            theirs: CaseOutcome::Error("boolean"),
        },
        Case {
            setup: &[],
            sql: "SELECT false AND true IS DISTINCT FROM false OR true",
            right: CaseOutcome::Rows(&["true"]),
            theirs: CaseOutcome::Rows(&["false"]),
        },
    ],
};

/// Moves AND, OR and XOR out of the right operand of IS [NOT] DISTINCT FROM, where the parser puts them.
pub(super) fn rewrite(statement: &mut Statement) {
    if visit(statement, &mut Find).is_break() {
        let _ = visit(statement, &mut Rotate);
    }
}

struct Find;

impl VisitorMut for Find {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right)
                if logical(right).is_some() =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

struct Rotate;

impl VisitorMut for Rotate {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if takes_too_much(expr) {
            let mut chain = Chain::new(strength);
            add(&mut chain, std::mem::replace(expr, null()));
            *expr = chain.tree();
        }
        ControlFlow::Continue(())
    }
}

/// Returns AND, OR or XOR if one of them joins an expression that is not in parentheses.
fn logical(expr: &Expr) -> Option<&BinaryOperator> {
    match expr {
        Expr::BinaryOp { op, .. } => strength(op).map(|_| op),
        _ => None,
    }
}

/// Returns true if a right operand in this expression, outside of parentheses, is joined by AND, OR or XOR.
fn takes_too_much(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { left, op, right } if strength(op).is_some() => {
            takes_too_much(left) || takes_too_much(right)
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => takes_too_much(expr),
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => {
            logical(right).is_some() || takes_too_much(right)
        }
        _ => false,
    }
}

/// Returns the precedence of an operator; a greater one binds more strongly.
fn strength(op: &BinaryOperator) -> Option<usize> {
    match op {
        BinaryOperator::Or => Some(0),
        BinaryOperator::Xor => Some(1),
        BinaryOperator::And => Some(2),
        _ => None,
    }
}

fn add(chain: &mut Chain, expr: Expr) {
    match expr {
        Expr::IsDistinctFrom(left, right) => {
            add_within(chain, *right, |first| Expr::IsDistinctFrom(left, first));
        }
        Expr::IsNotDistinctFrom(left, right) => {
            add_within(chain, *right, |first| Expr::IsNotDistinctFrom(left, first));
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } if takes_too_much(&expr) => {
            add_within(chain, *expr, |expr| Expr::UnaryOp { op: UnaryOperator::Not, expr });
        }
        other => chain.add(other, add),
    }
}

/// Adds an expression of which only the first operand belongs to the operator before it.
fn add_within(chain: &mut Chain, expr: Expr, wrap: impl FnOnce(Box<Expr>) -> Expr) {
    let at = chain.operands.len();
    add(chain, expr);
    if let Some(first) = chain.operands.get_mut(at) {
        let operand = std::mem::replace(first, null());
        *first = wrap(Box::new(operand));
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    /// Shows how a condition is parsed, with every operand in brackets.
    fn understood(condition: &str) -> String {
        fn show(expr: &Expr) -> String {
            match expr {
                Expr::BinaryOp { left, op, right } => {
                    format!("[{} {op} {}]", show(left), show(right))
                }
                Expr::UnaryOp { op, expr } => format!("[{op} {}]", show(expr)),
                Expr::IsDistinctFrom(left, right) => {
                    format!("[{} <> {}]", show(left), show(right))
                }
                Expr::IsNotDistinctFrom(left, right) => {
                    format!("[{} == {}]", show(left), show(right))
                }
                Expr::Nested(inner) => show(inner),
                other => other.to_string(),
            }
        }
        struct First(Option<String>);
        impl VisitorMut for First {
            type Break = ();
            fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
                self.0 = Some(show(expr));
                ControlFlow::Break(())
            }
        }
        let sql = format!("SELECT 1 FROM t HAVING {condition}").replace("SELECT 1 ", "SELECT * ");
        let mut statement = DFParser::parse_sql(&sql).unwrap().pop_front().unwrap();
        rewrite(&mut statement);
        let mut first = First(None);
        let _ = visit(&mut statement, &mut first);
        first.0.unwrap()
    }

    #[test]
    fn it_binds_more_strongly_than_and() {
        for (text, expected) in [
            ("a IS DISTINCT FROM b AND c", "[[a <> b] AND c]"),
            ("a IS NOT DISTINCT FROM b OR c AND d", "[[a == b] OR [c AND d]]"),
            ("a IS NOT DISTINCT FROM b AND c OR d", "[[[a == b] AND c] OR d]"),
            ("x AND a IS DISTINCT FROM b OR c", "[[x AND [a <> b]] OR c]"),
            ("x OR a IS DISTINCT FROM b AND c", "[x OR [[a <> b] AND c]]"),
            ("NOT a IS DISTINCT FROM b AND c", "[[NOT [a <> b]] AND c]"),
            ("a IS DISTINCT FROM b = c AND d", "[[a <> [b = c]] AND d]"),
            ("a IS DISTINCT FROM (b AND c)", "[a <> [b AND c]]"),
            (
                "a IS DISTINCT FROM b AND c IS NOT DISTINCT FROM d OR e",
                "[[[a <> b] AND [c == d]] OR e]",
            ),
            ("a IS DISTINCT FROM b AND c AND d", "[[[a <> b] AND c] AND d]"),
            ("a IS DISTINCT FROM b XOR c AND d", "[[a <> b] XOR [c AND d]]"),
            ("a AND b OR c", "[[a AND b] OR c]"),
        ] {
            assert_eq!(understood(text), expected, "{text}");
        }
    }
}
