//! A scan of CSV that an index leads to its records (PushdownDB, section IV-A).

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_datafusion_err, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileOpenFuture, FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::TaskContext;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory,
};
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStore;

use super::named::with_place;
use super::record_ranges::RecordRanges;
use crate::choice::Why;
use crate::counters::Counters;
use crate::endpoints::Endpoints;
use crate::index::estimate;
use crate::index::format::{CsvText, csv_source};
use crate::index::found::FileIndexes;
use crate::index::key;
use crate::index::layout::Place;
use crate::index::lookup::{About, IndexObject, OpenIndex, coalesced};
use crate::index::span::Spans;
use crate::notes::Notes;
use crate::query::QueryCounters;

/// What is looked up in the indexes of a table.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The column, by its place among the table's.
    pub column: usize,
    /// What is known of rows that are wanted, over the table's columns. Whoever reads the scan
    /// filters again: it also returns other rows.
    pub filter: Arc<dyn PhysicalExpr>,
    /// Bytes between two records that are read rather than asked around.
    pub gap: u64,
    /// The bucket of the index objects.
    pub store: ObjectStoreUrl,
}

/// Reads those records of CSV objects that may pass a filter, as an index tells, and all records of
/// objects that have no index to rely on. DataFusion's own source parses them.
#[derive(Clone)]
pub struct IndexedSource {
    inner: Arc<dyn FileSource>,
    asked: Asked,
    text: CsvText,
    type_name: String,
    spans: Arc<Spans>,
    /// What it takes to run: never in a plan.
    bound: Option<Bound>,
    metrics: ExecutionPlanMetricsSet,
}

#[derive(Clone)]
struct Bound {
    indexes: Arc<dyn ObjectStore>,
    notes: Option<Arc<Notes>>,
    counters: Option<Arc<Counters>>,
}

impl IndexedSource {
    /// The same scan with a look into indexes first, if its files can have any, and the filter says
    /// something about the column.
    ///
    /// # Errors
    ///
    /// Why it is not possible.
    pub fn replace(config: &FileScanConfig, asked: Asked) -> Result<FileScanConfig, Why> {
        let text = CsvText::of(config)?;
        let schema = config.file_source().table_schema().file_schema();
        let field = schema.fields().get(asked.column).ok_or("there is no such column")?;
        let type_name = key::type_name(field.data_type()).ok_or_else(|| {
            Why::new(format!("values of type {} have no index", field.data_type()))
        })?;
        let spans = Spans::of(&asked.filter, asked.column, field.data_type())
            .ok_or_else(|| Why::new(format!("the filter says nothing about {}", field.name())))?;
        let source = Self {
            inner: Arc::clone(config.file_source()),
            asked,
            text,
            type_name,
            spans: Arc::new(spans),
            bound: None,
            metrics: ExecutionPlanMetricsSet::new(),
        };
        Ok(FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build())
    }

    /// What is looked up.
    #[must_use]
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// The source that reads whole objects.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn FileSource> {
        &self.inner
    }

    /// The keys that are looked up.
    #[must_use]
    pub fn spans(&self) -> &Spans {
        &self.spans
    }

    /// The same source, ready to run as a part of a task about files in the bucket `data`.
    ///
    /// # Errors
    ///
    /// If the task has no store for the bucket of the indexes.
    pub(crate) fn bound(&self, data: &ObjectStoreUrl, context: &TaskContext) -> Result<Self> {
        let config = context.session_config();
        let endpoint =
            Endpoints::of(config.options()).and_then(|endpoints| endpoints.serving(data));
        let bound = Bound {
            indexes: context.runtime_env().object_store(&self.asked.store)?,
            notes: config.get_extension::<Notes>(),
            counters: endpoint.map(|endpoint| QueryCounters::of_task(context, &endpoint)),
        };
        Ok(Self { bound: Some(bound), ..self.clone() })
    }

    fn column(&self) -> &str {
        self.inner.table_schema().file_schema().field(self.asked.column).name()
    }
}

