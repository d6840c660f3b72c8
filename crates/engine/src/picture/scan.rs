//! Nodes that read objects.

use std::sync::Arc;

use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;

use crate::datasource::s3_scan::{as_index_scan, as_select_scan};
use crate::optimizer::subject;
use crate::physical_plan::s3_aggregate::S3AggregateExec;
use crate::physical_plan::s3_group_by::S3GroupByExec;
use crate::physical_plan::top_k_sample::TopKSampleExec;

/// What a node reads.
pub(super) struct Reads {
    /// Its objects in words.
    pub(super) subject: String,
    /// Whether they are somewhere else than on this machine.
    pub(super) is_remote: bool,
    /// The nodes that this is one of together.
    pub(super) nodes: usize,
}

impl Reads {
    /// None, if the node reads no files.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        if plan.is::<TopKSampleExec>() {
            let scan = plan.children().into_iter().next()?;
            return Some(Self { nodes: 2, ..Self::of(scan)? });
        }
        let config = config(plan)?;
        let is_remote = !config.object_store_url.as_str().starts_with("file:");
        Some(Self { subject: subject(config), is_remote, nodes: 1 })
    }
}

fn config(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    if let Some(aggregate) = plan.downcast_ref::<S3AggregateExec>() {
        return Some(aggregate.config());
    }
    if let Some(groups) = plan.downcast_ref::<S3GroupByExec>() {
        return Some(groups.config());
    }
    let select = as_select_scan(plan.as_ref()).map(|(config, _)| config);
    let of_ours = select.or_else(|| as_index_scan(plan.as_ref()).map(|(config, _)| config));
    of_ours.or_else(|| {
        plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<FileScanConfig>()
    })
}
