//! Estimates for scans that run.

use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;
use sluicegate_costmodel::{ScanDemand, Terms};

use super::table::Table;
use super::{asking, looking_up};
use crate::estimate::server_index::Inside;
use crate::scan::estimator::ScanEstimator;
use crate::scan::s3_select::S3SelectSource;

/// Estimates from the session's statistics and indexes, as rules use them when they plan.
#[derive(Debug, Clone, Copy)]
pub struct ScanEstimates;

impl ScanEstimator for ScanEstimates {
    fn open_demand(
        &self,
        config: &FileScanConfig,
        source: &S3SelectSource,
        options: &ConfigOptions,
    ) -> ScanDemand {
        let table = Table::of(config, source, Some(options));
        let selectivity = table.selectivity(source, options);
        let columns = source.columns();
        let demand = table.demand(columns, selectivity, table.row_bytes(columns), Terms::NONE);
        looking_up(asking(demand, source), Inside::of(config, source, options).as_ref())
    }

    fn record_bytes(&self, config: &FileScanConfig, source: &S3SelectSource) -> f64 {
        let table = Table::of(config, source, None);
        table.bytes / table.rows.max(1.0)
    }
}
