//! Reads and writes the layout of an index object.
//!
//! ```text
//! "SLUICEIX"                              8 bytes
//! blocks                                  entries sorted by key, then by first byte
//! top                                     a TopMessage: what is indexed, and where the blocks are
//! length of the top, its CRC-32           4 bytes each, little-endian
//! "SLUICEIX"                              8 bytes
//! ```
//!
//! An entry consists of the length of the key, the key, the offset of the record's first byte and the record's
//! length. All numbers in entries are in LEB128: seven bits a byte, the lowest first.

use std::ops::Range;

use prost::Message;

use super::span::{Span, Spans, after};
use super::{Damaged, Result};

/// The version of the layout, which is also part of each index object's name.
pub const VERSION: u32 = 2;
/// The first and the last bytes of an index object.
pub const MAGIC: [u8; 8] = *b"SLUICEIX";
/// The number of bytes after the top: its length, its checksum and [`MAGIC`].
pub const TRAILER: usize = 16;
/// The size in bytes of the smallest possible index object.
pub const LEAST_BYTES: u64 = (MAGIC.len() + TRAILER) as u64;
/// The value of [`FormatMessage::kind`] for Parquet.
pub const PARQUET: u32 = 2;
/// The size at which a block is full, in bytes; its last entry may exceed it.
const BLOCK_BYTES: usize = 32 * 1024;
/// The most bytes of a block's first key that the top keeps.
const KEY_PREFIX: usize = 64;

/// The top of an index object: the data object, the indexed column and the list of blocks.
#[derive(Clone, PartialEq, Message)]
pub struct TopMessage {
    /// The version of the layout, [`VERSION`].
    #[prost(uint32, tag = "1")]
    pub version: u32,
    /// The key of the data object.
    #[prost(string, tag = "2")]
    pub data: String,
    /// The entity tag of the data object, without quotes.
    #[prost(string, tag = "3")]
    pub e_tag: String,
    /// The size of the data object in bytes.
    #[prost(uint64, tag = "4")]
    pub size: u64,
    /// The name of the indexed column.
    #[prost(string, tag = "5")]
    pub column: String,
    /// The position of the column in the table, from 0; always 0 if the format has named columns.
    #[prost(uint64, tag = "6")]
    pub position: u64,
    /// The type of the column, as the engine names it.
    #[prost(string, tag = "7")]
    pub column_type: String,
    /// The options that the data object was read with.
    #[prost(message, optional, tag = "8")]
    pub format: Option<FormatMessage>,
    /// The number of records in the data object.
    #[prost(uint64, tag = "9")]
    pub records: u64,
    /// The number of entries: one for each record.
    #[prost(uint64, tag = "10")]
    pub entries: u64,
    /// The blocks, in the order of their keys.
    #[prost(message, repeated, tag = "11")]
    pub blocks: Vec<BlockMessage>,
    /// For Parquet, the average number of bytes to read for one row with all its columns.
    #[prost(uint64, tag = "12")]
    pub row_bytes: u64,
    /// A span of keys that no entry has. Index objects of earlier versions do not have it.
    #[prost(message, optional, tag = "13")]
    pub absent: Option<AbsentMessage>,
    /// For CSV, present if every record is one line, whatever quotes and line ends a reader expects.
    #[prost(message, optional, tag = "14")]
    pub lines: Option<LinesMessage>,
}

/// A span of keys.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct AbsentMessage {
    /// The least key of the span.
    #[prost(bytes = "vec", tag = "1")]
    pub low: Vec<u8>,
    /// The first key after the span; if absent, the span has no upper end.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub high: Option<Vec<u8>>,
}

/// Describes a CSV object in which the header and every record are one line each.
///
/// Each line ends with a line feed or at the end of the object. Carriage returns stand either before all line feeds
/// or before none, and nowhere else. No line is empty, longer than 1 MiB or begins with a byte order mark. The text
/// is UTF-8; the header may not be.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct LinesMessage {
    /// The length of the first line in bytes, including its line end.
    #[prost(uint64, tag = "1")]
    pub first_bytes: u64,
    /// True if a line begins with `#` and could be read as a comment.
    #[prost(bool, tag = "2")]
    pub hashes: bool,
    /// True if carriage returns stand before line feeds. Each entry but that of the first line then begins with the
    /// line feed of the previous line.
    #[prost(bool, tag = "3")]
    pub returns: bool,
}

