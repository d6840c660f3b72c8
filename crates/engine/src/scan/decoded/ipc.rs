//! Decodes Arrow IPC: the file format and the stream format.
//!
//! A stream consists of messages: a schema, then dictionaries and batches of rows. A file has `ARROW1` before the
//! messages and behind them, and a footer with the schema and the places of the other messages. Only these places
//! count: Polars writes the schema before them in a form that no stream has. Every length is compared with the size of
//! the file before anything is allocated.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::{read_dictionary, read_record_batch};
use arrow::ipc::{
    CompressionType, Message, MessageHeader, RecordBatch as RowsMessage, root_as_footer,
    root_as_message,
};

use super::{Decoded, Fault, FileDecoder, positions};

/// The first bytes of a file, and its last ones.
const MAGIC: &[u8; 6] = b"ARROW1";
/// The number of bytes that show the kind of a file.
const WORD: usize = 8;
/// The number of bytes of a message's length.
const LENGTH: usize = 4;
/// The bytes before the length of a message, in all versions since 0.15.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The length of the footer's length and the magic number behind it.
const TAIL: usize = 10;
/// The maximum number of bytes of a footer: 64 MiB, which list some million batches.
const MOST_OF_FOOTER: usize = 64 << 20;
/// The maximum number of bytes behind the end of a stream.
const MOST_OF_TAIL: usize = 1 << 20;
/// The maximum number of bytes of a decompressed column of one batch: 4 GiB.
const MOST_OF_COLUMN: i64 = 4 << 30;
/// The maximum ratio by which LZ4 and Zstandard compress.
const MOST_RATIOS: (i64, i64) = (255, 1 << 17);
/// The maximum number of rows in one batch.
const MOST_ROWS: i64 = i32::MAX as i64;

/// The footer of a file.
#[derive(Debug)]
pub(super) struct Footer {
    pub(super) schema: SchemaRef,
    /// The dictionaries, which may be behind the rows that need them.
    dictionaries: Vec<Block>,
    /// The batches of rows, in their order in the file.
    batches: VecDeque<Block>,
}

/// The place of a message.
#[derive(Debug, Clone, Copy)]
struct Block {
    start: u64,
    length: usize,
}

impl Footer {
    /// Returns the number of bytes of the footer and what follows it, by the last bytes of a file; `None` if these are
    /// not those of a file, which may be a stream then.
    pub(super) fn length(end: &[u8]) -> Decoded<Option<usize>> {
        let tail = end.len().checked_sub(TAIL).and_then(|at| end[at..].split_first_chunk::<4>());
        let Some((length, _)) = tail.filter(|(_, magic)| magic == MAGIC) else { return Ok(None) };
        let length = usize::try_from(i32::from_le_bytes(*length)).ok();
        let length = length.filter(|length| *length <= MOST_OF_FOOTER).map(|it| it + TAIL);
        length.map(Some).ok_or_else(|| Fault("its footer has a wrong length".to_owned()))
    }

    /// Parses a footer, from its beginning to the end of the file. `size` is the number of bytes of the file.
    pub(super) fn parse(bytes: &[u8], size: u64) -> Decoded<Self> {
        let length = bytes.len().checked_sub(TAIL);
        let length = length.ok_or_else(|| Fault("its footer is too short".to_owned()))?;
        let footer = root_as_footer(&bytes[..length]).map_err(damaged)?;
        let schema = footer.schema();
        let schema = schema.ok_or_else(|| Fault("its footer has no columns".to_owned()))?;
        let schema = columns(schema)?;
        let place = |block: &arrow::ipc::Block| {
            let start = u64::try_from(block.offset()).ok();
            let header = u64::try_from(block.metaDataLength()).ok();
            let body = u64::try_from(block.bodyLength()).ok();
            let length = header.zip(body).and_then(|(header, body)| header.checked_add(body));
            let place = start.zip(length).filter(|(start, length)| {
                *length > 0 && start.checked_add(*length).is_some_and(|end| end <= size)
            });
            let place = place.and_then(|(start, length)| {
                Some(Block { start, length: usize::try_from(length).ok()? })
            });
            place.ok_or_else(|| Fault("its footer names bytes that it does not have".to_owned()))
        };
        let dictionaries = footer.dictionaries().into_iter().flatten().map(place);
        let dictionaries = dictionaries.collect::<Decoded<_>>()?;
        let batches = footer.recordBatches().into_iter().flatten().map(place);
        let mut batches = batches.collect::<Decoded<Vec<Block>>>()?;
        batches.sort_by_key(|block| block.start);
        Ok(Self { schema, dictionaries, batches: batches.into() })
    }

