//! Evaluates one object on several cores.
//!
//! The object is cut into parts of equal size, which the readers align with records as they do for a scan range.
//! Parquet is cut at its row groups. Threads take the parts in turn. The rows of the parts are sent, and their
//! aggregates merged, in the order of the parts.
//!
//! The length of its queue limits the rows that a thread produces ahead of its turn. The budget of the process limits
//! those of all threads, including statements whose clients have stopped reading.
//!
//! The result is byte for byte that of one core, errors included. The first part that fails is evaluated again,
//! starting from the state after the parts before it, which gives the same error as one core.

mod budget;
mod queue;

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

pub(super) use self::budget::Budget;
use self::queue::{Queue, Sender};
use super::batch::BatchReader;
use super::cancellation::Cancellation;
use super::execute::{Execution, PartialResult, PrecedingRows};
use super::group_by::Groups;
use super::output::RowWriter;
use super::scan_range::ByteRange;
use super::sink::{Sink, Stats};
use super::statement::Statement;
use super::states::States;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::OutputSerialization;

/// The size of a part in bytes: large enough to amortize opening it, small enough to balance the load.
const PART_BYTES: u64 = 8 << 20;

/// The size of a part in bytes if the answer consists of rows, which wait for those of earlier parts.
const ROWS_PART_BYTES: u64 = 2 << 20;

/// Opens the reader of a part; the second argument is the number of records before it.
pub(super) type OpenPart =
    Box<dyn Fn(ByteRange, u64) -> Result<Box<dyn BatchReader>, SelectError> + Send + Sync>;

/// An object that can be evaluated in parts.
pub(super) struct Divisible {
    /// The range of the object to evaluate.
    pub(super) range: ByteRange,
    pub(super) part_bytes: u64,
    pub(super) open: OpenPart,
    pub(super) output: OutputSerialization,
    /// The most groups in memory; `None` for the default.
    pub(super) max_groups: Option<usize>,
    /// The starts of the parts, if they are not of equal size. The parts are then read independently, and their byte
    /// counts are added.
    cuts: Option<Vec<u64>>,
    pub(super) cancellation: Cancellation,
    /// Limits the rows that wait for their turn.
    pub(super) budget: Arc<Budget>,
}

enum Message {
    Rows(Bytes),
    /// The part is done; `None` if it was cancelled.
    Done(Result<Option<PartialResult>, SelectError>),
}

impl Divisible {
    pub(super) fn new(
        range: ByteRange,
        object_bytes: u64,
        output: OutputSerialization,
        statement: &Statement,
        open: OpenPart,
    ) -> Self {
        let part_bytes = if statement.has_rows() { ROWS_PART_BYTES } else { PART_BYTES };
        let range = ByteRange { end: range.end.min(object_bytes), ..range };
        Self {
            range,
            part_bytes,
            open,
            output,
            max_groups: None,
            cuts: None,
            cancellation: Cancellation::new(),
            budget: Budget::of_process(),
        }
    }

    /// Sets the starts of the parts, the first of which is the start of the bytes to read.
    pub(super) fn cut_at(self, cuts: Vec<u64>) -> Self {
        Self { cuts: Some(cuts), ..self }
    }

    fn range(&self, index: u64) -> Option<ByteRange> {
        if let Some(cuts) = &self.cuts {
            let index = usize::try_from(index).ok()?;
            let start = *cuts.get(index)?;
            let end = cuts.get(index + 1).copied().unwrap_or(self.range.end);
            return (start < end).then_some(ByteRange { start, end });
        }
        let start = self.range.start.checked_add(index.checked_mul(self.part_bytes)?)?;
        let end = start.saturating_add(self.part_bytes).min(self.range.end);
        (start < end).then_some(ByteRange { start, end })
    }

    /// Returns whether there is more than one part.
    pub(super) fn is_divided(&self) -> bool {
        self.range(1).is_some()
    }

