//! Values as clients receive them.

use std::borrow::Cow;
use std::fmt::Write;

use bytes::{BufMut, BytesMut};

use crate::error::{SqlError, state};
use crate::types::calendar::{DAY, EPOCH_DAYS};
use crate::types::{Format, PgType, Scalar, Value, calendar, float, numeric};

/// Appends a value with its length, as in a row; NULL has the length -1.
///
/// # Errors
///
/// If the value has no form in this type.
pub fn field(
    out: &mut BytesMut,
    value: &Value<'_>,
    kind: PgType,
    format: Format,
) -> Result<(), SqlError> {
    if matches!(value, Value::Null) {
        out.put_i32(-1);
        return Ok(());
    }
    let start = out.len();
    out.put_i32(0);
    match format {
        Format::Text => match text(value) {
            Some(text) => out.put_slice(text.as_bytes()),
            None => return Err(mismatch(kind)),
        },
        Format::Binary => binary(out, value, kind)?,
    }
    let length = i32::try_from(out.len() - start - 4).map_err(|_| too_long())?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn too_long() -> SqlError {
    SqlError::new(state::PROGRAM_LIMIT, "a value is longer than 2 GiB")
}

fn mismatch(kind: PgType) -> SqlError {
    SqlError::new(
        state::INTERNAL_ERROR,
        format!("a value does not have the type {} of its column", kind.sql()),
    )
}

/// Returns the text of a value, `None` for NULL.
#[must_use]
pub fn text<'a>(value: &'a Value<'_>) -> Option<Cow<'a, str>> {
    let mut out = String::new();
    match value {
        Value::Null => return None,
        Value::Bool(true) => return Some("t".into()),
        Value::Bool(false) => return Some("f".into()),
        Value::Text(text) | Value::Numeric(text) => return Some(Cow::Borrowed(text)),
        Value::Int(number) => out = number.to_string(),
        Value::Float4(number) => out = float::single(*number),
        Value::Float8(number) => out = float::double(*number),
        Value::Bytes(bytes) => {
            out.reserve(2 + 2 * bytes.len());
            out.push_str("\\x");
            for byte in bytes.iter() {
                let _ = write!(out, "{byte:02x}");
            }
        }
        Value::Date(days) => calendar::date(&mut out, *days),
        Value::Time(micros) => calendar::time(&mut out, *micros),
        Value::Timestamp(micros) => calendar::timestamp(&mut out, *micros, false),
        Value::TimestampTz(micros) => calendar::timestamp(&mut out, *micros, true),
        Value::Interval { months, days, micros } => {
            calendar::interval(&mut out, *months, *days, *micros);
        }
        Value::Array(elements) => array_text(&mut out, elements),
    }
    Some(Cow::Owned(out))
}

fn array_text(out: &mut String, elements: &[Value<'_>]) {
    out.push('{');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        match (element, text(element)) {
            (_, None) => out.push_str("NULL"),
            (Value::Array(_), Some(text)) => out.push_str(&text),
            (_, Some(text)) if needs_quotes(&text) => {
                out.push('"');
                for c in text.chars() {
                    if matches!(c, '"' | '\\') {
                        out.push('\\');
                    }
                    out.push(c);
                }
                out.push('"');
            }
            (_, Some(text)) => out.push_str(&text),
        }
    }
    out.push('}');
}

fn needs_quotes(text: &str) -> bool {
    let special = |c: char| matches!(c, '{' | '}' | ',' | '"' | '\\') || c.is_whitespace();
    text.is_empty() || text.eq_ignore_ascii_case("null") || text.contains(special)
}

fn binary(out: &mut BytesMut, value: &Value<'_>, kind: PgType) -> Result<(), SqlError> {
    if kind.is_array {
        let Value::Array(elements) = value else { return Err(mismatch(kind)) };
        return binary_array(out, elements, kind);
    }
    let narrow = |number: i64| {
        i32::try_from(number).map_err(|_| {
            SqlError::new(
                state::NUMERIC_OUT_OF_RANGE,
                format!("{number} is out of range for {}", kind.sql()),
            )
        })
    };
    match (kind.scalar, value) {
        (Scalar::Bool, Value::Bool(value)) => out.put_u8(u8::from(*value)),
        (Scalar::Int2, Value::Int(number)) => {
            let number = i16::try_from(narrow(*number)?).map_err(|_| mismatch(kind))?;
            out.put_i16(number);
        }
        (Scalar::Int4, Value::Int(number)) => out.put_i32(narrow(*number)?),
        (Scalar::Oid | Scalar::Regclass, Value::Int(number)) => {
            out.put_u32(u32::try_from(*number).map_err(|_| mismatch(kind))?);
        }
        (Scalar::Int8, Value::Int(number)) => out.put_i64(*number),
        (Scalar::Float4, Value::Float4(number)) => out.put_f32(*number),
        (Scalar::Float8, Value::Float4(number)) => out.put_f64(f64::from(*number)),
        (Scalar::Float8, Value::Float8(number)) => out.put_f64(*number),
        (
            Scalar::Numeric,
            Value::Numeric(_) | Value::Int(_) | Value::Float4(_) | Value::Float8(_),
        ) => {
            let text = text(value).unwrap_or_default();
            if !numeric::write(out, &text) {
                return Err(mismatch(kind));
            }
        }
        (Scalar::Bytea, Value::Bytes(bytes)) => out.put_slice(bytes),
        (Scalar::Date, Value::Date(days)) => out.put_i32(narrow(days - EPOCH_DAYS)?),
        (Scalar::Time, Value::Time(micros)) => out.put_i64(*micros),
        (
            Scalar::Timestamp | Scalar::Timestamptz,
            Value::Timestamp(micros) | Value::TimestampTz(micros),
        ) => {
            out.put_i64(micros.saturating_sub(EPOCH_DAYS * DAY));
        }
        (Scalar::Interval, Value::Interval { months, days, micros }) => {
            out.put_i64(*micros);
            out.put_i32(*days);
            out.put_i32(*months);
        }
        (Scalar::Uuid, Value::Text(text)) => {
            out.put_slice(&uuid(text).ok_or_else(|| mismatch(kind))?)
        }
        (Scalar::Jsonb, value) => {
            out.put_u8(1);
            out.put_slice(text(value).unwrap_or_default().as_bytes());
        }
        (
            Scalar::Text
            | Scalar::Varchar
            | Scalar::Bpchar
            | Scalar::Name
            | Scalar::Char
            | Scalar::Json
            | Scalar::Unknown,
            value,
        ) => out.put_slice(text(value).unwrap_or_default().as_bytes()),
        _ => return Err(mismatch(kind)),
    }
    Ok(())
}

fn binary_array(out: &mut BytesMut, elements: &[Value<'_>], kind: PgType) -> Result<(), SqlError> {
    let element = PgType::from(kind.scalar);
    let count = i32::try_from(elements.len()).map_err(|_| too_long())?;
    out.put_i32(i32::from(count > 0));
    out.put_i32(i32::from(elements.iter().any(|element| matches!(element, Value::Null))));
    out.put_u32(element.oid());
    if count > 0 {
        out.put_i32(count);
        out.put_i32(1);
    }
    elements.iter().try_for_each(|value| field(out, value, element, Format::Binary))
}

/// Returns the bytes of a UUID.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 || !digits.is_ascii() {
        return None;
    }
    Some(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::decode;

    #[track_caller]
    fn check(value: Value<'static>, kind: impl Into<PgType>, expected_text: &str, expected: &[u8]) {
        let kind = kind.into();
        assert_eq!(text(&value).unwrap(), expected_text);
        let mut out = BytesMut::new();
        field(&mut out, &value, kind, Format::Binary).unwrap();
        let length = u32::try_from(expected.len()).unwrap().to_be_bytes();
        assert_eq!(out[..], [&length[..], expected].concat());
        // What is sent can also be received.
        let read = decode::parameter(expected, kind, Format::Binary).unwrap();
        assert_eq!(text(&read).unwrap(), expected_text);
    }

    #[test]
    fn every_type_has_a_text_and_a_binary_form() {
        check(Value::Bool(true), Scalar::Bool, "t", &[1]);
        check(Value::Int(-2), Scalar::Int2, "-2", &[255, 254]);
        check(Value::Int(7), Scalar::Int4, "7", &[0, 0, 0, 7]);
        check(Value::Int(7), Scalar::Int8, "7", &[0, 0, 0, 0, 0, 0, 0, 7]);
        check(Value::Int(4_000_000_000), Scalar::Oid, "4000000000", &[238, 107, 40, 0]);
        check(Value::Float4(1.5), Scalar::Float4, "1.5", &[63, 192, 0, 0]);
        check(Value::Float8(1.5), Scalar::Float8, "1.5", &[63, 248, 0, 0, 0, 0, 0, 0]);
        check(
            Value::Numeric("1.50".into()),
            Scalar::Numeric,
            "1.50",
            &[0, 2, 0, 0, 0, 0, 0, 2, 0, 1, 19, 136],
        );
        for kind in [Scalar::Text, Scalar::Varchar, Scalar::Bpchar, Scalar::Name, Scalar::Json] {
            check(Value::Text("é".into()), kind, "é", &[195, 169]);
        }
        check(Value::Text("[1]".into()), Scalar::Jsonb, "[1]", b"\x01[1]");
        check(Value::Bytes(vec![0, 255].into()), Scalar::Bytea, "\\x00ff", &[0, 255]);
        check(Value::Date(0), Scalar::Date, "1970-01-01", &[255, 255, 213, 51]);
        check(Value::Date(EPOCH_DAYS + 1), Scalar::Date, "2000-01-02", &[0, 0, 0, 1]);
        check(Value::Time(1_000_000), Scalar::Time, "00:00:01", &[0, 0, 0, 0, 0, 15, 66, 64]);
        let at = EPOCH_DAYS * DAY + 1_000_000;
        check(
            Value::Timestamp(at),
            Scalar::Timestamp,
            "2000-01-01 00:00:01",
            &[0, 0, 0, 0, 0, 15, 66, 64],
        );
        check(
            Value::TimestampTz(at),
            Scalar::Timestamptz,
            "2000-01-01 00:00:01+00",
            &[0, 0, 0, 0, 0, 15, 66, 64],
        );
        let interval = Value::Interval { months: 1, days: 2, micros: 1_000_000 };
        check(
            interval,
            Scalar::Interval,
            "1 mon 2 days 00:00:01",
            &[0, 0, 0, 0, 0, 15, 66, 64, 0, 0, 0, 2, 0, 0, 0, 1],
        );
        let uuid = "00112233-4455-6677-8899-aabbccddeeff";
        let bytes: Vec<u8> = (0..16).map(|n| n * 17).collect();
        check(Value::Text(uuid.into()), Scalar::Uuid, uuid, &bytes);
    }

    #[test]
    fn arrays_have_nulls_and_quotes() {
        let array = Value::Array(vec![Value::Int(1), Value::Null]);
        let expected = [
            0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1,
            255, 255, 255, 255,
        ];
        check(array, PgType::array(Scalar::Int4), "{1,NULL}", &expected);
        check(
            Value::Array(vec![]),
            PgType::array(Scalar::Text),
            "{}",
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25],
        );
        let texts = ["a b", "", "null", "x\"y\\", "plain"].map(|text| Value::Text(text.into()));
        let array = Value::Array(texts.to_vec());
        assert_eq!(text(&array).unwrap(), r#"{"a b","","null","x\"y\\",plain}"#);
    }

    #[test]
    fn null_has_no_bytes_and_a_wrong_type_is_an_error() {
        let mut out = BytesMut::new();
        field(&mut out, &Value::Null, Scalar::Int4.into(), Format::Binary).unwrap();
        assert_eq!(out[..], [255; 4]);
        for (value, kind) in [
            (Value::Int(1 << 40), Scalar::Int4),
            (Value::Int(-1), Scalar::Oid),
            (Value::Text("x".into()), Scalar::Int8),
            (Value::Text("x".into()), Scalar::Uuid),
            (Value::Bool(true), Scalar::Date),
        ] {
            field(&mut out, &value, kind.into(), Format::Binary).unwrap_err();
        }
    }
}
