//! Finds single fields of records with the bitmaps of their block.

use std::hint::select_unpredictable;

use super::simd::WORD_BYTES;
use super::structure::BEHIND;
use crate::selection::Rows;
use crate::vector::Span;

/// The position of a field's bytes, or [`Span::MISSING`] if its record has too few fields.
pub(super) type FieldSpan = Span;

/// The records of a block, without their delimiters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    /// The bitmap of field delimiters.
    pub(super) marks: &'a [u64],
    pub(super) starts: &'a [u32],
    pub(super) ends: &'a [u32],
    /// The length of the field delimiter in bytes.
    pub(super) delimiter_bytes: u32,
    pub(super) block: &'a [u8],
    /// The quote character that may enclose a field.
    pub(super) quote: Option<u8>,
}

/// Finds field `column` (from 0) of each row. `select(bits, n)` returns the position of the `n`-th set bit, from 0;
/// it is a parameter so that the loop can be compiled for machines that have an instruction for it.
#[inline(always)]
pub(super) fn find_column(
    fields: &Fields<'_>,
    column: usize,
    rows: Rows<'_>,
    out: &mut [FieldSpan],
    select: impl Fn(u64, u32) -> u32,
) {
    // Plain loops, because closures would not be compiled for the caller's instruction set.
    match rows {
        Rows::All(n) => {
            let records = fields.starts[..n].iter().zip(&fields.ends[..n]);
            for (span, (&start, &end)) in out[..n].iter_mut().zip(records) {
                *span = find(fields, column as u32, start, end, &select);
            }
        }
        Rows::List(rows) => {
            for &row in rows {
                let row = row as usize;
                let (start, end) = (fields.starts[row], fields.ends[row]);
                out[row] = find(fields, column as u32, start, end, &select);
            }
        }
    }
}

#[inline(always)]
fn find(
    fields: &Fields<'_>,
    column: u32,
    start: u32,
    end: u32,
    select: impl Fn(u64, u32) -> u32,
) -> FieldSpan {
    let found = match column {
        0 => first_field(fields, start, end),
        _ => find_field(fields, column, start, end, select),
    };
    match fields.quote {
        Some(quote) => trim(fields.block, quote, found),
        None => found,
    }
}

/// Returns the field without its quotes, if it has any. If quotes do not come in pairs, the result of the state
/// machine replaces this one.
#[inline(always)]
fn trim(block: &[u8], quote: u8, field: FieldSpan) -> FieldSpan {
    if field.len() >= 2 && block.get(field.start()) == Some(&quote) {
        return Span::new(field.start() as u32 + 1, field.len() as u32 - 2);
    }
    field
}

/// The number of bytes that a word describes, as a `u32`.
const BITS: u32 = WORD_BYTES as u32;

/// Finds the first field of a record.
#[inline(always)]
fn first_field(fields: &Fields<'_>, start: u32, end: u32) -> FieldSpan {
    let Some([bits, next]) = window(fields, start / BITS) else { return Span::new(start, 0) };
    let bits = bits & (u64::MAX << (start % BITS));
    let is_behind = bits == 0;
    let bits = select_unpredictable(is_behind, next, bits);
    let at = start / BITS + u32::from(is_behind);
    if bits == 0 { field_to(fields, start, at, end) } else { field(fields, start, at, bits, end) }
}

/// Finds a later field of a record. No branch depends on which of three words contains a mark, because that differs
/// from row to row and would be mispredicted half of the time.
#[inline(always)]
fn find_field(
    fields: &Fields<'_>,
    column: u32,
    start: u32,
    end: u32,
    select: impl Fn(u64, u32) -> u32,
) -> FieldSpan {
    let first = start / BITS;
    let Some(words): Option<[u64; BEHIND]> = window(fields, first) else { return Span::MISSING };
    let bits = words[0] & (u64::MAX << (start % BITS));
    let (in_first, in_second) = (bits.count_ones(), words[1].count_ones());
    let (behind_first, behind_second) = (column > in_first, column > in_first + in_second);
    let bits = select_unpredictable(behind_first, words[1], bits);
    let bits = select_unpredictable(behind_second, words[2], bits);
    let skip = column
        - select_unpredictable(behind_first, in_first, 0)
        - select_unpredictable(behind_second, in_second, 0);
    let next = select_unpredictable(behind_first, words[2], words[1]);
    let next = select_unpredictable(behind_second, words[3], next);
    let at = first + u32::from(behind_first) + u32::from(behind_second);
    if bits.count_ones() < skip {
        return find_farther(fields, skip, at, end);
    }
    let bit = select(bits, skip - 1);
    let start = at * BITS + bit + 1;
    if start > end {
        return Span::MISSING;
    }
    // Clears the bits up to and including `bit`, which may be the last one.
    let bits = bits & (u64::MAX << bit) << 1;
    let is_behind = bits == 0;
    let bits = select_unpredictable(is_behind, next, bits);
    let at = at + u32::from(is_behind);
    if bits == 0 { field_to(fields, start, at, end) } else { field(fields, start, at, bits, end) }
}

/// Returns the words from index `at` on. Returns `None` only after the block, which may end with an empty record.
#[inline(always)]
fn window<const N: usize>(fields: &Fields<'_>, at: u32) -> Option<[u64; N]> {
    fields.marks.get(at as usize..)?.first_chunk().copied()
}

/// Returns the field from `start` to the first of `bits`, which are from word `at`.
#[inline(always)]
fn field(fields: &Fields<'_>, start: u32, at: u32, bits: u64, end: u32) -> FieldSpan {
    let delimiter = at * BITS + bits.trailing_zeros() + 1 - fields.delimiter_bytes;
    Span::new(start, delimiter.clamp(start, end) - start)
}

/// Returns the field from `start` to the first mark after word `at`, or to the end of the record.
#[inline(never)]
fn field_to(fields: &Fields<'_>, start: u32, at: u32, end: u32) -> FieldSpan {
    for at in at + 1..end.div_ceil(BITS) {
        let bits = fields.marks[at as usize];
        if bits != 0 {
            return field(fields, start, at, bits, end);
        }
    }
    Span::new(start, end - start)
}

/// Returns the field after the `skip`-th mark, counted from word `at`.
#[inline(never)]
fn find_farther(fields: &Fields<'_>, mut skip: u32, mut at: u32, end: u32) -> FieldSpan {
    let mut bits = fields.marks[at as usize];
    while bits.count_ones() < skip {
        skip -= bits.count_ones();
        at += 1;
        if at >= end.div_ceil(BITS) {
            return Span::MISSING;
        }
        bits = fields.marks[at as usize];
    }
    let bit = select_scalar(bits, skip - 1);
    let start = at * BITS + bit + 1;
    if start > end {
        return Span::MISSING;
    }
    let bits = bits & (u64::MAX << bit) << 1;
    if bits == 0 { field_to(fields, start, at, end) } else { field(fields, start, at, bits, end) }
}

/// Returns the position of the `n`-th set bit of `bits`, from 0; it must exist.
#[inline]
pub(super) fn select_scalar(mut bits: u64, n: u32) -> u32 {
    for _ in 0..n {
        bits &= bits - 1;
    }
    bits.trailing_zeros()
}