    /// Evaluates all parts on `threads` threads and sends the answer on this one. `execution` was prepared for the
    /// whole object.
    pub(super) fn run(
        &self,
        execution: Execution,
        threads: usize,
        sink: &mut dyn Sink,
    ) -> Result<Stats, SelectError> {
        let statement = Arc::clone(execution.statement());
        let queues: Vec<_> = (0..threads).map(|_| Queue::new(&self.budget)).collect();
        std::thread::scope(|scope| {
            let _stop = Stop(&queues);
            for (first, queue) in (0..).zip(&queues) {
                let (statement, worker) = (&statement, Worker { sender: queue.sender() });
                let work = move || self.evaluate(statement, first, threads, &worker);
                // If spawning fails, the queue has ended, which `collect` reports as an error.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            self.collect(execution, &queues, sink)
        })
    }

    /// Evaluates every `threads`-th part, from `first` on.
    fn evaluate(
        &self,
        statement: &Arc<Statement>,
        first: u64,
        threads: usize,
        worker: &Worker<'_>,
    ) {
        for index in (first..).step_by(threads) {
            let Some(part) = self.range(index) else { return };
            let mut rows = worker;
            let done = self.evaluate_range(statement, part, 0, PrecedingRows::Unknown, &mut rows);
            let cancelled = matches!(done, Ok(None));
            if !worker.sender.send(Message::Done(done), 0) || cancelled {
                return;
            }
        }
    }

    fn evaluate_range(
        &self,
        statement: &Arc<Statement>,
        part: ByteRange,
        records_before: u64,
        sofar: PrecedingRows,
        sink: &mut dyn Sink,
    ) -> Result<Option<PartialResult>, SelectError> {
        let reader = (self.open)(part, records_before)?;
        let writer = RowWriter::new(&self.output)?;
        let mut execution = Execution::new(Arc::clone(statement), reader, writer)?;
        if let Some(groups) = self.max_groups {
            execution.limit_groups(groups);
        }
        execution.stop_with(self.cancellation.clone());
        execution.run_range(sofar, sink)
    }

    /// Combines the parts in their order.
    fn collect(
        &self,
        execution: Execution,
        queues: &[Queue<'_, Message>],
        sink: &mut dyn Sink,
    ) -> Result<Stats, SelectError> {
        let statement = Arc::clone(execution.statement());
        let (mut states, mut groups) = (statement.states(), statement.groups());
        if let (Some(groups), Some(most)) = (&mut groups, self.max_groups) {
            groups.limit(most);
        }
        let mut records = 0;
        let (begun, mut stats) = execution.begin(sink);
        if begun.is_break() {
            return Ok(stats);
        }
        for (index, queue) in (0..).zip(queues.iter().cycle()) {
            let Some(range) = self.range(index) else { break };
            let done = loop {
                match queue.receive() {
                    Some(Message::Rows(rows)) => {
                        stats.bytes_returned += rows.len() as u64;
                        if sink.records(rows).is_break() {
                            return Ok(stats);
                        }
                    }
                    Some(Message::Done(done)) => break done,
                    None => return Err(lost()),
                }
            };
            let part = match done {
                Ok(None) => return Err(lost()),
                Ok(Some(part)) if part.fits(groups.as_deref()) => {
                    merge(states, groups, records, part)
                }
                // The part failed, or its groups do not fit beside the earlier ones. If they do not fit, some groups
                // are sent in between.
                Ok(Some(_)) | Err(_) => {
                    let sofar = PrecedingRows::Known { states, groups };
                    let mut unheard = DiscardSink;
                    // No groups of the part have been sent yet.
                    let sink: &mut dyn Sink =
                        if statement.has_groups() { &mut *sink } else { &mut unheard };
                    match self.evaluate_range(&statement, range, records, sofar, sink)? {
                        Some(part) => part,
                        None => return Ok(stats),
                    }
                }
            };
            stats.bytes_returned += part.answered;
            (states, groups, records) = (part.states, part.groups, part.records);
            states.check()?;
            if self.cuts.is_some() {
                stats.bytes_processed += part.processed;
                stats.bytes_scanned += part.scanned;
            } else {
                let processed = range.start - self.range.start + part.processed;
                stats.bytes_processed = stats.bytes_processed.max(processed);
                stats.bytes_scanned = stats.bytes_processed;
            }
            if sink.progress(&stats).is_break() {
                return Ok(stats);
            }
        }
        stats.bytes_returned += execution.answer(states, groups, sink)?;
        Ok(stats)
    }
}

/// Merges the part with those before it.
fn merge(
    mut states: States,
    mut groups: Option<Box<Groups>>,
    records: u64,
    part: PartialResult,
) -> PartialResult {
    states.merge(part.states);
    if let (Some(groups), Some(more)) = (&mut groups, part.groups) {
        groups.merge(&more);
    }
    let PartialResult { records: more, scanned, processed, .. } = part;
    PartialResult { states, groups, records: records + more, scanned, processed, answered: 0 }
}

/// Returns the error for a thread that ended early.
#[cold]
fn lost() -> SelectError {
    SelectError::new(
        SelectErrorCode::InternalError,
        "A thread that evaluates part of the object stopped unexpectedly; try again.",
    )
}

/// The sink of a thread, which sends to its queue.
struct Worker<'a> {
    sender: Sender<'a, Message>,
}

impl Sink for &Worker<'_> {
    fn records(&mut self, bytes: Bytes) -> ControlFlow<()> {
        let length = bytes.len();
        go_on(self.sender.send(Message::Rows(bytes), length))
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        go_on(!self.sender.is_closed())
    }
}

fn go_on(does: bool) -> ControlFlow<()> {
    if does { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// A sink that drops rows which were already sent.
struct DiscardSink;

impl Sink for DiscardSink {
    fn records(&mut self, _: Bytes) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Ends the threads when dropped, by closing their queues.
struct Stop<'a>(&'a [Queue<'a, Message>]);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(Queue::close);
    }
}
