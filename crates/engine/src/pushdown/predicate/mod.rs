//! Translates DataFusion's physical expressions to S3 Select.
//!
//! The store sees text (CSV), values of any type (JSON) or a file's own types (Parquet); the query sees the table's
//! declared types. The translation is *exact* when, for every row that DataFusion's own reader accepts, both sides
//! compute the same value, NULL included. If that cannot be shown, the translation is a *superset* (it keeps every
//! row that the query keeps, and the query filters again), or there is none.
//!
//! The rules that make a translation exact, by type (`sluice` semantics; other stores by their profile):
//!
//! | declared type | CSV column `n` | why equal |
//! |---|---|---|
//! | text | `NULLIF(s._n, '')` | DataFusion reads an empty field as NULL |
//! | integers | `CAST(NULLIF(s._n, '') AS INT)` | a value that does not parse is an error on both sides |
//! | decimal(p, s) | `CAST(NULLIF(s._n, '') AS DECIMAL(p, s))` | both round half away from zero to scale `s` |
//! | double | `CAST(… AS FLOAT)` | both round correctly, order -NaN first and NaN last, and treat -0.0 and 0.0 as equal; compared with a finite literal only |
//! | date | `CAST(… AS TIMESTAMP)` | a date is its first instant, so `d <= x` is sent as `d < x + 1 day`: exact even if the field carries a time of day |
//! | boolean | `CAST(… AS BOOL)` | |
//!
//! Arithmetic on decimals that could need more than 38 digits is sent as `CAST(a + b AS DECIMAL(38, s))`. The store
//! would round where DataFusion does not, and the CAST makes that an error.
//!
//! A JSON value is first cast to text, `CAST(CAST(s."n" AS STRING) AS INT)`. Then the rules of the table hold,
//! because the text of a number is that in the object, or has the same digits. For example 1.5, or TRUE, in a column
//! of integers fails the statement, and DataFusion's reader applies its own rules (1.5 becomes 1). A field that is
//! missing is NULL on both sides, and so is null.
//!
//! If a statement fails at the store, the object is read locally instead. An error at the store never becomes a wrong
//! answer.

mod date;
#[cfg(test)]
mod tests;
mod value;

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::expressions::{
    BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal as PhysicalLiteral, NotExpr,
};
use sluicegate_s3select::capabilities::{
    DataFormat, EmptyField, Exactness, Operation, StoreCapabilities, TypeClass,
};
use sluicegate_s3select::dialect::ast::{BinaryOp, Expr, Literal, Type};

pub use self::date::day_number;
use self::date::{compare_date, date_literal, day_of};
use self::value::Kind;

/// The way in which statements refer to a table's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnStyle {
    /// CSV: `s._N`, text, empty for NULL.
    Positional,
    /// Parquet: `s."name"`, typed.
    Named,
    /// JSON: `s."name"`, typed by each value, and `s."name"."field"` within it.
    Member,
}

/// A condition in the language of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Pushed {
    /// The condition to send.
    pub expr: Expr,
    /// The exactness of its result: `Exact` or `Superset`.
    pub exactness: Exactness,
}

impl Pushed {
    /// Returns the condition, if its result needs no second check. Only such a condition may be negated, or decide
    /// anything other than whether a row is sent.
    fn exact(self) -> Option<Expr> {
        (self.exactness == Exactness::Exact).then_some(self.expr)
    }
}

/// Translates expressions over one table.
#[derive(Debug, Clone, Copy)]
pub struct Translator<'a> {
    profile: &'a StoreCapabilities,
    style: ColumnStyle,
    /// The file's columns, without partition columns.
    schema: &'a Schema,
}

impl<'a> Translator<'a> {
    /// Creates a translator for a table whose files have this schema, in a store of this profile.
    #[must_use]
    pub fn new(profile: &'a StoreCapabilities, style: ColumnStyle, schema: &'a Schema) -> Self {
        Self { profile, style, schema }
    }

    /// Returns the exactness of an operation in the store.
    #[must_use]
    pub fn exactness(&self, operation: Operation, class: TypeClass) -> Exactness {
        let format = match self.style {
            ColumnStyle::Positional => DataFormat::Csv,
            ColumnStyle::Named => DataFormat::Parquet,
            ColumnStyle::Member => DataFormat::JsonLines,
        };
        self.profile.exactness(format, operation, class)
    }

