//! Estimates for scans that run.

use datafusion::common::config::ConfigOptions;
use datafusion::datasource::physical_plan::FileScanConfig;
use sluicegate_costmodel::{ScanDemand, Terms};

use super::table::Table;
use super::{looking_up, select_demand};
use crate::estimate::server_index::ServerIndexScan;
use crate::estimate::statistics::table::TableStatistics;
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
        let table = Table::from_scan(config, source, Some(options));
        let selectivity = table.selectivity(source, options);
        let columns = source.columns();
        let demand = table.demand(columns, selectivity, table.row_bytes(columns), Terms::NONE);
        looking_up(
            select_demand(demand, source),
            ServerIndexScan::estimate(config, source, options).as_ref(),
        )
    }

    fn distinct(
        &self,
        config: &FileScanConfig,
        options: &ConfigOptions,
        column: usize,
    ) -> Option<f64> {
        TableStatistics::for_scan(config, options)?.distinct(column)
    }

    fn record_bytes(&self, config: &FileScanConfig, source: &S3SelectSource) -> f64 {
        let table = Table::from_scan(config, source, None);
        table.bytes / table.rows.max(1.0)
    }
}