impl fmt::Debug for IndexedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexedSource").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl FileSource for IndexedSource {
    fn create_file_opener(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let Some(bound) = self.bound.clone() else {
            return internal_err!(
                "an index scan finds its stores in the task; open it as an S3Scan"
            );
        };
        let store = Arc::clone(&object_store);
        let whole = self.inner.create_file_opener(object_store, base_config, partition)?;
        let metrics = Metrics::new(&self.metrics, partition);
        let config = base_config.clone();
        let source = self.clone();
        let shared = Shared { source, bound, store, whole, config, partition, metrics };
        Ok(Arc::new(IndexedOpener { shared: Arc::new(shared) }))
    }

    fn table_schema(&self) -> &TableSchema {
        self.inner.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(Self { inner: self.inner.with_batch_size(batch_size), ..self.clone() })
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.inner.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        self.inner.file_type()
    }

    fn fmt_extra(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.inner.fmt_extra(t, f)?;
        let Asked { filter, gap, .. } = &self.asked;
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, ", index={} by {filter}, gap={gap}", self.column())
            }
            DisplayFormatType::TreeRender => writeln!(f, "index={}", self.column()),
        }
    }

    fn supports_repartitioning(&self) -> bool {
        // A look-up is about a whole object.
        false
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let inner = self.inner.try_pushdown_projection(projection)?;
        Ok(inner.map(|inner| Arc::new(Self { inner, ..self.clone() }) as Arc<dyn FileSource>))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.inner.apply_expressions(f)
    }
}

/// What EXPLAIN ANALYZE shows of a partition.
#[derive(Debug, Clone)]
struct Metrics {
    /// Requests about index objects, and the bytes of their answers.
    index_requests: Count,
    index_bytes: Count,
    /// Records that they led to.
    records: Count,
    /// Ranges of data objects that were asked for, and their bytes.
    range_requests: Count,
    got: Count,
    /// Objects that are read whole: they have no index, or too much of them is wanted.
    whole: Count,
    /// Objects whose index could not be relied on.
    fallbacks: Count,
}

impl Metrics {
    fn new(set: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |category, name: &'static str| {
            MetricBuilder::new(set).with_category(category).counter(name, partition)
        };
        Self {
            index_requests: count(MetricCategory::Rows, "index_requests"),
            index_bytes: count(MetricCategory::Bytes, "index_bytes"),
            records: count(MetricCategory::Rows, "records_found"),
            range_requests: count(MetricCategory::Rows, "range_requests"),
            got: count(MetricCategory::Bytes, "bytes_got"),
            whole: count(MetricCategory::Rows, "objects_read_whole"),
            fallbacks: count(MetricCategory::Rows, "fallbacks"),
        }
    }

    fn opened(&self, index: &OpenIndex) {
        let add = |count: &Count, n: u64| count.add(usize::try_from(n).unwrap_or(usize::MAX));
        add(&self.index_requests, index.requests);
        add(&self.index_bytes, index.bytes);
    }
}

struct IndexedOpener {
    shared: Arc<Shared>,
}

struct Shared {
    source: IndexedSource,
    bound: Bound,
    store: Arc<dyn ObjectStore>,
    whole: Arc<dyn FileOpener>,
    config: FileScanConfig,
    partition: usize,
    metrics: Metrics,
}

impl FileOpener for IndexedOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let shared = Arc::clone(&self.shared);
        Ok(Box::pin(async move {
            if file.object_meta.size == 0 {
                return Ok(futures::stream::empty().boxed());
            }
            match shared.find(&file).await {
                Found::Records(records) => shared.read(file, &records).await,
                Found::TooMany => {
                    shared.metrics.whole.add(1);
                    shared.whole.open(file)?.await
                }
                Found::NoIndex => shared.whole.open(file)?.await,
            }
        }))
    }
}

/// What the index of a file says.
enum Found {
    /// Where its records are.
    Records(Vec<Place>),
    /// So many that the file had better be read whole.
    TooMany,
    /// Nothing to rely on.
    NoIndex,
}

