//! Finds single fields of records among the bitmaps of their block.

use super::simd::WORD_BYTES;
use super::structure::Word;
use crate::selection::Rows;
use crate::vector::Span;

/// Where a field's bytes are; [`Span::MISSING`] if its record is too short to have it.
pub(super) type FieldSpan = Span;

/// The records of a block: where each one is, without its delimiter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) words: &'a [Word],
    pub(super) starts: &'a [u32],
    pub(super) ends: &'a [u32],
    /// Bytes of the field delimiter.
    pub(super) delimiter_bytes: u32,
    pub(super) block: &'a [u8],
    /// The quote that may enclose a field.
    pub(super) quote: Option<u8>,
}

/// Finds field `column` (from 0) of each row. `select(bits, n)` is the position of the `n`-th set bit, from 0; it is a parameter so that the loop can be
/// compiled for machines that have an instruction for it.
#[inline(always)]
pub(super) fn find_column(
    fields: &Fields<'_>,
    column: usize,
    rows: Rows<'_>,
    out: &mut [FieldSpan],
    select: impl Fn(u64, u32) -> u32,
) {
    let column = column as u32;
    // Plain loops: closures would not be compiled for the caller's instruction set.
    match rows {
        Rows::All(n) => {
            for (row, span) in out.iter_mut().enumerate().take(n) {
                *span = find_field(fields, column, row, &select);
            }
        }
        Rows::List(rows) => {
            for &row in rows {
                let row = row as usize;
                out[row] = find_field(fields, column, row, &select);
            }
        }
    }
    if let Some(quote) = fields.quote {
        rows.for_each(|row| out[row] = trim(fields.block, quote, out[row]));
    }
}

/// The field without its quotes, if it has any. Where quotes do not come in pairs, the state
/// machine's result replaces this.
#[inline(always)]
fn trim(block: &[u8], quote: u8, field: FieldSpan) -> FieldSpan {
    if field.len() >= 2 && block.get(field.start()) == Some(&quote) {
        return Span::new(field.start() as u32 + 1, field.len() as u32 - 2);
    }
    field
}

#[inline(always)]
fn find_field(
    fields: &Fields<'_>,
    column: u32,
    row: usize,
    select: impl Fn(u64, u32) -> u32,
) -> FieldSpan {
    const BITS: u32 = WORD_BYTES as u32;
    let (record_start, record_end) = (fields.starts[row], fields.ends[row]);
    let words = fields.words;
    let end_word = record_end.div_ceil(BITS);
    let mut at = record_start / BITS;
    let Some(word) = words.get(at as usize) else {
        // Only an empty record at the very end of a block starts after the last word.
        return if column == 0 { Span::new(record_start, 0) } else { Span::MISSING };
    };
    let mut bits = word.field & (u64::MAX << (record_start % BITS));
    let mut start = record_start;
    if column > 0 {
        let mut skip = column;
        loop {
            let count = bits.count_ones();
            if count >= skip {
                break;
            }
            skip -= count;
            at += 1;
            if at >= end_word {
                return Span::MISSING;
            }
            bits = words[at as usize].field;
        }
        let bit = select(bits, skip - 1);
        start = at * BITS + bit + 1;
        if start > record_end {
            return Span::MISSING;
        }
        // Clears the bits up to and including `bit`, which may be the last one.
        bits &= (u64::MAX << bit) << 1;
    }
    while bits == 0 {
        at += 1;
        if at >= end_word {
            return Span::new(start, record_end - start);
        }
        bits = words[at as usize].field;
    }
    let delimiter_start = at * BITS + bits.trailing_zeros() + 1 - fields.delimiter_bytes;
    Span::new(start, delimiter_start.clamp(start, record_end) - start)
}

/// The position of the `n`-th set bit of `bits`, from 0; it must exist.
#[inline]
pub(super) fn select_scalar(mut bits: u64, n: u32) -> u32 {
    for _ in 0..n {
        bits &= bits - 1;
    }
    bits.trailing_zeros()
}
