//! Makes written files appear only when their statement has succeeded.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::operators::StagedWriteExec;
use crate::store::staging::overwrite::Overwrites;

/// Stages the writes of COPY and INSERT. Sinks that write no objects, such as a table in memory, are not affected.
#[derive(Debug)]
pub(crate) struct StagedWrites;

impl PhysicalOptimizerRule for StagedWrites {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| {
            if node.downcast_ref::<DataSinkExec>().is_some() {
                let Overwrites { urls, leaves_columns, may_replace } =
                    Overwrites::from_options(options);
                let staged = StagedWriteExec::new(node).replacing(urls);
                let staged = staged.leaving_columns(leaves_columns).which_may_replace(may_replace);
                Ok(Transformed::new(Arc::new(staged), true, TreeNodeRecursion::Jump))
            } else if node.downcast_ref::<StagedWriteExec>().is_some() {
                Ok(Transformed::new(node, false, TreeNodeRecursion::Jump))
            } else {
                Ok(Transformed::no(node))
            }
        })
        .data()
    }

    fn name(&self) -> &str {
        "staged_writes"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