/// The options that a data object is read with: those of a CSV table, or another format.
#[derive(Clone, PartialEq, Message)]
pub struct FormatMessage {
    /// The number of fields of a record.
    #[prost(uint64, tag = "1")]
    pub columns: u64,
    /// True if the first record is a header.
    #[prost(bool, tag = "2")]
    pub header: bool,
    /// The code point of the field delimiter.
    #[prost(uint32, tag = "3")]
    pub delimiter: u32,
    /// The code point of the quote character.
    #[prost(uint32, tag = "4")]
    pub quote: u32,
    /// The code point of the character that escapes a quote.
    #[prost(uint32, optional, tag = "5")]
    pub escape: Option<u32>,
    /// The code point of the character that starts a comment.
    #[prost(uint32, optional, tag = "6")]
    pub comment: Option<u32>,
    /// The code point of the character that ends a record.
    #[prost(uint32, optional, tag = "7")]
    pub terminator: Option<u32>,
    /// True if records may have fewer fields than the table has columns.
    #[prost(bool, tag = "8")]
    pub truncated_rows: bool,
    /// The format: 0 for CSV, 1 for concatenated JSON objects, 2 for Parquet. JSON and Parquet have no options.
    #[prost(uint32, tag = "9")]
    pub kind: u32,
}

/// A block as described in the top.
#[derive(Clone, PartialEq, Message)]
pub struct BlockMessage {
    /// The first key of the block, cut after 64 bytes.
    #[prost(bytes = "vec", tag = "1")]
    pub first_key: Vec<u8>,
    /// The size in bytes. The first block follows [`MAGIC`], and every other block follows the previous one.
    #[prost(uint32, tag = "2")]
    pub bytes: u32,
    /// The CRC-32 of the block.
    #[prost(fixed32, tag = "3")]
    pub checksum: u32,
    /// The number of entries in the block.
    #[prost(uint32, tag = "4")]
    pub entries: u32,
    /// The number of distinct keys in the block.
    #[prost(uint32, tag = "5")]
    pub keys: u32,
    /// The number of entries whose record does not directly follow that of the previous entry; 0 in index objects of
    /// earlier versions.
    #[prost(uint32, tag = "6")]
    pub places: u32,
}

impl TopMessage {
    /// Returns the end of the last record: the object's size in bytes, or for Parquet the number of rows.
    #[must_use]
    pub fn end(&self) -> u64 {
        let rows = self.format.as_ref().is_some_and(|format| format.kind == PARQUET);
        if rows { self.records } else { self.size }
    }

    /// Encodes the top and everything after it.
    #[must_use]
    pub fn to_tail(&self) -> Vec<u8> {
        let mut tail = self.encode_to_vec();
        let (length, checksum) = (tail.len() as u32, crc32fast::hash(&tail));
        tail.extend(length.to_le_bytes());
        tail.extend(checksum.to_le_bytes());
        tail.extend(MAGIC);
        tail
    }

    /// Returns the length of the tail that holds the top, given the last bytes of the object.
    ///
    /// # Errors
    ///
    /// If the object is not an index object.
    pub fn tail_bytes(last: &[u8]) -> Result<usize> {
        let trailer = trailer(last)?;
        Ok(trailer.0 + TRAILER)
    }

    /// Decodes the top of an index object of `size` bytes from its tail.
    ///
    /// # Errors
    ///
    /// If the object is damaged or of another version.
    pub fn of_tail(tail: &[u8], size: u64) -> Result<Self> {
        let (length, checksum) = trailer(tail)?;
        let end = tail.len() - TRAILER;
        let Some(bytes) = end.checked_sub(length).and_then(|start| tail.get(start..end)) else {
            return damaged("it is cut short");
        };
        if crc32fast::hash(bytes) != checksum {
            return damaged("its top is damaged");
        }
        let top = Self::decode(bytes).or_else(|_| damaged("its top is damaged"))?;
        if top.version != VERSION {
            return damaged(&format!(
                "it is of version {}, and only version {VERSION} is understood",
                top.version
            ));
        }
        let blocks: u64 = top.blocks.iter().map(|block| u64::from(block.bytes)).sum();
        if MAGIC.len() as u64 + blocks + (length + TRAILER) as u64 != size {
            return damaged("it is cut short");
        }
        if top.blocks.iter().any(|block| block.bytes == 0 || block.entries == 0) {
            return damaged("a block of it is empty");
        }
        Ok(top)
    }

