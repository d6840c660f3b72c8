//! Values that a type cannot hold, and texts that are not in the format of a type.

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::description::description;

const OTHER_FORMS: &str = "to_timestamp('31.01.2024 10:00', '%d.%m.%Y %H:%M') reads other forms";
const TRY: &str = "If it is a value of a column, TRY_CAST(x AS …) gives NULL for it.";

/// Rewords an error about a value. The name of the value's file, `…, in /data/t.csv`, is kept.
pub(in crate::context::error) fn of_value(text: &str) -> Option<Description> {
    let (text, place) = match text.rfind(", in ") {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    if let Some(zone) = time_zone(text) {
        return Some(zone);
    }
    let text = ["Parser error: ", "Invalid argument error: ", "Compute error: "]
        .iter()
        .find_map(|class| text.strip_prefix(class))
        .unwrap_or(text);
    let (message, hint) = decimal(text)
        .or_else(|| interval(text))
        .or_else(|| timestamp(text))
        .or_else(|| date(text))
        .or_else(|| format(text))
        .or_else(|| undefined(text))?;
    Some(description(ErrorKind::Data, message + place, hint))
}

/// Rewords `1234.57 is too large to store in a Decimal128 of precision 5. Max is 999.99`.
fn decimal(text: &str) -> Option<(String, String)> {
    let (number, rest) = text.split_once(" is too ")?;
    let (_, rest) = rest.split_once(" to store in a Decimal")?;
    let (_, rest) = rest.split_once(" of precision ")?;
    let (precision, bound) = rest.split_once(". M")?;
    let (_, bound) = bound.split_once(" is ")?;
    let scale = bound.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let wider: u8 = precision.parse::<u8>().ok()?.saturating_add(5).min(38);
    Some((
        format!("the number {number} has more digits than DECIMAL({precision},{scale})"),
        format!(
            "Take a wider type, such as DECIMAL({wider},{scale}); or TRY_CAST, which gives NULL."
        ),
    ))
}

/// Rewords `Invalid input syntax for type interval: "1 dya"`.
fn interval(text: &str) -> Option<(String, String)> {
    let rest = text.strip_prefix("Invalid input syntax for type interval: \"")?;
    let value = rest.strip_suffix('"').unwrap_or(rest);
    Some((
        format!("the text '{value}' is no INTERVAL"),
        "An interval is written as '1 day', '2 hours 30 minutes' or '1 year 2 months'.".to_owned(),
    ))
}

/// Rewords `Error parsing timestamp from '31/01/2024': error parsing date`, with or without `using format
/// '%d.%m.%Y'`.
fn timestamp(text: &str) -> Option<(String, String)> {
    let rest = text.strip_prefix("Error parsing timestamp from '")?;
    if let Some((value, rest)) = rest.split_once("' using format '") {
        let (format, reason) = rest.rsplit_once("': ")?;
        return Some((
            format!("the text '{value}' is not in the format '{format}': {reason}"),
            "Formats are those of strftime: '%d.%m.%Y' is that of 31.01.2024.".to_owned(),
        ));
    }
    let (value, _) = rest.rsplit_once("': ")?;
    Some((
        format!("the text '{value}' is no TIMESTAMP"),
        format!("A time is written as '2024-01-31 10:00:00'; {OTHER_FORMS}. {TRY}"),
    ))
}

/// Rewords `Unable to cast to Date32 for converting from i64 to i32 failed`, an error of to_date without the text.
fn date(text: &str) -> Option<(String, String)> {
    text.starts_with("Unable to cast to Date32 for converting ").then(|| {
        (
            "a text that to_date reads is no DATE".to_owned(),
            "A date is written as '2024-01-31', and is a day of the calendar; to_date('31.01.2024', '%d.%m.%Y') reads \
             other forms. If it is a value of a column, TRY_CAST(x AS DATE) gives NULL for it."
                .to_owned(),
        )
    })
}

/// Rewords `Format error`, an error of to_char.
fn format(text: &str) -> Option<(String, String)> {
    (text == "Format error").then(|| {
        (
            "to_char cannot write a value in its format".to_owned(),
            "Formats are those of strftime: '%Y-%m-%d %H:%M:%S'. Only a TIMESTAMP WITH TIME ZONE has a zone, %Z."
                .to_owned(),
        )
    })
}

/// Rewords `Parser error: Invalid timezone "nope": failed to parse timezone`. The zone is a part of the statement, also
/// if its rows are of a file.
fn time_zone(text: &str) -> Option<Description> {
    let (_, rest) = text.split_once("Invalid timezone \"")?;
    let (zone, _) = rest.split_once("\":")?;
    let hint = "Write a name such as 'Europe/Berlin' or 'UTC', or an offset such as '+02:00'.";
    Some(description(ErrorKind::Plan, format!("'{zone}' is no time zone"), hint))
}

/// Rewords errors of functions at numbers for which they are not defined.
fn undefined(text: &str) -> Option<(String, String)> {
    const WORDS: [(&str, &str, &str); 4] = [
        (
            "cannot take square root of a negative number",
            "a negative number has no square root",
            "Leave such rows out, or make them NULL: CASE WHEN x >= 0 THEN sqrt(x) END.",
        ),
        (
            "zero raised to a negative power is undefined",
            "0 has no negative power",
            "Make the base NULL where it is zero: power(NULLIF(x, 0), y).",
        ),
        (
            "factorial of a negative number is undefined",
            "a negative number has no factorial",
            "Make it NULL: CASE WHEN n >= 0 THEN factorial(n) END.",
        ),
        (
            "Overflow happened on FACTORIAL(",
            "the factorial is beyond the values of Int64",
            "The largest is factorial(20).",
        ),
    ];
    if let Some(number) = text.strip_prefix("invalid Unicode scalar value: ") {
        return Some((
            format!("there is no character {number}"),
            "chr takes the number of a Unicode character, 1 to 1114111: chr(65) is 'A'.".to_owned(),
        ));
    }
    if let Some(rest) = text.strip_prefix("Can't cast value ") {
        let (value, kind) = rest.split_once(" to type ")?;
        return Some((
            format!("the number {value} is no {kind}"),
            "It is beyond the type, or NaN or infinite: take a wider type, or TRY_CAST, which gives NULL."
                .to_owned(),
        ));
    }
    let (_, message, hint) = WORDS.iter().find(|(theirs, ..)| text.contains(theirs))?;
    Some(((*message).to_owned(), (*hint).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_named_without_the_types_of_libraries() {
        for (text, message, hint) in [
            (
                "Invalid argument error: 1234.57 is too large to store in a Decimal128 of precision 5. Max is 999.99",
                "the number 1234.57 has more digits than DECIMAL(5,2)",
                "DECIMAL(10,2)",
            ),
            (
                "Invalid argument error: -12345 is too small to store in a Decimal128 of precision 4. Min is -9999, in t.csv",
                "the number -12345 has more digits than DECIMAL(4,0), in t.csv",
                "DECIMAL(9,0)",
            ),
            (
                "Parser error: Invalid input syntax for type interval: \"1 dya\"",
                "the text '1 dya' is no INTERVAL",
                "'1 day'",
            ),
            (
                "Parser error: Error parsing timestamp from '31/01/2024': error parsing date",
                "the text '31/01/2024' is no TIMESTAMP",
                "%d.%m.%Y",
            ),
            (
                "Error parsing timestamp from '31.01.2024' using format '%Y': trailing input",
                "the text '31.01.2024' is not in the format '%Y': trailing input",
                "strftime",
            ),
            (
                "Parser error: Unable to cast to Date32 for converting from i64 to i32 failed",
                "a text that to_date reads is no DATE",
                "calendar",
            ),
            (
                "Format error, in /data/t.csv",
                "to_char cannot write a value in its format, in /data/t.csv",
                "strftime",
            ),
        ] {
            let described = of_value(text).unwrap();
            assert_eq!(described.message, message);
            assert!(described.hint.unwrap().contains(hint), "{text}");
        }
        for other in ["something else", "a, in b", "5 is too large to fit"] {
            assert!(of_value(other).is_none(), "{other}");
        }
    }
}
