//! Reads a JSON object value by value.

use std::sync::Arc;

use super::descent::{Descent, Event};
use super::parser::{Parser, Problem};
use super::path::{Filter, expand, lookup};
use super::schema::JsonSchema;
use crate::batch::BatchReader;
use crate::input::{BYTE_ORDER_MARK, Input};
use crate::output::{Item, Key, RowWriter};
use crate::scan_range::ByteRange;
use crate::selection::Rows;
use crate::source::ObjectSource;
use crate::vector::Vector;
use sluicegate_s3select::dialect::ast::{From, PathStep};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::{Compression, JsonType};
use sluicegate_s3select::value::Value;

/// Bytes read at a time, at least.
const BLOCK_BYTES: usize = 256 * 1024;

/// The longest line.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The longest value that spans lines and is in memory as a whole. In a longer one, this is how long
/// a row may be that FROM leads to.
const MAX_DOCUMENT_BYTES: usize = 8 << 20;

/// The most rows of a batch; they are whole values, which take more memory than text does.
const MAX_ROWS: usize = 1024;

/// A batch ends when it has used up so many bytes.
const BATCH_BYTES: u64 = 1 << 20;

/// A batch-wise reader of one JSON object, or of the lines that start in a range of it.
pub(crate) struct JsonReader {
    layout: JsonType,
    input: Input,
    /// The bytes at hand.
    block: Vec<u8>,
    /// Offset of the block in the (decompressed) object.
    block_offset: u64,
    /// Where the next value starts in the block.
    next: usize,
    /// Whether nothing follows the block.
    complete: bool,
    range: ByteRange,
    /// Whether values are counted from the object's start.
    numbered: bool,
    max_rows: usize,
    /// Whether a line's start is still looked for: a range may begin inside of one.
    seeking: bool,
    /// The path of FROM behind S3Object[*].
    from: Vec<PathStep>,
    /// The paths of the columns.
    paths: Vec<Vec<PathStep>>,
    /// Whether all of a row is wanted, or what the paths lead to.
    whole_rows: bool,
    /// Where in a long value the next row is looked for.
    descent: Option<Descent>,
    max_document_bytes: usize,
    /// Rows of the value read last that are not yet in a batch, and where it is.
    waiting: std::vec::IntoIter<Value>,
    place: Place,
    rows: Vec<Value>,
    /// Where the value is from which each row was taken.
    places: Vec<Place>,
    /// What is wrong behind the rows of the batch.
    pending: Option<SelectError>,
    finished: bool,
    /// The offset up to which values were wanted.
    wanted_to: u64,
}

/// What one step through an object comes to.
enum Step {
    /// A value, which FROM has yet to go through.
    Value(Value),
    /// What FROM leads to.
    Row(Value),
    /// Bytes that hold no value, or not yet a whole one.
    Skipped,
    End,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Counted from 1, and from the start of the range.
    number: u64,
    start: u64,
    end: u64,
}

impl JsonReader {
    /// Opens an object.
    pub(crate) fn open(
        source: &Arc<dyn ObjectSource>,
        layout: JsonType,
        compression: Compression,
        range: ByteRange,
        from: &From,
    ) -> (Self, JsonSchema) {
        // The line that begins exactly with the range is told by the line break before it.
        let seeking = range.start > 0;
        let offset = range.start.saturating_sub(1);
        let reader = Self {
            layout,
            input: Input::new(Arc::clone(source), offset, compression),
            block: Vec::new(),
            block_offset: offset,
            next: 0,
            complete: false,
            range,
            numbered: range.start == 0,
            max_rows: MAX_ROWS,
            seeking,
            from: from.path.get(1..).unwrap_or_default().to_vec(),
            paths: Vec::new(),
            whole_rows: true,
            descent: None,
            max_document_bytes: MAX_DOCUMENT_BYTES,
            waiting: Vec::new().into_iter(),
            place: Place::default(),
            rows: Vec::new(),
            places: Vec::new(),
            pending: None,
            finished: false,
            wanted_to: range.start,
        };
        (reader, JsonSchema::new(from))
    }

