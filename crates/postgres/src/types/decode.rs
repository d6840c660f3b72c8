//! The parameters of clients.

use std::borrow::Cow;

use crate::error::{SqlError, state};
use crate::types::calendar::{DAY, EPOCH_DAYS};
use crate::types::{Format, PgType, Scalar, Value, numeric};

/// The most elements that an array may have as a parameter.
const MOST_ELEMENTS: usize = 100_000;

/// Reads a parameter.
///
/// # Errors
///
/// If the bytes are no value of the type.
pub fn parameter(bytes: &[u8], kind: PgType, format: Format) -> Result<Value<'static>, SqlError> {
    match format {
        Format::Text => {
            let text = utf8(bytes)?;
            if kind.is_array {
                return array_text(text, kind);
            }
            of_text(text, kind)
        }
        Format::Binary => match kind.is_array {
            true => array(bytes, kind).ok_or_else(|| wrong(kind))?,
            false => scalar(bytes, kind)?.ok_or_else(|| wrong(kind)),
        },
    }
}

fn wrong(kind: PgType) -> SqlError {
    let message = format!("the bytes of a parameter are no value of the type {}", kind.sql());
    SqlError::new(state::INVALID_BINARY, message)
}

fn utf8(bytes: &[u8]) -> Result<&str, SqlError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(SqlError::new(state::INVALID_ENCODING, "a parameter is not valid UTF-8")),
    }
}

/// Reads a scalar from text. Most types stay text, which the engine converts; it would not understand the others.
fn of_text(text: &str, kind: PgType) -> Result<Value<'static>, SqlError> {
    let invalid = || {
        let message = format!("`{text}` is no value of the type {}", kind.sql());
        SqlError::new(state::INVALID_TEXT, message)
    };
    Ok(match kind.scalar {
        Scalar::Bool => match text.trim().to_ascii_lowercase().as_str() {
            "t" | "true" | "yes" | "y" | "on" | "1" => Value::Bool(true),
            "f" | "false" | "no" | "n" | "off" | "0" => Value::Bool(false),
            _ => return Err(invalid()),
        },
        Scalar::Int2 | Scalar::Int4 | Scalar::Int8 | Scalar::Oid => {
            Value::Int(text.trim().parse().map_err(|_| invalid())?)
        }
        Scalar::Bytea => Value::Bytes(bytea(text).ok_or_else(invalid)?.into()),
        _ => Value::Text(Cow::Owned(text.to_owned())),
    })
}

/// Reads bytes from `\x00ff`, or from text with escapes such as `\000`.
fn bytea(text: &str) -> Option<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x") {
        let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let pairs = digits.chunks(2).map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        });
        return pairs.collect();
    }
    let mut bytes = text.bytes();
    let mut read = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            read.push(byte);
            continue;
        }
        match bytes.next()? {
            b'\\' => read.push(b'\\'),
            first => {
                let digits = [first, bytes.next()?, bytes.next()?];
                let digits = std::str::from_utf8(&digits).ok()?;
                read.push(u8::from_str_radix(digits, 8).ok()?);
            }
        }
    }
    Some(read)
}

/// Reads a scalar from its binary form; `None` if the bytes are of no such value.
fn scalar(bytes: &[u8], kind: PgType) -> Result<Option<Value<'static>>, SqlError> {
    let eight = || bytes.try_into().ok().map(i64::from_be_bytes);
    let four = || bytes.try_into().ok().map(i32::from_be_bytes);
    let stamp = || eight().map(|micros| micros.saturating_add(EPOCH_DAYS * DAY));
    Ok(match kind.scalar {
        Scalar::Bool => match bytes {
            [byte] => Some(Value::Bool(*byte != 0)),
            _ => None,
        },
        Scalar::Int2 => bytes.try_into().ok().map(|it| Value::Int(i16::from_be_bytes(it).into())),
        Scalar::Int4 => four().map(|number| Value::Int(number.into())),
        Scalar::Int8 => eight().map(Value::Int),
        Scalar::Oid | Scalar::Regclass => {
            bytes.try_into().ok().map(|it| Value::Int(u32::from_be_bytes(it).into()))
        }
        Scalar::Float4 => bytes.try_into().ok().map(|it| Value::Float4(f32::from_be_bytes(it))),
        Scalar::Float8 => bytes.try_into().ok().map(|it| Value::Float8(f64::from_be_bytes(it))),
        Scalar::Numeric => numeric::read(bytes).map(|text| Value::Numeric(text.into())),
        Scalar::Bytea => Some(Value::Bytes(bytes.to_vec().into())),
        Scalar::Date => four().map(|days| Value::Date(i64::from(days) + EPOCH_DAYS)),
        Scalar::Time => eight().filter(|it| (0..=DAY).contains(it)).map(Value::Time),
        Scalar::Timestamp => stamp().map(Value::Timestamp),
        Scalar::Timestamptz => stamp().map(Value::TimestampTz),
        Scalar::Interval => match bytes.split_first_chunk::<8>() {
            Some((micros, rest)) if rest.len() == 8 => {
                let number = |at: usize| rest[at..at + 4].try_into().map_or(0, i32::from_be_bytes);
                let micros = i64::from_be_bytes(*micros);
                Some(Value::Interval { months: number(4), days: number(0), micros })
            }
            _ => None,
        },
        Scalar::Uuid => bytes.try_into().ok().map(|it| {
            let digits = format!("{:032x}", u128::from_be_bytes(it));
            let parts =
                [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
            Value::Text(parts.join("-").into())
        }),
        Scalar::Jsonb => match bytes.split_first() {
            Some((1, text)) => Some(Value::Text(utf8(text)?.to_owned().into())),
            _ => None,
        },
        Scalar::Text
        | Scalar::Varchar
        | Scalar::Bpchar
        | Scalar::Name
        | Scalar::Char
        | Scalar::Json
        | Scalar::Unknown => Some(Value::Text(utf8(bytes)?.to_owned().into())),
    })
}

