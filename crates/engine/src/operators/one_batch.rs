//! A sink that makes a file even if there are no rows.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::StreamExt;

/// Returns the plan with a sink that gets one empty batch instead of none. Without it, a query without rows would
/// leave no file that shows the columns.
pub(super) fn with_a_batch(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let Some(writes) = plan.downcast_ref::<DataSinkExec>() else { return plan };
    let (input, order) = (Arc::clone(writes.input()), writes.sort_order().clone());
    Arc::new(DataSinkExec::new(input, Arc::new(OneBatchSink(writes.clone())), order))
}

/// Passes all batches to the sink of a plan, or one empty batch if there are none.
#[derive(Debug)]
struct OneBatchSink(DataSinkExec);

impl DisplayAs for OneBatchSink {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.sink().fmt_as(t, f)
    }
}

#[async_trait]
impl DataSink for OneBatchSink {
    fn metrics(&self) -> Option<MetricsSet> {
        self.0.sink().metrics()
    }

    fn schema(&self) -> &SchemaRef {
        self.0.sink().schema()
    }

    async fn write_all(
        &self,
        data: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        let schema = data.schema();
        let mut data = data.peekable();
        let of_nothing = match Pin::new(&mut data).peek().await {
            None => Some(Ok(RecordBatch::new_empty(Arc::clone(&schema)))),
            Some(_) => None,
        };
        let batches = futures::stream::iter(of_nothing).chain(data);
        let batches = Box::pin(RecordBatchStreamAdapter::new(schema, batches));
        self.0.sink().write_all(batches, context).await
    }
}
