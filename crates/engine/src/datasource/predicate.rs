//! From DataFusion's physical expressions to S3 Select.
//!
//! The store sees text (CSV) or a file's own types (Parquet); the query sees the table's declared
//! types. The translation is *exact* when, for every row that DataFusion's own reader accepts,
//! both sides compute the same value, NULL included. Where that cannot be shown the translation
//! is a *superset* (it keeps every row that the query keeps, and the query filters again) or
//! there is none.
//!
//! What makes it exact, type by type (`sluice` semantics; other stores by their profile):
//!
//! | declared type | CSV column `n` | why equal |
//! |---|---|---|
//! | text | `NULLIF(s._n, '')` | DataFusion reads an empty field as NULL |
//! | integers | `CAST(NULLIF(s._n, '') AS INT)` | a value that does not parse is an error on both sides |
//! | decimal(p, s) | `CAST(NULLIF(s._n, '') AS DECIMAL(p, s))` | both drop digits beyond scale `s` |
//! | double | `CAST(… AS FLOAT)` | both round correctly; compared with a literal other than 0 only, because the two sides order -0.0 and 0.0 differently |
//! | date | `CAST(… AS TIMESTAMP)` | a date is its first instant, so `d <= x` is sent as `d < x + 1 day`: exact even if the field carries a time of day |
//! | boolean | `CAST(… AS BOOL)` | |
//!
//! A statement that fails at the store is answered by reading the object here instead, so an
//! error there never becomes a wrong answer.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use chrono::{Datelike, Duration, NaiveDate};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr,
    Literal as PhysicalLiteral, NegativeExpr, NotExpr,
};
use sluicegate_s3select::dialect::ast::{BinaryOp, Expr, Function, Literal, Type, UnaryOp};
use sluicegate_s3select::profile::{DataFormat, EndpointProfile, Exactness, Operation, TypeClass};

/// How a store addresses a table's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnStyle {
    /// CSV: `s._N`, text, empty for NULL.
    Positional,
    /// Parquet: `s."name"`, typed.
    Named,
}

/// A condition as the store understands it.
#[derive(Debug, Clone, PartialEq)]
pub struct Pushed {
    /// The condition.
    pub expr: Expr,
    /// What its verdict is worth: `Exact` or `Superset`.
    pub exactness: Exactness,
}

impl Pushed {
    /// The condition, if its verdict needs no second look: only then may it be negated or decide
    /// about anything other than whether a row is sent.
    fn exact(self) -> Option<Expr> {
        (self.exactness == Exactness::Exact).then_some(self.expr)
    }
}

/// The types that both sides agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Decimal,
    Float,
    Text,
    Date,
    Bool,
}

impl Kind {
    fn class(self) -> TypeClass {
        match self {
            Self::Int => TypeClass::Int,
            Self::Decimal => TypeClass::Decimal,
            Self::Float => TypeClass::Float,
            Self::Text => TypeClass::String,
            Self::Date => TypeClass::Date,
            Self::Bool => TypeClass::Bool,
        }
    }
}

/// A value as the store computes it.
#[derive(Debug, Clone)]
struct Value {
    expr: Expr,
    kind: Kind,
}

/// Translates expressions over one table.
#[derive(Debug, Clone, Copy)]
pub struct Translator<'a> {
    profile: &'a EndpointProfile,
    style: ColumnStyle,
    /// The file's columns, without partition columns.
    schema: &'a Schema,
}

impl<'a> Translator<'a> {
    /// For a table whose files have this schema, in a store of this profile.
    #[must_use]
    pub fn new(profile: &'a EndpointProfile, style: ColumnStyle, schema: &'a Schema) -> Self {
        Self { profile, style, schema }
    }

    /// How far the store can be trusted with an operation.
    #[must_use]
    pub fn trust(&self, operation: Operation, class: TypeClass) -> Exactness {
        let format = match self.style {
            ColumnStyle::Positional => DataFormat::Csv,
            ColumnStyle::Named => DataFormat::Parquet,
        };
        self.profile.exactness(format, operation, class)
    }

    fn weigh(&self, expr: Expr, operation: Operation, kind: Kind) -> Option<Pushed> {
        match self.trust(operation, kind.class()) {
            Exactness::No => None,
            exactness => Some(Pushed { expr, exactness }),
        }
    }

