//! Turns scans of a bucket into Select scans.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::context::choice::Reason;
use crate::context::config::{Scan, SluiceOptions};
use crate::scan::s3_scan::S3Scan;
use crate::scan::s3_select::S3SelectSource;
use crate::store::endpoint::Endpoint;
use crate::store::endpoints::Endpoints;
use crate::text::located_errors::LocatedSource;

/// Replaces DataFusion's CSV, JSON and Parquet sources over the buckets of the session's endpoints by
/// [`S3SelectSource`]s, so that filters are offered to them. [`Choose`](super::Choose) decides later whether they
/// stay. If the store cannot run the scan at all, DataFusion's source stays, wrapped to name the object in its errors
/// and to detect data that it would misread. The same wrapper is used for files of any other store and for local
/// files.
#[derive(Debug)]
pub(crate) struct SelectScan;

fn replace(
    node: &Arc<dyn ExecutionPlan>,
    options: &ConfigOptions,
) -> Option<Arc<dyn ExecutionPlan>> {
    let named =
        |config| Some(DataSourceExec::from_data_source(LocatedSource::replace(config)?) as _);
    let Some((config, endpoint)) = of_bucket(node, options) else {
        let scan = node.downcast_ref::<DataSourceExec>()?;
        return named(scan.data_source().downcast_ref::<FileScanConfig>()?);
    };
    match propose(config, &endpoint, options) {
        Ok(select) => Some(S3Scan::node(select)),
        Err(_) => named(config),
    }
}

/// Returns the configuration of DataFusion's own scan of a bucket, and the endpoint that serves it.
pub(super) fn of_bucket<'a>(
    node: &'a Arc<dyn ExecutionPlan>,
    options: &ConfigOptions,
) -> Option<(&'a FileScanConfig, Arc<Endpoint>)> {
    let scan = node.downcast_ref::<DataSourceExec>()?;
    let config = scan.data_source().downcast_ref::<FileScanConfig>()?;
    let endpoint = Endpoints::from_options(options)?.serving(&config.object_store_url)?;
    Some((config, endpoint))
}

/// Returns a scan as the store would run it, or the reason why it cannot.
pub(super) fn propose(
    config: &FileScanConfig,
    endpoint: &Arc<Endpoint>,
    options: &ConfigOptions,
) -> Result<FileScanConfig, Reason> {
    if SluiceOptions::from_options(options).scan == Scan::Get {
        return Err(Reason::from("sluice.scan = 'get' rules out S3 Select"));
    }
    S3SelectSource::replace(config, endpoint, options)
}

impl PhysicalOptimizerRule for SelectScan {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match replace(&node, options) {
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
