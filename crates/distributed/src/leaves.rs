//! The division of a scan's files among workers.

use std::sync::Arc;

use datafusion::common::{Result, plan_err};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DesiredTaskCountHandler,
    DistributedConfig, DistributedLeafExec, ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse,
};
use sluicegate_engine::leaf_tasks;

/// Chooses the number of workers of a scan: one for each `distributed.file_scan_config_bytes_per_partition` bytes of
/// its files.
pub(crate) struct Tasks;

#[async_trait::async_trait]
impl DesiredTaskCountHandler for Tasks {
    async fn handle(
        &self,
        event: DesiredTaskCountEvent<'_>,
    ) -> Option<Result<DesiredTaskCountEventResponse>> {
        if leaf_tasks::in_one_process(event.plan.as_ref()) {
            return Some(Ok(DesiredTaskCountEventResponse::maximum(1)));
        }
        let bytes = leaf_tasks::bytes(event.plan.as_ref())?;
        let options = event.session_config.options();
        let divided = leaf_tasks::divide(event.plan, 2, 1, options);
        Some(divided.and_then(|divided| {
            let Some(_) = divided else { return Ok(DesiredTaskCountEventResponse::maximum(1)) };
            let each = DistributedConfig::from_config_options(options)?;
            let each = each.file_scan_config_bytes_per_partition.max(1) as u64;
            let tasks = usize::try_from(bytes / each).unwrap_or(usize::MAX);
            Ok(DesiredTaskCountEventResponse::desired(tasks.max(1)))
        }))
    }
}

/// Divides a leaf into a part for each worker. `None` if it cannot be divided.
pub(crate) fn of_leaf(
    leaf: &Arc<dyn ExecutionPlan>,
    workers: usize,
    config: &SessionConfig,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let partitions = config.target_partitions();
    let parts = leaf_tasks::divide(leaf, workers, partitions, config.options())?;
    let leaf =
        parts.map(|parts| DistributedLeafExec::try_new(Arc::clone(leaf), parts)).transpose()?;
    Ok(leaf.map(|leaf| Arc::new(leaf) as Arc<dyn ExecutionPlan>))
}

/// Gives each worker its part of a scan.
pub(crate) fn tasks_of_leaf(
    event: ScaleUpLeafNodeEvent<'_>,
) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    let ScaleUpLeafNodeEvent { plan, task_count, session_config } = event;
    leaf_tasks::bytes(plan.as_ref())?;
    let divided = of_leaf(plan, task_count, session_config).and_then(|divided| match divided {
        Some(plan) => Ok(ScaleUpLeafNodeEventResponse::new(plan)),
        None if task_count == 1 => Ok(ScaleUpLeafNodeEventResponse::new(Arc::clone(plan))),
        None => plan_err!("a scan that cannot be divided in {task_count} parts"),
    });
    Some(divided)
}
