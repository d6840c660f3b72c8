//! The rows of JSON files, parsed as DataFusion does, with four differences:
//!
//! - Decimals are rounded to the digits of their type.
//! - Numbers and booleans become text in columns whose first values are of both kinds.
//! - Errors name the line.
//! - Records have a maximum length.
//!
//! DataFusion's reader has no option for the first two and does not expose lines. `lines` cuts parts of a file, `array`
//! separates the elements of an array, and `error_lines` finds the line of an error.

mod array;
mod error_lines;
mod lines;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use bytes::Bytes;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener, FileSource};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::{GetOptions, ObjectStore};
use sluicegate_client::json_decoder::JsonDecoder;

use self::array::Elements;
use self::error_lines::PendingText;
use crate::text::byte_observer::stream_of;
use crate::text::located_errors::TextLayout;
use crate::text::record_limit::{MOST_BYTES, too_long};

/// The type of text columns that also contain numbers or booleans. DataFusion declares no such column, so the type
/// marks them. Their values are read with GET, because a store may write a number as a different text.
pub(crate) const MIXED: DataType = DataType::LargeUtf8;

/// Returns true if a column, or a nested part of it, has the type [`MIXED`].
pub(crate) fn is_mixed(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| is_mixed(field.data_type())),
        DataType::List(item) => is_mixed(item.data_type()),
        other => *other == MIXED,
    }
}

/// Returns a decoder of JSON values into rows of these columns.
///
/// # Errors
///
/// If JSON has no values of a column's type.
pub(crate) fn decoder(columns: SchemaRef, batch_size: usize) -> Result<JsonDecoder, ArrowError> {
    let as_text = columns.fields().iter().any(|field| is_mixed(field.data_type()));
    JsonDecoder::new(columns, batch_size, as_text)
}

/// Returns an opener of JSON files for a source. `store` returns their text, and `place` names the store in errors.
///
/// # Errors
///
/// If the source reads columns that its files do not have.
pub(crate) fn opener(
    source: &dyn FileSource,
    layout: TextLayout,
    store: Arc<dyn ObjectStore>,
    place: &str,
    batch_size: usize,
) -> Result<Arc<dyn FileOpener>> {
    let table = source.table_schema();
    let projection = match source.projection() {
        Some(projection) => SplitProjection::new(table.file_schema(), projection),
        None => SplitProjection::unprojected(table),
    };
    let columns = Arc::new(table.file_schema().project(&projection.file_indices)?);
    let rows = RowsOpener { layout, store, place: place.to_owned(), columns, batch_size };
    ProjectionOpener::try_new(projection, Arc::new(rows), table.file_schema())
}

struct RowsOpener {
    layout: TextLayout,
    store: Arc<dyn ObjectStore>,
    place: String,
    columns: SchemaRef,
    batch_size: usize,
}

impl FileOpener for RowsOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let (store, columns) = (Arc::clone(&self.store), Arc::clone(&self.columns));
        let (layout, batch_size) = (self.layout, self.batch_size);
        let location = file.object_meta.location.clone();
        let place = format!("{}/{location}", self.place);
        let range = file.range.as_ref().map(|_| file.range()).map(|(start, end)| start..end);
        let decoder = decoder(Arc::clone(&columns), batch_size)?;
        Ok(Box::pin(async move {
            let text = match range {
                Some(range) => {
                    lines::of_range(store, location, range, file.object_meta.size).await?
                }
                None => {
                    let answer = store.get_opts(&location, GetOptions::default()).await?;
                    let range = answer.range.clone();
                    stream_of(answer.payload, range)?
                }
            };
            let text = text.map_err(DataFusionError::from).boxed();
            let text = match layout {
                TextLayout::JsonArray => Elements::stream(text),
                _ => text,
            };
            // The last batch follows the end of the text, so the stream is polled again.
            let text = text.fuse().boxed();
            let held = PendingText::new(columns);
            let rows = Rows { text, part: Bytes::new(), decoder, held, record_bytes: 0, place };
            let batches = stream::try_unfold(Some(rows), |rows| async {
                let Some(mut rows) = rows else { return Ok(None) };
                let batch = rows.next().await?;
                Ok(batch.map(|batch| (batch, Some(rows))))
            });
            Ok(batches.boxed())
        }))
    }
}

struct Rows {
    text: BoxStream<'static, Result<Bytes>>,
    /// Bytes that were received and are not decoded yet.
    part: Bytes,
    decoder: JsonDecoder,
    held: PendingText,
    /// The approximate number of bytes of the incomplete record.
    record_bytes: usize,
    place: String,
}

impl Rows {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            while self.part.is_empty() {
                match self.text.try_next().await? {
                    Some(part) => self.part = part,
                    None => return self.flush(),
                }
            }
            let rows = self.decoder.len();
            let used = match self.decoder.decode(&self.part) {
                Ok(used) => used,
                Err(error) => {
                    self.held.add(self.part.clone());
                    return Err(self.held.located(error));
                }
            };
            self.held.add(self.part.split_to(used));
            let is_complete = self.decoder.len() > rows;
            self.record_bytes = if is_complete { 0 } else { self.record_bytes + used };
            if self.record_bytes > MOST_BYTES {
                return Err(too_long(&self.place).into());
            }
            // The decoder stops before the end of the bytes where a batch is full.
            if !self.part.is_empty() {
                return match self.flush()? {
                    None if used == 0 => internal_err!("a reader of JSON does not go on"),
                    None => continue,
                    batch => Ok(batch),
                };
            }
        }
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        match self.decoder.flush() {
            Ok(batch) => {
                self.held.pass();
                Ok(batch)
            }
            Err(error) => Err(self.held.located(error)),
        }
    }
}
