//! Infers the types of partition columns from their values.

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, TimeUnit};
use datafusion::common::ScalarValue;

use crate::catalog::external_tables::inferred_partition_type;

/// Returns the first type that reproduces every text when its value is written, in the form in which COPY writes it.
/// A number with leading zeros, or `2024-1-5`, stays text.
pub(super) fn infer_type(values: &[String]) -> DataType {
    let is_all = |data_type: &DataType| {
        !values.is_empty() && values.iter().all(|value| comes_back(value, data_type))
    };
    let types = [
        DataType::Int64,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(TimeUnit::Nanosecond, None),
        DataType::Boolean,
        DataType::Float64,
    ];
    let fits = types.into_iter().chain(decimal(values)).find(is_all);
    fits.unwrap_or_else(inferred_partition_type)
}

/// Returns whether parsing a text as a type and writing the value reproduces the text.
fn comes_back(text: &str, data_type: &DataType) -> bool {
    // Arrow parses `nan` and `inf` in any letter case, and these may be words.
    let may_be_word = data_type.is_floating() && !text.contains(|c: char| c.is_ascii_digit());
    let written = || {
        let value = ScalarValue::try_from_string(text.to_owned(), data_type).ok()?;
        value.cast_to(&DataType::Utf8).ok()
    };
    !may_be_word && written() == Some(ScalarValue::from(text))
}

/// Returns the decimal type of values that all have the same number of digits after the point.
fn decimal(values: &[String]) -> Option<DataType> {
    let (mut most, mut scale) = (0, None);
    for value in values {
        let (whole, fraction) = value.split_once('.')?;
        let digits = whole.trim_start_matches('-').len().checked_add(fraction.len())?;
        if *scale.get_or_insert(fraction.len()) != fraction.len() {
            return None;
        }
        most = digits.max(most);
    }
    let precision = u8::try_from(most).ok().filter(|it| *it <= DECIMAL128_MAX_PRECISION)?;
    Some(DataType::Decimal128(precision, i8::try_from(scale?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_as_they_are_written() {
        let time = |unit| DataType::Timestamp(unit, None);
        for (values, expected) in [
            (&["1", "-20"][..], DataType::Int64),
            (&["01", "2"], inferred_partition_type()),
            (&["2024-01-05", "0001-12-31"], DataType::Date32),
            (&["2024-01-05", "2024-1-6"], inferred_partition_type()),
            (&["2024-01-05", "2024-02-30"], inferred_partition_type()),
            (&["2024-01-05", "x"], inferred_partition_type()),
            (&["20240105"], DataType::Int64),
            (&["2024-01-05T10:20:30", "2024-01-05T00:00:00.123"], time(TimeUnit::Microsecond)),
            (&["2024-01-05T10:20:30.123456789"], time(TimeUnit::Nanosecond)),
            (&["2024-01-05T10:20:30Z"], inferred_partition_type()),
            (&["true", "false"], DataType::Boolean),
            (&["True", "false"], inferred_partition_type()),
            (&["t", "f"], inferred_partition_type()),
            (&["1.5", "1e20", "-2.0"], DataType::Float64),
            (&["1.5", "NaN"], inferred_partition_type()),
            (&["nan", "inf"], inferred_partition_type()),
            (&["1.50", "-10.25", "0.00"], DataType::Decimal128(4, 2)),
            (&["1.10", "1.9"], inferred_partition_type()),
            (&["1.10.2"], inferred_partition_type()),
            (&["1", "1.5"], inferred_partition_type()),
            (&["", "1"], inferred_partition_type()),
            (&[], inferred_partition_type()),
        ] {
            let values: Vec<String> = values.iter().map(|&it| it.to_owned()).collect();
            assert_eq!(infer_type(&values), expected, "{values:?}");
        }
    }
}
