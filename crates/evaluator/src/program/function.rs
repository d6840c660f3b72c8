//! Evaluates LOWER, UPPER and the functions of timestamps for whole batches.

use super::call;
use super::cast::push_text;
use super::operand::{self, combine, zip};
use super::text_budget::{MAX_TEXT_BYTES, too_much_text};
use crate::output::invalid_text;
use crate::selection::Frame;
use crate::vector::{Data, Heap, Kind, Span, Tag, Truth, Vector, tag_of, text_bytes_of};
use sluicegate_s3select::dialect::ast::Function;
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::value::{Timestamp, TimestampPattern, Value, text};

/// Returns the representation of a function's values.
pub(super) fn kind(function: Function) -> Kind {
    match function {
        Function::Lower | Function::Upper | Function::ToString => Kind::Text,
        Function::Extract(_) | Function::DateDiff(_) => Kind::Int,
        Function::DateAdd(_) | Function::ToTimestamp => Kind::Timestamp,
        _ => Kind::Dynamic,
    }
}

/// Calls a function, in the representation returned by [`kind`].
pub(super) fn call(
    function: Function,
    args: &[&Vector],
    frame: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    match (function, args) {
        (Function::Lower | Function::Upper, [arg]) => {
            if let Data::Text(spans, heap) = &arg.data {
                let upper = function == Function::Upper;
                return change_case(upper, spans, heap.bytes(frame.block), frame, out);
            }
        }
        (Function::Extract(part), [arg]) => {
            if let Data::Timestamp(times) = &arg.data {
                let (ints, tags) = out.ints(frame.batch_rows);
                frame.rows.for_each(|row| match arg.tags.get(row) {
                    Tag::Present => ints[row] = times[row].extract(part),
                    tag => tags.set(row, tag, frame.batch_rows),
                });
                return Ok(());
            }
        }
        (Function::DateDiff(part), [from, to]) => {
            if let (Some(from), Some(to)) = (operand::timestamps(from), operand::timestamps(to)) {
                let (ints, tags) = out.ints(frame.batch_rows);
                return zip(
                    frame.rows,
                    &from,
                    &to,
                    |row, from, to| {
                        ints[row] = call::difference(part, from, to)?;
                        Ok(())
                    },
                    |row, tag| tags.set(row, tag, frame.batch_rows),
                );
            }
        }
        (Function::DateAdd(part), [quantity, time]) => {
            if let (Some(quantity), Some(time)) =
                (operand::ints(quantity), operand::timestamps(time))
            {
                let (times, tags) = out.timestamps(frame.batch_rows);
                return frame.rows.try_for_each(|row| {
                    match combine(quantity.tag(row), time.tag(row)) {
                        Tag::Present => {
                            times[row] = call::sum(part, quantity.get(row), time.get(row))?;
                        }
                        tag => tags.set(row, tag, frame.batch_rows),
                    }
                    Ok(())
                });
            }
        }
        (Function::ToString, [time, pattern]) => {
            if let (Data::Timestamp(times), Some(pattern)) = (&time.data, constant_text(pattern)) {
                let tag = |row| time.tags.get(row);
                return write_times(times, tag, pattern, frame, out);
            }
        }
        (Function::List, _) => return list(args, frame, out),
        _ => {}
    }
    by_row(function, args, frame, out)
}

/// Builds a list of the arguments, each of which may be the same long text.
fn list(
    args: &[&Vector],
    Frame { rows, batch_rows, block }: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let lists = out.values(batch_rows).0;
    let mut bytes = 0;
    rows.try_for_each(|row| {
        let mut list = Vec::with_capacity(args.len());
        for arg in args {
            let value = arg.value(row, block).ok_or_else(invalid_text)?;
            bytes += text_bytes_of(&value);
            if bytes > MAX_TEXT_BYTES {
                return Err(too_much_text());
            }
            list.push(value);
        }
        lists[row] = Value::List(list.into());
        Ok(())
    })
}

