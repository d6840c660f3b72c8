//! Requests the column chunks of the next row group of a Parquet object while those of the current one are decoded.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::common::Result;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSource, ParquetFileReaderFactory, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, RowGroupMetaData,
};

/// The most bytes that one reader requests ahead.
const MAX_BYTES: u64 = 64 << 20;

/// Makes a scan of Parquet read ahead. Other nodes are returned unchanged, as is a scan with a limit, which may need no
/// further row group.
#[must_use]
pub(crate) fn reading_ahead(node: Arc<dyn ExecutionPlan>) -> Transformed<Arc<dyn ExecutionPlan>> {
    let scan = node.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
    let Some(config) = scan.and_then(|scan| scan.downcast_ref::<FileScanConfig>()) else {
        return Transformed::no(node);
    };
    let Some(source) = config.file_source().downcast_ref::<ParquetSource>() else {
        return Transformed::no(node);
    };
    let Some(inner) = source.parquet_file_reader_factory().filter(|_| config.limit.is_none())
    else {
        return Transformed::no(node);
    };
    let readers = ahead(source, Arc::clone(inner));
    let source = source.clone().with_parquet_file_reader_factory(readers);
    let config = FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build();
    Transformed::yes(DataSourceExec::from_data_source(config))
}

/// Makes the readers of a source read ahead.
pub(crate) fn ahead(
    source: &ParquetSource,
    inner: Arc<dyn ParquetFileReaderFactory>,
) -> Arc<dyn ParquetFileReaderFactory> {
    Arc::new(ReadAhead { inner, may_skip: source.filter().is_some() })
}

/// Makes readers that read ahead.
#[derive(Debug)]
struct ReadAhead {
    inner: Arc<dyn ParquetFileReaderFactory>,
    /// True if statistics may rule row groups out.
    may_skip: bool,
}

impl ParquetFileReaderFactory for ReadAhead {
    fn create_reader(
        &self,
        partition: usize,
        file: PartitionedFile,
        footer_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let range = file.range.clone();
        let ahead = self.inner.create_reader(partition, file.clone(), footer_hint, metrics)?;
        Ok(Box::new(AheadReader {
            now: self.inner.create_reader(partition, file, footer_hint, metrics)?,
            ahead: Ahead::Idle(ahead),
            groups: None,
            may_skip: self.may_skip,
            range,
            last: None,
        }))
    }
}

/// Reads an object, and its next row group ahead.
struct AheadReader {
    now: Box<dyn AsyncFileReader + Send>,
    ahead: Ahead,
    groups: Option<RowGroups>,
    /// The part of the object whose row groups are read, or `None` for all.
    range: Option<FileRange>,
    may_skip: bool,
    /// The row group that was read last.
    last: Option<usize>,
}

/// The reader of the next row group.
enum Ahead {
    Idle(Box<dyn AsyncFileReader + Send>),
    Reading(Vec<Range<u64>>, SpawnedTask<Fetched>),
    /// Another row group was wanted than the one that was read.
    Stopped,
}

type Fetched = (Box<dyn AsyncFileReader + Send>, ParquetResult<Vec<Bytes>>);

