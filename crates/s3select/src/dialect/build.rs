//! Constructors for expressions.

use super::ast::{Aggregate, BinaryOp, Expr, IsTest, Literal, Name, PathStep, Type, UnaryOp};
use crate::value::Decimal;

/// The alias of the row in expressions that these constructors build.
pub const ROW: &str = "s";

impl Expr {
    /// Builds `s._n`, the column at a position counted from 1.
    #[must_use]
    pub fn column(n: usize) -> Self {
        Self::Path(vec![row(), PathStep::Field(Name { text: format!("_{n}"), quoted: false })])
    }

    /// Builds `s."name"`, the column with exactly this name.
    #[must_use]
    pub fn named_column(name: impl Into<String>) -> Self {
        Self::Path(vec![row(), PathStep::Field(Name { text: name.into(), quoted: true })])
    }

    /// Builds an integer literal.
    #[must_use]
    pub fn int(int: i64) -> Self {
        Self::Literal(Literal::Int(int))
    }

    /// Builds a float literal. NaN and the infinities have no literal and become a CAST of their name.
    #[must_use]
    pub fn float(float: f64) -> Self {
        if float.is_finite() {
            return Self::Literal(Literal::Float(float));
        }
        Self::string(format!("{float:?}")).cast(Type::Float)
    }

    /// Builds a decimal literal.
    #[must_use]
    pub fn decimal(decimal: Decimal) -> Self {
        Self::Literal(Literal::Decimal { unscaled: decimal.unscaled(), scale: decimal.scale() })
    }

    /// Builds a text literal.
    #[must_use]
    pub fn string(text: impl Into<String>) -> Self {
        Self::Literal(Literal::String(text.into()))
    }

    /// Builds TRUE or FALSE.
    #[must_use]
    pub fn bool(bool: bool) -> Self {
        Self::Literal(Literal::Bool(bool))
    }

    /// Builds the NULL literal.
    #[must_use]
    pub fn null() -> Self {
        Self::Literal(Literal::Null)
    }

    /// Builds `CAST(self AS to)`.
    #[must_use]
    pub fn cast(self, to: Type) -> Self {
        Self::Cast { expr: Box::new(self), to }
    }

    /// Builds `self op right`.
    #[must_use]
    pub fn binary(self, op: BinaryOp, right: Self) -> Self {
        Self::Binary { left: Box::new(self), op, right: Box::new(right) }
    }

    /// Builds `self AND right`.
    #[must_use]
    pub fn and(self, right: Self) -> Self {
        self.binary(BinaryOp::And, right)
    }

    /// Builds `self OR right`.
    #[must_use]
    pub fn or(self, right: Self) -> Self {
        self.binary(BinaryOp::Or, right)
    }

    /// Builds `self = right`.
    #[must_use]
    pub fn eq(self, right: Self) -> Self {
        self.binary(BinaryOp::Eq, right)
    }

    /// Builds `self <> right`.
    #[must_use]
    pub fn not_eq(self, right: Self) -> Self {
        self.binary(BinaryOp::NotEq, right)
    }

    /// Builds `self < right`.
    #[must_use]
    pub fn lt(self, right: Self) -> Self {
        self.binary(BinaryOp::Lt, right)
    }

    /// Builds `self <= right`.
    #[must_use]
    pub fn lt_eq(self, right: Self) -> Self {
        self.binary(BinaryOp::LtEq, right)
    }

    /// Builds `self > right`.
    #[must_use]
    pub fn gt(self, right: Self) -> Self {
        self.binary(BinaryOp::Gt, right)
    }

    /// Builds `self >= right`.
    #[must_use]
    pub fn gt_eq(self, right: Self) -> Self {
        self.binary(BinaryOp::GtEq, right)
    }

    /// Builds `NOT self`.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "it is SQL's NOT, beside `and` and `or`")]
    pub fn not(self) -> Self {
        Self::Unary { op: UnaryOp::Not, expr: Box::new(self) }
    }

    /// Builds `self IS NULL`, which is TRUE for MISSING as well.
    #[must_use]
    pub fn is_null(self) -> Self {
        Self::Is { expr: Box::new(self), test: IsTest::Null, negated: false }
    }

    /// Builds `self IS NOT NULL`.
    #[must_use]
    pub fn is_not_null(self) -> Self {
        Self::Is { expr: Box::new(self), test: IsTest::Null, negated: true }
    }

    /// Builds `self IN (list)`. The list must not be empty.
    #[must_use]
    pub fn in_list(self, list: Vec<Self>) -> Self {
        Self::In { expr: Box::new(self), list, negated: false }
    }

    /// Builds `self BETWEEN low AND high`.
    #[must_use]
    pub fn between(self, low: Self, high: Self) -> Self {
        Self::Between {
            expr: Box::new(self),
            low: Box::new(low),
            high: Box::new(high),
            negated: false,
        }
    }

    /// Builds `NULLIF(self, other)`.
    #[must_use]
    pub fn null_if(self, other: Self) -> Self {
        Self::Call { function: super::ast::Function::NullIf, args: vec![self, other] }
    }

    /// Builds `function(self)`.
    #[must_use]
    pub fn aggregate(self, function: Aggregate) -> Self {
        Self::Aggregate { function, arg: Some(Box::new(self)) }
    }

    /// Builds `COUNT(*)`.
    #[must_use]
    pub fn count_star() -> Self {
        Self::Aggregate { function: Aggregate::Count, arg: None }
    }

    /// Joins all terms by AND; `None` if there are none.
    #[must_use]
    pub fn all(terms: Vec<Self>) -> Option<Self> {
        Self::balanced(BinaryOp::And, terms)
    }

    /// Joins all terms by OR; `None` if there are none.
    #[must_use]
    pub fn any(terms: Vec<Self>) -> Option<Self> {
        Self::balanced(BinaryOp::Or, terms)
    }

    /// Joins the terms, in order, by an associative operator into a tree of minimal height.
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

    /// Joins the terms as the parser does: from the left.
    pub(super) fn leaning(op: BinaryOp, terms: Vec<Self>) -> Option<Self> {
        terms.into_iter().reduce(|left, right| left.binary(op, right))
    }
}

fn row() -> PathStep {
    PathStep::Field(Name { text: ROW.to_owned(), quoted: false })
}
