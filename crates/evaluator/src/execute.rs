//! Drives a compiled statement over an object's batches.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::aggregate::State;
use super::batch::BatchReader;
use super::output::{self, Key, RowWriter};
use super::program::{Machine, Values};
use super::selection::Selection;
use super::sink::{MAX_RECORDS_BYTES, Outbox, Sink, Stats};
use super::statement::{AggregateRow, Answer, Item, Statement};
use super::vector::{Data, Tag, Vector};
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::Value;

/// How many bytes are read between two reports of progress.
const PROGRESS_BYTES: u64 = 1 << 20;

/// A statement over an open object whose first batch was read.
pub(super) struct Execution {
    statement: Arc<Statement>,
    reader: Box<dyn BatchReader>,
    writer: RowWriter,
    has_batch: bool,
    machine: Machine,
    states: Vec<State>,
    /// Rows of the answer so far.
    emitted: u64,
}

impl Execution {
    /// Reads the first batch.
    pub(super) fn new(
        statement: Arc<Statement>,
        mut reader: Box<dyn BatchReader>,
        writer: RowWriter,
    ) -> Result<Self, SelectError> {
        let states = statement.states();
        let has_batch = statement.limit > 0 && reader.next_batch()?;
        let machine = Machine::default();
        Ok(Self { statement, reader, writer, has_batch, machine, states, emitted: 0 })
    }

    /// Runs to the end, or until the client is gone.
    pub(super) fn run(mut self, sink: &mut dyn Sink) -> Result<Stats, SelectError> {
        let mut outbox = Outbox::new(sink);
        if self.scan(&mut outbox)?.is_continue() {
            let _: ControlFlow<()> = self.finish(&mut outbox)?;
        }
        let (scanned, processed) = self.reader.bytes_read();
        Ok(outbox.stats(scanned, processed))
    }

