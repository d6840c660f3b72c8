//! Limits the memory that a batch takes while it is read.
//!
//! A page of a few bytes may decode to gigabytes: texts that share their beginnings, one long text in all rows, or a
//! list that repeats an element. A batch may also happen to have only long rows of a column whose mean length is
//! short. Every page is therefore measured before it is decoded. A batch that would take too much is read again with
//! fewer rows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};

use super::int96::{self, TimestampMisfit, Unit};

/// The most memory of a batch of several rows, in bytes.
const BATCH_BYTES: u64 = 32 << 20;
/// The most memory of a row, in bytes.
pub(super) const ROW_BYTES: u64 = 64 << 20;

/// The memory that the values of one or several pages take, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Measure {
    pub(super) all: u64,
    pub(super) longest_row: u64,
}

/// The pages that a batch is made of, shared by the readers of its columns.
#[derive(Debug, Clone)]
pub(super) struct Load(Arc<Mutex<Pages>>);

#[derive(Debug)]
struct Pages {
    /// The most rows of the batch.
    rows: u64,
    columns: BTreeMap<usize, Column>,
    /// The most memory that the batch takes, over the pages of all columns.
    taken: u128,
    is_too_much: bool,
    /// The unit of timestamps of 96 bits. `is_too_coarse` is true if a timestamp is finer.
    unit: Unit,
    is_too_coarse: bool,
}

#[derive(Debug, Default)]
struct Column {
    pages: Measure,
    /// The page in which the next batch continues.
    last: Measure,
}

impl Column {
    /// Returns the most memory that `rows` rows of the column take.
    fn taken(&self, rows: u64) -> u128 {
        let Measure { all, longest_row } = self.pages;
        all.min(longest_row.saturating_mul(rows)).into()
    }
}

impl Pages {
    fn count_again(&mut self) {
        self.taken = self.columns.values().map(|column| column.taken(self.rows)).sum();
    }
}

impl Load {
    /// Measures batches of `rows` rows, with timestamps of 96 bits in `unit`.
    pub(super) fn new(rows: usize, unit: Unit) -> Self {
        let (rows, columns) = (rows as u64, BTreeMap::new());
        let (taken, is_too_much, is_too_coarse) = (0, false, false);
        let pages = Pages { rows, columns, taken, is_too_much, unit, is_too_coarse };
        Self(Arc::new(Mutex::new(pages)))
    }

    /// Returns the unit of timestamps of 96 bits.
    pub(super) fn unit(&self) -> Unit {
        self.pages().unit
    }

    /// Checks a page of timestamps of 96 bits.
    pub(super) fn check_int96(&self, page: &Page, levels: [i16; 2]) -> Result<()> {
        let mut pages = self.pages();
        let what = match int96::check(page, levels, pages.unit) {
            Ok(()) => return Ok(()),
            Err(TimestampMisfit::TooFine) => {
                pages.is_too_coarse = true;
                "a timestamp is finer than a microsecond"
            }
            Err(TimestampMisfit::OutOfRange) => {
                "a timestamp is beyond the years 1 to 9999, or 1677 to 2262 beside nanoseconds"
            }
        };
        Err(ParquetError::General(what.to_owned()))
    }

    /// Returns whether a timestamp is finer than the unit.
    pub(super) fn is_too_coarse(&self) -> bool {
        self.pages().is_too_coarse
    }

    /// Sets the number of rows of a batch.
    pub(super) fn set_rows(&self, rows: usize) {
        let mut pages = self.pages();
        pages.rows = rows as u64;
        pages.count_again();
    }

    // A poisoned lock is safe to use: no code that can panic runs while it is held.
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the next batch.
    pub(super) fn begin_batch(&self) {
        let mut pages = self.pages();
        for column in pages.columns.values_mut() {
            column.pages = column.last;
        }
        pages.count_again();
    }

    /// Adds a page of a column, unless the batch might then take too much.
    pub(super) fn add(&self, column: usize, page: Measure) -> Result<()> {
        let mut pages = self.pages();
        let pages = &mut *pages;
        let column = pages.columns.entry(column).or_default();
        // Update the sum without visiting the other columns, of which there may be thousands.
        pages.taken -= column.taken(pages.rows);
        column.last = page;
        column.pages.all = column.pages.all.saturating_add(page.all);
        column.pages.longest_row = column.pages.longest_row.max(page.longest_row);
        pages.taken += column.taken(pages.rows);
        let most = if pages.rows > 1 { BATCH_BYTES } else { ROW_BYTES };
        if pages.taken > most.into() {
            pages.is_too_much = true;
            return Err(ParquetError::General("a batch takes too much memory".to_owned()));
        }
        Ok(())
    }

    /// Returns whether a page was not added.
    pub(super) fn is_too_much(&self) -> bool {
        self.pages().is_too_much
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(all: u64, longest_row: u64) -> Measure {
        Measure { all, longest_row }
    }

    #[test]
    fn a_batch_takes_no_more_than_its_pages_and_its_rows() {
        let load = Load::new(100, Unit::Micros);
        // The smaller bound counts: all rows with the longest length, or all bytes of the page.
        load.add(0, page(u64::MAX, BATCH_BYTES / 200)).unwrap();
        load.add(1, page(BATCH_BYTES / 2, u64::MAX)).unwrap();
        assert!(!load.is_too_much());
        load.add(2, page(100, 100)).unwrap_err();
        assert!(load.is_too_much());
    }

    #[test]
    fn the_next_batch_goes_on_with_the_last_pages() {
        let load = Load::new(2, Unit::Micros);
        for _ in 0..3 {
            load.begin_batch();
            load.add(0, page(BATCH_BYTES / 2, u64::MAX)).unwrap();
        }
        load.add(0, page(1, 1)).unwrap_err();
    }

    #[test]
    fn one_row_may_take_more() {
        Load::new(1, Unit::Micros).add(0, page(u64::MAX, ROW_BYTES)).unwrap();
        let load = Load::new(1, Unit::Micros);
        load.add(0, page(u64::MAX, ROW_BYTES)).unwrap();
        load.add(1, page(1, 1)).unwrap_err();
    }
}
