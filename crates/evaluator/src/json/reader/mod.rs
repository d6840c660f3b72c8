//! Reads a JSON object value by value.

mod document;
mod lines;

use std::sync::Arc;

use super::batch::{Batch, Column, RecordSpan};
use super::descent::Descent;
use super::objects::{ObjectScan, Objects};
use super::parser::{ParseFailure, Parser};
use super::path::{Filter, expand};
use super::schema::JsonSchema;
use super::structure::Structure;
use crate::batch::{BatchReader, Columns};
use crate::block::Block;
use crate::input::{BYTE_ORDER_MARK, Input};
use crate::memory_budget::{self, Reservation};
use crate::output::RowWriter;
use crate::scan_range::ByteRange;
use crate::selection::Rows;
use crate::source::ObjectSource;
use crate::vector::Vector;
use sluicegate_s3select::dialect::ast::{From, PathStep};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::{Compression, JsonType};
use sluicegate_s3select::value::Value;

/// The least number of bytes read at a time.
const BLOCK_BYTES: usize = 256 * 1024;

/// The longest line, in bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The longest value in bytes that may span lines and is kept in memory as a whole. In a longer value, this is the
/// longest row that FROM leads to.
const MAX_DOCUMENT_BYTES: usize = 8 << 20;

/// The most rows of a batch that are whole values, which take more memory than text.
const MAX_VALUES: usize = 1024;

/// The number of bytes of the object after which a batch ends.
const BATCH_BYTES: u64 = 1 << 20;

/// The memory that arrays and objects may take as values, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueBudget {
    /// The memory of all rows at which a batch ends. An object whose fields take more is parsed as a whole, so that
    /// all columns share its parts.
    pub(super) batch: usize,
    /// The memory that one row may take without a reservation. A row that needs more reserves four times as much and
    /// is read again.
    pub(super) free: usize,
    /// The most memory that one row may take.
    pub(super) row: usize,
}

const ROOM: ValueBudget = ValueBudget { batch: 8 << 20, free: 8 << 20, row: 128 << 20 };
/// The smallest reservation, in bytes.
const MORE_ROOM: usize = 1 << 20;

/// Reads one JSON object, or the lines that start in a range of it, in batches.
pub(crate) struct JsonReader {
    layout: JsonType,
    input: Input,
    /// The buffered bytes of the object.
    block: Block,
    /// The offset of the block in the (decompressed) object.
    block_offset: u64,
    /// The position in the block where the next value starts.
    next: usize,
    /// True if the object ends with the block.
    complete: bool,
    range: ByteRange,
    /// True if values are counted from the object's start.
    numbered: bool,
    max_rows: usize,
    /// True while the start of the first line is unknown, because a range may begin inside a line.
    seeking: bool,
    /// The path of FROM after S3Object[*].
    from: Vec<PathStep>,
    /// The leading names in the path of FROM.
    names: Vec<Objects>,
    /// The paths of the columns.
    paths: Vec<Vec<PathStep>>,
    columns: Vec<Column>,
    /// True if whole rows are read, and not only the paths.
    whole_rows: bool,
    /// Finds fields without parsing rows, if the statement reads only fields; `structure` holds the bitmaps of the
    /// block.
    objects: Option<Objects>,
    structure: Structure,
    /// True if the bitmaps describe the current block.
    is_indexed: bool,
    /// The position in a long value from which on the next row is searched.
    descent: Option<Descent>,
    max_document_bytes: usize,
    /// The rows of the last value that are not yet in a batch, with their memory and the position of the value.
    waiting: std::vec::IntoIter<Value>,
    waiting_bytes: usize,
    place: RecordSpan,
    room: ValueBudget,
    /// The memory budget, and the room reserved for a large value in the batch or among the waiting rows.
    memory: memory_budget::MemoryConsumer,
    held: Option<Reservation>,
    batch: Batch,
    /// An error after the rows of the batch.
    pending: Option<SelectError>,
    finished: bool,
    /// The offset up to which values were requested.
    wanted_to: u64,
}

