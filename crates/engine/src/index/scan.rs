//! The index scan: it reads only the records that indexes lead to (PushdownDB, section IV-A).

use std::fmt;
use std::sync::Arc;

use chrono::DateTime;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{
    DataFusionError, Result, exec_datafusion_err, exec_err, internal_datafusion_err, internal_err,
};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
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
use futures::future::join_all;
use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStore};
use parquet::arrow::arrow_reader::RowSelection;
use sluicegate_index::layout::RecordLocation;
use sluicegate_index::ranges::coalesced;
use sluicegate_index::span::Spans;

use super::one_file::one_file;
use super::record_boundaries::Borders;
use super::record_ranges::{RecordRanges, within_record};
use crate::context::choice::Reason;
use crate::context::counters::Counters;
use crate::context::notes::Notes;
use crate::index::discovery::FileIndexes;
use crate::index::estimate::{SelectionEstimate, Shape, best_together, selected};
use crate::index::filter::spans_of;
use crate::index::key;
use crate::index::lookup::{IndexIdentity, IndexObject, OpenIndex};
use crate::index::read_plan::ReadPlan;
use crate::index::rows::selection;
use crate::index::table;
use crate::pushdown::float_bounds::distrusting;
use crate::store::endpoints::Endpoints;
use crate::store::multi_range_get::{Fetch, ManyRanges, RangesRead};
use crate::store::query_counters::QueryCounters;
use crate::store::ranges::PIECE_BYTES;
use crate::text::bad_records::with_location;
use crate::text::csv::dialect::expected_header::ExpectedHeader;
use crate::text::csv::values;
use crate::text::format::{Format, RecordSource};
use crate::text::json::rows;
use crate::text::json::surrogate_pairs::mended;
use crate::text::located_errors::{BATCH_SIZE, TextLayout};
use sluicegate_guards::sql_types::sql_type;

/// The index look-up of a scan.
#[derive(Debug, Clone)]
pub struct IndexLookup {
    /// The columns to look up. The scan reads the records that the indexes of all these columns lead to.
    pub columns: Vec<ColumnLookup>,
    /// The sizes of the requests for records.
    pub reading: ReadPlan,
    /// The bucket of the index objects.
    pub store: ObjectStoreUrl,
    /// The scan of index tables by S3 Select, if such tables are used instead of indexes. It returns places.
    pub table: Option<Arc<FileScanConfig>>,
}

/// The look-up in the indexes of one column.
#[derive(Debug, Clone)]
pub struct ColumnLookup {
    /// The column's position in the table.
    pub column: usize,
    /// The condition on the rows, over the table's columns. The scan may return other rows, too, so an operator above
    /// it filters again.
    pub filter: Arc<dyn PhysicalExpr>,
}

/// Reads those records of objects that may pass a filter according to indexes, and all records of objects that have
/// no usable index. DataFusion's own source parses the records.
#[derive(Clone)]
pub struct IndexedSource {
    inner: Arc<dyn FileSource>,
    asked: IndexLookup,
    format: Format,
    wanted: Arc<[KeyRanges]>,
    /// The run-time state. It is none while the source is in a plan.
    bound: Option<Bound>,
    metrics: ExecutionPlanMetricsSet,
}

/// The look-up in the indexes of one column, as spans of keys.
#[derive(Debug)]
struct KeyRanges {
    column: usize,
    name: String,
    type_name: String,
    spans: Spans,
}

#[derive(Clone)]
struct Bound {
    indexes: Arc<dyn ObjectStore>,
    context: Arc<TaskContext>,
    notes: Option<Arc<Notes>>,
    counters: Option<Arc<Counters>>,
    /// The scan of index tables, with its own run-time state.
    table: Option<Arc<dyn FileSource>>,
}

