//! Operators that follow one another in a statement without parentheses, and the tree that they mean.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};

/// How strongly an operator binds: the greater, the more; none for operators that do not concern a chain.
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

    /// Adds an expression: its parts by `add`, if one of the operators joins them.
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

    /// The expression, in which operators that bind alike are joined from the left.
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

/// What stands for an expression while it is moved.
pub(super) fn null() -> Expr {
    Expr::Value(Value::Null.into())
}
