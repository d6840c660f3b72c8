//! Reads a CSV object block by block.

use std::ops::Range;
use std::sync::Arc;

use super::fields::Fields;
use super::header::{CsvSchema, MAX_COLUMNS};
use super::records::{BadRecord, Limits, MAX_RECORD_BYTES, Records, Stop};
use super::simd;
use super::structure::Structure;
use super::syntax::Syntax;
use crate::batch::{BatchReader, Columns};
use crate::block::Block;
use crate::input::{BYTE_ORDER_MARK, Input};
use crate::output::{Item, Key, RowWriter};
use crate::scan_range::ByteRange;
use crate::selection::Rows;
use crate::source::ObjectSource;
use crate::vector::{Heap, Span, Vector};
use sluicegate_s3select::error::{SelectError, SelectErrorCode};
use sluicegate_s3select::request::{Compression, CsvInput, FileHeaderInfo};

/// The size of a block in bytes. With its bitmaps, it stays in a core's second-level cache.
const BLOCK_BYTES: usize = 256 * 1024;

/// The most bytes of blank lines and comments skipped in one call.
const BATCH_BYTES: u64 = 1 << 20;

/// The bytes read after the end of a range at first, in which the last record usually ends.
const OVERHANG_BYTES: u64 = 16 * 1024;

/// Reads one CSV object, or the records that start in a range of it, in batches.
pub(crate) struct CsvReader {
    syntax: Syntax,
    structure: Structure,
    input: Input,
    /// The buffered bytes: the records of the batch, and bytes that are not yet consumed.
    block: Block,
    /// The offset of the block in the (decompressed) object.
    block_offset: u64,
    /// The position in the block where the next record starts.
    next: usize,
    /// True if the object ends with the block.
    complete: bool,
    strict_lines: bool,
    strict_fields: Option<usize>,
    range: ByteRange,
    max_rows: usize,
    /// True while the start of the first record is unknown, because a range may begin inside a record.
    seeking: bool,
    records: Records,
    /// The number of records before this batch. `numbered` is true if they are counted from the object's start.
    records_before: u64,
    numbered: bool,
    header: Vec<String>,
    keys: Vec<Key>,
    finished: bool,
    /// The offset up to which records were requested.
    wanted_to: u64,
}

impl CsvReader {
    /// Opens an object: checks the options, reads its header if it has one, and finds the first record of the range.
    pub(crate) fn open(
        source: &Arc<dyn ObjectSource>,
        options: &CsvInput,
        compression: Compression,
        range: ByteRange,
    ) -> Result<(Self, CsvSchema), SelectError> {
        let has_header = options.header != FileHeaderInfo::None;
        let open_at = |offset| {
            let syntax = Syntax::new(options)?;
            Ok::<_, SelectError>(Self {
                structure: Structure::new(&syntax),
                syntax,
                input: Input::new(Arc::clone(source), offset, compression),
                block: Block::default(),
                block_offset: offset,
                next: 0,
                complete: false,
                strict_lines: options.strict_lines && options.record_delimiter == "\n",
                strict_fields: options.strict_fields,
                range,
                max_rows: 1,
                seeking: false,
                records: Records::default(),
                records_before: 0,
                numbered: true,
                header: Vec::new(),
                keys: Vec::new(),
                finished: false,
                wanted_to: offset,
            })
        };
        let mut header = None;
        let mut start = range.start;
        if has_header || range.start == 0 {
            let mut reader = open_at(0)?;
            if has_header {
                let Some(names) = reader.read_header()? else {
                    return Ok((reader, CsvSchema::of_nothing()));
                };
                start = start.max(reader.next_offset());
                header = (options.header == FileHeaderInfo::Use).then_some(names);
            }
            if start == reader.next_offset() || range.start == 0 {
                reader.header = header.clone().unwrap_or_default();
                return Ok((reader, CsvSchema::new(header)));
            }
        }
        // A record that starts exactly with the range is preceded by a delimiter that begins here.
        let delimiter = options.record_delimiter.len() as u64;
        let mut reader = open_at(start.saturating_sub(delimiter))?;
        reader.seeking = true;
        reader.numbered = false;
        reader.range.start = start;
        reader.wanted_to = start;
        reader.header = header.clone().unwrap_or_default();
        Ok((reader, CsvSchema::new(header)))
    }

