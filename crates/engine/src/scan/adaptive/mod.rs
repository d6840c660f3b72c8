//! The adaptive scan: it begins with GET and may change to Select while it runs.
//!
//! Which of the two is better depends on the link, and a hardware profile contains only its nominal rate. Therefore
//! the scan measures GET: [`Throughput`] records the link's rate so far and repeats the choice before each file, or
//! range of one, is opened. Once Select is clearly better, all further files are read with Select. The scan returns
//! the columns that GET reads, and every filter stays in the plan above it. The answer does not depend on which files
//! are read in which way.
//!
//! `bound` is the source at run time, and `opener` opens a file in the way chosen. `timed_store` times the answers,
//! `throughput` measures the rate and decides, and `inputs` holds the other inputs of the decision.

mod bound;
mod inputs;
mod opener;
mod throughput;
mod timed_store;

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::physical_plan::{
    FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use object_store::ObjectStore;

pub(super) use self::bound::BoundAdaptiveSource;
pub(crate) use self::inputs::AdaptiveInputs;
pub(crate) use self::throughput::Throughput;

use super::estimator::SessionEstimator;
use super::s3_select::{S3SelectSource, SelectPushdown, Split};
use crate::context::choice::Reason;
use crate::pushdown::format::TableFormat;
use crate::pushdown::predicate::ColumnStyle;
use crate::store::endpoint::Endpoint;
use crate::store::endpoints::resolve;
use crate::text::located_errors::LocatedSource;

/// Reads text with DataFusion's own source and, from some file on, perhaps through S3 Select. Select returns the same
/// columns of the rows that pass the filters, which also stand above the scan.
#[derive(Clone)]
pub struct AdaptiveSource {
    get: Arc<dyn FileSource>,
    select: S3SelectSource,
    /// Changes when so many files are opened, whatever the link's rate; for tests.
    #[cfg(test)]
    after: Option<u64>,
}

/// The parts of such a scan's statement, besides the columns that GET reads.
#[derive(Debug, Clone)]
pub struct SelectAlternative {
    /// Filters that stand above the scan, over the table's columns.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    /// The division of files among statements.
    pub split: Split,
    /// The maximum number of rows in a batch.
    pub batch_size: usize,
}

impl AdaptiveSource {
    /// Makes a scan adaptive.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be: the store does not accept the statement, or the files are not text.
    pub fn replace(
        config: &FileScanConfig,
        endpoint: &Endpoint,
        instead: SelectAlternative,
    ) -> Result<FileScanConfig, Reason> {
        // A limit would count filtered rows with Select, but all rows with GET.
        if config.limit.is_some() {
            return Err(Reason::from("a limit ends the scan before long"));
        }
        let theirs = LocatedSource::replaced(config);
        let theirs = theirs.as_ref().unwrap_or(config);
        // Select would read the parts of a Parquet object that DataFusion skips by statistics.
        if TableFormat::from_scan(theirs).is_none_or(|format| format.style == ColumnStyle::Named) {
            return Err(Reason::from("only files of text are read in both ways"));
        }
        let source = config.file_source();
        let columns = 0..source.table_schema().table_schema().fields().len();
        let projection = source.projection().cloned().unwrap_or_else(|| {
            ProjectionExprs::from_indices(
                &columns.collect::<Vec<_>>(),
                source.table_schema().table_schema(),
            )
        });
        let asked = SelectPushdown {
            projection,
            filters: instead.filters,
            arriving: Vec::new(),
            limit: None,
            split: instead.split,
            batch_size: instead.batch_size,
            left_out: 0,
        };
        let source = Self {
            get: Arc::clone(source),
            select: S3SelectSource::try_with_pushdown(theirs, endpoint, asked)?,
            #[cfg(test)]
            after: None,
        };
        Ok(FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build())
    }

    /// Returns the source of GET, with which the scan begins.
    #[must_use]
    pub fn get(&self) -> &Arc<dyn FileSource> {
        &self.get
    }

    /// Returns the source of Select, to which the scan may change.
    #[must_use]
    pub fn select(&self) -> &S3SelectSource {
        &self.select
    }

    fn with(&self, get: Arc<dyn FileSource>, select: S3SelectSource) -> Self {
        Self {
            get,
            select,
            #[cfg(test)]
            after: self.after,
        }
    }

    /// Returns a copy of the source with new metrics.
    #[must_use]
    pub fn again(&self) -> Self {
        self.with(Arc::clone(&self.get), self.select.again())
    }

    /// Creates the measurement for a scan of the files of `config` that is about to run.
    ///
    /// # Errors
    ///
    /// If the session does not have the endpoint.
    pub fn throughput(
        &self,
        config: &FileScanConfig,
        options: &ConfigOptions,
    ) -> Result<Arc<Throughput>> {
        let endpoint = resolve(options, self.select.endpoint_name())?;
        let demand =
            SessionEstimator::from_options(options)?.open_demand(config, &self.select, options);
        let files = config.file_groups.iter().flat_map(|group| group.files());
        let pace = Throughput::new(AdaptiveInputs::new(demand, &endpoint, options), files)
            .with_metrics(self.select.metrics_set());
        #[cfg(test)]
        let pace = pace.switch_after(self.after);
        Ok(Arc::new(pace))
    }

    /// Makes the scan change when so many files are opened.
    #[cfg(test)]
    pub(crate) fn after(&self, files: u64) -> Self {
        Self { after: Some(files), ..self.clone() }
    }
}

impl fmt::Debug for AdaptiveSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurningSource").field("select", &self.select).finish_non_exhaustive()
    }
}

impl FileSource for AdaptiveSource {
    fn create_file_opener(
        &self,
        _object_store: Arc<dyn ObjectStore>,
        _base_config: &FileScanConfig,
        _partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        internal_err!(
            "a scan that may turn finds its endpoint in the session; open it as an S3Scan"
        )
    }

    fn table_schema(&self) -> &TableSchema {
        self.get.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        let select = self.select.in_batches(batch_size);
        Arc::new(self.with(self.get.with_batch_size(batch_size), select))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.get.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.get.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.select.metrics_set()
    }

    fn file_type(&self) -> &str {
        self.get.file_type()
    }

    fn fmt_extra(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.get.fmt_extra(t, f)?;
        let sql = self.select.statement(None).map(|statement| statement.sql()).unwrap_or_default();
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, ", or_select_at_run_time={sql}")
            }
            DisplayFormatType::TreeRender => writeln!(f, "or_select={sql}"),
        }
    }

    fn supports_repartitioning(&self) -> bool {
        self.get.supports_repartitioning()
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        // Computed columns would be lost when the plan is encoded as bytes, and cost the same above the scan.
        if !projection.iter().all(|item| item.expr.is::<Column>()) {
            return Ok(None);
        }
        let get = self.get.try_pushdown_projection(projection)?;
        let select = self.select.try_pushdown_projection(projection)?;
        let select = select.as_ref().and_then(|it| it.downcast_ref::<S3SelectSource>());
        let (Some(get), Some(select)) = (get, select) else { return Ok(None) };
        Ok(Some(Arc::new(self.with(get, select.clone()))))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.get.apply_expressions(f)
    }
}

#[cfg(test)]
mod tests;
