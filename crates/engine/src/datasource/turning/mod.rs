//! A scan that begins with GET, and may turn to Select while it runs.
//!
//! Which way is better depends on the link, of which a hardware profile only says what it should
//! give. Here GET is measured: [`Pace`] knows what the link gave the scan so far, and asks the chooser
//! again before each file, or range of one, is opened. Once Select is clearly better, all further files
//! are asked. The node stays what GET makes of it, with every filter above it, so that it does not
//! matter to the answer which files are read in which way.

mod bound;
mod measured;
mod opener;
mod pace;
mod stakes;

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

pub(super) use self::bound::BoundTurning;
pub use self::pace::Pace;
pub use self::stakes::Stakes;

use super::estimator::SessionEstimator;
use super::format::TableFormat;
use super::named::NamedSource;
use super::predicate::ColumnStyle;
use super::s3_select::{Asked, S3SelectSource, Split};
use crate::choice::Why;
use crate::endpoint::Endpoint;
use crate::endpoints::resolve;

/// Reads text with DataFusion's own source, and from some file on perhaps through S3 Select: the same
/// columns of the rows that pass the filters. These stand above the scan, too.
#[derive(Clone)]
pub struct TurningSource {
    get: Arc<dyn FileSource>,
    select: S3SelectSource,
    /// Turns when so many files are opened, whatever the link gives.
    #[cfg(test)]
    after: Option<u64>,
}

/// What a statement of such a scan asks for, beside the columns that GET reads.
#[derive(Debug, Clone)]
pub struct Instead {
    /// Filters that stand above the scan, over the table's columns.
    pub filters: Vec<Arc<dyn PhysicalExpr>>,
    /// How the files are split among statements.
    pub split: Split,
    /// The most rows in a batch.
    pub batch_size: usize,
}

impl TurningSource {
    /// The same scan, which may turn to Select.
    ///
    /// # Errors
    ///
    /// Why it cannot: the store does not take the statement, or the files are not text.
    pub fn replace(
        config: &FileScanConfig,
        endpoint: &Endpoint,
        instead: Instead,
    ) -> Result<FileScanConfig, Why> {
        // A limit would count the rows that pass the filters in one way, and all rows in the other.
        if config.limit.is_some() {
            return Err(Why::from("a limit ends the scan before long"));
        }
        let theirs = NamedSource::replaced(config);
        let theirs = theirs.as_ref().unwrap_or(config);
        // What DataFusion leaves out of a Parquet object by its statistics, Select would read.
        if TableFormat::of(theirs).is_none_or(|format| format.style == ColumnStyle::Named) {
            return Err(Why::from("only files of text are read in both ways"));
        }
        let source = config.file_source();
        let columns = 0..source.table_schema().table_schema().fields().len();
        let projection = source.projection().cloned().unwrap_or_else(|| {
            ProjectionExprs::from_indices(
                &columns.collect::<Vec<_>>(),
                source.table_schema().table_schema(),
            )
        });
        let asked = Asked {
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
            select: S3SelectSource::asking(theirs, endpoint, asked)?,
            #[cfg(test)]
            after: None,
        };
        Ok(FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build())
    }

    /// The source that it begins with.
    #[must_use]
    pub fn get(&self) -> &Arc<dyn FileSource> {
        &self.get
    }

    /// What the store is asked once it has turned.
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

    /// The same source with counters of its own.
    #[must_use]
    pub fn again(&self) -> Self {
        self.with(Arc::clone(&self.get), self.select.again())
    }

    /// When a scan of the files of `config` turns that is about to run.
    ///
    /// # Errors
    ///
    /// If the session does not know the endpoint.
    pub fn pace(&self, config: &FileScanConfig, options: &ConfigOptions) -> Result<Arc<Pace>> {
        let endpoint = resolve(options, self.select.endpoint_name())?;
        let demand = SessionEstimator::of(options)?.open_demand(config, &self.select, options);
        let files = config.file_groups.iter().flat_map(|group| group.files());
        let pace = Pace::new(Stakes::of(demand, &endpoint, options), files)
            .said_among(self.select.metrics_set());
        #[cfg(test)]
        let pace = pace.turning_after(self.after);
        Ok(Arc::new(pace))
    }

    /// The same, which turns when so many files are opened.
    #[cfg(test)]
    pub(crate) fn after(&self, files: u64) -> Self {
        Self { after: Some(files), ..self.clone() }
    }
}

impl fmt::Debug for TurningSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurningSource").field("select", &self.select).finish_non_exhaustive()
    }
}

impl FileSource for TurningSource {
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
        // What is computed would not come back from the bytes of a plan, and costs the same above.
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