    /// Limits the rows of a batch.
    pub(crate) fn with_max_rows(self, max_rows: usize) -> Self {
        Self { max_rows, ..self }
    }

    /// Returns whether records are counted from the object's start.
    pub(crate) fn is_numbered(&self) -> bool {
        self.numbered
    }

    /// Continues counting after the records of earlier parts. `numbered` is true if those began with the object.
    pub(crate) fn counting_from(self, records_before: u64, numbered: bool) -> Self {
        Self { records_before, numbered, ..self }
    }

    fn next_offset(&self) -> u64 {
        self.block_offset + self.next as u64
    }

    /// Reads the first record as names and moves past it. Returns `None` if there is no record.
    fn read_header(&mut self) -> Result<Option<Vec<String>>, SelectError> {
        let range = std::mem::replace(&mut self.range, ByteRange::ALL);
        while self.collect(1)? && self.records.len() == 0 {}
        self.range = range;
        if self.records.len() == 0 {
            return Ok(None);
        }
        let mut names = Vec::new();
        let mut text = Ok(());
        self.each_field(0, |_, field| match std::str::from_utf8(field) {
            Ok(name) if names.len() < MAX_COLUMNS => names.push(name.to_owned()),
            Ok(_) => text = Err((SelectErrorCode::OverMaxColumn, "too many columns")),
            Err(_) => text = Err((SelectErrorCode::InvalidTextEncoding, "text that is not UTF-8")),
        });
        text.map_err(|(code, what)| SelectError::new(code, format!("The header has {what}.")))?;
        self.records = Records::default();
        Ok(Some(names))
    }

    /// Collects the next records, at most `max_rows`, and returns whether there may be more. A long stretch of blank
    /// lines and comments yields a batch without records.
    fn collect(&mut self, max_rows: usize) -> Result<bool, SelectError> {
        self.records_before += self.records.len() as u64;
        if self.finished {
            self.records = Records::default();
            return Ok(false);
        }
        let start = self.next_offset();
        loop {
            if self.next_offset() - start >= BATCH_BYTES {
                self.records = Records::default();
                return Ok(true);
            }
            if self.seeking && !self.seek()? {
                continue;
            }
            let range_end = self.range.end.saturating_sub(self.block_offset);
            let limits = Limits {
                max_rows,
                range_end: usize::try_from(range_end).unwrap_or(usize::MAX),
                complete: self.complete,
            };
            let Self { records, block, next, syntax, structure, .. } = self;
            let stop = records.collect(block, next, limits, syntax, structure).map_err(
                |BadRecord { start, error }| {
                    let place = self.record_position(0, start);
                    SelectError::new(error.code, format!("{} ({place})", error.message))
                },
            )?;
            if let Some(fields) = self.strict_fields {
                self.check_fields(fields)?;
            }
            self.finished = matches!(stop, Stop::OutOfRange | Stop::End);
            self.wanted_to = self.next_offset();
            if self.records.len() > 0 {
                return Ok(true);
            }
            if self.finished {
                return Ok(false);
            }
            if stop == Stop::NeedsBytes {
                self.read_more()?;
            }
        }
    }

    /// Searches for the first record that starts in the range, and returns whether the block contains its start.
    fn seek(&mut self) -> Result<bool, SelectError> {
        if self.block.is_empty() && !self.complete {
            self.read_more()?;
        }
        let from = self.range.start.saturating_sub(self.block_offset + 1) as usize;
        if let Some(mark) = self.structure.next_record_mark(from) {
            self.next = mark + 1;
        } else {
            // Keep bytes that may be the beginning of a delimiter.
            self.next = self.block.len().saturating_sub(self.syntax.record_delimiter.len() - 1);
            if self.complete || self.next_offset() >= self.range.end {
                self.next = self.block.len();
                self.complete = true;
            } else {
                self.read_more()?;
                return Ok(false);
            }
        }
        self.seeking = false;
        self.wanted_to = self.next_offset();
        Ok(true)
    }

