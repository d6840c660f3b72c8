//! The node of a Select scan in a plan. It looks up its endpoint when it runs.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics, internal_datafusion_err};
use datafusion::datasource::physical_plan::{
    FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::datasource::projection::ProjectionOpener;
use datafusion::datasource::source::{DataSource, DataSourceExec, OpenArgs};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::SchedulingType;
use datafusion::physical_plan::filter_pushdown::FilterPushdownPropagation;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, Partitioning, SortOrderPushdownResult};
use object_store::ObjectStore;

use super::adaptive::{AdaptiveSource, BoundAdaptiveSource, Throughput};
use super::keys::KeysAtOpen;
use super::opener::S3SelectOpener;
use super::s3_select::S3SelectSource;
use crate::context::counters::Counters;
use crate::index::scan::IndexedSource;
use crate::store::endpoint::Endpoint;
use crate::store::endpoints::resolve;
use crate::store::metrics::NodeMetrics;
use crate::store::query_counters::QueryCounters;
use crate::text::located_errors::conforming_opener;

/// The files of a scan with an `S3SelectSource`, an [`IndexedSource`] or an `AdaptiveSource`, or with DataFusion's
/// source for Parquet if some rows of the files are deleted: DataFusion's own encoding of a plan loses which.
///
/// A [`FileSource`] is opened without the task's context, which holds the endpoint; a [`DataSource`] is opened with
/// it. Everything else is delegated to the [`FileScanConfig`] inside.
#[derive(Clone)]
pub struct S3Scan {
    config: Arc<FileScanConfig>,
}

impl S3Scan {
    /// Returns a node that scans the files of `config`, whose source must be one of these.
    #[must_use]
    pub fn node(config: FileScanConfig) -> Arc<DataSourceExec> {
        DataSourceExec::from_data_source(Self { config: Arc::new(config) })
    }

    /// Returns the scan and its source, if that is an [`S3SelectSource`].
    #[must_use]
    pub fn parts(&self) -> Option<(&FileScanConfig, &S3SelectSource)> {
        let source = self.config.file_source().downcast_ref::<S3SelectSource>()?;
        Some((&self.config, source))
    }

    /// Returns the scan's source with the run-time state of a task.
    fn bound(
        &self,
        siblings: Option<&Siblings>,
        context: &Arc<TaskContext>,
    ) -> Result<Arc<dyn FileSource>> {
        let source = self.config.file_source();
        if source.is::<ParquetSource>() {
            return Ok(Arc::clone(source));
        }
        if let Some(indexed) = source.downcast_ref::<IndexedSource>() {
            let table = indexed.lookup().table.as_ref().map(|table| {
                let source = table.file_source().downcast_ref::<S3SelectSource>();
                let source = source
                    .ok_or_else(|| internal_datafusion_err!("index tables without a statement"))?;
                let bound = BoundSource::new(source, None, table, context)?;
                Ok::<_, DataFusionError>(Arc::new(bound) as Arc<dyn FileSource>)
            });
            let data = &self.config.object_store_url;
            return Ok(Arc::new(indexed.bound(data, table.transpose()?, context)?));
        }
        if let Some(turning) = source.downcast_ref::<AdaptiveSource>() {
            let select = BoundSource::new(turning.select(), None, &self.config, context)?;
            let options = context.session_config().options();
            let pace = match siblings.and_then(|all| all.pace.clone()) {
                Some(pace) => pace,
                None => turning.throughput(&self.config, options)?,
            };
            return Ok(Arc::new(BoundAdaptiveSource { source: turning.clone(), select, pace }));
        }
        let (_, source) =
            self.parts().ok_or_else(|| internal_datafusion_err!("a scan without a statement"))?;
        let keys = siblings.map_or_else(
            || KeysAtOpen::for_scan(source, source.metrics_set()),
            |all| all.keys.clone(),
        );
        Ok(Arc::new(BoundSource::new(source, keys, &self.config, context)?))
    }

    /// Wraps the scan that DataFusion derived from the one inside.
    fn like(&self, source: &Arc<dyn DataSource>) -> Result<Arc<dyn DataSource>> {
        let config = source
            .downcast_ref::<FileScanConfig>()
            .ok_or_else(|| internal_datafusion_err!("a scan of files became {source:?}"))?;
        Ok(Arc::new(Self { config: Arc::new(config.clone()) }))
    }
}

