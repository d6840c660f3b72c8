//! Keeps the negative of a number apart from the complement of its bits.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, binary_expr, lit};

use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "The negative of a bitwise expression is computed as the complement of its bits",
    upstream: &[],
    ours: "`-(a & b)` is the negative of `a & b`, and `a & -a` is the lowest bit of `a`.",
    cases: &[
        Case {
            setup: &["CREATE TABLE low_bits AS SELECT * FROM (VALUES (8), (6), (NULL)) t(a)"],
            sql: "SELECT -(a & 2), -(a | 1), -(a & 2) + 1 FROM low_bits",
            right: CaseOutcome::Rows(&["0, -9, 1", "-2, -7, -1", "NULL, NULL, NULL"]),
            theirs: CaseOutcome::Rows(&["-2, -8, -1", "-2, -6, -1", "NULL, NULL, NULL"]),
        },
        Case {
            setup: &["CREATE TABLE set_bits (a INT NOT NULL) AS VALUES (8), (6)"],
            sql: "SELECT a & -a, -a | a, a ^ -a FROM set_bits WHERE -(a & 2) <= 0",
            right: CaseOutcome::Rows(&["8, -8, -16", "2, -2, -4"]),
            theirs: CaseOutcome::Rows(&["0, -1, -1", "0, -1, -1"]),
        },
    ],
};

/// Returns an expression in which `0 - x` stands for `-x` in and around bitwise operators.
pub(super) fn subtracted(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr {
        Expr::Negative(inner) if is_bitwise(inner) => from_zero(inner, schema),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_bitwise(expr) => {
            let operand = |side: &Expr| match side {
                Expr::Negative(inner) => from_zero(inner, schema),
                _ => None,
            };
            let (first, second) = (operand(left), operand(right));
            if first.is_none() && second.is_none() {
                return None;
            }
            let first = first.unwrap_or_else(|| left.as_ref().clone());
            let second = second.unwrap_or_else(|| right.as_ref().clone());
            Some(binary_expr(first, *op, second))
        }
        _ => None,
    }
}

fn is_bitwise(expr: &Expr) -> bool {
    use Operator as O;
    matches!(
        expr,
        Expr::BinaryExpr(BinaryExpr { op: O::BitwiseAnd | O::BitwiseOr | O::BitwiseXor, .. })
    )
}

fn from_zero(inner: &Expr, schema: &DFSchema) -> Option<Expr> {
    let data_type: DataType = inner.get_type(schema).ok()?;
    let zero = ScalarValue::new_zero(&data_type).ok()?;
    Some(binary_expr(lit(zero), Operator::Minus, inner.clone()))
}