    /// The column with this index in the file's schema, as the store stores it.
    #[must_use]
    pub fn stored_column(&self, index: usize) -> Option<Expr> {
        let field = self.schema.fields().get(index)?;
        Some(match self.style {
            ColumnStyle::Positional => Expr::column(index + 1),
            ColumnStyle::Named => Expr::named_column(field.name()),
        })
    }

    /// A filter, if the store can apply it or a weaker one.
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

    /// `a < b` between two date columns. Fields may carry a time of day that the declared type
    /// drops; whole days in strict order are instants in strict order, so this is a superset.
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

    /// A condition on single rows, exact in three-valued logic unless it says otherwise.
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

    /// Stores that cannot say NULLIF get `column != '' AND …`: TRUE for the same rows, and no
    /// good under a negation.
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

    /// A value that the store computes exactly as the query does, with its declared type.
    #[must_use]
    pub fn exact_value(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        self.value(expr).map(|value| value.expr)
    }

    /// `x IS [NOT] NULL`
    fn null_test(&self, expr: &Arc<dyn PhysicalExpr>, negated: bool) -> Option<Pushed> {
        if self.needs_guards() {
            return None;
        }
        let kind = self.value(expr)?.kind;
        let present = self.presence(expr)?;
        let tested = if negated { present.is_not_null() } else { present.is_null() };
        self.weigh(tested, Operation::IsNull, kind)
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
                (Kind::Float, Kind::Float) => is_safe_float(left) || is_safe_float(right),
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
        // DataFusion's LIKE escapes with a backslash, S3 Select's with nothing.
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

    /// Something that is NULL exactly if the expression is; of a column its text, which needs no
    /// conversion.
    #[must_use]
    pub fn presence(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        let value = self.value(expr)?;
        match expr.downcast_ref::<Column>() {
            Some(column) => self.text(column.index()),
            None => Some(value.expr),
        }
    }

    fn value(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Value> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            return self.column(column.index());
        }
        if let Some(literal) = expr.downcast_ref::<PhysicalLiteral>() {
            return literal_value(literal.value());
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return self.arithmetic(expr, binary);
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            return self.cast(cast);
        }
        if let Some(negative) = expr.downcast_ref::<NegativeExpr>() {
            let value = self.value(negative.arg())?;
            let numeric = match negative.arg().data_type(self.schema).ok()? {
                DataType::Int64 | DataType::Decimal128(..) | DataType::Float64 => true,
                _ => false,
            };
            let trusted = self.trust(Operation::Arithmetic, value.kind.class()) == Exactness::Exact;
            return (numeric && trusted).then(|| Value {
                expr: Expr::Unary { op: UnaryOp::Negate, expr: Box::new(value.expr) },
                kind: value.kind,
            });
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            return self.case(case);
        }
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            return self.call(call);
        }
        None
    }

    /// A column with NULL where DataFusion reads NULL, not converted to its declared type.
    fn text(&self, index: usize) -> Option<Expr> {
        let field = self.schema.fields().get(index)?;
        let stored = self.stored_column(index)?;
        Some(match self.style {
            ColumnStyle::Positional if field.is_nullable() && !self.needs_guards() => {
                stored.null_if(Expr::string(""))
            }
            _ => stored,
        })
    }

    fn column(&self, index: usize) -> Option<Value> {
        let field = self.schema.fields().get(index)?;
        let (kind, to) = match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => (Kind::Text, None),
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32 => (Kind::Int, Some(Type::Int)),
            DataType::Decimal128(precision, scale) if *scale >= 0 => {
                (Kind::Decimal, Some(Type::Decimal(Some((*precision, *scale)))))
            }
            DataType::Float64 => (Kind::Float, Some(Type::Float)),
            DataType::Date32 => (Kind::Date, Some(Type::Timestamp)),
            DataType::Boolean => (Kind::Bool, Some(Type::Bool)),
            _ => return None,
        };
        let text = self.text(index)?;
        let expr = match to {
            Some(to) => text.cast(to),
            None => text,
        };
        Some(Value { expr, kind })
    }

    /// `+ - *`, and `/` of doubles. Integers narrower than 64 bits would wrap here and not there;
    /// decimal division rounds by other rules there.
    fn arithmetic(&self, whole: &Arc<dyn PhysicalExpr>, binary: &BinaryExpr) -> Option<Value> {
        let op = match binary.op() {
            Operator::Plus => BinaryOp::Add,
            Operator::Minus => BinaryOp::Subtract,
            Operator::Multiply => BinaryOp::Multiply,
            Operator::Divide => BinaryOp::Divide,
            _ => return None,
        };
        let (left, right) = (self.value(binary.left())?, self.value(binary.right())?);
        let kind = match whole.data_type(self.schema).ok()? {
            DataType::Int64 if op != BinaryOp::Divide => Kind::Int,
            DataType::Float64 => Kind::Float,
            DataType::Decimal128(_, scale) if op != BinaryOp::Divide => {
                // DataFusion caps precision and scale; where it did, it rounds and the store does not.
                let scale_of = |side: &Arc<dyn PhysicalExpr>| match side.data_type(self.schema) {
                    Ok(DataType::Decimal128(_, scale)) => Some(scale),
                    _ => None,
                };
                let (left, right) = (scale_of(binary.left())?, scale_of(binary.right())?);
                let exact = if op == BinaryOp::Multiply {
                    left.checked_add(right)?
                } else {
                    left.max(right)
                };
                if scale != exact {
                    return None;
                }
                Kind::Decimal
            }
            _ => return None,
        };
        let same = |side: &Value| side.kind == kind;
        let trusted = self.trust(Operation::Arithmetic, kind.class()) == Exactness::Exact;
        (same(&left) && same(&right) && trusted)
            .then(|| Value { expr: left.expr.binary(op, right.expr), kind })
    }

    /// Conversions that lose nothing.
    fn cast(&self, cast: &CastExpr) -> Option<Value> {
        let value = self.value(cast.expr())?;
        let from = cast.expr().data_type(self.schema).ok()?;
        let to = cast.cast_type();
        match (value.kind, &from, to) {
            (Kind::Text, _, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
                Some(value)
            }
            (Kind::Int, _, DataType::Int64) => Some(value),
            (Kind::Int, _, DataType::Int32) if narrower_than_32_bits(&from) => Some(value),
            (Kind::Int, _, DataType::Float64) => {
                Some(Value { expr: value.expr.cast(Type::Float), kind: Kind::Float })
            }
            (Kind::Int, _, DataType::Decimal128(precision, scale))
                if *scale >= 0 && i16::from(*precision) - i16::from(*scale) >= 19 =>
            {
                let to = Type::Decimal(Some((*precision, *scale)));
                Some(Value { expr: value.expr.cast(to), kind: Kind::Decimal })
            }
            (Kind::Decimal, DataType::Decimal128(p1, s1), DataType::Decimal128(p2, s2))
                if s2 >= s1
                    && i16::from(*p2) - i16::from(*s2) >= i16::from(*p1) - i16::from(*s1) =>
            {
                Some(value)
            }
            (Kind::Bool, _, DataType::Boolean)
            | (Kind::Date, _, DataType::Date32)
            | (Kind::Float, _, DataType::Float64) => Some(value),
            _ => None,
        }
    }

    fn case(&self, case: &CaseExpr) -> Option<Value> {
        let mut kind: Option<Kind> = None;
        let mut arm = |expr: &Arc<dyn PhysicalExpr>| -> Option<Expr> {
            if is_null_literal(expr) {
                return Some(Expr::Literal(Literal::Null));
            }
            let value = self.value(expr)?;
            if *kind.get_or_insert(value.kind) != value.kind {
                return None;
            }
            Some(value.expr)
        };
        let mut branches = Vec::new();
        for (when, then) in case.when_then_expr() {
            let when = match case.expr() {
                Some(operand) => self.comparison(operand, BinaryOp::Eq, when)?,
                None => self.condition(when)?,
            };
            let when = when.exact()?;
            branches.push((when, arm(then)?));
        }
        let otherwise = match case.else_expr() {
            Some(otherwise) => Some(Box::new(arm(otherwise)?)),
            None => None,
        };
        let kind = kind?;
        Some(Value { expr: Expr::Case { operand: None, branches, otherwise }, kind })
    }

    fn call(&self, call: &ScalarFunctionExpr) -> Option<Value> {
        if self.trust(Operation::Function, TypeClass::String) != Exactness::Exact {
            return None;
        }
        let args = call.args().iter().map(|arg| self.value(arg)).collect::<Option<Vec<_>>>()?;
        let (function, kind) = match (call.name(), args.as_slice()) {
            ("substr" | "substring", [text, start])
                if text.kind == Kind::Text && int_at_least(start, 1) =>
            {
                (Function::Substring, Kind::Text)
            }
            ("substr" | "substring", [text, start, length])
                if text.kind == Kind::Text && int_at_least(start, 1) && int_at_least(length, 0) =>
            {
                (Function::Substring, Kind::Text)
            }
            ("character_length", [text])
                if text.kind == Kind::Text && *call.return_type() == DataType::Int64 =>
            {
                (Function::CharLength, Kind::Int)
            }
            _ => return None,
        };
        let args = args.into_iter().map(|arg| arg.expr).collect();
        Some(Value { expr: Expr::Call { function, args }, kind })
    }
}

