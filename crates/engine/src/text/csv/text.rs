//! The options of a CSV table that determine where its records begin and what they contain.

use std::sync::Arc;

use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Decoder;
use arrow::datatypes::SchemaRef;
use datafusion::common::config::CsvOptions;
use datafusion::datasource::physical_plan::{CsvSource, FileSource};

use sluicegate_index::layout::FormatMessage;

use crate::text::csv::times::options_of;

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
    #[must_use]
    pub fn decoder(&self, schema: &SchemaRef, column: usize, batch_size: usize) -> Decoder {
        self.decoder_of(schema, vec![column], batch_size)
    }

    /// Returns DataFusion's reader of such text, for several columns.
    #[must_use]
    pub fn decoder_of(
        &self,
        schema: &SchemaRef,
        columns: Vec<usize>,
        batch_size: usize,
    ) -> Decoder {
        let mut builder = ReaderBuilder::new(Arc::clone(schema))
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
        builder.build_decoder()
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
