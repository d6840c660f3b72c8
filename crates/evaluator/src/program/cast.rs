//! Evaluates CAST for whole batches.

use super::digits;
use super::text_budget::{MAX_TEXT_BYTES, too_much_text};
use crate::output::invalid_text;
use crate::selection::{Frame, Rows};
use crate::vector::{Data, Heap, Kind, Span, Tag, Tags, Truth, Vector, tag_of};
use sluicegate_s3select::dialect::ast::Type;
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::{self, Decimal, Timestamp, Value, cast as scalar, decimal};

/// Returns the representation of a CAST's values.
pub(super) fn kind(to: Type) -> Kind {
    match to {
        Type::Bool => Kind::Bool,
        Type::Int => Kind::Int,
        Type::Float => Kind::Float,
        Type::Decimal(_) => Kind::Decimal,
        Type::String => Kind::Text,
        Type::Timestamp => Kind::Timestamp,
    }
}

/// Casts text in place. With `null_if_empty`, computes CAST(NULLIF(text, '') AS …).
pub(super) fn cast_text(
    spans: &[Span],
    text_heap: &Heap,
    null_if_empty: bool,
    to: Type,
    frame: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let Frame { rows, batch_rows, block } = frame;
    let heap = text_heap.bytes(block);
    let source = Source { spans, null_if_empty };
    match to {
        Type::Int => {
            source.parse(rows, out.ints(batch_rows), |span| match digits::int(heap, span) {
                Some(int) => Ok(int),
                None => any_int(span.slice(heap)),
            })
        }
        Type::Float => source
            .parse(rows, out.floats(batch_rows), |span| scalar::float_from_bytes(span.slice(heap))),
        Type::Timestamp => source.parse(rows, out.timestamps(batch_rows), |span| {
            let text = span.slice(heap);
            match <&[u8; 10]>::try_from(text).ok().and_then(Timestamp::parse_date) {
                Some(date) => Ok(date),
                None => any_timestamp(text),
            }
        }),
        Type::Decimal(shape) => {
            // Without a shape, a number has as many places as its text, mostly as many as the one before.
            let (precision, scale) = shape.unwrap_or((decimal::MAX_DIGITS as u8, 2));
            let limit = 10_i64.checked_pow(u32::from(precision)).unwrap_or(i64::MAX);
            let mut places = scale;
            source.parse(rows, out.decimals(batch_rows), |span| {
                if let Ok(1..=7) = usize::try_from(places)
                    && let Some(unscaled) = digits::fixed(heap, span, places as usize)
                    && unscaled < limit
                    && let Some(decimal) = Decimal::new(i128::from(unscaled), places)
                {
                    return Ok(decimal);
                }
                let decimal = scalar::decimal_from_bytes(span.slice(heap), shape)?;
                if shape.is_none() {
                    places = decimal.scale();
                }
                Ok(decimal)
            })
        }
        Type::Bool => {
            let truths = out.bools(batch_rows).0;
            rows.try_for_each(|row| {
                truths[row] = match source.tag(row) {
                    Tag::Present => scalar::bool_from_bytes(spans[row].slice(heap))?.into(),
                    tag => tag.into(),
                };
                Ok(())
            })
        }
        Type::String => {
            let texts = out.texts(batch_rows, text_heap.clone());
            rows.for_each(|row| {
                texts[row] = match source.tag(row) {
                    Tag::Present => spans[row],
                    tag => Span::absent(tag),
                };
            });
            Ok(())
        }
    }
}

/// Parses an integer of any form, out of line.
#[inline(never)]
fn any_int(text: &[u8]) -> Result<i64, SelectError> {
    scalar::int_from_bytes(text)
}

/// Parses a timestamp of any form, out of line.
#[inline(never)]
fn any_timestamp(text: &[u8]) -> Result<Timestamp, SelectError> {
    scalar::timestamp_from_bytes(text)
}

struct Source<'a> {
    spans: &'a [Span],
    null_if_empty: bool,
}

impl Source<'_> {
    #[inline(always)]
    fn tag(&self, row: usize) -> Tag {
        let span = self.spans[row];
        if self.null_if_empty && span.len() == 0 && !span.is_absent() {
            return Tag::Null;
        }
        span.tag()
    }

    #[inline(always)]
    fn parse<T>(
        &self,
        rows: Rows<'_>,
        (out, tags): (&mut [T], &mut Tags),
        mut parse: impl FnMut(Span) -> Result<T, SelectError>,
    ) -> Result<(), SelectError> {
        let batch_rows = out.len();
        let mut one = |span: Span, row, out: &mut T| {
            // Only an empty text can be absent, and it is never a number.
            if span.len() == 0 {
                let tag = self.tag(row);
                if tag != Tag::Present {
                    tags.set(row, tag, batch_rows);
                    return Ok(());
                }
            }
            *out = parse(span)?;
            Ok(())
        };
        match rows {
            Rows::All(n) => {
                for (row, (span, out)) in self.spans[..n].iter().zip(&mut out[..n]).enumerate() {
                    one(*span, row, out)?;
                }
                Ok(())
            }
            Rows::List(rows) => rows.iter().try_for_each(|&row| {
                let row = row as usize;
                one(self.spans[row], row, &mut out[row])
            }),
        }
    }
}

