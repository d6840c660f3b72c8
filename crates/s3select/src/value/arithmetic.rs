//! The arithmetic operators `+ - * / %` and the sign.

use super::{Decimal, Value};
use crate::dialect::ast::BinaryOp;
use crate::error::{Result, SelectError, SelectErrorCode as Code};

/// Computes `left op right` for one of the five arithmetic operators.
///
/// `int` with `int` gives `int`, and `/` truncates toward zero; `int` with `decimal` gives `decimal`; `float` with
/// anything gives `float`, by the rules of IEEE 754. If an operand is MISSING, the result is MISSING; otherwise, if
/// one is NULL, the result is NULL.
///
/// # Errors
///
/// `IntegerOverflow` if the result does not fit, `ExternalEvalException` for division by zero (except of floats),
/// `InvalidDataType` if an operand is not a number or `op` is not arithmetic.
pub fn arithmetic(op: BinaryOp, left: &Value, right: &Value) -> Result<Value> {
    use Value::{Decimal as Dec, Float, Int, Missing, Null};
    Ok(match (left, right) {
        (Missing, _) | (_, Missing) => Missing,
        (Null, _) | (_, Null) => Null,
        (Int(a), Int(b)) => Int(int(op, *a, *b)?),
        (Float(a), Float(b)) => Float(float(op, *a, *b)?),
        (Float(a), Int(b)) => Float(float(op, *a, *b as f64)?),
        (Int(a), Float(b)) => Float(float(op, *a as f64, *b)?),
        (Float(a), Dec(b)) => Float(float(op, *a, b.to_f64())?),
        (Dec(a), Float(b)) => Float(float(op, a.to_f64(), *b)?),
        (Dec(a), Dec(b)) => Dec(decimal(op, *a, *b)?),
        (Int(a), Dec(b)) => Dec(decimal(op, Decimal::from(*a), *b)?),
        (Dec(a), Int(b)) => Dec(decimal(op, *a, Decimal::from(*b))?),
        _ => {
            let wrong = if is_number(left) { right } else { left };
            return Err(no_number(wrong));
        }
    })
}

/// Computes `-x`.
///
/// # Errors
///
/// `IntegerOverflow` for the smallest integer, `InvalidDataType` if the value is not a number.
pub fn negate(value: &Value) -> Result<Value> {
    Ok(match value {
        Value::Missing | Value::Null => value.clone(),
        Value::Int(int) => Value::Int(int.checked_neg().ok_or_else(overflow)?),
        Value::Float(float) => Value::Float(-float),
        Value::Decimal(decimal) => Value::Decimal(decimal.negate()),
        _ => return Err(no_number(value)),
    })
}

/// Computes with integers.
///
/// # Errors
///
/// In the cases of [`arithmetic`].
#[inline]
pub fn int(op: BinaryOp, a: i64, b: i64) -> Result<i64> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        BinaryOp::Divide | BinaryOp::Modulo if b == 0 => return Err(division_by_zero()),
        BinaryOp::Divide => a.checked_div(b),
        BinaryOp::Modulo => Some(a.wrapping_rem(b)),
        _ => return Err(not_arithmetic()),
    }
    .ok_or_else(overflow)
}

/// Computes with floats.
///
/// # Errors
///
/// `InvalidDataType` if `op` is not arithmetic.
#[inline]
pub fn float(op: BinaryOp, a: f64, b: f64) -> Result<f64> {
    Ok(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        BinaryOp::Divide => a / b,
        BinaryOp::Modulo => a % b,
        _ => return Err(not_arithmetic()),
    })
}

/// Computes with decimals.
///
/// # Errors
///
/// In the cases of [`arithmetic`].
#[inline]
pub fn decimal(op: BinaryOp, a: Decimal, b: Decimal) -> Result<Decimal> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        BinaryOp::Divide | BinaryOp::Modulo if b.unscaled() == 0 => {
            return Err(division_by_zero());
        }
        BinaryOp::Divide => a.checked_div(b),
        BinaryOp::Modulo => a.checked_rem(b),
        _ => return Err(not_arithmetic()),
    }
    .ok_or_else(overflow)
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_) | Value::Decimal(_))
}

/// The error for a result beyond 64 bits or 38 digits.
#[must_use]
#[cold]
pub fn overflow() -> SelectError {
    SelectError::new(Code::IntegerOverflow, "a number became too large")
}

/// The error for a division by zero.
#[must_use]
#[cold]
pub fn division_by_zero() -> SelectError {
    SelectError::new(Code::ExternalEvalException, "a number was divided by zero")
}

#[cold]
fn no_number(value: &Value) -> SelectError {
    let message = format!("arithmetic needs numbers, not a {}: use CAST", value.type_name());
    SelectError::new(Code::InvalidDataType, message)
}

#[cold]
fn not_arithmetic() -> SelectError {
    SelectError::new(Code::InvalidDataType, "the operator is not arithmetic")
}

#[cfg(test)]
mod tests {
    use super::*;
    use BinaryOp::{Add, Divide, Modulo, Multiply, Subtract};

    fn dec(text: &str) -> Value {
        Value::Decimal(Decimal::parse(text.as_bytes()).unwrap())
    }

    #[track_caller]
    fn check(left: Value, op: BinaryOp, right: Value, expected: std::result::Result<Value, Code>) {
        assert_eq!(arithmetic(op, &left, &right).map_err(|e| e.code), expected);
    }

    #[test]
    fn ints_are_checked() {
        check(Value::Int(5), Divide, Value::Int(2), Ok(Value::Int(2)));
        check(Value::Int(-7), Modulo, Value::Int(3), Ok(Value::Int(-1)));
        check(Value::Int(-7), Divide, Value::Int(2), Ok(Value::Int(-3)));
        check(Value::Int(i64::MAX), Add, Value::Int(1), Err(Code::IntegerOverflow));
        check(Value::Int(i64::MIN), Divide, Value::Int(-1), Err(Code::IntegerOverflow));
        check(Value::Int(i64::MIN), Modulo, Value::Int(-1), Ok(Value::Int(0)));
        check(Value::Int(1), Divide, Value::Int(0), Err(Code::ExternalEvalException));
        assert_eq!(negate(&Value::Int(i64::MIN)).unwrap_err().code, Code::IntegerOverflow);
    }

    #[test]
    fn types_meet_in_the_tower() {
        check(Value::Int(1), Subtract, dec("0.05"), Ok(dec("0.95")));
        check(dec("0.5"), Multiply, Value::Float(2.0), Ok(Value::Float(1.0)));
        check(Value::Float(1.0), Divide, Value::Int(0), Ok(Value::Float(f64::INFINITY)));
        check(dec("1"), Divide, dec("0.0"), Err(Code::ExternalEvalException));
    }

    #[test]
    fn nulls_absorb_and_other_types_are_refused() {
        check(Value::Null, Add, Value::Int(1), Ok(Value::Null));
        check(Value::Null, Add, Value::Missing, Ok(Value::Missing));
        check(Value::String("1".into()), Add, Value::Int(1), Err(Code::InvalidDataType));
        check(Value::Int(1), BinaryOp::Eq, Value::Int(1), Err(Code::InvalidDataType));
        assert_eq!(negate(&Value::Bool(true)).unwrap_err().code, Code::InvalidDataType);
    }
}