    /// Returns the ranges of the dictionaries.
    pub(super) fn dictionaries(&self) -> Vec<Range<u64>> {
        let ranges = self.dictionaries.iter();
        ranges.map(|block| block.start..block.start + block.length as u64).collect()
    }
}

/// Returns columns in Arrow's terms.
fn columns(schema: arrow::ipc::Schema<'_>) -> Decoded<SchemaRef> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(Fault("its numbers are big-endian, which is not read".to_owned()));
    }
    Ok(Arc::new(fb_to_schema(schema)))
}

/// Decodes one file or stream.
pub(super) struct IpcDecoder {
    /// The number of bytes of the file.
    size: u64,
    /// The number of bytes before `pending`.
    passed: u64,
    /// The bytes that are not yet decoded.
    pending: Vec<u8>,
    state: State,
    /// The number of pending bytes that the next step needs.
    needed: usize,
    schema: Option<SchemaRef>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The names of the columns to read.
    names: Vec<String>,
    /// The batches of a file that are not yet decoded.
    blocks: VecDeque<Block>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the batches that the footer of a file lists.
    Blocks,
    /// At the beginning of a stream.
    Start,
    Messages,
    /// Behind the last message.
    Tail,
}

impl IpcDecoder {
    /// Starts at the beginning of a file of so many bytes, or of a stream if there is no footer.
    pub(super) fn new(size: u64, names: Vec<String>, footer: Option<Footer>) -> Self {
        let (state, needed) = match footer {
            Some(_) => (State::Blocks, 0),
            None => (State::Start, WORD),
        };
        let (schema, blocks) = footer.map(|it| (it.schema, it.batches)).unzip();
        Self {
            size,
            passed: 0,
            pending: Vec::new(),
            state,
            needed,
            schema,
            dictionaries: HashMap::new(),
            names,
            blocks: blocks.unwrap_or_default(),
        }
    }

    /// Decodes the pending bytes, until `is_enough` is true or more bytes are needed.
    fn advance(
        &mut self,
        rows: &mut VecDeque<RecordBatch>,
        is_enough: impl Fn(&Self) -> bool,
    ) -> Decoded<()> {
        let mut at = 0;
        while !is_enough(self) && self.pending.len() - at >= self.needed {
            let before = self.state;
            let read = self.step(at, rows)?;
            at += read;
            if read == 0 && self.state == before {
                break;
            }
        }
        self.pending.drain(..at);
        self.passed += at as u64;
        Ok(())
    }

    /// Decodes the pending bytes from `at` on. Returns the number of bytes that were decoded; 0 if more are needed.
    fn step(&mut self, at: usize, rows: &mut VecDeque<RecordBatch>) -> Decoded<usize> {
        match self.state {
            State::Blocks => self.block(at, rows),
            State::Start if self.pending[at..].starts_with(MAGIC) => {
                Err(Fault("it is cut short: its footer is missing".to_owned()))
            }
            State::Start => {
                (self.state, self.needed) = (State::Messages, LENGTH);
                Ok(0)
            }
            State::Messages => self.message(at, rows),
            State::Tail => Ok(0),
        }
    }

