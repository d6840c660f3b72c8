//! The root of a plan in stages, which runs at the coordinator.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion_distributed::{
    DistributedExec, DistributedExt, DistributedMetricsFormat,
    rewrite_distributed_plan_with_metrics,
};
use futures::{StreamExt, TryStreamExt, stream};
use sluicegate_engine::UserError;
use sluicegate_engine::endpoints::resolve;
use sluicegate_engine::guards::{one_child, without_expressions};
use sluicegate_engine::query::QueryCounters;

use crate::draining::query_header;
use crate::{settings, worker_counts};

/// The time-out for the workers' request counts, from the last row on.
const COUNTS: Duration = Duration::from_secs(10);

/// Runs a plan in stages, and adds the requests that workers send to stores to the query's counters.
#[derive(Debug)]
pub(crate) struct ClusterExec {
    input: Arc<dyn ExecutionPlan>,
    workers: usize,
    /// The number of join filters that scans do not receive, because another stage produces them.
    keys: usize,
}

impl ClusterExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, workers: usize, keys: usize) -> Self {
        Self { input, workers, keys }
    }
}

impl DisplayAs for ClusterExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterExec: workers={}", self.workers)?;
        match self.keys {
            0 => Ok(()),
            keys => write!(f, ", join_filters_within_other_stages={keys}"),
        }
    }
}

impl ExecutionPlan for ClusterExec {
    one_child!("ClusterExec", |node, input| Arc::new(Self::new(input, node.workers, node.keys)));

    without_expressions!();

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let context = Arc::new(followed(&context)?);
        let rows = self.input.execute(partition, Arc::clone(&context))?;
        let schema = rows.schema();
        let input = Arc::clone(&self.input);
        // The counts are complete only after the last row.
        let counted = stream::once(async move {
            count(input, &context).await;
            None
        });
        let rows =
            rows.map_err(to_user_error).map(Some).chain(counted).filter_map(|row| async { row });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// Returns the context with headers that send the session's options and the query's id to the workers.
fn followed(context: &TaskContext) -> Result<TaskContext> {
    let mut config = context.session_config().clone();
    let mut headers = settings::headers(config.options());
    headers.extend(query_header(&context.session_id()));
    config.set_distributed_passthrough_headers(headers)?;
    Ok(TaskContext::new(
        context.task_id(),
        context.session_id(),
        config,
        context.scalar_functions().clone(),
        context.higher_order_functions().clone(),
        context.aggregate_functions().clone(),
        context.window_functions().clone(),
        context.runtime_env(),
    ))
}

/// Adds the counts of the workers to the query's counters.
async fn count(plan: Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) {
    let mut staged = None;
    // The closure returns no errors.
    let _ = plan.apply(|node| {
        if node.is::<DistributedExec>() {
            staged = Some(Arc::clone(node));
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    let Some(staged) = staged else { return };
    let told = rewrite_distributed_plan_with_metrics(staged, DistributedMetricsFormat::Aggregated);
    let Ok(Ok(told)) = tokio::time::timeout(COUNTS, told).await else {
        tracing::warn!("some workers did not tell what they asked of the stores");
        return;
    };
    let options = context.session_config().options();
    let _ = told.apply(|node| {
        let metrics = node.metrics().unwrap_or_default();
        for (endpoint, name, n) in worker_counts::worker_counts(&metrics) {
            if let Ok(endpoint) = resolve(options, &endpoint) {
                QueryCounters::of_task(context, &endpoint).add_remote_count(&name, n);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    });
}

/// Decodes a user-facing error that a worker sent as text.
fn to_user_error(error: DataFusionError) -> DataFusionError {
    match UserError::find(&error.to_string()) {
        Some(told) => told.into(),
        None => error,
    }
}
