//! Columns of text.

use std::sync::Arc;

use arrow::array::{ArrayRef, NullBufferBuilder, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer};

use super::super::{Item, MAX_ROW_BYTES};
use super::column::{Column, Taken, put_absent, put_decoded};
use crate::batch::Codes;
use crate::vector::{Data, Span, Vector};
use sluicegate_s3select::value::Value;

/// Texts up to this length are copied with a fixed length, in a few instructions.
const COPIED: usize = 32;

/// Collects texts.
pub(super) struct TextColumn {
    text: Vec<u8>,
    /// The end of each text. They start with 0.
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
    /// The last dictionary, with its texts and [`COPIED`] more bytes if all are UTF-8.
    dictionary: Option<(Arc<Vector>, Option<Vec<u8>>)>,
    /// The most bytes that the dictionary may take.
    budget: usize,
}

impl TextColumn {
    pub(super) fn new(budget: usize) -> Self {
        let (text, offsets) = (Vec::new(), vec![0]);
        Self { text, offsets, nulls: NullBufferBuilder::new(0), dictionary: None, budget }
    }

    fn end(&mut self, is_present: bool) {
        self.offsets.push(self.text.len() as i32);
        self.nulls.append(is_present);
    }

    /// Appends texts of short batches, which are UTF-8 or are checked afterwards.
    fn copy(
        &mut self,
        spans: impl ExactSizeIterator<Item = Span>,
        heap: &[u8],
        most: usize,
    ) -> Option<()> {
        let before = self.text.len();
        self.offsets.reserve(spans.len());
        let (mut absent, count) = (false, spans.len());
        // The part of the heap to copy next: texts that follow one another are copied together.
        let (mut start, mut end) = (0, 0);
        let Self { text, offsets, .. } = self;
        let first = offsets.len();
        let mut length = before;
        for span in spans {
            if span.is_absent() {
                absent = true;
                // A negative offset marks an absent text until the loop below.
                offsets.push(-1 - length as i32);
                continue;
            }
            if span.start() != end {
                append(text, heap, start..end)?;
                (start, end) = (span.start(), span.start());
            }
            end += span.len();
            length += span.len();
            if length - before > most {
                return None;
            }
            offsets.push(length as i32);
        }
        append(text, heap, start..end)?;
        if !absent {
            self.nulls.append_n_non_nulls(count);
            return Some(());
        }
        for offset in &mut self.offsets[first..] {
            self.nulls.append(*offset >= 0);
            *offset = if *offset >= 0 { *offset } else { -1 - *offset };
        }
        Some(())
    }

    /// Appends texts at any places of a heap that ends with [`COPIED`] further bytes.
    fn fetch(
        &mut self,
        spans: impl ExactSizeIterator<Item = Span> + Clone,
        heap: &[u8],
        most: usize,
    ) -> Option<()> {
        let before = self.text.len();
        let lengths = spans.clone().map(|span| if span.is_absent() { 0 } else { span.len() });
        let length: usize = lengths.sum();
        if length > most {
            return None;
        }
        self.text.resize(before + length + COPIED, 0);
        self.offsets.reserve(spans.len());
        let count = spans.len();
        let mut end = before;
        let mut absent = false;
        for span in spans.clone() {
            if span.is_absent() {
                absent = true;
            } else if span.len() <= COPIED {
                let chunk = heap.get(span.start()..)?.first_chunk::<COPIED>()?;
                self.text[end..end + COPIED].copy_from_slice(chunk);
                end += span.len();
            } else {
                let text = heap.get(span.start()..span.start() + span.len())?;
                self.text[end..end + text.len()].copy_from_slice(text);
                end += span.len();
            }
            self.offsets.push(end as i32);
        }
        self.text.truncate(before + length);
        match absent {
            true => spans.for_each(|span| self.nulls.append(!span.is_absent())),
            false => self.nulls.append_n_non_nulls(count),
        }
        Some(())
    }