impl AheadReader {
    async fn fetch(&mut self, ranges: Vec<Range<u64>>) -> ParquetResult<Vec<Bytes>> {
        if self.groups.is_none() {
            // DataFusion gives the footer to another reader, and keeps it.
            let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Skip);
            self.groups = Some(RowGroups::new(self.now.get_metadata(Some(&options)).await?));
        }
        let group =
            self.groups.as_ref().and_then(|groups| groups.containing(ranges.first()?.start));
        let fetched = match std::mem::replace(&mut self.ahead, Ahead::Stopped) {
            Ahead::Reading(wanted, task) if wanted == ranges => {
                // A request that failed is repeated below, where its error is returned.
                task.await.ok().and_then(|(reader, fetched)| {
                    self.ahead = Ahead::Idle(reader);
                    fetched.ok()
                })
            }
            // Another row group is wanted. Other columns of the last one do not stop the task.
            Ahead::Reading(..) if group != self.last => None,
            other => {
                self.ahead = other;
                None
            }
        };
        let bytes = match fetched {
            Some(bytes) => bytes,
            None => self.now.get_byte_ranges(ranges.clone()).await?,
        };
        self.begin(group, &ranges);
        Ok(bytes)
    }

    /// Requests what the next row group needs if this one needed these ranges.
    fn begin(&mut self, group: Option<usize>, ranges: &[Range<u64>]) {
        let before = std::mem::replace(&mut self.last, group);
        let Some((groups, current)) = self.groups.as_ref().zip(group) else { return };
        let is_first =
            before.is_none() && !current.checked_sub(1).is_some_and(|it| self.has(groups, it));
        let follows = before.is_some_and(|before| before + 1 == current);
        let next = current + 1;
        if !self.has(groups, next) || !(follows || (is_first && !self.may_skip)) {
            return;
        }
        let Some(wanted) = groups.same_columns(current, next, ranges) else { return };
        match std::mem::replace(&mut self.ahead, Ahead::Stopped) {
            Ahead::Idle(mut reader) => {
                let ranges = wanted.clone();
                let task = SpawnedTask::spawn(async move {
                    let fetched = reader.get_byte_ranges(ranges).await;
                    (reader, fetched)
                });
                self.ahead = Ahead::Reading(wanted, task);
            }
            other => self.ahead = other,
        }
    }

    /// Returns whether a row group exists and belongs to this reader.
    fn has(&self, groups: &RowGroups, group: usize) -> bool {
        let Some(start) = groups.starts.get(group) else { return false };
        let start = i64::try_from(*start).unwrap_or(i64::MAX);
        self.range.as_ref().is_none_or(|range| (range.start..range.end).contains(&start))
    }
}

/// The row groups of an object.
struct RowGroups {
    metadata: Arc<ParquetMetaData>,
    /// The start of each row group.
    starts: Vec<u64>,
}

impl RowGroups {
    fn new(metadata: Arc<ParquetMetaData>) -> Self {
        let first = |group: &RowGroupMetaData| group.columns().first().and_then(chunk);
        let starts = metadata.row_groups().iter().map_while(first).map(|chunk| chunk.start);
        Self { starts: starts.collect(), metadata }
    }

    /// Returns the row group that contains a byte, if the row groups are in the order of their bytes.
    fn containing(&self, byte: u64) -> Option<usize> {
        self.starts.partition_point(|start| *start <= byte).checked_sub(1)
    }

    /// Returns the column chunks of a row group that correspond to these ones of another. Returns `None` if the ranges
    /// are no column chunks in order, or if there are too many bytes.
    fn same_columns(
        &self,
        group: usize,
        other: usize,
        ranges: &[Range<u64>],
    ) -> Option<Vec<Range<u64>>> {
        let groups = self.metadata.row_groups();
        let mut columns = groups.get(group)?.columns().iter().zip(groups.get(other)?.columns());
        let mut left = MAX_BYTES;
        let same = ranges.iter().map(|range| {
            let (_, same) = columns.find(|(column, _)| chunk(column).as_ref() == Some(range))?;
            let same = chunk(same)?;
            left = left.checked_sub(same.end - same.start)?;
            Some(same)
        });
        same.collect()
    }
}

/// Returns the bytes of a column chunk, which the footer may state wrongly.
fn chunk(column: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let start = u64::try_from(start).ok()?;
    let length = u64::try_from(column.compressed_size()).ok()?;
    Some(start..start.checked_add(length)?)
}

