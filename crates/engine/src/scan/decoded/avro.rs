//! Decodes Avro's object container files.

use std::collections::VecDeque;
use std::io::Cursor;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::arrow_avro::reader::ReaderBuilder;

use super::avro_blocks::Header;
use super::{Decoded, Fault, FileDecoder, positions};

/// The number of decompressed bytes of blocks that are decoded at once.
const AT_ONCE: usize = 1 << 20;

/// Decodes one file.
pub(super) struct AvroDecoder {
    /// The number of bytes of the file.
    size: u64,
    /// The number of bytes before `pending`.
    passed: u64,
    /// The bytes that are not yet decoded.
    pending: Vec<u8>,
    /// The names of the columns to read.
    names: Vec<String>,
    batch_size: usize,
    opened: Option<Opened>,
}

/// A file whose header is read.
struct Opened {
    header: Header,
    /// A header without compression.
    plain: Vec<u8>,
    /// The decompressed blocks that are not yet decoded.
    blocks: Vec<u8>,
    /// The positions of the columns to read.
    columns: Vec<usize>,
}

/// Returns the columns of a file from its first bytes, or `None` if more bytes are needed.
pub(super) fn schema(beginning: &[u8]) -> Decoded<Option<SchemaRef>> {
    match Header::parse(beginning)? {
        Some(header) => schema_of(&header.plain()).map(Some),
        None => Ok(None),
    }
}

fn schema_of(plain: &[u8]) -> Decoded<SchemaRef> {
    Ok(ReaderBuilder::new().build(Cursor::new(plain))?.schema())
}

impl AvroDecoder {
    /// Starts at the beginning of a file of so many bytes.
    pub(super) fn new(size: u64, names: Vec<String>, batch_size: usize) -> Self {
        let (pending, opened) = (Vec::new(), None);
        Self { size, passed: 0, pending, names, batch_size, opened }
    }

    fn pass(&mut self, bytes: usize) {
        self.pending.drain(..bytes);
        self.passed += bytes as u64;
    }
}

impl Opened {
    fn new(header: Header, names: &[String]) -> Decoded<Self> {
        let plain = header.plain();
        let schema = schema_of(&plain)?;
        let mut columns = positions(&schema, names);
        // The reader needs a column to count records.
        if columns.is_empty() && !schema.fields().is_empty() {
            columns.push(0);
        }
        Ok(Self { header, plain, blocks: Vec::new(), columns })
    }

    /// Decodes the blocks so far.
    fn decode(&mut self, batch_size: usize, rows: &mut VecDeque<RecordBatch>) -> Decoded<()> {
        if self.blocks.is_empty() {
            return Ok(());
        }
        let mut file = self.plain.clone();
        file.append(&mut self.blocks);
        let builder = ReaderBuilder::new().with_batch_size(batch_size);
        let reader = builder.with_projection(self.columns.clone()).build(Cursor::new(file))?;
        for batch in reader {
            rows.push_back(batch?);
        }
        Ok(())
    }
}

impl FileDecoder for AvroDecoder {
    fn push(&mut self, bytes: &[u8], rows: &mut VecDeque<RecordBatch>) -> Decoded<()> {
        self.pending.extend_from_slice(bytes);
        if self.opened.is_none() {
            let Some(header) = Header::parse(&self.pending)? else { return Ok(()) };
            let length = header.length;
            self.opened = Some(Opened::new(header, &self.names)?);
            self.pass(length);
        }
        let Some(opened) = &mut self.opened else { return Ok(()) };
        let mut at = 0;
        while at < self.pending.len() {
            let left = self.size.saturating_sub(self.passed + at as u64);
            let read = opened.header.block(&self.pending[at..], left, &mut opened.blocks)?;
            if read == 0 {
                break;
            }
            at += read;
            if opened.blocks.len() >= AT_ONCE {
                opened.decode(self.batch_size, rows)?;
            }
        }
        self.pass(at);
        Ok(())
    }

    fn end(&mut self, rows: &mut VecDeque<RecordBatch>) -> Decoded<()> {
        match &mut self.opened {
            Some(opened) if self.pending.is_empty() => opened.decode(self.batch_size, rows),
            _ => Err(Fault("it is cut short".to_owned())),
        }
    }
}
