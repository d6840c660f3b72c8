//! Writes rows as delimited text, column by column.
//!
//! The type of a column is then examined once instead of for each value, and the processor predicts the branches for
//! similar values. The fields are joined to rows afterwards.

use std::sync::Arc;

use super::csv::CsvWriter;
use super::{Fields, MAX_ROW_BYTES};
use crate::batch::Codes;
use crate::vector::{Data, Tag, Vector};
use sluicegate_s3select::value::{Value, write_int};

/// The number of values written at once, so that their text stays in the near caches.
const VALUES: usize = 1 << 12;
const MAX_ROWS: usize = 256;

/// The most memory kept for later rows, in bytes.
const KEPT: usize = 2 * MAX_ROW_BYTES;

/// Fields up to this length are copied with a fixed length, in a few instructions.
const COPIED: usize = 32;

/// The size in bytes at which text no longer fits in the nearest cache. Fields at scattered positions of such text
/// are fetched together, so that the processor waits for many of them at once.
const NEAR: usize = 1 << 15;

/// Returns the number of rows to write at once.
pub(super) fn rows_at_once(columns: usize) -> usize {
    (VALUES / columns.max(1)).clamp(1, MAX_ROWS)
}

/// The fields of some rows in one column.
#[derive(Debug, Default)]
pub(super) struct Column {
    /// The fields, each with the delimiter after it.
    text: Vec<u8>,
    /// The positions of the rows' fields in the text.
    places: Vec<TextSpan>,
    /// For a coded column, its values and the positions of those already written, as `text` then consists of values.
    values: Option<(Arc<Vector>, Vec<TextSpan>)>,
    /// The fields of the rows in order, if they were fetched.
    fetched: Vec<u8>,
}

/// A part of a text, which includes at least a delimiter.
#[derive(Debug, Clone, Copy, Default)]
struct TextSpan {
    start: u32,
    length: u32,
}