    /// Returns the byte range of each block in the index object.
    #[must_use]
    pub fn places(&self) -> Vec<Range<u64>> {
        let mut start = MAGIC.len() as u64;
        let place = |block: &BlockMessage| {
            let place = start..start + u64::from(block.bytes);
            start = place.end;
            place
        };
        self.blocks.iter().map(place).collect()
    }

    /// Returns the positions of the blocks that may have keys in some spans, in ascending order.
    #[must_use]
    pub fn blocks_with(&self, spans: &Spans) -> Vec<usize> {
        let (mut found, mut next) = (Vec::new(), 0);
        let present = self.absent.as_ref().map(|absent| spans.without(&absent.span()));
        for span in present.as_ref().unwrap_or(spans).spans() {
            // The keys of a block are at most the next block's first key, of which the top may keep only a prefix.
            let ends_before = |block: &BlockMessage| {
                block.first_key < span.low && !span.low.starts_with(&block.first_key)
            };
            let from = self.blocks.partition_point(ends_before).saturating_sub(1).max(next);
            let blocks = self.blocks.iter().enumerate().skip(from);
            let within = blocks.take_while(|(_, block)| {
                span.high.as_ref().is_none_or(|high| block.first_key < *high)
            });
            found.extend(within.map(|(number, _)| number));
            // Return each block once, even if a foreign top lists the blocks out of order.
            next = found.last().map_or(0, |last| last + 1);
        }
        found
    }
}

impl AbsentMessage {
    /// Returns the absent keys as a span.
    #[must_use]
    pub fn span(&self) -> Span {
        Span { low: self.low.clone(), high: self.high.clone() }
    }
}

/// Returns a key greater than `key` that is at most one byte longer than the prefixes kept in the top; `None` if
/// there is none.
#[must_use]
pub fn beyond(key: &[u8]) -> Option<Vec<u8>> {
    if key.len() <= KEY_PREFIX {
        return Some(after(key));
    }
    let mut beyond = key[..KEY_PREFIX].to_vec();
    while let Some(last) = beyond.pop() {
        if last < u8::MAX {
            beyond.push(last + 1);
            return Some(beyond);
        }
    }
    None
}

fn damaged<T>(how: &str) -> Result<T> {
    Err(Damaged(how.to_owned()))
}

/// Returns the length of the top and its checksum.
fn trailer(tail: &[u8]) -> Result<(usize, u32)> {
    let Some(trailer) = tail.last_chunk::<TRAILER>() else {
        return damaged("it is cut short");
    };
    let (numbers, magic) = trailer.split_at(8);
    if magic != MAGIC {
        return damaged("it is cut short, or no index at all");
    }
    let number = |at: usize| {
        let bytes = [numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]];
        u32::from_le_bytes(bytes)
    };
    Ok((number(0) as usize, number(4)))
}

/// The position of a record in the data object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordLocation {
    /// The offset of the record's first byte; for Parquet, the row number from 0.
    pub first: u64,
    /// The length of the record in bytes; 1 for Parquet.
    pub bytes: u64,
}

/// Builds blocks from entries that arrive in key order.
#[derive(Debug, Default)]
pub struct Blocks {
    block: Vec<u8>,
    now: BlockMessage,
    last_key: Vec<u8>,
    /// The end of the last record in the current block.
    last_end: u64,
    done: Vec<BlockMessage>,
}

