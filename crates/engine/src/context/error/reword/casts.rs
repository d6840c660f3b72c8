//! Texts that are not a value of a type: constants of the statement, or values of a column.

use super::super::ErrorKind;
use super::super::description::Description;
use super::super::description::{WITH_POINT, description};
use sluicegate_guards::sql_types::readable;

/// Rewords `Cannot cast string '01.05.2020' to value of Date32 type`.
pub(in crate::context::error) fn cast(text: &str) -> Option<Description> {
    let rest = text.strip_prefix("Cannot cast string '").or_else(|| {
        // Booleans have another message.
        text.strip_prefix("Cannot cast value '").filter(|_| text.ends_with(" Boolean type"))
    })?;
    let (value, to) = rest.rsplit_once("' to value of ")?;
    if value.ends_with(WITH_POINT) {
        return None;
    }
    let to = to.strip_suffix(" type").unwrap_or(to);
    let kind = readable(to);
    let form = if kind.starts_with("DATE") {
        "A date is written as '2024-01-31'; to_date('31.01.2024', '%d.%m.%Y') reads other forms."
    } else if kind == "TIME" {
        "A time of day is written as '10:00:00', up to '23:59:59'."
    } else if kind.starts_with("TIME") {
        "A time is written as '2024-01-31 10:00:00'; to_timestamp('31.01.2024 10:00', '%d.%m.%Y %H:%M') reads other \
         forms."
    } else if value.contains(',')
        && value.trim().starts_with(|c: char| c.is_ascii_digit() || c == '-')
    {
        "A number has a point, 1.5; CSV with decimal commas is read by read_csv('…', decimal_separator => ',')."
    } else if kind == "BOOLEAN" {
        "A truth value is TRUE or FALSE."
    } else if value.trim().is_empty() {
        "An empty text is no number: nullif(x, '') makes it NULL."
    } else if value.trim().parse::<f64>().is_ok_and(f64::is_finite) {
        "CAST(CAST(x AS DOUBLE) AS BIGINT) leaves decimals out, and round(CAST(x AS DOUBLE)) rounds them."
    } else if value.trim().parse::<f64>().is_ok() {
        "Only DOUBLE and REAL have NaN and infinity."
    } else {
        "Beside a number, a text is read as a number: if the text is meant, convert what is beside it, CAST(x AS \
         VARCHAR)."
    };
    let message = format!("the text '{value}' is no {kind}");
    let hint = format!("{form} If it is a value of a column, TRY_CAST(x AS …) gives NULL for it.");
    Some(description(ErrorKind::Data, message, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_value_of_a_type() {
        for (text, message, hint) in [
            (
                "Cannot cast string '01.05.2020' to value of Date32 type",
                "'01.05.2020' is no DATE",
                "to_date(",
            ),
            (
                "Cannot cast string '1,5' to value of Int64 type",
                "'1,5' is no BIGINT",
                "decimal_separator",
            ),
            (
                "Cannot cast string 'it's' to value of Int64 type",
                "'it's' is no BIGINT",
                "AS VARCHAR",
            ),
            (
                "Cannot cast string '1.7' to value of Int32 type",
                "'1.7' is no INT",
                "CAST(CAST(x AS DOUBLE)",
            ),
            ("Cannot cast string '' to value of Int32 type", "'' is no INT", "nullif(x, '')"),
            (
                "Cannot cast string '25:00' to value of Time64(ns) type",
                "'25:00' is no TIME",
                "'23:59:59'",
            ),
            (
                "Cannot cast string 'x' to value of Decimal128(15, 2) type",
                "'x' is no DECIMAL(15,2)",
                "TRY_CAST",
            ),
        ] {
            let described = cast(text).unwrap();
            assert!(described.message.contains(message), "{}", described.message);
            assert!(described.hint.unwrap().contains(hint), "{text}");
        }
    }
}
