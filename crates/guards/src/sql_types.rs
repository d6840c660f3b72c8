//! SQL names of types, in place of those of DataFusion and Arrow, such as `Utf8View` and `Int64`.

use std::borrow::Cow;

use arrow::datatypes::{DataType, TimeUnit};

/// Returns the SQL name of a type, if it has one, or else Arrow's name.
#[must_use]
pub fn sql_type(data_type: &DataType) -> Cow<'static, str> {
    let name = match data_type {
        DataType::Null => "NULL",
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INT",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "TINYINT UNSIGNED",
        DataType::UInt16 => "SMALLINT UNSIGNED",
        DataType::UInt32 => "INT UNSIGNED",
        DataType::UInt64 => "BIGINT UNSIGNED",
        DataType::Float16 | DataType::Float32 => "REAL",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR",
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "BYTEA",
        DataType::Date32 | DataType::Date64 => "DATE",
        DataType::Time32(_) | DataType::Time64(_) => "TIME",
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL",
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => {
            return format!("DECIMAL({precision},{scale})").into();
        }
        DataType::Timestamp(unit, zone) => {
            let zone = if zone.is_some() { " WITH TIME ZONE" } else { "" };
            return format!("TIMESTAMP({}){zone}", digits(*unit)).into();
        }
        DataType::Dictionary(_, values) => return sql_type(values),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => {
            return format!("{}[]", sql_type(item.data_type())).into();
        }
        DataType::Struct(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|it| format!("{} {}", it.name(), sql_type(it.data_type())));
            return format!("STRUCT<{}>", fields.collect::<Vec<_>>().join(", ")).into();
        }
        other => return other.to_string().into(),
    };
    name.into()
}

/// Returns the number of decimals of a second in a unit.
fn digits(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Replaces type names in a text of DataFusion by SQL names, and literals by their SQL form: `sum(Utf8)` becomes
/// `sum(VARCHAR)`, and `Int64(1)` becomes `1`. Text in quotes is unchanged.
#[must_use]
pub fn readable(text: &str) -> Cow<'_, str> {
    let others = ["Timestamp(", "Time32(", "Time64(", "Interval", "Duration(", "Binary("];
    let names = NAMES.iter().map(|(name, _)| *name).chain(others);
    if !names.into_iter().any(|name| text.contains(name)) {
        return text.into();
    }
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            // Arrow quotes the type of a value that it cannot parse.
            '\'' if read.ends_with(" as type ") && quoted(rest) > 1 => {
                let length = quoted(rest);
                read.push('\'');
                read.push_str(&readable(&rest[1..length - 1]));
                read.push('\'');
                rest = &rest[length..];
                continue;
            }
            '`' | '"' | '\'' => quoted(rest),
            _ if is_of_word(first) => {
                let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
                if let Some((words, length)) = of_word(&rest[..end], &rest[end..]) {
                    read.push_str(&words);
                    rest = &rest[end + length..];
                    continue;
                }
                end
            }
            _ => first.len_utf8(),
        };
        read.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    read.into()
}

/// Names of types in texts.
static NAMES: [(&str, DataType); 18] = [
    ("Boolean", DataType::Boolean),
    ("Int8", DataType::Int8),
    ("Int16", DataType::Int16),
    ("Int32", DataType::Int32),
    ("Int64", DataType::Int64),
    ("UInt8", DataType::UInt8),
    ("UInt16", DataType::UInt16),
    ("UInt32", DataType::UInt32),
    ("UInt64", DataType::UInt64),
    ("Float16", DataType::Float16),
    ("Float32", DataType::Float32),
    ("Float64", DataType::Float64),
    ("Utf8", DataType::Utf8),
    ("LargeUtf8", DataType::Utf8),
    ("Utf8View", DataType::Utf8),
    ("Date32", DataType::Date32),
    ("Date64", DataType::Date64),
    // Decimals have their digits in the name.
    ("Decimal", DataType::Null),
];

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length in bytes of the quoted part at the beginning of a text; that of the quote alone if it does not
/// close.
fn quoted(text: &str) -> usize {
    let quote = text.chars().next().map_or(1, char::len_utf8);
    let end = text[quote..].find(&text[..quote]);
    end.map_or(quote, |end| quote + end + quote)
}

