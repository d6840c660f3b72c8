//! Writes rows as record batches of an Arrow IPC stream.
//!
//! Rows wait in columns of the wanted types until they make a record batch, which is then written. Columns are
//! converted as a whole where that is possible. If a value cannot be converted, the rows are written one by one, so
//! that the rows before it are part of the answer and the error names its column.
//!
//! The schema and the end of the stream are written by whoever begins and ends the answer. The threads that evaluate
//! the parts of an object write record batches only.

mod boolean;
mod column;
mod conversion;
mod dictionary;
mod primitive;
#[cfg(test)]
mod tests;
mod text;
mod types;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow_ipc::writer::{
    DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message,
};
use arrow_ipc::{CompressionType, MetadataVersion};

use self::column::{Column, Taken, put_vector};
use self::types::{data_type, new_column, width};
use super::{Fields, Item, MAX_ROW_BYTES, too_long};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::{ArrowCompression, ArrowOutput, ArrowType};

/// The most rows of a record batch.
const MAX_ROWS: usize = 8192;

/// The bytes of values at which a record batch is written. It may be exceeded by the last rows, by up to 1 MiB.
const BATCH_BYTES: usize = 512 << 10;

/// The bytes of converted dictionaries that all columns together keep. A statement may name a column many times.
const DICTIONARY_BYTES: usize = 32 << 20;

/// The marker of the end of a stream: a message without metadata.
const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// The alignment of buffers in a message, in bytes, which is that of decimals.
const ALIGNMENT: usize = 16;

/// Collects rows and writes them as record batches.
pub(super) struct ArrowWriter {
    schema: SchemaRef,
    types: Vec<ArrowType>,
    messages: Messages,
    columns: Vec<Box<dyn Column>>,
    /// The number of rows in the columns.
    rows: usize,
    /// The bytes of a row without its texts.
    fixed_bytes: usize,
    /// The column of the next field, and the bytes of text in the row so far.
    at: usize,
    row_text: usize,
    /// The number of rows to convert at once, about a record batch.
    step: usize,
}

impl std::fmt::Debug for ArrowWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowWriter").field("types", &self.types).finish_non_exhaustive()
    }
}

impl ArrowWriter {
    pub(super) fn new(options: &ArrowOutput) -> Result<Self, SelectError> {
        let types = options.columns.clone();
        let fields = types
            .iter()
            .enumerate()
            .map(|(at, of)| Field::new(format!("c{at}"), data_type(*of), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let messages = Messages::new(&schema, options.compression).map_err(internal)?;
        let budget = DICTIONARY_BYTES / types.len().max(1);
        let columns = types.iter().map(|of| new_column(*of, budget)).collect();
        let fixed_bytes = types.iter().map(|of| width(*of)).sum();
        Ok(Self {
            schema,
            types,
            messages,
            columns,
            rows: 0,
            fixed_bytes,
            at: 0,
            row_text: 0,
            step: rows_of(BATCH_BYTES, fixed_bytes),
        })
    }

    /// Returns the message with the schema.
    pub(super) fn head(&self) -> &[u8] {
        &self.messages.schema
    }

    /// Appends the end of the stream, after which there must be no more rows.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), SelectError> {
        out.extend_from_slice(&END);
        Ok(())
    }

    pub(super) fn begin(&mut self) {
        (self.at, self.row_text) = (0, 0);
    }

    pub(super) fn put(&mut self, item: Item<'_>) -> Result<(), SelectError> {
        let at = self.at;
        self.at += 1;
        self.row_text += item.text_len();
        if self.row_text > MAX_ROW_BYTES {
            return Err(too_long());
        }
        let column = self.columns.get_mut(at).ok_or_else(|| other_count(at + 1, at))?;
        column.put(item).ok_or_else(|| cannot_hold(at, self.types[at], item))
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) -> Result<(), SelectError> {
        if self.at != self.columns.len() {
            return Err(other_count(self.at, self.columns.len()));
        }
        self.rows += 1;
        self.write_if_full(out)
    }

    /// Removes the unfinished row.
    pub(super) fn abandon_row(&mut self) {
        self.columns.iter_mut().for_each(|column| column.truncate(self.rows));
    }

    /// Writes the first rows from the values of their columns, and returns their number. Returns `None`, without
    /// writing, if the first row cannot be written in this way.
    pub(super) fn put_columns<'a>(
        &mut self,
        fields: impl Iterator<Item = Fields<'a>> + Clone,
        rows: &[u32],
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, SelectError> {
        let mut count = rows.len().min(MAX_ROWS - self.rows).min(self.step);
        loop {
            if let Some(texts) = self.convert(fields.clone(), &rows[..count], block) {
                self.rows += count;
                self.step = rows_of(BATCH_BYTES, self.fixed_bytes + texts.div_ceil(count.max(1)));
                self.write_if_full(out)?;
                return Ok(Some(count));
            }
            self.abandon_row();
            if count <= 1 {
                return Ok(None);
            }
            count /= 2;
        }
    }

    /// Appends rows to the columns, and returns the bytes of their text. Returns `None` if a value does not fit its
    /// type, or there is too much text.
    fn convert<'a>(
        &mut self,
        fields: impl Iterator<Item = Fields<'a>>,
        rows: &[u32],
        block: &[u8],
    ) -> Option<usize> {
        let (mut left, rows) = (MAX_ROW_BYTES, Taken::ascending(rows));
        let mut columns = self.columns.iter_mut();
        for fields in fields {
            let column = columns.next()?;
            let before = column.text_bytes();
            match fields {
                Fields::Values(vector) => put_vector(&mut **column, vector, rows, block, left)?,
                Fields::Codes(codes) => column.put_codes(codes, rows, left)?,
            }
            left = left.checked_sub(column.text_bytes() - before)?;
        }
        if columns.next().is_some() {
            return None;
        }
        // Texts of a dictionary were counted with the first row that has them.
        let longest = self.columns.iter().map(|column| column.longest_coded()).sum::<usize>();
        (longest <= left).then_some(MAX_ROW_BYTES - left)
    }

