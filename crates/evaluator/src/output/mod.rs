//! Serializes the rows of an answer.

mod arrow;
mod columns;
mod csv;
mod json;

use sluicegate_s3select::dialect::ast::{Projection, Query};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::OutputSerialization;
use sluicegate_s3select::value::{Decimal, Timestamp, Value};

use crate::batch::Codes;
use crate::vector::{Vector, text_bytes_of};
use arrow::ArrowWriter;
use csv::CsvWriter;
use json::JsonWriter;

/// The longest row of an answer, in bytes.
const MAX_ROW_BYTES: usize = 1 << 20;

/// Collects serialized rows in a buffer.
#[derive(Debug)]
pub(crate) struct RowWriter {
    format: Format,
    bytes: Vec<u8>,
    row_start: usize,
}

#[derive(Debug)]
enum Format {
    Csv(Box<CsvWriter>),
    Json(JsonWriter),
    Arrow(Box<ArrowWriter>),
}

/// The name of a field, ready for a JSON object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Key(Vec<u8>);

impl Key {
    pub(crate) fn new(name: &str) -> Self {
        let mut key = Vec::with_capacity(name.len() + 3);
        json::write_string(name.as_bytes(), &mut key);
        key.push(b':');
        Self(key)
    }
}

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'a> {
    /// Text that may not be UTF-8; it is checked when it is written.
    Text(&'a [u8]),
    Value(&'a Value),
    Int(i64),
    Decimal(Decimal),
    Timestamp(Timestamp),
}

impl Item<'_> {
    /// Returns the number of bytes of text, all of which would be written.
    #[inline]
    fn text_len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Value(value) => text_bytes_of(value),
            Self::Int(_) | Self::Decimal(_) | Self::Timestamp(_) => 0,
        }
    }

    /// Returns the name of the value's type, for messages.
    fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Value(value) => value.type_name(),
            Self::Int(_) => "int",
            Self::Decimal(_) => "decimal",
            Self::Timestamp(_) => "timestamp",
        }
    }
}