/// The result of one step through an object.
enum Step {
    /// A value before FROM is applied, and its memory in bytes.
    Value(Value, usize),
    /// A row that FROM leads to, and its memory in bytes.
    Row(Value, usize),
    /// A row whose fields were found.
    Fields,
    /// The next value is not yet in the block.
    NeedsBytes,
    /// The next value takes more memory than is reserved.
    NeedsRoom,
    /// Bytes without a complete value.
    Skipped,
    End,
}

impl JsonReader {
    /// Opens an object without reading from it.
    pub(crate) fn open(
        source: &Arc<dyn ObjectSource>,
        layout: JsonType,
        compression: Compression,
        range: ByteRange,
        from: &From,
    ) -> (Self, JsonSchema) {
        // A line that begins exactly with the range is recognized by the line break before it.
        let seeking = range.start > 0;
        let offset = range.start.saturating_sub(1);
        let reader = Self {
            layout,
            input: Input::new(Arc::clone(source), offset, compression),
            block: Block::default(),
            block_offset: offset,
            next: 0,
            complete: false,
            range,
            numbered: range.start == 0,
            max_rows: MAX_VALUES,
            seeking,
            from: from.path.get(1..).unwrap_or_default().to_vec(),
            names: Vec::new(),
            paths: Vec::new(),
            columns: Vec::new(),
            whole_rows: true,
            objects: None,
            structure: Structure::new(layout == JsonType::Lines),
            is_indexed: false,
            descent: None,
            max_document_bytes: MAX_DOCUMENT_BYTES,
            waiting: Vec::new().into_iter(),
            waiting_bytes: 0,
            place: RecordSpan::default(),
            room: ROOM,
            memory: memory_budget::MemoryConsumer::new(),
            held: None,
            batch: Batch::default(),
            pending: None,
            finished: false,
            wanted_to: range.start,
        };
        (reader, JsonSchema::new(from))
    }

    /// Sets the columns to read, before the first batch: those resolved in the schema or, for `*`, whole rows.
    pub(crate) fn read_only(self, schema: JsonSchema, whole_rows: bool) -> Self {
        let paths = schema.paths;
        // In a line, FROM may lead to several rows, which must be values.
        let by_fields = !whole_rows && (self.from.is_empty() || self.layout == JsonType::Document);
        let objects = by_fields.then(|| Objects::new(&paths)).flatten();
        let (objects, roots) = objects.unzip();
        let root = |column: usize| roots.as_ref().and_then(|roots: &Vec<_>| roots[column]);
        let columns = paths.iter().enumerate();
        let columns =
            columns.map(|(column, path)| Column { path: path.clone(), root: root(column) });
        let columns = columns.collect();
        let batch = Batch::new(objects.as_ref().map_or(0, Objects::roots));
        let names = self.from.iter().map_while(|step| match step {
            PathStep::Field(name) => Some(Objects::with_root(name)),
            _ => None,
        });
        let names = names.collect();
        Self { whole_rows, names, columns, paths, objects, batch, ..self }
    }

    /// Limits the size of values that are kept in memory as a whole.
    #[cfg(test)]
    pub(super) fn with_max_document_bytes(self, max_document_bytes: usize) -> Self {
        Self { max_document_bytes, ..self }
    }

    /// Sets other memory limits.
    #[cfg(test)]
    pub(super) fn with_room(self, room: ValueBudget) -> Self {
        Self { room, ..self }
    }

    /// Parses every row as a value.
    #[cfg(test)]
    pub(super) fn by_value(self) -> Self {
        Self { objects: None, ..self }
    }

    /// Returns the number of rows of the batch that are values.
    #[cfg(test)]
    pub(super) fn values(&self) -> usize {
        self.batch.values()
    }

