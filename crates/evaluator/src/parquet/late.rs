//! Which rows of a row group pass the filter, found before the columns that it does not look at are
//! read: then only their pages that hold such rows are decompressed, and only these rows decoded.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::pages::RowRanges;
use super::reader::{Chunks, ColumnBatch};
use super::schema::ParquetFile;
use crate::batch::Columns as _;
use crate::cancellation::Cancellation;
use crate::program::{Machine, NodeId};
use crate::statement::Statement;

/// After a row group for which it does not pay, so many are read at once.
const PAUSE: usize = 4;
/// It is decided by this part of a row group.
const SAMPLE: usize = 8;
/// More ranges of rows than this are not kept.
const MAX_RANGES: usize = 1 << 20;
/// To skip rows between two that are wanted takes as long as to decode so many.
const ROWS_TO_SKIP: usize = 8;

/// Evaluates the filter of a statement over the columns that it looks at.
pub(super) struct LateRows {
    statement: Arc<Statement>,
    filter: NodeId,
    chunks: Chunks,
    batch: ColumnBatch,
    machine: Machine,
    /// Row groups that are not worth it.
    pause: usize,
}

impl LateRows {
    /// `None` if there is no filter, or none of the columns that are read is beside it.
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

    /// Fails when told to stop: then rows are kept.
    pub(super) fn stop_with(&mut self, cancellation: &Cancellation) {
        self.machine.stop_with(cancellation.clone());
    }

    /// Whether the filter looks at a column.
    pub(super) fn reads(&self, root: usize) -> bool {
        self.chunks.reads(root)
    }

    /// Whether it seems worth it for the next row group.
    pub(super) fn pays(&mut self) -> bool {
        let pays = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        pays
    }

    /// The rows among these that pass. Where a row cannot be read, or the filter fails, those from
    /// there on are kept, so that this is found again in its turn. All are kept if it turns out not to
    /// be worth it.
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
        // Its pages may be long, as may be those that are read next.
        self.batch.close();
        (0..count.saturating_sub(passing.looked_at)).for_each(|row| passing.keep(row));
        passing.kept
    }
}

/// Collects those that pass of the rows of some ranges.
struct Passing<'a> {
    range: Range<usize>,
    /// The ranges behind that, and how many rows are before it.
    ranges: std::slice::Iter<'a, Range<usize>>,
    before: usize,
    /// How many rows are in the batches before this one.
    looked_at: usize,
    kept: RowRanges,
    count: usize,
}

impl<'a> Passing<'a> {
    fn new(rows: &'a RowRanges) -> Self {
        let kept = RowRanges::new();
        Self { range: 0..0, ranges: rows.iter(), before: 0, looked_at: 0, kept, count: 0 }
    }

    /// A row of the batch passes, behind those that did.
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

    /// Whether so few pass that to skip the others costs less than to decode them.
    fn pays(&self) -> bool {
        self.count <= self.looked_at / 2 && self.kept.len() <= self.looked_at / ROWS_TO_SKIP
    }
}
