//! Columns of whole numbers of which some are beyond BIGINT, but within BIGINT UNSIGNED. Arrow's inference takes them for
//! text.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Result;
use datafusion::common::config::CsvOptions;

use super::invalid_dates::as_text;

/// The number of digits of the first number beyond BIGINT.
const LEAST_DIGITS: usize = 19;

/// Changes columns of text to BIGINT UNSIGNED if all their values in the first records are such numbers, without zeros
/// before them, and one is beyond BIGINT. The arguments are as for [`checked`](super::invalid_dates::checked).
///
/// # Errors
///
/// If the records cannot be read.
pub(super) fn found(
    schema: Schema,
    options: &CsvOptions,
    has_header: bool,
    records: &[u8],
    most: usize,
) -> Result<Schema> {
    if !has_long_number(records) {
        return Ok(schema);
    }
    let fields = schema.fields().iter().enumerate();
    let texts: Vec<usize> = fields
        .filter(|(_, field)| *field.data_type() == DataType::Utf8)
        .map(|(place, _)| place)
        .collect();
    let batches = as_text(&schema, &texts, options, has_header, records, most)?;
    let mut fields: Vec<Arc<Field>> = schema.fields().to_vec();
    for (column, place) in texts.iter().enumerate() {
        let values =
            batches.iter().flat_map(|batch| batch.column(column).as_string::<i32>().iter());
        let values = values.flatten().filter(|text| !text.is_empty());
        let most = values.map(unsigned).try_fold(0, |most, value| Some(value?.max(most)));
        if most.is_some_and(|most| i64::try_from(most).is_err()) {
            let field = fields[*place].as_ref().clone();
            fields[*place] = Arc::new(field.with_data_type(DataType::UInt64));
        }
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Returns whether a text has as many digits in a row as a number beyond BIGINT.
fn has_long_number(text: &[u8]) -> bool {
    text.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() >= LEAST_DIGITS)
}

/// Parses a whole number without a sign and without zeros before it.
fn unsigned(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let has_zeros = text.len() > 1 && text.starts_with('0');
    text.parse().ok().filter(|_| is_plain && !has_zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_bigint_are_unsigned() {
        use DataType::{UInt64, Utf8};
        for (values, expected) in [
            (&["18446744073709551615", "5", ""][..], UInt64),
            (&["\"9223372036854775808\"", "0"], UInt64),
            (&["18446744073709551616", "5"], Utf8),
            (&["9223372036854775808", "-1"], Utf8),
            (&["9223372036854775808", "1.5"], Utf8),
            (&["9223372036854775808", "05"], Utf8),
            (&["09223372036854775808"], Utf8),
            (&["+9223372036854775808"], Utf8),
            (&["x", "9223372036854775808"], Utf8),
            (&["5", "7"], Utf8),
        ] {
            let text: String = values.iter().map(|value| format!("a,{value}\n")).collect();
            let records = format!("t,n\n{text}");
            let fields = ["t", "n"].map(|name| Field::new(name, Utf8, true));
            let schema = Schema::new(fields.to_vec());
            let options = CsvOptions::default();
            let found = found(schema, &options, true, records.as_bytes(), 1000).unwrap();
            assert_eq!(found.field(0).data_type(), &Utf8);
            assert_eq!(found.field(1).data_type(), &expected, "{values:?}");
        }
    }
}
