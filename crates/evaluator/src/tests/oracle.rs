//! Computes arithmetic, comparisons, casts and sums a second time over integers of any size, so that the evaluator's
//! results are not checked with its own functions.

use std::cmp::Ordering;

use num_bigint::BigInt;
use sluicegate_s3select::dialect::ast::{BinaryOp, Type};
use sluicegate_s3select::error::SelectErrorCode as Code;
use sluicegate_s3select::value::{self, Decimal, Value};

type Result<T> = std::result::Result<T, Code>;

/// A fraction: the numerator and a denominator above 0.
struct Fraction(BigInt, BigInt);

fn power(exponent: i64) -> BigInt {
    BigInt::from(10).pow(exponent.try_into().unwrap())
}

fn abs(number: &BigInt) -> BigInt {
    number.magnitude().clone().into()
}

fn fraction(number: &Value) -> Fraction {
    match number {
        Value::Int(int) => Fraction((*int).into(), 1.into()),
        Value::Decimal(decimal) => {
            Fraction(decimal.unscaled().into(), power(decimal.scale().into()))
        }
        other => panic!("{other:?} is not exact"),
    }
}

fn places(number: &Value) -> i64 {
    if let Value::Decimal(decimal) = number { decimal.scale().into() } else { 0 }
}

impl Fraction {
    fn plus(&self, other: &Self) -> Self {
        Self(&self.0 * &other.1 + &other.0 * &self.1, &self.1 * &other.1)
    }

    fn minus(&self, other: &Self) -> Self {
        Self(&self.0 * &other.1 - &other.0 * &self.1, &self.1 * &other.1)
    }

    fn times(&self, other: &Self) -> Self {
        Self(&self.0 * &other.0, &self.1 * &other.1)
    }

    fn over(&self, other: &Self) -> Self {
        let sign = if other.0 < BigInt::ZERO { -1 } else { 1 };
        Self(&self.0 * &other.1 * sign, &self.1 * &other.0 * sign)
    }

    /// Returns the digits of the number with `places` decimal places, rounded half to even.
    fn rounded(&self, places: i64) -> BigInt {
        let number = &self.0 * power(places);
        let (quotient, rest) = (&number / &self.1, &number % &self.1);
        let is_odd = &quotient % 2 != BigInt::ZERO;
        let twice: BigInt = abs(&rest) * 2;
        match twice.cmp(&self.1) {
            Ordering::Less => quotient,
            Ordering::Equal if !is_odd => quotient,
            _ if self.0 < BigInt::ZERO => quotient - 1,
            _ => quotient + 1,
        }
    }

    /// Returns the decimal with at most `most_places` places and 38 digits.
    fn decimal(&self, most_places: i64) -> Option<Decimal> {
        (0..=most_places.min(38)).rev().find_map(|places| {
            let digits = self.rounded(places);
            (abs(&digits) < power(38)).then(|| decimal(&digits, places))
        })
    }

    /// Returns the exact decimal with the fewest places, at least `least`, or the nearest one if no decimal is exact.
    fn quotient(&self, least: i64) -> Option<Decimal> {
        let exact = (least..=38).find_map(|places| {
            let number = &self.0 * power(places);
            let digits = &number / &self.1;
            let fits = &digits * &self.1 == number && abs(&digits) < power(38);
            fits.then(|| decimal(&digits, places))
        });
        exact.or_else(|| self.decimal(38))
    }
}

fn decimal(digits: &BigInt, places: i64) -> Decimal {
    Decimal::new(digits.try_into().unwrap(), places.try_into().unwrap()).unwrap()
}

fn to_float(value: &Value) -> f64 {
    match value {
        Value::Float(float) => *float,
        exact => text(exact).parse().unwrap(),
    }
}

fn int(number: BigInt) -> Result<Value> {
    number.try_into().map(Value::Int).map_err(|_| Code::IntegerOverflow)
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_) | Value::Decimal(_))
}

