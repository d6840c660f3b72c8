//! Evaluates LIKE, SUBSTRING and CHAR_LENGTH for whole batches.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::call::whole;
use super::cast::push_text;
use super::operand;
use crate::cancellation::Cancellation;
use crate::output::invalid_text;
use crate::selection::{Frame, Rows};
use crate::vector::{Data, Heap, Span, Tag, Truth, Vector, tag_of};
use sluicegate_s3select::dialect::ast::{BinaryOp, Function};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::value::{LikePattern, Value, text};

/// Returns the error of a function that requires text and received another value.
pub(super) fn needs_text(function: &str, value: &Value) -> SelectError {
    SelectError::new(
        SelectErrorCode::IncorrectSqlFunctionArgumentType,
        format!("{function} needs a string, not a {}: use CAST.", value.type_name()),
    )
}

/// Evaluates LIKE with a constant pattern.
pub(super) fn like(
    arg: &Vector,
    pattern: &LikePattern,
    rows: Rows<'_>,
    block: &[u8],
    out: &mut [Truth],
    cancellation: &Cancellation,
) -> Result<(), SelectError> {
    let stop = || cancellation.check().is_err();
    if let Data::Text(spans, heap) = &arg.data {
        let heap = heap.bytes(block);
        rows.for_each(|row| {
            let span = spans[row];
            out[row] = if span.is_absent() {
                Truth::Null
            } else {
                pattern.matches_unless(span.slice(heap), &stop).into()
            };
        });
        return cancellation.check();
    }
    rows.try_for_each(|row| {
        out[row] = match arg.value(row, block).ok_or_else(invalid_text)? {
            Value::Missing | Value::Null => Truth::Null,
            Value::String(text) => pattern.matches_unless(text.as_bytes(), &stop).into(),
            other => return Err(like_needs_text(&other)),
        };
        Ok(())
    })?;
    // A search that was stopped has found nothing.
    cancellation.check()
}

/// Evaluates LIKE with a pattern for each row.
pub(super) fn like_any(
    arg: &Vector,
    pattern: &Vector,
    escape: Option<&Vector>,
    Frame { rows, block, .. }: Frame<'_>,
    out: &mut [Truth],
    cancellation: &Cancellation,
) -> Result<(), SelectError> {
    let value = |vector: &Vector, row| vector.value(row, block).ok_or_else(invalid_text);
    let stop = || cancellation.check().is_err();
    let mut patterns = Patterns::default();
    rows.try_for_each(|row| {
        let escape = escape.map(|escape| value(escape, row)).transpose()?;
        let values = (&value(arg, row)?, &value(pattern, row)?, escape.as_ref());
        out[row] = like_values(values, &mut patterns, &stop)?;
        Ok(())
    })?;
    cancellation.check()
}

/// The patterns of a batch, each with its escape, compiled once.
type Patterns = HashMap<(String, Option<String>), LikePattern>;

fn like_values(
    (arg, pattern, escape): (&Value, &Value, Option<&Value>),
    patterns: &mut Patterns,
    stop: &dyn Fn() -> bool,
) -> Result<Truth, SelectError> {
    if arg.is_null() || pattern.is_null() || escape.is_some_and(Value::is_null) {
        return Ok(Truth::Null);
    }
    let string = |value: &'_ Value| match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(like_needs_text(other)),
    };
    let escape = escape.map(string).transpose()?;
    let pattern = match patterns.entry((string(pattern)?, escape)) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => {
            let (pattern, escape) = new.key();
            let compiled = LikePattern::compile(pattern, escape.as_deref())?;
            new.insert(compiled)
        }
    };
    Ok(pattern.matches_unless(string(arg)?.as_bytes(), stop).into())
}

fn like_needs_text(value: &Value) -> SelectError {
    SelectError::new(
        SelectErrorCode::LikeInvalidInputs,
        format!("LIKE needs strings, not a {}: use CAST.", value.type_name()),
    )
}

/// Evaluates CHAR_LENGTH.
pub(super) fn char_length(
    arg: &Vector,
    frame: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let Frame { rows, batch_rows, block } = frame;
    let (out, tags) = out.ints(batch_rows);
    if let Data::Text(spans, heap) = &arg.data {
        let heap = heap.bytes(block);
        rows.for_each(|row| match spans[row].tag() {
            Tag::Present => out[row] = text::char_length(spans[row].slice(heap)),
            tag => tags.set(row, tag, batch_rows),
        });
        return Ok(());
    }
    rows.try_for_each(|row| {
        match arg.value(row, block).ok_or_else(invalid_text)? {
            Value::String(value) => out[row] = text::char_length(value.as_bytes()),
            value if value.is_null() => tags.set(row, tag_of(&value), batch_rows),
            other => return Err(needs_text("CHAR_LENGTH", &other)),
        }
        Ok(())
    })
}

