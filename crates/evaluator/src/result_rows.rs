//! Turns values into rows of the answer.

use std::ops::ControlFlow;

use super::cancellation::Cancellation;
use super::group_by::Groups;
use super::output::{self, Key, RowWriter};
use super::program::{Machine, Program, Values, is_too_much_text};
use super::sink::{MAX_RECORDS_BYTES, Outbox};
use super::statement::{AggregateRows, Item};
use super::vector::{Data, Tag, Vector};
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::Value;

/// The number of groups answered at a time.
const ANSWERED_GROUPS: usize = 1024;

/// Sends the results of all groups and removes the groups.
pub(super) fn answer_groups(
    groups: &mut Groups,
    outer: &Program,
    items: &[Item],
    writer: &mut RowWriter,
    outbox: &mut Outbox<'_>,
    cancellation: &Cancellation,
) -> Result<ControlFlow<()>, SelectError> {
    let mut machine = Machine::default();
    machine.stop_with(cancellation.clone());
    let nodes = || items.iter().map(|item| item.node);
    let (mut first, mut most) = (0, ANSWERED_GROUPS);
    while first < groups.len() {
        let last = groups.len().min(first + most);
        let rows = AggregateRows { columns: groups.results(first..last)?, rows: last - first };
        let all = machine.start(rows.rows);
        let values = match machine.eval_all(outer, nodes(), &all, &rows) {
            Err(error) if is_too_much_text(&error) && rows.rows > 1 => {
                machine.release_text();
                most = rows.rows / 2;
                continue;
            }
            values => values?,
        };
        first = last;
        for row in 0..rows.rows {
            write_items(writer, values, items, row, &[])?;
            if writer.bytes().len() >= MAX_RECORDS_BYTES || row + 1 == rows.rows {
                let flow = outbox.append(writer.bytes());
                writer.clear();
                if flow.is_break() {
                    return Ok(flow);
                }
            }
        }
    }
    groups.clear();
    Ok(ControlFlow::Continue(()))
}

/// Passes the rows so far to the outbox if they fill a message.
pub(super) fn hand_on(
    writer: &mut RowWriter,
    outbox: &mut Outbox<'_>,
    cancellation: &Cancellation,
) -> Result<ControlFlow<()>, SelectError> {
    if writer.bytes().len() < MAX_RECORDS_BYTES {
        return Ok(ControlFlow::Continue(()));
    }
    let flow = outbox.append(writer.bytes());
    writer.clear();
    cancellation.check()?;
    Ok(flow)
}

/// Appends a row of these values.
pub(super) fn write_items(
    writer: &mut RowWriter,
    values: Values<'_>,
    items: &[Item],
    row: usize,
    block: &[u8],
) -> Result<(), SelectError> {
    writer.begin_row();
    for item in items {
        put(writer, &item.key, values.get(item.node), row, block)?;
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
            Tag::Present => {
                writer.put(key, output::Item::Text(spans[row].slice(heap.bytes(block))))
            }
            Tag::Null => writer.put(key, output::Item::Value(&Value::Null)),
            Tag::Missing => writer.put(key, output::Item::Value(&Value::Missing)),
        },
        Data::Int(ints) if vector.tags.get(row) == Tag::Present => {
            writer.put(key, output::Item::Int(ints[row]))
        }
        Data::Decimal(decimals) if vector.tags.get(row) == Tag::Present => {
            writer.put(key, output::Item::Decimal(decimals[row]))
        }
        Data::Timestamp(times) if vector.tags.get(row) == Tag::Present => {
            writer.put(key, output::Item::Timestamp(times[row]))
        }
        Data::Dynamic(values) => writer.put(key, output::Item::Value(&values[row])),
        Data::Constant(value) => writer.put(key, output::Item::Value(value)),
        _ => {
            let value = vector.value(row, block).ok_or_else(output::invalid_text)?;
            writer.put(key, output::Item::Value(&value))
        }
    }
}
