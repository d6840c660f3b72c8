//! Reads the rows of a Select scan with DataFusion's own sources and filters them locally.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::execution::object_store::DefaultObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::expressions::Column;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::Count;
use datafusion::physical_plan::projection::ProjectionExec;
use object_store::ObjectStore;

use crate::context::choice::Reason;
use crate::index::scan::{IndexLookup, IndexedSource};
use crate::pushdown::float_bounds::distrust;
use crate::scan::read_ahead::ahead;
use crate::store::conditional_reads::pinned;
use crate::text::located_errors::LocatedSource;
use sluicegate_guards::{guarded, keep_casts};

/// The source that a Select scan replaced, and the columns that it reads.
#[derive(Clone)]
pub struct GetScan {
    source: Arc<dyn FileSource>,
    /// The column of the table for each output of the source.
    columns: Vec<usize>,
}

impl GetScan {
    /// Returns the scan as DataFusion planned it, or `None` if it computes expressions.
    #[must_use]
    pub fn from_scan(config: &FileScanConfig) -> Option<Self> {
        let source = config.file_source();
        let columns = match source.projection() {
            Some(projection) => projection
                .iter()
                .map(|item| item.expr.downcast_ref::<Column>().map(Column::index))
                .collect::<Option<Vec<_>>>()?,
            None => (0..source.table_schema().table_schema().fields().len()).collect(),
        };
        Some(Self { source: Arc::clone(source), columns })
    }

    /// Plans the files of `config`: read, filter, project. The filters and the projection are over the table's
    /// columns.
    ///
    /// # Errors
    ///
    /// If an expression names a column that the scan did not read.
    pub fn plan(
        &self,
        config: &FileScanConfig,
        filters: &[Arc<dyn PhysicalExpr>],
        projection: &ProjectionExprs,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let filters = self.rebased(filters)?;
        // A limit counts the rows that pass the filter.
        let limit = if filters.is_empty() { config.limit } else { None };
        let scan = self.scan(config, limit);
        // Parquet skips row groups and pages by the filter; FilterExec filters the rows.
        let pushed = scan.try_pushdown_filters(filters.clone(), options)?;
        let plan: Arc<dyn ExecutionPlan> = match pushed.updated_node {
            Some(scan) => distrust(Arc::new(DataSourceExec::new(scan))).data,
            None => DataSourceExec::from_data_source(scan),
        };
        self.filtered(keep_casts(plan).data, filters, projection)
    }

    /// Like [`Self::plan`], but reads only the records that an index leads to, in a node that `node` makes. The inner
    /// result holds the reason if that is not possible.
    ///
    /// # Errors
    ///
    /// If an expression names a column that the scan did not read.
    pub fn indexed_plan(
        &self,
        config: &FileScanConfig,
        asked: IndexLookup,
        filters: &[Arc<dyn PhysicalExpr>],
        projection: &ProjectionExprs,
        node: impl FnOnce(FileScanConfig) -> Arc<DataSourceExec>,
    ) -> Result<Result<Arc<dyn ExecutionPlan>, Reason>> {
        let scan = match IndexedSource::replace(&self.scan(config, None), asked) {
            Ok(scan) => node(scan),
            Err(why) => return Ok(Err(why)),
        };
        self.filtered(scan, self.rebased(filters)?, projection).map(Ok)
    }

    fn scan(&self, config: &FileScanConfig, limit: Option<usize>) -> FileScanConfig {
        let scan = FileScanConfigBuilder::from(config.clone())
            .with_source(Arc::clone(&self.source))
            .with_limit(limit)
            .build();
        LocatedSource::replace(&scan).unwrap_or(scan)
    }

    fn rebased(&self, filters: &[Arc<dyn PhysicalExpr>]) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
        filters.iter().map(|filter| self.rebase(filter)).collect()
    }

    /// Adds the filters, over the output of the scan, and the projection, over the table's columns.
    fn filtered(
        &self,
        mut plan: Arc<dyn ExecutionPlan>,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        projection: &ProjectionExprs,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection = projection
            .iter()
            .map(|item| Ok(ProjectionExpr::new(self.rebase(&item.expr)?, item.alias.clone())))
            .collect::<Result<Vec<_>>>()?;
        if !filters.is_empty() {
            let condition = guarded(conjunction(filters), &plan.schema())?;
            plan = Arc::new(FilterExec::try_new(condition, plan)?);
        }
        let project = ProjectionExec::try_new(projection, Arc::clone(&plan))?;
        // If the projection is next to the scan, columns that are not needed are not parsed.
        match plan.try_swapping_with_projection(&project)? {
            Some(swapped) => Ok(swapped),
            None => Ok(Arc::new(project)),
        }
    }

    /// Returns DataFusion's own source of the files.
    #[must_use]
    pub fn source(&self) -> &Arc<dyn FileSource> {
        &self.source
    }

    /// Makes the scan read from the store of a task. DataFusion's Parquet source holds a store of its own, which is
    /// replaced.
    fn over(&self, store: Arc<dyn ObjectStore>, context: &TaskContext) -> Self {
        let Some(parquet) = self.source.downcast_ref::<ParquetSource>() else {
            return self.clone();
        };
        let footers = context.runtime_env().cache_manager.get_file_metadata_cache();
        let readers = CachedParquetFileReaderFactory::new(store, footers);
        let readers = ahead(parquet, Arc::new(readers));
        let source = parquet.clone().with_parquet_file_reader_factory(readers);
        Self { source: Arc::new(source), ..self.clone() }
    }

    /// Rewrites an expression over the table's columns to one over the scan's output.
    fn rebase(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        Arc::clone(expr)
            .transform(|node| {
                let Some(column) = node.downcast_ref::<Column>() else {
                    return Ok(Transformed::no(node));
                };
                let index = self
                    .columns
                    .iter()
                    .position(|index| *index == column.index())
                    .ok_or_else(|| internal_datafusion_err!("column {column} is not read"))?;
                let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), index));
                Ok(Transformed::yes(column))
            })
            .data()
    }
}

