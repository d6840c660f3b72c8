//! Estimates that a scan needs while it runs.
//!
//! The estimates come from statistics and indexes, which belong to higher folders. Therefore the session carries an
//! implementation of [`ScanEstimator`].

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, plan_datafusion_err};
use datafusion::datasource::physical_plan::FileScanConfig;
use sluicegate_costmodel::ScanDemand;

use super::s3_select::S3SelectSource;
use crate::context::config_extension::carried;

/// Estimates the demand of a scan.
pub(crate) trait ScanEstimator: fmt::Debug + Send + Sync {
    /// Returns the demand of a Select scan of these files at the time when they are opened.
    fn open_demand(
        &self,
        config: &FileScanConfig,
        source: &S3SelectSource,
        options: &ConfigOptions,
    ) -> ScanDemand;

    /// Returns the estimated number of distinct values of a column, or `None` without statistics.
    fn distinct(
        &self,
        config: &FileScanConfig,
        options: &ConfigOptions,
        column: usize,
    ) -> Option<f64>;

    /// Returns the average bytes of a record of a scan's files.
    fn record_bytes(&self, config: &FileScanConfig, source: &S3SelectSource) -> f64;
}

/// The estimator of a session, part of its configuration.
#[derive(Debug, Clone)]
pub(crate) struct SessionEstimator(Arc<dyn ScanEstimator>);

impl SessionEstimator {
    /// Creates the entry for a session's configuration.
    #[must_use]
    pub(crate) fn new(estimator: Arc<dyn ScanEstimator>) -> Self {
        Self(estimator)
    }

    /// Returns the estimator of the session with these options.
    ///
    /// # Errors
    ///
    /// If the session has none.
    pub(crate) fn from_options(options: &ConfigOptions) -> Result<&dyn ScanEstimator> {
        let estimator = options.extensions.get::<Self>().map(|it| it.0.as_ref());
        estimator.ok_or_else(|| {
            plan_datafusion_err!("the session has no estimator; add it with `with_pushdown`")
        })
    }
}

carried!(
    SessionEstimator,
    "sluice_estimator",
    "the estimator belongs to the session and cannot be SET ({})"
);