impl AsyncFileReader for AheadReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.now.get_bytes(range)
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        self.fetch(ranges).boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        self.now.get_metadata(options)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::execution::TaskContext;
    use datafusion::execution::object_store::ObjectStoreUrl;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::expressions::{binary, col, lit};
    use futures::StreamExt;
    use object_store::memory::InMemory;
    use parquet::arrow::ArrowWriter;
    use parquet::errors::ParquetError;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::FileReader;
    use parquet::file::serialized_reader::SerializedFileReader;

    use super::*;

    const GROUPS: usize = 4;

    /// Returns an object of four row groups with two columns.
    fn object() -> Bytes {
        let column = |factor: i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values((0..400).map(|n| factor * n)))
        };
        let rows = [("a", column(1)), ("b", column(7))];
        let batch = RecordBatch::try_from_iter(rows).unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(100));
        let mut object = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut object, batch.schema(), Some(properties.build())).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        object.into()
    }

    /// Makes readers of an object that record their requests, and fail for some starts.
    #[derive(Debug, Clone)]
    struct Recorded {
        object: Bytes,
        requests: Arc<Mutex<Vec<Vec<Range<u64>>>>>,
        failing: Option<u64>,
    }

    impl AsyncFileReader for Recorded {
        fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
            let range = range.start as usize..range.end as usize;
            std::future::ready(Ok(self.object.slice(range))).boxed()
        }

        fn get_byte_ranges(
            &mut self,
            ranges: Vec<Range<u64>>,
        ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
            self.requests.lock().unwrap().push(ranges.clone());
            let bytes = match self.failing == Some(ranges[0].start) {
                true => Err(ParquetError::General("no".to_owned())),
                false => Ok(ranges
                    .iter()
                    .map(|range| self.object.slice(range.start as usize..range.end as usize))
                    .collect()),
            };
            std::future::ready(bytes).boxed()
        }

        fn get_metadata<'a>(
            &'a mut self,
            _: Option<&'a ArrowReaderOptions>,
        ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
            std::future::ready(Ok(Arc::new(metadata(&self.object)))).boxed()
        }
    }

    impl ParquetFileReaderFactory for Recorded {
        fn create_reader(
            &self,
            _: usize,
            _: PartitionedFile,
            _: Option<usize>,
            _: &ExecutionPlanMetricsSet,
        ) -> Result<Box<dyn AsyncFileReader + Send>> {
            Ok(Box::new(self.clone()))
        }
    }

    fn metadata(object: &Bytes) -> ParquetMetaData {
        SerializedFileReader::new(object.clone()).unwrap().metadata().clone()
    }

    /// Returns the ranges of the chosen columns of each row group.
    fn ranges(object: &Bytes, columns: &[usize]) -> Vec<Vec<Range<u64>>> {
        let metadata = metadata(object);
        let group = |group: usize| {
            let columns = columns.iter().map(|column| {
                let (start, length) = metadata.row_group(group).column(*column).byte_range();
                start..start + length
            });
            columns.collect::<Vec<_>>()
        };
        (0..GROUPS).map(group).collect()
    }

    struct Reading {
        reader: Box<dyn AsyncFileReader + Send>,
        requests: Arc<Mutex<Vec<Vec<Range<u64>>>>>,
    }

    impl Reading {
        async fn new(
            object: &Bytes,
            part: Option<Range<i64>>,
            may_skip: bool,
            failing: Option<u64>,
        ) -> Self {
            let requests = Arc::default();
            let inner =
                Recorded { object: object.clone(), requests: Arc::clone(&requests), failing };
            let readers = ReadAhead { inner: Arc::new(inner), may_skip };
            let mut file = PartitionedFile::new("a", object.len() as u64);
            file.range = part.map(|part| FileRange { start: part.start, end: part.end });
            let metrics = ExecutionPlanMetricsSet::new();
            let reader = readers.create_reader(0, file, None, &metrics).unwrap();
            Self { reader, requests }
        }

        /// Reads ranges, lets the task of the next ones run, and returns the requests so far.
        async fn read(&mut self, object: &Bytes, ranges: &[Range<u64>]) -> usize {
            let bytes = self.reader.get_byte_ranges(ranges.to_vec()).await.unwrap();
            for (bytes, range) in bytes.iter().zip(ranges) {
                assert_eq!(*bytes, object.slice(range.start as usize..range.end as usize));
            }
            tokio::task::yield_now().await;
            self.requests.lock().unwrap().len()
        }
    }

    #[tokio::test]
    async fn the_next_row_group_is_requested_before_it_is_needed() {
        let object = object();
        let groups = ranges(&object, &[0, 1]);
        let mut reading = Reading::new(&object, None, false, None).await;
        let mut counts = Vec::new();
        for group in &groups {
            counts.push(reading.read(&object, group).await);
        }
        assert_eq!(counts, [2, 3, 4, 4]);
        assert_eq!(*reading.requests.lock().unwrap(), groups);
    }

    #[tokio::test]
    async fn row_groups_of_other_readers_are_not_requested() {
        let object = object();
        let groups = ranges(&object, &[0]);
        let end = groups[2][0].start as i64;
        let mut reading = Reading::new(&object, Some(0..end), false, None).await;
        assert_eq!(reading.read(&object, &groups[0]).await, 2);
        assert_eq!(reading.read(&object, &groups[1]).await, 2);
    }

    #[tokio::test]
    async fn row_groups_that_may_be_skipped_are_requested_after_two_in_sequence() {
        let object = object();
        let groups = ranges(&object, &[0]);
        let mut reading = Reading::new(&object, None, true, None).await;
        assert_eq!(reading.read(&object, &groups[0]).await, 1);
        assert_eq!(reading.read(&object, &groups[1]).await, 3);
        // The third is skipped: its bytes are dropped, and nothing is requested ahead any more.
        assert_eq!(reading.read(&object, &groups[3]).await, 4);
    }

    #[tokio::test]
    async fn a_failed_request_is_repeated_when_it_is_needed() {
        let object = object();
        let groups = ranges(&object, &[0]);
        let mut reading = Reading::new(&object, None, false, Some(groups[1][0].start)).await;
        assert_eq!(reading.read(&object, &groups[0]).await, 2);
        let error = reading.reader.get_byte_ranges(groups[1].clone()).await.unwrap_err();
        assert_eq!(error.to_string(), "Parquet error: no");
        assert_eq!(reading.requests.lock().unwrap().len(), 3);
    }

    #[tokio::test]
    async fn row_groups_in_descending_order_are_not_requested_twice() {
        let object = object();
        let groups = ranges(&object, &[0]);
        let mut reading = Reading::new(&object, None, false, None).await;
        for (read, group) in groups.iter().rev().enumerate() {
            assert_eq!(reading.read(&object, group).await, read + 1);
        }
    }

    #[tokio::test]
    async fn other_columns_of_a_row_group_do_not_stop_it() {
        let object = object();
        let (filter, others) = (ranges(&object, &[0]), ranges(&object, &[1]));
        let mut reading = Reading::new(&object, None, false, None).await;
        let mut counts = Vec::new();
        for (filter, others) in filter.iter().zip(&others) {
            counts.push(reading.read(&object, filter).await);
            counts.push(reading.read(&object, others).await);
        }
        // The columns of the filter come ahead, the others do not.
        assert_eq!(counts, [2, 3, 4, 5, 6, 7, 7, 8]);
    }

    /// Scans the object, and returns the number of requests after each batch.
    async fn scan(filter: bool) -> Vec<usize> {
        let (object, requests) = (object(), Arc::default());
        let inner =
            Recorded { object: object.clone(), requests: Arc::clone(&requests), failing: None };
        let schema = Arc::new(Schema::new(vec![
            Field::new("a", DataType::Int64, false),
            Field::new("b", DataType::Int64, false),
        ]));
        let mut source = ParquetSource::new(Arc::clone(&schema))
            .with_parquet_file_reader_factory(Arc::new(inner));
        if filter {
            let condition = col("a", &schema).unwrap();
            let condition = binary(condition, Operator::GtEq, lit(0_i64), &schema).unwrap();
            source = source.with_predicate(condition);
        }
        let url = ObjectStoreUrl::parse("memory:///").unwrap();
        let config = FileScanConfigBuilder::new(url.clone(), Arc::new(source))
            .with_file(PartitionedFile::new("a", object.len() as u64))
            .build();
        let plan = reading_ahead(DataSourceExec::from_data_source(config));
        assert!(plan.transformed);
        let context = Arc::new(TaskContext::default());
        context.runtime_env().register_object_store(url.as_ref(), Arc::new(InMemory::new()));
        let mut rows = plan.data.execute(0, context).unwrap();
        let mut counts = Vec::new();
        while let Some(batch) = rows.next().await {
            assert_eq!(batch.unwrap().num_rows(), 100);
            tokio::task::yield_now().await;
            counts.push(requests.lock().unwrap().len());
        }
        counts
    }

    #[tokio::test]
    async fn a_scan_reads_ahead() {
        assert_eq!(scan(false).await, [2, 3, 4, 4]);
        assert_eq!(scan(true).await, [1, 3, 4, 4]);
    }

    #[tokio::test]
    async fn parts_of_chunks_are_not_followed() {
        let object = object();
        let [group, ..] = &ranges(&object, &[0])[..] else { panic!() };
        let mut reading = Reading::new(&object, None, false, None).await;
        let part = group[0].start..group[0].end - 1;
        assert_eq!(reading.read(&object, &[part]).await, 1);
        assert_eq!(reading.read(&object, &[group[0].clone(), 4..5]).await, 2);
    }
}