    /// Returns whether the texts from a row on are UTF-8, each by itself.
    fn is_utf8_from(&self, row: usize) -> bool {
        let start = self.offsets[row] as usize;
        let text = &self.text[start..];
        let Ok(text) = std::str::from_utf8(text) else { return false };
        text.is_ascii()
            || self.offsets[row..].iter().all(|end| text.is_char_boundary(*end as usize - start))
    }
}

/// Appends a part of the heap; `None` if it is outside.
#[inline(always)]
fn append(text: &mut Vec<u8>, heap: &[u8], part: std::ops::Range<usize>) -> Option<()> {
    let length = part.len();
    match heap.get(part.start..).and_then(|rest| rest.first_chunk::<COPIED>()) {
        Some(chunk) if length <= COPIED => {
            let end = text.len() + length;
            text.extend_from_slice(chunk);
            text.truncate(end);
        }
        _ => text.extend_from_slice(heap.get(part)?),
    }
    Some(())
}

/// Returns the texts of a dictionary with [`COPIED`] more bytes; `None` if any is not UTF-8, or there are more bytes
/// than `most`.
fn padded(codes: Codes<'_>, most: usize) -> Option<Vec<u8>> {
    let Data::Text(spans, heap) = &codes.values.data else { return None };
    let heap = heap.bytes(&[]);
    if heap.len() > most {
        return None;
    }
    let is_utf8 = |span: &Span| std::str::from_utf8(span.slice(heap)).is_ok();
    let valid = heap.is_ascii() || spans.iter().take(codes.distinct).all(is_utf8);
    valid.then(|| [heap, &[0; COPIED]].concat())
}

impl Column for TextColumn {
    fn put(&mut self, item: Item<'_>) -> Option<()> {
        let text = match item {
            Item::Text(text) => text,
            Item::Value(Value::String(text)) => text.as_bytes(),
            Item::Value(Value::Null | Value::Missing) => {
                self.end(false);
                return Some(());
            }
            _ => return None,
        };
        self.text.extend_from_slice(text);
        self.end(true);
        Some(())
    }

    fn put_typed(
        &mut self,
        vector: &Vector,
        rows: Taken<'_>,
        block: &[u8],
        most: usize,
    ) -> Option<()> {
        let Data::Text(spans, heap) = &vector.data else {
            return put_absent(vector, rows, || self.end(false));
        };
        let before = self.offsets.len() - 1;
        self.copy(rows.iter().map(|row| spans[row]), heap.bytes(block), most)?;
        self.is_utf8_from(before).then_some(())
    }

    fn put_codes(&mut self, codes: Codes<'_>, rows: Taken<'_>, most: usize) -> Option<()> {
        let known = self.dictionary.take().filter(|(known, _)| Arc::ptr_eq(known, codes.values));
        let texts = known.map_or_else(|| padded(codes, self.budget), |(_, texts)| texts);
        let done = match (&codes.values.data, &texts) {
            (Data::Text(spans, _), Some(texts)) => {
                let spans = rows.iter().map(|row| spans[codes.codes[row] as usize]);
                self.fetch(spans, texts, most)
            }
            _ => put_decoded(self, codes, rows, most),
        };
        self.dictionary = Some((Arc::clone(codes.values), texts));
        done
    }

    fn text_bytes(&self) -> usize {
        self.text.len()
    }

    fn truncate(&mut self, rows: usize) {
        self.offsets.truncate(rows + 1);
        self.nulls.truncate(rows);
        self.text.truncate(self.offsets.last().map_or(0, |end| *end as usize));
    }

    fn finish(&mut self) -> ArrayRef {
        let mut next = Vec::with_capacity(self.offsets.len());
        next.push(0);
        let offsets = std::mem::replace(&mut self.offsets, next);
        let text = std::mem::take(&mut self.text);
        self.text.reserve(text.len().min(MAX_ROW_BYTES));
        let offsets = OffsetBuffer::new(offsets.into());
        Arc::new(StringArray::new(offsets, Buffer::from_vec(text), self.nulls.finish()))
    }
}
