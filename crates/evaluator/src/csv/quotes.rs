//! Interprets quotes that are escaped by doubling, several words of 64 bytes at a time.
//!
//! A byte is inside quotes if the number of quotes before it is odd, which a prefix sum over the bits of a word
//! computes at once. Two rare cases disturb that parity and are corrected one by one: a quote that does not begin its
//! field is an ordinary character, and a record delimiter ends an open quoted field unless quoted fields may contain
//! record delimiters.
//!
//! The result agrees with the state machine of [`super::quoting`]. The state machine splits the records marked here,
//! whose quoted fields contain characters to remove.

use super::simd::WORD_BYTES;
use super::structure::{LANES, Words};
use super::syntax::Syntax;

/// Clears delimiters inside quotes, and all quotes except those in records that need the state machine. Returns
/// whether there are such records. The first field begins at `start`, which is in the first word. `usual` is
/// [`usual`] or an equivalent with vector instructions.
#[inline(always)]
pub(super) fn interpret(
    words: &mut Words,
    block: &[u8],
    start: usize,
    syntax: &Syntax,
    usual: impl Fn([&mut [u64; LANES]; 3], &mut PrecedingState, u64) -> Outcome,
) -> bool {
    let cuts = if syntax.quoted_record_delimiters { 0 } else { u64::MAX };
    let mut any_unusual = 0;
    let mut before = PrecedingState { inside: 0, boundary: 1 << start };
    let (fields, _) = words.field.as_chunks_mut::<LANES>();
    let (records, _) = words.record.as_chunks_mut::<LANES>();
    let (quotes, _) = words.quote.as_chunks_mut::<LANES>();
    for (at, ((field, record), quote)) in fields.iter_mut().zip(records).zip(quotes).enumerate() {
        match usual([&mut *field, &mut *record, &mut *quote], &mut before, cuts) {
            Outcome::Clear => continue,
            Outcome::Closing => {
                for (i, closing) in quote.iter_mut().enumerate() {
                    let first = (at * LANES + i) * WORD_BYTES;
                    *closing = beyond_quotes(*closing, block, first, syntax);
                }
            }
            Outcome::Disturbed => {
                let lanes = field.iter_mut().zip(record).zip(quote.iter_mut());
                for (i, ((field, record), quote)) in lanes.enumerate() {
                    let CorrectedWord { quotes, inside, boundary, unusual } =
                        correct([*field, *record, *quote], before, cuts);
                    before = PrecedingState { inside: sign(inside), boundary: boundary >> 63 };
                    *field &= !inside;
                    *record &= !inside;
                    let closing = quotes & !inside & !((*field | *record) >> 1);
                    let first = (at * LANES + i) * WORD_BYTES;
                    *quote = unusual | beyond_quotes(closing, block, first, syntax);
                }
            }
        }
        any_unusual |= quote.iter().fold(0, |any, word| any | word);
    }
    // A quote that is never closed is handled with the block's last record.
    if before.inside != 0
        && let Some(word) = words.quote.get_mut((block.len() - 1) / WORD_BYTES)
    {
        *word |= 1 << ((block.len() - 1) % WORD_BYTES);
        any_unusual = 1;
    }
    any_unusual != 0
}

/// The result of interpreting some words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Quotes enclose whole fields. Delimiters inside them and the quotes themselves are cleared.
    Clear,
    /// Like [`Self::Clear`], but some closing quotes remain, as no delimiter directly follows them in the same word.
    /// It may be in the next word, or after a carriage return.
    Closing,
    /// A quote stands in the middle of a field, or a record ends inside one. Nothing was changed.
    Disturbed,
}

/// Interprets the words of fields, records and quotes, unless the parity of the quotes is disturbed.
pub(super) fn usual(
    [field, record, quote]: [&mut [u64; LANES]; 3],
    before: &mut PrecedingState,
    cuts: u64,
) -> Outcome {
    let (mut inside, mut carry, mut last) = ([0; LANES], before.inside, before.boundary);
    let mut disturbing = 0;
    for (i, inside) in inside.iter_mut().enumerate() {
        *inside = parity(quote[i]) ^ carry;
        carry = sign(*inside);
        let boundary = (field[i] | record[i] | quote[i]) & !*inside;
        let literal = quote[i] & *inside & !((boundary << 1) | last);
        disturbing |= literal | (record[i] & *inside & cuts);
        last = boundary >> 63;
    }
    if disturbing != 0 {
        return Outcome::Disturbed;
    }
    *before = PrecedingState { inside: carry, boundary: last };
    let mut left = 0;
    for (i, inside) in inside.iter().enumerate() {
        field[i] &= !inside;
        record[i] &= !inside;
        // Unless a delimiter follows a closing quote, the field is more than its quoted text.
        quote[i] &= !inside & !((field[i] | record[i]) >> 1);
        left |= quote[i];
    }
    if left == 0 { Outcome::Clear } else { Outcome::Closing }
}

/// The state after the bytes before a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct PrecedingState {
    /// All bits are set if these bytes end inside quotes.
    pub(super) inside: u64,
    /// The lowest bit is set if these bytes end with a delimiter or a closing quote.
    pub(super) boundary: u64,
}

/// The meaning of a word after the parity of its quotes was corrected.
struct CorrectedWord {
    quotes: u64,
    inside: u64,
    boundary: u64,
    unusual: u64,
}

/// Clears quotes that are ordinary characters, and ends quoted fields at the record delimiters in `cuts`.
#[inline(never)]
fn correct(
    [field, record, mut quotes]: [u64; 3],
    before: PrecedingState,
    cuts: u64,
) -> CorrectedWord {
    let mut inside = parity(quotes) ^ before.inside;
    let mut unusual = 0;
    loop {
        let boundary = (field | record | quotes) & !inside;
        let literal = quotes & inside & !((boundary << 1) | before.boundary);
        let disturbing = literal | (record & inside & cuts);
        if disturbing == 0 {
            return CorrectedWord { quotes, inside, boundary, unusual };
        }
        let first = disturbing & disturbing.wrapping_neg();
        if literal & first != 0 {
            quotes &= !first;
        } else {
            unusual |= first;
        }
        // From there on, inside and outside are swapped.
        inside ^= first.wrapping_neg();
    }
}

/// Returns the closing quotes that no field ends after. The word describes the bytes from `first` on.
fn beyond_quotes(mut closing: u64, block: &[u8], first: usize, syntax: &Syntax) -> u64 {
    let mut beyond = 0;
    while closing != 0 {
        if !syntax.ends_field(block, first + closing.trailing_zeros() as usize + 1) {
            beyond |= closing & closing.wrapping_neg();
        }
        closing &= closing - 1;
    }
    beyond
}

/// Copies the highest bit to all bits.
#[inline(always)]
fn sign(bits: u64) -> u64 {
    (bits.cast_signed() >> 63).cast_unsigned()
}

/// Bit `i` of the result is the parity of bits `0..=i`.
#[inline(always)]
fn parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}
