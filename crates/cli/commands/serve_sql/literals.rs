//! Parameters as literals of SQL.
//!
//! The engine plans statements with the values of their parameters, so that it can prune files and push conditions
//! down as for a statement that has them in its text.

use std::collections::{BTreeMap, BTreeSet};

use sluicegate_postgres::lex::TokenKind;
use sluicegate_postgres::types::{decode, encode};
use sluicegate_postgres::{Format, Parameter, PgType, Scalar, SqlError, Value, lex, state};

/// The most digits of a decimal number.
const MOST_DIGITS: usize = 76;

/// Replaces the parameters of a statement by literals.
///
/// # Errors
///
/// If a parameter is missing, or its value has no literal.
pub(super) fn bound(sql: &str, parameters: &[Parameter]) -> Result<String, SqlError> {
    if parameters.is_empty() {
        // `$1` in a PREPARE is the engine's.
        return Ok(sql.to_owned());
    }
    let literals = parameters
        .iter()
        .map(|parameter| literal(&parameter.value, parameter.kind))
        .collect::<Result<Vec<_>, _>>()?;
    let missing = lex::highest_parameter(sql);
    if missing > literals.len() {
        return Err(SqlError::new(
            state::UNDEFINED_PARAMETER,
            format!("the parameter ${missing} has no value"),
        ));
    }
    let lists = lists(sql);
    let mut arrays = BTreeMap::new();
    for number in lists {
        if let Some(Parameter { kind, value: Value::Text(text) }) = parameters.get(number - 1)
            && !kind.is_array
            && text.starts_with('{')
        {
            let kind = PgType::array(Scalar::Text);
            let value = decode::parameter(text.as_bytes(), kind, Format::Text)?;
            arrays.insert(number, literal(&value, kind)?);
        }
    }
    Ok(lex::with_parameters(sql, |number| {
        let number = usize::from(number);
        arrays.get(&number).or_else(|| literals.get(number - 1)).cloned()
    }))
}

/// Returns the parameters that are lists by their place, as in `ANY($1)`. Clients send such a list as a text of
/// unknown type.
fn lists(sql: &str) -> BTreeSet<usize> {
    let words: Vec<_> = lex::words(sql).collect();
    let lists = words.windows(4).filter_map(|words| match words {
        [any, open, parameter, close]
            if ["ANY", "ALL", "SOME"].iter().any(|word| any.is(word))
                && (open.text, close.text) == ("(", ")") =>
        {
            match parameter.kind {
                TokenKind::Parameter(number) => Some(usize::from(number)),
                _ => None,
            }
        }
        _ => None,
    });
    lists.collect()
}

/// Replaces the parameters of known types by NULL of their type; the others stay.
pub(super) fn typed(sql: &str, types: &[Option<PgType>]) -> String {
    lex::with_parameters(sql, |number| {
        let kind = types.get(usize::from(number) - 1).copied().flatten()?;
        Some(null(kind))
    })
}

/// Replaces all parameters by NULL.
pub(super) fn untyped(sql: &str) -> String {
    lex::with_parameters(sql, |_| Some("NULL".to_owned()))
}

fn null(kind: PgType) -> String {
    if kind == Scalar::Timestamptz.into() {
        return zoned("NULL");
    }
    match (kind.is_array, name(kind.scalar)) {
        (false, Some(name)) => format!("CAST(NULL AS {name})"),
        _ => "NULL".to_owned(),
    }
}

/// Returns a time with a time zone. The engine's TIMESTAMP WITH TIME ZONE has none, unless a setting names it.
fn zoned(text: &str) -> String {
    format!("arrow_cast({text}, 'Timestamp(Microsecond, Some(\"UTC\"))')")
}

