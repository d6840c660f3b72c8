//! Keeps rows with NaN, which Parquet's bounds do not cover.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::pushdown::float_bounds::distrust;

/// Stops scans of Parquet from skipping rows by conditions on floating-point columns.
#[derive(Debug)]
pub(crate) struct FloatBounds;

impl PhysicalOptimizerRule for FloatBounds {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| Ok(distrust(node))).data()
    }

    fn name(&self) -> &str {
        "float_bounds"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
