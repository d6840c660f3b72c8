//! The bitmaps of the brackets and commas of a block.

use super::simd::{self, Bytes};
use crate::csv::{Level, WORD_BYTES};

/// The bitmaps of one 64-byte stretch of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Word {
    /// Commas outside of strings.
    pub(super) comma: u64,
    /// Brackets and braces outside of strings.
    pub(super) bracket: u64,
    /// Line feeds inside and outside of strings.
    pub(super) newline: u64,
}

/// The state between words, and a summary of all words so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WordCarry {
    /// All bits are set if the text so far ends inside a string.
    inside: u64,
    /// The lowest bit is set if a backslash at the end of the text so far escapes the next byte.
    escaped: u64,
    /// The bits of any word with a byte that is not ASCII, with a backslash outside of strings, and with a line feed
    /// inside a string.
    non_ascii: u64,
    stray: u64,
    broken: u64,
}

impl WordCarry {
    /// Returns the bits at which some word has a backslash outside of strings or, if values are lines, a line feed
    /// inside a string.
    fn doubtful(&self, lines: bool) -> u64 {
        self.stray | if lines { self.broken } else { 0 }
    }

    /// Interprets the next 64 bytes.
    #[inline(always)]
    pub(super) fn word(&mut self, bytes: Bytes) -> Word {
        let quote = bytes.quote & !self.escapes(bytes.backslash);
        let inside = prefix_parity(quote) ^ self.inside;
        self.inside = (inside.cast_signed() >> 63).cast_unsigned();
        self.non_ascii |= bytes.non_ascii;
        self.stray |= bytes.backslash & !inside;
        self.broken |= bytes.newline & inside;
        Word {
            comma: bytes.comma & !inside,
            bracket: bytes.bracket & !inside,
            newline: bytes.newline,
        }
    }

    /// Returns the bytes that a backslash escapes: those after an odd number of backslashes (simdjson's algorithm).
    #[inline(always)]
    fn escapes(&mut self, backslash: u64) -> u64 {
        const EVEN: u64 = 0x5555_5555_5555_5555;
        if backslash == 0 {
            return std::mem::take(&mut self.escaped);
        }
        let backslash = backslash & !self.escaped;
        let follows = backslash << 1 | self.escaped;
        let odd = backslash & !EVEN & !follows;
        let (even, overflow) = odd.overflowing_add(backslash);
        self.escaped = u64::from(overflow);
        (EVEN ^ even << 1) & follows
    }
}

/// Bit `i` of the result is the parity of bits `0..=i`.
#[inline(always)]
fn prefix_parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// The bitmaps of a block that begins outside of strings.
#[derive(Debug)]
pub(super) struct Structure {
    level: Level,
    /// One word for each 64 bytes.
    words: Vec<Word>,
    carry: WordCarry,
    /// True if each value is a line.
    lines: bool,
    /// The first position at which quotes may not begin and end strings.
    doubtful: usize,
}

impl Structure {
    /// Creates empty bitmaps. `lines` is true if each value is a line.
    pub(super) fn new(lines: bool) -> Self {
        let (level, carry) = (Level::detect(), WordCarry::default());
        Self { level, words: Vec::new(), carry, lines, doubtful: usize::MAX }
    }

