//! Columns of digits that are dates by the user's format: `20260131` by `%Y%m%d`.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use chrono::{NaiveDate, NaiveDateTime};
use datafusion::common::Result;
use datafusion::common::config::CsvOptions;

use super::invalid_dates::as_text;
use crate::text::csv::options::Values;

/// Changes columns of whole numbers to dates or timestamps if all their values in the first records match the formats
/// of `values`. The other arguments are as for [`checked`](super::invalid_dates::checked).
///
/// # Errors
///
/// If the records cannot be read.
pub(super) fn found(
    schema: Schema,
    values: &Values,
    options: &CsvOptions,
    has_header: bool,
    records: &[u8],
    most: usize,
) -> Result<Schema> {
    if values.date_format.is_none() && values.timestamp_format.is_none() {
        return Ok(schema);
    }
    let fields = schema.fields().iter().enumerate();
    let digits: Vec<usize> = fields
        .filter(|(_, field)| *field.data_type() == DataType::Int64)
        .map(|(place, _)| place)
        .collect();
    let batches = as_text(&schema, &digits, options, has_header, records, most)?;
    let mut fields: Vec<Arc<Field>> = schema.fields().to_vec();
    for (column, place) in digits.iter().enumerate() {
        let all = |is_one: &dyn Fn(&str) -> bool| {
            batches.iter().all(|batch| {
                let mut texts = batch.column(column).as_string::<i32>().iter().flatten();
                texts.all(|text| text.is_empty() || is_one(text))
            })
        };
        let is_date = |format: &String| all(&|it| NaiveDate::parse_from_str(it, format).is_ok());
        let is_time =
            |format: &String| all(&|it| NaiveDateTime::parse_from_str(it, format).is_ok());
        let data_type = match (&values.date_format, &values.timestamp_format) {
            (Some(format), _) if is_date(format) => DataType::Date32,
            (_, Some(format)) if is_time(format) => {
                DataType::Timestamp(TimeUnit::Microsecond, None)
            }
            _ => continue,
        };
        fields[*place] = Arc::new(fields[*place].as_ref().clone().with_data_type(data_type));
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_are_dates_by_the_format() {
        use DataType::{Date32, Int64};
        let types = |records: &str, dates: Option<&str>, times: Option<&str>| {
            let fields = ["d", "n"].map(|name| Field::new(name, Int64, true));
            let mut values = Values::default();
            values.date_format = dates.map(str::to_owned);
            values.timestamp_format = times.map(str::to_owned);
            let (schema, options) = (Schema::new(fields.to_vec()), CsvOptions::default());
            let found = found(schema, &values, &options, true, records.as_bytes(), 9).unwrap();
            [0, 1].map(|place| found.field(place).data_type().clone())
        };
        let (days, seconds) = (Some("%Y%m%d"), Some("%Y%m%d%H%M%S"));
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        for (records, dates, times, expected) in [
            ("d,n\n20260131,1\n20260201,2\n", days, None, [Date32, Int64]),
            ("d,n\n20260131,1\n,2\n", days, None, [Date32, Int64]),
            ("d,n\n20260131,1\n20261301,2\n", days, None, [Int64, Int64]),
            ("d,n\n20260131,1\n", None, None, [Int64, Int64]),
            ("d,n\n20260131,20260131120000\n", days, seconds, [Date32, time]),
        ] {
            assert_eq!(types(records, dates, times), expected, "{records}");
        }
    }
}