impl IndexedSource {
    /// Changes a scan so that it first looks into indexes. The files must be of a format that can be indexed, and the
    /// filters must restrict the columns.
    ///
    /// # Errors
    ///
    /// The reason if that is not possible.
    pub fn replace(config: &FileScanConfig, asked: IndexLookup) -> Result<FileScanConfig, Reason> {
        let format = Format::from_scan(config)?;
        let schema = config.file_source().table_schema().file_schema();
        let wanted = |asked: &ColumnLookup| {
            let field = schema.fields().get(asked.column).ok_or("there is no such column")?;
            let type_name = key::type_name(field.data_type()).ok_or_else(|| {
                Reason::new(format!("values of type {} have no index", sql_type(field.data_type())))
            })?;
            let name = field.name().clone();
            let spans = spans_of(&asked.filter, asked.column, field.data_type())
                .ok_or_else(|| Reason::new(format!("the filter says nothing about {name}")))?;
            Ok(KeyRanges { column: asked.column, name, type_name, spans })
        };
        let wanted = asked.columns.iter().map(wanted).collect::<Result<_, Reason>>()?;
        let inner = config.file_source();
        let source = Self {
            inner: distrusting(inner).unwrap_or_else(|| Arc::clone(inner)),
            asked,
            format,
            wanted,
            bound: None,
            metrics: ExecutionPlanMetricsSet::new(),
        };
        Ok(FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build())
    }

    /// Returns the look-up of the scan.
    #[must_use]
    pub fn lookup(&self) -> &IndexLookup {
        &self.asked
    }

    /// Returns the source that reads whole objects.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn FileSource> {
        &self.inner
    }

    /// Prepares the source to run in a task that reads files of the bucket `data`.
    ///
    /// # Errors
    ///
    /// If the task has no store for the bucket of the indexes.
    pub(crate) fn bound(
        &self,
        data: &ObjectStoreUrl,
        table: Option<Arc<dyn FileSource>>,
        context: &Arc<TaskContext>,
    ) -> Result<Self> {
        let config = context.session_config();
        let endpoint =
            Endpoints::from_options(config.options()).and_then(|endpoints| endpoints.serving(data));
        let bound = Bound {
            indexes: context.runtime_env().object_store(&self.asked.store)?,
            context: Arc::clone(context),
            notes: config.get_extension::<Notes>(),
            table,
            counters: endpoint.map(|endpoint| QueryCounters::of_task(context, &endpoint)),
        };
        Ok(Self { bound: Some(bound), ..self.clone() })
    }

    /// Returns the number of columns that a source reads, and the number of all columns.
    #[must_use]
    pub fn width(source: &dyn FileSource) -> (usize, usize) {
        let all = source.table_schema().file_schema().fields().len();
        let some = source.projection().map_or(all, |some| some.column_indices().len());
        (some.min(all), all)
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
        let store = object_store;
        let metrics = Metrics::new(&self.metrics, partition);
        let config = base_config.clone();
        let source = self.clone();
        let many = Arc::new(ManyRanges::new(bound.notes.clone()));
        let shared = Shared { source, bound, store, config, partition, metrics, many };
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
        match t {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let first = match self.asked.table {
                    Some(_) => ", index_table=",
                    None => ", index=",
                };
                for (number, wanted) in self.wanted.iter().enumerate() {
                    let before = if number == 0 { first } else { " and " };
                    let filter = &self.asked.columns[number].filter;
                    write!(f, "{before}{} by {filter}", wanted.name)?;
                }
                let ReadPlan { gap, ranges_per_request, .. } = self.asked.reading;
                if self.asked.table.is_some() {
                    return write!(f, ", one GET per row");
                }
                write!(f, ", gap={gap}")?;
                match ranges_per_request {
                    0 | 1 => Ok(()),
                    several => write!(f, ", ranges_per_request={several}"),
                }
            }
            DisplayFormatType::TreeRender => {
                let names: Vec<_> = self.wanted.iter().map(|it| it.name.as_str()).collect();
                writeln!(f, "index={}", names.join(" and "))
            }
        }
    }

    fn supports_repartitioning(&self) -> bool {
        // A look-up needs a whole object.
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

/// The metrics of a partition, shown by EXPLAIN ANALYZE.
#[derive(Debug, Clone)]
struct Metrics {
    /// Requests for index objects, and the bytes of their answers.
    index_requests: Count,
    index_bytes: Count,
    /// Records that the indexes led to.
    records: Count,
    /// The requests for ranges of data objects.
    read: RangesRead,
    /// Objects that are read whole, because they have no index or because too many of their records are wanted.
    whole: Count,
    /// Indexes that could not be used.
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
            read: RangesRead {
                requests: count(MetricCategory::Rows, "range_requests"),
                ranges: count(MetricCategory::Rows, "ranges"),
                got: count(MetricCategory::Bytes, "bytes_got"),
            },
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
    config: FileScanConfig,
    partition: usize,
    metrics: Metrics,
    many: Arc<ManyRanges>,
}

impl FileOpener for IndexedOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let shared = Arc::clone(&self.shared);
        Ok(Box::pin(async move {
            if file.object_meta.size == 0 {
                return Ok(futures::stream::empty().boxed());
            }
            // A look-up needs a whole object.
            if file.range.is_some() {
                return shared.whole(file);
            }
            if let Some(expected) = file.extension::<ExpectedHeader>() {
                expected.check(&shared.store, &file.object_meta).await?;
            }
            match shared.find(&file).await {
                LookupOutcome::Records(records) => shared.read(file, &records).await,
                LookupOutcome::Rows(rows) => {
                    shared.whole(file.with_extension(ParquetRowSelection::new(rows)))
                }
                LookupOutcome::TooMany => {
                    shared.metrics.whole.add(1);
                    shared.whole(file)
                }
                LookupOutcome::NoIndex => shared.whole(file),
            }
        }))
    }
}

