//! DataFusion's sources of text, with errors that name the object and the place in it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    CsvSource, FileGroup, FileGroupPartitioner, FileOpenFuture, FileOpener, FileScanConfig,
    FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan};
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStore;

use super::bad_records::{RANGE_SUFFIX, with_location};
use super::csv::quotes::Quotes;
use super::csv::{open_quote, range_records, values};
use super::json::{bom, integers, rows, surrogate_pairs, undeclared_keys};
use super::record_limit;
use crate::context::notes::Notes;
use crate::text::csv::by_name;
use crate::text::csv::dialect::expected_header::ExpectedHeader;
use crate::text::csv::options::Recoding;
use crate::text::decompression::Members;

/// Wraps a source of text so that its errors name the object. It returns the rows of the source inside.
///
/// It also stores the layout of JSON, which DataFusion's source does not expose.
#[derive(Clone)]
pub(crate) struct LocatedSource {
    inner: Arc<dyn FileSource>,
    layout: TextLayout,
    /// The collector of notes about keys of JSON that are not columns, or `None` if these are not reported.
    notes: Option<Arc<Notes>>,
    /// The changes to the bytes before they are parsed.
    recoding: Recoding,
    /// The maximum number of rows in a batch.
    batch_size: usize,
    metrics: ExecutionPlanMetricsSet,
}

/// The default for the maximum number of rows in a batch.
pub(crate) const BATCH_SIZE: usize = 8192;

/// The way in which a text separates its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextLayout {
    /// CSV: delimited records.
    Csv,
    /// JSON objects, one or several on each line.
    JsonLines,
    /// JSON objects, one after the other, which may span several lines.
    JsonRecords,
    /// One JSON array of objects.
    JsonArray,
}

impl LocatedSource {
    /// Wraps a scan of CSV. Returns `None` for other scans.
    #[must_use]
    pub(crate) fn replace(config: &FileScanConfig) -> Option<FileScanConfig> {
        config.file_source().is::<CsvSource>().then(|| Self::wrap(config, TextLayout::Csv))
    }

    /// Returns the plain CSV scan inside a scan that [`LocatedSource::replace`] made, or `None` for other scans.
    #[must_use]
    pub(crate) fn replaced(config: &FileScanConfig) -> Option<FileScanConfig> {
        let named = config.file_source().downcast_ref::<Self>()?;
        let is_plain = named.layout == TextLayout::Csv && !named.recoding.is_needed();
        let inner = is_plain.then(|| Arc::clone(&named.inner))?;
        Some(FileScanConfigBuilder::from(config.clone()).with_source(inner).build())
    }

    /// Wraps a scan. `layout` must be that of its source.
    #[must_use]
    pub(crate) fn wrap(config: &FileScanConfig, layout: TextLayout) -> FileScanConfig {
        Self::wrap_recoded(config, layout, Recoding::default())
    }

    /// Wraps a scan whose bytes are changed before they are parsed.
    #[must_use]
    pub(crate) fn wrap_recoded(
        config: &FileScanConfig,
        layout: TextLayout,
        recoding: Recoding,
    ) -> FileScanConfig {
        let inner = Arc::clone(config.file_source());
        let metrics = ExecutionPlanMetricsSet::new();
        let named: Arc<dyn FileSource> = Arc::new(Self {
            inner,
            layout,
            notes: None,
            recoding,
            batch_size: BATCH_SIZE,
            metrics,
        });
        FileScanConfigBuilder::from(config.clone()).with_source(named).build()
    }