impl CsvWriter {
    /// Writes rows column by column; see [`super::RowWriter::put_columns`].
    pub(super) fn put_columns<'a>(
        &mut self,
        fields: impl ExactSizeIterator<Item = Fields<'a>>,
        rows: &[u32],
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        let mut columns = std::mem::take(&mut self.columns);
        columns.resize_with(fields.len(), Column::default);
        let filled = self.fill(&mut columns, fields, rows, block).is_some();
        if filled {
            join(&mut columns, rows.len(), out);
        }
        // Each of many columns may once have been long. The values of coded columns are bounded.
        let kept = columns.iter().filter(|column| column.values.is_none());
        if kept.map(|column| column.text.capacity()).sum::<usize>() <= KEPT {
            self.columns = columns;
        }
        filled
    }

    /// Writes all columns. Returns `None` if a value cannot be written, or if some row might be too long.
    fn fill<'a>(
        &self,
        columns: &mut [Column],
        fields: impl Iterator<Item = Fields<'a>>,
        rows: &[u32],
        block: &[u8],
    ) -> Option<()> {
        let (mut left, last) = (MAX_ROW_BYTES, columns.len() - 1);
        // A row of one empty field must not look like a blank line.
        let empty = if last == 0 { self.quote.repeat(2) } else { Vec::new() };
        for (at, (column, fields)) in columns.iter_mut().zip(fields).enumerate() {
            let behind = if at == last { &self.record_delimiter } else { &self.field_delimiter };
            let around = FieldFraming { behind, empty: &empty };
            left -= match fields {
                Fields::Values(vector) => {
                    column.values = None;
                    column.clear();
                    self.put_column(
                        vector,
                        block,
                        &mut ColumnWriter { column, rows, around, most: left },
                    )?;
                    column.text.len()
                }
                Fields::Codes(codes) => self.put_codes(codes, rows, column, around, left)?,
            };
        }
        Some(())
    }

    /// Finds the fields of a coded column, after writing the values that no earlier row had. Returns the number of
    /// bytes of the fields.
    fn put_codes(
        &self,
        Codes { values, codes, .. }: Codes<'_>,
        rows: &[u32],
        column: &mut Column,
        around: FieldFraming<'_>,
        most: usize,
    ) -> Option<usize> {
        let known = column.values.take().filter(|(known, _)| Arc::ptr_eq(known, values));
        let mut written = match known {
            Some((_, written)) => written,
            None => {
                column.clear();
                let distinct = rows.iter().map(|row| codes[*row as usize]).max()? as usize + 1;
                vec![TextSpan::default(); distinct]
            }
        };
        let mut missing: Vec<u32> = Vec::new();
        for row in rows {
            let code = codes[*row as usize];
            let index = code as usize;
            if index >= written.len() {
                written.resize(index + 1, TextSpan::default());
            }
            if written[index].length == 0 {
                // Mark the value as written; its place follows below.
                written[index].length = 1;
                missing.push(code);
            }
        }
        if !missing.is_empty() {
            column.places.clear();
            let most = usize::MAX;
            let writing = &mut ColumnWriter { column, rows: &missing, around, most };
            self.put_column(values, &[], writing)?;
            for (code, place) in missing.iter().zip(&column.places) {
                written[*code as usize] = *place;
            }
        }
        column.places.clear();
        column.places.extend(rows.iter().map(|row| written[codes[*row as usize] as usize]));
        column.values = Some((Arc::clone(values), written));
        let length = column.places.iter().map(|place| place.length as usize).sum();
        (length <= most).then_some(length)
    }

    fn put_column(
        &self,
        vector: &Vector,
        block: &[u8],
        fields: &mut ColumnWriter<'_>,
    ) -> Option<()> {
        let tags = &vector.tags;
        let is_there = |row| tags.get(row) == Tag::Present;
        let absent = |out: &mut Vec<u8>| self.put_plain(out, |_| {});
        match &vector.data {
            Data::Text(spans, heap) => {
                let (heap, before) = (heap.bytes(block), fields.column.text.len());
                fields.write(|row, out| {
                    let span = spans[row];
                    if span.len() > MAX_ROW_BYTES {
                        return None;
                    }
                    if span.is_absent() {
                        absent(out);
                    } else {
                        self.put_part(heap, span.start()..span.start() + span.len(), out);
                    }
                    Some(())
                })?;
                // Delimiters and quotes are whole characters, so this is valid if each field is.
                std::str::from_utf8(&fields.column.text[before..]).ok().map(drop)
            }
            Data::Int(ints) => fields.write(|row, out| {
                self.put_plain(out, |out| {
                    if is_there(row) {
                        write_int(ints[row], out);
                    }
                });
                Some(())
            }),
            Data::Decimal(decimals) => fields.write(|row, out| {
                self.put_plain(out, |out| {
                    if is_there(row) {
                        decimals[row].write(out);
                    }
                });
                Some(())
            }),
            Data::Timestamp(times) => fields.write(|row, out| {
                self.put_plain(out, |out| {
                    if is_there(row) {
                        times[row].write(out);
                    }
                });
                Some(())
            }),
            Data::Dynamic(values) => fields.write(|row, out| self.put_value(&values[row], out)),
            Data::Constant(value) => fields.write(|_, out| self.put_value(value, out)),
            Data::Bool(_) | Data::Float(_) => {
                fields.write(|row, out| self.put_value(&vector.value(row, block)?, out))
            }
        }
    }

    /// Returns `None` for nested values.
    fn put_value(&self, value: &Value, out: &mut Vec<u8>) -> Option<()> {
        match value {
            Value::String(text) if text.len() > MAX_ROW_BYTES => return None,
            Value::String(text) => self.put_text(text.as_bytes(), out),
            Value::List(_) | Value::Struct(_) => return None,
            plain => self.put_plain(out, |out| plain.write(out)),
        }
        Some(())
    }
}

/// The text to write in addition to the fields of a column.
#[derive(Debug, Clone, Copy)]
struct FieldFraming<'a> {
    behind: &'a [u8],
    /// The text of an empty field.
    empty: &'a [u8],
}

/// A column to which fields are appended.
struct ColumnWriter<'a> {
    column: &'a mut Column,
    rows: &'a [u32],
    around: FieldFraming<'a>,
    /// The most bytes that the text may have.
    most: usize,
}

impl ColumnWriter<'_> {
    #[inline(always)]
    fn write(&mut self, mut field: impl FnMut(usize, &mut Vec<u8>) -> Option<()>) -> Option<()> {
        let Column { text, places, .. } = &mut *self.column;
        let mut start = text.len();
        for row in self.rows {
            field(*row as usize, text)?;
            if text.len() == start {
                text.extend_from_slice(self.around.empty);
            }
            match self.around.behind {
                [delimiter] => text.push(*delimiter),
                delimiter => text.extend_from_slice(delimiter),
            }
            if text.len() > self.most {
                return None;
            }
            places.push(TextSpan { start: start as u32, length: (text.len() - start) as u32 });
            start = text.len();
        }
        Some(())
    }
}

