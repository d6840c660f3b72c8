//! Where the delimiters of a block are, as bitmaps.

use super::simd::{self, Level, WORD_BYTES};

/// The bytes looked for: the last byte of each delimiter, the first of the quote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    pub(super) field: u8,
    pub(super) record: u8,
    pub(super) quote: Option<u8>,
}

/// Bit `i` of each map stands for byte `i` of one 64-byte stretch of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Word {
    pub(super) field: u64,
    pub(super) record: u64,
    pub(super) quote: u64,
}

/// What a block holds at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Seen {
    pub(super) quote: bool,
    pub(super) non_ascii: bool,
}

/// The bitmaps of a block. Quotes are only marked here, not interpreted: a record without any
/// needs no interpretation, and those are the rule.
#[derive(Debug)]
pub(super) struct Structure {
    pub(super) level: Level,
    /// One word per 64 bytes.
    pub(super) words: Vec<Word>,
    pub(super) seen: Seen,
    field_delimiter: Box<[u8]>,
    record_delimiter: Box<[u8]>,
    marks: Marks,
}

impl Structure {
    /// Delimiters must not be empty.
    pub(super) fn new(field: &str, record: &str, quote: Option<char>) -> Self {
        let last = |delimiter: &str| delimiter.as_bytes().last().copied().unwrap_or_default();
        let quote = quote.map(|q| q.encode_utf8(&mut [0; 4]).as_bytes()[0]);
        Self {
            level: Level::detect(),
            words: Vec::new(),
            seen: Seen::default(),
            field_delimiter: field.as_bytes().into(),
            record_delimiter: record.as_bytes().into(),
            marks: Marks { field: last(field), record: last(record), quote },
        }
    }

    /// Describes `block` instead of whatever was described before.
    pub(super) fn index(&mut self, block: &[u8]) {
        self.words.clear();
        let (blocks, rest) = block.as_chunks::<WORD_BYTES>();
        self.seen = simd::index_blocks(self.level, blocks, self.marks, &mut self.words);
        if !rest.is_empty() {
            let mut last = [0; WORD_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            let seen = simd::index_blocks(self.level, &[last], self.marks, &mut self.words);
            self.seen.quote |= seen.quote;
            self.seen.non_ascii |= seen.non_ascii;
            let inside = (1 << rest.len()) - 1;
            if let Some(word) = self.words.last_mut() {
                word.field &= inside;
                word.record &= inside;
                word.quote &= inside;
            }
        }
        if self.field_delimiter.len() > 1 {
            verify(&mut self.words, block, &self.field_delimiter, |word| &mut word.field);
        }
        if self.record_delimiter.len() > 1 {
            verify(&mut self.words, block, &self.record_delimiter, |word| &mut word.record);
        }
    }

    /// The last byte of the first record delimiter at or behind `from`.
    #[inline]
    pub(super) fn next_record_mark(&self, from: usize) -> Option<usize> {
        next(&self.words, from, |word| word.record)
    }

    /// The last byte of the first field delimiter at or behind `from`.
    pub(super) fn next_field_mark(&self, from: usize) -> Option<usize> {
        next(&self.words, from, |word| word.field)
    }

    /// Whether a quote is in `start..end`.
    #[inline]
    pub(super) fn has_quote(&self, start: usize, end: usize) -> bool {
        self.seen.quote && next(&self.words, start, |word| word.quote).is_some_and(|at| at < end)
    }
}

/// Clears marks that are not preceded by the rest of a longer delimiter.
fn verify(words: &mut [Word], block: &[u8], delimiter: &[u8], map: impl Fn(&mut Word) -> &mut u64) {
    for (i, word) in words.iter_mut().enumerate() {
        let map = map(word);
        let mut left = *map;
        while left != 0 {
            let at = i * WORD_BYTES + left.trailing_zeros() as usize;
            if !block[..=at].ends_with(delimiter) {
                *map &= !(left & left.wrapping_neg());
            }
            left &= left - 1;
        }
    }
}

#[inline]
fn next(words: &[Word], from: usize, map: impl Fn(&Word) -> u64) -> Option<usize> {
    let first = from / WORD_BYTES;
    let mut bits = map(words.get(first)?) & (u64::MAX << (from % WORD_BYTES));
    let mut at = first;
    while bits == 0 {
        at += 1;
        bits = map(words.get(at)?);
    }
    Some(at * WORD_BYTES + bits.trailing_zeros() as usize)
}