    /// Decodes the next message of a file.
    fn block(&mut self, at: usize, rows: &mut VecDeque<RecordBatch>) -> Decoded<usize> {
        let there = self.pending.len() - at;
        let Some(block) = self.blocks.front().copied() else {
            // Only the footer is left.
            return Ok(there);
        };
        let before = block.start.checked_sub(self.passed + at as u64);
        let before = before.ok_or_else(|| Fault("its footer lists bytes twice".to_owned()))?;
        if before > 0 {
            return Ok(usize::try_from(before).unwrap_or(usize::MAX).min(there));
        }
        if there < block.length.max(1) {
            self.needed = block.length.max(1);
            return Ok(0);
        }
        self.blocks.pop_front();
        self.needed = 1;
        let bytes = self.pending[at..at + block.length].to_vec();
        if let Some(batch) = self.listed(&bytes)?
            && batch.num_rows() > 0
        {
            rows.push_back(batch);
        }
        Ok(block.length)
    }

    /// Decodes a message that the footer lists: a batch, or a dictionary.
    pub(super) fn listed(&mut self, bytes: &[u8]) -> Decoded<Option<RecordBatch>> {
        let wrong = || Fault("its footer lists something that is no message".to_owned());
        let start = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
        let length = bytes.get(start - 4..start).and_then(|it| it.first_chunk::<4>());
        let length = i32::from_le_bytes(*length.ok_or_else(wrong)?);
        let left = (bytes.len() - start) as u64;
        let end = start + bounded(i64::from(length), left, "a message")?;
        let message = root_as_message(&bytes[start..end]).map_err(damaged)?;
        let left = (bytes.len() - end) as u64;
        let body = end + bounded(message.bodyLength(), left, "a message")?;
        // Copied, so that the values are aligned.
        self.decode(message, &Buffer::from(&bytes[end..body]))
    }

    fn message(&mut self, at: usize, rows: &mut VecDeque<RecordBatch>) -> Decoded<usize> {
        let left = self.size.saturating_sub(self.passed + at as u64);
        let pending = &self.pending[at..];
        let start = if pending.starts_with(&CONTINUATION) { 8 } else { 4 };
        let Some(length) = pending.get(start - 4..start).and_then(|it| it.first_chunk::<4>())
        else {
            return Ok(0);
        };
        let length = i32::from_le_bytes(*length);
        if length == 0 {
            self.state = State::Tail;
            self.needed = usize::MAX;
            return Ok(start);
        }
        let end = bounded(i64::from(length), left, "a message")? + start;
        let Some(header) = pending.get(start..end) else {
            self.needed = end;
            return Ok(0);
        };
        let message = root_as_message(header).map_err(damaged)?;
        let body = bounded(message.bodyLength(), left, "a message")?;
        let Some(body) = pending.get(end..end + body) else {
            self.needed = end + body;
            return Ok(0);
        };
        // Copied, so that the values are aligned.
        let (body, all) = (Buffer::from(body), end + body.len());
        let header = header.to_vec();
        let message = root_as_message(&header).map_err(damaged)?;
        if let Some(batch) = self.decode(message, &body)?
            && batch.num_rows() > 0
        {
            rows.push_back(batch);
        }
        self.needed = LENGTH;
        Ok(all)
    }

    fn decode(&mut self, message: Message<'_>, body: &Buffer) -> Decoded<Option<RecordBatch>> {
        let wrong = || Fault("a message is not of the kind that it names".to_owned());
        let version = message.version();
        match (message.header_type(), &self.schema) {
            (MessageHeader::Schema, None) => {
                let schema = message.header_as_schema().ok_or_else(wrong)?;
                self.schema = Some(columns(schema)?);
                Ok(None)
            }
            (MessageHeader::Schema, Some(_)) => Err(Fault("it has two schemas".to_owned())),
            (MessageHeader::DictionaryBatch, Some(schema)) => {
                let dictionary = message.header_as_dictionary_batch().ok_or_else(wrong)?;
                check_lengths(&dictionary.data().ok_or_else(wrong)?, body)?;
                read_dictionary(body, dictionary, schema, &mut self.dictionaries, &version)?;
                Ok(None)
            }
            (MessageHeader::RecordBatch, Some(schema)) => {
                let batch = message.header_as_record_batch().ok_or_else(wrong)?;
                check_lengths(&batch, body)?;
                let read = positions(schema, &self.names);
                let read = Some(read.as_slice());
                let schema = Arc::clone(schema);
                let rows =
                    read_record_batch(body, batch, schema, &self.dictionaries, read, &version)?;
                Ok(Some(rows))
            }
            (_, None) => Err(Fault("it does not begin with its columns".to_owned())),
            (MessageHeader::NONE, _) => Ok(None),
            (other, _) => Err(Fault(format!("it has a message of the kind {other:?}"))),
        }
    }
}

