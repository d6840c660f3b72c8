//! Interprets quotes where they are escaped by doubling, 64 bytes at a time.
//!
//! Whether a byte is inside quotes is the parity of the quotes before it, which a prefix sum
//! over the bits of a word gives at once. Two things disturb that parity and, being rare, are
//! corrected one by one: a quote that does not begin its field is a character like any other, and
//! a record delimiter ends a quoted field that is still open, unless it may stand in one.
//!
//! The result agrees with the state machine of [`super::quoting`], which splits the records marked
//! here: those whose quoted fields hold something to be removed.

use super::simd::WORD_BYTES;
use super::structure::Word;
use super::syntax::Syntax;

/// Clears delimiters inside quotes, and all quotes but those whose records need
/// the state machine; says whether there are any. The first field begins at `start`, which is in
/// the first word.
pub(super) fn interpret(words: &mut [Word], block: &[u8], start: usize, syntax: &Syntax) -> bool {
    let mut any_unusual = 0;
    // Whether the word before ends inside quotes, in all bits, and whether it ends with a
    // delimiter or a closing quote, in the lowest.
    let mut inside_before = 0_u64;
    let mut boundary_before = 1_u64 << start;
    for (i, word) in words.iter_mut().enumerate() {
        if word.quote | inside_before == 0 {
            boundary_before = (word.field | word.record) >> 63;
            continue;
        }
        let mut quotes = word.quote;
        let mut inside = prefix_parity(quotes) ^ inside_before;
        let mut unusual = 0;
        let boundary = loop {
            let boundary = (word.field | word.record | quotes) & !inside;
            let literal = quotes & inside & !((boundary << 1) | boundary_before);
            let cut = if syntax.quoted_record_delimiters { 0 } else { word.record & inside };
            let disturbing = literal | cut;
            if disturbing == 0 {
                break boundary;
            }
            let first = disturbing & disturbing.wrapping_neg();
            if literal & first != 0 {
                quotes &= !first;
            } else {
                unusual |= first;
            }
            // From there on, inside and outside are swapped.
            inside ^= first.wrapping_neg();
        };
        word.field &= !inside;
        word.record &= !inside;
        // Unless a delimiter follows a closing quote, the field is more than its quoted text.
        let mut closing = quotes & !inside & !((word.field | word.record) >> 1);
        while closing != 0 {
            let behind = i * WORD_BYTES + closing.trailing_zeros() as usize + 1;
            if !syntax.ends_field(block, behind) {
                unusual |= closing & closing.wrapping_neg();
            }
            closing &= closing - 1;
        }
        word.quote = unusual;
        any_unusual |= unusual;
        inside_before = if inside >> 63 == 1 { u64::MAX } else { 0 };
        boundary_before = boundary >> 63;
    }
    // A quote that is never closed is handled with the block's last record.
    if inside_before != 0
        && let Some(word) = words.last_mut()
    {
        word.quote |= 1 << ((block.len() - 1) % WORD_BYTES);
        any_unusual = 1;
    }
    any_unusual != 0
}

/// Bit `i` of the result is the parity of bits `0..=i`.
fn prefix_parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