    /// Drops consumed bytes and reads more; doubles the block if none were consumed.
    fn read_more(&mut self) -> Result<(), SelectError> {
        let first = self.block.is_empty() && self.block_offset == 0;
        self.block.consume(self.next);
        self.block_offset += self.next as u64;
        self.next = 0;
        let kept = self.block.len();
        let mut want = BLOCK_BYTES.max(2 * kept).min(MAX_RECORD_BYTES + BLOCK_BYTES);
        if self.input.is_plain() {
            let here = self.block_offset + kept as u64;
            let range_left = self.range.end.saturating_sub(here).saturating_add(OVERHANG_BYTES);
            let range_left = usize::try_from(range_left).unwrap_or(usize::MAX);
            want = want.min(kept.saturating_add(range_left));
        }
        let want = want.saturating_sub(kept).max(1);
        let read = self.block.fill(want, |space| self.input.fill(space))?;
        self.complete = read < want;
        if self.strict_lines {
            self.check_lines(kept.saturating_sub(1))?;
        }
        if first && self.block.starts_with(BYTE_ORDER_MARK) {
            self.next = BYTE_ORDER_MARK.len();
            self.range = self.range.with_mark();
        }
        self.structure.index(&self.block, self.next, &self.syntax);
        Ok(())
    }

    /// Rejects a carriage return without a following line feed, quoted or not. One at the end of the block is checked
    /// again with the next block; one that ends the object ends its last line.
    fn check_lines(&self, from: usize) -> Result<(), SelectError> {
        let follows = |at: &usize| self.block.get(at + 1).is_some_and(|next| *next != b'\n');
        match memchr::memchr_iter(b'\r', &self.block[from..]).map(|n| from + n).find(follows) {
            None => Ok(()),
            Some(at) => Err(SelectError::new(
                SelectErrorCode::CSVParsingError,
                format!(
                    "A carriage return without a line feed, at byte {}; readers disagree about \
                     what it means.",
                    self.block_offset + at as u64
                ),
            )),
        }
    }

    /// Rejects records that do not have `fields` fields.
    fn check_fields(&self, fields: usize) -> Result<(), SelectError> {
        let Records { starts, ends, quoted, .. } = &self.records;
        let mut first = 0;
        // Records that the state machine split have lists of their fields.
        for quoted in quoted {
            let row = quoted.row as usize;
            self.check_unquoted(first..row, fields)?;
            if self.records.fields_of(*quoted).len() != fields {
                return Err(self.uneven(row, fields));
            }
            first = row + 1;
        }
        self.check_unquoted(first..starts.len().min(ends.len()), fields)
    }

    fn check_unquoted(&self, rows: Range<usize>, fields: usize) -> Result<(), SelectError> {
        let (starts, ends) = (&self.records.starts[rows.clone()], &self.records.ends[rows.clone()]);
        match self.structure.uneven(starts, ends, fields) {
            Some(at) => Err(self.uneven(rows.start + at, fields)),
            None => Ok(()),
        }
    }

    fn uneven(&self, row: usize, fields: usize) -> SelectError {
        let mut found = 0;
        self.each_field(row, |_, _| found += 1);
        let place = self.record_position(row, self.records.starts[row] as usize);
        SelectError::new(
            SelectErrorCode::CSVParsingError,
            format!("A record has {found} fields where there are to be {fields} ({place})."),
        )
    }

    fn record_position(&self, row: usize, start: usize) -> String {
        let byte = self.block_offset + start as u64;
        if self.numbered {
            format!("record {}, byte {byte}", self.records_before + row as u64 + 1)
        } else {
            format!("record at byte {byte}")
        }
    }