/// `date op literal`, on instants: a date is the half-open day that starts at midnight UTC.
fn compare_date(value: &Value, op: BinaryOp, days: i32) -> Option<Expr> {
    if value.kind != Kind::Date {
        return None;
    }
    let start = || timestamp(days);
    let end = || timestamp(days.checked_add(1)?);
    let is = |op: BinaryOp, bound: Expr| value.expr.clone().binary(op, bound);
    Some(match op {
        BinaryOp::Lt => is(BinaryOp::Lt, start()?),
        BinaryOp::LtEq => is(BinaryOp::Lt, end()?),
        BinaryOp::Gt => is(BinaryOp::GtEq, end()?),
        BinaryOp::GtEq => is(BinaryOp::GtEq, start()?),
        BinaryOp::Eq => is(BinaryOp::GtEq, start()?).and(is(BinaryOp::Lt, end()?)),
        BinaryOp::NotEq => is(BinaryOp::Lt, start()?).or(is(BinaryOp::GtEq, end()?)),
        _ => return None,
    })
}

/// Midnight UTC of a day counted from 1970-01-01, for the years that have four digits.
fn timestamp(days: i32) -> Option<Expr> {
    let epoch = NaiveDate::from_ymd_opt(1970, 1, 1)?;
    let date = epoch.checked_add_signed(Duration::days(i64::from(days)))?;
    (1..=9999)
        .contains(&date.year())
        .then(|| Expr::string(date.format("%Y-%m-%d").to_string()).cast(Type::Timestamp))
}