    fn weigh(&self, expr: Expr, operation: Operation, kind: Kind) -> Option<Pushed> {
        match self.exactness(operation, kind.class()) {
            Exactness::No => None,
            exactness => Some(Pushed { expr, exactness }),
        }
    }

    /// Returns the column with this index in the file's schema, as the store returns it.
    #[must_use]
    pub fn stored_column(&self, index: usize) -> Option<Expr> {
        let field = self.schema.fields().get(index)?;
        Some(match self.style {
            ColumnStyle::Positional => Expr::column(index + 1),
            ColumnStyle::Named | ColumnStyle::Member => Expr::named_column(field.name()),
        })
    }

    /// Returns a filter, if the store can apply it or a weaker one.
    #[must_use]
    pub fn filter(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Pushed> {
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            let (left, op, right) = (binary.left(), binary.op(), binary.right());
            match op {
                Operator::And => return self.conjunction(left, right),
                Operator::Or => return Some(either(self.filter(left)?, self.filter(right)?)),
                _ => {}
            }
            if let Some(pushed) = self.dates_of_two_columns(left, *op, right) {
                return Some(pushed);
            }
        }
        self.condition(expr)
    }

    /// `a AND b`; if only one side can be sent, that side alone is a superset.
    fn conjunction(
        &self,
        left: &Arc<dyn PhysicalExpr>,
        right: &Arc<dyn PhysicalExpr>,
    ) -> Option<Pushed> {
        match (self.filter(left), self.filter(right)) {
            (Some(left), Some(right)) => Some(both(left, right)),
            (Some(one), None) | (None, Some(one)) => {
                Some(Pushed { expr: one.expr, exactness: Exactness::Superset })
            }
            (None, None) => None,
        }
    }

    /// `a < b` between two date columns. Fields may carry a time of day that the declared type drops. Days in strict
    /// order are instants in strict order, so this is a superset.
    fn dates_of_two_columns(
        &self,
        left: &Arc<dyn PhysicalExpr>,
        op: Operator,
        right: &Arc<dyn PhysicalExpr>,
    ) -> Option<Pushed> {
        let op = match op {
            Operator::Lt => BinaryOp::Lt,
            Operator::Gt => BinaryOp::Gt,
            _ => return None,
        };
        if date_literal(left).is_some() || date_literal(right).is_some() {
            return None;
        }
        let (first, second) = (self.value(left)?, self.value(right)?);
        if first.kind != Kind::Date || second.kind != Kind::Date {
            return None;
        }
        let compared = first.expr.binary(op, second.expr);
        let pushed = self.weigh(compared, Operation::Order, Kind::Date)?;
        let guarded = self.guard(pushed, &[left, right]);
        Some(Pushed { exactness: Exactness::Superset, ..guarded })
    }

    /// Returns a condition on single rows, exact in three-valued logic unless its exactness is `Superset`.
    #[must_use]
    pub fn condition(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Pushed> {
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            let (left, right) = (binary.left(), binary.right());
            return match binary.op() {
                Operator::And => Some(both(self.condition(left)?, self.condition(right)?)),
                Operator::Or => Some(either(self.condition(left)?, self.condition(right)?)),
                op => self.comparison(left, comparison_op(*op)?, right),
            };
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            let expr = self.condition(not.arg())?.exact()?.not();
            return Some(Pushed { expr, exactness: Exactness::Exact });
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            return self.null_test(is_null.arg(), false);
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            return self.null_test(is_not_null.arg(), true);
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            return self.in_list(list);
        }
        if let Some(like) = expr.downcast_ref::<LikeExpr>() {
            return self.like(like);
        }
        let value = self.value(expr)?;
        let pushed = (value.kind == Kind::Bool)
            .then(|| self.weigh(value.expr, Operation::Equal, Kind::Bool))??;
        Some(self.guard(pushed, &[expr]))
    }

