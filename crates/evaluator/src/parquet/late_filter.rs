//! Finds the rows of a row group that pass the filter before other columns are read (late materialization). The other
//! columns' pages without such rows are not decompressed, and only rows that pass are decoded.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::pages::{self, RowRanges};
use super::reader::{Chunks, ColumnBatch};
use super::schema::ParquetFile;
use crate::batch::Columns as _;
use crate::cancellation::Cancellation;
use crate::program::{Machine, NodeId};
use crate::statement::Statement;

/// The number of row groups read as a whole after one for which filtering first did not pay.
const PAUSE: usize = 4;
/// The fraction of a row group after which it is decided whether filtering first pays, as a divisor.
const SAMPLE: usize = 8;
/// The most ranges of rows that are kept.
const MAX_RANGES: usize = 1 << 20;
/// The number of decoded rows that take as long as skipping the rows between two others.
const ROWS_TO_SKIP: usize = 8;

/// Evaluates the filter of a statement over the columns that it reads.
pub(super) struct LateRows {
    statement: Arc<Statement>,
    filter: NodeId,
    chunks: Chunks,
    batch: ColumnBatch,
    machine: Machine,
    /// The number of row groups for which filtering first is not tried.
    pause: usize,
}

impl LateRows {
    /// Returns `None` if there is no filter, or if the filter reads all columns or none.
    pub(super) fn new(
        file: &ParquetFile,
        statement: &Arc<Statement>,
        roots: &BTreeSet<usize>,
        max_rows: usize,
    ) -> Option<Self> {
        // A limit is mostly reached before the end of a row group.
        let filter = statement.filter.filter(|_| statement.limit == u64::MAX)?;
        let columns = statement.program.columns(filter);
        let of_filter: BTreeSet<_> =
            columns.into_iter().map(|column| file.columns[column].root).collect();
        if of_filter.is_empty() || of_filter == *roots {
            return None;
        }
        let chunks = Chunks::new(file.clone(), of_filter, max_rows);
        Some(Self {
            statement: Arc::clone(statement),
            filter,
            batch: chunks.no_batch(),
            chunks,
            machine: Machine::default(),
            pause: 0,
        })
    }

    /// Makes the filter fail once `cancellation` takes effect; remaining rows are then kept.
    pub(super) fn stop_with(&mut self, cancellation: &Cancellation) {
        self.machine.stop_with(cancellation.clone());
    }

    /// Returns whether the filter reads a column.
    pub(super) fn reads(&self, root: usize) -> bool {
        self.chunks.reads(root)
    }

    /// Returns whether to filter the next row group first.
    pub(super) fn pays(&mut self) -> bool {
        let pays = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        pays
    }

    /// Returns the rows that pass. If a row cannot be read or the filter fails, all rows from there on are kept, so
    /// that the error is found again in its turn. All rows are kept if filtering first turns out not to pay.
    pub(super) fn rows(&mut self, group: usize, rows: &RowRanges) -> RowRanges {
        let count: usize = rows.iter().map(ExactSizeIterator::len).sum();
        let mut passing = Passing::new(rows);
        if self.batch.open(&self.chunks, group, rows).is_ok() {
            while let Ok(true) = self.batch.next() {
                let all = self.machine.start(self.batch.rows());
                let program = &self.statement.program;
                let kept = self.machine.filter(program, self.filter, &all, &self.batch);
                let Ok(kept) = kept else { break };
                kept.rows().for_each(|row| passing.keep(row));
                passing.end_batch(self.batch.rows());
                let is_sure = passing.looked_at >= count / SAMPLE;
                if passing.kept.len() > MAX_RANGES || is_sure && !passing.pays() {
                    self.pause = PAUSE;
                    self.batch.close();
                    return rows.clone();
                }
            }
        }
        // Release its pages, which may be long, as may be the pages read next.
        self.batch.close();
        let looked_at = passing.looked_at;
        let mut kept = passing.kept;
        for range in pages::behind(rows, looked_at) {
            match kept.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => kept.push(range),
            }
        }
        kept
    }
}

/// Collects the rows that pass from the rows of some ranges.
struct Passing<'a> {
    range: Range<usize>,
    /// The ranges after `range`, and the number of rows before it.
    ranges: std::slice::Iter<'a, Range<usize>>,
    before: usize,
    /// The number of rows in earlier batches.
    looked_at: usize,
    kept: RowRanges,
    count: usize,
}

impl<'a> Passing<'a> {
    fn new(rows: &'a RowRanges) -> Self {
        let kept = RowRanges::new();
        Self { range: 0..0, ranges: rows.iter(), before: 0, looked_at: 0, kept, count: 0 }
    }

    /// Adds a row of the batch, which must be after those added before.
    fn keep(&mut self, row: usize) {
        let row = self.looked_at + row;
        while row - self.before >= self.range.len() {
            self.before += self.range.len();
            let Some(range) = self.ranges.next() else { return };
            self.range = range.clone();
        }
        let place = self.range.start + row - self.before;
        self.count += 1;
        match self.kept.last_mut() {
            Some(last) if last.end == place => last.end += 1,
            _ => self.kept.push(place..place + 1),
        }
    }

    fn end_batch(&mut self, rows: usize) {
        self.looked_at += rows;
    }

    /// Returns whether so few rows pass that skipping the others costs less than decoding them.
    fn pays(&self) -> bool {
        self.count <= self.looked_at / 2 && self.kept.len() <= self.looked_at / ROWS_TO_SKIP
    }
}