impl fmt::Debug for GetScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GetScan({}, columns {:?})", self.source.file_type(), self.columns)
    }
}

/// Reads files of a scan with GET, one at a time, within the task that runs the scan: it uses the task's memory, disk
/// and settings.
#[derive(Debug, Clone)]
pub(crate) struct FileGet {
    /// The scan that DataFusion planned.
    pub scan: GetScan,
    /// The scan that the files belong to.
    pub config: Arc<FileScanConfig>,
    /// The task that runs the scan.
    pub context: Arc<TaskContext>,
}

impl FileGet {
    /// Opens a file, or its range, in the version that the listing saw. The bytes that are read are added to `got`.
    ///
    /// # Errors
    ///
    /// If the task has no store for the scan's bucket.
    pub(crate) fn open(&self, file: PartitionedFile, got: Count) -> Result<OpenFile> {
        let url = &self.config.object_store_url;
        let theirs = self.context.runtime_env();
        let store = theirs.object_store(url)?;
        let store = pinned(store, &file.object_meta, got);
        let runtime = RuntimeEnvBuilder::from_runtime_env(&theirs)
            .with_object_store_registry(Arc::new(DefaultObjectStoreRegistry::new()))
            .build_arc()?;
        runtime.register_object_store(url.as_ref(), Arc::clone(&store));
        let context = TaskContext::default()
            .with_session_config(self.context.session_config().clone())
            .with_runtime(runtime);
        let config = FileScanConfigBuilder::from(FileScanConfig::clone(&self.config))
            .with_file_groups(vec![FileGroup::new(vec![file])])
            .with_limit(None)
            .build();
        Ok(OpenFile { scan: self.scan.over(store, &context), config, context: Arc::new(context) })
    }
}

/// One file of a scan, ready to be read with GET.
#[derive(Debug)]
pub(crate) struct OpenFile {
    scan: GetScan,
    config: FileScanConfig,
    context: Arc<TaskContext>,
}

impl OpenFile {
    /// Plans the rows that pass the filters, projected. Both are over the table's columns.
    ///
    /// # Errors
    ///
    /// If an expression does not fit the scan.
    pub(crate) fn plan(
        &self,
        filters: &[Arc<dyn PhysicalExpr>],
        projection: &ProjectionExprs,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = self.context.session_config().options();
        self.scan.plan(&self.config, filters, projection, options)
    }

    /// Runs the only partition of a plan for the file.
    ///
    /// # Errors
    ///
    /// If the plan cannot start.
    pub(crate) fn run(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<SendableRecordBatchStream> {
        plan.execute(0, Arc::clone(&self.context))
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::datasource::object_store::ObjectStoreUrl;
    use datafusion::datasource::physical_plan::CsvSource;
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
    use datafusion::prelude::SessionConfig;
    use object_store::memory::InMemory;

    use super::*;

    /// A fallback is a part of its query: it shares memory, disk, caches and settings with it. Only the store is its
    /// own.
    #[test]
    fn a_file_is_read_with_the_resources_of_its_task() {
        let url = ObjectStoreUrl::parse("s3://bucket").unwrap();
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(GreedyMemoryPool::new(1234)))
            .build_arc()
            .unwrap();
        runtime.register_object_store(url.as_ref(), Arc::new(InMemory::new()));
        let context = TaskContext::default()
            .with_session_config(SessionConfig::new().with_batch_size(77))
            .with_runtime(Arc::clone(&runtime));
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Utf8, true)]));
        let source = Arc::new(CsvSource::new(schema));
        let config = FileScanConfigBuilder::new(url.clone(), source).build();
        let scan = GetScan::from_scan(&config).unwrap();
        let get = FileGet { scan, config: Arc::new(config), context: Arc::new(context) };
        let got = ExecutionPlanMetricsSet::new();
        let got = MetricBuilder::new(&got).counter("got", 0);
        let open = get.open(PartitionedFile::new("a.csv", 3), got).unwrap();
        let theirs = open.context.runtime_env();
        assert!(Arc::ptr_eq(&theirs.memory_pool, &runtime.memory_pool));
        assert!(Arc::ptr_eq(&theirs.disk_manager, &runtime.disk_manager));
        assert_eq!(open.context.session_config().batch_size(), 77);
        let store = theirs.object_store(&url).unwrap().to_string();
        assert!(store.contains("pinned to one version of a.csv"), "{store}");
    }
}