    /// Tells what will be read, before the first batch: the columns resolved, and, for `*`, whole
    /// rows.
    pub(crate) fn read_only(self, schema: JsonSchema, whole_rows: bool) -> Self {
        Self { whole_rows, paths: schema.paths, ..self }
    }

    /// Has only values of so many bytes in memory as a whole.
    #[cfg(test)]
    pub(super) fn with_max_document_bytes(self, max_document_bytes: usize) -> Self {
        Self { max_document_bytes, ..self }
    }

    fn filter(&self) -> Filter<'_> {
        Filter::new(&self.from, (!self.whole_rows).then_some(self.paths.as_slice()))
    }

    /// Has at most so many rows in a batch.
    pub(crate) fn with_max_rows(self, max_rows: usize) -> Self {
        Self { max_rows: max_rows.min(MAX_ROWS), ..self }
    }

    /// Counts on from the values of the parts before this one; `numbered` says whether those began
    /// with the object.
    pub(crate) fn counting_from(mut self, values_before: u64, numbered: bool) -> Self {
        self.place.number = values_before;
        Self { numbered, ..self }
    }

    fn offset(&self) -> u64 {
        self.block_offset + self.next as u64
    }

    /// Reads on, at least as much as is left of the block.
    fn read_more(&mut self) -> Result<(), SelectError> {
        self.block.drain(..self.next);
        self.block_offset += self.next as u64;
        self.next = 0;
        let left = self.block.len();
        let wanted = left.max(BLOCK_BYTES);
        self.block.resize(left + wanted, 0);
        let read = self.input.fill(&mut self.block[left..])?;
        self.block.truncate(left + read);
        self.complete = read < wanted;
        if self.block_offset == 0 && left == 0 && self.block.starts_with(BYTE_ORDER_MARK) {
            // As DataFusion's reader does, so that the answers agree.
            let what = "the object begins with a byte order mark, which is no part of JSON";
            return Err(self.error(0, SelectErrorCode::JSONParsingError, what));
        }
        Ok(())
    }

    /// Goes on, to the next value at most.
    fn step(&mut self) -> Result<Step, SelectError> {
        match self.layout {
            JsonType::Lines => self.step_line(),
            JsonType::Document => self.step_document(),
        }
    }

    fn step_line(&mut self) -> Result<Step, SelectError> {
        let rest = &self.block[self.next..];
        let length = match memchr::memchr(b'\n', rest) {
            Some(mark) => mark,
            None if self.complete => rest.len(),
            // What is skipped may be as long as it likes.
            None if self.seeking => {
                self.next = self.block.len();
                self.read_more()?;
                return Ok(Step::Skipped);
            }
            None if rest.len() > MAX_LINE_BYTES => MAX_LINE_BYTES + 1,
            None => {
                self.read_more()?;
                return Ok(Step::Skipped);
            }
        };
        let start = self.next;
        let behind = (start + length + 1).min(self.block.len());
        if self.seeking {
            self.seeking = false;
            self.next = behind;
            self.wanted_to = self.offset();
            return Ok(Step::Skipped);
        }
        if self.offset() >= self.range.end || start == self.block.len() {
            self.wanted_to = self.wanted_to.max(self.offset());
            return Ok(Step::End);
        }
        if length > MAX_LINE_BYTES {
            return Err(self.error(
                0,
                SelectErrorCode::OverMaxRecordSize,
                "it is longer than 1 MiB",
            ));
        }
        if self.block[start..start + length].trim_ascii().is_empty() {
            self.next = behind;
            return Ok(Step::Skipped);
        }
        self.begin(start);
        let line = &self.block[start..start + length];
        let mut parser = Parser::new(line, true);
        let parsed = parser.value(self.filter()).and_then(|value| {
            parser.skip_space();
            if parser.position() < line.len() {
                let what = "something follows the value in its line";
                return Err(Problem::Invalid(parser.position(), what));
            }
            Ok(value)
        });
        let value = parsed.map_err(|problem| self.explain(problem))?;
        self.next = behind;
        self.place.end = self.offset();
        Ok(Step::Value(value))
    }

    fn step_document(&mut self) -> Result<Step, SelectError> {
        if let Some(descent) = self.descent.take() {
            return self.step_descent(descent);
        }
        let mut parser = Parser::new(&self.block[self.next..], self.complete);
        parser.skip_space();
        self.next += parser.position();
        let rest = &self.block[self.next..];
        if rest.is_empty() {
            if self.complete {
                self.wanted_to = self.offset();
                return Ok(Step::End);
            }
            self.read_more()?;
            return Ok(Step::Skipped);
        }
        let mut parser = Parser::new(rest, self.complete);
        match parser.value(self.filter()) {
            Ok(_) if parser.position() > self.max_document_bytes => self.descend(),
            Ok(value) => {
                let length = parser.position();
                self.begin(self.next);
                self.next += length;
                self.place.end = self.offset();
                Ok(Step::Value(value))
            }
            Err(Problem::Incomplete) if !self.complete => {
                if rest.len() > self.max_document_bytes {
                    return self.descend();
                }
                self.read_more()?;
                Ok(Step::Skipped)
            }
            Err(problem) => {
                self.begin(self.next);
                Err(self.explain(problem))
            }
        }
    }

    /// Begins to go through a value that is too long to be in memory.
    fn descend(&mut self) -> Result<Step, SelectError> {
        self.begin(self.next);
        if self.from.is_empty() {
            return Err(self.too_long());
        }
        self.descent = Some(Descent::new());
        Ok(Step::Skipped)
    }

    fn step_descent(&mut self, mut descent: Descent) -> Result<Step, SelectError> {
        let rest = &self.block[self.next..];
        let mut parser = Parser::new(rest, self.complete);
        match descent.step(&mut parser, &self.from, self.filter()) {
            Ok(Event::Row(_)) if parser.position() > self.max_document_bytes.max(BLOCK_BYTES) => {
                Err(self.too_long())
            }
            Ok(event) => {
                self.next += parser.position();
                self.place.end = self.offset();
                if !matches!(event, Event::End) {
                    self.descent = Some(descent);
                }
                Ok(match event {
                    Event::Row(row) => Step::Row(row),
                    Event::Passed | Event::End => Step::Skipped,
                })
            }
            Err(Problem::Incomplete) if !self.complete => {
                if rest.len() > self.max_document_bytes.max(BLOCK_BYTES) {
                    return Err(self.too_long());
                }
                self.descent = Some(descent);
                self.read_more()?;
                Ok(Step::Skipped)
            }
            Err(problem) => Err(self.explain(problem)),
        }
    }

    /// A value starts here in the block.
    fn begin(&mut self, start: usize) {
        let start = self.block_offset + start as u64;
        self.place = Place { number: self.place.number + 1, start, end: start };
    }

    /// What is wrong with the value that begins at `next`.
    #[cold]
    fn explain(&self, problem: Problem) -> SelectError {
        match problem {
            Problem::Incomplete => {
                self.error(0, SelectErrorCode::JSONParsingError, "it ends too early")
            }
            Problem::Surrogate(at) => {
                let what = "a string holds half of a surrogate pair";
                self.error(at, SelectErrorCode::JSONParsingError, what)
            }
            Problem::Ambiguous(at) => {
                let what = "several fields have the name that FROM goes through";
                self.error(at, SelectErrorCode::AmbiguousFieldName, what)
            }
            Problem::Invalid(at, what) => self.error(at, SelectErrorCode::JSONParsingError, what),
            Problem::Encoding(at) => {
                self.error(at, SelectErrorCode::InvalidTextEncoding, "a string is not UTF-8")
            }
        }
    }

    #[cold]
    fn too_long(&self) -> SelectError {
        let what = "it, or what FROM leads to in it, is longer than 8 MiB";
        self.error(0, SelectErrorCode::OverMaxRecordSize, what)
    }

    #[cold]
    fn error(&self, at: usize, code: SelectErrorCode, what: &str) -> SelectError {
        let byte = self.offset() + at as u64;
        let number = self.place.number;
        SelectError::new(
            code,
            format!("A JSON value cannot be read: {what} (value {number}, byte {byte})."),
        )
    }

    /// Fills the batch; it stays empty in a long stretch without values.
    fn collect(&mut self) -> Result<(), SelectError> {
        let start = self.offset();
        while self.rows.len() < self.max_rows {
            if let Some(row) = self.waiting.next() {
                self.rows.push(row);
                self.places.push(self.place);
                continue;
            }
            if self.finished || self.offset() - start > BATCH_BYTES {
                return Ok(());
            }
            let value = match self.step()? {
                Step::Value(value) => value,
                Step::Row(row) => {
                    self.wanted_to = self.place.end;
                    self.rows.push(row);
                    self.places.push(self.place);
                    continue;
                }
                Step::Skipped => {
                    if !self.seeking {
                        self.wanted_to = self.wanted_to.max(self.offset());
                    }
                    continue;
                }
                Step::End => {
                    self.finished = true;
                    return Ok(());
                }
            };
            self.wanted_to = self.place.end;
            let mut rows = Vec::new();
            expand(value, &self.from, &mut rows)?;
            self.waiting = rows.into_iter();
        }
        Ok(())
    }
}