/// Computes `left op right` for one of `+ - * / %`.
pub(super) fn arithmetic(op: BinaryOp, left: &Value, right: &Value) -> Result<Value> {
    if left == &Value::Missing || right == &Value::Missing {
        return Ok(Value::Missing);
    }
    if left == &Value::Null || right == &Value::Null {
        return Ok(Value::Null);
    }
    if !is_number(left) || !is_number(right) {
        return Err(Code::InvalidDataType);
    }
    if let (Value::Float(_), _) | (_, Value::Float(_)) = (left, right) {
        let (a, b) = (to_float(left), to_float(right));
        return Ok(Value::Float(match op {
            BinaryOp::Add => a + b,
            BinaryOp::Subtract => a - b,
            BinaryOp::Multiply => a * b,
            BinaryOp::Divide => a / b,
            _ => a % b,
        }));
    }
    let (a, b) = (fraction(left), fraction(right));
    if b.0 == BigInt::ZERO && matches!(op, BinaryOp::Divide | BinaryOp::Modulo) {
        return Err(Code::ExternalEvalException);
    }
    if let (Value::Int(_), Value::Int(_)) = (left, right) {
        return int(match op {
            BinaryOp::Add => a.0 + b.0,
            BinaryOp::Subtract => a.0 - b.0,
            BinaryOp::Multiply => a.0 * b.0,
            BinaryOp::Divide => a.0 / b.0,
            _ => a.0 % b.0,
        });
    }
    let (p, q) = (places(left), places(right));
    let result = match op {
        BinaryOp::Add => a.plus(&b).decimal(p.max(q)),
        BinaryOp::Subtract => a.minus(&b).decimal(p.max(q)),
        BinaryOp::Multiply => a.times(&b).decimal(p + q),
        BinaryOp::Divide => a.over(&b).quotient((p - q).max(0)),
        _ => {
            let quotient = a.over(&b);
            let whole = Fraction(quotient.0 / quotient.1, 1.into());
            a.minus(&whole.times(&b)).decimal(p.max(q))
        }
    };
    result.map(Value::Decimal).ok_or(Code::IntegerOverflow)
}

/// Computes `-x`.
pub(super) fn negate(value: &Value) -> Result<Value> {
    match value {
        Value::Float(float) => Ok(Value::Float(-float)),
        _ => arithmetic(BinaryOp::Multiply, value, &Value::Int(-1)),
    }
}

/// Returns the order of two values; `None` if they do not compare.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::String(a), Value::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Value::String(a), number) if is_number(number) => {
            Some(a.as_bytes().cmp(text(number).as_bytes()))
        }
        (number, Value::String(b)) if is_number(number) => {
            Some(text(number).as_bytes().cmp(b.as_bytes()))
        }
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Timestamp(_), Value::Timestamp(_)) => value::compare(left, right),
        _ if !is_number(left) || !is_number(right) => None,
        (Value::Float(_), _) | (_, Value::Float(_)) => {
            let (a, b) = (to_float(left), to_float(right));
            // Zeros are equal; other floats follow IEEE 754's total order, without the payloads of NaNs.
            let plain = |x: f64| match x {
                x if x.is_nan() => f64::NAN.copysign(x),
                0.0 => 0.0,
                x => x,
            };
            Some(plain(a).total_cmp(&plain(b)))
        }
        _ => Some(fraction(left).minus(&fraction(right)).0.cmp(&BigInt::ZERO)),
    }
}

/// Returns the text of a value that is not a timestamp, list or struct.
fn text(value: &Value) -> String {
    match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int(int) => int.to_string(),
        // Rust does not write the sign of NaN, which readers of the answer sort by.
        Value::Float(float) if float.is_nan() && float.is_sign_negative() => "-NaN".to_owned(),
        Value::Float(float) => format!("{float:?}"),
        Value::String(text) => text.clone(),
        Value::Decimal(decimal) => {
            let places: usize = decimal.scale().try_into().unwrap();
            let digits = decimal.unscaled().unsigned_abs().to_string();
            let digits = format!("{digits:0>width$}", width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            let sign = if decimal.unscaled() < 0 { "-" } else { "" };
            let point = if places > 0 { "." } else { "" };
            format!("{sign}{whole}{point}{fraction}")
        }
        other => panic!("{other:?} has no text here"),
    }
}