    /// Describes `block`, which begins outside of strings.
    pub(super) fn index(&mut self, block: &[u8]) {
        self.words.clear();
        self.carry = WordCarry::default();
        let (blocks, rest) = block.as_chunks::<WORD_BYTES>();
        simd::index_blocks(self.level, blocks, &mut self.carry, &mut self.words);
        if !rest.is_empty() {
            let mut last = [0; WORD_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            simd::index_blocks(self.level, &[last], &mut self.carry, &mut self.words);
        }
        self.doubtful = match self.carry.doubtful(self.lines) {
            0 => usize::MAX,
            _ => self.first_ambiguous(block),
        };
    }

    /// Returns the first doubtful position, which the carry only locates within some word.
    #[cold]
    fn first_ambiguous(&self, block: &[u8]) -> usize {
        let mut carry = WordCarry::default();
        let mut words = Vec::new();
        for (at, bytes) in block.chunks(WORD_BYTES).enumerate() {
            let mut chunk = [0; WORD_BYTES];
            chunk[..bytes.len()].copy_from_slice(bytes);
            simd::index_blocks(self.level, &[chunk], &mut carry, &mut words);
            let doubtful = carry.doubtful(self.lines);
            if doubtful != 0 {
                return at * WORD_BYTES + doubtful.trailing_zeros() as usize;
            }
        }
        0
    }

    /// Returns whether every byte is ASCII.
    pub(super) fn is_ascii(&self) -> bool {
        self.carry.non_ascii == 0
    }

    /// Returns the first position at which quotes may not begin and end strings: a backslash outside of strings or,
    /// if values are lines, a line feed inside one. Returns a position past the end if there is none. A value with
    /// such a position is not JSON.
    #[inline]
    pub(super) fn doubtful(&self) -> usize {
        self.doubtful
    }

    /// Returns the first line feed at or after `from`.
    #[inline]
    pub(super) fn next_newline(&self, from: usize) -> Option<usize> {
        let first = from / WORD_BYTES;
        let mut bits = self.words.get(first)?.newline & (u64::MAX << (from % WORD_BYTES));
        let mut at = first;
        while bits == 0 {
            at += 1;
            bits = self.words.get(at)?.newline;
        }
        Some(at * WORD_BYTES + bits.trailing_zeros() as usize)
    }

    /// Returns the brackets at and after `from`, and the commas if `COMMAS` is true.
    #[inline]
    pub(super) fn marks<const COMMAS: bool>(&self, from: usize) -> Marks<'_, COMMAS> {
        let at = from / WORD_BYTES;
        let bits = self.words.get(at).map_or(0, Marks::<COMMAS>::bits_of);
        Marks { words: &self.words, at, bits: bits & (u64::MAX << (from % WORD_BYTES)) }
    }
}

/// Iterates over the positions of marks.
#[derive(Debug)]
pub(super) struct Marks<'a, const COMMAS: bool> {
    words: &'a [Word],
    at: usize,
    bits: u64,
}

impl<const COMMAS: bool> Marks<'_, COMMAS> {
    #[inline(always)]
    fn bits_of(word: &Word) -> u64 {
        if COMMAS { word.bracket | word.comma } else { word.bracket }
    }
}

impl<const COMMAS: bool> Iterator for Marks<'_, COMMAS> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.at += 1;
            self.bits = Self::bits_of(self.words.get(self.at)?);
        }
        let mark = self.at * WORD_BYTES + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(mark)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A state machine that reads byte by byte finds the same marks.
        #[test]
        fn strings_are_told_from_the_rest(
            parts in prop::collection::vec(
                prop_oneof![
                    6 => prop::sample::select(vec!["\"", "\\", ",", "{", "}", "[", "]", "\n", "a"]),
                    1 => Just("\\\\\\\\\\\\\\"), 1 => Just("é"),
                    1 => Just("0123456789012345678901234567890123456789012345678901234567"),
                ],
                0..80,
            ),
        ) {
            let text = parts.concat();
            let (mut inside, mut escaped) = (false, false);
            let (mut marks, mut brackets, mut newlines) = (Vec::new(), Vec::new(), Vec::new());
            let (mut stray, mut broken) = (Vec::new(), Vec::new());
            for (at, byte) in text.bytes().enumerate() {
                let literal = std::mem::take(&mut escaped);
                match byte {
                    b'"' if !literal => inside = !inside,
                    b'\\' => {
                        escaped = !literal;
                        stray.extend((!inside).then_some(at));
                    }
                    b'\n' => {
                        newlines.push(at);
                        broken.extend(inside.then_some(at));
                    }
                    b',' if !inside => marks.push(at),
                    b'{' | b'}' | b'[' | b']' if !inside => {
                        marks.push(at);
                        brackets.push(at);
                    }
                    _ => {}
                }
            }
            let mut structure = Structure::new(false);
            structure.index(text.as_bytes());
            prop_assert_eq!(structure.marks::<true>(0).collect::<Vec<_>>(), marks.clone());
            prop_assert_eq!(structure.marks::<false>(0).collect::<Vec<_>>(), brackets);
            let half = text.len() / 2;
            let behind: Vec<_> = structure.marks::<true>(half).collect();
            prop_assert!(behind.iter().eq(marks.iter().filter(|mark| **mark >= half)));
            let lines = std::iter::successors(structure.next_newline(0), |newline| {
                structure.next_newline(newline + 1)
            });
            prop_assert_eq!(lines.collect::<Vec<_>>(), newlines);
            let first = |doubts: &[usize]| doubts.first().copied().unwrap_or(usize::MAX);
            prop_assert_eq!(structure.doubtful(), first(&stray));
            prop_assert_eq!(structure.is_ascii(), text.is_ascii());
            let mut structure = Structure::new(true);
            structure.index(text.as_bytes());
            prop_assert_eq!(structure.doubtful(), first(&stray).min(first(&broken)));
        }
    }
}
