//! Checks the types that the statement itself determines.

use super::columns::Scope;
use super::error;
use crate::dialect::ast::{Aggregate, BinaryOp, Expr, Function, Literal, Type, UnaryOp};
use crate::error::{Result, SelectErrorCode as Code};
use crate::request::InputFormat;
use crate::value::{BloomFilter, LikePattern, TimestampPattern};

/// The known type of a value. NULL and MISSING have every type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StaticType {
    Unknown,
    Bool,
    Int,
    /// A number of an unknown type: `int`, `float` or `decimal`.
    Number,
    String,
    Timestamp,
}

impl StaticType {
    fn may_be(self, other: Self) -> bool {
        let number = |known| matches!(known, Self::Int | Self::Number);
        self == Self::Unknown || self == other || (number(self) && number(other))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unknown => "value",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Number => "number",
            Self::String => "string",
            Self::Timestamp => "timestamp",
        }
    }
}

/// Checks an expression that must be a condition, for WHERE, AND, OR, NOT and WHEN.
pub(super) fn check_condition(expr: &Expr, scope: Scope<'_>) -> Result<()> {
    let known = type_of(expr, scope)?;
    if known.may_be(StaticType::Bool) {
        return Ok(());
    }
    let message = format!("a condition was expected, not a {}", known.name());
    Err(error(Code::InvalidDataType, message))
}

pub(super) fn type_of(expr: &Expr, scope: Scope<'_>) -> Result<StaticType> {
    Ok(match expr {
        Expr::Literal(literal) => match literal {
            Literal::Null | Literal::Missing => StaticType::Unknown,
            Literal::Bool(_) => StaticType::Bool,
            Literal::Int(_) => StaticType::Int,
            Literal::Decimal { .. } | Literal::Float(_) => StaticType::Number,
            Literal::String(_) => StaticType::String,
            Literal::Timestamp(_) => StaticType::Timestamp,
        },
        Expr::Path(_) => match scope.format {
            InputFormat::Csv(_) => StaticType::String,
            InputFormat::Json(_) | InputFormat::Parquet => StaticType::Unknown,
        },
        Expr::Unary { op: UnaryOp::Not, expr } => {
            check_condition(expr, scope)?;
            StaticType::Bool
        }
        Expr::Unary { expr, .. } => number(expr, scope)?,
        Expr::Binary { .. } => binary(expr, scope)?,
        Expr::Between { expr, low, high, .. } => {
            for side in [expr, low, high] {
                type_of(side, scope)?;
            }
            StaticType::Bool
        }
        Expr::Like { expr, pattern, escape, .. } => {
            like(expr, pattern, escape.as_deref(), scope)?;
            StaticType::Bool
        }
        Expr::In { expr, list, .. } => {
            type_of(expr, scope)?;
            list.iter().try_for_each(|item| type_of(item, scope).map(drop))?;
            StaticType::Bool
        }
        Expr::Is { expr, .. } => {
            type_of(expr, scope)?;
            StaticType::Bool
        }
        Expr::Case { operand, branches, otherwise } => {
            let mut results = Vec::new();
            if let Some(operand) = operand {
                type_of(operand, scope)?;
            }
            for (when, then) in branches {
                if operand.is_some() {
                    type_of(when, scope)?;
                } else {
                    check_condition(when, scope)?;
                }
                results.push((then, type_of(then, scope)?));
            }
            if let Some(otherwise) = otherwise {
                results.push((otherwise, type_of(otherwise, scope)?));
            }
            common(&results)
        }
        Expr::Cast { expr, to } => {
            let from = type_of(expr, scope)?;
            cast(from, *to)?
        }
        Expr::Call { function, args } => call(*function, args, scope)?,
        Expr::Aggregate { function, arg } => aggregate(*function, arg.as_deref(), scope)?,
    })
}

/// The type of AND, OR, a comparison or an arithmetic operation. Chains lean left and are walked without recursion.
fn binary(expr: &Expr, scope: Scope<'_>) -> Result<StaticType> {
    let mut spine = Vec::new();
    let mut first = expr;
    while let Expr::Binary { left, op, right } = first {
        spine.push((*op, &**right));
        first = left;
    }
    let mut known = type_of(first, scope)?;
    while let Some((op, right)) = spine.pop() {
        let other = type_of(right, scope)?;
        known = match op {
            BinaryOp::And | BinaryOp::Or => {
                expect(known, StaticType::Bool, Code::InvalidDataType, "AND and OR")?;
                expect(other, StaticType::Bool, Code::InvalidDataType, "AND and OR")?;
                StaticType::Bool
            }
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Modulo => {
                expect(known, StaticType::Number, Code::InvalidDataType, "arithmetic")?;
                expect(other, StaticType::Number, Code::InvalidDataType, "arithmetic")?;
                let ints = known == StaticType::Int && other == StaticType::Int;
                if ints { StaticType::Int } else { StaticType::Number }
            }
            BinaryOp::Eq
            | BinaryOp::NotEq
            | BinaryOp::Lt
            | BinaryOp::LtEq
            | BinaryOp::Gt
            | BinaryOp::GtEq => StaticType::Bool,
        };
    }
    Ok(known)
}

fn expect(known: StaticType, wanted: StaticType, code: Code, what: &str) -> Result<()> {
    if known.may_be(wanted) {
        return Ok(());
    }
    let hint = if known == StaticType::String { ": use CAST" } else { "" };
    let (wanted, known) = (wanted.name(), known.name());
    Err(error(code, format!("{what} takes a {wanted}, not a {known}{hint}")))
}

fn number(expr: &Expr, scope: Scope<'_>) -> Result<StaticType> {
    let known = type_of(expr, scope)?;
    expect(known, StaticType::Number, Code::InvalidDataType, "arithmetic")?;
    Ok(if known == StaticType::Unknown { StaticType::Number } else { known })
}