fn constant_text(vector: &Vector) -> Option<&str> {
    match &vector.data {
        Data::Constant(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn change_case(
    upper: bool,
    spans: &[Span],
    bytes: &[u8],
    Frame { rows, batch_rows, .. }: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let mut heap = Vec::new();
    let texts = out.texts(batch_rows, Heap::Block);
    rows.try_for_each(|row| {
        let span = spans[row];
        if span.is_absent() {
            texts[row] = span;
            return Ok(());
        }
        let text = span.slice(bytes);
        texts[row] = if text.is_ascii() {
            let changed = push_text(&mut heap, text)?;
            let changed_text = &mut heap[changed.start()..];
            match upper {
                true => changed_text.make_ascii_uppercase(),
                false => changed_text.make_ascii_lowercase(),
            }
            changed
        } else {
            push_text(&mut heap, &if upper { text::upper(text) } else { text::lower(text) })?
        };
        Ok::<_, SelectError>(())
    })?;
    out.set_heap(Heap::Owned(heap));
    Ok(())
}

fn write_times(
    times: &[Timestamp],
    tag: impl Fn(usize) -> Tag,
    pattern: &str,
    Frame { rows, batch_rows, .. }: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    // An invalid pattern is an error only if there is a time to write.
    let pattern = TimestampPattern::compile(pattern);
    let mut heap = Vec::new();
    let mut text = Vec::new();
    let texts = out.texts(batch_rows, Heap::Block);
    rows.try_for_each(|row| {
        texts[row] = match tag(row) {
            Tag::Present => {
                text.clear();
                pattern.as_ref().map_err(Clone::clone)?.write(times[row], &mut text);
                push_text(&mut heap, &text)?
            }
            tag => Span::absent(tag),
        };
        Ok::<_, SelectError>(())
    })?;
    out.set_heap(Heap::Owned(heap));
    Ok(())
}

/// Calls a function for one row after the other.
fn by_row(
    function: Function,
    args: &[&Vector],
    Frame { rows, batch_rows, block }: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let mut row_args = Vec::with_capacity(args.len());
    let mut result = |row| {
        row_args.clear();
        for arg in args {
            row_args.push(arg.value(row, block).ok_or_else(invalid_text)?);
        }
        call::call(function, &row_args)
    };
    macro_rules! typed {
        ($space:ident, $variant:ident) => {{
            let (values, tags) = out.$space(batch_rows);
            rows.try_for_each(|row| {
                match result(row)? {
                    Value::$variant(value) => values[row] = value,
                    other => tags.set(row, absent(&other)?, batch_rows),
                }
                Ok(())
            })
        }};
    }
    match kind(function) {
        Kind::Int => typed!(ints, Int),
        Kind::Float => typed!(floats, Float),
        Kind::Decimal => typed!(decimals, Decimal),
        Kind::Timestamp => typed!(timestamps, Timestamp),
        Kind::Bool => {
            let truths = out.bools(batch_rows).0;
            rows.try_for_each(|row| {
                truths[row] = match result(row)? {
                    Value::Bool(truth) => truth.into(),
                    other => Truth::from(absent(&other)?),
                };
                Ok(())
            })
        }
        Kind::Text => {
            let mut heap = Vec::new();
            let texts = out.texts(batch_rows, Heap::Block);
            rows.try_for_each(|row| {
                texts[row] = match result(row)? {
                    Value::String(text) => push_text(&mut heap, text.as_bytes())?,
                    other => Span::absent(absent(&other)?),
                };
                Ok::<_, SelectError>(())
            })?;
            out.set_heap(Heap::Owned(heap));
            Ok(())
        }
        Kind::Dynamic => {
            let values = out.values(batch_rows).0;
            rows.try_for_each(|row| {
                values[row] = result(row)?;
                Ok(())
            })
        }
    }
}

/// Returns the tag of a result without a value.
fn absent(value: &Value) -> Result<Tag, SelectError> {
    match tag_of(value) {
        Tag::Present => Err(SelectError::new(
            SelectErrorCode::InternalError,
            format!("A function made a {}.", value.type_name()),
        )),
        tag => Ok(tag),
    }
}
