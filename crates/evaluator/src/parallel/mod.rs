//! One object on several cores.
//!
//! The object is cut into parts of equal size, which the readers align with records as they do for
//! a scan range; Parquet where its row groups begin. Threads take the parts in turn. Their rows are
//! sent, and their aggregates merged, in the order of the parts. The length of its queue bounds what a
//! thread can produce ahead of its turn, and the budget of the process what all threads can, those
//! of statements whose answers nobody reads included.
//!
//! The result is byte for byte that of one core, errors included: the first part that fails is
//! evaluated again, starting from the parts before it, which gives the error of one core.

mod budget;
mod queue;

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;

pub(super) use self::budget::Budget;
use self::queue::{Queue, Sender};
use super::batch::BatchReader;
use super::cancellation::Cancellation;
use super::execute::{Execution, Part, Sofar};
use super::group_by::Groups;
use super::output::RowWriter;
use super::scan_range::ByteRange;
use super::sink::{Sink, Stats};
use super::statement::Statement;
use super::states::States;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::OutputSerialization;

/// Bytes of a part: large enough to amortise opening it, small enough to balance the load.
const PART_BYTES: u64 = 8 << 20;

/// The same where rows are answered, which wait for those of the parts before them.
const ROWS_PART_BYTES: u64 = 2 << 20;

/// Opens the reader of a part; the second argument is the number of records before it.
pub(super) type OpenPart =
    Box<dyn Fn(ByteRange, u64) -> Result<Box<dyn BatchReader>, SelectError> + Send + Sync>;

/// An object that can be evaluated in parts.
pub(super) struct Divisible {
    /// The range that is evaluated.
    pub(super) range: ByteRange,
    pub(super) part_bytes: u64,
    pub(super) open: OpenPart,
    pub(super) output: OutputSerialization,
    /// The most groups that are kept, if that was said.
    pub(super) max_groups: Option<usize>,
    /// Where parts begin, if they are not of equal size. Then they are read independently, and of
    /// each what is counted adds up.
    cuts: Option<Vec<u64>>,
    pub(super) cancellation: Cancellation,
    /// Bounds the rows that wait for their turn.
    pub(super) budget: Arc<Budget>,
}

enum Message {
    Rows(Bytes),
    /// The part is done; `None` if it was cancelled.
    Done(Result<Option<Part>, SelectError>),
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

    /// With parts that begin there, the first with what is read.
    pub(super) fn cut_at(self, cuts: Vec<u64>) -> Self {
        Self { cuts: Some(cuts), ..self }
    }

    fn part(&self, index: u64) -> Option<ByteRange> {
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

    /// Whether there is more than one part.
    pub(super) fn is_divided(&self) -> bool {
        self.part(1).is_some()
    }

    /// Evaluates all parts on `threads` threads, and answers on this one. `execution` is the one
    /// that was prepared for the whole object.
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

    /// A thread's work: every `threads`-th part from `first` on.
    fn evaluate(
        &self,
        statement: &Arc<Statement>,
        first: u64,
        threads: usize,
        worker: &Worker<'_>,
    ) {
        for index in (first..).step_by(threads) {
            let Some(part) = self.part(index) else { return };
            let mut rows = worker;
            let done = self.evaluate_part(statement, part, 0, Sofar::Unknown, &mut rows);
            let cancelled = matches!(done, Ok(None));
            if !worker.sender.send(Message::Done(done), 0) || cancelled {
                return;
            }
        }
    }

    fn evaluate_part(
        &self,
        statement: &Arc<Statement>,
        part: ByteRange,
        records_before: u64,
        sofar: Sofar,
        sink: &mut dyn Sink,
    ) -> Result<Option<Part>, SelectError> {
        let reader = (self.open)(part, records_before)?;
        let writer = RowWriter::new(&self.output)?;
        let mut execution = Execution::new(Arc::clone(statement), reader, writer)?;
        if let Some(groups) = self.max_groups {
            execution.limit_groups(groups);
        }
        execution.stop_with(self.cancellation.clone());
        execution.run_part(sofar, sink)
    }

    /// Combines the parts.
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
        let mut stats = Stats::default();
        for (index, queue) in (0..).zip(queues.iter().cycle()) {
            let Some(range) = self.part(index) else { break };
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
                // It failed, or its groups do not fit beside those before them, some of which are
                // then answered in between.
                Ok(Some(_)) | Err(_) => {
                    let sofar = Sofar::Known { states, groups };
                    let mut unheard = Unheard;
                    // Of groups nothing was answered yet.
                    let sink: &mut dyn Sink =
                        if statement.has_groups() { &mut *sink } else { &mut unheard };
                    match self.evaluate_part(&statement, range, records, sofar, sink)? {
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
fn merge(mut states: States, mut groups: Option<Box<Groups>>, records: u64, part: Part) -> Part {
    states.merge(part.states);
    if let (Some(groups), Some(more)) = (&mut groups, part.groups) {
        groups.merge(&more);
    }
    let Part { records: more, scanned, processed, .. } = part;
    Part { states, groups, records: records + more, scanned, processed, answered: 0 }
}

/// A thread ended without being told to.
#[cold]
fn lost() -> SelectError {
    SelectError::new(
        SelectErrorCode::InternalError,
        "A thread that evaluates part of the object stopped unexpectedly; try again.",
    )
}

/// The sink of a thread.
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

/// A sink for rows that were already sent.
struct Unheard;

impl Sink for Unheard {
    fn records(&mut self, _: Bytes) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Ends the threads when dropped, whatever they are doing.
struct Stop<'a>(&'a [Queue<'a, Message>]);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(Queue::close);
    }
}