    /// For stores without NULLIF, adds `column != '' AND …`. This is TRUE for the same rows, but must not be negated.
    fn guard(&self, pushed: Pushed, operands: &[&Arc<dyn PhysicalExpr>]) -> Pushed {
        if !self.needs_guards() {
            return pushed;
        }
        let mut columns: Vec<usize> = operands
            .iter()
            .flat_map(|operand| collect_columns(operand))
            .map(|column| column.index())
            .collect();
        columns.sort_unstable();
        columns.dedup();
        let guards = columns.into_iter().filter_map(|index| {
            let nullable = self.schema.fields().get(index)?.is_nullable();
            let column = nullable.then(|| self.stored_column(index))??;
            Some(column.binary(BinaryOp::NotEq, Expr::string("")))
        });
        let guards: Vec<Expr> = guards.collect();
        if guards.is_empty() {
            return pushed;
        }
        let expr = guards.into_iter().chain([pushed.expr]).reduce(Expr::and);
        Pushed {
            expr: expr.unwrap_or(Expr::Literal(Literal::Bool(true))),
            exactness: Exactness::Superset,
        }
    }

    fn needs_guards(&self) -> bool {
        self.style == ColumnStyle::Positional && !self.profile.syntax.null_if
    }

    /// Returns a value that the store computes exactly as the query does, with its declared type.
    #[must_use]
    pub fn exact_value(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        self.value(expr).map(|value| value.expr)
    }

    /// Returns a column of whole numbers, if the store can hash it: multiply, add, take remainders, and look a
    /// character up in a text.
    #[must_use]
    pub fn hashable(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        let value = self.value(expr)?;
        let needed = [
            (Operation::Arithmetic, TypeClass::Int),
            (Operation::Function, TypeClass::String),
            (Operation::Equal, TypeClass::String),
        ];
        let trusted = needed.iter().all(|(op, class)| self.exactness(*op, *class) != Exactness::No);
        let syntax = &self.profile.syntax;
        let sayable = syntax.arithmetic && syntax.substring && !self.needs_guards();
        (value.kind == Kind::Int && trusted && sayable).then_some(value.expr)
    }

    /// Returns a column, if the store can look it up in a filter by `BLOOM_CONTAINS`. Equal values, and keys of joins
    /// equal to them, have the same bits.
    #[must_use]
    pub fn filterable(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        let value = self.value(expr)?;
        let syntax = &self.profile.syntax;
        let trusted = self.exactness(Operation::In, value.kind.class()) == Exactness::Exact;
        if !syntax.bloom || !trusted || self.needs_guards() {
            return None;
        }
        match (value.kind, self.style) {
            (Kind::Int | Kind::Decimal, _) => Some(value.expr),
            // A value of JSON may be of another type, and is then compared by its text.
            (Kind::Text, ColumnStyle::Member) => Some(value.expr.cast(Type::String)),
            (Kind::Text, _) => Some(value.expr),
            (Kind::Date, _) => syntax.dates.then(|| day_of(value.expr)),
            (Kind::Float | Kind::Bool, _) => None,
        }
    }

    /// Translates `x IS [NOT] NULL`.
    fn null_test(&self, expr: &Arc<dyn PhysicalExpr>, negated: bool) -> Option<Pushed> {
        let kind = self.value(expr)?.kind;
        if self.needs_guards() {
            let tested = self.emptiness(expr.downcast_ref::<Column>()?, negated)?;
            let pushed = self.weigh(tested, Operation::IsNull, kind)?;
            return Some(Pushed { exactness: Exactness::Superset, ..pushed });
        }
        let present = self.presence(expr)?;
        let tested = if negated { present.is_not_null() } else { present.is_null() };
        self.weigh(tested, Operation::IsNull, kind)
    }

    /// Returns the NULL test of a column for stores without NULLIF: `column = ''`.
    fn emptiness(&self, column: &Column, negated: bool) -> Option<Expr> {
        let nullable = self.schema.fields().get(column.index())?.is_nullable();
        if self.profile.empty_field != EmptyField::EmptyString || !nullable {
            return None;
        }
        let op = if negated { BinaryOp::NotEq } else { BinaryOp::Eq };
        Some(self.stored_column(column.index())?.binary(op, Expr::string("")))
    }

