//! Columns whose values look like dates although some are not: `2024-13-01`, or `0000-00-00` in dumps of MySQL.
//!
//! Arrow's inference looks only at digits and hyphens, and its reader would fail at such a value.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::Result;
use datafusion::common::config::CsvOptions;

/// Changes columns of dates and times to text if one of the first records has a value that is neither. `records` is
/// the text that the schema is for, and `most` the number of its records to check.
///
/// # Errors
///
/// If the records cannot be read.
pub(super) fn checked(
    schema: Schema,
    options: &CsvOptions,
    has_header: bool,
    records: &[u8],
    most: usize,
) -> Result<Schema> {
    let is_time =
        |field: &Field| matches!(field.data_type(), DataType::Date32 | DataType::Timestamp(..));
    let fields = schema.fields().iter().enumerate();
    let times: Vec<usize> = fields.filter(|(_, it)| is_time(it)).map(|(place, _)| place).collect();
    let mut fields: Vec<Arc<Field>> = schema.fields().to_vec();
    for batch in as_text(&schema, &times, options, has_header, records, most)? {
        for (values, place) in batch.columns().iter().zip(&times) {
            let options = CastOptions { safe: true, ..CastOptions::default() };
            let read = cast_with_options(values, schema.field(*place).data_type(), &options)?;
            if read.null_count() > values.null_count() {
                let text = fields[*place].as_ref().clone().with_data_type(DataType::Utf8);
                fields[*place] = Arc::new(text);
            }
        }
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Returns the values of some columns as text, in the first records; empty if there are no columns.
///
/// # Errors
///
/// If the records cannot be read.
pub(super) fn as_text(
    schema: &Schema,
    columns: &[usize],
    options: &CsvOptions,
    has_header: bool,
    records: &[u8],
    most: usize,
) -> Result<Vec<RecordBatch>> {
    if columns.is_empty() {
        return Ok(Vec::new());
    }
    let text = |field: &Arc<Field>| field.as_ref().clone().with_data_type(DataType::Utf8);
    let texts: Vec<Field> = schema.fields().iter().map(text).collect();
    let reader = ReaderBuilder::new(Arc::new(Schema::new(texts)))
        .with_format(format(options, has_header))
        .with_projection(columns.to_vec())
        .with_bounds(0, most)
        .build_buffered(records)?;
    Ok(reader.collect::<std::result::Result<_, _>>()?)
}

fn format(options: &CsvOptions, has_header: bool) -> Format {
    let mut format = Format::default()
        .with_header(has_header)
        .with_delimiter(options.delimiter)
        .with_quote(options.quote)
        .with_truncated_rows(options.truncated_rows.unwrap_or(false));
    if let Some(escape) = options.escape {
        format = format.with_escape(escape);
    }
    if let Some(comment) = options.comment {
        format = format.with_comment(comment);
    }
    if let Some(terminator) = options.terminator {
        format = format.with_terminator(terminator);
    }
    format
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_date_makes_its_column_one_of_text() {
        let types = |records: &str, most| {
            let schema = Schema::new(vec![
                Field::new("d", DataType::Date32, true),
                Field::new("n", DataType::Int64, true),
            ]);
            let options = CsvOptions::default();
            let schema = checked(schema, &options, true, records.as_bytes(), most).unwrap();
            schema.field(0).data_type().clone()
        };
        for (records, most, expected) in [
            ("d,n\n2024-01-31,1\n,2\n", 9, DataType::Date32),
            ("d,n\n2024-01-31,1\n2024-13-01,2\n", 9, DataType::Utf8),
            ("d,n\n0000-00-00,1\n2024-01-31,2\n", 9, DataType::Utf8),
            ("d,n\n2024-01-31,1\n2024-13-01,2\n", 1, DataType::Date32),
        ] {
            assert_eq!(types(records, most), expected, "{records}");
        }
    }
}
