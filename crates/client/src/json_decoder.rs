//! Arrow's decoder of JSON, with decimals rounded to the digits of their type. Dates and times must be texts: Arrow's
//! decoder takes a number for days, or for the unit of the declared type.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::ReaderBuilder;
use arrow::json::reader::Decoder;

use crate::rounded_decimals::{rounded, wider};

/// A decoder of JSON values into rows.
#[derive(Debug)]
pub struct JsonDecoder {
    inner: Decoder,
    /// The declared columns, if some are read with another type.
    declared: Option<SchemaRef>,
}

impl JsonDecoder {
    /// Creates a decoder for rows of these columns. If `coerce` is true, numbers and booleans may be read as text.
    ///
    /// # Errors
    ///
    /// If JSON has no values of a column's type.
    pub fn new(columns: SchemaRef, batch_size: usize, coerce: bool) -> Result<Self, ArrowError> {
        let wide = fields_read(columns.fields());
        let (read, declared) = match wide {
            Some(fields) => {
                let read = Schema::new_with_metadata(fields, columns.metadata().clone());
                (Arc::new(read), Some(columns))
            }
            None => (columns, None),
        };
        let inner = ReaderBuilder::new(read)
            .with_batch_size(batch_size)
            .with_coerce_primitive(coerce)
            .build_decoder()?;
        Ok(Self { inner, declared })
    }

    /// Decodes bytes until a batch is full, and returns their number.
    ///
    /// # Errors
    ///
    /// If the bytes are no JSON objects.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<usize, ArrowError> {
        self.inner.decode(bytes)
    }

    /// Returns the number of records since the last batch, with one that is incomplete.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "callers compare the number")]
    pub fn len(&self) -> usize {
        self.inner.len()
    }

    /// Returns true if the last record is incomplete.
    #[must_use]
    pub fn has_partial_record(&self) -> bool {
        self.inner.has_partial_record()
    }

    /// Returns the rows since the last batch, or `None` if there are none.
    ///
    /// # Errors
    ///
    /// If a value does not fit its column's type.
    pub fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(batch) = self.inner.flush()? else { return Ok(None) };
        let Some(declared) = &self.declared else { return Ok(Some(batch)) };
        let columns = batch.columns().iter().zip(declared.fields());
        let columns = columns.map(|(column, field)| match field.data_type() {
            same if same == column.data_type() => Ok(Arc::clone(column)),
            // The line of an error of this kind is looked for.
            to => rounded(column, to).map_err(|bad| {
                ArrowError::JsonError(format!(
                    "{}, whilst decoding field '{}'",
                    bad.why,
                    field.name()
                ))
            }),
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(declared), columns).map(Some)
    }
}

/// Returns the type to read values of a type with; `None` if the two are the same.
fn type_read(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Date32
        | DataType::Date64
        | DataType::Timestamp(..)
        | DataType::Time32(_)
        | DataType::Time64(_) => Some(DataType::Utf8),
        DataType::List(item) => {
            let item = item.as_ref().clone().with_data_type(type_read(item.data_type())?);
            Some(DataType::List(Arc::new(item)))
        }
        DataType::Struct(fields) => fields_read(fields).map(DataType::Struct),
        decimal => wider(decimal),
    }
}

/// Returns fields with the types to read their values with; `None` if all types stay.
fn fields_read(fields: &Fields) -> Option<Fields> {
    let types: Vec<_> = fields.iter().map(|field| type_read(field.data_type())).collect();
    types.iter().any(Option::is_some).then(|| {
        let with = |(field, data_type): (&Arc<Field>, Option<DataType>)| match data_type {
            Some(data_type) => Arc::new(field.as_ref().clone().with_data_type(data_type)),
            None => Arc::clone(field),
        };
        fields.iter().zip(types).map(with).collect()
    })
}