impl fmt::Debug for S3Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

impl DataSource for S3Scan {
    fn open(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.open_with_args(OpenArgs::new(partition, context))
    }

    fn open_with_args(&self, args: OpenArgs) -> Result<SendableRecordBatchStream> {
        let OpenArgs { partition, context, sibling_state } = args;
        let siblings = sibling_state.as_ref().and_then(|state| state.downcast_ref::<Siblings>());
        let source = self.bound(siblings, &context)?;
        let files = siblings.and_then(|all| all.files.clone());
        FileScanConfigBuilder::from(FileScanConfig::clone(&self.config))
            .with_source(source)
            .build()
            .open_with_args(OpenArgs::new(partition, context).with_shared_state(files))
    }

    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.config.fmt_as(t, f)
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        repartition_file_min_size: usize,
        output_ordering: Option<LexOrdering>,
    ) -> Result<Option<Arc<dyn DataSource>>> {
        let source = self.config.repartitioned(
            target_partitions,
            repartition_file_min_size,
            output_ordering,
        )?;
        source.map(|source| self.like(&source)).transpose()
    }

    fn output_partitioning(&self) -> Partitioning {
        self.config.output_partitioning()
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        self.config.eq_properties()
    }

    fn scheduling_type(&self) -> SchedulingType {
        self.config.scheduling_type()
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        self.config.partition_statistics(partition)
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        if let (Some(turning), Some(_)) =
            (self.config.file_source().downcast_ref::<AdaptiveSource>(), limit)
        {
            // A limit counts all rows that GET reads, and soon ends the scan.
            let get = FileScanConfigBuilder::from(FileScanConfig::clone(&self.config))
                .with_source(Arc::clone(turning.get()));
            return Some(Arc::new(get.with_limit(limit).build()));
        }
        let (config, source) = self.parts()?;
        // EXPLAIN shows the statement as it is sent.
        let source: Arc<dyn FileSource> = Arc::new(source.with_limit(limit));
        let config = FileScanConfigBuilder::from(config.clone()).with_source(source);
        Some(Arc::new(Self { config: Arc::new(config.with_limit(limit).build()) }))
    }

    fn fetch(&self) -> Option<usize> {
        self.config.fetch()
    }

    fn metrics(&self) -> ExecutionPlanMetricsSet {
        DataSource::metrics(self.config.as_ref())
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn DataSource>>> {
        let swapped = self.config.try_swapping_with_projection(projection)?;
        swapped.map(|source| self.like(&source)).transpose()
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn DataSource>>> {
        let pushed = self.config.try_pushdown_filters(filters, config)?;
        Ok(FilterPushdownPropagation {
            filters: pushed.filters,
            updated_node: pushed.updated_node.map(|source| self.like(&source)).transpose()?,
        })
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn DataSource>>> {
        self.config.try_pushdown_sort(order)?.try_map(|source| self.like(&source))
    }

    fn with_preserve_order(&self, preserve_order: bool) -> Option<Arc<dyn DataSource>> {
        self.like(&self.config.with_preserve_order(preserve_order)?).ok()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        DataSource::apply_expressions(self.config.as_ref(), f)
    }

    fn create_sibling_state(&self, config: &ConfigOptions) -> Option<Arc<dyn Any + Send + Sync>> {
        let files = self.config.create_sibling_state(config);
        if let Some(turning) = self.config.file_source().downcast_ref::<AdaptiveSource>() {
            // Partitions share a link, even if they do not share the files.
            let pace = turning.throughput(&self.config, config).ok();
            return Some(Arc::new(Siblings { files, keys: None, pace }));
        }
        let files = Some(files?);
        let scan = self.parts();
        let keys = scan.and_then(|(_, source)| KeysAtOpen::for_scan(source, source.metrics_set()));
        Some(Arc::new(Siblings { files, keys, pace: None }))
    }
}

/// The state that the partitions of a scan share during one execution.
struct Siblings {
    /// The files that no partition has opened yet.
    files: Option<Arc<dyn Any + Send + Sync>>,
    keys: Option<Arc<KeysAtOpen>>,
    pace: Option<Arc<Throughput>>,
}

/// A Select source at run time, with the endpoint that its name refers to. It is never in a plan.
#[derive(Clone)]
pub(super) struct BoundSource {
    source: S3SelectSource,
    keys: Option<Arc<KeysAtOpen>>,
    endpoint: Arc<Endpoint>,
    counters: Arc<Counters>,
    config: Arc<FileScanConfig>,
    context: Arc<TaskContext>,
}

impl BoundSource {
    fn new(
        source: &S3SelectSource,
        keys: Option<Arc<KeysAtOpen>>,
        config: &Arc<FileScanConfig>,
        context: &Arc<TaskContext>,
    ) -> Result<Self> {
        let options = context.session_config().options();
        let endpoint = resolve(options, source.endpoint_name())?;
        Ok(Self {
            source: source.clone(),
            keys,
            counters: QueryCounters::of_task(context, &endpoint),
            endpoint,
            config: Arc::clone(config),
            context: Arc::clone(context),
        })
    }

    pub(super) fn in_batches(&self, batch_size: usize) -> Self {
        Self { source: self.source.in_batches(batch_size), ..self.clone() }
    }

    /// Returns the counters of a partition.
    pub(super) fn metrics(&self, partition: usize) -> NodeMetrics {
        let counters = Arc::clone(&self.counters);
        NodeMetrics::new(&self.endpoint, counters, self.source.metrics_set(), partition)
    }

    /// Creates the opener for the files of a partition.
    pub(super) fn opener(&self, metrics: NodeMetrics) -> Result<Arc<dyn FileOpener>> {
        let opener = S3SelectOpener::new(
            &self.source,
            &self.endpoint,
            metrics,
            &self.config,
            Arc::clone(&self.context),
            self.keys.clone(),
        )?;
        let projection = self.source.split_projection().clone();
        let schema = self.source.file_schema();
        let opener = ProjectionOpener::try_new(projection, Arc::new(opener), schema)?;
        conforming_opener(opener, self)
    }
}

impl FileSource for BoundSource {
    fn create_file_opener(
        &self,
        _object_store: Arc<dyn ObjectStore>,
        _base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.opener(self.metrics(partition))
    }

    fn table_schema(&self) -> &TableSchema {
        self.source.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(self.in_batches(batch_size))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.source.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        FileSource::projection(&self.source)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.source.metrics_set()
    }

    fn file_type(&self) -> &str {
        self.source.file_type()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        FileSource::apply_expressions(&self.source, f)
    }
}

/// Returns the scan of a plan node whose source is of type `T`.
fn scan_by<T: FileSource>(node: &dyn ExecutionPlan) -> Option<(&FileScanConfig, &T)> {
    let node = (node as &dyn Any).downcast_ref::<DataSourceExec>()?;
    let config = &node.data_source().downcast_ref::<S3Scan>()?.config;
    Some((config, config.file_source().downcast_ref::<T>()?))
}

/// Returns the index scan of a plan node, or `None` for other nodes.
#[must_use]
pub fn as_index_scan(node: &dyn ExecutionPlan) -> Option<(&FileScanConfig, &IndexedSource)> {
    scan_by(node)
}

/// Returns the Select scan of a plan node, or `None` for other nodes.
#[must_use]
pub fn as_select_scan(node: &dyn ExecutionPlan) -> Option<(&FileScanConfig, &S3SelectSource)> {
    scan_by(node)
}

/// Returns the adaptive scan of a plan node, which begins with GET and may change to Select, or `None` for other
/// nodes.
#[must_use]
pub fn as_adaptive_scan(node: &dyn ExecutionPlan) -> Option<(&FileScanConfig, &AdaptiveSource)> {
    scan_by(node)
}

/// Returns the scan of a plan node that reads Parquet with GET and skips deleted rows, or `None` for other nodes.
#[must_use]
pub fn as_scan_of_kept_rows(node: &dyn ExecutionPlan) -> Option<&FileScanConfig> {
    scan_by::<ParquetSource>(node).map(|(config, _)| config)
}

/// Returns the files that a plan node scans, with a source of DataFusion or one of ours, or `None` for other nodes.
#[must_use]
pub fn as_scan(node: &dyn ExecutionPlan) -> Option<&FileScanConfig> {
    let source = (node as &dyn Any).downcast_ref::<DataSourceExec>()?.data_source();
    let ours = source.downcast_ref::<S3Scan>().map(|scan| scan.config.as_ref());
    ours.or_else(|| source.downcast_ref::<FileScanConfig>())
}
