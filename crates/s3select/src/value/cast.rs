//! CAST from values, and directly from bytes.
//!
//! The `parse_…` functions are the evaluator's inner loop: they parse a field of an object without validating or
//! copying it, and return `None` if it does not convert. The `…_from_bytes` functions return an error instead.

use super::decimal::split_sign;
use super::{Decimal, Timestamp, Value};
use crate::dialect::ast::Type;
use crate::error::{Result, SelectError, SelectErrorCode as Code};

/// Converts a value. NULL and MISSING are kept.
///
/// | to | from |
/// |---|---|
/// | `bool` | `true` and `false` in any case; numbers other than 0 |
/// | `int` | a sign and digits; numbers, truncated toward zero; `bool` as 1 and 0 |
/// | `float` | text that Rust parses as a float; the nearest float to a number |
/// | `decimal` | digits with a point and an exponent, rounded half to even to 38; the digits a float prints |
/// | `string` | the text of everything but lists and structs |
/// | `timestamp` | a date, an Ion timestamp |
///
/// Whitespace around text is ignored, except for `string`.
///
/// # Errors
///
/// `CastFailed` if the value does not convert, `InvalidCast` if no value of its type does.
pub fn cast(value: &Value, to: Type) -> Result<Value> {
    if let Value::String(text) = value {
        return cast_bytes(text.as_bytes(), to);
    }
    let failed = || failed(&text_of(value), to);
    Ok(match (to, value) {
        (_, Value::Missing | Value::Null) => value.clone(),
        (Type::String, _) if !matches!(value, Value::List(_) | Value::Struct(_)) => {
            let mut text = Vec::new();
            value.write(&mut text);
            Value::String(String::from_utf8_lossy(&text).into_owned())
        }

        (Type::Bool, Value::Bool(_)) => value.clone(),
        (Type::Bool, Value::Int(int)) => Value::Bool(*int != 0),
        (Type::Bool, Value::Float(float)) => Value::Bool(*float != 0.0),
        (Type::Bool, Value::Decimal(decimal)) => Value::Bool(decimal.unscaled() != 0),

        (Type::Int, Value::Bool(bool)) => Value::Int(i64::from(*bool)),
        (Type::Int, Value::Int(_)) => value.clone(),
        (Type::Int, Value::Float(float)) => Value::Int(float_to_int(*float).ok_or_else(failed)?),
        (Type::Int, Value::Decimal(decimal)) => Value::Int(decimal.to_i64().ok_or_else(failed)?),

        (Type::Float, Value::Bool(bool)) => Value::Float(f64::from(u8::from(*bool))),
        (Type::Float, Value::Int(int)) => Value::Float(*int as f64),
        (Type::Float, Value::Float(_)) => value.clone(),
        (Type::Float, Value::Decimal(decimal)) => Value::Float(decimal.to_f64()),

        (
            Type::Decimal(shape),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Decimal(_),
        ) => {
            let decimal = match value {
                Value::Bool(bool) => shaped(Decimal::from(i64::from(*bool)), shape),
                Value::Int(int) => shaped(Decimal::from(*int), shape),
                Value::Float(float) => parse_decimal(format!("{float:e}").as_bytes(), shape),
                Value::Decimal(decimal) => shaped(*decimal, shape),
                _ => None,
            };
            Value::Decimal(decimal.ok_or_else(failed)?)
        }

        (Type::Timestamp, Value::Timestamp(_)) => value.clone(),
        _ => {
            return Err(SelectError::new(
                Code::InvalidCast,
                format!("a {} does not convert to {}", value.type_name(), type_name(to)),
            ));
        }
    })
}

/// Converts text directly from an object's bytes.
///
/// # Errors
///
/// `CastFailed` if the text does not convert; `InvalidTextEncoding` if the target is a string and the text is not
/// UTF-8.
pub fn cast_bytes(text: &[u8], to: Type) -> Result<Value> {
    match to {
        Type::Bool => bool_from_bytes(text).map(Value::Bool),
        Type::Int => int_from_bytes(text).map(Value::Int),
        Type::Float => float_from_bytes(text).map(Value::Float),
        Type::Decimal(shape) => decimal_from_bytes(text, shape).map(Value::Decimal),
        Type::Timestamp => timestamp_from_bytes(text).map(Value::Timestamp),
        Type::String => match std::str::from_utf8(text) {
            Ok(text) => Ok(Value::String(text.to_owned())),
            Err(_) => Err(SelectError::new(Code::InvalidTextEncoding, "a field is not UTF-8")),
        },
    }
}

/// Computes CAST(text AS BOOL).
///
/// # Errors
///
/// `CastFailed` if the text does not convert.
#[inline]
pub fn bool_from_bytes(text: &[u8]) -> Result<bool> {
    parse_bool(text).ok_or_else(|| failed(text, Type::Bool))
}

/// Computes CAST(text AS INT).
///
/// # Errors
///
/// `CastFailed` if the text does not convert.
#[inline]
pub fn int_from_bytes(text: &[u8]) -> Result<i64> {
    parse_int(text).ok_or_else(|| failed(text, Type::Int))
}

