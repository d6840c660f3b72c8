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
use crate::datasource::s3_scan::S3Scan;
use crate::datasource::s3_select::S3SelectSource;
use crate::endpoints::Endpoints;

/// Replaces DataFusion's CSV, JSON and Parquet sources over the buckets of the session's endpoints
/// by [`S3SelectSource`]s; a bucket of any other store is left alone. Where `sluice.scan` is `get`, or the store has no Select, the sources stay
/// and only learn to name the object in their errors.
#[derive(Debug)]
pub struct SelectScan;

fn replace(
    node: &Arc<dyn ExecutionPlan>,
    options: &ConfigOptions,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(scan) = node.downcast_ref::<DataSourceExec>() else { return Ok(None) };
    let Some(config) = scan.data_source().downcast_ref::<FileScanConfig>() else {
        return Ok(None);
    };
    let endpoints = Endpoints::of(options);
    let serving = endpoints.and_then(|all| all.serving(&config.object_store_url));
    let Some(endpoint) = serving else { return Ok(None) };
    if SluiceOptions::of(options).scan != Scan::Get
        && endpoint.profile().has_select()
        && let Some(select) = S3SelectSource::replace(config, &endpoint, options)?
    {
        return Ok(Some(S3Scan::node(select)));
    }
    let named = NamedSource::replace(config);
    Ok(named.map(|config| DataSourceExec::from_data_source(config) as _))
}

impl PhysicalOptimizerRule for SelectScan {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match replace(&node, options)? {
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