/// The common type of all results; NULL has every type.
fn common(results: &[(impl std::borrow::Borrow<Expr>, StaticType)]) -> StaticType {
    let null = |expr: &Expr| matches!(expr, Expr::Literal(Literal::Null | Literal::Missing));
    let mut types =
        results.iter().filter(|(expr, _)| !null(expr.borrow())).map(|(_, known)| *known);
    let Some(first) = types.next() else { return StaticType::Unknown };
    types.fold(first, |all, next| match (all, next) {
        _ if all == next => all,
        (StaticType::Int | StaticType::Number, StaticType::Int | StaticType::Number) => {
            StaticType::Number
        }
        _ => StaticType::Unknown,
    })
}

fn cast(from: StaticType, to: Type) -> Result<StaticType> {
    let to_known = match to {
        Type::Bool => StaticType::Bool,
        Type::Int => StaticType::Int,
        Type::Float | Type::Decimal(_) => StaticType::Number,
        Type::String => StaticType::String,
        Type::Timestamp => StaticType::Timestamp,
    };
    let never = match (from, to_known) {
        (_, StaticType::String) | (StaticType::String | StaticType::Unknown, _) => false,
        (from, StaticType::Timestamp) => from != StaticType::Timestamp,
        (from, _) => from == StaticType::Timestamp,
    };
    if never {
        let message = format!("a {} does not convert to {to}", from.name());
        return Err(error(Code::InvalidCast, message));
    }
    Ok(to_known)
}

fn like(expr: &Expr, pattern: &Expr, escape: Option<&Expr>, scope: Scope<'_>) -> Result<()> {
    for side in [Some(expr), Some(pattern), escape].into_iter().flatten() {
        expect(type_of(side, scope)?, StaticType::String, Code::LikeInvalidInputs, "LIKE")?;
    }
    if let Some(pattern) = constant(pattern) {
        match escape.map(constant) {
            None => LikePattern::compile(pattern, None).map(drop)?,
            Some(Some(escape)) => LikePattern::compile(pattern, Some(escape)).map(drop)?,
            Some(None) => {}
        }
    }
    Ok(())
}

fn constant(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(Literal::String(text)) => Some(text),
        _ => None,
    }
}

fn call(function: Function, args: &[Expr], scope: Scope<'_>) -> Result<StaticType> {
    use StaticType::{Bool, Int, String, Timestamp, Unknown};
    let (arity, takes, gives): (_, &[StaticType], _) = match function {
        Function::Coalesce => (1..=usize::MAX, &[], Unknown),
        Function::NullIf => (2..=2, &[], Unknown),
        Function::CharLength => (1..=1, &[String], Int),
        Function::Lower | Function::Upper => (1..=1, &[String], String),
        Function::Substring => (2..=3, &[String, Int, Int], String),
        Function::Trim(_) => (1..=2, &[String, String], String),
        Function::DateAdd(_) => (2..=2, &[Int, Timestamp], Timestamp),
        Function::DateDiff(_) => (2..=2, &[Timestamp, Timestamp], Int),
        Function::Extract(_) => (1..=1, &[Timestamp], Int),
        Function::ToString => (2..=2, &[Timestamp, String], String),
        Function::ToTimestamp => (1..=1, &[String], Timestamp),
        Function::UtcNow => (0..=0, &[], Timestamp),
        Function::BloomContains => (4..=4, &[String, Int, Int], Bool),
        Function::List => (0..=usize::MAX, &[], Unknown),
    };
    if !arity.contains(&args.len()) {
        let message = format!("a function got {} arguments, which it does not take", args.len());
        return Err(error(Code::EvaluatorInvalidArguments, message));
    }
    let mut types = Vec::with_capacity(args.len());
    for (i, arg) in args.iter().enumerate() {
        let known = type_of(arg, scope)?;
        let wanted = takes.get(i).copied().unwrap_or(Unknown);
        if wanted != Unknown {
            let code = Code::IncorrectSqlFunctionArgumentType;
            expect(known, wanted, code, "an argument of a function")?;
        }
        types.push((arg, known));
    }
    match (function, args) {
        (Function::Substring, [_, _, Expr::Literal(Literal::Int(length))]) if *length < 0 => {
            let message = format!("SUBSTRING takes no negative length such as {length}");
            return Err(error(Code::IllegalSqlFunctionArgument, message));
        }
        (Function::BloomContains, args) => {
            BloomFilter::of_call(args)?;
        }
        (Function::ToString, [_, pattern]) => {
            if let Some(pattern) = constant(pattern) {
                TimestampPattern::compile(pattern)?;
            }
        }
        _ => {}
    }
    Ok(match function {
        Function::Coalesce => common(&types),
        Function::NullIf => types.first().map_or(Unknown, |(_, known)| *known),
        _ => gives,
    })
}

fn aggregate(function: Aggregate, arg: Option<&Expr>, scope: Scope<'_>) -> Result<StaticType> {
    let Some(arg) = arg else {
        return match function {
            Aggregate::Count => Ok(StaticType::Int),
            _ => Err(error(Code::ParseUnsupportedCallWithStar, "only COUNT takes *")),
        };
    };
    let known = type_of(arg, scope)?;
    Ok(match function {
        Aggregate::Count => StaticType::Int,
        Aggregate::Max | Aggregate::Min => known,
        Aggregate::Avg | Aggregate::Sum => {
            let code = Code::IncorrectSqlFunctionArgumentType;
            expect(known, StaticType::Number, code, "an aggregate")?;
            if function == Aggregate::Sum && known == StaticType::Int {
                known
            } else {
                StaticType::Number
            }
        }
    })
}
