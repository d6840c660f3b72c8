//! Casts texts with an exponent to decimals.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringArray};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Decimal128Type, DecimalType};
use arrow::error::ArrowError;
use arrow::util::display::FormatOptions;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::ColumnarValue;

use super::columnar_values::mapped;
use super::exact::Number;
use super::{Case, CaseOutcome, Guard};
use crate::sql_types::sql_type;

pub(super) const GUARD: Guard = Guard {
    title: "A text with an exponent is not cast to a decimal",
    upstream: &[],
    ours: "`CAST('1e2' AS DECIMAL(9,2))` is 100.00. The message about a text that is no number names the type of the \
           statement.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT CAST('1e2' AS DECIMAL(9,2)), TRY_CAST(s AS DECIMAL(9,2)) \
                  FROM (VALUES ('-12.5E-1'), ('7'), ('x'), (NULL)) t(s)",
            right: CaseOutcome::Rows(&[
                "100.00, -1.25",
                "100.00, 7.00",
                "100.00, NULL",
                "100.00, NULL",
            ]),
            theirs: CaseOutcome::Error("Cannot cast string '1e2'"),
        },
        Case {
            setup: &[],
            sql: "SELECT CAST(s AS DECIMAL(9,2)) FROM (VALUES ('abc')) t(s)",
            right: CaseOutcome::Error("is no DECIMAL(9,2)"),
            theirs: CaseOutcome::Error("value of Decimal128(38, 10) type"),
        },
    ],
};

/// Returns true if a cast reads decimals from texts.
pub(super) fn concerns(from: &DataType, to: &DataType) -> bool {
    from.is_string() && matches!(to, DataType::Decimal128(..))
}

/// Casts texts to decimals; returns `None` for other casts.
pub(super) fn casted(
    value: &ColumnarValue,
    to: &DataType,
    safe: bool,
) -> Result<Option<ColumnarValue>> {
    if !concerns(&value.data_type(), to) {
        return Ok(None);
    }
    mapped(value, |texts| read(texts, to, safe)).map(Some)
}

fn read(texts: &ArrayRef, to: &DataType, safe: bool) -> Result<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8)?;
    let strings = texts.as_string::<i32>();
    let has_exponent = |text: &str| text.contains(['e', 'E']);
    let texts = match strings.iter().flatten().any(has_exponent) {
        true => {
            let plain = strings.iter().map(|text| text.map(|it| plain(it, to)));
            Arc::new(plain.collect::<StringArray>()) as ArrayRef
        }
        false => texts,
    };
    let options = CastOptions { safe, format_options: FormatOptions::default() };
    cast_with_options(&texts, to, &options).map_err(|error| match error {
        ArrowError::CastError(message) => {
            let message = message.replace("Decimal128(38, 10)", &sql_type(to));
            DataFusionError::from(ArrowError::CastError(message))
        }
        other => other.into(),
    })
}

/// Writes a number without its exponent. Any other text stays as it is.
fn plain(text: &str, to: &DataType) -> String {
    let same = || text.to_owned();
    let DataType::Decimal128(precision, scale) = to else { return same() };
    if !text.contains(['e', 'E']) {
        return same();
    }
    let trimmed = text.trim();
    let number = Number::parse(trimmed.strip_prefix('+').unwrap_or(trimmed));
    let unscaled = number.and_then(|number| number.to_decimal(*precision, *scale));
    unscaled.map_or_else(same, |it| Decimal128Type::format_decimal(it, *precision, *scale))
}
