//! The sample as a plan: the best rows of parts of the table, of which only the sort columns are read.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::Sampling;
use super::key_scan::KeyScan;
use super::ranges::Pieces;
use crate::pushdown::statement::Statement;
use crate::scan::s3_select::S3SelectSource;

/// A sample of a scan, ready to be planned.
#[derive(Debug)]
pub struct Sample {
    scan: KeyScan,
    pieces: Pieces,
}

impl Sample {
    /// Creates a sample of the files of `config`, which `source` reads. Requests are counted in `metrics`.
    ///
    /// # Errors
    ///
    /// If an expression does not fit the table.
    pub fn try_new(
        config: &FileScanConfig,
        source: &S3SelectSource,
        sampling: &Sampling,
        metrics: ExecutionPlanMetricsSet,
    ) -> Result<Self> {
        let scan = KeyScan::try_new(config, source, sampling, metrics)?;
        let pieces = Pieces::choose(config, source.takes_ranges(), sampling);
        Ok(Self { scan, pieces })
    }

    /// Returns the number of requests that the sample takes.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.pieces.files.len()
    }

    /// Returns the statement of each request; `None` if a column cannot be sent.
    #[must_use]
    pub fn statement(&self) -> Option<Statement> {
        self.scan.statement(self.pieces.limit)
    }

    /// Returns the keys of the order, over the sample's columns.
    #[must_use]
    pub fn keys(&self) -> &LexOrdering {
        self.scan.keys()
    }

    /// Returns a plan for the best `k` rows of the sample, in their order.
    ///
    /// # Errors
    ///
    /// Never, for a sample that could be made.
    pub fn best(&self, k: usize) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = self.scan.rows(&self.pieces.files, self.pieces.limit, None)?;
        let rows = Arc::new(CoalescePartitionsExec::new(rows));
        Ok(Arc::new(SortExec::new(self.scan.keys().clone(), rows).with_fetch(Some(k))))
    }
}
