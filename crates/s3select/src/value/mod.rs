//! The values of the dialect and the semantics of its operators and functions.
//!
//! `int` (64 bits, checked) and `decimal` (38 digits, rounded only beyond them) combine to `decimal`; an operation
//! with a `float` gives a `float`. Text and numbers meet only in comparisons, where the text of the number is
//! compared. The service treats CSV fields without a CAST in this way.

pub mod arithmetic;
mod bloom;
pub mod cast;
pub mod civil;
pub mod decimal;
mod digits;
pub mod like;
pub mod pattern;
mod shift_and;
pub mod text;
pub mod timestamp;
mod trim;
mod write;

use std::cmp::Ordering;
use std::sync::Arc;

pub use bloom::{BloomFilter, MAX_HASHES};
pub use cast::cast;
pub use decimal::{Decimal, DecimalSum};
pub use digits::write_int;
pub use like::LikePattern;
pub use pattern::TimestampPattern;
pub use timestamp::Timestamp;
pub use trim::TrimSet;
pub use write::{write_float, write_json_string};

/// A value of the dialect.
///
/// `==` compares the representation, for tests; the dialect's `=` is [`compare`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An absent field.
    Missing,
    /// A field without a value.
    Null,
    /// `bool`: TRUE or FALSE
    Bool(bool),
    /// `int`: 64 bits, signed
    Int(i64),
    /// `float`: an IEEE 754 double
    Float(f64),
    /// `decimal`: up to 38 digits
    Decimal(Decimal),
    /// `string`: text in UTF-8
    String(String),
    /// `timestamp`: a point in time
    Timestamp(Timestamp),
    /// A JSON array or a Parquet list. Clones share the elements, so a statement can use it often.
    List(Arc<[Value]>),
    /// A JSON object or a Parquet group: fields in order; names may repeat.
    Struct(Arc<[(String, Value)]>),
}

impl Value {
    /// Returns true if the value is NULL or MISSING, between which `IS NULL` does not distinguish.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Missing | Self::Null)
    }

    /// The value as an `int`, if it is a number without a fraction that fits 64 bits.
    #[must_use]
    pub fn as_whole(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            Self::Decimal(decimal) => {
                let int = decimal.to_i64()?;
                (Decimal::from(int).compare(*decimal).is_eq()).then_some(int)
            }
            Self::Float(float) if float.fract() == 0.0 => cast::float_to_int(*float),
            _ => None,
        }
    }

    /// The name of the value's type, for messages.
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

/// Compares two values like `=` and `<`; `None` is UNKNOWN.
///
/// NULL and MISSING are not comparable with anything. Numbers compare by value, through `float` if one of them is
/// one. Text compares bytewise; with a number it compares with the number's text. Other values of different types are
/// not comparable, and neither are lists and structs.
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

/// Returns true if NULLIF treats the two values as the same.
///
/// This holds for two values that are NULL or MISSING, for equal values of comparable types, for lists of the same
/// elements, and for structs of the same fields in any order. Unlike with `=`, text is never the same as a number.
#[must_use]
pub fn is_same(left: &Value, right: &Value) -> bool {
    use Value::{Decimal as Dec, Float, Int, List, String, Struct};
    match (left, right) {
        (List(a), List(b)) => {
            a.len() == b.len() && a.iter().zip(&b[..]).all(|(a, b)| is_same(a, b))
        }
        (Struct(a), Struct(b)) => {
            let mut pairs = by_name(a).into_iter().zip(by_name(b));
            a.len() == b.len() && pairs.all(|(a, b)| a.0 == b.0 && is_same(&a.1, &b.1))
        }
        (String(_), Int(_) | Float(_) | Dec(_)) | (Int(_) | Float(_) | Dec(_), String(_)) => false,
        _ => (left.is_null() && right.is_null()) || compare(left, right) == Some(Ordering::Equal),
    }
}

/// The fields sorted by name; fields of the same name keep their order.
fn by_name(fields: &[(String, Value)]) -> Vec<&(String, Value)> {
    let mut sorted: Vec<_> = fields.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    sorted
}

/// Compares two floats. NaN is greater than every number and -NaN less, each equals itself, and -0.0 equals 0.0.
#[must_use]
#[inline]
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    let end = |float: f64| if float.is_nan() { 1.0_f64.copysign(float) } else { 0.0 };
    a.partial_cmp(&b).unwrap_or_else(|| end(a).total_cmp(&end(b)))
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
        check(Value::Float(-f64::NAN), Value::Float(f64::NEG_INFINITY), Some(Less));
        check(Value::Float(-f64::NAN), Value::Float(f64::NAN), Some(Less));
        check(Value::Float(-f64::NAN), Value::Float(-f64::NAN), Some(Equal));
        check(Value::Float(-f64::NAN), Value::Int(i64::MIN), Some(Less));
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
    fn the_same_is_narrower_than_equal_for_text_and_wider_for_nested_values() {
        let object = |fields: &[(&str, Value)]| {
            Value::Struct(fields.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect())
        };
        let list = |values: &[Value]| Value::List(values.into());
        for (left, right, same) in [
            (Value::Int(1), s("1"), false),
            (Value::Int(1), dec("1.00"), true),
            (Value::Float(1.0), Value::Int(1), true),
            (s("a"), s("a"), true),
            (Value::Null, Value::Missing, true),
            (Value::Null, Value::Int(1), false),
            (Value::Bool(true), s("true"), false),
            (list(&[]), list(&[]), true),
            (list(&[Value::Int(1)]), list(&[dec("1.0")]), true),
            (list(&[Value::Null]), list(&[Value::Null]), true),
            (list(&[Value::Int(1)]), list(&[Value::Int(1), Value::Int(1)]), false),
            (list(&[Value::Int(1)]), Value::Int(1), false),
            (
                object(&[("a", Value::Int(1)), ("b", list(&[]))]),
                object(&[("b", list(&[])), ("a", Value::Int(1))]),
                true,
            ),
            (object(&[("a", Value::Int(1))]), object(&[("A", Value::Int(1))]), false),
            (object(&[("a", Value::Int(1))]), object(&[]), false),
        ] {
            assert_eq!(is_same(&left, &right), same, "{left:?} {right:?}");
            assert_eq!(is_same(&right, &left), same, "{right:?} {left:?}");
        }
    }

    #[test]
    fn whole_numbers_have_no_fraction() {
        for (value, whole) in [
            (Value::Int(-5), Some(-5)),
            (dec("2.00"), Some(2)),
            (dec("2.01"), None),
            (dec("9223372036854775808"), None),
            (Value::Float(3.0), Some(3)),
            (Value::Float(3.5), None),
            (Value::Float(f64::NAN), None),
            (Value::Float(1e300), None),
            (s("1"), None),
            (Value::Null, None),
        ] {
            assert_eq!(value.as_whole(), whole, "{value:?}");
        }
    }

    #[test]
    fn what_is_not_comparable_is_unknown() {
        check(Value::Null, Value::Null, None);
        check(Value::Missing, Value::Int(1), None);
        check(s("true"), Value::Bool(true), None);
        check(Value::List([].into()), Value::List([].into()), None);
    }
}