/// The result of looking up a file in its indexes.
enum LookupOutcome {
    /// The places of the records.
    Records(Vec<RecordLocation>),
    /// The rows of a Parquet file.
    Rows(RowSelection),
    /// Too many records: reading the whole file is cheaper.
    TooMany,
    /// No index can be used.
    NoIndex,
}

impl Shared {
    /// Looks up a file in its indexes. An error in an index is never fatal: the file can be read without it.
    async fn find(&self, file: &PartitionedFile) -> LookupOutcome {
        if let Some(table) = &self.bound.table {
            return self.find_in_table(file, table).await;
        }
        let known = file.extension::<FileIndexes>();
        let of = |wanted: &KeyRanges| Some(known?.for_column(wanted.column)?.object.clone());
        let objects = self.source.wanted.iter().filter_map(|wanted| Some((wanted, of(wanted)?)));
        let opened: Vec<_> = join_all(objects.map(|(wanted, object)| async move {
            (wanted, self.open(file, wanted, object).await)
        }))
        .await;
        if opened.is_empty() {
            self.metrics.whole.add(1);
            return LookupOutcome::NoIndex;
        }
        let mut indexes: Vec<(&KeyRanges, OpenIndex)> = Vec::new();
        for (wanted, opened) in opened {
            let alike = opened.and_then(|index| match indexes.first() {
                Some((_, first)) if first.top.records != index.top.records => {
                    exec_err!(
                        "it is about {} records, and others about {}",
                        index.top.records,
                        first.top.records
                    )
                }
                _ => Ok(index),
            });
            match alike {
                Ok(index) => indexes.push((wanted, index)),
                Err(why) => self.distrust(file, wanted, why),
            }
        }
        let found = self.look_up(file, &mut indexes).await;
        for (_, index) in &indexes {
            self.metrics.opened(index);
        }
        found
    }

    /// Looks up a file in its index table.
    async fn find_in_table(
        &self,
        file: &PartitionedFile,
        table: &Arc<dyn FileSource>,
    ) -> LookupOutcome {
        let wanted = self.source.wanted.first();
        let known = file.extension::<FileIndexes>();
        let found = wanted.and_then(|wanted| Some((wanted, known?.table_for(wanted.column)?)));
        let Some((wanted, index)) = found else {
            self.metrics.whole.add(1);
            return LookupOutcome::NoIndex;
        };
        match self.places(file, table, &index.object).await {
            Ok(found) => {
                self.metrics.records.add(found.len());
                LookupOutcome::Records(found)
            }
            Err(why) => {
                self.distrust(file, wanted, why);
                LookupOutcome::NoIndex
            }
        }
    }