impl Blocks {
    /// Adds an entry. Returns the bytes of the previous block if that is full.
    pub fn push(&mut self, key: &[u8], place: RecordLocation) -> Option<Vec<u8>> {
        let full = if self.block.len() >= BLOCK_BYTES { self.end() } else { None };
        if self.block.is_empty() {
            self.now.first_key = key[..key.len().min(KEY_PREFIX)].to_vec();
        }
        if self.block.is_empty() || self.last_key != key {
            self.now.keys += 1;
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
        }
        self.now.entries += 1;
        let follows = self.now.places > 0 && self.last_end == place.first;
        self.now.places += u32::from(!follows);
        self.last_end = place.first.saturating_add(place.bytes);
        write_number(key.len() as u64, &mut self.block);
        self.block.extend_from_slice(key);
        write_number(place.first, &mut self.block);
        write_number(place.bytes, &mut self.block);
        full
    }

    /// Ends the current block and returns its bytes, or `None` if it is empty.
    pub fn end(&mut self) -> Option<Vec<u8>> {
        if self.block.is_empty() {
            return None;
        }
        let block = std::mem::take(&mut self.block);
        self.now.bytes = block.len() as u32;
        self.now.checksum = crc32fast::hash(&block);
        self.done.push(std::mem::take(&mut self.now));
        Some(block)
    }

    /// Returns the descriptions of all blocks for the top.
    #[must_use]
    pub fn done(self) -> Vec<BlockMessage> {
        self.done
    }
}

/// Calls `entry` with each entry of a block, in order.
///
/// # Errors
///
/// If the block does not match its description in the top.
pub fn entries(
    mut block: &[u8],
    known: &BlockMessage,
    mut entry: impl FnMut(&[u8], RecordLocation),
) -> Result<()> {
    if block.len() as u64 != u64::from(known.bytes) || crc32fast::hash(block) != known.checksum {
        return damaged("a block of it is damaged");
    }
    let wrong = || Damaged("a block of it is damaged".to_owned());
    for _ in 0..known.entries {
        let length = read_number(&mut block).ok_or_else(wrong)?;
        let length = usize::try_from(length).map_err(|_| wrong())?;
        let (key, rest) = block.split_at_checked(length).ok_or_else(wrong)?;
        block = rest;
        let first = read_number(&mut block).ok_or_else(wrong)?;
        // Every record has at least its line end.
        let bytes = read_number(&mut block).filter(|bytes| *bytes > 0).ok_or_else(wrong)?;
        entry(key, RecordLocation { first, bytes });
    }
    if !block.is_empty() {
        return Err(wrong());
    }
    Ok(())
}

