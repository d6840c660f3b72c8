//! What a batch may take while it is read.
//!
//! A page of a few bytes may stand for gigabytes: of texts that share their beginnings, of one long text that all rows
//! have, of a list that repeats an element. A batch may also have long rows only, where the mean of a column is short.
//! So every page says what it stands for before it is decoded, and a batch for which that is too much is read
//! again, with fewer rows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};

use super::int96::{self, Misfit, Unit};

/// The most that a batch of several rows may take, in bytes.
const BATCH_BYTES: u64 = 32 << 20;
/// The most that a row may take, in bytes.
pub(super) const ROW_BYTES: u64 = 64 << 20;

/// What the values of a page, or of some pages, take in memory, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Measure {
    pub(super) all: u64,
    pub(super) longest_row: u64,
}

/// The pages of which a batch is made. Those who read its columns share it.
#[derive(Debug, Clone)]
pub(super) struct Load(Arc<Mutex<Pages>>);

#[derive(Debug)]
struct Pages {
    /// The most rows of the batch.
    rows: u64,
    columns: BTreeMap<usize, Column>,
    /// What the batch may take by the pages of all columns.
    taken: u128,
    is_too_much: bool,
    /// The unit of timestamps of 96 bits, and whether one of them is finer.
    unit: Unit,
    is_too_coarse: bool,
}

#[derive(Debug, Default)]
struct Column {
    pages: Measure,
    /// With which the next batch goes on.
    last: Measure,
}

impl Column {
    /// What so many rows of it may take.
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
    /// Batches of so many rows, with timestamps of 96 bits in this unit.
    pub(super) fn new(rows: usize, unit: Unit) -> Self {
        let (rows, columns) = (rows as u64, BTreeMap::new());
        let (taken, is_too_much, is_too_coarse) = (0, false, false);
        let pages = Pages { rows, columns, taken, is_too_much, unit, is_too_coarse };
        Self(Arc::new(Mutex::new(pages)))
    }

    /// The unit of timestamps of 96 bits.
    pub(super) fn unit(&self) -> Unit {
        self.pages().unit
    }

    /// Looks at a page of timestamps of 96 bits.
    pub(super) fn check_int96(&self, page: &Page, levels: [i16; 2]) -> Result<()> {
        let mut pages = self.pages();
        let what = match int96::check(page, levels, pages.unit) {
            Ok(()) => return Ok(()),
            Err(Misfit::TooFine) => {
                pages.is_too_coarse = true;
                "a timestamp is finer than a microsecond"
            }
            Err(Misfit::OutOfRange) => {
                "a timestamp is beyond the years 1 to 9999, or 1677 to 2262 beside nanoseconds"
            }
        };
        Err(ParquetError::General(what.to_owned()))
    }

    /// Whether a timestamp does not fit the unit because it is finer.
    pub(super) fn is_too_coarse(&self) -> bool {
        self.pages().is_too_coarse
    }

    /// Batches are to have fewer rows.
    pub(super) fn set_rows(&self, rows: usize) {
        let mut pages = self.pages();
        pages.rows = rows as u64;
        pages.count_again();
    }

    // Nothing can fail while it is being changed.
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

    /// Adds a page of a column, unless the batch may then take too much.
    pub(super) fn add(&self, column: usize, page: Measure) -> Result<()> {
        let mut pages = self.pages();
        let pages = &mut *pages;
        let column = pages.columns.entry(column).or_default();
        // Of thousands of columns, the others are not gone through for each page.
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

    /// Whether a page was not added.
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
        // As much as all rows may have, or as much as there is.
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
