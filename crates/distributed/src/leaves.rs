//! How the files of a scan are divided among workers.

use std::sync::Arc;

use datafusion::common::{Result, plan_err};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    DesiredTaskCountEvent, DesiredTaskCountEventResponse, DesiredTaskCountHandler,
    DistributedConfig, DistributedLeafExec, ScaleUpLeafNodeEvent, ScaleUpLeafNodeEventResponse,
};
use sluicegate_engine::parts;

/// How many workers a scan is worth: one for each so many bytes of its files that
/// `distributed.file_scan_config_bytes_per_partition` says.
pub(crate) struct Tasks;

#[async_trait::async_trait]
impl DesiredTaskCountHandler for Tasks {
    async fn handle(
        &self,
        event: DesiredTaskCountEvent<'_>,
    ) -> Option<Result<DesiredTaskCountEventResponse>> {
        if parts::in_one_process(event.plan.as_ref()) {
            return Some(Ok(DesiredTaskCountEventResponse::maximum(1)));
        }
        let bytes = parts::bytes(event.plan.as_ref())?;
        let options = event.session_config.options();
        let divided = parts::divide(event.plan, 2, 1, options);
        Some(divided.and_then(|divided| {
            let Some(_) = divided else { return Ok(DesiredTaskCountEventResponse::maximum(1)) };
            let each = DistributedConfig::from_config_options(options)?;
            let each = each.file_scan_config_bytes_per_partition.max(1) as u64;
            let tasks = usize::try_from(bytes.div_ceil(each)).unwrap_or(usize::MAX);
            Ok(DesiredTaskCountEventResponse::desired(tasks.max(1)))
        }))
    }
}

/// Gives each worker its part of a scan.
pub(crate) fn parts_of_leaf(
    event: ScaleUpLeafNodeEvent<'_>,
) -> Option<Result<ScaleUpLeafNodeEventResponse>> {
    parts::bytes(event.plan.as_ref())?;
    let partitions = event.session_config.target_partitions();
    let options = event.session_config.options();
    let divided = parts::divide(event.plan, event.task_count, partitions, options);
    Some(divided.and_then(|divided| {
        let plan: Arc<dyn ExecutionPlan> = match divided {
            Some(parts) => Arc::new(DistributedLeafExec::try_new(Arc::clone(event.plan), parts)?),
            None if event.task_count == 1 => Arc::clone(event.plan),
            None => {
                return plan_err!("a scan that cannot be divided in {} parts", event.task_count);
            }
        };
        Ok(ScaleUpLeafNodeEventResponse::new(plan))
    }))
}