/// The values of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fields<'a> {
    Values(&'a Vector),
    Codes(Codes<'a>),
}

impl RowWriter {
    /// Creates a writer, after checking the options.
    pub(crate) fn new(options: &OutputSerialization) -> Result<Self, SelectError> {
        let format = match options {
            OutputSerialization::Csv(options) => Format::Csv(Box::new(CsvWriter::new(options)?)),
            OutputSerialization::Json { record_delimiter } => {
                Format::Json(JsonWriter::new(record_delimiter))
            }
            OutputSerialization::Arrow(options) => {
                Format::Arrow(Box::new(ArrowWriter::new(options)?))
            }
        };
        Ok(Self { format, bytes: Vec::new(), row_start: 0 })
    }

    /// Returns the bytes before all rows of the answer.
    pub(crate) fn head(&self) -> &[u8] {
        match &self.format {
            Format::Csv(_) | Format::Json(_) => &[],
            Format::Arrow(writer) => writer.head(),
        }
    }

    /// Appends the bytes after all rows of the answer.
    pub(crate) fn finish(&mut self) -> Result<(), SelectError> {
        match &mut self.format {
            Format::Csv(_) | Format::Json(_) => Ok(()),
            Format::Arrow(writer) => writer.finish(&mut self.bytes),
        }
    }

    /// Serializes all finished rows.
    pub(crate) fn flush(&mut self) -> Result<(), SelectError> {
        match &mut self.format {
            Format::Csv(_) | Format::Json(_) => Ok(()),
            Format::Arrow(writer) => writer.flush(&mut self.bytes),
        }
    }

    /// Returns whether the output contains keys.
    pub(crate) fn needs_keys(&self) -> bool {
        matches!(self.format, Format::Json(_))
    }

    pub(crate) fn begin_row(&mut self) {
        self.row_start = self.bytes.len();
        match &mut self.format {
            Format::Csv(writer) => writer.begin(),
            Format::Json(writer) => writer.begin(&mut self.bytes),
            Format::Arrow(writer) => writer.begin(),
        }
    }

    /// Appends a field to the row.
    #[inline]
    pub(crate) fn put(&mut self, key: &Key, item: Item<'_>) -> Result<(), SelectError> {
        if let Item::Text(text) = item
            && !text.is_ascii()
            && std::str::from_utf8(text).is_err()
        {
            return Err(invalid_text());
        }
        // Check before writing, which may take six times as much.
        if item.text_len() > MAX_ROW_BYTES {
            return Err(too_long());
        }
        match &mut self.format {
            Format::Csv(writer) => writer.put(item, &mut self.bytes)?,
            Format::Json(writer) => writer.put(&key.0, item, &mut self.bytes),
            // It checks the length itself, before anything is serialized.
            Format::Arrow(writer) => return writer.put(item),
        }
        // Check at every field, because a row may have thousands.
        self.check_length()
    }

    #[inline]
    fn check_length(&self) -> Result<(), SelectError> {
        match self.bytes.len() - self.row_start > MAX_ROW_BYTES {
            true => Err(too_long()),
            false => Ok(()),
        }
    }

    /// Copies a whole row of delimited text, without unnecessary quotes. `delimiter` separates its fields, and
    /// `quote` may enclose whole fields. Returns false, without writing, if the row would need other changes.
    #[inline]
    pub(crate) fn put_row(&mut self, row: &[u8], delimiter: &[u8], quote: Option<u8>) -> bool {
        match &mut self.format {
            Format::Csv(writer) => writer.put_row(row, delimiter, quote, &mut self.bytes),
            Format::Json(_) | Format::Arrow(_) => false,
        }
    }

    /// Returns whether [`Self::put_columns`] may write rows.
    pub(crate) fn takes_columns(&self) -> bool {
        matches!(self.format, Format::Csv(_) | Format::Arrow(_))
    }

    /// Returns the number of rows to write at once.
    pub(crate) fn rows_at_once(&self, columns: usize) -> usize {
        match self.format {
            Format::Csv(_) | Format::Json(_) => columns::rows_at_once(columns),
            Format::Arrow(_) => usize::MAX,
        }
    }

    /// Writes the first rows from the values of their columns, which is faster than [`Self::put`], and returns their
    /// number. Returns `None`, without writing, if a value cannot be written or the rows are better written one by one.
    pub(crate) fn put_columns<'a>(
        &mut self,
        fields: impl ExactSizeIterator<Item = Fields<'a>> + Clone,
        rows: &[u32],
        block: &[u8],
    ) -> Result<Option<usize>, SelectError> {
        self.row_start = self.bytes.len();
        match &mut self.format {
            Format::Csv(writer) => {
                let written = writer.put_columns(fields, rows, block, &mut self.bytes);
                Ok(written.then_some(rows.len()))
            }
            Format::Json(_) => Ok(None),
            Format::Arrow(writer) => writer.put_columns(fields, rows, block, &mut self.bytes),
        }
    }

    pub(crate) fn end_row(&mut self) -> Result<(), SelectError> {
        match &mut self.format {
            Format::Csv(writer) => writer.end(self.row_start, &mut self.bytes),
            Format::Json(writer) => writer.end(&mut self.bytes),
            Format::Arrow(writer) => return writer.end(&mut self.bytes),
        }
        self.check_length()
    }

    /// Returns the serialized rows so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes the unfinished row.
    pub(crate) fn abandon_row(&mut self) {
        match &mut self.format {
            Format::Csv(_) | Format::Json(_) => self.bytes.truncate(self.row_start),
            Format::Arrow(writer) => writer.abandon_row(),
        }
    }

    /// Removes the serialized rows.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.row_start = 0;
    }
}

/// Refuses a statement whose columns are not those of an Arrow answer.
pub(crate) fn check_columns(
    query: &Query,
    options: &OutputSerialization,
) -> Result<(), SelectError> {
    let OutputSerialization::Arrow(arrow) = options else { return Ok(()) };
    match &query.projection {
        Projection::Star => Err(SelectError::new(
            SelectErrorCode::InvalidRequestParameter,
            "SELECT * has no Arrow answer: name the columns.",
        )),
        Projection::Items(items) if items.len() != arrow.columns.len() => {
            Err(arrow::other_count(items.len(), arrow.columns.len()))
        }
        Projection::Items(_) => Ok(()),
    }
}

#[cold]
fn too_long() -> SelectError {
    let message = "A row of the answer is longer than 1 MiB.";
    SelectError::new(SelectErrorCode::OverMaxRecordSize, message)
}

/// Returns the error for a nested value, which CSV cannot represent.
#[cold]
fn nested_in_csv(value: &Value) -> SelectError {
    SelectError::new(
        SelectErrorCode::InvalidDataType,
        format!("A {} can only be returned as JSON: ask for JSON output.", value.type_name()),
    )
}