/// Computes CAST(text AS FLOAT).
///
/// # Errors
///
/// `CastFailed` if the text does not convert.
#[inline]
pub fn float_from_bytes(text: &[u8]) -> Result<f64> {
    parse_float(text).ok_or_else(|| failed(text, Type::Float))
}

/// Computes CAST(text AS DECIMAL) or, with a shape, CAST(text AS DECIMAL(precision, scale)).
///
/// # Errors
///
/// `CastFailed` if the text does not convert.
#[inline]
pub fn decimal_from_bytes(text: &[u8], shape: Option<(u8, i8)>) -> Result<Decimal> {
    parse_decimal(text, shape).ok_or_else(|| failed(text, Type::Decimal(shape)))
}

/// Computes CAST(text AS TIMESTAMP).
///
/// # Errors
///
/// `CastFailed` if the text does not convert.
#[inline]
pub fn timestamp_from_bytes(text: &[u8]) -> Result<Timestamp> {
    parse_timestamp(text).ok_or_else(|| failed(text, Type::Timestamp))
}

/// Parses `true` or `false` in any case, ignoring whitespace around it.
#[must_use]
#[inline]
pub fn parse_bool(text: &[u8]) -> Option<bool> {
    let text = text.trim_ascii();
    if text.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if text.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// Parses a sign and digits that fit 64 bits, ignoring whitespace around them.
#[must_use]
#[inline]
pub fn parse_int(text: &[u8]) -> Option<i64> {
    // Fast path for plain digits that cannot overflow, as in most columns of numbers.
    if (1..=18).contains(&text.len()) {
        let (mut number, mut clean) = (0_i64, true);
        for &byte in text {
            let digit = byte.wrapping_sub(b'0');
            clean &= digit <= 9;
            number = number.wrapping_mul(10).wrapping_add(i64::from(digit));
        }
        if clean {
            return Some(number);
        }
    }
    parse_signed_int(text.trim_ascii())
}

fn parse_signed_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() {
        return None;
    }
    // Counts down, because there is one more negative number than positive ones.
    let mut number: i64 = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_sub(i64::from(digit))?;
    }
    if negative { Some(number) } else { number.checked_neg() }
}

/// Powers of ten that are exact as floats.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Parses the text that Rust accepts as a float, ignoring whitespace around it. The result is the nearest float.
#[must_use]
#[inline]
pub fn parse_float(text: &[u8]) -> Option<f64> {
    let text = text.trim_ascii();
    let (negative, digits) = split_sign(text);
    let mut number: u64 = 0;
    let mut point = None;
    if digits.len() > 18 {
        return parse_any_float(text);
    }
    for (at, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            number = number * 10 + u64::from(digit);
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return parse_any_float(text);
        }
    }
    let places = point.map_or(0, |at| digits.len() - at - 1);
    if number >= 1 << 53 || digits.len() == usize::from(point.is_some()) {
        return parse_any_float(text);
    }
    // Both sides are exact, so the division rounds once and gives the nearest float.
    let float = number as f64 / EXACT[places];
    Some(if negative { -float } else { float })
}

#[cold]
fn parse_any_float(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Parses a decimal, ignoring whitespace around it. It is rounded to the shape if there is one, otherwise to
/// 38 digits.
#[must_use]
#[inline]
pub fn parse_decimal(text: &[u8], shape: Option<(u8, i8)>) -> Option<Decimal> {
    let text = text.trim_ascii();
    match shape {
        Some((precision, scale)) => Decimal::parse_to_scale(text, precision, scale),
        None => Decimal::parse_rounded(text),
    }
}

/// Parses a date or an Ion timestamp, ignoring whitespace around it.
#[must_use]
#[inline]
pub fn parse_timestamp(text: &[u8]) -> Option<Timestamp> {
    Timestamp::parse(text.trim_ascii())
}

#[inline]
fn shaped(decimal: Decimal, shape: Option<(u8, i8)>) -> Option<Decimal> {
    match shape {
        Some((precision, scale)) => decimal.rescale(precision, scale),
        None => Some(decimal),
    }
}

/// The float truncated toward zero, if that fits 64 bits.
pub(super) fn float_to_int(float: f64) -> Option<i64> {
    // Both bounds are exact; the upper one, 2^63, is the first float that does not fit.
    (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0)
        .contains(&float)
        .then_some(float as i64)
}

fn text_of(value: &Value) -> Vec<u8> {
    let mut text = Vec::new();
    value.write(&mut text);
    text
}

fn type_name(to: Type) -> &'static str {
    match to {
        Type::Bool => "bool",
        Type::Int => "int",
        Type::Float => "float",
        Type::Decimal(_) => "decimal",
        Type::String => "string",
        Type::Timestamp => "timestamp",
    }
}

/// The largest number of bytes of data that a message quotes.
const QUOTED: usize = 40;

