//! Models the time that a statement keeps the store's cores busy.

use std::time::Duration;

use datafusion::datasource::listing::PartitionedFile;
use sluicegate_costmodel::{Bytes, Format, Rows, ScanWork, Terms};

use crate::pushdown::format::TableFormat;
use crate::pushdown::statement::Statement;
use crate::pushdown::terms::{items, terms};
use crate::store::endpoint::Endpoint;
use crate::text::record_limit::DEFAULT_RECORD_BYTES;

/// The work of a statement over a file or its range.
#[derive(Debug)]
pub(super) struct Scans {
    format: Format,
    terms: Terms,
    items: Terms,
    bytes: f64,
    rows: f64,
}

impl Scans {
    /// Counts the work of a statement over a file or its range.
    pub(super) fn new(statement: &Statement, format: &TableFormat, file: &PartitionedFile) -> Self {
        let bytes = file.effective_size() as f64;
        let whole = file.object_meta.size as f64;
        let rows = file.statistics.as_ref().and_then(|it| it.num_rows.get_value().copied());
        let rows = rows.map_or(whole / DEFAULT_RECORD_BYTES, |rows| rows as f64);
        let rows = rows * bytes / whole.max(1.0);
        let (terms, items) = (terms(&statement.query, None), items(&statement.query));
        Self { format: format.stored(), terms, items, bytes, rows }
    }

    /// Returns the time of the store's cores for these scanned bytes, from the same constants as predictions.
    pub(super) fn store_time(&self, endpoint: &Endpoint, scanned: Bytes) -> Duration {
        // From columnar files, only some bytes of all rows are read; from text, all bytes of some rows.
        let share = match self.format {
            Format::Parquet if scanned == Bytes::ZERO => 0.0,
            Format::Parquet => 1.0,
            Format::Csv | Format::Json => scanned.as_f64() / self.bytes.max(1.0),
        };
        let rows = Rows::from_f64(self.rows * share);
        endpoint.hardware.store_time(&ScanWork {
            format: self.format,
            bytes: scanned,
            rows,
            terms: self.terms,
            // Answers do not contain the number; it is at most that of all rows.
            passing: rows,
            items: self.items,
            ..ScanWork::default()
        })
    }
}
