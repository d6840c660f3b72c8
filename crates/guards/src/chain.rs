//! Parses chains of operators without parentheses again, with other precedences.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};

/// Returns the precedence of an operator; a greater one binds more strongly. `None` for operators outside of the
/// chain.
pub(super) type Strength = fn(&BinaryOperator) -> Option<usize>;

/// Operands in the order of the text, and the operators between them.
pub(super) struct Chain {
    strength: Strength,
    pub(super) operands: Vec<Expr>,
    operators: Vec<BinaryOperator>,
}

impl Chain {
    pub(super) fn new(strength: Strength) -> Self {
        Self { strength, operands: Vec::new(), operators: Vec::new() }
    }

    /// Adds an expression. If one of the chain's operators joins it, its operands are added by `add`.
    pub(super) fn add(&mut self, expr: Expr, add: impl Fn(&mut Self, Expr)) {
        match expr {
            Expr::BinaryOp { left, op, right } if (self.strength)(&op).is_some() => {
                add(self, *left);
                self.operators.push(op);
                add(self, *right);
            }
            other => self.operands.push(other),
        }
    }

    /// Returns the expression. Operators of equal precedence associate to the left.
    pub(super) fn tree(self) -> Expr {
        let Self { strength, operands, operators } = self;
        let mut operands = operands.into_iter();
        let mut done = vec![operands.next().unwrap_or_else(null)];
        let mut pending: Vec<BinaryOperator> = Vec::new();
        for (op, operand) in operators.into_iter().zip(operands) {
            while pending.last().is_some_and(|last| strength(last) >= strength(&op)) {
                join(&mut done, pending.pop());
            }
            pending.push(op);
            done.push(operand);
        }
        while !pending.is_empty() {
            join(&mut done, pending.pop());
        }
        done.pop().unwrap_or_else(null)
    }
}

/// Joins the last two expressions.
fn join(done: &mut Vec<Expr>, op: Option<BinaryOperator>) {
    if let (Some(right), Some(left), Some(op)) = (done.pop(), done.pop(), op) {
        done.push(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) });
    }
}

/// Returns a placeholder for an expression that is moved.
pub(super) fn null() -> Expr {
    Expr::Value(Value::Null.into())
}