    /// Changes a wrapped scan of JSON so that it notes keys that are not columns. Returns `None` for other scans.
    pub(crate) fn noting_keys(
        config: &FileScanConfig,
        notes: &Arc<Notes>,
    ) -> Option<FileScanConfig> {
        let named = config.file_source().downcast_ref::<Self>()?;
        let named = Self { notes: Some(Arc::clone(notes)), ..named.clone() };
        Some(FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(named)).build())
    }

    /// Wraps a scan of CSV whose bytes are changed before they are parsed; returns it unchanged if `recoding` does
    /// nothing.
    pub(crate) fn recoded(
        scan: Arc<dyn ExecutionPlan>,
        recoding: Recoding,
    ) -> Arc<dyn ExecutionPlan> {
        let config = scan
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        match config.filter(|_| recoding.is_needed()) {
            Some(config) => DataSourceExec::from_data_source(Self::wrap_recoded(
                config,
                TextLayout::Csv,
                recoding,
            )),
            None => scan,
        }
    }

    /// Returns the changes to the bytes before they are parsed, or `None` if there are none.
    #[must_use]
    pub(crate) fn recoding(&self) -> Option<Recoding> {
        Some(self.recoding).filter(|recoding| recoding.is_needed())
    }

    /// Returns a copy of the source with new metrics.
    #[must_use]
    pub(crate) fn again(&self) -> Self {
        Self { metrics: ExecutionPlanMetricsSet::new(), ..self.clone() }
    }

    /// Returns the source that reads.
    #[must_use]
    pub(crate) fn inner(&self) -> &Arc<dyn FileSource> {
        &self.inner
    }

    /// Returns the way in which the files separate their rows.
    #[must_use]
    pub(crate) fn layout(&self) -> TextLayout {
        self.layout
    }
}

impl fmt::Debug for LocatedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedSource({:?})", self.layout)
    }
}

impl FileSource for LocatedSource {
    fn create_file_opener(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let place = base_config.object_store_url.as_str().trim_end_matches('/').to_owned();
        let (mut config, mut store) = (base_config.clone(), object_store);
        config.file_groups.clear();
        if self.recoding.is_needed() {
            store = self.recoding.read_from(store, config.file_compression_type);
            config.file_compression_type = FileCompressionType::UNCOMPRESSED;
            if let (true, Some(csv)) =
                (self.recoding.by_name, self.inner.downcast_ref::<CsvSource>())
            {
                store = by_name::reordered(store, csv);
            }
        } else if let Some(members) = Members::for_compression(config.file_compression_type) {
            config.file_compression_type = FileCompressionType::UNCOMPRESSED;
            store = members.read_from(store);
        }
        let source = Arc::clone(&self.inner);
        let notes = self.notes.clone().filter(|_| reads_all(source.as_ref()));
        let (layout, batch_size) = (self.layout, self.batch_size);
        let is_local =
            place.starts_with("file:") && !base_config.file_compression_type.is_compressed();
        Ok(Arc::new(LocatedOpener {
            source,
            config,
            partition,
            batch_size,
            store,
            place,
            layout,
            notes,
            is_limited: !is_local,
        }))
    }

    fn table_schema(&self) -> &TableSchema {
        self.inner.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        let columns = self.inner.table_schema().file_schema().fields().len();
        let batch_size = match self.layout {
            TextLayout::Csv => batch_size.min(VALUES_AT_ONCE / columns.max(1)).max(1),
            _ => batch_size,
        };
        let inner = self.inner.with_batch_size(batch_size);
        Arc::new(Self { inner, batch_size, ..self.clone() })
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.inner.filter()
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
        match (self.recoding(), t) {
            (None, _) => Ok(()),
            (Some(recoding), DisplayFormatType::TreeRender) => writeln!(f, "{recoding}"),
            (Some(recoding), _) => write!(f, ", {recoding}"),
        }
    }