/// Returns the error for text that is compared or returned and is not UTF-8.
#[cold]
pub(crate) fn invalid_text() -> SelectError {
    SelectError::new(SelectErrorCode::InvalidTextEncoding, "A field is not UTF-8.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_s3select::request::{CsvOutput, QuoteFields};

    fn write(options: &OutputSerialization, row: &[(&str, Value)]) -> String {
        let mut writer = RowWriter::new(options).unwrap();
        writer.begin_row();
        for (name, value) in row {
            writer.put(&Key::new(name), Item::Value(value)).unwrap();
        }
        writer.end_row().unwrap();
        String::from_utf8(writer.bytes().to_vec()).unwrap()
    }

    #[track_caller]
    fn check_csv(options: CsvOutput, row: &[Value], expected: &str) {
        let row: Vec<_> = row.iter().map(|value| ("x", value.clone())).collect();
        assert_eq!(write(&OutputSerialization::Csv(options), &row), expected);
    }

    fn text(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    #[test]
    fn csv_quotes_as_needed() {
        let plain = CsvOutput::default();
        check_csv(plain.clone(), &[text("a"), Value::Int(-5), Value::Null], "a,-5,\n");
        check_csv(plain.clone(), &[text("a,b"), text("say \"x\"")], "\"a,b\",\"say \"\"x\"\"\"\n");
        check_csv(plain.clone(), &[text("two\nlines"), text("\r")], "\"two\nlines\",\"\r\"\n");
        check_csv(plain.clone(), &[text("")], "\"\"\n");
        check_csv(plain.clone(), &[Value::Null], "\"\"\n");
        check_csv(plain.clone(), &[text(""), text("")], ",\n");
        check_csv(plain, &[Value::Decimal(Decimal::new(1250, 2).unwrap())], "12.50\n");
    }

    #[test]
    fn csv_options() {
        let options = CsvOutput {
            quote_fields: QuoteFields::Always,
            field_delimiter: "|".to_owned(),
            record_delimiter: "\r\n".to_owned(),
            quote: '\'',
            quote_escape: '\\',
        };
        check_csv(options, &[text("it's a \\"), Value::Int(1)], "'it\\'s a \\\\'|'1'\r\n");
    }

    #[test]
    fn csv_has_no_nested_values() {
        let mut writer = RowWriter::new(&OutputSerialization::Csv(CsvOutput::default())).unwrap();
        for value in [Value::List([].into()), Value::Struct([].into())] {
            writer.begin_row();
            let error = writer.put(&Key::new("x"), Item::Value(&value)).unwrap_err();
            assert_eq!(error.code, SelectErrorCode::InvalidDataType);
            writer.abandon_row();
        }
        assert_eq!(writer.bytes(), b"");
    }

    /// The limit holds for any number of fields, and however much they grow when written.
    #[test]
    fn a_long_row_is_refused_while_it_is_written() {
        let json = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
        let field = "\u{1}".repeat(MAX_ROW_BYTES / 4);
        for (options, length) in [
            (OutputSerialization::Csv(CsvOutput::default()), field.len()),
            (json.clone(), 6 * field.len()),
        ] {
            let mut writer = RowWriter::new(&options).unwrap();
            writer.begin_row();
            let mut put = || writer.put(&Key::default(), Item::Text(field.as_bytes()));
            let error = (0..1000).find_map(|_| put().err()).unwrap();
            assert_eq!(error.code, SelectErrorCode::OverMaxRecordSize);
            assert!(writer.bytes().len() <= MAX_ROW_BYTES + length + 5);
        }
        // Nothing is written of a field that is too long by itself.
        let mut writer = RowWriter::new(&json).unwrap();
        writer.begin_row();
        let value = Value::List(vec![text(&field); 5].into());
        writer.put(&Key::default(), Item::Value(&value)).unwrap_err();
        assert_eq!(writer.bytes(), b"{");
    }

    #[test]
    fn json_objects() {
        let json = OutputSerialization::Json { record_delimiter: "\n".to_owned() };
        let row = [
            ("a", text("x\"y\n\u{1}")),
            ("gone", Value::Missing),
            ("n", Value::Null),
            ("f", Value::Float(0.1)),
            ("l", Value::List([Value::Int(1), Value::Bool(true)].into())),
        ];
        assert_eq!(
            write(&json, &row),
            "{\"a\":\"x\\\"y\\n\\u0001\",\"n\":null,\"f\":0.1,\"l\":[1,true]}\n"
        );
        assert_eq!(write(&json, &[]), "{}\n");
    }
}
