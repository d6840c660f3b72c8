//! Which of the filters that arrive at a scan are keys of a join.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::datasource::source::DataSource;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use super::key_paths::KeyPaths;
use crate::config::{Join, SluiceOptions};
use crate::datasource::s3_scan::{S3Scan, as_select_scan};
use crate::datasource::s3_select::S3SelectSource;

/// Tells Select scans which of their arriving filters are keys of a join, which they may wait for,
/// and how many keys there would be without a filter on the build side. If no keys are to be sent,
/// takes those filters away, and the joins no longer make them.
///
/// Hands filters also to scans that their keys reach in ways that DataFusion does not take.
///
/// Nothing else about the filters says who makes them, and a scan that waits for a top-K or an
/// aggregate above it waits for itself.
#[derive(Debug)]
pub struct JoinKeys;

impl PhysicalOptimizerRule for JoinKeys {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let paths = KeyPaths::of(&plan, options)?;
        let domains = paths.domains();
        if domains.is_empty() {
            return Ok(plan);
        }
        let SluiceOptions { join, transfer, .. } = SluiceOptions::of(options);
        let wanted = !matches!(join, Join::Baseline | Join::Filtered);
        plan.transform_up(|node| {
            let Some((config, _)) = as_select_scan(node.as_ref()) else {
                return Ok(Transformed::no(node));
            };
            let mut config = config.clone();
            if wanted && transfer {
                let filters = paths.filters(&node)?;
                let handed = config.try_pushdown_filters(filters, options)?.updated_node;
                let handed = handed.as_ref().and_then(|it| it.downcast_ref::<FileScanConfig>());
                config = handed.cloned().unwrap_or(config);
            }
            let Some(source) = config.file_source().downcast_ref::<S3SelectSource>() else {
                return Ok(Transformed::no(node));
            };
            let Some(source) = source.with_keys_of_joins(&domains, wanted) else {
                return Ok(Transformed::no(node));
            };
            let source: Arc<dyn FileSource> = Arc::new(source);
            let config = FileScanConfigBuilder::from(config).with_source(source).build();
            Ok(Transformed::yes(S3Scan::node(config) as Arc<dyn ExecutionPlan>))
        })
        .data()
    }

    fn name(&self) -> &str {
        "join_keys"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