    /// Selects the places of records from an index table.
    async fn places(
        &self,
        file: &PartitionedFile,
        table: &Arc<dyn FileSource>,
        object: &IndexObject,
    ) -> Result<Vec<RecordLocation>> {
        let mut found = Vec::new();
        if object.size == 0 {
            return Ok(found);
        }
        self.metrics.index_requests.add(1);
        let listed = PartitionedFile::from(ObjectMeta {
            location: object.path.clone(),
            last_modified: DateTime::UNIX_EPOCH,
            size: object.size,
            e_tag: object.e_tag.clone(),
            version: None,
        });
        let store = Arc::clone(&self.bound.indexes);
        let opener = table.create_file_opener(store, &self.config, self.partition)?;
        let mut rows = opener.open(listed)?.await?;
        while let Some(batch) = rows.try_next().await? {
            found.extend(table::places(&batch, file.object_meta.size)?);
            if found.len() > table::MOST_PLACES {
                break;
            }
        }
        // The store returns rows in their order; a merged answer may not.
        table::sorted(found)
    }

    /// Counts and notes that an index is not used.
    fn distrust(&self, file: &PartitionedFile, wanted: &KeyRanges, why: DataFusionError) {
        self.metrics.fallbacks.add(1);
        if let Some(counters) = &self.bound.counters {
            counters.fallback();
        }
        let (object, column) = (&file.object_meta.location, &wanted.name);
        let why = crate::Error::from(why).to_string();
        tracing::info!(%object, column, why, "reading the object without its index");
        if let Some(notes) = &self.bound.notes {
            let way_out = match self.bound.table {
                Some(_) => format!(
                    "`sluice index drop TABLE {column}` and `create TABLE {column} --csv` make a new one"
                ),
                None => format!("`sluice index create TABLE {column} --repair` makes a new one"),
            };
            notes.add(format!("the index of {column} for {object} is not used: {why}; {way_out}"));
        }
    }

    async fn open(
        &self,
        file: &PartitionedFile,
        wanted: &KeyRanges,
        object: IndexObject,
    ) -> Result<OpenIndex> {
        let index = OpenIndex::open(Arc::clone(&self.bound.indexes), object).await?;
        let format = &self.source.format;
        let checked = index.check(IndexIdentity {
            data: &file.object_meta,
            column: &wanted.name,
            position: format.position(wanted.column),
            type_name: &wanted.type_name,
            format: &format.message(),
        });
        if let Err(why) = checked {
            self.metrics.opened(&index);
            return Err(why);
        }
        Ok(index)
    }

    /// Looks up the records that all indexes lead to. Indexes that cost more than they save are not used.
    async fn look_up(
        &self,
        file: &PartitionedFile,
        indexes: &mut [(&KeyRanges, OpenIndex)],
    ) -> LookupOutcome {
        let Some((_, first)) = indexes.first() else { return LookupOutcome::NoIndex };
        let (reading, rows) = (&self.source.asked.reading, first.top.records);
        let width = IndexedSource::width(self.source.inner.as_ref());
        let shape = Shape::new(file.object_meta.size, &first.top, width);
        let selected: Vec<SelectionEstimate> =
            indexes.iter().map(|(wanted, index)| selected(&index.top, &wanted.spans)).collect();
        let together =
            |some: &[usize]| shape.looking_up(some.iter().map(|one| &selected[*one]), reading);
        let used = best_together(selected.len(), |some| together(some).weight(reading));
        if shape.is_too_much(together(&used).weight(reading), reading) {
            return LookupOutcome::TooMany;
        }
        let some = indexes.iter_mut().enumerate().filter(|(number, _)| used.contains(number));
        let looked =
            join_all(some.map(|(_, (wanted, index))| async move {
                (*wanted, index.find(&wanted.spans).await)
            }))
            .await;
        let mut found: Option<Vec<RecordLocation>> = None;
        for (wanted, places) in looked {
            match places {
                Ok(places) => {
                    found = Some(match found {
                        Some(found) => in_both(&found, &places),
                        None => places,
                    });
                }
                Err(why) => self.distrust(file, wanted, why),
            }
        }
        let Some(found) = found else { return LookupOutcome::NoIndex };
        self.metrics.records.add(found.len());
        if self.source.format != Format::Parquet {
            return LookupOutcome::Records(found);
        }
        let ranges = shape.reading(found.len() as f64, reading);
        if shape.is_too_much(reading.weight(ranges.requests, ranges.bytes), reading) {
            return LookupOutcome::TooMany;
        }
        LookupOutcome::Rows(selection(&found, rows))
    }

