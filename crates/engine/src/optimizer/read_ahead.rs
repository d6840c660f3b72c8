//! Overlaps the link with the decoding of Parquet.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::scan::read_ahead::reading_ahead;

/// Makes scans of Parquet request the next row group while one is decoded.
#[derive(Debug)]
pub(crate) struct ReadAhead;

impl PhysicalOptimizerRule for ReadAhead {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| Ok(reading_ahead(node))).data()
    }

    fn name(&self) -> &str {
        "read_ahead"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