    /// Returns a field of a record that the state machine did not split, without its quotes.
    fn unquoted<'a>(&self, field: &'a [u8]) -> &'a [u8] {
        match (self.trimmed_quote(), field) {
            (Some(quote), [first, inner @ .., _]) if *first == quote => inner,
            _ => field,
        }
    }

    /// Returns the quote character, if fields must be stripped of it.
    fn trimmed_quote(&self) -> Option<u8> {
        let trims = self.structure.seen.quote && self.structure.interpreted;
        self.syntax.first_quote_byte().filter(|_| trims)
    }

    fn each_field(&self, row: usize, mut f: impl FnMut(usize, &[u8])) {
        let quoted = self.records.quoted.binary_search_by_key(&(row as u32), |q| q.row);
        if let Ok(at) = quoted {
            let fields = self.records.fields_of(self.records.quoted[at]);
            fields.iter().enumerate().for_each(|(i, span)| f(i, span.slice(&self.block)));
            return;
        }
        let delimiter = self.syntax.field_delimiter.len();
        let (mut at, end) = (self.records.starts[row] as usize, self.records.ends[row] as usize);
        let mut column = 0;
        loop {
            let mark = self.structure.next_field_mark(at).filter(|mark| *mark < end);
            let Some(mark) = mark else { return f(column, self.unquoted(&self.block[at..end])) };
            f(column, self.unquoted(&self.block[at..mark + 1 - delimiter]));
            at = mark + 1;
            column += 1;
        }
    }
}

impl Columns for CsvReader {
    fn rows(&self) -> usize {
        self.records.len()
    }

    fn block(&self) -> &[u8] {
        &self.block
    }

    fn is_utf8(&self) -> bool {
        !self.structure.seen.non_ascii
    }

    fn read_column(
        &self,
        column: usize,
        rows: Rows<'_>,
        out: &mut Vector,
    ) -> Result<(), SelectError> {
        let spans = out.texts(self.rows(), Heap::Block);
        if self.records.quoted.len() < self.rows() {
            let fields = Fields {
                marks: &self.structure.words.field,
                starts: &self.records.starts,
                ends: &self.records.ends,
                delimiter_bytes: self.syntax.field_delimiter.len() as u32,
                block: &self.block,
                quote: self.trimmed_quote(),
            };
            simd::find_column(self.structure.level, &fields, column, rows, spans);
        }
        for quoted in &self.records.quoted {
            let field = self.records.fields_of(*quoted).get(column);
            spans[quoted.row as usize] = field.copied().unwrap_or(Span::MISSING);
        }
        Ok(())
    }
}

impl BatchReader for CsvReader {
    fn next_batch(&mut self) -> Result<bool, SelectError> {
        self.collect(self.max_rows)
    }

    fn write_row(&self, row: usize, out: &mut RowWriter) -> Result<(), SelectError> {
        let record =
            &self.block[self.records.starts[row] as usize..self.records.ends[row] as usize];
        // A record may be copied if it is valid text, cannot have too many fields and has quotes only around whole
        // fields.
        let quote = self.syntax.first_quote_byte().filter(|_| self.structure.seen.quote);
        let usual = quote.is_none()
            || (self.structure.interpreted
                && self.records.quoted.binary_search_by_key(&(row as u32), |q| q.row).is_err());
        if usual
            && self.is_utf8()
            && record.len() < MAX_COLUMNS
            && out.put_row(record, self.syntax.field_delimiter.as_bytes(), quote)
        {
            return Ok(());
        }
        let mut result = Ok(());
        self.each_field(row, |column, field| {
            if column >= MAX_COLUMNS {
                result = Err(SelectError::new(
                    SelectErrorCode::OverMaxColumn,
                    "A record has more than 10000 fields.",
                ));
            } else if result.is_ok() {
                result = match self.keys.get(column) {
                    Some(key) => out.put(key, Item::Text(field)),
                    None if out.needs_keys() => {
                        let name = self.header.get(column).cloned();
                        let name = name.unwrap_or_else(|| format!("_{}", column + 1));
                        out.put(&Key::new(&name), Item::Text(field))
                    }
                    None => out.put(&Key::default(), Item::Text(field)),
                };
            }
        });
        result
    }

    fn locate(&self, row: usize) -> String {
        self.record_position(row, self.records.starts[row] as usize)
    }

    fn stop_behind(&mut self, row: usize) {
        self.finished = true;
        let end = self.records.ends[row] as usize;
        let mark = self.structure.next_record_mark(end + self.syntax.record_delimiter.len() - 1);
        let next = mark.map_or(self.block.len(), |mark| mark + 1);
        self.wanted_to = self.block_offset + next as u64;
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
        self.records_before + self.records.len() as u64
    }
}