    /// Reads the file without an index, or only its selected rows.
    fn whole(&self, file: PartitionedFile) -> RowsFuture {
        Ok(one_file(&self.config, &self.source.inner, file, &self.bound.context)?.boxed())
    }

    /// Reads the records by ranges and parses them as the table's format.
    async fn read(&self, file: PartitionedFile, records: &[RecordLocation]) -> RowsFuture {
        let mut reading = self.source.asked.reading;
        if self.many.are_refused() {
            reading = reading.one_by_one();
        }
        let size = file.object_meta.size;
        let is_table = self.bound.table.is_some();
        let ranges = match is_table {
            true => records.iter().map(|it| it.first..it.first + it.bytes).collect(),
            false => coalesced(records, reading.gap),
        };
        if ranges.is_empty() {
            return Ok(futures::stream::empty().boxed());
        }
        let bytes = ranges.iter().map(|range| range.end - range.start).sum::<u64>() as f64;
        let count = ranges.len() as f64;
        let weight =
            reading.weight(reading.requests(count, bytes), bytes + reading.overhead(count));
        if !is_table && weight > reading.weight(1.0, size as f64) {
            self.metrics.whole.add(1);
            return self.whole(file);
        }
        let (source, before): RecordSource =
            self.source.format.source_of_records(&self.source.inner).ok_or_else(|| {
                internal_datafusion_err!("ranges of bytes of an object that has no such records")
            })?;
        let (object, many, read) =
            (file.object_meta.clone(), Arc::clone(&self.many), self.metrics.read.clone());
        let fetch = Fetch::new(Arc::clone(&self.store), object, many, read);
        let borders = Borders::new(&self.source.format, size, ranges);
        let few = borders.bytes() <= PIECE_BYTES;
        let mut some = RecordRanges::new(fetch, before, borders, reading.ranges_per_request);
        // More bytes than this are streamed, so rows flow before all ranges have arrived.
        if few && let Err(error) = some.fetch().await {
            let Some(within) = within_record(&error) else { return Err(error.into()) };
            let offset = within.offset;
            for wanted in self.source.wanted.iter() {
                let why = exec_datafusion_err!("it leads into a record, to byte {offset}");
                self.distrust(&file, wanted, why);
            }
            return self.whole(file);
        }
        let store = self.config.object_store_url.as_str().trim_end_matches('/');
        let place = format!(
            "{store}/{}, counted among the records that its index leads to",
            file.object_meta.location
        );
        let mut some: Arc<dyn ObjectStore> = Arc::new(some);
        if matches!(self.source.format, Format::JsonLines) {
            some = mended(some);
        }
        let (config, partition) = (&self.config, self.partition);
        let opener = match self.source.format {
            Format::JsonLines => {
                rows::opener(source.as_ref(), TextLayout::JsonRecords, some, store, BATCH_SIZE)?
            }
            _ => values::opener(&source, some, config, partition, BATCH_SIZE)?,
        };
        let rows = opener.open(file)?.await?;
        let columns = Arc::clone(source.table_schema().file_schema());
        Ok(rows
            .map_err(move |error: DataFusionError| with_location(error, &place, &columns))
            .boxed())
    }
}

type RowsFuture = Result<futures::stream::BoxStream<'static, Result<arrow::array::RecordBatch>>>;

/// Returns the places that are in both lists. Both lists are sorted.
fn in_both(a: &[RecordLocation], b: &[RecordLocation]) -> Vec<RecordLocation> {
    let mut others = b.iter().peekable();
    let is_in_others = |place: &&RecordLocation| {
        while others.next_if(|other| other < place).is_some() {}
        others.peek() == Some(place)
    };
    a.iter().filter(is_in_others).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_must_be_in_both() {
        let places = |firsts: &[u64]| -> Vec<RecordLocation> {
            firsts.iter().map(|first| RecordLocation { first: *first, bytes: 3 }).collect()
        };
        let (a, b) = (places(&[1, 5, 9, 20]), places(&[0, 5, 6, 20, 21]));
        assert_eq!(in_both(&a, &b), places(&[5, 20]));
        assert_eq!(in_both(&b, &a), places(&[5, 20]));
        assert_eq!(in_both(&a, &[]), []);
        assert_eq!(in_both(&[], &a), []);
    }
}