    fn filter(&self) -> Filter<'_> {
        Filter::new(&self.from, (!self.whole_rows).then_some(self.paths.as_slice()))
    }

    /// Limits the rows of a batch.
    pub(crate) fn with_max_rows(self, max_rows: usize) -> Self {
        Self { max_rows, ..self }
    }

    /// Shares the memory reservations of the other parts of this object, so that none of them waits for another.
    pub(crate) fn sharing(self, memory: memory_budget::MemoryConsumer) -> Self {
        Self { memory, ..self }
    }

    /// Continues counting after the values of earlier parts. `numbered` is true if those began with the object.
    pub(crate) fn counting_from(mut self, values_before: u64, numbered: bool) -> Self {
        self.place.number = values_before;
        Self { numbered, ..self }
    }

    fn offset(&self) -> u64 {
        self.block_offset + self.next as u64
    }

    /// Reads more, at least as many bytes as are left in the block.
    fn read_more(&mut self) -> Result<(), SelectError> {
        self.block.consume(self.next);
        self.block_offset += self.next as u64;
        self.next = 0;
        let left = self.block.len();
        let wanted = left.max(BLOCK_BYTES);
        let read = self.block.fill(wanted, |space| self.input.fill(space))?;
        self.complete = read < wanted;
        self.is_indexed = false;
        if self.block_offset == 0 && left == 0 && self.block.starts_with(BYTE_ORDER_MARK) {
            // DataFusion's reader rejects the mark too, so the answers agree.
            let what = "the object begins with a byte order mark, which is no part of JSON";
            return Err(self.error(0, SelectErrorCode::JSONParsingError, what));
        }
        Ok(())
    }

    /// Reads on, at most to the next value.
    fn step(&mut self) -> Result<Step, SelectError> {
        match self.layout {
            JsonType::Lines => self.step_line(),
            JsonType::Document => self.step_document(),
        }
    }

    /// Describes the block from the start of a value on, unless rows must be parsed.
    fn index(&mut self) {
        if self.is_indexed || self.objects.is_none() {
            return;
        }
        // The bitmaps must begin outside of strings, so drop the bytes before the value.
        self.block.consume(self.next);
        self.block_offset += self.next as u64;
        self.next = 0;
        self.structure.index(&self.block);
        self.is_indexed = true;
    }

    /// Searches for the fields of the object at `start`, or after spaces there.
    fn find(&mut self, start: usize, limit: usize) -> ObjectScan {
        let Self { objects: Some(objects), structure, block, batch, .. } = self else {
            return ObjectScan::Unusual;
        };
        if !self.is_indexed || start > structure.doubtful() {
            return ObjectScan::Unusual;
        }
        // A line that ends with a doubtful line feed contains an open string.
        let is_line = self.layout == JsonType::Lines;
        if is_line && limit >= structure.doubtful() {
            return ObjectScan::Unusual;
        }
        let limit = limit.min(structure.doubtful());
        let mut parser = Parser::new(&block[start..limit], false);
        parser.skip_space();
        let start = start + parser.position();
        objects.find(block, structure, start, limit, batch.fields())
    }

    /// Returns whether the fields of the last object found take little enough memory to stay unparsed.
    fn may_be_fields(&self) -> bool {
        let bytes = self.objects.as_ref().map_or(0, Objects::value_bytes);
        bytes <= self.room.batch
    }

    /// Returns the memory that the next value may take.
    fn room(&self) -> usize {
        match &self.held {
            Some(held) if self.batch.rows() == 0 => held.bytes() as usize,
            _ => self.room.free,
        }
    }

    /// Returns whether a value that was too large may be read with more room.
    fn may_have_room(&self, problem: &ParseFailure) -> bool {
        matches!(problem, ParseFailure::TooLarge(_)) && self.room() < self.room.row
    }

    /// Waits for more room for the next value.
    fn reserve(&mut self) -> Result<(), SelectError> {
        let room = (4 * self.room()).max(MORE_ROOM).min(self.room.row);
        self.held = None;
        self.held =
            Some(self.memory.reserve(room as u64).ok_or_else(memory_budget::out_of_memory)?);
        Ok(())
    }

    /// Begins a value at this position in the block.
    fn begin(&mut self, start: usize) {
        let start = self.block_offset + start as u64;
        self.place = RecordSpan { number: self.place.number + 1, start, end: start };
    }

    /// Returns the error for the value that begins at `next`.
    #[cold]
    fn explain(&self, problem: ParseFailure) -> SelectError {
        let (at, code, what) = problem.explain();
        self.error(at, code, what)
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

    /// Fills the batch, which stays empty after a long stretch without values.
    fn collect(&mut self) -> Result<(), SelectError> {
        let start = self.offset();
        if self.waiting.len() == 0 {
            self.held = None;
        }
        while self.batch.rows() < self.max_rows
            && self.batch.values() < MAX_VALUES
            && self.batch.bytes() < self.room.batch
        {
            if let Some(row) = self.waiting.next() {
                self.batch.count(std::mem::take(&mut self.waiting_bytes));
                self.batch.push_value(row, self.place);
                continue;
            }
            if self.finished || self.offset() - start > BATCH_BYTES {
                return Ok(());
            }
            let step = match self.step()? {
                Step::Row(row, bytes) => {
                    self.wanted_to = self.place.end;
                    self.batch.count(bytes);
                    self.batch.push_value(row, self.place);
                    continue;
                }
                Step::Fields => {
                    self.wanted_to = self.place.end;
                    self.batch.count(self.objects.as_ref().map_or(0, Objects::value_bytes));
                    self.batch.push_fields(self.place);
                    continue;
                }
                Step::NeedsBytes => {
                    // The rows of the batch may point into the block.
                    if self.batch.rows() > 0 {
                        return Ok(());
                    }
                    self.read_more()?;
                    Step::Skipped
                }
                Step::NeedsRoom => {
                    if self.batch.rows() > 0 {
                        return Ok(());
                    }
                    self.reserve()?;
                    continue;
                }
                step => step,
            };
            let (value, bytes) = match step {
                Step::Value(value, bytes) => (value, bytes),
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
                _ => continue,
            };
            self.wanted_to = self.place.end;
            let mut rows = Vec::new();
            expand(&value, &self.from, &mut rows)?;
            self.waiting = rows.into_iter();
            self.waiting_bytes = bytes;
        }
        Ok(())
    }
}