    fn comparison(
        &self,
        left: &Arc<dyn PhysicalExpr>,
        op: BinaryOp,
        right: &Arc<dyn PhysicalExpr>,
    ) -> Option<Pushed> {
        let operation = match op {
            BinaryOp::Eq => Operation::Equal,
            BinaryOp::NotEq => Operation::NotEqual,
            _ => Operation::Order,
        };
        let (kind, compared) = if let Some(days) = date_literal(right) {
            (Kind::Date, compare_date(&self.value(left)?, op, days)?)
        } else if let Some(days) = date_literal(left) {
            (Kind::Date, compare_date(&self.value(right)?, flip(op), days)?)
        } else {
            let (first, second) = (self.value(left)?, self.value(right)?);
            let comparable = match (first.kind, second.kind) {
                (Kind::Float, Kind::Float) => is_finite(left) || is_finite(right),
                (Kind::Date, Kind::Date) => false,
                (first, second) => first == second,
            };
            if !comparable {
                return None;
            }
            (first.kind, first.expr.binary(op, second.expr))
        };
        let pushed = self.weigh(compared, operation, kind)?;
        Some(self.guard(pushed, &[left, right]))
    }

    fn in_list(&self, list: &InListExpr) -> Option<Pushed> {
        if self.profile.max_in_list.is_some_and(|most| list.list().len() > most) {
            return None;
        }
        let value = self.value(list.expr())?;
        let found = if value.kind == Kind::Date {
            let days = list.list().iter().map(date_literal).collect::<Option<Vec<_>>>()?;
            let any = days.into_iter().map(|days| compare_date(&value, BinaryOp::Eq, days));
            let any = any.collect::<Option<Vec<_>>>()?.into_iter().reduce(Expr::or)?;
            if list.negated() { any.not() } else { any }
        } else {
            let items = list.list().iter().map(|item| {
                let item = self.value(item)?;
                let constant =
                    matches!(&item.expr, Expr::Literal(literal) if *literal != Literal::Null);
                (constant && item.kind == value.kind && item.kind != Kind::Float)
                    .then_some(item.expr)
            });
            let items = items.collect::<Option<Vec<_>>>()?;
            if items.is_empty() {
                return None;
            }
            Expr::In { expr: Box::new(value.expr), list: items, negated: list.negated() }
        };
        let pushed = self.weigh(found, Operation::In, value.kind)?;
        Some(self.guard(pushed, &[list.expr()]))
    }

    fn like(&self, like: &LikeExpr) -> Option<Pushed> {
        let value = self.value(like.expr())?;
        let pattern = self.value(like.pattern())?;
        let Expr::Literal(Literal::String(text)) = &pattern.expr else { return None };
        // DataFusion's LIKE escapes with a backslash; S3 Select's has no escape character.
        if like.case_insensitive() || text.contains('\\') || value.kind != Kind::Text {
            return None;
        }
        let matched = Expr::Like {
            expr: Box::new(value.expr),
            pattern: Box::new(pattern.expr),
            escape: None,
            negated: like.negated(),
        };
        let pushed = self.weigh(matched, Operation::Like, Kind::Text)?;
        Some(self.guard(pushed, &[like.expr()]))
    }

    /// Returns an expression that is NULL exactly if `expr` is. For a column it is the text, which needs no
    /// conversion.
    #[must_use]
    pub fn presence(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        let value = self.value(expr)?;
        match expr.downcast_ref::<Column>() {
            Some(column) => self.text(column.index()),
            None => Some(value.expr),
        }
    }
}

/// Returns true for a literal that is a finite double.
fn is_finite(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let value = expr.downcast_ref::<PhysicalLiteral>().map(PhysicalLiteral::value);
    matches!(value, Some(ScalarValue::Float64(Some(x))) if x.is_finite())
}

fn comparison_op(op: Operator) -> Option<BinaryOp> {
    Some(match op {
        Operator::Eq => BinaryOp::Eq,
        Operator::NotEq => BinaryOp::NotEq,
        Operator::Lt => BinaryOp::Lt,
        Operator::LtEq => BinaryOp::LtEq,
        Operator::Gt => BinaryOp::Gt,
        Operator::GtEq => BinaryOp::GtEq,
        _ => return None,
    })
}

fn flip(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::LtEq => BinaryOp::GtEq,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::GtEq => BinaryOp::LtEq,
        other => other,
    }
}

fn both(left: Pushed, right: Pushed) -> Pushed {
    Pushed { expr: left.expr.and(right.expr), exactness: left.exactness.min(right.exactness) }
}

fn either(left: Pushed, right: Pushed) -> Pushed {
    Pushed { expr: left.expr.or(right.expr), exactness: left.exactness.min(right.exactness) }
}
