//! Reads a JSON object value by value.

mod document;
mod lines;

use std::sync::Arc;

use super::batch::{Batch, Column, Place};
use super::descent::Descent;
use super::objects::{Found, Objects};
use super::parser::{Parser, Problem};
use super::path::{Filter, expand};
use super::schema::JsonSchema;
use super::structure::Structure;
use crate::batch::{BatchReader, Columns};
use crate::block::Block;
use crate::held::{self, Held};
use crate::input::{BYTE_ORDER_MARK, Input};
use crate::output::RowWriter;
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

/// The most rows of a batch that are whole values, which take more memory than text does.
const MAX_VALUES: usize = 1024;

/// A batch ends when it has used up so many bytes.
const BATCH_BYTES: u64 = 1 << 20;

/// How many bytes of memory arrays and objects may take as values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// A batch ends when all of its rows take so much. An object with fields that take more is made into a
    /// value itself, whose parts all columns share.
    pub(super) batch: usize,
    /// What one row may take without asking; who needs more asks for four times as much, and reads it again.
    pub(super) free: usize,
    /// What one row may take at most.
    pub(super) row: usize,
}

const ROOM: Room = Room { batch: 8 << 20, free: 8 << 20, row: 128 << 20 };
/// The least that is asked for.
const MORE_ROOM: usize = 1 << 20;

/// A batch-wise reader of one JSON object, or of the lines that start in a range of it.
pub(crate) struct JsonReader {
    layout: JsonType,
    input: Input,
    /// The bytes at hand.
    block: Block,
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
    /// The names that FROM goes through first.
    names: Vec<Objects>,
    /// The paths of the columns.
    paths: Vec<Vec<PathStep>>,
    columns: Vec<Column>,
    /// Whether all of a row is wanted, or what the paths lead to.
    whole_rows: bool,
    /// How rows are read without making values, if the statement wants only fields of them; and the
    /// bitmaps of the block.
    objects: Option<Objects>,
    structure: Structure,
    /// Whether the bitmaps are those of this block.
    is_indexed: bool,
    /// Where in a long value the next row is looked for.
    descent: Option<Descent>,
    max_document_bytes: usize,
    /// Rows of the value read last that are not yet in a batch, what they take, and where it is.
    waiting: std::vec::IntoIter<Value>,
    waiting_bytes: usize,
    place: Place,
    room: Room,
    /// Who waits for room, and that of a large value in the batch or among the waiting rows.
    memory: held::Reader,
    held: Option<Held>,
    batch: Batch,
    /// What is wrong behind the rows of the batch.
    pending: Option<SelectError>,
    finished: bool,
    /// The offset up to which values were wanted.
    wanted_to: u64,
}

