//! Columns of text with a dictionary for each record batch.

use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, NullBufferBuilder, UInt16Array};
use arrow::datatypes::UInt16Type;

use super::super::Item;
use super::MAX_ROWS;
use super::column::{Column, Taken, put_absent, put_decoded};
use super::text::TextColumn;
use crate::batch::Codes;
use crate::vector::{Data, Vector};
use sluicegate_s3select::value::Value;

/// Stands for a text that is not in the dictionary of the record batch.
const ABSENT: u16 = u16::MAX;

/// Stands for a text that is in no dictionary of the object.
const UNCODED: u32 = u32::MAX;

const _: () = assert!(MAX_ROWS <= ABSENT as usize, "every row may have a text of its own");

/// Collects texts. Those that a dictionary of the object contains are copied once for each record batch, others once
/// for each row.
pub(super) struct DictionaryColumn {
    /// The position of each row's text.
    positions: Vec<u16>,
    nulls: NullBufferBuilder,
    /// The dictionary of the record batch, without nulls.
    texts: TextColumn,
    /// For each text, its code in `known`, or [`UNCODED`].
    sources: Vec<u32>,
    /// The last dictionary of the object.
    known: Option<Arc<Vector>>,
    /// For each code of `known`, the position of its text, or [`ABSENT`].
    by_code: Vec<u16>,
    /// The length of the longest text that was found in `known` since the last record batch.
    longest: usize,
    /// The most bytes that `by_code` may take.
    budget: usize,
}

impl DictionaryColumn {
    pub(super) fn new(budget: usize) -> Self {
        Self {
            positions: Vec::new(),
            nulls: NullBufferBuilder::new(0),
            texts: TextColumn::new(0),
            sources: Vec::new(),
            known: None,
            by_code: Vec::new(),
            longest: 0,
            budget,
        }
    }

    fn put_null(&mut self) {
        self.positions.push(0);
        self.nulls.append(false);
    }

    /// Appends a row whose text will be the next of the dictionary.
    fn put_next(&mut self, source: u32) -> u16 {
        let position = self.sources.len() as u16;
        self.sources.push(source);
        self.positions.push(position);
        self.nulls.append(true);
        position
    }

    /// Makes `by_code` that of a dictionary. Returns `None` if it is too large.
    fn know(&mut self, codes: Codes<'_>) -> Option<()> {
        if self.known.as_ref().is_some_and(|known| Arc::ptr_eq(known, codes.values)) {
            return Some(());
        }
        self.known = None;
        if codes.distinct.saturating_mul(size_of::<u16>()) > self.budget {
            return None;
        }
        self.sources.fill(UNCODED);
        self.by_code.clear();
        self.by_code.resize(codes.distinct, ABSENT);
        self.known = Some(Arc::clone(codes.values));
        Some(())
    }

    /// Removes the texts from a position on from `by_code`.
    fn forget_from(&mut self, position: usize) {
        for source in self.sources.drain(position..) {
            if let Some(position) = self.by_code.get_mut(source as usize) {
                *position = ABSENT;
            }
        }
    }
}

impl Column for DictionaryColumn {
    fn put(&mut self, item: Item<'_>) -> Option<()> {
        if let Item::Value(Value::Null | Value::Missing) = item {
            self.put_null();
            return Some(());
        }
        self.texts.put(item)?;
        self.put_next(UNCODED);
        Some(())
    }

    fn put_typed(
        &mut self,
        vector: &Vector,
        rows: Taken<'_>,
        block: &[u8],
        most: usize,
    ) -> Option<()> {
        let Data::Text(spans, _) = &vector.data else {
            return put_absent(vector, rows, || self.put_null());
        };
        let mut present = Vec::with_capacity(rows.len());
        for row in rows.iter() {
            if spans[row].is_absent() {
                self.put_null();
            } else {
                self.put_next(UNCODED);
                present.push(row as u32);
            }
        }
        self.texts.put_typed(vector, Taken::any(&present), block, most)
    }

    fn put_codes(&mut self, codes: Codes<'_>, rows: Taken<'_>, most: usize) -> Option<()> {
        let Data::Text(spans, _) = &codes.values.data else {
            return put_decoded(self, codes, rows, most);
        };
        if self.know(codes).is_none() {
            return put_decoded(self, codes, rows, most);
        }
        let mut new = Vec::new();
        for row in rows.iter() {
            let code = codes.codes[row];
            if spans[code as usize].is_absent() {
                self.put_null();
                continue;
            }
            match self.by_code[code as usize] {
                ABSENT => {
                    self.by_code[code as usize] = self.put_next(code);
                    self.longest = self.longest.max(spans[code as usize].len());
                    new.push(code);
                }
                position => {
                    self.positions.push(position);
                    self.nulls.append(true);
                }
            }
        }
        self.texts.put_typed(codes.values, Taken::any(&new), &[], most)
    }

    fn text_bytes(&self) -> usize {
        self.texts.text_bytes()
    }

    fn longest_coded(&self) -> usize {
        self.longest
    }

    fn truncate(&mut self, rows: usize) {
        self.positions.truncate(rows);
        self.nulls.truncate(rows);
        // Positions ascend in the order in which their texts were appended. Those of nulls are 0.
        let last = self.positions.iter().enumerate().filter(|(row, _)| self.nulls.is_valid(*row));
        let texts = last.map(|(_, position)| *position as usize + 1).max().unwrap_or(0);
        self.forget_from(texts);
        self.texts.truncate(texts);
    }

    fn finish(&mut self) -> ArrayRef {
        self.forget_from(0);
        self.longest = 0;
        let positions = std::mem::take(&mut self.positions);
        self.positions.reserve(positions.len());
        let keys = UInt16Array::new(positions.into(), self.nulls.finish());
        Arc::new(DictionaryArray::<UInt16Type>::new(keys, self.texts.finish()))
    }
}