    fn supports_repartitioning(&self) -> bool {
        // DataFusion cuts files at line ends, and refuses a part that begins or ends within a value.
        match self.layout {
            // Decoding has to start at the beginning of a file.
            _ if self.recoding.is_needed() => false,
            TextLayout::Csv | TextLayout::JsonLines => self.inner.supports_repartitioning(),
            TextLayout::JsonRecords | TextLayout::JsonArray => false,
        }
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        repartition_file_min_size: usize,
        output_ordering: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        let groups = match output_ordering {
            None if config.limit.is_none() => many_small(&config.file_groups, target_partitions),
            _ => None,
        };
        if groups.is_none()
            && (config.file_compression_type.is_compressed() || !self.supports_repartitioning())
        {
            return Ok(None);
        }
        let groups = groups.or_else(|| {
            FileGroupPartitioner::new()
                .with_target_partitions(target_partitions)
                .with_repartition_file_min_size(repartition_file_min_size)
                .with_preserve_order_within_groups(output_ordering.is_some())
                .repartition_file_groups(&config.file_groups)
        });
        let with =
            |groups| FileScanConfigBuilder::from(config.clone()).with_file_groups(groups).build();
        Ok(groups.map(with))
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

/// The maximum number of values in a batch of CSV: the reader reserves memory for all of them, whether it reads them
/// or not.
const VALUES_AT_ONCE: usize = 4 << 20;

/// The minimum number of groups for many small files: each group waits for one or two files at a time.
const SMALL_AT_ONCE: usize = 8;
/// The maximum number of bytes of a small file: its request takes longer than the transfer of its bytes.
const SMALL: u64 = 128 << 10;

/// Divides many small files, whose time is mostly latency, into more groups than there are cores. Returns `None` for
/// other files.
fn many_small(groups: &[FileGroup], target_partitions: usize) -> Option<Vec<FileGroup>> {
    let wanted = SMALL_AT_ONCE.max(target_partitions);
    let files = || groups.iter().flat_map(FileGroup::iter);
    let count = files().count();
    let bytes: u64 = files().map(PartitionedFile::effective_size).sum();
    if groups.len() >= wanted || count < 2 * wanted || bytes > SMALL * count as u64 {
        return None;
    }
    let all: Vec<PartitionedFile> = files().cloned().collect();
    let each = all.len().div_ceil(wanted);
    Some(all.chunks(each).map(|files| FileGroup::new(files.to_vec())).collect())
}

/// Returns true if the source reads all columns of the files.
fn reads_all(source: &dyn FileSource) -> bool {
    let columns = source.table_schema().file_schema().fields().len();
    source.projection().is_none_or(|projection| {
        let read: BTreeSet<usize> = projection.column_indices().into_iter().collect();
        (0..columns).all(|column| read.contains(&column))
    })
}

struct LocatedOpener {
    source: Arc<dyn FileSource>,
    /// The scan, without its files.
    config: FileScanConfig,
    partition: usize,
    batch_size: usize,
    store: Arc<dyn ObjectStore>,
    /// The URL of the store.
    place: String,
    layout: TextLayout,
    /// Collects notes about keys of JSON that are not columns.
    notes: Option<Arc<Notes>>,
    /// True if the length of lines must be bounded: the file is compressed or not on this machine.
    is_limited: bool,
}

impl LocatedOpener {
    /// Returns the store that a file is read from. It detects what DataFusion would silently read wrong:
    ///
    /// * CSV: a quote that is never closed, a quoted value with a line end where the file is cut into parts, and lines
    ///   that are too long
    /// * JSON: a byte order mark, fractions in columns of whole numbers, keys that are not columns, and escaped
    ///   characters that the reader would decode wrongly (these are rewritten)
    fn store_of(&self, file: &PartitionedFile, object: &str, place: &str) -> Arc<dyn ObjectStore> {
        let store = Arc::clone(&self.store);
        let Some(csv) = self.source.downcast_ref::<CsvSource>() else {
            let store = bom::blanked(store);
            let store = match &self.notes {
                Some(notes) => {
                    let columns = self.source.table_schema().file_schema();
                    undeclared_keys::noted(store, columns, self.layout, notes, object)
                }
                None => store,
            };
            let source = self.source.as_ref();
            let has_pairs = surrogate_pairs::may_be_in(&integers::columns_read(source));
            let store = if has_pairs { surrogate_pairs::mended(store) } else { store };
            return integers::checked(store, source, place);
        };
        let store = match self.is_limited {
            true => record_limit::limited(store, object),
            false => store,
        };
        let Some(quotes) = Quotes::from_csv(csv) else { return store };
        if file.range.is_none() {
            return open_quote::checked(store, quotes, object.to_owned());
        }
        let (start, end) = file.range();
        let terminator = csv.terminator().unwrap_or(b'\n');
        let size = file.object_meta.size;
        range_records::checked(store, quotes, terminator, start..end, size, object.to_owned())
    }
}

impl FileOpener for LocatedOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let object = format!("{}/{}", self.place, file.object_meta.location);
        let place = match file.range {
            None => object.clone(),
            Some(_) => {
                let (start, end) = file.range();
                format!("{object}, {RANGE_SUFFIX} {start} to {end}")
            }
        };
        let mut store = self.store_of(&file, &object, &place);
        let expected = file.extension::<ExpectedHeader>();
        let begins = file.range.is_none() || file.range().0 == 0;
        if let Some(expected) = expected.filter(|_| begins) {
            store = expected.watched(store, &file.object_meta);
        }
        // The header of a later part is at the start of the file.
        let elsewhere = expected.filter(|_| !begins).cloned();
        let (all, meta) = (Arc::clone(&self.store), file.object_meta.clone());
        let (partition, batch_size) = (self.partition, self.batch_size);
        let inner = match self.layout {
            TextLayout::Csv => {
                values::opener(&self.source, store, &self.config, partition, batch_size)?
            }
            layout => rows::opener(self.source.as_ref(), layout, store, &self.place, batch_size)?,
        };
        let opened = inner.open(file)?;
        let columns = Arc::clone(self.source.table_schema().file_schema());
        let output = output_schema(self.source.as_ref())?;
        Ok(Box::pin(async move {
            if let Some(expected) = elsewhere {
                expected.check(&all, &meta).await?;
            }
            let rows = opened.await?.map(move |rows| match &output {
                Some(output) => conforming(rows?, output),
                None => rows,
            });
            Ok(rows.map_err(move |error| with_location(error, &place, &columns)).boxed())
        }))
    }
}

