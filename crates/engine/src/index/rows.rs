//! The rows of a Parquet object, and the cost of reading some of them.

use std::sync::Arc;

use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::DefaultParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileSource, ParquetFileReaderFactory, ParquetSource,
};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use futures::StreamExt;
use object_store::{ObjectMeta, ObjectStore};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, RowSelection};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use sluicegate_index::layout::RecordLocation;
use sluicegate_index::ranges::coalesced;

use super::create::{Collected, Collector, Column};
use crate::index::one_file::one_file;
use crate::store::conditional_reads::pinned;

/// Reads a column of a Parquet object as the scan does, in the version that was listed, within a task. `advance` is
/// called with numbers of bytes, which add up to the size of the object.
///
/// # Errors
///
/// If the object does not fit the table, or the store fails.
pub async fn collect_rows(
    column: &Column,
    scan: &FileScanConfig,
    data: &ObjectMeta,
    (from, context): (&Arc<dyn ObjectStore>, &Arc<TaskContext>),
    run_bytes: usize,
    advance: &(dyn Fn(u64) + Send + Sync),
) -> Result<Collected> {
    let got = MetricBuilder::new(&ExecutionPlanMetricsSet::new()).global_counter("bytes");
    let store = pinned(Arc::clone(from), data, got.clone());
    let readers = DefaultParquetFileReaderFactory::new(Arc::clone(&store));
    let file = PartitionedFile::from(data.clone());
    let mut object = readers.create_reader(0, file, None, &ExecutionPlanMetricsSet::new())?;
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let footer = object.get_metadata(Some(&options)).await?;
    let mut collector = Collector::new(column, run_bytes).with_row_bytes(row_bytes(&footer));
    let source = of_column(column, scan, &store)?;
    let mut files = scan.file_groups.iter().flat_map(|group| group.iter());
    let file = files.find(|file| file.object_meta.location == data.location);
    let file = file.cloned().unwrap_or_else(|| PartitionedFile::from(data.clone()));
    let file = PartitionedFile { range: None, ..file };
    let mut rows = one_file(scan, &source, file, context)?;
    let (mut row, mut advanced) = (0, 0);
    while let Some(values) = rows.next().await {
        let values = values?;
        let places = row..row + values.num_rows() as u64;
        row = places.end;
        collector.add(&values, places.map(|row| RecordLocation { first: row, bytes: 1 }))?;
        let now = as_bytes(&got).min(data.size);
        advance(now - advanced);
        advanced = now;
        tokio::task::yield_now().await;
    }
    if i64::try_from(row) != Ok(footer.file_metadata().num_rows()) {
        return exec_err!("it has {} rows, and {row} were read", footer.file_metadata().num_rows());
    }
    advance(data.size - advanced);
    collector.finish()
}

fn as_bytes(count: &Count) -> u64 {
    count.value() as u64
}

/// Returns a source of a single column, with readers of a store and without any filter.
fn of_column(
    column: &Column,
    scan: &FileScanConfig,
    store: &Arc<dyn ObjectStore>,
) -> Result<Arc<dyn FileSource>> {
    let parquet = scan.file_source().downcast_ref::<ParquetSource>();
    let parquet = parquet.ok_or_else(|| exec_datafusion_err!("it is no scan of Parquet"))?;
    let schema = parquet.table_schema();
    let readers = Arc::new(DefaultParquetFileReaderFactory::new(Arc::clone(store)));
    let plain = ParquetSource::new(schema.clone())
        .with_table_parquet_options(parquet.table_parquet_options().clone())
        .with_parquet_file_reader_factory(readers);
    let only = ProjectionExprs::from_indices(&[column.position], schema.table_schema());
    match plain.try_pushdown_projection(&only)? {
        Some(source) => Ok(source),
        None => exec_err!("no column of it can be read by itself"),
    }
}

/// Returns the average number of bytes that must be read for a row: one page of each column, or the whole column
/// chunk if there is no page index.
fn row_bytes(footer: &ParquetMetaData) -> u64 {
    let (mut bytes, mut rows) = (0.0, 0.0);
    for (number, group) in footer.row_groups().iter().enumerate() {
        let pages = footer.offset_index().and_then(|index| index.get(number));
        let of_row: f64 = group
            .columns()
            .iter()
            .enumerate()
            .map(|(column, chunk)| {
                let pages = pages.and_then(|pages| pages.get(column));
                let pages = pages.map_or(1, |pages| pages.page_locations().len().max(1));
                chunk.compressed_size().max(0) as f64 / pages as f64
            })
            .sum();
        bytes += of_row * group.num_rows() as f64;
        rows += group.num_rows() as f64;
    }
    if rows > 0.0 { (bytes / rows).ceil() as u64 } else { 0 }
}

/// Returns a selection of some rows of an object with `rows` rows, by their places in order.
#[must_use]
pub fn selection(places: &[RecordLocation], rows: u64) -> RowSelection {
    let number = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
    let ranges = coalesced(places, 0).into_iter();
    let ranges = ranges.map(|range| number(range.start)..number(range.end));
    RowSelection::from_consecutive_ranges(ranges, number(rows))
}

#[cfg(test)]
mod tests {
    use parquet::arrow::arrow_reader::RowSelector;

    use super::*;

    #[test]
    fn rows_are_selected_by_their_numbers() {
        let row = |row| RecordLocation { first: row, bytes: 1 };
        let selected = selection(&[row(0), row(1), row(5), row(6), row(9)], 12);
        let expected = [
            RowSelector::select(2),
            RowSelector::skip(3),
            RowSelector::select(2),
            RowSelector::skip(2),
            RowSelector::select(1),
            RowSelector::skip(2),
        ];
        assert_eq!(selected, RowSelection::from(expected.to_vec()));
        assert_eq!(selection(&[], 3).row_count(), 0);
    }
}
