//! Picks values from several vectors: CASE, COALESCE and NULLIF.

use super::cast::push_text;
use crate::output::invalid_text;
use crate::selection::{Frame, Rows};
use crate::vector::{Data, Heap, Kind, Span, Tag, Truth, Vector};
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::{self, Value};

/// Returns the representation that can hold all of these. A constant without a value fits everywhere.
pub(super) fn common_kind(kinds: impl IntoIterator<Item = Option<Kind>>) -> Kind {
    let mut kinds = kinds.into_iter().flatten();
    let Some(first) = kinds.next() else { return Kind::Dynamic };
    if kinds.all(|kind| kind == first) { first } else { Kind::Dynamic }
}

/// A vector that is filled in pieces, for disjoint sets of rows.
pub(super) struct Choice<'a> {
    out: &'a mut Vector,
    kind: Kind,
    batch_rows: usize,
    heap: Vec<u8>,
}

impl<'a> Choice<'a> {
    pub(super) fn new(out: &'a mut Vector, kind: Kind, batch_rows: usize) -> Self {
        match kind {
            Kind::Bool => drop(out.bools(batch_rows)),
            Kind::Int => drop(out.ints(batch_rows)),
            Kind::Float => drop(out.floats(batch_rows)),
            Kind::Decimal => drop(out.decimals(batch_rows)),
            Kind::Timestamp => drop(out.timestamps(batch_rows)),
            Kind::Text => drop(out.texts(batch_rows, Heap::Block)),
            Kind::Dynamic => drop(out.values(batch_rows)),
        }
        Self { out, kind, batch_rows, heap: Vec::new() }
    }

    /// Takes the values of `rows` from `from`.
    pub(super) fn copy(
        &mut self,
        from: &Vector,
        rows: Rows<'_>,
        block: &[u8],
    ) -> Result<(), SelectError> {
        let Vector { data, tags } = &mut *self.out;
        let batch_rows = self.batch_rows;
        macro_rules! copy {
            ($to:ident, $from:ident) => {
                rows.for_each(|row| match from.tags.get(row) {
                    Tag::Present => $to[row] = $from[row],
                    tag => tags.set(row, tag, batch_rows),
                })
            };
        }
        macro_rules! repeat {
            ($to:ident, $value:ident) => {
                rows.for_each(|row| $to[row] = *$value)
            };
        }
        match (data, &from.data) {
            (Data::Int(to), Data::Int(from)) => copy!(to, from),
            (Data::Float(to), Data::Float(from)) => copy!(to, from),
            (Data::Decimal(to), Data::Decimal(from)) => copy!(to, from),
            (Data::Timestamp(to), Data::Timestamp(from)) => copy!(to, from),
            (Data::Bool(to), Data::Bool(from)) => rows.for_each(|row| to[row] = from[row]),
            (Data::Int(to), Data::Constant(Value::Int(value))) => repeat!(to, value),
            (Data::Float(to), Data::Constant(Value::Float(value))) => repeat!(to, value),
            (Data::Decimal(to), Data::Constant(Value::Decimal(value))) => repeat!(to, value),
            (Data::Timestamp(to), Data::Constant(Value::Timestamp(value))) => repeat!(to, value),
            (Data::Bool(to), Data::Constant(Value::Bool(value))) => {
                rows.for_each(|row| to[row] = Truth::from(*value));
            }
            (Data::Text(to, _), Data::Text(spans, heap)) => {
                let bytes = heap.bytes(block);
                return rows.try_for_each(|row| {
                    to[row] = match spans[row].tag() {
                        Tag::Present => push_text(&mut self.heap, spans[row].slice(bytes))?,
                        tag => Span::absent(tag),
                    };
                    Ok(())
                });
            }
            (Data::Text(to, _), Data::Constant(Value::String(text))) => {
                let span = push_text(&mut self.heap, text.as_bytes())?;
                rows.for_each(|row| to[row] = span);
            }
            (Data::Dynamic(to), _) => {
                return rows.try_for_each(|row| {
                    to[row] = from.value(row, block).ok_or_else(invalid_text)?;
                    Ok(())
                });
            }
            // Only constants without a value are left.
            _ => {
                let tag = from.tag(0);
                self.absent(tag, rows);
            }
        }
        Ok(())
    }

    /// Marks `rows` as having no value.
    pub(super) fn absent(&mut self, tag: Tag, rows: Rows<'_>) {
        let Vector { data, tags } = &mut *self.out;
        match data {
            Data::Bool(to) => rows.for_each(|row| to[row] = tag.into()),
            Data::Text(to, _) => rows.for_each(|row| to[row] = Span::absent(tag)),
            Data::Dynamic(to) => rows.for_each(|row| {
                to[row] = if tag == Tag::Missing { Value::Missing } else { Value::Null };
            }),
            _ => rows.for_each(|row| tags.set(row, tag, self.batch_rows)),
        }
    }

    pub(super) fn finish(self) {
        if self.kind == Kind::Text {
            self.out.set_heap(Heap::Owned(self.heap));
        }
    }
}

/// Computes NULLIF(text, constant): the same texts, some of them NULL.
pub(super) fn null_if_text(
    spans: &[Span],
    heap: &Heap,
    constant: &[u8],
    frame: Frame<'_>,
    out: &mut Vector,
) {
    let Frame { rows, batch_rows, block } = frame;
    let bytes = heap.bytes(block);
    let texts = out.texts(batch_rows, heap.clone());
    rows.for_each(|row| {
        let span = spans[row];
        let equal =
            span.len() == constant.len() && !span.is_absent() && span.slice(bytes) == constant;
        texts[row] = if equal { Span::NULL } else { span };
    });
}

/// Computes NULLIF of two values.
pub(super) fn null_if(left: Value, right: &Value) -> Value {
    if value::is_same(&left, right) { Value::Null } else { left }
}