/// Computes CAST.
pub(super) fn cast(value: &Value, to: Type) -> Result<Value> {
    if value.is_null() {
        return Ok(value.clone());
    }
    if matches!(value, Value::Timestamp(_)) || to == Type::Timestamp {
        return value::cast(value, to).map_err(|error| error.code);
    }
    let trimmed = text(value);
    let trimmed = trimmed.trim_matches([' ', '\t', '\n', '\r', '\u{c}']);
    let cast = match (to, value) {
        (Type::String, _) => Some(Value::String(text(value))),
        (Type::Bool, Value::String(_)) if trimmed.eq_ignore_ascii_case("true") => {
            Some(Value::Bool(true))
        }
        (Type::Bool, Value::String(_)) if trimmed.eq_ignore_ascii_case("false") => {
            Some(Value::Bool(false))
        }
        (Type::Bool, Value::Bool(_)) => Some(value.clone()),
        (Type::Bool, Value::Int(_) | Value::Float(_) | Value::Decimal(_)) => {
            Some(Value::Bool(to_float(value) != 0.0))
        }
        (Type::Int | Type::Float | Type::Decimal(_), Value::Bool(truth)) => {
            return cast(&Value::Int((*truth).into()), to);
        }
        (Type::Int, Value::Float(float)) => {
            // Rust prints all digits of a float without a fraction.
            format!("{:.0}", float.trunc()).parse().ok().map(Value::Int)
        }
        (Type::Int, Value::Decimal(_)) => {
            let Fraction(number, denominator) = fraction(value);
            int(number / denominator).ok()
        }
        (Type::Int, _) => trimmed.parse().ok().map(Value::Int),
        (Type::Float, Value::String(_)) => trimmed.parse().ok().map(Value::Float),
        (Type::Float, _) => Some(Value::Float(to_float(value))),
        // The digits of a float are those that Rust prints with an exponent.
        (Type::Decimal(shape), Value::Float(float)) => to_decimal(&format!("{float:e}"), shape),
        (Type::Decimal(shape), _) => to_decimal(trimmed, shape),
        _ => None,
    };
    cast.ok_or(Code::CastFailed)
}

fn to_decimal(text: &str, shape: Option<(u8, i8)>) -> Option<Value> {
    let (number, places) = read(text)?;
    let decimal = match shape {
        None => number.decimal(places.max(0)),
        Some((precision, scale)) => {
            let digits = number.0 * power(scale.into()) / number.1;
            let fits = abs(&digits) < power(precision.into());
            fits.then(|| decimal(&digits, scale.into()))
        }
    };
    decimal.map(Value::Decimal)
}

/// Parses a number, and returns the number of places it is written with.
fn read(text: &str) -> Option<(Fraction, i64)> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
        None => (text, 0),
    };
    let digits = mantissa.replacen('.', "", 1);
    let places = mantissa.find('.').map_or(0, |at| mantissa.len() - at - 1) as i64 - exponent;
    let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(&digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: BigInt = digits.parse().ok()?;
    Some(if places < 0 {
        (Fraction(digits * power(-places), 1.into()), places)
    } else {
        (Fraction(digits, power(places)), places)
    })
}

/// Computes SUM or AVG of values that are not NULL, of which there must be at least one.
pub(super) fn sum(values: &[&Value], average: bool) -> Result<Value> {
    let floats: Vec<_> = values.iter().filter(|value| matches!(value, Value::Float(_))).collect();
    let exact = || values.iter().filter(|value| !matches!(value, Value::Float(_)));
    let total =
        exact().fold(Fraction(BigInt::ZERO, 1.into()), |sum, value| sum.plus(&fraction(value)));
    let most_places = exact().map(|value| places(value)).max().unwrap_or(0);
    if !floats.is_empty() {
        let floats = floats.into_iter().fold(0.0, |sum, value| sum + to_float(value));
        let rest = total.decimal(most_places).ok_or(Code::IntegerOverflow)?;
        let sum = floats + to_float(&Value::Decimal(rest));
        return Ok(Value::Float(if average { sum / values.len() as f64 } else { sum }));
    }
    if average {
        let count = Fraction(values.len().into(), 1.into());
        let average = total.over(&count).quotient(most_places);
        return average.map(Value::Decimal).ok_or(Code::IntegerOverflow);
    }
    if values.iter().all(|value| matches!(value, Value::Int(_))) {
        return int(total.0);
    }
    total.decimal(most_places).map(Value::Decimal).ok_or(Code::IntegerOverflow)
}
