//! Short ways to write expressions in code.

use super::ast::{Aggregate, BinaryOp, Expr, IsTest, Literal, Name, PathStep, Type, UnaryOp};
use crate::value::Decimal;

/// The alias that the constructors here give the row.
pub const ROW: &str = "s";

impl Expr {
    /// `s._n`: the column at a position counted from 1.
    #[must_use]
    pub fn column(n: usize) -> Self {
        Self::Path(vec![row(), PathStep::Field(Name { text: format!("_{n}"), quoted: false })])
    }

    /// `s."name"`: the column of exactly this name.
    #[must_use]
    pub fn named_column(name: impl Into<String>) -> Self {
        Self::Path(vec![row(), PathStep::Field(Name { text: name.into(), quoted: true })])
    }

    /// A whole number.
    #[must_use]
    pub fn int(int: i64) -> Self {
        Self::Literal(Literal::Int(int))
    }

    /// A float. NaN and the infinities, which have no literal, become a CAST of their name.
    #[must_use]
    pub fn float(float: f64) -> Self {
        if float.is_finite() {
            return Self::Literal(Literal::Float(float));
        }
        Self::string(format!("{float:?}")).cast(Type::Float)
    }

    /// A decimal.
    #[must_use]
    pub fn decimal(decimal: Decimal) -> Self {
        Self::Literal(Literal::Decimal { unscaled: decimal.unscaled(), scale: decimal.scale() })
    }

    /// A text.
    #[must_use]
    pub fn string(text: impl Into<String>) -> Self {
        Self::Literal(Literal::String(text.into()))
    }

    /// TRUE or FALSE.
    #[must_use]
    pub fn bool(bool: bool) -> Self {
        Self::Literal(Literal::Bool(bool))
    }

    /// NULL.
    #[must_use]
    pub fn null() -> Self {
        Self::Literal(Literal::Null)
    }

    /// `CAST(self AS to)`
    #[must_use]
    pub fn cast(self, to: Type) -> Self {
        Self::Cast { expr: Box::new(self), to }
    }

    /// `self op right`
    #[must_use]
    pub fn binary(self, op: BinaryOp, right: Self) -> Self {
        Self::Binary { left: Box::new(self), op, right: Box::new(right) }
    }

    /// `self AND right`
    #[must_use]
    pub fn and(self, right: Self) -> Self {
        self.binary(BinaryOp::And, right)
    }

    /// `self OR right`
    #[must_use]
    pub fn or(self, right: Self) -> Self {
        self.binary(BinaryOp::Or, right)
    }

    /// `self = right`
    #[must_use]
    pub fn eq(self, right: Self) -> Self {
        self.binary(BinaryOp::Eq, right)
    }

    /// `self <> right`
    #[must_use]
    pub fn not_eq(self, right: Self) -> Self {
        self.binary(BinaryOp::NotEq, right)
    }

    /// `self < right`
    #[must_use]
    pub fn lt(self, right: Self) -> Self {
        self.binary(BinaryOp::Lt, right)
    }

    /// `self <= right`
    #[must_use]
    pub fn lt_eq(self, right: Self) -> Self {
        self.binary(BinaryOp::LtEq, right)
    }

    /// `self > right`
    #[must_use]
    pub fn gt(self, right: Self) -> Self {
        self.binary(BinaryOp::Gt, right)
    }

    /// `self >= right`
    #[must_use]
    pub fn gt_eq(self, right: Self) -> Self {
        self.binary(BinaryOp::GtEq, right)
    }

    /// `NOT self`
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "it is SQL's NOT, beside `and` and `or`")]
    pub fn not(self) -> Self {
        Self::Unary { op: UnaryOp::Not, expr: Box::new(self) }
    }

    /// `self IS NULL`, which is TRUE for MISSING too
    #[must_use]
    pub fn is_null(self) -> Self {
        Self::Is { expr: Box::new(self), test: IsTest::Null, negated: false }
    }

    /// `self IS NOT NULL`
    #[must_use]
    pub fn is_not_null(self) -> Self {
        Self::Is { expr: Box::new(self), test: IsTest::Null, negated: true }
    }

    /// `self IN (list)`, which must not be empty.
    #[must_use]
    pub fn in_list(self, list: Vec<Self>) -> Self {
        Self::In { expr: Box::new(self), list, negated: false }
    }

    /// `self BETWEEN low AND high`
    #[must_use]
    pub fn between(self, low: Self, high: Self) -> Self {
        Self::Between {
            expr: Box::new(self),
            low: Box::new(low),
            high: Box::new(high),
            negated: false,
        }
    }

    /// `NULLIF(self, other)`
    #[must_use]
    pub fn null_if(self, other: Self) -> Self {
        Self::Call { function: super::ast::Function::NullIf, args: vec![self, other] }
    }

    /// `function(self)`
    #[must_use]
    pub fn aggregate(self, function: Aggregate) -> Self {
        Self::Aggregate { function, arg: Some(Box::new(self)) }
    }

    /// `COUNT(*)`
    #[must_use]
    pub fn count_star() -> Self {
        Self::Aggregate { function: Aggregate::Count, arg: None }
    }

    /// All of them joined by AND; `None` if there are none.
    #[must_use]
    pub fn all(terms: Vec<Self>) -> Option<Self> {
        Self::balanced(BinaryOp::And, terms)
    }

    /// All of them joined by OR; `None` if there are none.
    #[must_use]
    pub fn any(terms: Vec<Self>) -> Option<Self> {
        Self::balanced(BinaryOp::Or, terms)
    }

    /// The terms joined by an associative operator as a tree of the least height, in order.
    pub(super) fn balanced(op: BinaryOp, mut terms: Vec<Self>) -> Option<Self> {
        while terms.len() > 1 {
            let mut rest = terms.into_iter();
            let mut joined = Vec::with_capacity(rest.len().div_ceil(2));
            while let Some(left) = rest.next() {
                joined.push(match rest.next() {
                    Some(right) => left.binary(op, right),
                    None => left,
                });
            }
            terms = joined;
        }
        terms.pop()
    }

    /// The terms joined as they are read: from the left.
    pub(super) fn leaning(op: BinaryOp, terms: Vec<Self>) -> Option<Self> {
        terms.into_iter().reduce(|left, right| left.binary(op, right))
    }
}

fn row() -> PathStep {
    PathStep::Field(Name { text: ROW.to_owned(), quoted: false })
}
