//! Interprets quotes where they are escaped by doubling, 64 bytes in a word and some words at a time.
//!
//! Whether a byte is inside quotes is the parity of the quotes before it, which a prefix sum
//! over the bits of a word gives at once. Two things disturb that parity and, being rare, are
//! corrected one by one: a quote that does not begin its field is a character like any other, and
//! a record delimiter ends a quoted field that is still open, unless it may stand in one.
//!
//! The result agrees with the state machine of [`super::quoting`], which splits the records marked
//! here: those whose quoted fields hold something to be removed.

use super::simd::WORD_BYTES;
use super::structure::{LANES, Words};
use super::syntax::Syntax;

/// Clears delimiters inside quotes, and all quotes but those whose records need
/// the state machine; says whether there are any. The first field begins at `start`, which is in
/// the first word. `usual` is [`usual`] or the same for the vectors of some machine.
#[inline(always)]
pub(super) fn interpret(
    words: &mut Words,
    block: &[u8],
    start: usize,
    syntax: &Syntax,
    usual: impl Fn([&mut [u64; LANES]; 3], &mut Before, u64) -> Outcome,
) -> bool {
    let cuts = if syntax.quoted_record_delimiters { 0 } else { u64::MAX };
    let mut any_unusual = 0;
    let mut before = Before { inside: 0, boundary: 1 << start };
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
                    let Corrected { quotes, inside, boundary, unusual } =
                        correct([*field, *record, *quote], before, cuts);
                    before = Before { inside: sign(inside), boundary: boundary >> 63 };
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

/// What was found in some words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Quotes enclose whole fields: delimiters inside of them are cleared, and so are the quotes.
    Clear,
    /// The same, but for the closing quotes that are left: no delimiter is seen behind them. It may be in
    /// the next word, or a carriage return may be between.
    Closing,
    /// A quote stands amid a field, or a record ends within one; nothing was changed.
    Disturbed,
}

/// Interprets the words of fields, records and quotes, unless there is a surprise among them.
pub(super) fn usual(
    [field, record, quote]: [&mut [u64; LANES]; 3],
    before: &mut Before,
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
    *before = Before { inside: carry, boundary: last };
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

/// What is known of the bytes before a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    /// Whether they end inside quotes, in all bits.
    pub(super) inside: u64,
    /// Whether they end with a delimiter or a closing quote, in the lowest bit.
    pub(super) boundary: u64,
}

/// What a word means once what disturbs the parity of its quotes is corrected.
struct Corrected {
    quotes: u64,
    inside: u64,
    boundary: u64,
    unusual: u64,
}

/// Takes out quotes that are characters like any other, and ends quoted fields at record delimiters
/// (those in `cuts`).
#[inline(never)]
fn correct([field, record, mut quotes]: [u64; 3], before: Before, cuts: u64) -> Corrected {
    let mut inside = parity(quotes) ^ before.inside;
    let mut unusual = 0;
    loop {
        let boundary = (field | record | quotes) & !inside;
        let literal = quotes & inside & !((boundary << 1) | before.boundary);
        let disturbing = literal | (record & inside & cuts);
        if disturbing == 0 {
            return Corrected { quotes, inside, boundary, unusual };
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

/// Those of the closing quotes, in the word of the bytes from `first` on, that no field ends behind.
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

/// The highest bit, in all bits.
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
