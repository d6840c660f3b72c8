//! Drives a compiled statement over an object's batches.

use std::ops::ControlFlow;

use super::aggregate::State;
use super::batch::BatchReader;
use super::output::{self, Key, RowWriter};
use super::program::Machine;
use super::selection::Selection;
use super::sink::{Outbox, Sink, Stats};
use super::statement::{AggregateRow, Answer, Item, Statement};
use super::vector::{Data, Tag, Vector};
use crate::error::SelectError;
use crate::value::Value;

/// How many bytes are read between two reports of progress.
const PROGRESS_BYTES: u64 = 1 << 20;

/// A statement over an object that was opened, its first batch read.
pub(super) struct Execution {
    statement: Statement,
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
        statement: Statement,
        mut reader: Box<dyn BatchReader>,
        writer: RowWriter,
    ) -> Result<Self, SelectError> {
        let states = match &statement.answer {
            Answer::Aggregates { calls, .. } => {
                calls.iter().map(|(function, _)| State::new(*function)).collect()
            }
            _ => Vec::new(),
        };
        let has_batch = statement.limit > 0 && reader.next_batch()?;
        let machine = Machine::default();
        Ok(Self { statement, reader, writer, has_batch, machine, states, emitted: 0 })
    }

    /// Runs to the end, or until nobody listens.
    pub(super) fn run(mut self, sink: &mut dyn Sink) -> Result<Stats, SelectError> {
        let mut outbox = Outbox::new(sink);
        let mut reported = 0;
        while self.has_batch {
            let all = self.machine.start(self.reader.rows());
            let result = self.batch(&all).or_else(|error| self.row_by_row(&all, error));
            let rows = outbox.append(self.writer.bytes());
            self.writer.clear();
            let limit_reached = result?;
            let (scanned, processed) = self.reader.bytes_read();
            let mut flow = rows;
            if flow.is_continue() && processed - reported >= PROGRESS_BYTES {
                reported = processed;
                flow = outbox.progress(scanned, processed);
            }
            if flow.is_break() {
                return Ok(outbox.stats(scanned, processed));
            }
            self.has_batch = !limit_reached && self.reader.next_batch()?;
        }
        let _: ControlFlow<()> = self.finish(&mut outbox)?;
        let (scanned, processed) = self.reader.bytes_read();
        Ok(outbox.stats(scanned, processed))
    }

    /// Sends the aggregates, and what is still gathered.
    fn finish(&mut self, outbox: &mut Outbox<'_>) -> Result<ControlFlow<()>, SelectError> {
        if let Answer::Aggregates { outer, items, .. } = &self.statement.answer
            && self.statement.limit > 0
        {
            let results = self.states.iter().map(State::finish).collect::<Result<_, _>>()?;
            let row = AggregateRow(results);
            let mut machine = Machine::default();
            let all = machine.start(1);
            for item in items {
                machine.eval(outer, item.node, &all, &row)?;
            }
            write_items(&mut self.writer, &machine, items, 0, &[])?;
            if outbox.append(self.writer.bytes()).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(outbox.flush())
    }

    /// Evaluates the statement for some rows; says whether no further row is wanted. If it fails,
    /// nothing was written.
    fn batch(&mut self, selection: &Selection) -> Result<bool, SelectError> {
        let Self { statement, reader, machine, writer, .. } = self;
        let mut chosen = match statement.filter {
            Some(filter) => machine.filter(&statement.program, filter, selection, &**reader)?,
            None => selection.clone(),
        };
        if chosen.is_empty() {
            return Ok(false);
        }
        if let Answer::Aggregates { calls, families, single, .. } = &statement.answer {
            let (program, states) = (&statement.program, &mut self.states);
            let mut alone = single.clone();
            for family in families {
                if family.applies(&**reader) {
                    family.update(program, machine, &chosen, &**reader, states)?;
                } else {
                    alone.extend(family.calls());
                }
            }
            for call in alone {
                let Some(arg) = calls[call].1 else {
                    states[call].count_rows(chosen.rows().len());
                    continue;
                };
                machine.eval(program, arg, &chosen, &**reader)?;
                states[call].update(machine.vector(arg), chosen.rows(), reader.block())?;
            }
            return Ok(false);
        }
        let left = statement.limit - self.emitted;
        let is_last = chosen.rows().len() as u64 >= left;
        if is_last {
            let mut rows = Vec::new();
            chosen.rows().for_each(|row| rows.push(row as u32));
            rows.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            chosen = machine.pick(&chosen, rows);
        }
        let mut last = 0;
        let written = match &statement.answer {
            Answer::Items(items) => {
                for item in items {
                    machine.eval(&statement.program, item.node, &chosen, &**reader)?;
                }
                let block = reader.block();
                chosen.rows().try_for_each(|row| {
                    last = row;
                    write_items(writer, machine, items, row, block)
                })
            }
            _ => chosen.rows().try_for_each(|row| {
                last = row;
                writer.begin_row();
                reader.write_row(row, writer)?;
                writer.end_row()
            }),
        };
        if let Err(error) = written {
            writer.clear();
            return Err(error);
        }
        self.emitted += chosen.rows().len() as u64;
        if is_last {
            reader.stop_behind(last);
        }
        Ok(is_last)
    }

    /// Evaluates a batch in which something fails again, one row after the other, as the
    /// statement says it: the rows before the bad one are answered, and if they are as many as
    /// were asked for, nothing failed.
    fn row_by_row(&mut self, all: &Selection, error: SelectError) -> Result<bool, SelectError> {
        let mut answered = Vec::new();
        for row in 0..self.reader.rows() {
            let selection = self.machine.pick(all, vec![row as u32]);
            let result = self.batch(&selection);
            answered.extend_from_slice(self.writer.bytes());
            self.writer.clear();
            let stop = match result {
                Ok(limit_reached) => limit_reached.then_some(Ok(true)),
                Err(error) => {
                    let place = self.reader.locate(row);
                    let message = format!("{} ({place})", error.message);
                    Some(Err(SelectError::new(error.code, message)))
                }
            };
            if let Some(result) = stop {
                self.writer.replace(answered);
                return result;
            }
        }
        Err(error)
    }
}

fn write_items(
    writer: &mut RowWriter,
    machine: &Machine,
    items: &[Item],
    row: usize,
    block: &[u8],
) -> Result<(), SelectError> {
    writer.begin_row();
    for item in items {
        put(writer, &item.key, machine.vector(item.node), row, block)?;
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