/// A constant text to take substrings of, prepared for all batches.
pub(super) struct ConstantText {
    heap: Heap,
    /// True if every byte is a character, so that positions need no counting.
    ascii: bool,
    whole: Span,
}

impl ConstantText {
    pub(super) fn new(text: &str) -> Self {
        let heap = Heap::Shared(text.as_bytes().into());
        Self { heap, ascii: text.is_ascii(), whole: Span::new(0, text.len() as u32) }
    }
}

/// Omits the text, which may be long and is an operand.
impl std::fmt::Debug for ConstantText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConstantText").finish_non_exhaustive()
    }
}

/// Evaluates SUBSTRING. For text in a heap, the result consists of new spans only. A constant of 100,000 characters
/// that is indexed by row, such as a Bloom filter's bits, costs no more than a short one.
pub(super) fn substring(
    arg: &Vector,
    constant: Option<&ConstantText>,
    start: &Vector,
    length: Option<&Vector>,
    frame: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let Frame { rows, batch_rows, block } = frame;
    let (spans, heap) = match (&arg.data, constant) {
        (Data::Text(spans, heap), _) => (Some(spans), heap),
        (_, Some(constant)) => (None, &constant.heap),
        _ => return substring_values(arg, start, length, frame, out),
    };
    let starts = operand::ints(start);
    let lengths = length.map(operand::ints);
    let (Some(starts), None | Some(Some(_))) = (&starts, &lengths) else {
        return substring_values(arg, start, length, frame, out);
    };
    let lengths = lengths.as_ref().and_then(Option::as_ref);
    let bytes = heap.bytes(block);
    let ascii = constant.is_some_and(|constant| constant.ascii);
    let whole = constant.map_or(Span::NULL, |constant| constant.whole);
    let texts = out.texts(batch_rows, heap.clone());
    rows.try_for_each(|row| {
        let span = spans.map_or(whole, |spans| spans[row]);
        let mut tag = operand::combine(span.tag(), starts.tag(row));
        if let Some(lengths) = lengths {
            tag = operand::combine(tag, lengths.tag(row));
        }
        if tag != Tag::Present {
            texts[row] = Span::absent(tag);
            return Ok(());
        }
        let length = lengths.map(|lengths| lengths.get(row));
        texts[row] = if ascii {
            let (skip, take) = text::substring_window(starts.get(row), length)?;
            let skip = skip.min(span.len());
            let take = take.min(span.len() - skip);
            Span::new(skip as u32, take as u32)
        } else {
            let text = span.slice(bytes);
            let part = text::substring(text, starts.get(row), length)?;
            let skip = part.as_ptr().addr() - text.as_ptr().addr();
            Span::new((span.start() + skip) as u32, part.len() as u32)
        };
        Ok(())
    })
}

fn substring_values(
    arg: &Vector,
    start: &Vector,
    length: Option<&Vector>,
    frame: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let Frame { rows, batch_rows, block } = frame;
    let mut heap = Vec::new();
    let texts = out.texts(batch_rows, Heap::Block);
    let value = |vector: &Vector, row| vector.value(row, block).ok_or_else(invalid_text);
    rows.try_for_each(|row| {
        let arg = value(arg, row)?;
        let start = value(start, row)?;
        let length = length.map(|length| value(length, row)).transpose()?;
        let tags = [Some(&arg), Some(&start), length.as_ref()].into_iter().flatten().map(tag_of);
        let tag = tags.fold(Tag::Present, operand::combine);
        if tag != Tag::Present {
            texts[row] = Span::absent(tag);
            return Ok(());
        }
        let Value::String(string) = &arg else { return Err(needs_text("SUBSTRING", &arg)) };
        let start = whole(Function::Substring, &start)?;
        let length = length.map(|length| whole(Function::Substring, &length)).transpose()?;
        texts[row] = push_text(&mut heap, text::substring(string.as_bytes(), start, length)?)?;
        Ok(())
    })?;
    out.set_heap(Heap::Owned(heap));
    Ok(())
}

/// Returns whether [`super::compare`] implements the operator.
pub(super) fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}