impl BatchReader for JsonReader {
    fn next_batch(&mut self) -> Result<bool, SelectError> {
        self.rows.clear();
        self.places.clear();
        if let Some(error) = self.pending.take() {
            self.finished = true;
            return Err(error);
        }
        if let Err(error) = self.collect() {
            if self.rows.is_empty() {
                return Err(error);
            }
            self.pending = Some(error);
        }
        Ok(!self.rows.is_empty() || !self.finished)
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn block(&self) -> &[u8] {
        &[]
    }

    fn is_utf8(&self) -> bool {
        true
    }

    fn read_column(
        &self,
        column: usize,
        rows: Rows<'_>,
        out: &mut Vector,
    ) -> Result<(), SelectError> {
        let (values, _) = out.values(self.rows.len());
        let path = self.paths.get(column).map(Vec::as_slice).unwrap_or_default();
        rows.try_for_each(|row| {
            values[row] = lookup(&self.rows[row], path)?.clone();
            Ok(())
        })
    }

    fn write_row(&self, row: usize, out: &mut RowWriter) -> Result<(), SelectError> {
        match &self.rows[row] {
            Value::Struct(fields) => fields
                .iter()
                .try_for_each(|(name, value)| out.put(&Key::new(name), Item::Value(value))),
            Value::Missing => Ok(()),
            value => out.put(&Key::new("_1"), Item::Value(value)),
        }
    }

    fn locate(&self, row: usize) -> String {
        let Place { number, start, .. } = self.places[row];
        if self.numbered {
            format!("value {number}, byte {start}")
        } else {
            format!("the value at byte {start}")
        }
    }

    fn stop_behind(&mut self, row: usize) {
        self.finished = true;
        self.waiting = Vec::new().into_iter();
        self.pending = None;
        self.wanted_to = self.places[row].end;
    }

    fn bytes_read(&self) -> (u64, u64) {
        let processed = self.wanted_to.saturating_sub(self.range.start);
        let scanned = if self.input.is_plain() { processed } else { self.input.bytes_scanned() };
        (scanned, processed)
    }

    fn records_read(&self) -> u64 {
        self.place.number
    }
}
