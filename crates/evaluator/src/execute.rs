//! Runs a compiled statement over the batches of an object.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::aggregate::State;
use super::batch::{BatchReader, Columns};
use super::cancellation::Cancellation;
use super::group_by::{Groups, Keys};
use super::output::{Fields, RowWriter};
use super::program::{Machine, NodeId, Program, is_too_much_text};
use super::result_rows::{answer_groups, hand_on, write_items};
use super::selection::Selection;
use super::sink::{Outbox, Sink, Stats};
use super::statement::{AggregateRows, Answer, Item, Statement};
use super::states::States;
use sluicegate_s3select::dialect::ast::Aggregate;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};

/// The number of bytes processed between two progress reports.
const PROGRESS_BYTES: u64 = 1 << 20;

/// A statement over an open object whose first batch has been read.
pub(super) struct Execution {
    statement: Arc<Statement>,
    reader: Box<dyn BatchReader>,
    writer: RowWriter,
    has_batch: bool,
    machine: Machine,
    states: States,
    groups: Option<Box<Groups>>,
    /// True if running out of room for groups is an error, because the groups of earlier parts are unknown.
    holds_back: bool,
    /// The number of rows answered so far.
    emitted: u64,
}

impl Execution {
    /// Reads the first batch.
    pub(super) fn new(
        statement: Arc<Statement>,
        mut reader: Box<dyn BatchReader>,
        writer: RowWriter,
    ) -> Result<Self, SelectError> {
        let (states, groups) = (statement.states(), statement.groups());
        let has_batch = statement.limit > 0 && reader.next_batch()?;
        let machine = Machine::default();
        let (emitted, holds_back) = (0, false);
        Ok(Self {
            statement,
            reader,
            writer,
            has_batch,
            machine,
            states,
            groups,
            holds_back,
            emitted,
        })
    }

    /// Limits the number of groups in memory.
    pub(super) fn limit_groups(&mut self, most: usize) {
        if let Some(groups) = &mut self.groups {
            groups.limit(most);
        }
    }

    /// Decompresses the rest of the object on another thread.
    pub(super) fn read_ahead(&mut self) {
        self.reader.read_ahead();
    }

    /// Makes the evaluation fail once `cancellation` takes effect.
    pub(super) fn stop_with(&mut self, cancellation: Cancellation) {
        self.reader.stop_with(&cancellation);
        self.machine.stop_with(cancellation);
    }

    /// Runs to the end, or until the client is gone.
    pub(super) fn run(mut self, sink: &mut dyn Sink) -> Result<Stats, SelectError> {
        let mut outbox = Outbox::new(sink);
        let begun = outbox.append(self.writer.head());
        if begun.is_continue() && self.scan(&mut outbox)?.is_continue() {
            let _: ControlFlow<()> = self.finish(&mut outbox)?;
        }
        let (scanned, processed) = self.reader.bytes_read();
        Ok(outbox.stats(scanned, processed))
    }

