//! LIMIT becomes a part of the statement.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::{FileScanConfigBuilder, FileSource};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::datasource::s3_scan::{S3Scan, as_select_scan};

/// Tells Select scans the limit that DataFusion gave their files, so that EXPLAIN shows the
/// statement as it is sent.
#[derive(Debug)]
pub struct SelectLimit;

impl PhysicalOptimizerRule for SelectLimit {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some((config, source)) = as_select_scan(node.as_ref()) else {
                return Ok(Transformed::no(node));
            };
            let Some(limit) = config.limit else { return Ok(Transformed::no(node)) };
            let source: Arc<dyn FileSource> = Arc::new(source.with_limit(limit));
            let config = FileScanConfigBuilder::from(config.clone()).with_source(source).build();
            Ok(Transformed::yes(S3Scan::node(config) as Arc<dyn ExecutionPlan>))
        })
        .data()
    }

    fn name(&self) -> &str {
        "select_limit"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
