//! Marks the filters that arrive at a scan and are keys of a join.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::{FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::datasource::source::DataSource;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use super::key_paths::KeyPaths;
use crate::context::config::{Join, SluiceOptions};
use crate::operators::s3_group_by::S3GroupByExec;
use crate::scan::s3_scan::{S3Scan, as_select_scan};
use crate::scan::s3_select::S3SelectSource;

/// Marks for Select scans, and group-bys in the store, which of their arriving filters are keys of a join and how
/// many keys there would be without a filter on the build side. Scans may wait for such keys. If keys must not be
/// sent, their filters are removed, and the joins no longer create them.
///
/// Filters are also passed to scans that keys reach along paths that DataFusion does not follow.
///
/// The filters themselves do not show which operator creates them, and a scan that waited for a top-K or an aggregate
/// above it would wait for itself.
#[derive(Debug)]
pub(crate) struct JoinKeys;

impl PhysicalOptimizerRule for JoinKeys {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let paths = KeyPaths::find(&plan, options)?;
        let SluiceOptions { join, transfer, .. } = SluiceOptions::from_options(options);
        let keys = paths.keys(join);
        if keys.is_empty() {
            return Ok(plan);
        }
        let wanted = !matches!(join, Join::Baseline | Join::Filtered);
        plan.transform_up(|node| {
            let reaching = || match wanted && transfer {
                true => paths.filters(&node),
                false => Ok(Vec::new()),
            };
            let told = |source: &S3SelectSource| {
                let told = source.with_keys_of_joins(&keys);
                told.map(|source| Arc::new(source) as Arc<dyn FileSource>)
            };
            if let Some((config, _)) = as_select_scan(node.as_ref()) {
                let handed = config.try_pushdown_filters(reaching()?, options)?.updated_node;
                let handed = handed.as_ref().and_then(|it| it.downcast_ref::<FileScanConfig>());
                let config = handed.unwrap_or(config);
                let source = config.file_source().downcast_ref::<S3SelectSource>();
                let Some(source) = source.and_then(told) else { return Ok(Transformed::no(node)) };
                let config = FileScanConfigBuilder::from(config.clone()).with_source(source);
                return Ok(Transformed::yes(S3Scan::node(config.build()) as _));
            }
            if let Some(exec) = node.downcast_ref::<S3GroupByExec>() {
                let exec = exec.with_filters(reaching()?, options)?;
                let Some(source) = told(exec.source()?) else { return Ok(Transformed::no(node)) };
                return Ok(Transformed::yes(Arc::new(exec.with_source(source)) as _));
            }
            Ok(Transformed::no(node))
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