/// Returns the SQL form of a type name, or of a literal with the parentheses after it, and the number of bytes used
/// after the name.
fn of_word(word: &str, behind: &str) -> Option<(String, usize)> {
    let inner = behind.strip_prefix('(').and_then(|it| Some(&it[..closing(it)?]));
    let with_inner = |words: String| Some((words, inner.map_or(0, |inner| inner.len() + 2)));
    if word.starts_with("Decimal") && word["Decimal".len()..].parse::<u16>().is_ok() {
        let inner = inner?;
        let parts: Vec<&str> = inner.split([',', ' ']).filter(|it| !it.is_empty()).collect();
        return match parts.as_slice() {
            [precision, scale] if [precision, scale].iter().all(|it| it.parse::<i8>().is_ok()) => {
                with_inner(format!("DECIMAL({precision},{scale})"))
            }
            [value, _, scale] => {
                let value = value.strip_prefix("Some(")?.strip_suffix(')')?;
                with_inner(decimal(value, scale.parse().ok()?))
            }
            _ => None,
        };
    }
    if word == "Timestamp" {
        let (unit, zone) = inner?.split_once(',').map_or((inner?, false), |(unit, _)| (unit, true));
        let unit = match unit {
            "s" | "Second" => TimeUnit::Second,
            "ms" | "Millisecond" => TimeUnit::Millisecond,
            "µs" | "Microsecond" => TimeUnit::Microsecond,
            "ns" | "Nanosecond" => TimeUnit::Nanosecond,
            _ => return None,
        };
        let zone = zone && inner.is_some_and(|it| !it.ends_with("None"));
        let zone = zone.then(|| "+00:00".into());
        return with_inner(sql_type(&DataType::Timestamp(unit, zone)).into_owned());
    }
    if matches!(word, "Time32" | "Time64") {
        let is_unit = matches!(
            inner?,
            "s" | "ms" | "µs" | "ns" | "Second" | "Millisecond" | "Microsecond" | "Nanosecond"
        );
        return is_unit.then(|| ("TIME".to_owned(), inner.map_or(0, |inner| inner.len() + 2)));
    }
    let text = inner.and_then(|it| it.strip_prefix('"')?.strip_suffix('"'));
    if let Some(kind) = word.strip_prefix("Interval") {
        return match (kind, text) {
            ("", _) if inner.is_some() => with_inner("INTERVAL".to_owned()),
            (_, Some(text)) => with_inner(interval(text)?),
            _ => None,
        };
    }
    if word == "Duration" && inner.is_some() {
        return with_inner("INTERVAL".to_owned());
    }
    if ["Binary", "LargeBinary", "BinaryView", "FixedSizeBinary"].contains(&word) {
        let bytes = text?.split(',').map(|byte| byte.trim().parse::<u8>());
        let bytes = bytes.collect::<Result<Vec<u8>, _>>().ok()?;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        return with_inner(format!("X'{hex}'"));
    }
    let (_, data_type) = NAMES.iter().find(|(name, _)| *name == word && *name != "Decimal")?;
    match (inner, text) {
        (Some(_), Some(text)) if *data_type == DataType::Date32 => {
            with_inner(format!("DATE '{text}'"))
        }
        (Some(_), Some(text)) if *data_type == DataType::Utf8 => {
            with_inner(format!("'{}'", text.replace('\'', "''")))
        }
        (Some(value), _) if is_value(value) => with_inner(value.to_owned()),
        _ => Some((sql_type(data_type).into_owned(), 0)),
    }
}

/// Formats an interval of Arrow, `IntervalMonthDayNano { months: 14, days: 0, nanoseconds: 500000000 }`, in SQL.
fn interval(text: &str) -> Option<String> {
    const UNITS: [(&str, i64); 3] =
        [("hour", 3_600_000_000_000), ("minute", 60_000_000_000), ("second", 1_000_000_000)];
    let (mut months, mut days, mut nanos) = (text.parse().unwrap_or(0_i64), 0_i64, 0_i64);
    let parts = match months {
        0 => text.strip_suffix('}')?.split_once('{')?.1,
        _ => "",
    };
    for part in parts.split(',').filter(|part| !part.is_empty()) {
        let (name, count) = part.split_once(':')?;
        let count: i64 = count.trim().parse().ok()?;
        match name.trim() {
            "months" => months = count,
            "days" => days = count,
            "milliseconds" => nanos = count.checked_mul(1_000_000)?,
            "nanoseconds" => nanos = count,
            _ => return None,
        }
    }
    let mut counts = vec![(months / 12, "year"), (months % 12, "month"), (days, "day")];
    for (unit, of) in UNITS {
        counts.push((nanos / of, unit));
        nanos %= of;
    }
    if nanos != 0 {
        // Decimals of a second have the sign of the seconds.
        let (seconds, unit) = counts.pop()?;
        let sign = if nanos < 0 { "-" } else { "" };
        let fraction = format!("{:09}", nanos.unsigned_abs());
        let fraction = fraction.trim_end_matches('0');
        let seconds = format!("{sign}{}.{fraction} {unit}s", seconds.unsigned_abs());
        let mut words = words(&counts);
        words.push(seconds);
        return Some(format!("INTERVAL '{}'", words.join(" ")));
    }
    let words = words(&counts);
    Some(match words.is_empty() {
        true => "INTERVAL '0 days'".to_owned(),
        false => format!("INTERVAL '{}'", words.join(" ")),
    })
}