impl Columns for JsonReader {
    fn rows(&self) -> usize {
        self.batch.rows()
    }

    fn block(&self) -> &[u8] {
        &self.block
    }

    fn is_utf8(&self) -> bool {
        // The parser has checked the text of values.
        !self.is_indexed || self.structure.is_ascii()
    }

    fn absent(&self, rows: Rows<'_>) -> usize {
        self.batch.absent(rows)
    }

    fn read_column(
        &self,
        column: usize,
        rows: Rows<'_>,
        out: &mut Vector,
    ) -> Result<(), SelectError> {
        match self.columns.get(column) {
            Some(column) => self.batch.read_column(column, rows, &self.block, out),
            None => Ok(()),
        }
    }
}

impl BatchReader for JsonReader {
    fn next_batch(&mut self) -> Result<bool, SelectError> {
        self.batch.clear();
        if let Some(error) = self.pending.take() {
            self.finished = true;
            return Err(error);
        }
        if let Err(error) = self.collect() {
            if self.batch.rows() == 0 {
                return Err(error);
            }
            self.pending = Some(error);
        }
        Ok(self.batch.rows() > 0 || !self.finished)
    }

    fn write_row(&self, row: usize, out: &mut RowWriter) -> Result<(), SelectError> {
        self.batch.write_row(row, out)
    }

    fn locate(&self, row: usize) -> String {
        let RecordSpan { number, start, .. } = self.batch.record_span(row);
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
        self.wanted_to = self.batch.record_span(row).end;
    }

    fn bytes_read(&self) -> (u64, u64) {
        let processed = self.wanted_to.saturating_sub(self.range.start);
        let scanned = if self.input.is_plain() { processed } else { self.input.bytes_scanned() };
        (scanned, processed)
    }

    fn read_ahead(&mut self) {
        self.input.read_ahead();
    }

    fn records_read(&self) -> u64 {
        self.place.number
    }
}