/// Returns the output schema of a source that has partition columns, or `None` for others. DataFusion fills these
/// columns with the literal of a file, which is NOT NULL for one file and NULL for another.
fn output_schema(source: &dyn FileSource) -> Result<Option<SchemaRef>> {
    let table = source.table_schema();
    if table.table_partition_cols().is_empty() {
        return Ok(None);
    }
    let all = table.table_schema();
    Ok(Some(match source.projection() {
        Some(projection) => Arc::new(projection.project_schema(all)?),
        None => Arc::clone(all),
    }))
}

/// Wraps an opener so that its rows have the output schema of the source.
pub(crate) fn conforming_opener(
    inner: Arc<dyn FileOpener>,
    source: &dyn FileSource,
) -> Result<Arc<dyn FileOpener>> {
    Ok(match output_schema(source)? {
        Some(output) => Arc::new(SchemaCheckOpener { inner, output }) as Arc<dyn FileOpener>,
        None => inner,
    })
}

struct SchemaCheckOpener {
    inner: Arc<dyn FileOpener>,
    output: SchemaRef,
}

impl FileOpener for SchemaCheckOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let opened = self.inner.open(file)?;
        let output = Arc::clone(&self.output);
        Ok(Box::pin(async move {
            let rows = opened.await?;
            Ok(rows.map(move |rows| conforming(rows?, &output)).boxed())
        }))
    }
}

/// Gives rows a schema whose columns may be NULL where those of the rows may not.
fn conforming(rows: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let is_other = rows.schema_ref() != schema && schema.contains(rows.schema_ref());
    Ok(if is_other { rows.with_schema(Arc::clone(schema))? } else { rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_files_are_read_at_once() {
        let groups = |files: usize, size: u64| {
            let file = |number: usize| PartitionedFile::new(format!("{number:03}"), size);
            let files: Vec<_> = (0..files).map(file).collect();
            let (one, two) = files.split_at(files.len() / 2);
            [one, two].map(|files| FileGroup::new(files.to_vec()))
        };
        let sizes = |groups: &[FileGroup]| groups.iter().map(FileGroup::len).collect::<Vec<_>>();
        let split = many_small(&groups(100, 10), 2).unwrap();
        assert_eq!(sizes(&split), [13, 13, 13, 13, 13, 13, 13, 9]);
        let files = split.iter().flat_map(FileGroup::iter);
        let names = files.map(|file| file.object_meta.location.to_string());
        assert!(names.eq((0..100).map(|number| format!("{number:03}"))));
        assert!(many_small(&groups(15, 10), 2).is_none());
        assert!(many_small(&groups(100, SMALL + 1), 2).is_none());
    }
}