    /// Processes all rows without sending aggregates. Breaks if the client is gone.
    fn scan(&mut self, outbox: &mut Outbox<'_>) -> Result<ControlFlow<()>, SelectError> {
        let mut reported = 0;
        while self.has_batch {
            let all = self.machine.start(self.reader.rows());
            let batch = self.machine.cancellation().check();
            let outcome = batch.and_then(|()| self.rows(&all, outbox));
            if outcome.is_err() {
                // The rows before the bad one are part of the answer.
                self.writer.abandon_row();
                let _: ControlFlow<()> = self.flush(outbox)?;
            }
            let (scanned, processed) = self.reader.bytes_read();
            match outcome? {
                Outcome::Gone => return Ok(ControlFlow::Break(())),
                Outcome::Enough => break,
                Outcome::More => {}
            }
            if processed - reported >= PROGRESS_BYTES {
                reported = processed;
                // The rows so far are sent first, so that slow rows are not delayed.
                if self.flush(outbox)?.is_break() || outbox.progress(scanned, processed).is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let next = self.reader.next_batch();
            if next.is_err() {
                // The rows read so far are part of the answer.
                let _: ControlFlow<()> = self.flush(outbox)?;
            }
            self.has_batch = next?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Processes the rows of one part of the object, given the state after the rows before it. Returns `None` if the
    /// client is gone. If that state is unknown, running out of room for groups is an error.
    pub(super) fn run_range(
        mut self,
        sofar: PrecedingRows,
        sink: &mut dyn Sink,
    ) -> Result<Option<PartialResult>, SelectError> {
        match sofar {
            PrecedingRows::Unknown => self.holds_back = true,
            PrecedingRows::Known { states, groups } => {
                (self.states, self.groups) = (states, groups)
            }
        }
        let mut outbox = Outbox::new(sink);
        if self.scan(&mut outbox)?.is_break() || self.flush(&mut outbox)?.is_break() {
            return Ok(None);
        }
        let (records, (scanned, processed)) =
            (self.reader.records_read(), self.reader.bytes_read());
        let answered = match &self.groups {
            Some(_) => outbox.stats(0, 0).bytes_returned,
            None => 0,
        };
        Ok(Some(PartialResult {
            states: self.states,
            groups: self.groups,
            records,
            scanned,
            processed,
            answered,
        }))
    }

    /// Sends the aggregates or groups of the given states. Returns the number of bytes sent.
    pub(super) fn answer(
        mut self,
        states: States,
        groups: Option<Box<Groups>>,
        sink: &mut dyn Sink,
    ) -> Result<u64, SelectError> {
        (self.states, self.groups) = (states, groups);
        let mut outbox = Outbox::new(sink);
        let _: ControlFlow<()> = self.finish(&mut outbox)?;
        Ok(outbox.stats(0, 0).bytes_returned)
    }

    /// Sends what comes before the rows of the answer, which only [`Self::run`] sends by itself.
    pub(super) fn begin(&self, sink: &mut dyn Sink) -> (ControlFlow<()>, Stats) {
        let mut outbox = Outbox::new(sink);
        let mut flow = outbox.append(self.writer.head());
        if flow.is_continue() {
            flow = outbox.flush();
        }
        (flow, outbox.stats(0, 0))
    }

    pub(super) fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// Sends the aggregates or groups and all buffered rows.
    fn finish(&mut self, outbox: &mut Outbox<'_>) -> Result<ControlFlow<()>, SelectError> {
        if let Answer::Aggregates { outer, items, .. } = &self.statement.answer
            && self.statement.limit > 0
        {
            let results = self.states.iter().map(State::finish).collect::<Result<Vec<_>, _>>()?;
            let columns = results.into_iter().map(|result| vec![result]).collect();
            let row = AggregateRows { columns, rows: 1 };
            let mut machine = Machine::default();
            let all = machine.start(1);
            let nodes = items.iter().map(|item| item.node);
            let values = machine.eval_all(outer, nodes, &all, &row)?;
            write_items(&mut self.writer, values, items, 0, &[])?;
        }
        if let (Answer::Groups { outer, items, .. }, Some(groups)) =
            (&self.statement.answer, &mut self.groups)
            && answer_groups(
                groups,
                outer,
                items,
                &mut self.writer,
                outbox,
                self.machine.cancellation(),
            )?
            .is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        self.writer.flush()?;
        self.writer.finish()?;
        self.flush(outbox)
    }

    /// Sends all buffered rows.
    fn flush(&mut self, outbox: &mut Outbox<'_>) -> Result<ControlFlow<()>, SelectError> {
        self.writer.flush()?;
        let flow = outbox.append(self.writer.bytes());
        self.writer.clear();
        Ok(if flow.is_break() { flow } else { outbox.flush() })
    }

    /// Evaluates the statement for some rows. The rows are split if their text takes too much memory, and evaluated
    /// one by one if one of them fails.
    fn rows(
        &mut self,
        selection: &Selection,
        outbox: &mut Outbox<'_>,
    ) -> Result<Outcome, SelectError> {
        match self.batch(selection, outbox) {
            Ok(outcome) => Ok(outcome),
            Err(Failure::Writing(error)) => Err(error),
            Err(Failure::Evaluating(error))
                if is_too_much_text(&error) && selection.rows().len() > 1 =>
            {
                self.machine.release_text();
                for half in self.machine.halves(selection) {
                    match self.rows(&half, outbox)? {
                        Outcome::More => {}
                        outcome => return Ok(outcome),
                    }
                }
                Ok(Outcome::More)
            }
            Err(Failure::Evaluating(error)) => self.row_by_row(selection, error, outbox),
        }
    }

    /// Evaluates the statement for some rows. If evaluation fails, no row has been written.
    fn batch(
        &mut self,
        selection: &Selection,
        outbox: &mut Outbox<'_>,
    ) -> Result<Outcome, Failure> {
        if selection.is_empty() {
            return Ok(Outcome::More);
        }
        let Self { statement, reader, machine, .. } = self;
        let mut chosen = match statement.filter {
            Some(filter) => machine.filter(&statement.program, filter, selection, &**reader)?,
            None => selection.clone(),
        };
        if chosen.is_empty() {
            return Ok(Outcome::More);
        }
        if let Answer::Aggregates { calls, families, single, .. } = &statement.answer {
            let (program, states) = (&statement.program, &mut self.states);
            let mut alone = single.clone();
            if chosen.rows().len() == 1 {
                // Keep the order of the statement, so that its first error is the one reported.
                alone = (0..calls.len()).collect();
            } else {
                for family in families {
                    if family.applies(&**reader) {
                        let updated = family.update(program, machine, &chosen, &**reader, states);
                        updated.map_err(Failure::of_states)?;
                    } else {
                        alone.extend(family.calls());
                    }
                }
            }
            for call in alone {
                let Some(arg) = calls[call].1 else {
                    let absent = reader.absent(chosen.rows());
                    states.count_rows(call, chosen.rows().len() - absent);
                    continue;
                };
                machine.make_room();
                // For a minimum or maximum, one row for each distinct value is enough.
                let is_extreme = matches!(calls[call].0, Aggregate::Min | Aggregate::Max);
                let distinct =
                    is_extreme.then(|| program.distinct(arg, &chosen, &**reader)).flatten();
                let distinct = distinct.map(|rows| machine.pick(&chosen, rows));
                let rows = distinct.as_ref().unwrap_or(&chosen);
                let updated = update((call, arg), states, program, machine, rows, &**reader);
                updated.map_err(Failure::of_states)?;
            }
            return Ok(Outcome::More);
        }
        if matches!(statement.answer, Answer::Groups { .. }) {
            return self.group(&chosen, outbox);
        }
        let left = statement.limit - self.emitted;
        let is_last = chosen.rows().len() as u64 >= left;
        if is_last {
            let mut rows = Vec::new();
            chosen.rows().for_each(|row| rows.push(row as u32));
            rows.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            chosen = machine.pick(&chosen, rows);
        }
        let flow = self.write(&chosen, outbox)?;
        if flow.is_break() {
            return Ok(Outcome::Gone);
        }
        Ok(if is_last { Outcome::Enough } else { Outcome::More })
    }

    /// Adds rows to their groups, and sends all groups whenever there is no room for another. If an expression fails,
    /// no state has changed.
    fn group(&mut self, chosen: &Selection, outbox: &mut Outbox<'_>) -> Result<Outcome, Failure> {
        let Self { statement, reader, machine, writer, groups, holds_back, .. } = self;
        let (Answer::Groups { keys, calls, outer, items }, Some(groups)) =
            (&statement.answer, groups)
        else {
            return Ok(Outcome::More);
        };
        let cancellation = machine.cancellation().clone();
        let program = &statement.program;
        let codes = keys.iter().map(|key| reader.codes(program.column(*key)?));
        let coded = codes.collect::<Option<Vec<_>>>().and_then(Keys::of_codes);
        // Keys with dictionaries are not decoded.
        let decoded = if coded.is_some() { &[] } else { &keys[..] };
        let args = calls.iter().filter_map(|(_, arg)| *arg);
        let nodes = decoded.iter().copied().chain(args);
        let values = machine.eval_all(program, nodes, chosen, &**reader)?;
        let keys = coded
            .unwrap_or_else(|| Keys::Values(decoded.iter().map(|key| values.get(*key)).collect()));
        groups.begin(&keys);
        let (reader, block) = (&**reader, reader.block());
        let at = |row: usize, error: &SelectError| Failure::Writing(located(error, reader, row));
        let answer = |groups: &mut Groups, writer: &mut RowWriter, outbox: &mut Outbox<'_>| {
            answer_groups(groups, outer, items, writer, outbox, &cancellation)
                .map_err(Failure::Writing)
        };
        let mut flow = ControlFlow::Continue(());
        chosen.rows().try_for_each(|row| {
            if flow.is_break() {
                return Ok(());
            }
            if groups.find_slot(row, &keys, calls, block).map_err(|error| at(row, &error))? {
                return Ok(());
            }
            if *holds_back {
                return Err(Failure::Writing(no_room()));
            }
            groups.update(values, calls, block).map_err(|(row, error)| at(row, &error))?;
            flow = answer(groups, writer, outbox)?;
            groups.find_slot(row, &keys, calls, block).map_err(|error| at(row, &error)).map(drop)
        })?;
        groups.update(values, calls, block).map_err(|(row, error)| at(row, &error))?;
        if flow.is_continue() && groups.is_full_of_text() {
            flow = answer(groups, writer, outbox)?;
        }
        Ok(if flow.is_break() { Outcome::Gone } else { Outcome::More })
    }

    /// Evaluates and writes rows, buffering only a few of them.
    fn write(
        &mut self,
        chosen: &Selection,
        outbox: &mut Outbox<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let Self { statement, reader, machine, writer, .. } = self;
        let items = match &statement.answer {
            Answer::Items(items) => &items[..],
            Answer::Star | Answer::Aggregates { .. } | Answer::Groups { .. } => &[],
        };
        let cancellation = machine.cancellation().clone();
        let (program, reader) = (&statement.program, &mut **reader);
        let by_columns = writer.takes_columns() && !items.is_empty();
        let at_once = writer.rows_at_once(items.len());
        // Write dictionary-coded columns from their codes.
        let codes = |item: &Item| {
            let column = program.column(item.node).filter(|_| by_columns)?;
            reader.codes(column)
        };
        let nodes = items.iter().filter(|item| codes(item).is_none()).map(|item| item.node);
        machine.eval_all(program, nodes, chosen, reader)?;
        let mut rows = Vec::with_capacity(chosen.rows().len());
        chosen.rows().for_each(|row| rows.push(row as u32));
        let mut last = 0;
        let mut flow = ControlFlow::Continue(());
        let mut write = |part: &[u32]| -> Result<ControlFlow<()>, SelectError> {
            let mut part = part;
            while by_columns && !part.is_empty() {
                let values = machine.eval_all(program, [], chosen, reader)?;
                let fields = items.iter().map(|item| match codes(item) {
                    Some(codes) => Fields::Codes(codes),
                    None => Fields::Values(values.get(item.node)),
                });
                let Some(count) = writer.put_columns(fields, part, reader.block())? else { break };
                let (written, rest) = part.split_at(count);
                last = written.last().map_or(last, |row| *row as usize);
                part = rest;
                if hand_on(writer, outbox, &cancellation)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if part.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            let nodes = items.iter().map(|item| item.node);
            let values = machine.eval_all(program, nodes, chosen, reader)?;
            for row in part {
                last = *row as usize;
                match &statement.answer {
                    Answer::Items(items) => {
                        write_items(writer, values, items, last, reader.block())?;
                    }
                    _ => {
                        writer.begin_row();
                        reader.write_row(last, writer)?;
                        writer.end_row()?;
                    }
                }
                if hand_on(writer, outbox, &cancellation)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        };
        let mut parts = rows.chunks(at_once);
        let written = parts.try_for_each(|part| {
            if flow.is_continue() {
                flow = write(part)?;
            }
            Ok::<_, SelectError>(())
        });
        if written.is_err() {
            writer.abandon_row();
        }
        if flow.is_continue() {
            flow = outbox.append(writer.bytes());
        }
        writer.clear();
        written.map_err(|error| {
            let stopped = cancellation.check().err();
            Failure::Writing(stopped.unwrap_or_else(|| located(&error, reader, last)))
        })?;
        self.emitted += chosen.rows().len() as u64;
        if self.emitted >= statement.limit {
            reader.stop_behind(last);
        }
        Ok(flow)
    }

    /// Evaluates a failed batch again, row by row. The rows before the bad one are part of the answer; if they reach
    /// the limit, there is no error.
    fn row_by_row(
        &mut self,
        all: &Selection,
        error: SelectError,
        outbox: &mut Outbox<'_>,
    ) -> Result<Outcome, SelectError> {
        let mut rows = Vec::with_capacity(all.rows().len());
        all.rows().for_each(|row| rows.push(row));
        for row in rows {
            // If the batch failed because of the cancellation, no row is at fault.
            self.machine.cancellation().check()?;
            let selection = self.machine.pick(all, vec![row as u32]);
            match self.batch(&selection, outbox) {
                Ok(Outcome::More) => {}
                Ok(outcome) => return Ok(outcome),
                Err(Failure::Writing(error)) => return Err(error),
                Err(Failure::Evaluating(error)) => {
                    self.machine.cancellation().check()?;
                    return Err(located(&error, &*self.reader, row));
                }
            }
        }
        Err(error)
    }
}

/// The result of one part of an object.
pub(super) struct PartialResult {
    pub(super) states: States,
    pub(super) groups: Option<Box<Groups>>,
    /// The number of records up to the end of the part.
    pub(super) records: u64,
    /// The bytes read, as counted by [`BatchReader::bytes_read`]. Without compression, they span from the start of
    /// the part to the end of its last record.
    pub(super) scanned: u64,
    pub(super) processed: u64,
    /// The bytes of groups that were already sent.
    pub(super) answered: u64,
}

impl PartialResult {
    /// Returns whether the groups of this part fit beside `groups`.
    pub(super) fn fits(&self, groups: Option<&Groups>) -> bool {
        match (&self.groups, groups) {
            (Some(more), Some(groups)) => groups.fits(more),
            _ => true,
        }
    }
}

/// The state after the rows before a part of an object.
pub(super) enum PrecedingRows {
    Unknown,
    Known { states: States, groups: Option<Box<Groups>> },
}

/// The result of evaluating a batch without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    More,
    /// The limit is reached.
    Enough,
    /// The client is gone.
    Gone,
}

/// An error in a batch, by the step that failed.
pub(super) enum Failure {
    /// An expression failed; the row is unknown.
    Evaluating(SelectError),
    /// A row of the answer failed; the rows before it were written.
    Writing(SelectError),
}

impl Failure {
    /// Converts a failure that may have come after states changed, so that the same rows are not added again.
    fn of_states(self) -> Self {
        match self {
            Self::Evaluating(error) if is_too_much_text(&error) => Self::Writing(error),
            other => other,
        }
    }
}

impl From<SelectError> for Failure {
    fn from(error: SelectError) -> Self {
        Self::Evaluating(error)
    }
}

/// Returns an internal error that no client sees: the part is evaluated again once its groups can be sent.
#[cold]
fn no_room() -> SelectError {
    SelectError::new(SelectErrorCode::InternalError, "There is no room for more groups.")
}

fn located(error: &SelectError, reader: &dyn BatchReader, row: usize) -> SelectError {
    SelectError::new(error.code, format!("{} ({})", error.message, reader.locate(row)))
}

/// Adds rows to the state of a call. The rows are split if their text takes too much memory.
fn update(
    (call, arg): (usize, NodeId),
    states: &mut States,
    program: &Program,
    machine: &mut Machine,
    rows: &Selection,
    reader: &dyn Columns,
) -> Result<(), Failure> {
    match machine.eval(program, arg, rows, reader) {
        Ok(vector) => {
            states.update(call, vector, rows.rows(), reader.block())?;
            states.check().map_err(Failure::Writing)
        }
        Err(error) if is_too_much_text(&error) && rows.rows().len() > 1 => {
            machine.release_text();
            let mut halves = machine.halves(rows).into_iter();
            halves.try_for_each(|half| update((call, arg), states, program, machine, &half, reader))
        }
        Err(error) => Err(error.into()),
    }
}
