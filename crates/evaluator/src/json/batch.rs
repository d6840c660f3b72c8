//! The rows of a batch of JSON, and their columns.

use super::names::FieldNames;
use super::parser::{MAX_DEPTH, ParseFailure, Parser, decimal, int};
use super::path::{Filter, lookup, lookup_by};
use crate::output::{Item, Key, RowWriter};
use crate::selection::Rows;
use crate::vector::{Heap, Span, Tag, Truth, Vector};
use sluicegate_s3select::dialect::ast::PathStep;
use sluicegate_s3select::error::SelectError;
use sluicegate_s3select::value::Value;

/// Rows, either as parsed values or as the positions of the requested fields.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// For each row, the position of the value that it was taken from.
    places: Vec<RecordSpan>,
    /// The fields of all rows; MISSING for rows that are values.
    fields: Vec<Vec<Span>>,
    /// The rows that are values, with their row numbers.
    values: Vec<(u32, Value)>,
    /// The most memory that arrays and objects of the rows take, in bytes. Those in fields take it only once they are
    /// read.
    bytes: usize,
    /// An index of the fields of values.
    names: FieldNames,
}

/// The position of a value in the object.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RecordSpan {
    /// The number of the value, from 1 at the start of the range.
    pub(super) number: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A path into rows, and the position of the field that it begins with.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) path: Vec<PathStep>,
    pub(super) root: Option<usize>,
}

/// The values of a column have different types, or need to be parsed one by one.
struct MixedColumn;

impl Batch {
    /// Creates an empty batch with `fields` fields for rows that are not values.
    pub(super) fn new(fields: usize) -> Self {
        Self { fields: vec![Vec::new(); fields], ..Self::default() }
    }

    pub(super) fn clear(&mut self) {
        self.places.clear();
        self.fields.iter_mut().for_each(Vec::clear);
        self.values.clear();
        self.names.clear();
        self.bytes = 0;
    }

    pub(super) fn rows(&self) -> usize {
        self.places.len()
    }

    /// Returns the memory that arrays and objects of the rows take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts bytes that a row takes.
    pub(super) fn count(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// Returns the number of rows that are values.
    pub(super) fn values(&self) -> usize {
        self.values.len()
    }

    pub(super) fn record_span(&self, row: usize) -> RecordSpan {
        self.places[row]
    }

    /// Returns the fields of all rows, so that those of the next row can be appended.
    pub(super) fn fields(&mut self) -> &mut [Vec<Span>] {
        let rows = self.rows();
        self.fields.iter_mut().for_each(|field| field.truncate(rows));
        &mut self.fields
    }

    /// Appends the row whose fields were appended.
    pub(super) fn push_fields(&mut self, place: RecordSpan) {
        self.places.push(place);
    }

    pub(super) fn push_value(&mut self, value: Value, place: RecordSpan) {
        self.fields().iter_mut().for_each(|field| field.push(Span::MISSING));
        self.values.push((self.rows() as u32, value));
        self.places.push(place);
    }

    fn value(&self, row: usize) -> Option<&Value> {
        let at = self.values.binary_search_by_key(&(row as u32), |(row, _)| *row).ok()?;
        Some(&self.values[at].1)
    }

    /// Reads a column as integers, decimals, texts or truth values if all its values have that type, and as values of
    /// any type otherwise.
    pub(super) fn read_column(
        &self,
        column: &Column,
        rows: Rows<'_>,
        block: &[u8],
        out: &mut Vector,
    ) -> Result<(), SelectError> {
        if let (Some(root), [_], []) = (column.root, &column.path[..], &self.values[..]) {
            let spans = &self.fields[root][..self.rows()];
            let fields = Fields { spans, block, rows };
            let first = fields.first().unwrap_or(b'"');
            let read = match first {
                b'"' => fields.texts(out).or_else(|MixedColumn| fields.unescaped_texts(out)),
                b'-' | b'0'..=b'9' => fields.ints(out).or_else(|MixedColumn| fields.decimals(out)),
                b't' | b'f' => fields.bools(out),
                _ => Err(MixedColumn),
            };
            if read.is_ok() {
                return Ok(());
            }
        }
        let (values, _) = out.values(self.rows());
        let rest = column.path.get(1..).map(<[_]>::to_vec).map(|rest| [rest]);
        let filter = Filter::new(&[], rest.as_ref().map(<[_; 1]>::as_slice));
        rows.try_for_each(|row| {
            values[row] = match (self.value(row), column.root) {
                (Some(value), _) => {
                    let find = |fields: &_, name: &_| self.names.find(fields, name);
                    lookup_by(value, &column.path, find)?.clone()
                }
                (None, Some(root)) if !self.fields[root][row].is_absent() => {
                    let text = self.fields[root][row].slice(block);
                    let value = parse(text, filter).map_err(wrong)?;
                    match &column.path[1..] {
                        [] => value,
                        rest => lookup(&value, rest)?.clone(),
                    }
                }
                _ => Value::Missing,
            };
            Ok(())
        })
    }

    /// Returns how many of the rows are MISSING, because the path of FROM matches nothing.
    pub(super) fn absent(&self, rows: Rows<'_>) -> usize {
        let is_absent = |row| matches!(self.value(row), Some(Value::Missing));
        if !self.values.iter().any(|(_, value)| matches!(value, Value::Missing)) {
            return 0;
        }
        let mut absent = 0;
        rows.for_each(|row| absent += usize::from(is_absent(row)));
        absent
    }

    /// Writes all fields of a row, which must be a value.
    pub(super) fn write_row(&self, row: usize, out: &mut RowWriter) -> Result<(), SelectError> {
        match self.value(row) {
            Some(Value::Struct(fields)) => fields
                .iter()
                .try_for_each(|(name, value)| out.put(&Key::new(name), Item::Value(value))),
            Some(Value::Missing) | None => Ok(()),
            Some(value) => out.put(&Key::new("_1"), Item::Value(value)),
        }
    }
}

/// Returns the error for a bad field; the caller adds the row.
#[cold]
fn wrong(problem: ParseFailure) -> SelectError {
    let (_, code, what) = problem.explain();
    SelectError::new(code, format!("A JSON value cannot be read: {what}."))
}

/// Parses a field's value.
fn parse(text: &[u8], filter: Filter<'_>) -> Result<Value, ParseFailure> {
    let mut parser = Parser::new(text, true);
    let value = parser.nested(filter, MAX_DEPTH - 1)?;
    if parser.position() < text.len() {
        return Err(parser.invalid("a comma or a closing bracket was expected"));
    }
    Ok(value)
}

/// One field of some rows.
#[derive(Clone, Copy)]
struct Fields<'a> {
    spans: &'a [Span],
    block: &'a [u8],
    rows: Rows<'a>,
}

