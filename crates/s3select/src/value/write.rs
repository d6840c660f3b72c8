//! Writes values as text, for answers and for CAST to `string`.

use std::io::Write as _;

use super::{Value, write_int};

impl Value {
    /// Appends the value's text as in a CSV answer, without quoting: nothing for NULL and MISSING, JSON for lists and
    /// structs.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Missing | Self::Null => {}
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Int(int) => write_int(*int, out),
            Self::Float(float) => write_float(*float, out),
            Self::Decimal(decimal) => decimal.write(out),
            Self::String(text) => out.extend_from_slice(text.as_bytes()),
            Self::Timestamp(time) => time.write(out),
            Self::List(_) | Self::Struct(_) => self.write_json(out),
        }
    }

    /// Appends the value as JSON. Timestamps become strings; NaN and the infinities become null. A MISSING field of a
    /// struct is left out; a MISSING element of a list is null.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Missing | Self::Null => out.extend_from_slice(b"null"),
            Self::Float(float) if !float.is_finite() => out.extend_from_slice(b"null"),
            Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Decimal(_) => self.write(out),
            Self::String(text) => write_json_string(text.as_bytes(), out),
            Self::Timestamp(time) => {
                out.push(b'"');
                time.write(out);
                out.push(b'"');
            }
            Self::List(values) => {
                out.push(b'[');
                for (i, value) in values.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    value.write_json(out);
                }
                out.push(b']');
            }
            Self::Struct(fields) => {
                out.push(b'{');
                let fields = fields.iter().filter(|(_, value)| !matches!(value, Self::Missing));
                for (i, (name, value)) in fields.enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    write_json_string(name.as_bytes(), out);
                    out.push(b':');
                    value.write_json(out);
                }
                out.push(b'}');
            }
        }
    }
}

/// Appends the shortest text that reads back as the same float: `0.1`, `1.0`, `1e30`, `NaN`,
/// `-NaN`, `inf`.
pub fn write_float(float: f64, out: &mut Vec<u8>) {
    if float.is_nan() && float.is_sign_negative() {
        out.push(b'-');
    }
    // Writing to memory cannot fail.
    let _ = write!(out, "{float:?}");
}

/// Appends text as a JSON string with its quotes.
pub fn write_json_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut clean = 0;
    for (i, &byte) in text.iter().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text[clean..i]);
        clean = i + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
    }
    out.extend_from_slice(&text[clean..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::super::{Decimal, Timestamp};
    use super::*;

    #[track_caller]
    fn check(value: Value, text: &str, json: &str) {
        let (mut plain, mut out) = (Vec::new(), Vec::new());
        value.write(&mut plain);
        value.write_json(&mut out);
        assert_eq!(String::from_utf8(plain).unwrap(), text);
        assert_eq!(String::from_utf8(out).unwrap(), json);
    }

    #[test]
    fn every_type_has_its_text() {
        check(Value::Missing, "", "null");
        check(Value::Null, "", "null");
        check(Value::Bool(true), "true", "true");
        check(Value::Int(i64::MIN), "-9223372036854775808", "-9223372036854775808");
        check(Value::Float(0.1), "0.1", "0.1");
        check(Value::Float(1.0), "1.0", "1.0");
        check(Value::Float(1e30), "1e30", "1e30");
        check(Value::Float(f64::NAN), "NaN", "null");
        check(Value::Float(-f64::NAN), "-NaN", "null");
        check(Value::Float(f64::NEG_INFINITY), "-inf", "null");
        check(Value::Decimal(Decimal::new(-1250, 2).unwrap()), "-12.50", "-12.50");
        check(Value::String("a\"b\\\n\u{1}é".into()), "a\"b\\\n\u{1}é", r#""a\"b\\\n\u0001é""#);
        let time = Timestamp::parse(b"2010T").unwrap();
        check(Value::Timestamp(time), "2010T", "\"2010T\"");
    }

    #[test]
    fn nested_values_are_json() {
        let fields = [
            ("a".into(), Value::List([Value::Int(1), Value::Missing, Value::Null].into())),
            ("b".into(), Value::Missing),
            ("c".into(), Value::Struct([].into())),
        ];
        let value = Value::Struct(fields.into());
        check(value, r#"{"a":[1,null,null],"c":{}}"#, r#"{"a":[1,null,null],"c":{}}"#);
    }
}