#[cold]
#[inline(never)]
fn failed(text: &[u8], to: Type) -> SelectError {
    let shown = String::from_utf8_lossy(&text[..text.len().min(QUOTED)]);
    let more = if text.len() > QUOTED { "…" } else { "" };
    SelectError::new(
        Code::CastFailed,
        format!("'{}{more}' does not convert to {}", shown.escape_debug(), type_name(to)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TYPES: [Type; 6] =
        [Type::Bool, Type::Int, Type::Float, Type::Decimal(None), Type::String, Type::Timestamp];

    /// Checks the text of a value after a CAST to each of the types, or the code of the error.
    #[track_caller]
    fn check(value: Value, expected: [&str; 6]) {
        for (to, expected) in TYPES.into_iter().zip(expected) {
            let shown = match cast(&value, to) {
                Ok(value) => String::from_utf8(text_of(&value)).unwrap(),
                Err(error) => error.code.to_string(),
            };
            assert_eq!(shown, expected, "{value:?} to {to:?}");
        }
    }

    fn s(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    #[test]
    fn every_pair_of_types() {
        const F: &str = "CastFailed";
        const I: &str = "InvalidCast";
        let decimal = |text: &str| Value::Decimal(Decimal::parse(text.as_bytes()).unwrap());
        check(Value::Null, [""; 6]);
        check(Value::Missing, [""; 6]);
        check(Value::Bool(true), ["true", "1", "1.0", "1", "true", I]);
        check(Value::Int(-5), ["true", "-5", "-5.0", "-5", "-5", I]);
        check(Value::Float(0.0), ["false", "0", "0.0", "0", "0.0", I]);
        check(Value::Float(-1.75), ["true", "-1", "-1.75", "-1.75", "-1.75", I]);
        check(Value::Float(f64::NAN), ["true", F, "NaN", F, "NaN", I]);
        check(Value::Float(9.3e18), ["true", F, "9.3e18", "9300000000000000000", "9.3e18", I]);
        check(decimal("2.50"), ["true", "2", "2.5", "2.50", "2.50", I]);
        check(decimal("0.00"), ["false", "0", "0.0", "0.00", "0.00", I]);
        check(
            decimal("99999999999999999999"),
            ["true", F, "1e20", "99999999999999999999", "99999999999999999999", I],
        );
        check(
            Value::Timestamp(Timestamp::parse(b"2010-01-01").unwrap()),
            [I, I, I, I, "2010-01-01", "2010-01-01"],
        );
        check(Value::List([].into()), [I; 6]);
        check(s("TRUE"), ["true", F, F, F, "TRUE", F]);
        check(s(" 42\t"), [F, "42", "42.0", "42", " 42\t", F]);
        check(s("4.20"), [F, F, "4.2", "4.20", "4.20", F]);
        check(s("1e3"), [F, F, "1000.0", "1000", "1e3", F]);
        check(s(""), [F, F, F, F, "", F]);
        check(s("1995-01-01"), [F, F, F, F, "1995-01-01", "1995-01-01"]);
    }

    #[test]
    fn integers_at_the_edge() {
        assert_eq!(parse_int(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(parse_int(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_int(b"000000000000000000000007"), Some(7));
        assert_eq!(parse_int(b"+7"), Some(7));
        for text in [
            "9223372036854775808",
            "-9223372036854775809",
            "",
            "-",
            "+-1",
            "1 2",
            "1.0",
            "0x1",
            "1_0",
            "\u{661}",
        ] {
            assert_eq!(parse_int(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn decimals_take_the_shape_asked_for() {
        let cast = |text: &str| parse_decimal(text.as_bytes(), Some((4, 2))).map(|d| d.to_string());
        assert_eq!(cast("12.345"), Some("12.35".to_owned()));
        assert_eq!(cast("-12.345"), Some("-12.35".to_owned()));
        assert_eq!(cast("7"), Some("7.00".to_owned()));
        assert_eq!(cast("123"), None);
    }

    #[test]
    fn messages_quote_little() {
        let error = int_from_bytes(&[b'x'; 1000]).unwrap_err();
        assert!(error.message.len() < 100);
        assert_eq!(int_from_bytes(b"a\nb").unwrap_err().message, "'a\\nb' does not convert to int");
    }

    proptest! {
        #[test]
        fn ints_read_what_rust_reads(int in any::<i64>()) {
            prop_assert_eq!(parse_int(int.to_string().as_bytes()), Some(int));
        }

        #[test]
        fn floats_read_what_rust_reads(text in "[-+]?[0-9]{0,20}(\\.[0-9]{0,20})?([eE][-+]?[0-9]{1,3})?") {
            prop_assert_eq!(parse_float(text.as_bytes()), text.parse().ok());
        }

        #[test]
        fn texts_agree_with_rust_on_ints(text in "[-+ ]?[0-9]{0,21}[x ]?") {
            prop_assert_eq!(parse_int(text.as_bytes()), text.trim().parse().ok());
        }

        #[test]
        fn no_bytes_panic(text in proptest::collection::vec(any::<u8>(), 0..50)) {
            for to in TYPES {
                let _ = cast_bytes(&text, to);
            }
        }
    }
}