/// Reads an array of one dimension from its binary form.
fn array(bytes: &[u8], kind: PgType) -> Option<Result<Value<'static>, SqlError>> {
    let number = |at: usize| Some(i32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (dimensions, element) = (number(0)?, PgType::from_oid(u32::try_from(number(8)?).ok()?)?);
    if element != PgType::from(kind.scalar) {
        return None;
    }
    if dimensions == 0 {
        return Some(Ok(Value::Array(Vec::new())));
    }
    let count = usize::try_from(number(12)?).ok()?;
    // Each element has at least its length.
    if dimensions != 1 || count > bytes.len() / 4 {
        return None;
    }
    let (mut at, mut elements) = (20, Vec::with_capacity(count.min(1024)));
    for _ in 0..count {
        let length = number(at)?;
        at += 4;
        let Ok(length) = usize::try_from(length) else {
            elements.push(Value::Null);
            continue;
        };
        let read = scalar(bytes.get(at..at.checked_add(length)?)?, element);
        match read {
            Ok(value) => elements.push(value?),
            Err(error) => return Some(Err(error)),
        }
        at += length;
    }
    (at == bytes.len()).then_some(Ok(Value::Array(elements)))
}

/// Reads an array of one dimension from text, such as `{1,NULL,"a b"}`.
fn array_text(text: &str, kind: PgType) -> Result<Value<'static>, SqlError> {
    let invalid = || {
        let message = format!("`{text}` is no array of one dimension of the type {}", kind.sql());
        SqlError::new(state::INVALID_TEXT, message)
    };
    let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.ok_or_else(invalid)?;
    let element = PgType::from(kind.scalar);
    let mut elements = Vec::new();
    if inner.trim().is_empty() {
        return Ok(Value::Array(elements));
    }
    let mut chars = inner.chars().peekable();
    loop {
        if elements.len() == MOST_ELEMENTS {
            return Err(SqlError::new(state::PROGRAM_LIMIT, "an array has too many elements"));
        }
        let (mut word, mut is_quoted) = (String::new(), false);
        loop {
            match chars.next() {
                None | Some(',') => break,
                Some('"') => {
                    is_quoted = true;
                    loop {
                        match chars.next().ok_or_else(invalid)? {
                            '"' => break,
                            '\\' => word.push(chars.next().ok_or_else(invalid)?),
                            c => word.push(c),
                        }
                    }
                }
                Some('\\') => word.push(chars.next().ok_or_else(invalid)?),
                Some('{' | '}') => return Err(invalid()),
                Some(c) if c.is_whitespace() && (word.is_empty() || is_quoted) => {}
                Some(c) => word.push(c),
            }
            if chars.peek().is_none() {
                break;
            }
        }
        elements.push(match word.trim_end() {
            word if !is_quoted && word.eq_ignore_ascii_case("null") => Value::Null,
            trimmed if !is_quoted => of_text(trimmed, element)?,
            _ => of_text(&word, element)?,
        });
        if chars.peek().is_none() {
            return Ok(Value::Array(elements));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::TYPES;
    use crate::types::encode::text;

    fn read(text: &str, kind: impl Into<PgType>) -> Result<Value<'static>, SqlError> {
        parameter(text.as_bytes(), kind.into(), Format::Text)
    }

    #[test]
    fn texts_become_values() {
        assert_eq!(read("on", Scalar::Bool).unwrap(), Value::Bool(true));
        assert_eq!(read(" 42 ", Scalar::Int4).unwrap(), Value::Int(42));
        assert_eq!(read("\\x00fF", Scalar::Bytea).unwrap(), Value::Bytes(vec![0, 255].into()));
        assert_eq!(
            read("a\\\\\\001", Scalar::Bytea).unwrap(),
            Value::Bytes(b"a\\\x01".to_vec().into())
        );
        assert_eq!(read("2000-01-01", Scalar::Date).unwrap(), Value::Text("2000-01-01".into()));
        for (wrong, kind) in
            [("maybe", Scalar::Bool), ("1.5", Scalar::Int8), ("\\x0", Scalar::Bytea)]
        {
            assert_eq!(read(wrong, kind).unwrap_err().code, state::INVALID_TEXT);
        }
        let error = parameter(&[255], Scalar::Text.into(), Format::Text).unwrap_err();
        assert_eq!(error.code, state::INVALID_ENCODING);
    }

    #[test]
    fn arrays_are_read_as_they_are_written() {
        let array = r#"{"a b","","null",NULL,"x\"y\\",plain}"#;
        let value = read(array, PgType::array(Scalar::Text)).unwrap();
        assert_eq!(text(&value).unwrap(), array);
        let value = read("{ 1, 2 ,NULL}", PgType::array(Scalar::Int8)).unwrap();
        assert_eq!(value, Value::Array(vec![Value::Int(1), Value::Int(2), Value::Null]));
        for wrong in ["1,2", "{1", "{{1},{2}}", "{\"a}"] {
            read(wrong, PgType::array(Scalar::Text)).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64), which in 0..TYPES.len(), is_array: bool) {
            let kind = PgType { scalar: TYPES[which].scalar, is_array };
            for format in [Format::Text, Format::Binary] {
                let _ = parameter(&bytes, kind, format);
            }
        }

        #[test]
        fn any_array_is_read_or_refused(array in "[{}\",\\\\a0 N]{0,30}") {
            let _ = read(&array, PgType::array(Scalar::Text));
        }
    }
}