impl Fields<'_> {
    /// Returns the first byte of the first value that is not NULL.
    fn first(&self) -> Option<u8> {
        let first = |row: usize| match self.spans[row].slice(self.block) {
            [b'n', ..] | [] => None,
            [first, ..] => Some(*first),
        };
        match self.rows {
            Rows::All(n) => (0..n).find_map(first),
            Rows::List(rows) => rows.iter().find_map(|row| first(*row as usize)),
        }
    }

    /// Calls `present` with the text of each value, and `absent` for each row without one.
    #[inline(always)]
    fn each(
        &self,
        mut present: impl FnMut(usize, Span, &[u8]) -> Result<(), MixedColumn>,
        mut absent: impl FnMut(usize, Tag),
    ) -> Result<(), MixedColumn> {
        self.rows.try_for_each(|row| {
            let span = self.spans[row];
            match span.slice(self.block) {
                [] if span.is_absent() => absent(row, Tag::Missing),
                b"null" => absent(row, Tag::Null),
                text => present(row, span, text)?,
            }
            Ok(())
        })
    }

    /// Reads strings without escapes, which stay in the block.
    fn texts(&self, out: &mut Vector) -> Result<(), MixedColumn> {
        let texts = std::cell::Cell::from_mut(out.texts(self.spans.len(), Heap::Block));
        let texts = texts.as_slice_of_cells();
        self.each(
            |row, span, text| {
                let [b'"', inner @ .., b'"'] = text else { return Err(MixedColumn) };
                if !is_plain(inner) {
                    return Err(MixedColumn);
                }
                texts[row].set(Span::new(span.start() as u32 + 1, inner.len() as u32));
                Ok(())
            },
            |row, tag| texts[row].set(Span::absent(tag)),
        )
    }

    /// Reads strings into a new heap and resolves their escapes.
    fn unescaped_texts(&self, out: &mut Vector) -> Result<(), MixedColumn> {
        let mut heap = Vec::new();
        let texts = std::cell::Cell::from_mut(out.texts(self.spans.len(), Heap::Block));
        let texts = texts.as_slice_of_cells();
        self.each(
            |row, _, text| {
                let [b'"', inner @ .., b'"'] = text else { return Err(MixedColumn) };
                let start = heap.len() as u32;
                if is_plain(inner) {
                    heap.extend_from_slice(inner);
                } else {
                    let Ok(Value::String(text)) = parse(text, Filter::new(&[], None)) else {
                        return Err(MixedColumn);
                    };
                    heap.extend_from_slice(text.as_bytes());
                }
                texts[row].set(Span::new(start, heap.len() as u32 - start));
                Ok(())
            },
            |row, tag| texts[row].set(Span::absent(tag)),
        )?;
        out.set_heap(Heap::Owned(heap));
        Ok(())
    }

    fn ints(&self, out: &mut Vector) -> Result<(), MixedColumn> {
        let (ints, tags) = out.ints(self.spans.len());
        let n = ints.len();
        self.each(
            |row, _, text| int(text).map(|int| ints[row] = int).ok_or(MixedColumn),
            |row, tag| tags.set(row, tag, n),
        )
    }

    fn decimals(&self, out: &mut Vector) -> Result<(), MixedColumn> {
        let (decimals, tags) = out.decimals(self.spans.len());
        let n = decimals.len();
        self.each(
            |row, _, text| decimal(text).map(|decimal| decimals[row] = decimal).ok_or(MixedColumn),
            |row, tag| tags.set(row, tag, n),
        )
    }

    fn bools(&self, out: &mut Vector) -> Result<(), MixedColumn> {
        let truths = std::cell::Cell::from_mut(out.bools(self.spans.len()).0);
        let truths = truths.as_slice_of_cells();
        self.each(
            |row, _, text| {
                truths[row].set(match text {
                    b"true" => Truth::True,
                    b"false" => Truth::False,
                    _ => return Err(MixedColumn),
                });
                Ok(())
            },
            |row, tag| truths[row].set(tag.into()),
        )
    }
}

/// Returns whether text between quotes needs no unescaping: it contains no quote, escape or control character.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    // Without a branch, this is compiled to vector instructions.
    let special =
        |byte: u8| u8::from(byte < b' ') | u8::from(byte == b'"') | u8::from(byte == b'\\');
    text.iter().fold(0, |any, byte| any | special(*byte)) == 0
}
