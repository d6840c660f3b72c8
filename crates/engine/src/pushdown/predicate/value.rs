//! Values: columns, constants and computed values, with the types on which both sides agree.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::expressions::{
    CaseExpr, CastExpr, Column, Literal as PhysicalLiteral,
};
use sluicegate_guards::overflow::arithmetic::{Operands, operands};
use sluicegate_s3select::capabilities::{Exactness, Operation, TypeClass};
use sluicegate_s3select::dialect::ast::{
    BinaryOp, Expr, Function, Literal, Name, PathStep, Type, UnaryOp,
};

use super::{ColumnStyle, Translator};
use crate::text::json::rows::MIXED;

/// The types on which both sides agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Decimal,
    Float,
    Text,
    Date,
    Bool,
}

impl Kind {
    pub(super) fn class(self) -> TypeClass {
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

/// A value in the language of the store.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) expr: Expr,
    pub(super) kind: Kind,
}

impl Translator<'_> {
    pub(super) fn value(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Value> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            return self.column(column.index());
        }
        if let Some(literal) = expr.downcast_ref::<PhysicalLiteral>() {
            return literal_value(literal.value());
        }
        match operands(expr.as_ref()) {
            Some(Operands::Binary(left, op, right)) => {
                return self.arithmetic(expr, &left, op, &right);
            }
            Some(Operands::Negative(operand)) => return self.negative(&operand),
            None => {}
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            return self.cast(cast);
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            return self.case(case);
        }
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            return self.call(call);
        }
        None
    }

    /// Returns a column with NULL where DataFusion reads NULL, not converted to its declared type.
    pub(super) fn text(&self, index: usize) -> Option<Expr> {
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
        self.stored(self.text(index)?, field.data_type())
    }

    /// Returns the stored value, converted to its declared type.
    fn stored(&self, stored: Expr, declared: &DataType) -> Option<Value> {
        let (kind, to) = match declared {
            // Not all values of the column are text in the store.
            mixed if *mixed == MIXED && self.style == ColumnStyle::Member => return None,
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
        let expr = match (to, self.style) {
            (Some(to), ColumnStyle::Member) => stored.cast(Type::String).cast(to),
            (Some(to), _) => stored.cast(to),
            (None, _) => stored,
        };
        Some(Value { expr, kind })
    }

    /// `get_field(column, 'a', 'b')`: a value within a JSON object.
    fn member(&self, call: &ScalarFunctionExpr) -> Option<Value> {
        let (base, names) = call.args().split_first()?;
        let column = base.downcast_ref::<Column>()?;
        let mut field: &Field = self.schema.fields().get(column.index())?;
        let Expr::Path(mut path) = self.stored_column(column.index())? else { return None };
        for name in names {
            let value = name.downcast_ref::<PhysicalLiteral>()?.value();
            let text = value.try_as_str().flatten()?.to_owned();
            let DataType::Struct(fields) = field.data_type() else { return None };
            field = fields.iter().find(|field| *field.name() == text)?;
            path.push(PathStep::Field(Name { text, quoted: true }));
        }
        self.stored(Expr::Path(path), field.data_type())
    }

    fn negative(&self, operand: &Arc<dyn PhysicalExpr>) -> Option<Value> {
        let value = self.value(operand)?;
        let numeric = matches!(
            operand.data_type(self.schema).ok()?,
            DataType::Int64 | DataType::Decimal128(..) | DataType::Float64
        );
        let trusted = self.exactness(Operation::Arithmetic, value.kind.class()) == Exactness::Exact;
        (numeric && trusted).then(|| Value {
            expr: Expr::Unary { op: UnaryOp::Negate, expr: Box::new(value.expr) },
            kind: value.kind,
        })
    }

    /// `+ - *`, and `/` of doubles. Integers narrower than 64 bits are excluded because their results have 64
    /// bits in the store, and decimal division because the store rounds it by other rules.
    fn arithmetic(
        &self,
        whole: &Arc<dyn PhysicalExpr>,
        left: &Arc<dyn PhysicalExpr>,
        op: Operator,
        right: &Arc<dyn PhysicalExpr>,
    ) -> Option<Value> {
        let op = match op {
            Operator::Plus => BinaryOp::Add,
            Operator::Minus => BinaryOp::Subtract,
            Operator::Multiply => BinaryOp::Multiply,
            Operator::Divide => BinaryOp::Divide,
            _ => return None,
        };
        let (first, second) = (self.value(left)?, self.value(right)?);
        let mut capped = None;
        let kind = match whole.data_type(self.schema).ok()? {
            DataType::Int64 if op != BinaryOp::Divide => Kind::Int,
            DataType::Float64 => Kind::Float,
            DataType::Decimal128(precision, scale) if op != BinaryOp::Divide => {
                let shape_of = |side: &Arc<dyn PhysicalExpr>| match side.data_type(self.schema) {
                    Ok(DataType::Decimal128(precision, scale)) => Some((precision, scale)),
                    _ => None,
                };
                let ((p1, s1), (p2, s2)) = (shape_of(left)?, shape_of(right)?);
                // DataFusion caps precision and scale. If it caps the scale, it rounds, and the store does not.
                let exact = if op == BinaryOp::Multiply { s1.checked_add(s2)? } else { s1.max(s2) };
                if scale != exact {
                    return None;
                }
                let whole = |precision: u8, scale: i8| i16::from(precision) - i16::from(scale);
                let digits = if op == BinaryOp::Multiply {
                    i16::from(p1) + i16::from(p2)
                } else {
                    whole(p1, s1).max(whole(p2, s2)) + i16::from(scale) + 1
                };
                capped = (digits > i16::from(precision)).then_some((precision, scale));
                Kind::Decimal
            }
            _ => return None,
        };
        let same = first.kind == kind && second.kind == kind;
        let trusted = self.exactness(Operation::Arithmetic, kind.class()) == Exactness::Exact;
        let expr = first.expr.binary(op, second.expr);
        // A result with more digits than the precision is either an error in DataFusion or returned with all its
        // digits. The store rounds it, which the CAST turns into an error.
        let expr = match capped {
            Some(shape) => expr.cast(Type::Decimal(Some(shape))),
            None => expr,
        };
        (same && trusted).then_some(Value { expr, kind })
    }

    /// Translates conversions that lose nothing.
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
        if self.style == ColumnStyle::Member && call.name() == "get_field" {
            return self.member(call);
        }
        if self.exactness(Operation::Function, TypeClass::String) != Exactness::Exact {
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

fn is_null_literal(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<PhysicalLiteral>().is_some_and(|literal| literal.value().is_null())
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
        // XML 1.0, which carries the statement, cannot contain control characters.
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