/// Returns the engine's name of a type; `None` for texts of any kind.
const fn name(scalar: Scalar) -> Option<&'static str> {
    Some(match scalar {
        Scalar::Bool => "BOOLEAN",
        Scalar::Bytea => "BYTEA",
        Scalar::Int2 => "SMALLINT",
        Scalar::Int4 => "INT",
        Scalar::Int8 | Scalar::Oid | Scalar::Regclass => "BIGINT",
        Scalar::Float4 => "REAL",
        Scalar::Float8 => "DOUBLE",
        Scalar::Numeric => "DECIMAL(38, 10)",
        Scalar::Date => "DATE",
        Scalar::Time => "TIME",
        Scalar::Timestamp => "TIMESTAMP",
        Scalar::Interval => "INTERVAL",
        Scalar::Char | Scalar::Name | Scalar::Text | Scalar::Bpchar | Scalar::Varchar => "VARCHAR",
        Scalar::Timestamptz | Scalar::Json | Scalar::Jsonb | Scalar::Uuid | Scalar::Unknown => {
            return None;
        }
    })
}

/// Returns the literal of a value.
///
/// # Errors
///
/// If the value has none.
pub(super) fn literal(value: &Value<'_>, kind: PgType) -> Result<String, SqlError> {
    if let Value::Array(elements) = value {
        let element = PgType::from(kind.scalar);
        let literals =
            elements.iter().map(|value| literal(value, element)).collect::<Result<Vec<_>, _>>()?;
        return Ok(format!("make_array({})", literals.join(", ")));
    }
    let text = encode::text(value).unwrap_or_default();
    let text = match kind.scalar {
        // Drivers add a time zone to dates, which have none: `1998-09-02 +00`.
        Scalar::Date => text.split_whitespace().next().unwrap_or_default().to_owned(),
        Scalar::Time | Scalar::Timestamp => without_zone(&text).to_owned(),
        _ => text.into_owned(),
    };
    let cast = |name: &str| format!("CAST({} AS {name})", quoted(&text));
    Ok(match (value, kind.scalar) {
        (Value::Null, _) => null(kind),
        (Value::Bool(value), _) => value.to_string().to_uppercase(),
        (Value::Int(i64::MIN), _) => cast("BIGINT"),
        (Value::Int(number @ ..0), _) => format!("({number})"),
        (Value::Int(number), _) => number.to_string(),
        (Value::Bytes(bytes), _) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("X'{digits}'")
        }
        (Value::Interval { months, days, micros }, _) => {
            let (sign, micros) = (if *micros < 0 { "-" } else { "" }, micros.unsigned_abs());
            let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
            format!("INTERVAL '{months} months {days} days {sign}{seconds}.{rest:06} seconds'")
        }
        (_, Scalar::Timestamptz) => zoned(&quoted(&text)),
        (_, Scalar::Interval) => format!("INTERVAL {}", quoted(&text)),
        (_, Scalar::Numeric) => decimal(&text)?,
        (_, Scalar::Text | Scalar::Varchar | Scalar::Bpchar | Scalar::Name | Scalar::Char) => {
            quoted(&text)
        }
        (_, scalar) => match name(scalar) {
            Some(name) => cast(name),
            None => quoted(&text),
        },
    })
}

/// Returns a time without its zone, which types without time zone ignore.
fn without_zone(text: &str) -> &str {
    let Some(colon) = text.find(':') else { return text };
    let end = text[colon..].find(['+', '-', 'Z']).map_or(text.len(), |at| colon + at);
    text[..end].trim_end()
}

fn decimal(text: &str) -> Result<String, SqlError> {
    let text = text.trim();
    let digits = text.trim_start_matches(['-', '+']);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) || whole.len() + fraction.len() == 0 {
        // Exponents, NaN and infinity.
        return match text.parse::<f64>() {
            Ok(_) => Ok(format!("CAST({} AS DOUBLE)", quoted(text))),
            Err(_) => Err(SqlError::new(
                state::INVALID_TEXT,
                format!("`{text}` is no value of the type numeric"),
            )),
        };
    }
    let whole = whole.trim_start_matches('0');
    let precision = (whole.len() + fraction.len()).max(1);
    if precision > MOST_DIGITS {
        return Err(SqlError::new(
            state::NUMERIC_OUT_OF_RANGE,
            format!("a decimal number has at most {MOST_DIGITS} digits, and {precision} were sent"),
        ));
    }
    Ok(format!("CAST('{text}' AS DECIMAL({precision}, {}))", fraction.len()))
}

