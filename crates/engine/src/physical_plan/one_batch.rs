//! An input of at least one batch, from which a sink makes a file although there are no rows.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;

/// A sink that is given a batch without rows rather than none. One that replaces objects would otherwise
/// leave nothing that says which columns there were.
///
/// # Errors
///
/// If the sink does not take another input.
pub(super) fn with_a_batch(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(writes) = plan.downcast_ref::<DataSinkExec>() else { return Ok(plan) };
    let input: Arc<dyn ExecutionPlan> =
        Arc::new(OneBatchExec { input: Arc::clone(writes.input()) });
    plan.replace_children(
        vec![input],
        ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
    )
}

/// Puts out what its input does, or a batch without rows. Never in a plan: it is put below a sink when that
/// runs.
#[derive(Debug)]
struct OneBatchExec {
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for OneBatchExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("OneBatchExec")
    }
}

impl ExecutionPlan for OneBatchExec {
    fn name(&self) -> &str {
        "OneBatchExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self { input })),
            _ => internal_err!("OneBatchExec has one child"),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let mut rows = self.input.execute(partition, context)?.peekable();
        let of_nothing = RecordBatch::new_empty(Arc::clone(&schema));
        let rows = async move {
            let is_empty = std::pin::Pin::new(&mut rows).peek().await.is_none();
            futures::stream::iter(is_empty.then_some(Ok(of_nothing))).chain(rows)
        };
        let rows = futures::stream::once(rows).flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