fn date_literal(expr: &Arc<dyn PhysicalExpr>) -> Option<i32> {
    match expr.downcast_ref::<PhysicalLiteral>()?.value() {
        ScalarValue::Date32(days) => *days,
        _ => None,
    }
}

fn is_null_literal(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<PhysicalLiteral>().is_some_and(|literal| literal.value().is_null())
}

/// A finite double other than 0: the two sides order everything else differently.
fn is_safe_float(expr: &Arc<dyn PhysicalExpr>) -> bool {
    match expr.downcast_ref::<PhysicalLiteral>().map(PhysicalLiteral::value) {
        Some(ScalarValue::Float64(Some(x))) => x.is_finite() && *x != 0.0,
        _ => false,
    }
}

fn literal_value(value: &ScalarValue) -> Option<Value> {
    let int = |x: i64| Some((Literal::Int(x), Kind::Int));
    let (literal, kind) = match value {
        ScalarValue::Int8(Some(x)) => int(i64::from(*x)),
        ScalarValue::Int16(Some(x)) => int(i64::from(*x)),
        ScalarValue::Int32(Some(x)) => int(i64::from(*x)),
        ScalarValue::Int64(Some(x)) => int(*x),
        ScalarValue::UInt8(Some(x)) => int(i64::from(*x)),
        ScalarValue::UInt16(Some(x)) => int(i64::from(*x)),
        ScalarValue::UInt32(Some(x)) => int(i64::from(*x)),
        ScalarValue::Decimal128(Some(unscaled), _, scale) if *scale >= 0 => {
            Some((Literal::Decimal { unscaled: *unscaled, scale: *scale }, Kind::Decimal))
        }
        ScalarValue::Float64(Some(x)) if x.is_finite() => Some((Literal::Float(*x), Kind::Float)),
        ScalarValue::Boolean(Some(x)) => Some((Literal::Bool(*x), Kind::Bool)),
        // XML 1.0, which carries the statement, cannot hold control characters.
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
            if !text.chars().any(|c| c.is_control() || c == '\u{fffe}' || c == '\u{ffff}') =>
        {
            Some((Literal::String(text.clone()), Kind::Text))
        }
        _ => None,
    }?;
    Some(Value { expr: Expr::Literal(literal), kind })
}

fn int_at_least(value: &Value, least: i64) -> bool {
    matches!(value.expr, Expr::Literal(Literal::Int(x)) if x >= least)
}

fn narrower_than_32_bits(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16)
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
