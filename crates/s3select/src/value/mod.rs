//! Values and what the operators do with them.
//!
//! The numbers form a tower: `int` (64 bits, checked) and `decimal` (38 digits, rounded only beyond
//! them) combine to `decimal`; whatever meets a `float` becomes one. Text meets a number only in a comparison, and
//! there the number is compared by its text, because that is how the service treats CSV fields
//! without a CAST.

pub mod arithmetic;
pub mod cast;
pub mod civil;
pub mod decimal;
pub mod like;
pub mod pattern;
mod shift_and;
pub mod text;
pub mod timestamp;
mod write;

use std::cmp::Ordering;

pub use cast::cast;
pub use decimal::{Decimal, DecimalSum};
pub use like::LikePattern;
pub use pattern::TimestampPattern;
pub use timestamp::Timestamp;
pub use write::{write_float, write_int, write_json_string};

/// A value of the dialect.
///
/// `==` compares the representation, for tests; the dialect's `=` is [`compare`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// There is no such field.
    Missing,
    /// There is a field without a value.
    Null,
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i64),
    /// `float`
    Float(f64),
    /// `decimal`
    Decimal(Decimal),
    /// `string`
    String(String),
    /// `timestamp`
    Timestamp(Timestamp),
    /// A JSON array or a Parquet list.
    List(Vec<Value>),
    /// A JSON object or a Parquet group: fields in order, names possibly repeated.
    Struct(Vec<(String, Value)>),
}

impl Value {
    /// Whether it is NULL or MISSING, which `IS NULL` does not tell apart.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Missing | Self::Null)
    }

    /// The name of its type, for messages.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Decimal(_) => "decimal",
            Self::String(_) => "string",
            Self::Timestamp(_) => "timestamp",
            Self::List(_) => "list",
            Self::Struct(_) => "struct",
        }
    }
}

/// Compares two values as `=` and `<` do; `None` is UNKNOWN.
///
/// NULL and MISSING are comparable with nothing. Numbers compare by value, through `float` if one
/// of them is one. Text compares bytewise, with a number by the number's text. Other values of
/// different types are not comparable, and neither are lists and structs.
#[must_use]
pub fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    use Value::{Bool, Decimal as Dec, Float, Int, String, Timestamp as Time};
    Some(match (left, right) {
        (Int(a), Int(b)) => a.cmp(b),
        (String(a), String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Dec(a), Dec(b)) => a.compare(*b),
        (Int(a), Dec(b)) => Decimal::from(*a).compare(*b),
        (Dec(a), Int(b)) => a.compare(Decimal::from(*b)),
        (Float(a), Float(b)) => compare_floats(*a, *b),
        (Float(a), Int(b)) => compare_floats(*a, *b as f64),
        (Int(a), Float(b)) => compare_floats(*a as f64, *b),
        (Float(a), Dec(b)) => compare_floats(*a, b.to_f64()),
        (Dec(a), Float(b)) => compare_floats(a.to_f64(), *b),
        (Bool(a), Bool(b)) => a.cmp(b),
        (Time(a), Time(b)) => a.compare(*b),
        (String(a), Int(_) | Float(_) | Dec(_)) => compare_with_number(a.as_bytes(), right),
        (Int(_) | Float(_) | Dec(_), String(b)) => {
            compare_with_number(b.as_bytes(), left).reverse()
        }
        _ => return None,
    })
}

/// Compares two floats: NaN equals NaN and is greater than every number, -0.0 equals 0.0.
#[must_use]
#[inline]
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn compare_with_number(text: &[u8], number: &Value) -> Ordering {
    let mut other = Vec::with_capacity(24);
    number.write(&mut other);
    text.cmp(&other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{Equal, Greater, Less};

    fn s(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    fn dec(text: &str) -> Value {
        Value::Decimal(Decimal::parse(text.as_bytes()).unwrap())
    }

    #[track_caller]
    fn check(left: Value, right: Value, expected: Option<Ordering>) {
        assert_eq!(compare(&left, &right), expected, "{left:?} {right:?}");
        assert_eq!(compare(&right, &left), expected.map(Ordering::reverse), "{right:?} {left:?}");
    }

    #[test]
    fn numbers_compare_by_value() {
        check(Value::Int(2), Value::Int(10), Some(Less));
        check(Value::Int(1), dec("1.00"), Some(Equal));
        check(Value::Int(i64::MAX), dec("9223372036854775806.9"), Some(Greater));
        check(dec("0.1"), Value::Float(0.1), Some(Equal));
        check(Value::Int(1), Value::Float(1.5), Some(Less));
        check(Value::Float(f64::NAN), Value::Float(f64::INFINITY), Some(Greater));
        check(Value::Float(f64::NAN), Value::Float(f64::NAN), Some(Equal));
        check(Value::Float(-0.0), Value::Float(0.0), Some(Equal));
    }

    #[test]
    fn text_compares_bytewise_and_with_numbers_by_their_text() {
        check(s("10"), s("9"), Some(Less));
        check(s("a"), s("B"), Some(Greater));
        check(s("41"), Value::Int(5), Some(Less));
        check(s("05"), Value::Int(5), Some(Less));
        check(s("1.50"), dec("1.50"), Some(Equal));
    }

    #[test]
    fn what_is_not_comparable_is_unknown() {
        check(Value::Null, Value::Null, None);
        check(Value::Missing, Value::Int(1), None);
        check(s("true"), Value::Bool(true), None);
        check(Value::List(vec![]), Value::List(vec![]), None);
    }
}
