//! Corrects the precedence of `||` and of the bit operators.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, VisitorMut};

use super::chain::{Chain, null};
use super::{Case, CaseOutcome, Guard, visit};

pub(super) const GUARD: Guard = Guard {
    title: "`||` binds more strongly than + and −, and & more strongly than |",
    upstream: &[],
    ours: "`||`, `|`, `&`, `<<` and `>>` bind less strongly than arithmetic and alike, from left to right, as in \
           PostgreSQL and DuckDB.",
    cases: &[Case {
        setup: &[],
        sql: "SELECT 1 + 1 || 'x', 1 | 2 & 4",
        right: CaseOutcome::Rows(&["2x, 0"]),
        theirs: CaseOutcome::Error("Int64"),
    }],
};

/// Moves operators to which the parser gives a wrong precedence.
pub(super) fn rewrite(statement: &mut Statement) {
    let _ = visit(statement, &mut Rotate);
}

struct Rotate;

impl VisitorMut for Rotate {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if is_misplaced(expr) {
            let mut chain = Chain::new(strength);
            add(&mut chain, std::mem::replace(expr, null()));
            *expr = chain.tree();
        }
        ControlFlow::Continue(())
    }
}

fn add(chain: &mut Chain, expr: Expr) {
    chain.add(expr, add);
}

fn strength(op: &BinaryOperator) -> Option<usize> {
    use BinaryOperator as O;
    match op {
        O::StringConcat
        | O::BitwiseOr
        | O::BitwiseAnd
        | O::PGBitwiseShiftLeft
        | O::PGBitwiseShiftRight => Some(0),
        O::Plus | O::Minus => Some(1),
        O::Multiply | O::Divide | O::Modulo => Some(2),
        _ => None,
    }
}

/// Returns true if an operator in a chain of these contradicts its precedence.
fn is_misplaced(expr: &Expr) -> bool {
    let Expr::BinaryOp { left, op, right } = expr else { return false };
    let Some(own) = strength(op) else { return false };
    let of = |side: &Expr| match side {
        Expr::BinaryOp { op, .. } => strength(op),
        _ => None,
    };
    of(left).is_some_and(|it| it < own)
        || of(right).is_some_and(|it| it <= own)
        || is_misplaced(left)
        || is_misplaced(right)
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::*;

    #[test]
    fn operators_bind_as_in_postgresql() {
        for (text, expected) in [
            ("a + b || c", "(a + b) || c"),
            ("a || b + c * d", "a || (b + (c * d))"),
            ("a | b & c << d", "((a | b) & c) << d"),
            ("a - b - c", "(a - b) - c"),
            ("a * (b || c) + d", "(a * (b || c)) + d"),
            ("a || b = c + d || e", "a || b = c + d || e"),
        ] {
            let parsed = |text: &str| {
                let mut statement =
                    DFParser::parse_sql(&format!("SELECT {text}")).unwrap().pop_front().unwrap();
                rewrite(&mut statement);
                statement
            };
            /// Puts every pair of operands in parentheses.
            struct Show;
            impl VisitorMut for Show {
                type Break = ();
                fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
                    match expr {
                        Expr::BinaryOp { .. } => {
                            *expr = Expr::Nested(Box::new(std::mem::replace(expr, null())));
                        }
                        Expr::Nested(inner) if matches!(**inner, Expr::Nested(_)) => {
                            *expr = std::mem::replace(inner, null());
                        }
                        _ => {}
                    }
                    ControlFlow::Continue(())
                }
            }
            let shown = |text: &str| {
                let mut statement = parsed(text);
                let _ = visit(&mut statement, &mut Show);
                statement.to_string()
            };
            assert_eq!(shown(text), shown(expected), "{text}");
        }
    }
}
