//! Keeps which rows are deleted in the files of a scan when its plan is encoded.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::scan::deleted_rows::reads_kept_rows;
use crate::scan::s3_scan::S3Scan;

/// Makes scans of files with deleted rows nodes of ours, which our codec encodes. DataFusion encodes its own scans
/// without the rows that they skip, so workers would read all.
#[derive(Debug)]
pub(crate) struct DeletedRows;

impl PhysicalOptimizerRule for DeletedRows {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let scan = node
                .downcast_ref::<DataSourceExec>()
                .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
            Ok(match scan.filter(|scan| reads_kept_rows(scan)) {
                Some(scan) => Transformed::yes(S3Scan::node(scan.clone()) as _),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "deleted_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