impl FileDecoder for IpcDecoder {
    fn push(&mut self, bytes: &[u8], rows: &mut VecDeque<RecordBatch>) -> Decoded<()> {
        self.pending.extend_from_slice(bytes);
        self.advance(rows, |_| false)?;
        if self.state == State::Tail && self.pending.len() > MOST_OF_TAIL {
            return Err(Fault("its stream ends long before it does".to_owned()));
        }
        Ok(())
    }

    fn end(&mut self, _: &mut VecDeque<RecordBatch>) -> Decoded<()> {
        match self.state {
            State::Blocks if self.blocks.is_empty() => Ok(()),
            State::Tail if self.pending.iter().all(|byte| *byte == 0) => Ok(()),
            State::Tail => Err(Fault("there are bytes behind the end of its stream".to_owned())),
            State::Blocks => Err(Fault("it is cut short".to_owned())),
            State::Start => Err(Fault("it is too short".to_owned())),
            // A reader cannot tell a stream without this marker from one that lost its last rows.
            State::Messages => {
                Err(Fault("it is cut short: it has no marker of its end".to_owned()))
            }
        }
    }
}

/// Returns the columns of a stream from its first bytes, or `None` if more bytes are needed. `size` is the
/// number of all of its bytes.
pub(super) fn schema(beginning: &[u8], size: u64) -> Decoded<Option<SchemaRef>> {
    let mut decoder = IpcDecoder::new(size, Vec::new(), None);
    decoder.pending.extend_from_slice(beginning);
    decoder.advance(&mut VecDeque::new(), |decoder| decoder.schema.is_some())?;
    Ok(decoder.schema)
}

/// Returns the fault of a message that is not in its format.
fn damaged(error: impl fmt::Display) -> Fault {
    Fault(format!("a message is damaged ({error})"))
}

/// Checks a length against the number of bytes that are left.
fn bounded(length: i64, left: u64, what: &str) -> Decoded<usize> {
    let fits = u64::try_from(length).ok().filter(|length| *length <= left);
    let fits = fits.and_then(|length| usize::try_from(length).ok());
    fits.ok_or_else(|| Fault(format!("it names {what} of {length} bytes, and has {left} more")))
}

/// Checks the lengths in a batch of rows or of a dictionary: the buffers are within its body, and are no larger
/// decompressed than their compression allows.
fn check_lengths(batch: &RowsMessage<'_>, body: &[u8]) -> Decoded<()> {
    let most = |number: i64| (0..=MOST_ROWS).contains(&number);
    let mut nodes = batch.nodes().into_iter().flatten();
    if !most(batch.length()) || nodes.any(|node| !most(node.length())) {
        return Err(Fault("a batch has more rows than a batch can have".to_owned()));
    }
    let codec = batch.compression().map(|compression| compression.codec());
    for buffer in batch.buffers().into_iter().flatten() {
        let left = u64::try_from(buffer.offset()).ok();
        let left = left.and_then(|offset| (body.len() as u64).checked_sub(offset));
        let left = left.ok_or_else(|| Fault("a column begins behind its batch".to_owned()))?;
        let length = bounded(buffer.length(), left, "a column")?;
        let Some(codec) = codec else { continue };
        let start = body.len() - usize::try_from(left)?;
        // Without compression, the length is -1. An empty column has no length.
        let Some(plain) = body[start..start + length].first_chunk::<8>() else { continue };
        let ratio = if codec == CompressionType::LZ4_FRAME { MOST_RATIOS.0 } else { MOST_RATIOS.1 };
        let most = (length as i64).saturating_mul(ratio).min(MOST_OF_COLUMN);
        if i64::from_le_bytes(*plain) > most {
            return Err(Fault("a column would be too large decompressed".to_owned()));
        }
    }
    Ok(())
}
