//! The options of a CSV table that determine where its records begin and what they contain.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Decoder;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::common::config::CsvOptions;
use datafusion::datasource::physical_plan::{CsvSource, FileSource};
use sluicegate_client::text_values::TextValues;
use sluicegate_index::layout::FormatMessage;

use crate::text::csv::values::{as_text, options_of};

/// The options with which a CSV table reads its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvText {
    /// The number of fields of a record.
    pub columns: usize,
    /// True if the first record is a header.
    pub header: bool,
    /// The byte that separates fields.
    pub delimiter: u8,
    /// The byte that encloses fields.
    pub quote: u8,
    /// The byte that escapes a quote, besides a second quote.
    pub escape: Option<u8>,
    /// The byte that begins a comment.
    pub comment: Option<u8>,
    /// The byte that ends a record, or `None` for any usual line end.
    pub terminator: Option<u8>,
    /// True if records may have fewer fields.
    pub truncated_rows: bool,
}

impl CsvText {
    /// Returns the options of DataFusion's source.
    #[must_use]
    pub fn from_csv(csv: &CsvSource) -> Self {
        Self {
            columns: csv.table_schema().file_schema().fields().len(),
            header: csv.has_header(),
            delimiter: csv.delimiter(),
            quote: csv.quote(),
            escape: csv.escape(),
            comment: csv.comment(),
            terminator: csv.terminator(),
            truncated_rows: csv.truncate_rows(),
        }
    }

    /// Returns DataFusion's reader of such text, for one column.
    ///
    /// # Errors
    ///
    /// If the schema has no such column.
    pub fn decoder(
        &self,
        schema: &SchemaRef,
        column: usize,
        batch_size: usize,
    ) -> Result<CsvDecoder> {
        self.decoder_of(schema, vec![column], batch_size)
    }

    /// Returns the reader of such text for several columns.
    ///
    /// # Errors
    ///
    /// If the schema lacks one of them.
    pub fn decoder_of(
        &self,
        schema: &SchemaRef,
        columns: Vec<usize>,
        batch_size: usize,
    ) -> Result<CsvDecoder> {
        let values = TextValues::for_schema(&Arc::new(schema.project(&columns)?));
        let schema = match &values {
            Some(values) => as_text(schema, &columns, values.read()),
            None => Arc::clone(schema),
        };
        let mut builder = ReaderBuilder::new(schema)
            .with_delimiter(self.delimiter)
            .with_quote(self.quote)
            .with_header(self.header)
            .with_truncated_rows(self.truncated_rows)
            .with_batch_size(batch_size)
            .with_projection(columns);
        if let Some(escape) = self.escape {
            builder = builder.with_escape(escape);
        }
        if let Some(comment) = self.comment {
            builder = builder.with_comment(comment);
        }
        if let Some(terminator) = self.terminator {
            builder = builder.with_terminator(terminator);
        }
        Ok(CsvDecoder { inner: builder.build_decoder(), values })
    }

    /// Returns a source like `csv` for records without a header.
    #[must_use]
    pub fn headless(csv: &CsvSource) -> CsvSource {
        csv.clone().with_csv_options(CsvOptions { has_header: Some(false), ..options_of(csv) })
    }

    /// Returns an empty record, which every reader of such text skips.
    #[must_use]
    pub fn blank_record(&self) -> [u8; 1] {
        [self.terminator.unwrap_or(b'\n')]
    }

    /// Returns the options as an index object stores them.
    #[must_use]
    pub fn message(&self) -> FormatMessage {
        FormatMessage {
            columns: self.columns as u64,
            header: self.header,
            delimiter: u32::from(self.delimiter),
            quote: u32::from(self.quote),
            escape: self.escape.map(u32::from),
            comment: self.comment.map(u32::from),
            terminator: self.terminator.map(u32::from),
            truncated_rows: self.truncated_rows,
            kind: 0,
        }
    }
}

/// Parses columns of a CSV text as a query does.
#[derive(Debug)]
pub struct CsvDecoder {
    inner: Decoder,
    values: Option<TextValues>,
}

impl CsvDecoder {
    /// Parses bytes until a batch is full, and returns their number. No bytes mark the end of the text.
    ///
    /// # Errors
    ///
    /// If the bytes cannot be parsed.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<usize, ArrowError> {
        self.inner.decode(bytes)
    }

    /// Returns the number of records that still fit the batch.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    /// Returns the rows since the last batch, or `None` if there are none.
    ///
    /// # Errors
    ///
    /// If a value does not fit its column's type.
    pub fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        match (self.inner.flush()?, &self.values) {
            (Some(batch), Some(values)) => {
                values.parsed(&batch).map(Some).map_err(|bad| bad.at(bad.row))
            }
            (batch, _) => Ok(batch),
        }
    }
}
