//! One object on several cores.
//!
//! The object is cut into parts of equal size, which the readers align with records as they do for
//! a scan range. Threads take the parts in turn. Their rows are sent, and their aggregates merged,
//! in the order of the parts; the length of its queue bounds what a thread can produce ahead of its
//! turn.
//!
//! The result is byte for byte that of one core, errors included: the first part that fails is
//! evaluated again, starting from the parts before it, which gives the error of one core.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bytes::Bytes;

use super::aggregate::State;
use super::batch::BatchReader;
use super::execute::{Execution, Part, Sofar};
use super::group_by::Groups;
use super::interrupt::Interrupt;
use super::output::RowWriter;
use super::scan_range::ByteRange;
use super::sink::{Sink, Stats};
use super::statement::Statement;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::OutputSerialization;

/// Bytes of a part: large enough to amortise opening it, small enough to balance the load.
const PART_BYTES: u64 = 8 << 20;

/// The most messages, of at most 128 KiB each, that a thread may have ready before its turn.
const QUEUE: usize = 8;

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
    pub(super) interrupt: Interrupt,
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
        open: OpenPart,
    ) -> Self {
        let range = ByteRange { end: range.end.min(object_bytes), ..range };
        Self {
            range,
            part_bytes: PART_BYTES,
            open,
            output,
            max_groups: None,
            interrupt: Interrupt::default(),
        }
    }

    fn part(&self, index: u64) -> Option<ByteRange> {
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
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Dropping the receivers and setting `stop` ends the threads, whatever they are doing.
            let _stop = Stop(&stop);
            let mut queues = Vec::with_capacity(threads);
            for first in 0..threads as u64 {
                let (sender, receiver) = sync_channel(QUEUE);
                queues.push(receiver);
                let (statement, stop) = (&statement, &stop);
                let work = move || {
                    self.evaluate(statement, first, threads, &Worker { sender, stop });
                };
                // If spawning fails, the queue is closed, which `collect` reports as an error.
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
            if worker.sender.send(Message::Done(done)).is_err() || cancelled {
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
        execution.interrupt_by(self.interrupt.clone());
        execution.run_part(sofar, sink)
    }

    /// Combines the parts.
    fn collect(
        &self,
        execution: Execution,
        queues: &[Receiver<Message>],
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
                match queue.recv() {
                    Ok(Message::Rows(rows)) => {
                        stats.bytes_returned += rows.len() as u64;
                        if sink.records(rows).is_break() {
                            return Ok(stats);
                        }
                    }
                    Ok(Message::Done(done)) => break done,
                    Err(_) => return Err(lost()),
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
            let processed = range.start - self.range.start + part.processed;
            stats.bytes_processed = stats.bytes_processed.max(processed);
            stats.bytes_scanned = stats.bytes_processed;
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
    mut states: Vec<State>,
    mut groups: Option<Box<Groups>>,
    records: u64,
    part: Part,
) -> Part {
    for (state, other) in states.iter_mut().zip(part.states) {
        state.merge(other);
    }
    if let (Some(groups), Some(more)) = (&mut groups, part.groups) {
        groups.merge(&more);
    }
    Part { states, groups, records: records + part.records, processed: part.processed, answered: 0 }
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
    sender: SyncSender<Message>,
    stop: &'a AtomicBool,
}

impl Sink for &Worker<'_> {
    fn records(&mut self, bytes: Bytes) -> ControlFlow<()> {
        match self.sender.send(Message::Rows(bytes)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn progress(&mut self, _: &Stats) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
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

/// Tells the threads to stop when dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