/// What one step through an object comes to.
enum Step {
    /// A value, which FROM has yet to go through, and what it takes.
    Value(Value, usize),
    /// What FROM leads to, and what it takes.
    Row(Value, usize),
    /// A row whose fields were found.
    Fields,
    /// What follows is not yet in the block.
    NeedsBytes,
    /// What follows takes more memory than is free.
    NeedsRoom,
    /// Bytes that hold no value, or not yet a whole one.
    Skipped,
    End,
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
            place: Place::default(),
            room: ROOM,
            memory: held::Reader::new(),
            held: None,
            batch: Batch::default(),
            pending: None,
            finished: false,
            wanted_to: range.start,
        };
        (reader, JsonSchema::new(from))
    }

    /// Tells what will be read, before the first batch: the columns resolved, and, for `*`, whole
    /// rows.
    pub(crate) fn read_only(self, schema: JsonSchema, whole_rows: bool) -> Self {
        let paths = schema.paths;
        // In a line FROM may lead to several rows, which are values.
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

    /// Has only values of so many bytes in memory as a whole.
    #[cfg(test)]
    pub(super) fn with_max_document_bytes(self, max_document_bytes: usize) -> Self {
        Self { max_document_bytes, ..self }
    }

    /// Makes values in other room.
    #[cfg(test)]
    pub(super) fn with_room(self, room: Room) -> Self {
        Self { room, ..self }
    }

    /// Makes every row into a value.
    #[cfg(test)]
    pub(super) fn by_value(self) -> Self {
        Self { objects: None, ..self }
    }

    /// How many rows of the batch are values.
    #[cfg(test)]
    pub(super) fn values(&self) -> usize {
        self.batch.values()
    }

    fn filter(&self) -> Filter<'_> {
        Filter::new(&self.from, (!self.whole_rows).then_some(self.paths.as_slice()))
    }

    /// Has at most so many rows in a batch.
    pub(crate) fn with_max_rows(self, max_rows: usize) -> Self {
        Self { max_rows, ..self }
    }

    /// Holds memory together with the other parts of its object, so that none waits for another.
    pub(crate) fn sharing(self, memory: held::Reader) -> Self {
        Self { memory, ..self }
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
        self.block.consume(self.next);
        self.block_offset += self.next as u64;
        self.next = 0;
        let left = self.block.len();
        let wanted = left.max(BLOCK_BYTES);
        let read = self.block.fill(wanted, |space| self.input.fill(space))?;
        self.complete = read < wanted;
        self.is_indexed = false;
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

    /// Describes the block, from a value's start on, if values need not be made.
    fn index(&mut self) {
        if self.is_indexed || self.objects.is_none() {
            return;
        }
        // Where the block begins in the middle of a value, what stands before `next` may be of a
        // string.
        self.block.consume(self.next);
        self.block_offset += self.next as u64;
        self.next = 0;
        self.structure.index(&self.block);
        self.is_indexed = true;
    }

    /// Looks for the fields of the object at `start`, or behind spaces there.
    fn find(&mut self, start: usize, limit: usize) -> Found {
        let Self { objects: Some(objects), structure, block, batch, .. } = self else {
            return Found::Unusual;
        };
        if !self.is_indexed || start > structure.doubtful() {
            return Found::Unusual;
        }
        // What ends with a doubtful line feed holds it.
        let is_line = self.layout == JsonType::Lines;
        if is_line && limit >= structure.doubtful() {
            return Found::Unusual;
        }
        let limit = limit.min(structure.doubtful());
        let mut parser = Parser::new(&block[start..limit], false);
        parser.skip_space();
        let start = start + parser.position();
        objects.find(block, structure, start, limit, batch.fields())
    }

    /// Whether the object that was found last can be a row of fields: they take little.
    fn may_be_fields(&self) -> bool {
        let bytes = self.objects.as_ref().map_or(0, Objects::value_bytes);
        bytes <= self.room.batch
    }

    /// What the next value may take.
    fn room(&self) -> usize {
        match &self.held {
            Some(held) if self.batch.rows() == 0 => held.bytes() as usize,
            _ => self.room.free,
        }
    }

    /// Whether a value that was too large may be read with more room.
    fn may_have_room(&self, problem: &Problem) -> bool {
        matches!(problem, Problem::TooLarge(_)) && self.room() < self.room.row
    }

    /// Waits for more room for the next value.
    fn ask_for_room(&mut self) -> Result<(), SelectError> {
        let room = (4 * self.room()).max(MORE_ROOM).min(self.room.row);
        self.held = None;
        self.held = Some(self.memory.hold(room as u64).ok_or_else(held::no_room)?);
        Ok(())
    }

    /// A value starts here in the block.
    fn begin(&mut self, start: usize) {
        let start = self.block_offset + start as u64;
        self.place = Place { number: self.place.number + 1, start, end: start };
    }

    /// What is wrong with the value that begins at `next`.
    #[cold]
    fn explain(&self, problem: Problem) -> SelectError {
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

    /// Fills the batch; it stays empty in a long stretch without values.
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
                    self.ask_for_room()?;
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
        // What was made into values was checked.
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
        let Place { number, start, .. } = self.batch.place(row);
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
        self.wanted_to = self.batch.place(row).end;
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
