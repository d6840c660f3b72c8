//! One object on several cores.
//!
//! The object is cut into parts of equal size, which the readers align with records as they do for
//! a scan range. Threads take the parts in turn; their answers are handed on in order, and
//! aggregates are merged in order. What a thread has ready before its turn is bounded by the
//! length of its queue.
//!
//! The result is that of one core to the byte, errors included: the first bad part is evaluated
//! again on top of the parts before it, which tells the error that one core would have met.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use bytes::Bytes;

use super::aggregate::State;
use super::batch::BatchReader;
use super::execute::{Execution, Part};
use super::output::RowWriter;
use super::scan_range::ByteRange;
use super::sink::{Sink, Stats};
use super::statement::Statement;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::OutputSerialization;

/// Bytes of a part: enough to outweigh its beginning, few enough to share out evenly.
const PART_BYTES: u64 = 8 << 20;

/// Messages of a thread that may wait for their turn, of at most 128 KiB each.
const QUEUE: usize = 8;

/// Opens the reader of a part, which counts on from so many records.
pub(super) type OpenPart =
    Box<dyn Fn(ByteRange, u64) -> Result<Box<dyn BatchReader>, SelectError> + Send + Sync>;

/// An object that can be evaluated in parts.
pub(super) struct Divisible {
    /// What is wanted of it.
    pub(super) range: ByteRange,
    pub(super) part_bytes: u64,
    pub(super) open: OpenPart,
    pub(super) output: OutputSerialization,
}

enum Message {
    Rows(Bytes),
    /// The part is evaluated; `None` if that was broken off.
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
        Self { range, part_bytes: PART_BYTES, open, output }
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
            // Dropping the receivers and setting `stop` ends the threads, whatever they are at.
            let _stop = Stop(&stop);
            let mut queues = Vec::with_capacity(threads);
            for first in 0..threads as u64 {
                let (sender, receiver) = sync_channel(QUEUE);
                queues.push(receiver);
                let (statement, stop) = (&statement, &stop);
                let work = move || {
                    self.evaluate(statement, first, threads, &Worker { sender, stop });
                };
                // A thread that is not to be had leaves its queue closed, which is an error there.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            self.collect(execution, &queues, sink)
        })
    }

    /// A thread's work: every so many-th part.
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
            let done = self.evaluate_part(statement, part, 0, None, &mut rows);
            let broken_off = matches!(done, Ok(None));
            if worker.sender.send(Message::Done(done)).is_err() || broken_off {
                return;
            }
        }
    }

    fn evaluate_part(
        &self,
        statement: &Arc<Statement>,
        part: ByteRange,
        records_before: u64,
        states: Option<Vec<State>>,
        sink: &mut dyn Sink,
    ) -> Result<Option<Part>, SelectError> {
        let reader = (self.open)(part, records_before)?;
        let writer = RowWriter::new(&self.output)?;
        Execution::new(Arc::clone(statement), reader, writer)?.run_part(states, sink)
    }

    /// Puts the parts together.
    fn collect(
        &self,
        execution: Execution,
        queues: &[Receiver<Message>],
        sink: &mut dyn Sink,
    ) -> Result<Stats, SelectError> {
        let statement = Arc::clone(execution.statement());
        let mut states = statement.states();
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
                Ok(part) => merge(states, records, part.ok_or_else(lost)?),
                Err(_) => self
                    .evaluate_part(&statement, range, records, Some(states), &mut Unheard)?
                    .ok_or_else(lost)?,
            };
            (states, records) = (part.states, part.records);
            let processed = range.start - self.range.start + part.processed;
            stats.bytes_processed = stats.bytes_processed.max(processed);
            stats.bytes_scanned = stats.bytes_processed;
            if sink.progress(&stats).is_break() {
                return Ok(stats);
            }
        }
        stats.bytes_returned += execution.answer(states, sink)?;
        Ok(stats)
    }
}

/// The part together with those before it.
fn merge(mut states: Vec<State>, records: u64, part: Part) -> Part {
    for (state, other) in states.iter_mut().zip(part.states) {
        state.merge(other);
    }
    Part { states, records: records + part.records, processed: part.processed }
}

/// A thread broke off, though nobody told it to.
#[cold]
fn lost() -> SelectError {
    SelectError::new(SelectErrorCode::InternalError, "A part of the object was not evaluated.")
}

/// Where a thread puts its rows.
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

/// For rows that were sent before.
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
