//! Openers of CSV that parse dates, times and decimals with [`TextValues`].

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::config::CsvOptions;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    CsvSource, FileOpenFuture, FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::physical_expr::projection::ProjectionExprs;
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStore;
use sluicegate_client::text_values::TextValues;

use crate::text::located_errors::LocatedSource;

/// Returns the format options that a CSV source reads with.
pub(crate) fn options_of(csv: &CsvSource) -> CsvOptions {
    CsvOptions {
        has_header: Some(csv.has_header()),
        delimiter: csv.delimiter(),
        quote: csv.quote(),
        escape: csv.escape(),
        comment: csv.comment(),
        terminator: csv.terminator(),
        newlines_in_values: Some(csv.newlines_in_values()),
        truncated_rows: Some(csv.truncate_rows()),
        ..CsvOptions::default()
    }
}

/// Marks a CSV file whose types come from a sample, so that a value of a date column with a time of day is an error.
/// It is an extension of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampledTypes;

impl SampledTypes {
    /// Marks all files of a scan; returns none if the scan is not CSV with date columns.
    pub(crate) fn attach(config: &FileScanConfig) -> Option<FileScanConfig> {
        let source = config.file_source();
        let source = source.downcast_ref::<LocatedSource>().map_or(source, LocatedSource::inner);
        let csv = source.downcast_ref::<CsvSource>()?;
        let mut fields = csv.table_schema().file_schema().fields().iter();
        if !fields.any(|field| *field.data_type() == DataType::Date32) {
            return None;
        }
        let mut groups = config.file_groups.clone();
        for group in &mut groups {
            for number in 0..group.len() {
                group[number].extensions.insert(Self);
            }
        }
        Some(FileScanConfigBuilder::from(config.clone()).with_file_groups(groups).build())
    }

    /// Returns true if the file is marked.
    pub(crate) fn are_of(file: &PartitionedFile) -> bool {
        file.extension::<Self>().is_some()
    }
}

/// Creates the opener of a source. For CSV, the opener parses dates, times and decimals itself.
///
/// # Errors
///
/// If the source returns one.
pub(crate) fn opener(
    source: &Arc<dyn FileSource>,
    store: Arc<dyn ObjectStore>,
    config: &FileScanConfig,
    partition: usize,
    batch_size: usize,
) -> Result<Arc<dyn FileOpener>> {
    let plain = |store| source.create_file_opener(store, config, partition);
    let Some(csv) = source.downcast_ref::<CsvSource>() else { return plain(store) };
    let table = csv.table_schema();
    let schema = table.file_schema();
    let projection = match FileSource::projection(csv) {
        Some(projection) => SplitProjection::new(schema, projection),
        None => SplitProjection::unprojected(table),
    };
    let columns = &projection.file_indices;
    let Some(times) = TextValues::for_schema(&Arc::new(schema.project(columns)?)) else {
        return plain(store);
    };
    let text = CsvSource::new(as_text(schema, columns, times.read()))
        .with_csv_options(options_of(csv))
        .with_batch_size(batch_size);
    let read = ProjectionExprs::from_indices(columns, text.table_schema().file_schema());
    let text = text.try_pushdown_projection(&read)?.unwrap_or(text);
    let text = text.create_file_opener(store, config, partition)?;
    let times = ValuesOpener { text, times, has_header: csv.has_header() };
    ProjectionOpener::try_new(projection.clone(), Arc::new(times), schema)
}

/// Returns the file schema with the columns that are read replaced by the types that they are read as.
pub(crate) fn as_text(schema: &SchemaRef, columns: &[usize], read: &SchemaRef) -> SchemaRef {
    let mut fields = schema.fields().to_vec();
    for (index, field) in columns.iter().zip(read.fields()) {
        fields[*index] = Arc::clone(field);
    }
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

struct ValuesOpener {
    text: Arc<dyn FileOpener>,
    times: TextValues,
    has_header: bool,
}

impl FileOpener for ValuesOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let begins = file.range.is_none() || file.range().0 == 0;
        // Arrow counts the header as a record.
        let mut before = usize::from(self.has_header && begins);
        let times = self.times.clone().refusing_times_of_day(SampledTypes::are_of(&file));
        let opened = self.text.open(file)?;
        Ok(Box::pin(async move {
            let rows = opened.await?.and_then(move |batch| {
                let first = before;
                before += batch.num_rows();
                let parsed = times.parsed(&batch).map_err(|bad| {
                    DataFusionError::ArrowError(Box::new(bad.at(first + bad.row)), None)
                });
                futures::future::ready(parsed)
            });
            Ok(rows.boxed())
        }))
    }
}
