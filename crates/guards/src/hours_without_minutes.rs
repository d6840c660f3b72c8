//! Keeps the hour of times that are parsed by a format without minutes.

use std::sync::Arc;

use arrow::array::{AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::columnar_values::mapped;
use super::wrapped_functions::{Change, changed};
use super::{Case, CaseOutcome, Guard};

pub(super) const GUARD: Guard = Guard {
    title: "to_timestamp with a format that has hours and no minutes drops the hour",
    upstream: &[],
    ours: "`to_timestamp('2024-01-31 10', '%Y-%m-%d %H')` is ten o'clock.",
    cases: &[
        Case {
            setup: &[],
            sql: "SELECT to_timestamp('2024-01-31 10', '%Y-%m-%d %H'), \
                  to_timestamp_seconds('2024-01-31T10h', '%d.%m.%Y', '%Y-%m-%dT%Hh')",
            right: CaseOutcome::Rows(&["2024-01-31T10:00:00, 2024-01-31T10:00:00"]),
            theirs: CaseOutcome::Rows(&["2024-01-31T00:00:00, 2024-01-31T00:00:00"]),
        },
        Case {
            setup: &[
                "CREATE TABLE hours AS SELECT * FROM (VALUES ('2024-01-31 11 PM'), (NULL)) t(s)",
            ],
            sql: "SELECT to_timestamp_millis(s, '%Y-%m-%d %I %p') FROM hours",
            right: CaseOutcome::Rows(&["2024-01-31T23:00:00", "NULL"]),
            theirs: CaseOutcome::Rows(&["2024-01-31T00:00:00", "NULL"]),
        },
    ],
};

/// Returns the guarded functions.
pub(super) fn guarded(functions: &[Arc<ScalarUDF>]) -> Vec<Arc<ScalarUDF>> {
    let parsing = |name: &str| name == "to_unixtime" || name.starts_with("to_timestamp");
    let functions = functions.iter().filter(|function| parsing(function.name()));
    functions.map(|function| changed(function, WithMinutes)).collect()
}

/// Adds the minute 0 to texts and formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct WithMinutes;

impl Change for WithMinutes {
    fn invoke(self, inner: &ScalarUDF, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(texts) = with_minutes(&args.args)? else { return inner.invoke_with_args(args) };
        let changed = ScalarFunctionArgs { args: texts, ..args.clone() };
        // Errors contain the texts and formats of the statement.
        inner.invoke_with_args(changed).or_else(|_| inner.invoke_with_args(args))
    }
}

/// Returns the arguments with minutes in front, or `None` if no format lacks them.
fn with_minutes(args: &[ColumnarValue]) -> Result<Option<Vec<ColumnarValue>>> {
    let [texts, formats @ ..] = args else { return Ok(None) };
    let format = |value: &ColumnarValue| match value {
        ColumnarValue::Scalar(format) => format.try_as_str().flatten().map(str::to_owned),
        ColumnarValue::Array(_) => None,
    };
    let Some(formats) = formats.iter().map(format).collect::<Option<Vec<String>>>() else {
        return Ok(None);
    };
    if !texts.data_type().is_string() || !formats.iter().any(|format| lacks_minutes(format)) {
        return Ok(None);
    }
    let formats = formats.iter().map(|format| {
        let minutes = if lacks_minutes(format) { "%M" } else { "00" };
        Ok(ColumnarValue::Scalar(ScalarValue::from(format!("{minutes} {format}"))))
    });
    std::iter::once(prefixed(texts, "00 ")).chain(formats).collect::<Result<_>>().map(Some)
}

fn prefixed(texts: &ColumnarValue, prefix: &str) -> Result<ColumnarValue> {
    mapped(texts, |texts| {
        let texts = cast(texts, &DataType::Utf8)?;
        let texts = texts.as_string::<i32>().iter();
        let texts = texts.map(|text| text.map(|text| format!("{prefix}{text}")));
        Ok(Arc::new(texts.collect::<StringArray>()))
    })
}

/// Returns true for a format of strftime with an hour and without a minute.
fn lacks_minutes(format: &str) -> bool {
    let mut letters = Vec::new();
    let mut rest = format.chars();
    while let Some(letter) = rest.next() {
        if letter == '%' {
            // Between % and the letter are a padding, colons and the digits of a fraction.
            letters.extend(rest.find(|it| !matches!(it, '-' | '_' | '0'..='9' | ':' | '.' | '#')));
        }
    }
    let any = |set: &str| letters.iter().any(|letter| set.contains(*letter));
    any("HIkl") && !any("MRTXcrs+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_with_an_hour_need_minutes() {
        for (format, lacks) in [
            ("%Y-%m-%d %H", true),
            ("%Y-%m-%d %-I %p", true),
            ("%Y-%m-%d %H:%M", false),
            ("%Y-%m-%d %T", false),
            ("%Y-%m-%d", false),
            ("%Y %%H", false),
            ("%+", false),
            ("%s", false),
            ("%H%:z", true),
        ] {
            assert_eq!(lacks_minutes(format), lacks, "{format}");
        }
    }
}
