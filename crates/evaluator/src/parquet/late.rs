//! Which rows of a row group pass the filter, found before the columns that it does not look at are
//! read: then only their pages that hold such rows are decompressed, and only these rows decoded.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::pages::RowRanges;
use super::reader::{Chunks, ColumnBatch};
use super::schema::ParquetFile;
use crate::batch::BatchReader as _;
use crate::cancellation::Cancellation;
use crate::program::{Machine, NodeId};
use crate::statement::Statement;

/// After a row group most of whose rows pass, so many are read at once.
const PAUSE: usize = 4;

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
    /// there on are kept, so that this is found again in its turn.
    pub(super) fn rows(&mut self, group: usize, rows: &RowRanges) -> RowRanges {
        let mut places = rows.iter().cloned().flatten();
        let mut kept = RowRanges::new();
        let mut keep = |place: usize| match kept.last_mut() {
            Some(last) if last.end == place => last.end += 1,
            _ => kept.push(place..place + 1),
        };
        if self.batch.open(&self.chunks, group, rows).is_ok() {
            while let Ok(true) = self.batch.next() {
                let all = self.machine.start(self.batch.rows());
                let program = &self.statement.program;
                let passing = self.machine.filter(program, self.filter, &all, &self.batch);
                let Ok(passing) = passing else { break };
                let places: Vec<usize> = places.by_ref().take(self.batch.rows()).collect();
                passing.rows().for_each(|row| keep(places[row]));
            }
        }
        places.for_each(keep);
        let count = |rows: &RowRanges| rows.iter().map(ExactSizeIterator::len).sum::<usize>();
        if 2 * count(&kept) > count(rows) {
            self.pause = PAUSE;
        }
        kept
    }
}