/// Formats the counts of units that are not zero.
fn words(counts: &[(i64, &str)]) -> Vec<String> {
    let counts = counts.iter().filter(|(count, _)| *count != 0);
    let words = counts.map(|(count, unit)| {
        let plural = if count.abs() == 1 { "" } else { "s" };
        format!("{count} {unit}{plural}")
    });
    words.collect()
}

/// Returns whether the text after the name of a type makes it a literal.
fn is_value(text: &str) -> bool {
    ["NULL", "true", "false"].contains(&text) || text.parse::<f64>().is_ok()
}

/// Returns the index of the parenthesis that closes one before the text.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(next) = text[at..].chars().next() {
        match next {
            '"' => {
                at += quoted(&text[at..]);
                continue;
            }
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
        at += next.len_utf8();
    }
    None
}

/// Formats a number with this many digits after its point.
fn decimal(digits: &str, scale: usize) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, places) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{places}")
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Field;

    use super::*;

    #[test]
    fn types_have_names_of_sql() {
        let item = |data_type| Field::new("item", data_type, true).into();
        for (data_type, expected) in [
            (DataType::Utf8View, "VARCHAR"),
            (DataType::Decimal128(15, 2), "DECIMAL(15,2)"),
            (DataType::Timestamp(TimeUnit::Microsecond, None), "TIMESTAMP(6)"),
            (
                DataType::Timestamp(TimeUnit::Second, Some("+00:00".into())),
                "TIMESTAMP(0) WITH TIME ZONE",
            ),
            (DataType::List(item(DataType::Int64)), "BIGINT[]"),
            (
                DataType::Struct(vec![Field::new("a", DataType::Date32, true)].into()),
                "STRUCT<a DATE>",
            ),
            (DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into()), "VARCHAR"),
        ] {
            assert_eq!(sql_type(&data_type), expected);
        }
    }

    #[test]
    fn texts_are_as_one_types_them() {
        for (text, expected) in [
            ("there is no sum(Utf8)", "there is no sum(VARCHAR)"),
            ("$1 + Int64(1)", "$1 + 1"),
            ("a = Utf8(\"it's\")", "a = 'it''s'"),
            ("Int64(NULL), Boolean(true), Float64(1.5e3)", "NULL, true, 1.5e3"),
            ("Decimal128(Some(-115),3,2) and Decimal128(15, 2)", "-1.15 and DECIMAL(15,2)"),
            ("Decimal128(Some(5),3,2)", "0.05"),
            (
                "a + IntervalMonthDayNano(\"IntervalMonthDayNano { months: 14, days: -1, nanoseconds: \
                 7200500000000 }\")",
                "a + INTERVAL '1 year 2 months -1 day 2 hours 0.5 seconds'",
            ),
            (
                "IntervalDayTime(\"IntervalDayTime { days: 0, milliseconds: 0 }\")",
                "INTERVAL '0 days'",
            ),
            ("IntervalYearMonth(\"12\")", "INTERVAL '1 year'"),
            ("Interval(MonthDayNano) * Duration(ns)", "INTERVAL * INTERVAL"),
            ("Binary(\"0,255\") and Date32(\"2024-01-01\")", "X'00ff' and DATE '2024-01-01'"),
            (
                "Timestamp(ns) - Timestamp(µs, \"+00:00\")",
                "TIMESTAMP(9) - TIMESTAMP(6) WITH TIME ZONE",
            ),
            ("column `Int64` or \"Utf8\" or 'Date32'", "column `Int64` or \"Utf8\" or 'Date32'"),
            ("CAST(a AS Int64), MyInt64, Int64x", "CAST(a AS BIGINT), MyInt64, Int64x"),
            ("it isn't Utf8View", "it isn't VARCHAR"),
            ("value 'Int64' as type 'Int64' for", "value 'Int64' as type 'BIGINT' for"),
            ("Int64(", "BIGINT("),
        ] {
            assert_eq!(readable(text), expected);
        }
    }
}
