//! Arrow and Avro files, which no S3 Select reads: they are fetched with GET and decoded locally.
//!
//! [`DecodedSource`] is the source of a scan. [`ipc`] and [`avro`] decode the bytes of one file as they arrive, so that
//! a scan holds one message or block at a time. DataFusion's own readers hold whole files, read the columns of Arrow
//! files by position, and allocate what a damaged file names. [`schema`] reads the columns of a file from its first
//! bytes. [`adapted`] gives rows the columns of the table, by name.

mod adapted;
mod avro;
mod avro_blocks;
mod ipc;
pub(crate) mod schema;

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    ArrowSource, FileOpenFuture, FileOpener, FileScanConfig, FileSource,
};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectStore, ObjectStoreExt};

use self::adapted::Adapter;
use crate::context::panics;
use crate::text::located_errors::{BATCH_SIZE, conforming_opener};
use crate::{ErrorKind, UserError};

/// A format that is decoded locally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodedFormat {
    /// Arrow IPC: the file format and the stream format, which each file shows itself.
    Arrow,
    /// Avro's object container files.
    Avro,
}

impl DecodedFormat {
    /// Returns the name of the format in lower case, which is also its usual extension.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Arrow => "arrow",
            Self::Avro => "avro",
        }
    }

    /// Returns the name of the format in sentences.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Arrow => "Arrow",
            Self::Avro => "Avro",
        }
    }

    /// Returns the error for a file that does not follow the format.
    fn fault(self, object: &str, Fault(why): Fault) -> DataFusionError {
        UserError {
            kind: ErrorKind::Data,
            message: format!("`{object}` cannot be read as {}: {why}", self.title()),
            hint: Some("Write it again, or name the files that are whole.".to_owned()),
        }
        .into()
    }

    /// Runs a step of decoding a file; errors and panics of the reader name the file.
    fn step<T>(self, object: &str, step: impl FnOnce() -> Decoded<T>) -> Result<T> {
        match catch_unwind(AssertUnwindSafe(step)) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(fault)) => Err(self.fault(object, fault)),
            Err(panic) => {
                let why = format!("it is damaged ({})", panics::message(panic.as_ref()));
                Err(self.fault(object, Fault(why)))
            }
        }
    }
}

/// The reason why a file cannot be decoded.
#[derive(Debug)]
struct Fault(String);

type Decoded<T> = std::result::Result<T, Fault>;

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Decodes the bytes of one file as they arrive.
trait FileDecoder: Send {
    /// Decodes the next bytes. `rows` receives the complete batches.
    ///
    /// # Errors
    ///
    /// If the bytes do not follow the format.
    fn push(&mut self, bytes: &[u8], rows: &mut VecDeque<RecordBatch>) -> Decoded<()>;

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// If the file is cut short.
    fn end(&mut self, rows: &mut VecDeque<RecordBatch>) -> Decoded<()>;
}

/// The source of a scan that decodes files locally.
#[derive(Clone)]
pub(crate) struct DecodedSource {
    format: DecodedFormat,
    /// Holds the columns and the projection. It reads nothing.
    columns: Arc<dyn FileSource>,
    /// The maximum number of rows in a batch.
    batch_size: usize,
    metrics: ExecutionPlanMetricsSet,
}

impl DecodedSource {
    /// Creates a source of files with all columns of a table.
    pub(crate) fn new(format: DecodedFormat, table_schema: impl Into<TableSchema>) -> Self {
        Self::over(format, Arc::new(ArrowSource::new_file_source(table_schema)))
    }

    /// Creates a source with the columns and the projection of another one.
    pub(crate) fn over(format: DecodedFormat, columns: Arc<dyn FileSource>) -> Self {
        let metrics = ExecutionPlanMetricsSet::new();
        Self { format, columns, batch_size: BATCH_SIZE, metrics }
    }

    /// Returns the format.
    pub(crate) fn format(&self) -> DecodedFormat {
        self.format
    }

    /// Returns the source that holds the columns and the projection, which plans are encoded with.
    pub(crate) fn columns(&self) -> &Arc<dyn FileSource> {
        &self.columns
    }
}

impl fmt::Debug for DecodedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecodedSource({:?})", self.format)
    }
}

impl FileSource for DecodedSource {
    fn create_file_opener(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        _partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let table = self.columns.table_schema();
        let projection = match self.columns.projection() {
            Some(projection) => SplitProjection::new(table.file_schema(), projection),
            None => SplitProjection::unprojected(table),
        };
        let opener = DecodedOpener {
            format: self.format,
            columns: Arc::new(table.file_schema().project(&projection.file_indices)?),
            batch_size: self.batch_size,
            place: base_config.object_store_url.as_str().trim_end_matches('/').to_owned(),
            store: object_store,
        };
        let opener = ProjectionOpener::try_new(projection, Arc::new(opener), table.file_schema())?;
        conforming_opener(opener, self.columns.as_ref())
    }

