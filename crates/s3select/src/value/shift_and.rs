//! Searches for a text with wildcards for single characters.

use memchr::memmem::Finder;

use super::text::starts_char;

/// The number of words of state that are computed between two calls of `stop`: some milliseconds.
const CANCEL_CHECK_WORDS: usize = 1 << 22;

/// Finds the first occurrence of a sequence of bytes and single-character wildcards.
///
/// The time is proportional to the text's length times the sequence's length / 64. The algorithm is Shift-And, by
/// Baeza-Yates and Gonnet: bit `i` of the state is set if the text so far ends with the first `i + 1` elements.
#[derive(Debug, Clone)]
pub(super) struct ShiftAnd {
    /// A search for the longest run of bytes without a wildcard, which most texts do not contain.
    longest: Box<Finder<'static>>,
    /// The number of 64-bit words of the state.
    words: usize,
    /// For each byte, the index of the row of `masks` with the places where it may occur.
    rows: Box<[u16; 256]>,
    /// The masks, in rows of `words` words.
    masks: Vec<u64>,
    /// The mask of the wildcards.
    any: Vec<u64>,
    /// The mask of the last element in the last word.
    last: u64,
}

impl ShiftAnd {
    /// Compiles a sequence in which `None` is a wildcard. It must not be empty.
    pub(super) fn new(sequence: &[Option<u8>]) -> Self {
        let words = sequence.len().div_ceil(64);
        let mut any = vec![0_u64; words];
        // The first two rows are for bytes that the sequence does not contain: bytes that continue a character, and
        // all others.
        let mut masks = vec![0_u64; 2 * words];
        let mut rows = Box::new(std::array::from_fn(|byte| u16::from(starts_char(byte as u8))));
        for (i, element) in sequence.iter().enumerate() {
            let (word, bit) = (i / 64, 1 << (i % 64));
            match element {
                None => any[word] |= bit,
                Some(byte) => {
                    let row = &mut rows[usize::from(*byte)];
                    if *row < 2 {
                        *row = (masks.len() / words) as u16;
                        masks.resize(masks.len() + words, 0);
                    }
                    masks[usize::from(*row) * words + word] |= bit;
                }
            }
        }
        for (byte, row) in rows.iter().enumerate() {
            if starts_char(byte as u8) {
                let row = &mut masks[usize::from(*row) * words..][..words];
                row.iter_mut().zip(&any).for_each(|(mask, any)| *mask |= any);
            }
        }
        let literals = sequence.split(Option::is_none);
        let longest = literals.max_by_key(|literal| literal.len()).unwrap_or_default();
        let longest: Vec<u8> = longest.iter().flatten().copied().collect();
        Self {
            longest: Box::new(Finder::new(&longest).into_owned()),
            words,
            rows,
            masks,
            any,
            last: 1 << ((sequence.len() - 1) % 64),
        }
    }

    /// The end of the first occurrence. Returns `None` also if `stop` returns true.
    pub(super) fn find(&self, text: &[u8], stop: &dyn Fn() -> bool) -> Option<usize> {
        self.longest.find(text)?;
        let mut state = vec![0_u64; self.words];
        let mut since_asked = 0;
        for (at, byte) in text.iter().enumerate() {
            since_asked += self.words;
            if since_asked > CANCEL_CHECK_WORDS {
                since_asked = 0;
                if stop() {
                    return None;
                }
            }
            let row = usize::from(self.rows[usize::from(*byte)]);
            let masks = &self.masks[row * self.words..][..self.words];
            // A wildcard matches all bytes of its character.
            let goes_on = if starts_char(*byte) { 0 } else { u64::MAX };
            let mut carry = 1;
            for ((state, mask), any) in state.iter_mut().zip(masks).zip(&self.any) {
                let next = (((*state << 1) | carry) & mask) | (*state & any & goes_on);
                carry = *state >> 63;
                *state = next;
            }
            if state.last().is_some_and(|word| word & self.last != 0) {
                let rest = text[at + 1..].iter().take_while(|byte| !starts_char(**byte));
                return Some(at + 1 + rest.count());
            }
        }
        None
    }
}
