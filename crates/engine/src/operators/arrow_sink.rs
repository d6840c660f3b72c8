//! A sink that writes Arrow files. DataFusion's own sink cannot be given the folders of partitions.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow::ipc::writer::{FileWriter, IpcWriteOptions};
use arrow::ipc::{CompressionType, MetadataVersion};
use async_trait::async_trait;
use datafusion::common::runtime::{JoinSet, SpawnedTask};
use datafusion::common::{DataFusionError, Result, not_impl_err};
use datafusion::datasource::physical_plan::{FileSink, FileSinkConfig};
use datafusion::datasource::sink::DataSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use object_store::ObjectStore;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};

/// The number of bytes of a file that are collected before they are sent.
const AT_ONCE: usize = 1 << 20;

/// Writes files that are compressed by LZ4.
pub(crate) struct ArrowSink {
    config: FileSinkConfig,
    /// The columns of the files.
    columns: SchemaRef,
}

impl ArrowSink {
    /// Creates a sink.
    ///
    /// # Errors
    ///
    /// If it is to replace rows.
    pub(crate) fn new(config: FileSinkConfig) -> Result<Self> {
        if config.insert_op != InsertOp::Append {
            return not_impl_err!("INSERT OVERWRITE of Arrow files");
        }
        let is_written = |field: &&FieldRef| {
            let mut folders = config.table_partition_cols.iter();
            config.keep_partition_by_columns || !folders.any(|(name, _)| name == field.name())
        };
        let all = config.output_schema();
        let columns: Vec<FieldRef> = all.fields().iter().filter(is_written).cloned().collect();
        let columns = Arc::new(Schema::new_with_metadata(columns, all.metadata().clone()));
        Ok(Self { config, columns })
    }
}

impl fmt::Debug for ArrowSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowSink").finish_non_exhaustive()
    }
}

impl DisplayAs for ArrowSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArrowSink")
    }
}

#[async_trait]
impl DataSink for ArrowSink {
    fn schema(&self) -> &SchemaRef {
        self.config.output_schema()
    }

    async fn write_all(
        &self,
        rows: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        FileSink::write_all(self, rows, context).await
    }
}

#[async_trait]
impl FileSink for ArrowSink {
    fn config(&self) -> &FileSinkConfig {
        &self.config
    }

    async fn spawn_writer_tasks_and_join(
        &self,
        context: &Arc<TaskContext>,
        demux: SpawnedTask<Result<()>>,
        mut files: UnboundedReceiver<(Path, Receiver<RecordBatch>)>,
        store: Arc<dyn ObjectStore>,
    ) -> Result<u64> {
        let buffer = context.session_config().options().execution.objectstore_writer_buffer_size;
        let mut writes = JoinSet::new();
        while let Some((path, rows)) = files.recv().await {
            let target = BufWriter::with_capacity(Arc::clone(&store), path, buffer);
            writes.spawn(write(Arc::clone(&self.columns), target, rows));
        }
        let mut count = 0;
        let joined = |error| DataFusionError::ExecutionJoin(Box::new(error));
        while let Some(written) = writes.join_next().await {
            count += written.map_err(joined)??;
        }
        demux.join_unwind().await.map_err(joined)??;
        Ok(count)
    }
}

/// Writes a file. Returns the number of its rows.
async fn write(
    columns: SchemaRef,
    mut target: BufWriter,
    mut rows: Receiver<RecordBatch>,
) -> Result<u64> {
    let options = IpcWriteOptions::try_new(64, false, MetadataVersion::V5)?;
    let options = options.try_with_compression(Some(CompressionType::LZ4_FRAME))?;
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &columns, options)?;
    let mut count = 0;
    while let Some(batch) = rows.recv().await {
        count += batch.num_rows() as u64;
        writer.write(&batch)?;
        if writer.get_ref().len() >= AT_ONCE {
            target.write_all(&std::mem::take(writer.get_mut())).await?;
        }
    }
    writer.finish()?;
    target.write_all(&std::mem::take(writer.get_mut())).await?;
    target.shutdown().await?;
    Ok(count)
}