    /// Runs over all rows, without answering aggregates; breaks if the client is gone.
    fn scan(&mut self, outbox: &mut Outbox<'_>) -> Result<ControlFlow<()>, SelectError> {
        let mut reported = 0;
        while self.has_batch {
            let all = self.machine.start(self.reader.rows());
            let outcome = match self.batch(&all, outbox) {
                Err(Failure::Evaluating(error)) => self.row_by_row(&all, error, outbox),
                Err(Failure::Writing(error)) => Err(error),
                Ok(outcome) => Ok(outcome),
            };
            if outcome.is_err() {
                // The rows before the bad one are part of the answer.
                let _: ControlFlow<()> = outbox.flush();
            }
            let (scanned, processed) = self.reader.bytes_read();
            match outcome? {
                Outcome::Gone => return Ok(ControlFlow::Break(())),
                Outcome::Enough => break,
                Outcome::More => {}
            }
            if processed - reported >= PROGRESS_BYTES {
                reported = processed;
                if outbox.progress(scanned, processed).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            self.has_batch = self.reader.next_batch().inspect_err(|_| {
                // As above.
                let _: ControlFlow<()> = outbox.flush();
            })?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Runs over the rows of a part of the object, starting from the aggregate `states` of the rows
    /// before it. `None` if the client is gone.
    pub(super) fn run_part(
        mut self,
        states: Option<Vec<State>>,
        sink: &mut dyn Sink,
    ) -> Result<Option<Part>, SelectError> {
        if let Some(states) = states {
            self.states = states;
        }
        let mut outbox = Outbox::new(sink);
        if self.scan(&mut outbox)?.is_break() || outbox.flush().is_break() {
            return Ok(None);
        }
        let (records, (_, processed)) = (self.reader.records_read(), self.reader.bytes_read());
        Ok(Some(Part { states: self.states, records, processed }))
    }

    /// Answers aggregates from the given states.
    pub(super) fn answer(
        mut self,
        states: Vec<State>,
        sink: &mut dyn Sink,
    ) -> Result<u64, SelectError> {
        self.states = states;
        let mut outbox = Outbox::new(sink);
        let _: ControlFlow<()> = self.finish(&mut outbox)?;
        Ok(outbox.stats(0, 0).bytes_returned)
    }

    pub(super) fn statement(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// Sends the aggregates and all buffered rows.
    fn finish(&mut self, outbox: &mut Outbox<'_>) -> Result<ControlFlow<()>, SelectError> {
        if let Answer::Aggregates { outer, items, .. } = &self.statement.answer
            && self.statement.limit > 0
        {
            let results = self.states.iter().map(State::finish).collect::<Result<_, _>>()?;
            let row = AggregateRow(results);
            let mut machine = Machine::default();
            let all = machine.start(1);
            let nodes = items.iter().map(|item| item.node);
            let values = machine.eval_all(outer, nodes, &all, &row)?;
            write_items(&mut self.writer, values, items, 0, &[])?;
            if outbox.append(self.writer.bytes()).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(outbox.flush())
    }

    /// Evaluates the statement for some rows. If evaluation fails, none of them was written.
    fn batch(
        &mut self,
        selection: &Selection,
        outbox: &mut Outbox<'_>,
    ) -> Result<Outcome, Failure> {
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
                // In the order of the statement, so that its first error is the one reported.
                alone = (0..calls.len()).collect();
            } else {
                for family in families {
                    if family.applies(&**reader) {
                        family.update(program, machine, &chosen, &**reader, states)?;
                    } else {
                        alone.extend(family.calls());
                    }
                }
            }
            for call in alone {
                let Some(arg) = calls[call].1 else {
                    states[call].count_rows(chosen.rows().len());
                    continue;
                };
                let vector = machine.eval(program, arg, &chosen, &**reader)?;
                states[call].update(vector, chosen.rows(), reader.block())?;
            }
            return Ok(Outcome::More);
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

    /// Evaluates and writes rows, buffering only a few of them.
    fn write(
        &mut self,
        chosen: &Selection,
        outbox: &mut Outbox<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let Self { statement, reader, machine, writer, .. } = self;
        let items = match &statement.answer {
            Answer::Items(items) => &items[..],
            Answer::Star | Answer::Aggregates { .. } => &[],
        };
        let nodes = items.iter().map(|item| item.node);
        let values = machine.eval_all(&statement.program, nodes, chosen, &**reader)?;
        let mut last = 0;
        let mut flow = ControlFlow::Continue(());
        let written = chosen.rows().try_for_each(|row| {
            if flow.is_break() {
                return Ok(());
            }
            last = row;
            match &statement.answer {
                Answer::Items(items) => write_items(writer, values, items, row, reader.block())?,
                _ => {
                    writer.begin_row();
                    reader.write_row(row, writer)?;
                    writer.end_row()?;
                }
            }
            if writer.bytes().len() >= MAX_RECORDS_BYTES {
                flow = outbox.append(writer.bytes());
                writer.clear();
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
        written.map_err(|error| Failure::Writing(located(&error, &**reader, last)))?;
        self.emitted += chosen.rows().len() as u64;
        if self.emitted >= statement.limit {
            reader.stop_behind(last);
        }
        Ok(flow)
    }

    /// Evaluates a batch again that has failed, row by row: the rows before the bad one are part of
    /// the answer, and if they reach the limit, there is no error at all.
    fn row_by_row(
        &mut self,
        all: &Selection,
        error: SelectError,
        outbox: &mut Outbox<'_>,
    ) -> Result<Outcome, SelectError> {
        for row in 0..self.reader.rows() {
            let selection = self.machine.pick(all, vec![row as u32]);
            match self.batch(&selection, outbox) {
                Ok(Outcome::More) => {}
                Ok(outcome) => return Ok(outcome),
                Err(Failure::Writing(error)) => return Err(error),
                Err(Failure::Evaluating(error)) => return Err(located(&error, &*self.reader, row)),
            }
        }
        Err(error)
    }
}

/// The result of a part of an object.
pub(super) struct Part {
    pub(super) states: Vec<State>,
    /// Records up to its end.
    pub(super) records: u64,
    /// Bytes from its start to where its last record ends.
    pub(super) processed: u64,
}

/// What follows after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    More,
    /// The limit is reached.
    Enough,
    /// The client is gone.
    Gone,
}

/// Where a batch failed.
enum Failure {
    /// In an expression; the row is not known.
    Evaluating(SelectError),
    /// In a row of the answer; the rows before it were written.
    Writing(SelectError),
}

impl From<SelectError> for Failure {
    fn from(error: SelectError) -> Self {
        Self::Evaluating(error)
    }
}

fn located(error: &SelectError, reader: &dyn BatchReader, row: usize) -> SelectError {
    SelectError::new(error.code, format!("{} ({})", error.message, reader.locate(row)))
}

fn write_items(
    writer: &mut RowWriter,
    values: Values<'_>,
    items: &[Item],
    row: usize,
    block: &[u8],
) -> Result<(), SelectError> {
    writer.begin_row();
    for item in items {
        put(writer, &item.key, values.of(item.node), row, block)?;
    }
    writer.end_row()
}

fn put(
    writer: &mut RowWriter,
    key: &Key,
    vector: &Vector,
    row: usize,
    block: &[u8],
) -> Result<(), SelectError> {
    match &vector.data {
        Data::Text(spans, heap) => match spans[row].tag() {
            Tag::Present => writer.put(key, output::Item::Text(spans[row].of(heap.bytes(block)))),
            Tag::Null => writer.put(key, output::Item::Value(&Value::Null)),
            Tag::Missing => writer.put(key, output::Item::Value(&Value::Missing)),
        },
        Data::Int(ints) if vector.tags.get(row) == Tag::Present => {
            writer.put(key, output::Item::Int(ints[row]))
        }
        Data::Dynamic(values) => writer.put(key, output::Item::Value(&values[row])),
        Data::Constant(value) => writer.put(key, output::Item::Value(value)),
        _ => {
            let value = vector.value(row, block).ok_or_else(output::invalid_text)?;
            writer.put(key, output::Item::Value(&value))
        }
    }
}