    fn table_schema(&self) -> &TableSchema {
        self.columns.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(Self { batch_size, ..self.clone() })
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        None
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.columns.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        self.format.name()
    }

    fn fmt_extra(&self, _: DisplayFormatType, _: &mut fmt::Formatter) -> fmt::Result {
        Ok(())
    }

    fn supports_repartitioning(&self) -> bool {
        // Decoding starts at the beginning of a file.
        false
    }

    fn repartitioned(
        &self,
        _target_partitions: usize,
        _repartition_file_min_size: usize,
        _output_ordering: Option<LexOrdering>,
        _config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        Ok(None)
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let columns = self.columns.try_pushdown_projection(projection)?;
        Ok(columns.map(|columns| Arc::new(Self { columns, ..self.clone() }) as Arc<dyn FileSource>))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.columns.apply_expressions(f)
    }
}

struct DecodedOpener {
    format: DecodedFormat,
    /// The columns of the table that are read.
    columns: SchemaRef,
    batch_size: usize,
    /// The URL of the store.
    place: String,
    store: Arc<dyn ObjectStore>,
}

impl FileOpener for DecodedOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let object = match self.place.strip_prefix("file://") {
            Some(root) => format!("{root}/{}", file.object_meta.location),
            None => format!("{}/{}", self.place, file.object_meta.location),
        };
        let store = Arc::clone(&self.store);
        let (format, columns, batch_size) =
            (self.format, Arc::clone(&self.columns), self.batch_size);
        Ok(Box::pin(async move {
            let location = &file.object_meta.location;
            let footer = match format {
                DecodedFormat::Arrow if file.object_meta.size > 0 => {
                    schema::footer(&store, location, file.object_meta.size).await?
                }
                _ => None,
            };
            let dictionaries = match &footer {
                Some(footer) => store.get_ranges(location, &footer.dictionaries()).await?,
                None => Vec::new(),
            };
            let bytes = store.get(location).await?;
            let size = bytes.meta.size;
            let names = columns.fields().iter().map(|field| field.name().clone()).collect();
            let decoder: Box<dyn FileDecoder> = match format {
                DecodedFormat::Arrow => {
                    let mut decoder = ipc::IpcDecoder::new(size, names, footer);
                    format.step(&object, || {
                        dictionaries.iter().try_for_each(|it| decoder.listed(it).map(drop))
                    })?;
                    Box::new(decoder)
                }
                DecodedFormat::Avro => Box::new(avro::AvroDecoder::new(size, names, batch_size)),
            };
            let reading = Reading {
                format,
                object,
                bytes: bytes.into_stream().map_err(DataFusionError::from).boxed(),
                decoder,
                adapter: Adapter::new(columns),
                rows: VecDeque::new(),
                batch_size,
                is_empty: size == 0,
            };
            Ok(reading.batches())
        }))
    }
}

/// A file that is being read.
struct Reading {
    format: DecodedFormat,
    object: String,
    bytes: BoxStream<'static, Result<bytes::Bytes>>,
    decoder: Box<dyn FileDecoder>,
    adapter: Adapter,
    /// The batches that are decoded and not yet returned.
    rows: VecDeque<RecordBatch>,
    batch_size: usize,
    /// True after the end of the file, and for a file without a byte, which has no rows.
    is_empty: bool,
}

impl Reading {
    fn batches(self) -> BoxStream<'static, Result<RecordBatch>> {
        stream::try_unfold(self, |mut reading| async move {
            Ok(reading.next().await?.map(|rows| (rows, reading)))
        })
        .boxed()
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while self.rows.is_empty() && !self.is_empty {
            let part = self.bytes.try_next().await?;
            self.is_empty = part.is_none();
            let (decoder, rows) = (&mut self.decoder, &mut self.rows);
            self.format.step(&self.object, || match part {
                Some(part) => decoder.push(&part, rows),
                None => decoder.end(rows),
            })?;
        }
        let Some(mut batch) = self.rows.pop_front() else { return Ok(None) };
        if batch.num_rows() > self.batch_size {
            let rest = batch.slice(self.batch_size, batch.num_rows() - self.batch_size);
            self.rows.push_front(rest);
            batch = batch.slice(0, self.batch_size);
        }
        let (adapter, object) = (&mut self.adapter, &self.object);
        let adapted = catch_unwind(AssertUnwindSafe(|| adapter.adapt(&batch)));
        match adapted {
            Ok(Ok(batch)) => Ok(Some(batch)),
            Ok(Err(error)) => Err(self.format.fault(object, Fault(error.strip_backtrace()))),
            Err(panic) => {
                let why = format!("it is damaged ({})", panics::message(panic.as_ref()));
                Err(self.format.fault(object, Fault(why)))
            }
        }
    }
}

/// Returns the positions of columns in a file, in the order of the file. Columns that the file lacks are left out.
fn positions(file: &Schema, names: &[String]) -> Vec<usize> {
    let mut positions: Vec<usize> =
        names.iter().filter_map(|name| Some(file.column_with_name(name)?.0)).collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}