impl Column {
    fn clear(&mut self) {
        self.text.clear();
        self.places.clear();
    }

    /// Fetches the fields of the rows from a long text of coded values.
    fn fetch(&mut self) {
        let Self { text, places, values, fetched } = self;
        let are_short = || places.iter().all(|place| place.length as usize <= COPIED);
        if values.is_none() || text.len() < NEAR || !are_short() {
            return;
        }
        fetched.resize(places.len() * COPIED, 0);
        for (place, field) in places.iter_mut().zip(fetched.as_chunks_mut::<COPIED>().0) {
            let start = place.start as usize;
            field.copy_from_slice(&text[start..start + COPIED]);
        }
        for (row, place) in places.iter_mut().enumerate() {
            place.start = (row * COPIED) as u32;
        }
    }
}

/// Joins the columns' fields to rows and appends these.
fn join(columns: &mut [Column], rows: usize, out: &mut Vec<u8>) {
    let mut length = COPIED;
    for column in &mut *columns {
        let lengths = column.places.iter().map(|place| place.length as usize);
        length += lengths.sum::<usize>();
        column.text.extend_from_slice(&[0; COPIED]);
        column.fetch();
    }
    out.reserve(length);
    for row in 0..rows {
        for Column { text, places, fetched, .. } in &*columns {
            let TextSpan { start, length } = places[row];
            let text = if fetched.is_empty() { text } else { fetched };
            let field = &text[start as usize..];
            match field.first_chunk::<COPIED>() {
                Some(chunk) if length as usize <= COPIED => {
                    let length = out.len() + length as usize;
                    out.extend_from_slice(chunk);
                    out.truncate(length);
                }
                _ => out.extend_from_slice(&field[..length as usize]),
            }
        }
    }
    for Column { text, fetched, .. } in columns {
        text.truncate(text.len() - COPIED);
        fetched.clear();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use sluicegate_s3select::request::{CsvOutput, OutputSerialization, QuoteFields};
    use sluicegate_s3select::value::{Decimal, Timestamp};

    use super::super::{Item, Key, RowWriter};
    use super::*;
    use crate::vector::{Heap, Span};

    pub(in crate::output) fn column() -> impl Strategy<Value = Vec<Value>> {
        let text = prop_oneof![
            4 => "[ -~]{0,40}", 2 => "[a,\"\n|é]{0,5}", 1 => "x{2000}",
        ];
        let absent = || prop_oneof![Just(Value::Null), Just(Value::Missing)];
        let some = |value: BoxedStrategy<Value>| {
            prop::collection::vec(prop_oneof![5 => value, 1 => absent()], 1..40)
        };
        prop_oneof![
            some(any::<i64>().prop_map(Value::Int).boxed()),
            some(text.prop_map(Value::String).boxed()),
            some(any::<f64>().prop_map(Value::Float).boxed()),
            some(any::<bool>().prop_map(Value::Bool).boxed()),
            some(
                (any::<i64>(), 0_i8..20)
                    .prop_map(|(n, scale)| Value::Decimal(Decimal::new(n.into(), scale).unwrap()))
                    .boxed()
            ),
            some(
                (0_i64..700_000)
                    .prop_map(|days| Value::Timestamp(Timestamp::from_days(days).unwrap()))
                    .boxed()
            ),
        ]
    }

    /// Returns a vector of these values, in the representation of the first present one.
    pub(in crate::output) fn vector(values: &[Value]) -> Vector {
        let mut vector = Vector::default();
        let rows = values.len();
        macro_rules! fill {
            ($space:ident, $variant:ident) => {{
                let (space, tags) = vector.$space(rows);
                for (row, value) in values.iter().enumerate() {
                    match value {
                        Value::$variant(value) => space[row] = *value,
                        Value::Null => tags.set(row, Tag::Null, rows),
                        _ => tags.set(row, Tag::Missing, rows),
                    }
                }
            }};
        }
        match values.iter().find(|value| !matches!(value, Value::Null | Value::Missing)) {
            Some(Value::Int(_)) => fill!(ints, Int),
            Some(Value::Float(_)) => fill!(floats, Float),
            Some(Value::Decimal(_)) => fill!(decimals, Decimal),
            Some(Value::Timestamp(_)) => fill!(timestamps, Timestamp),
            Some(Value::String(_)) => {
                let mut heap = Vec::new();
                let spans = values.iter().map(|value| match value {
                    Value::String(text) => {
                        heap.extend_from_slice(text.as_bytes());
                        Span::new((heap.len() - text.len()) as u32, text.len() as u32)
                    }
                    Value::Null => Span::NULL,
                    _ => Span::MISSING,
                });
                let spans: Vec<_> = spans.collect();
                vector.texts(rows, Heap::Owned(heap)).copy_from_slice(&spans);
            }
            _ => vector.values(rows).0.clone_from_slice(values),
        }
        vector
    }

    proptest! {
        #[test]
        fn columns_make_the_rows_that_fields_make(
            columns in prop::collection::vec(column(), 1..6),
            coded in prop::collection::vec(any::<bool>(), 6),
            always: bool,
            field in prop_oneof![3 => Just(","), 1 => Just("|"), 1 => Just("é"), 1 => Just("1")],
            record in prop_oneof![3 => Just("\n"), 1 => Just("\r\n"), 1 => Just("ö")],
            quote in prop_oneof![3 => Just('"'), 1 => Just('\''), 1 => Just('“')],
            every in 1_usize..3,
        ) {
            let quote_fields = if always { QuoteFields::Always } else { QuoteFields::AsNeeded };
            let options = OutputSerialization::Csv(CsvOutput {
                quote_fields,
                field_delimiter: field.to_owned(),
                record_delimiter: record.to_owned(),
                quote,
                ..CsvOutput::default()
            });
            let (mut one, mut other) =
                (RowWriter::new(&options).unwrap(), RowWriter::new(&options).unwrap());
            let rows = columns.iter().map(Vec::len).min().unwrap();
            let vectors: Vec<_> = columns.iter().map(|values| Arc::new(vector(values))).collect();
            let by_row: Vec<u32> = (0..40).collect();
            // Columns with and without codes.
            let fields = || vectors.iter().zip(&coded).map(|(values, coded)| match coded {
                true => Fields::Codes(Codes { values, distinct: 40, codes: &by_row }),
                false => Fields::Values(values),
            });
            let rows: Vec<u32> = (0..rows as u32).step_by(every).collect();
            // Write twice, so that state left from the first time is noticed.
            for _ in 0..2 {
                prop_assert_eq!(one.put_columns(fields(), &rows, &[]), Ok(Some(rows.len())));
                for row in &rows {
                    other.begin_row();
                    for values in &columns {
                        other.put(&Key::default(), Item::Value(&values[*row as usize])).unwrap();
                    }
                    other.end_row().unwrap();
                }
            }
            let text = |writer: &RowWriter| String::from_utf8(writer.bytes().to_vec()).unwrap();
            prop_assert_eq!(text(&one), text(&other));
        }
    }

    #[test]
    fn what_cannot_be_written_is_left_to_others() {
        let options = OutputSerialization::Csv(CsvOutput::default());
        let mut writer = RowWriter::new(&options).unwrap();
        let mut check = |vector: Vector, written: bool| {
            let fine = Vector::constant(Value::Int(1));
            let vector = Arc::new(vector);
            let codes = Codes { values: &vector, distinct: 2, codes: &[0, 1] };
            for fields in [Fields::Values(&vector), Fields::Codes(codes)] {
                let before = writer.bytes().len();
                let columns = [Fields::Values(&fine), fields].into_iter();
                let expected = written.then_some(2);
                assert_eq!(writer.put_columns(columns, &[0, 1], &[]), Ok(expected));
                assert_eq!(writer.bytes().len() > before, written);
            }
        };
        check(Vector::constant(Value::List([].into())), false);
        check(Vector::constant(Value::String("x".repeat(MAX_ROW_BYTES / 2 - 10))), true);
        check(Vector::constant(Value::String("x".repeat(MAX_ROW_BYTES / 2))), false);
        let mut halves = Vector::default();
        // Each span is half a character; both together would be one.
        let spans = [Span::new(0, 1), Span::new(1, 1)];
        halves.texts(2, Heap::Owned("é".into())).copy_from_slice(&spans);
        check(halves, false);
    }
}