impl Shared {
    /// Whatever is wrong with an index, the file can be read without.
    async fn find(&self, file: &PartitionedFile) -> Found {
        let index =
            file.extension::<FileIndexes>().and_then(|all| all.of(self.source.asked.column));
        let Some(index) = index else {
            self.metrics.whole.add(1);
            return Found::NoIndex;
        };
        match self.look_up(file, index.object.clone()).await {
            Ok(found) => found,
            Err(why) => {
                self.metrics.fallbacks.add(1);
                if let Some(counters) = &self.bound.counters {
                    counters.fallback();
                }
                let (object, column) = (&file.object_meta.location, self.source.column());
                let why = crate::Error::from(why).to_string();
                tracing::info!(%object, column, why, "reading the object without its index");
                if let Some(notes) = &self.bound.notes {
                    notes.add(format!(
                        "the index of {column} for {object} is not used: {why}; \
                         `sluice index create --repair` makes a new one"
                    ));
                }
                Found::NoIndex
            }
        }
    }

    async fn look_up(&self, file: &PartitionedFile, object: IndexObject) -> Result<Found> {
        let (source, asked) = (&self.source, &self.source.asked);
        let indexes = Arc::clone(&self.bound.indexes);
        let mut index = OpenIndex::open(indexes, object).await?;
        let outcome = async {
            index.check(About {
                data: &file.object_meta,
                column: source.column(),
                position: asked.column,
                type_name: &source.type_name,
                format: &source.text.message(),
            })?;
            let (size, top) = (file.object_meta.size, &index.top);
            let selected = estimate::selected(top, &source.spans);
            let record = size as f64 / top.records.max(1) as f64;
            let ranges = estimate::ranges(size, selected.records, record, asked.gap);
            if self.is_too_much(size, ranges.requests, ranges.bytes + selected.index_bytes as f64) {
                return Ok(Found::TooMany);
            }
            let records = index.find(&source.spans).await?;
            self.metrics.records.add(records.len());
            Ok(Found::Records(records))
        };
        let outcome = outcome.await;
        self.metrics.opened(&index);
        outcome
    }

    /// Whether ranges are worse than the whole object: a request is worth a gap.
    fn is_too_much(&self, size: u64, requests: f64, bytes: f64) -> bool {
        bytes + requests * self.source.asked.gap as f64 > size as f64 + self.source.asked.gap as f64
    }

    /// The records, as the table reads them.
    async fn read(&self, file: PartitionedFile, records: &[Place]) -> RowsOf {
        let ranges = coalesced(records, self.source.asked.gap);
        if ranges.is_empty() {
            return Ok(futures::stream::empty().boxed());
        }
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        if self.is_too_much(file.object_meta.size, ranges.len() as f64, bytes as f64) {
            self.metrics.whole.add(1);
            return self.whole.open(file)?.await;
        }
        let csv = csv_source(&self.source.inner)
            .ok_or_else(|| internal_datafusion_err!("an index scan of something else than CSV"))?;
        // A reader leaves a byte order mark out at the start of a file, and only there.
        let before = bytes::Bytes::copy_from_slice(&self.source.text.blank_record());
        let some = RecordRanges::new(
            Arc::clone(&self.store),
            file.object_meta.clone(),
            before,
            ranges,
            (self.metrics.range_requests.clone(), self.metrics.got.clone()),
        );
        let store = self.config.object_store_url.as_str().trim_end_matches('/');
        let place = format!(
            "{store}/{}, counted among the records that its index leads to",
            file.object_meta.location
        );
        let opener = CsvText::headless(csv).create_file_opener(
            Arc::new(some),
            &self.config,
            self.partition,
        )?;
        let rows = opener.open(PartitionedFile { range: None, ..file })?.await?;
        Ok(rows.map_err(move |error: DataFusionError| with_place(error, &place)).boxed())
    }
}

type RowsOf = Result<futures::stream::BoxStream<'static, Result<arrow::array::RecordBatch>>>;