/// Appends a number in LEB128.
pub fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number in LEB128 from the front of `bytes`.
pub fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::Span;
    use proptest::prelude::*;

    /// Builds an index object of sorted keys whose records follow one another.
    fn object(keys: &[Vec<u8>], known: bool) -> (Vec<u8>, TopMessage) {
        let mut object = MAGIC.to_vec();
        let mut blocks = Blocks::default();
        for (number, key) in keys.iter().enumerate() {
            let place = RecordLocation { first: 10 * number as u64, bytes: 10 };
            object.extend(blocks.push(key, place).unwrap_or_default());
        }
        object.extend(blocks.end().unwrap_or_default());
        let entries = keys.len() as u64;
        let low = keys.last().and_then(|greatest| beyond(greatest)).filter(|_| known);
        let top = TopMessage {
            version: VERSION,
            entries,
            records: entries,
            absent: low.map(|low| AbsentMessage { low, high: None }),
            blocks: blocks.done(),
            ..TopMessage::default()
        };
        object.extend(top.to_tail());
        (object, top)
    }

    proptest! {
        #[test]
        fn numbers_come_back(number: u64) {
            let mut bytes = Vec::new();
            write_number(number, &mut bytes);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(read_number(&mut rest), Some(number));
            prop_assert!(rest.is_empty());
        }

        /// The blocks selected for some spans hold every entry with a key in them.
        #[test]
        fn no_block_with_a_wanted_key_is_left_out(
            mut keys in prop::collection::vec(prop::collection::vec(0_u8..3, 0..90), 1..400),
            repeats in 1_usize..400,
            ends in prop::collection::vec(prop::collection::vec(0_u8..3, 0..90), 1..8),
            known: bool,
        ) {
            keys = keys.iter().flat_map(|key| std::iter::repeat_n(key.clone(), repeats)).collect();
            keys.sort();
            let (object, top) = object(&keys, known);
            prop_assert_eq!(&TopMessage::of_tail(&object, object.len() as u64).unwrap(), &top);
            let span = |ends: &[Vec<u8>]| Span { low: ends[0].clone(), high: ends.get(1).cloned() };
            let spans = Spans::sorted(ends.chunks(2).map(span).collect());
            let expected = keys.iter().filter(|key| spans.contains(key)).count();
            let mut found = 0;
            let places = top.places();
            for number in top.blocks_with(&spans) {
                let place = &places[number];
                let block = &object[place.start as usize..place.end as usize];
                entries(block, &top.blocks[number], |key, _| {
                    found += usize::from(spans.contains(key));
                })
                .unwrap();
            }
            prop_assert_eq!(found, expected);
        }
    }

    /// A look-up would miss such a record without an error.
    #[test]
    fn an_entry_of_no_bytes_is_damage() {
        let read = |bytes| {
            let mut blocks = Blocks::default();
            blocks.push(b"key", RecordLocation { first: 7, bytes });
            let block = blocks.end().unwrap();
            entries(&block, &blocks.done()[0], |_, _| {})
        };
        assert!(read(1).is_ok());
        assert!(read(0).is_err());
    }

    /// A forged top yields a list no longer than its own.
    #[test]
    fn blocks_in_no_order_are_named_once() {
        let top =
            TopMessage { blocks: vec![BlockMessage::default(); 100], ..TopMessage::default() };
        let points = (0..100_u8).map(|key| Span::point(vec![2 * key])).collect();
        assert_eq!(top.blocks_with(&Spans::sorted(points)), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn no_block_is_read_for_keys_that_none_has() {
        let keys: Vec<Vec<u8>> = (0..5000_u32).map(|n| n.to_be_bytes().to_vec()).collect();
        let blocks = |known, low: u32, high| {
            let (_, top) = object(&keys, known);
            top.blocks_with(&Span { low: low.to_be_bytes().to_vec(), high }.into()).len()
        };
        assert_eq!([blocks(true, 5000, None), blocks(true, 4999, None)], [0, 1]);
        assert_eq!(blocks(true, 7000, Some(vec![0xff])), 0);
        assert_eq!(blocks(false, 5000, None), 1);
        for key in
            [vec![], vec![7], vec![0xff; 64], vec![0xf4; 65], [vec![1; 63], vec![0xff; 9]].concat()]
        {
            let beyond = beyond(&key).unwrap();
            assert!(beyond > key && beyond.len() <= KEY_PREFIX + 1, "{key:?} {beyond:?}");
        }
        assert_eq!(beyond(&[0xff; 65]), None);
    }

    #[test]
    fn damage_is_noticed_wherever_it_is() {
        let keys: Vec<Vec<u8>> = (0..5000_u32).map(|n| n.to_be_bytes().to_vec()).collect();
        let (object, top) = object(&keys, true);
        assert!(top.blocks.len() > 1);
        let read = |object: &[u8]| {
            let top = TopMessage::of_tail(object, object.len() as u64)?;
            for (place, block) in top.places().into_iter().zip(&top.blocks) {
                entries(&object[place.start as usize..place.end as usize], block, |_, _| ())?;
            }
            Ok::<_, Damaged>(())
        };
        read(&object).unwrap();
        for at in (MAGIC.len()..object.len()).step_by(97) {
            let mut damaged = object.clone();
            damaged[at] ^= 0x10;
            assert!(read(&damaged).is_err(), "byte {at}");
            assert!(read(&object[..at]).is_err(), "cut at {at}");
            let mut shorter = object.clone();
            shorter.remove(at);
            assert!(read(&shorter).is_err(), "without byte {at}");
        }
        assert!(read(b"").is_err());
    }

    #[test]
    fn no_block_is_empty() {
        let (_, mut top) = object(&[b"a".to_vec()], true);
        let read = |top: &TopMessage| {
            let tail = top.to_tail();
            let blocks = top.places().last().map_or(0, |last| last.end);
            TopMessage::of_tail(&tail, blocks + tail.len() as u64)
        };
        assert!(read(&top).is_ok());
        top.blocks.push(BlockMessage { bytes: 0, ..top.blocks[0].clone() });
        assert_eq!(read(&top).unwrap_err().0, "a block of it is empty");
    }
}
