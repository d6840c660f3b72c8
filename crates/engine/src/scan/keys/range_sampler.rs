//! Looks at a part of a file before its statement is sent, to find the spans of the values of some columns.

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use futures::TryStreamExt;
use futures::stream::{self, StreamExt};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use sluicegate_s3select::request::InputFormat;

use super::ordered::Span;
use super::pushdown::Spans;
use crate::pushdown::statement::Statement;
use crate::scan::opener::FileSelect;
use crate::scan::s3_select::S3SelectSource;
use crate::scan::stored_types::footer;
use crate::store::metrics::NodeMetrics;

/// The number of records that a look should return, if they are of the table's average length.
const RECORDS: f64 = 32.0;
/// The minimum and the maximum number of bytes of a look.
const BYTES: (u64, u64) = (64, 64 * 1024);
/// The number of concurrent looks.
const AT_ONCE: usize = 8;

/// Looks at parts of the files of a scan. The spans are guesses: a few records stand for those around them. A look
/// that fails returns no spans.
#[derive(Debug, Clone, Copy)]
pub struct RangeSampler<'a> {
    source: &'a S3SelectSource,
    select: &'a FileSelect,
    metrics: &'a NodeMetrics,
    /// Bytes of a look.
    bytes: u64,
}

impl<'a> RangeSampler<'a> {
    /// Looks for a scan whose records have `record_bytes` bytes on average. Requests are counted in `metrics`.
    #[must_use]
    pub fn new(
        source: &'a S3SelectSource,
        select: &'a FileSelect,
        metrics: &'a NodeMetrics,
        record_bytes: f64,
    ) -> Self {
        Self { source, select, metrics, bytes: sample_bytes(record_bytes) }
    }

    /// Returns whether a look takes a request, or `None` if looks are not possible.
    #[must_use]
    pub fn possible(source: &S3SelectSource) -> Option<bool> {
        if source.format().input.format == InputFormat::Parquet {
            return Some(false);
        }
        source.takes_ranges().then_some(true)
    }

    /// Returns true if a part may be divided into smaller parts. A CSV file that the plan did not split may have line
    /// breaks in quotes although its table does not declare them.
    #[must_use]
    pub fn splits(&self, part: &PartitionedFile) -> bool {
        let csv = matches!(self.source.format().input.format, InputFormat::Csv(_));
        self.source.takes_ranges() && (part.range.is_some() || !csv)
    }

    /// Returns the spans of the first and of the last records of a part; for a Parquet file, the spans in its footer.
    pub async fn ends(&self, columns: &[usize], part: &PartitionedFile) -> (Spans, Spans) {
        if !self.source.takes_ranges() {
            let seen = self.footer(columns, part).await;
            return (seen.clone(), seen);
        }
        let (start, end) = part.range();
        // Most of a short part would be read twice.
        if end.saturating_sub(start) < 4 * self.bytes {
            return Default::default();
        }
        let seen = self.at(columns, part, vec![start, end - self.bytes]).await;
        let mut seen = seen.into_iter();
        (seen.next().unwrap_or_default(), seen.next().unwrap_or_default())
    }

    /// Returns the spans of the first records after some offsets in a file.
    pub async fn at(
        &self,
        columns: &[usize],
        file: &PartitionedFile,
        places: Vec<u64>,
    ) -> Vec<Spans> {
        let looks = places.into_iter().map(|start| self.records(columns, file, start));
        stream::iter(looks).buffered(AT_ONCE).collect().await
    }

    async fn records(&self, columns: &[usize], file: &PartitionedFile, start: u64) -> Spans {
        let end = (start + self.bytes).min(file.object_meta.size);
        let asked = file.clone().with_range(start as i64, end as i64);
        match self.fetch_sample(columns, &asked).await {
            Ok(batches) => spans(columns, &batches).unwrap_or_default(),
            Err(why) => {
                let object = &file.object_meta.location;
                tracing::debug!(%object, start, %why, "cannot look at records");
                Spans::new()
            }
        }
    }

    async fn fetch_sample(
        &self,
        columns: &[usize],
        part: &PartitionedFile,
    ) -> Result<Vec<RecordBatch>, String> {
        let (profile, format) = (self.source.profile(), self.source.format());
        let schema = self.source.file_schema();
        let statement = Statement::scan(profile, format, schema, columns, None, None)
            .ok_or("its column cannot be sent as text")?;
        let endpoint = &self.select.endpoint;
        endpoint.takes(&statement, format).map_err(|why| why.to_string())?;
        let tally = self.metrics.tally(&self.select.bucket, part);
        let answer = self.select.send(&statement, part, &tally).await;
        let answer = answer.map_err(|error| error.to_string())?;
        answer.try_collect().await.map_err(|error| error.to_string())
    }

    async fn footer(&self, columns: &[usize], file: &PartitionedFile) -> Spans {
        let Ok(footer) = footer(self.source.get(), file).await else { return Spans::new() };
        let declared = self.source.file_schema();
        let seen = columns.iter().filter_map(|column| {
            let name = declared.field(*column).name();
            let parquet = footer.file_metadata().schema_descr();
            let bounds = StatisticsConverter::try_new(name, declared, parquet).ok()?;
            let least = bounds.row_group_mins(footer.row_groups()).ok()?;
            let greatest = bounds.row_group_maxes(footer.row_groups()).ok()?;
            let (least, greatest) =
                (Span::from_values(&least).ok()??, Span::from_values(&greatest).ok()??);
            Some((*column, least.around(greatest)))
        });
        seen.collect()
    }
}

/// Returns the bytes of a look at records of a table.
#[must_use]
pub fn sample_bytes(record_bytes: f64) -> u64 {
    ((RECORDS * record_bytes) as u64).clamp(BYTES.0, BYTES.1)
}

fn spans(columns: &[usize], batches: &[RecordBatch]) -> Result<Spans> {
    let mut seen: Spans = BTreeMap::new();
    for batch in batches {
        for (column, values) in columns.iter().zip(batch.columns()) {
            let Some(span) = Span::from_values(values)? else { continue };
            let span = match seen.remove(column) {
                Some(known) => known.around(span),
                None => span,
            };
            seen.insert(*column, span);
        }
    }
    Ok(seen)
}
