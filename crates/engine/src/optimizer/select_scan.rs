//! Scans of a bucket become Select scans.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::config::{Scan, SluiceOptions};
use crate::datasource::named::NamedSource;
use crate::datasource::s3_select::S3SelectSource;
use crate::endpoint::Endpoint;

/// Replaces DataFusion's CSV, JSON and Parquet sources over a bucket of the endpoint by
/// [`S3SelectSource`]s. Where `sluice.scan` is `get`, or the store has no Select, the sources stay
/// and only learn to name the object in their errors.
#[derive(Debug)]
pub struct SelectScan {
    endpoint: Arc<Endpoint>,
}

impl SelectScan {
    /// For the buckets of an endpoint.
    #[must_use]
    pub fn new(endpoint: Arc<Endpoint>) -> Self {
        Self { endpoint }
    }

    fn replace(
        &self,
        node: &Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(scan) = node.downcast_ref::<DataSourceExec>() else { return Ok(None) };
        let Some(config) = scan.data_source().downcast_ref::<FileScanConfig>() else {
            return Ok(None);
        };
        if !config.object_store_url.as_str().starts_with("s3://") {
            return Ok(None);
        }
        let may_select =
            SluiceOptions::of(options).scan != Scan::Get && self.endpoint.profile().has_select();
        let select = match may_select {
            true => S3SelectSource::replace(config, &self.endpoint, options)?,
            false => None,
        };
        let replaced = select.or_else(|| NamedSource::replace(config));
        Ok(replaced.map(|config| DataSourceExec::from_data_source(config) as _))
    }
}

impl PhysicalOptimizerRule for SelectScan {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match self.replace(&node, options)? {
                Some(replaced) => Transformed::yes(replaced),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "select_scan"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
