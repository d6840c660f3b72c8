//! Gives the scans of EXPLAIN the sizes that are declared for their tables.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::estimate::declared_sizes::DeclaredSizes;

/// Replaces the objects of scans by those of declared tables. Without declared sizes it changes nothing.
#[derive(Debug)]
pub(crate) struct ApplyDeclaredSizes;

impl PhysicalOptimizerRule for ApplyDeclaredSizes {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(sizes) = DeclaredSizes::from_options(options) else { return Ok(plan) };
        let partitions = options.execution.target_partitions;
        plan.transform_up(|node| {
            let scan = node.downcast_ref::<DataSourceExec>();
            let config = scan.and_then(|it| it.data_source().downcast_ref::<FileScanConfig>());
            Ok(match config.and_then(|config| sizes.apply(config, partitions)) {
                Some(config) => Transformed::yes(DataSourceExec::from_data_source(config) as _),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "declared_sizes"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