/// Casts a vector of any type.
pub(super) fn cast(
    arg: &Vector,
    to: Type,
    frame: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let Frame { rows, batch_rows, block } = frame;
    if let Data::Text(spans, heap) = &arg.data {
        return cast_text(spans, heap, false, to, frame, out);
    }
    if let (Data::Decimal(decimals), Type::Decimal(shape)) = (&arg.data, to) {
        return cast_decimal(decimals, &arg.tags, shape, frame, out);
    }
    if let (Data::Int(ints), Type::Int) = (&arg.data, to) {
        let (out, tags) = out.ints(batch_rows);
        rows.for_each(|row| match arg.tags.get(row) {
            Tag::Present => out[row] = ints[row],
            tag => tags.set(row, tag, batch_rows),
        });
        return Ok(());
    }
    let value = |row| value::cast(&arg.value(row, block).ok_or_else(invalid_text)?, to);
    match to {
        Type::Int => store(rows, out.ints(batch_rows), value, |value| match value {
            Value::Int(int) => Some(int),
            _ => None,
        }),
        Type::Float => store(rows, out.floats(batch_rows), value, |value| match value {
            Value::Float(float) => Some(float),
            _ => None,
        }),
        Type::Decimal(_) => store(rows, out.decimals(batch_rows), value, |value| match value {
            Value::Decimal(decimal) => Some(decimal),
            _ => None,
        }),
        Type::Timestamp => store(rows, out.timestamps(batch_rows), value, |value| match value {
            Value::Timestamp(timestamp) => Some(timestamp),
            _ => None,
        }),
        Type::Bool => {
            let truths = out.bools(batch_rows).0;
            rows.try_for_each(|row| {
                truths[row] = match value(row)? {
                    Value::Bool(truth) => truth.into(),
                    Value::Missing => Truth::Missing,
                    _ => Truth::Null,
                };
                Ok(())
            })
        }
        Type::String => {
            let mut heap = Vec::new();
            let texts = out.texts(batch_rows, Heap::Block);
            rows.try_for_each(|row| {
                texts[row] = match value(row)? {
                    Value::String(text) => push_text(&mut heap, text.as_bytes())?,
                    other => Span::absent(tag_of(&other)),
                };
                Ok::<_, SelectError>(())
            })?;
            out.set_heap(Heap::Owned(heap));
            Ok(())
        }
    }
}

/// Casts decimals to a shape, or to none, without converting them to values.
fn cast_decimal(
    decimals: &[Decimal],
    tags: &Tags,
    shape: Option<(u8, i8)>,
    Frame { rows, batch_rows, .. }: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let (out, out_tags) = out.decimals(batch_rows);
    rows.try_for_each(|row| {
        let tag = tags.get(row);
        if tag != Tag::Present {
            out_tags.set(row, tag, batch_rows);
            return Ok(());
        }
        let decimal = decimals[row];
        let shaped = match shape {
            Some((precision, scale)) => decimal.rescale(precision, scale),
            None => Some(decimal),
        };
        out[row] = match shaped {
            Some(shaped) => shaped,
            // The cast returns the error for a number that does not fit.
            None => match value::cast(&Value::Decimal(decimal), Type::Decimal(shape))? {
                Value::Decimal(decimal) => decimal,
                _ => return Err(invalid_text()),
            },
        };
        Ok(())
    })
}

fn store<T>(
    rows: Rows<'_>,
    (out, tags): (&mut [T], &mut Tags),
    value: impl Fn(usize) -> Result<Value, SelectError>,
    unwrap: impl Fn(Value) -> Option<T>,
) -> Result<(), SelectError> {
    let batch_rows = out.len();
    rows.try_for_each(|row| {
        let value = value(row)?;
        let tag = tag_of(&value);
        match unwrap(value) {
            Some(value) => out[row] = value,
            None => tags.set(row, tag, batch_rows),
        }
        Ok(())
    })
}

/// Appends text to a vector's heap, whose size is limited.
pub(super) fn push_text(heap: &mut Vec<u8>, text: &[u8]) -> Result<Span, SelectError> {
    if heap.len() + text.len() > MAX_TEXT_BYTES {
        return Err(too_much_text());
    }
    let span = Span::new(heap.len() as u32, text.len() as u32);
    heap.extend_from_slice(text);
    Ok(span)
}