    fn write_if_full(&mut self, out: &mut Vec<u8>) -> Result<(), SelectError> {
        let texts = self.columns.iter().map(|column| column.text_bytes()).sum::<usize>();
        match self.rows >= MAX_ROWS || texts + self.rows * self.fixed_bytes >= BATCH_BYTES {
            true => self.flush(out),
            false => Ok(()),
        }
    }

    /// Writes the rows so far.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), SelectError> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let arrays: Vec<ArrayRef> = self.columns.iter_mut().map(|column| column.finish()).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(internal)?;
        self.messages.write(&batch, out).map_err(internal)
    }
}

/// Encodes record batches, each with all of its dictionaries, as the threads that evaluate the parts of an object do
/// not know which dictionaries were sent.
struct Messages {
    /// The message with the schema.
    schema: Vec<u8>,
    /// The number of columns with a dictionary.
    dictionaries: usize,
    options: IpcWriteOptions,
    encoder: IpcDataGenerator,
    tracker: DictionaryTracker,
    context: IpcWriteContext,
}

impl Messages {
    fn new(schema: &Schema, compression: Option<ArrowCompression>) -> Result<Self, ArrowError> {
        let compression = compression.map(|compression| match compression {
            ArrowCompression::Lz4 => CompressionType::LZ4_FRAME,
            ArrowCompression::Zstd => CompressionType::ZSTD,
        });
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?
            .try_with_compression(compression)?;
        let (encoder, mut tracker) = (IpcDataGenerator::default(), DictionaryTracker::new(false));
        let encoded =
            encoder.schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &options);
        let mut message = Vec::new();
        write_message(&mut message, encoded, &options)?;
        let dictionaries = tracker.dict_id().len();
        tracker.clear();
        let context = IpcWriteContext::default();
        Ok(Self { schema: message, dictionaries, options, encoder, tracker, context })
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let Self { options, encoder, tracker, context, .. } = self;
        for _ in 0..self.dictionaries {
            tracker.next_dict_id();
        }
        let (dictionaries, batch) = encoder.encode(batch, tracker, options, context)?;
        tracker.clear();
        for message in dictionaries.into_iter().chain([batch]) {
            write_message(&mut *out, message, options)?;
        }
        Ok(())
    }
}

/// Returns the number of rows for these bytes.
fn rows_of(bytes: usize, row_bytes: usize) -> usize {
    (bytes / row_bytes.max(1)).clamp(1, MAX_ROWS)
}

#[cold]
fn cannot_hold(column: usize, of: ArrowType, item: Item<'_>) -> SelectError {
    let value = item.type_name();
    SelectError::new(
        SelectErrorCode::CastFailed,
        format!("The type {of} of column c{column} cannot hold this {value} exactly."),
    )
}

/// Returns the error for a statement with another number of columns than types.
#[cold]
pub(super) fn other_count(items: usize, types: usize) -> SelectError {
    SelectError::new(
        SelectErrorCode::InvalidRequestParameter,
        format!("The statement returns {items} columns, but {types} types are given for Arrow."),
    )
}

#[cold]
fn internal(error: ArrowError) -> SelectError {
    let message = format!("An Arrow message cannot be written: {error}");
    SelectError::new(SelectErrorCode::InternalError, message)
}
