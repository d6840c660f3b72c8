//! Evaluates TRIM for whole batches.

use super::cast::push_text;
use super::operand::combine;
use super::text::needs_text;
use crate::output::invalid_text;
use crate::selection::Frame;
use crate::vector::{Data, Heap, Span, Tag, Vector, tag_of};
use sluicegate_s3select::dialect::ast::TrimSide;
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::{TrimSet, Value};

/// The characters to remove.
#[derive(Debug, Clone, Copy)]
pub(super) enum Chars<'a> {
    /// One set for every row.
    Constant(&'a TrimSet),
    /// A text for each row.
    Column(&'a Vector),
}

/// Evaluates TRIM.
pub(super) fn trim(
    side: TrimSide,
    text: &Vector,
    chars: Chars<'_>,
    frame: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    if let (Data::Text(spans, heap), Chars::Constant(set)) = (&text.data, chars) {
        trim_texts(side, set, (spans, heap), frame, out);
        return Ok(());
    }
    trim_values(side, text, chars, frame, out)
}

/// Trims text in a heap. The result consists of new spans only.
fn trim_texts(
    side: TrimSide,
    set: &TrimSet,
    (spans, heap): (&[Span], &Heap),
    Frame { rows, batch_rows, block }: Frame<'_>,
    out: &mut Vector,
) {
    let bytes = heap.bytes(block);
    let texts = out.texts(batch_rows, heap.clone());
    rows.for_each(|row| {
        let span = spans[row];
        texts[row] = if span.is_absent() {
            span
        } else {
            let whole = span.slice(bytes);
            let part = set.trim(whole, side);
            let skip = part.as_ptr().addr() - whole.as_ptr().addr();
            Span::new((span.start() + skip) as u32, part.len() as u32)
        };
    });
}

fn trim_values(
    side: TrimSide,
    text: &Vector,
    chars: Chars<'_>,
    Frame { rows, batch_rows, block }: Frame<'_>,
    out: &mut Vector,
) -> Result<(), SelectError> {
    let mut heap = Vec::new();
    let texts = out.texts(batch_rows, Heap::Block);
    let mut sets = Sets::default();
    rows.try_for_each(|row| {
        let value = |vector: &Vector| vector.value(row, block).ok_or_else(invalid_text);
        let whole = value(text)?;
        let set = match chars {
            Chars::Constant(set) => Some(set),
            Chars::Column(vector) => sets.get_or_compile(&value(vector)?, tag_of(&whole))?,
        };
        let tag = match chars {
            Chars::Constant(_) => tag_of(&whole),
            Chars::Column(vector) => combine(tag_of(&whole), vector.tag(row)),
        };
        texts[row] = match (tag, &whole, set) {
            (Tag::Present, Value::String(whole), Some(set)) => {
                push_text(&mut heap, set.trim(whole.as_bytes(), side))?
            }
            (Tag::Present, other, _) => return Err(needs_text("TRIM", other)),
            (tag, ..) => Span::absent(tag),
        };
        Ok::<_, SelectError>(())
    })?;
    out.set_heap(Heap::Owned(heap));
    Ok(())
}

/// The set of the last row that had one. Consecutive rows often have the same set, which may be long.
#[derive(Default)]
struct Sets(Option<(String, TrimSet)>);

impl Sets {
    /// Returns the set of the characters; `None` if they or the text to trim are absent.
    fn get_or_compile(
        &mut self,
        chars: &Value,
        text: Tag,
    ) -> Result<Option<&TrimSet>, SelectError> {
        let chars = match chars {
            Value::Null | Value::Missing => return Ok(None),
            _ if text != Tag::Present => return Ok(None),
            Value::String(chars) => chars,
            other => return Err(needs_text("TRIM", other)),
        };
        let known = self.0.take().filter(|(known, _)| known == chars);
        let known = known.unwrap_or_else(|| (chars.clone(), TrimSet::new(chars)));
        Ok(Some(&self.0.insert(known).1))
    }
}
