//! A JSON sink in which every record has all columns.
//!
//! DataFusion omits keys without a value, so a column without a value in any row would be missing from the file.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::json::WriterBuilder;
use arrow::json::writer::LineDelimited;
use async_trait::async_trait;
use bytes::Bytes;
use datafusion::common::Result;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::file_format::json::JsonSink;
use datafusion::datasource::file_format::write::BatchSerializer;
use datafusion::datasource::file_format::write::demux::DemuxedStreamReceiver;
use datafusion::datasource::file_format::write::orchestration::spawn_writer_tasks_and_join;
use datafusion::datasource::physical_plan::{FileSink, FileSinkConfig};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use object_store::ObjectStore;

/// Returns the plan with a JSON sink that writes `null` for missing values. Other plans stay as they are.
pub(super) fn with_nulls(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let Some(writes) = plan.downcast_ref::<DataSinkExec>() else { return plan };
    let Some(json) = writes.sink().downcast_ref::<JsonSink>() else { return plan };
    let sink = ExplicitNulls(JsonSink::new(json.config().clone(), json.writer_options().clone()));
    let (input, order) = (Arc::clone(writes.input()), writes.sort_order().clone());
    Arc::new(DataSinkExec::new(input, Arc::new(sink), order))
}

/// A JSON sink that writes explicit nulls.
#[derive(Debug)]
pub(super) struct ExplicitNulls(JsonSink);

impl DisplayAs for ExplicitNulls {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as(t, f)
    }
}

#[async_trait]
impl FileSink for ExplicitNulls {
    fn config(&self) -> &FileSinkConfig {
        self.0.config()
    }

    async fn spawn_writer_tasks_and_join(
        &self,
        context: &Arc<TaskContext>,
        demux_task: SpawnedTask<Result<()>>,
        file_stream_rx: DemuxedStreamReceiver,
        object_store: Arc<dyn ObjectStore>,
    ) -> Result<u64> {
        let options = self.0.writer_options();
        spawn_writer_tasks_and_join(
            context,
            Arc::new(Serializer),
            options.compression.into(),
            options.compression_level,
            object_store,
            demux_task,
            file_stream_rx,
        )
        .await
    }
}

#[async_trait]
impl DataSink for ExplicitNulls {
    fn metrics(&self) -> Option<MetricsSet> {
        DataSink::metrics(&self.0)
    }

    fn schema(&self) -> &SchemaRef {
        self.0.schema()
    }

    async fn write_all(
        &self,
        rows: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        FileSink::write_all(self, rows, context).await
    }
}

struct Serializer;

impl BatchSerializer for Serializer {
    fn serialize(&self, batch: RecordBatch, _is_first: bool) -> Result<Bytes> {
        let mut text = Vec::with_capacity(4096);
        let builder = WriterBuilder::new().with_explicit_nulls(true);
        builder.build::<_, LineDelimited>(&mut text).write(&batch)?;
        Ok(text.into())
    }
}