/// Quotes a text. Backslashes are no escapes in the engine's literals.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: Value<'static>, kind: impl Into<PgType>, expected: &str) {
        let parameter = Parameter { kind: kind.into(), value };
        assert_eq!(bound("$1", &[parameter]).unwrap(), expected);
    }

    #[test]
    fn every_value_has_a_literal() {
        check(Value::Null, Scalar::Int4, "CAST(NULL AS INT)");
        check(Value::Null, Scalar::Unknown, "NULL");
        check(Value::Bool(true), Scalar::Bool, "TRUE");
        check(Value::Int(-5), Scalar::Int8, "(-5)");
        check(Value::Int(i64::MIN), Scalar::Int8, "CAST('-9223372036854775808' AS BIGINT)");
        check(Value::Float8(1.5), Scalar::Float8, "CAST('1.5' AS DOUBLE)");
        check(Value::Text("it's \\".into()), Scalar::Text, "'it''s \\'");
        check(Value::Text("1998-09-02".into()), Scalar::Date, "CAST('1998-09-02' AS DATE)");
        check(Value::Text("1998-09-02 +00".into()), Scalar::Date, "CAST('1998-09-02' AS DATE)");
        let zoned = Value::Text("2000-01-02 03:04:05.6+01".into());
        check(zoned, Scalar::Timestamp, "CAST('2000-01-02 03:04:05.6' AS TIMESTAMP)");
        let utc = "arrow_cast('1970-01-01 00:00:01+00', 'Timestamp(Microsecond, Some(\"UTC\"))')";
        check(Value::TimestampTz(1_000_000), Scalar::Timestamptz, utc);
        check(Value::Date(0), Scalar::Date, "CAST('1970-01-01' AS DATE)");
        check(Value::Bytes(vec![0, 255].into()), Scalar::Bytea, "X'00ff'");
        check(Value::Numeric("-01.50".into()), Scalar::Numeric, "CAST('-01.50' AS DECIMAL(3, 2))");
        check(Value::Text("1e5".into()), Scalar::Numeric, "CAST('1e5' AS DOUBLE)");
        let interval = Value::Interval { months: 1, days: 2, micros: -1_500_000 };
        check(interval, Scalar::Interval, "INTERVAL '1 months 2 days -1.500000 seconds'");
        let array = Value::Array(vec![Value::Int(1), Value::Null]);
        check(array, PgType::array(Scalar::Int4), "make_array(1, CAST(NULL AS INT))");
    }

    #[test]
    fn a_text_is_a_list_where_a_list_belongs() {
        let value = Value::Text(r#"{a,"b'c"}"#.into());
        let parameter = Parameter { kind: Scalar::Text.into(), value };
        let text = Parameter { kind: Scalar::Text.into(), value: Value::Text("{b}".into()) };
        let sql = bound("a = ANY ( $1 ) OR b = $2", &[parameter, text]).unwrap();
        assert_eq!(sql, "a = ANY ( make_array('a', 'b''c') ) OR b = '{b}'");
    }

    #[test]
    fn a_text_cannot_leave_its_quotes() {
        for text in ["'; DROP TABLE t; --", "\\'", "''", "$1", "/*", "a\nb"] {
            let parameter =
                Parameter { kind: Scalar::Text.into(), value: Value::Text(text.into()) };
            let sql = bound("SELECT $1, '$1'", &[parameter]).unwrap();
            let words: Vec<_> = lex::words(&sql).collect();
            assert_eq!(words.len(), 4, "{sql}");
            assert_eq!(words[1].unquoted(), text);
        }
    }

    #[test]
    fn missing_and_impossible_parameters_are_errors() {
        bound("SELECT $2", &[Parameter { kind: Scalar::Int4.into(), value: Value::Int(1) }])
            .unwrap_err();
        for wrong in ["abc", "", "1'2", &"9".repeat(77)] {
            let value = Value::Text(wrong.to_owned().into());
            bound("$1", &[Parameter { kind: Scalar::Numeric.into(), value }]).unwrap_err();
        }
        assert_eq!(typed("$1 $2", &[Some(Scalar::Date.into()), None]), "CAST(NULL AS DATE) $2");
        assert_eq!(untyped("$1 '$2'"), "NULL '$2'");
    }
}
