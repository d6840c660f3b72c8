//! Functions that run row by row.

use super::text::needs_text;
use sluicegate_s3select::dialect::ast::{DatePart, Function};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::value::{Timestamp, TimestampPattern, Value, text};

/// Returns the name of a function in statements.
pub(super) fn name(function: Function) -> &'static str {
    match function {
        Function::Coalesce => "COALESCE",
        Function::NullIf => "NULLIF",
        Function::CharLength => "CHAR_LENGTH",
        Function::Lower => "LOWER",
        Function::Upper => "UPPER",
        Function::Substring => "SUBSTRING",
        Function::Trim(_) => "TRIM",
        Function::DateAdd(_) => "DATE_ADD",
        Function::DateDiff(_) => "DATE_DIFF",
        Function::Extract(_) => "EXTRACT",
        Function::ToString => "TO_STRING",
        Function::ToTimestamp => "TO_TIMESTAMP",
        Function::UtcNow => "UTCNOW",
        Function::BloomContains => "BLOOM_CONTAINS",
        Function::List => "[…]",
    }
}

/// Calls a function. An argument without a value makes the result NULL, or MISSING.
pub(super) fn call(function: Function, args: &[Value]) -> Result<Value, SelectError> {
    if let Some(absent) = args.iter().find(|arg| matches!(arg, Value::Missing)) {
        return Ok(absent.clone());
    }
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let string = |i: usize| match args.get(i) {
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => Err(needs_text(name(function), other)),
        None => Err(wrong(function, "too few arguments")),
    };
    let timestamp = |i: usize| match args.get(i) {
        Some(Value::Timestamp(timestamp)) => Ok(*timestamp),
        Some(other) => Err(needs_timestamp(function, other)),
        None => Err(wrong(function, "too few arguments")),
    };
    Ok(match function {
        Function::Lower => owned(text::lower(string(0)?.as_bytes()).into_owned()),
        Function::Upper => owned(text::upper(string(0)?.as_bytes()).into_owned()),
        Function::DateAdd(part) => {
            let quantity = whole(function, args.first().unwrap_or(&Value::Null))?;
            Value::Timestamp(sum(part, quantity, timestamp(1)?)?)
        }
        Function::DateDiff(part) => Value::Int(difference(part, timestamp(0)?, timestamp(1)?)?),
        Function::Extract(part) => Value::Int(timestamp(0)?.extract(part)),
        Function::ToString => {
            let mut text = Vec::new();
            TimestampPattern::compile(string(1)?)?.write(timestamp(0)?, &mut text);
            owned(text)
        }
        Function::ToTimestamp => {
            let text = string(0)?;
            let parsed = Timestamp::parse(text.trim().as_bytes());
            Value::Timestamp(parsed.ok_or_else(|| {
                SelectError::new(
                    SelectErrorCode::ValueParseFailure,
                    "The text given to TO_TIMESTAMP is not a timestamp.",
                )
            })?)
        }
        // The other functions are nodes of their own.
        _ => return Err(wrong(function, "an unexpected place")),
    })
}

/// Computes DATE_ADD.
#[inline]
pub(super) fn sum(
    part: DatePart,
    quantity: i64,
    time: Timestamp,
) -> Result<Timestamp, SelectError> {
    time.add(part, quantity)
        .ok_or_else(|| wrong(Function::DateAdd(part), "a result beyond the years 1 to 9999"))
}

/// Computes DATE_DIFF.
#[inline]
pub(super) fn difference(
    part: DatePart,
    from: Timestamp,
    to: Timestamp,
) -> Result<i64, SelectError> {
    from.difference(to, part)
        .ok_or_else(|| wrong(Function::DateDiff(part), "a part that has no difference"))
}

/// Returns the argument of a function that takes whole numbers.
pub(super) fn whole(function: Function, value: &Value) -> Result<i64, SelectError> {
    value.as_whole().ok_or_else(|| match value {
        Value::Int(_) | Value::Decimal(_) | Value::Float(_) => {
            wrong(function, "a number that is not whole or does not fit 64 bits")
        }
        other => SelectError::new(
            SelectErrorCode::IncorrectSqlFunctionArgumentType,
            format!("{} needs a number, not a {}.", name(function), other.type_name()),
        ),
    })
}

fn owned(text: Vec<u8>) -> Value {
    Value::String(String::from_utf8(text).unwrap_or_default())
}

#[cold]
fn wrong(function: Function, what: &str) -> SelectError {
    SelectError::new(
        SelectErrorCode::EvaluatorInvalidArguments,
        format!("{} got {what}.", name(function)),
    )
}

#[cold]
fn needs_timestamp(function: Function, value: &Value) -> SelectError {
    SelectError::new(
        SelectErrorCode::IncorrectSqlFunctionArgumentType,
        format!("{} needs a timestamp, not a {}: use CAST.", name(function), value.type_name()),
    )
}
