//! Finds delimiters, 64 bytes at a time, and fields among them.
//!
//! This module and its like for JSON are those of the crate with `unsafe`: the vector instructions of the machine it
//! runs on are only known at run time, and calling code that was compiled for them is unsafe.
//! Every function has a scalar twin that must agree with it (property-tested below) and is what other
//! machines run. Miri checks the tests below on x86-64 (CONTRIBUTING says how).
#![expect(unsafe_code, reason = "calls code compiled for instructions detected at run time")]

use super::fields::{self, FieldSpan, Fields};
use super::structure::{Marks, Seen, Word};
use crate::selection::Rows;

/// Bytes that one [`Word`] describes.
pub(crate) const WORD_BYTES: usize = 64;

/// What this machine offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Level {
    /// The best that this machine can run.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let bits = is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt");
            if bits && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
                return Self::Avx512;
            }
            if bits && is_x86_feature_detected!("avx2") {
                return Self::Avx2;
            }
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        if std::arch::is_aarch64_feature_detected!("neon") {
            return Self::Neon;
        }
        Self::Scalar
    }
}

/// Marks the delimiters of whole 64-byte blocks.
pub(super) fn index_blocks(
    level: Level,
    blocks: &[[u8; WORD_BYTES]],
    marks: Marks,
    words: &mut Vec<Word>,
) -> Seen {
    match level {
        Level::Scalar => index_scalar(blocks, marks, words),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `detect` saw the features that the function was compiled for.
        Level::Avx2 => unsafe { x86::index_avx2(blocks, marks, words) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512 => unsafe { x86::index_avx512(blocks, marks, words) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Level::Neon => unsafe { arm::index_neon(blocks, marks, words) },
    }
}

/// Finds one field of every row in `rows`, see [`fields::find_column`].
pub(super) fn find_column(
    level: Level,
    fields: &Fields<'_>,
    column: usize,
    rows: Rows<'_>,
    out: &mut [FieldSpan],
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: both levels are only detected together with the features named there.
        Level::Avx2 | Level::Avx512 => unsafe { x86::find_column(fields, column, rows, out) },
        _ => fields::find_column(fields, column, rows, out, fields::select_scalar),
    }
}

fn index_scalar(blocks: &[[u8; WORD_BYTES]], marks: Marks, words: &mut Vec<Word>) -> Seen {
    let mut seen = Seen::default();
    for block in blocks {
        let mut word = Word::default();
        for (i, &byte) in block.iter().enumerate() {
            word.field |= u64::from(byte == marks.field) << i;
            word.record |= u64::from(byte == marks.record) << i;
            word.quote |= u64::from(Some(byte) == marks.quote) << i;
            seen.non_ascii |= byte >= 0x80;
        }
        seen.quote |= word.quote != 0;
        words.push(word);
    }
    seen
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{FieldSpan, Fields, Marks, Rows, Seen, WORD_BYTES, Word, fields};

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn index_avx512(
        blocks: &[[u8; WORD_BYTES]],
        marks: Marks,
        words: &mut Vec<Word>,
    ) -> Seen {
        let field = _mm512_set1_epi8(marks.field.cast_signed());
        let record = _mm512_set1_epi8(marks.record.cast_signed());
        let quote = _mm512_set1_epi8(marks.quote.unwrap_or_default().cast_signed());
        let quoting = if marks.quote.is_some() { u64::MAX } else { 0 };
        let mut quotes = 0;
        let mut seen = _mm512_setzero_si512();
        words.extend(blocks.iter().map(|block| {
            // SAFETY: the load is unaligned and reads the 64 bytes that `block` has.
            let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            seen = _mm512_or_si512(seen, bytes);
            let quote = _mm512_cmpeq_epi8_mask(bytes, quote) & quoting;
            quotes |= quote;
            Word {
                field: _mm512_cmpeq_epi8_mask(bytes, field),
                record: _mm512_cmpeq_epi8_mask(bytes, record),
                quote,
            }
        }));
        Seen { quote: quotes != 0, non_ascii: _mm512_movepi8_mask(seen) != 0 }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn index_avx2(
        blocks: &[[u8; WORD_BYTES]],
        marks: Marks,
        words: &mut Vec<Word>,
    ) -> Seen {
        let field = _mm256_set1_epi8(marks.field.cast_signed());
        let record = _mm256_set1_epi8(marks.record.cast_signed());
        let quote = _mm256_set1_epi8(marks.quote.unwrap_or_default().cast_signed());
        let quoting = if marks.quote.is_some() { u64::MAX } else { 0 };
        let mut quotes = 0;
        let mut seen = _mm256_setzero_si256();
        words.extend(blocks.iter().map(|block| {
            // SAFETY: the loads are unaligned and read the two halves of the 64 bytes of `block`.
            let (low, high) = unsafe {
                let at: *const __m256i = block.as_ptr().cast();
                (_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1)))
            };
            seen = _mm256_or_si256(seen, _mm256_or_si256(low, high));
            let equal = |mark| {
                let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, mark)).cast_unsigned();
                let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, mark)).cast_unsigned();
                u64::from(low) | u64::from(high) << 32
            };
            let quote = equal(quote) & quoting;
            quotes |= quote;
            Word { field: equal(field), record: equal(record), quote }
        }));
        Seen { quote: quotes != 0, non_ascii: _mm256_movemask_epi8(seen) != 0 }
    }

    #[target_feature(enable = "bmi1,bmi2,popcnt")]
    pub(super) fn find_column(
        fields: &Fields<'_>,
        column: usize,
        rows: Rows<'_>,
        out: &mut [FieldSpan],
    ) {
        fields::find_column(fields, column, rows, out, |bits, n| {
            _pdep_u64(1 << n, bits).trailing_zeros()
        })
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    use std::arch::aarch64::*;

    use super::{Marks, Seen, WORD_BYTES, Word};

    #[target_feature(enable = "neon")]
    pub(super) fn index_neon(
        blocks: &[[u8; WORD_BYTES]],
        marks: Marks,
        words: &mut Vec<Word>,
    ) -> Seen {
        const WEIGHTS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: reads the 16 bytes that the constant has.
        let weights = unsafe { vld1q_u8(WEIGHTS.as_ptr()) };
        let quoting = if marks.quote.is_some() { u64::MAX } else { 0 };
        let mut quotes = 0;
        let mut seen = vdupq_n_u8(0);
        words.extend(blocks.iter().map(|block| {
            // SAFETY: reads the four quarters of the 64 bytes of `block`.
            let parts = unsafe {
                let at = block.as_ptr();
                [vld1q_u8(at), vld1q_u8(at.add(16)), vld1q_u8(at.add(32)), vld1q_u8(at.add(48))]
            };
            for part in parts {
                seen = vorrq_u8(seen, part);
            }
            // Each lane keeps the bit of its place; three pairwise sums gather eight lanes a byte.
            let equal = |mark: u8| {
                let mark = vdupq_n_u8(mark);
                let bit = |part| vandq_u8(vceqq_u8(part, mark), weights);
                let low = vpaddq_u8(bit(parts[0]), bit(parts[1]));
                let high = vpaddq_u8(bit(parts[2]), bit(parts[3]));
                let sum = vpaddq_u8(low, high);
                vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)))
            };
            let quote = equal(marks.quote.unwrap_or_default()) & quoting;
            quotes |= quote;
            Word { field: equal(marks.field), record: equal(marks.record), quote }
        }));
        Seen { quote: quotes != 0, non_ascii: vmaxvq_u8(seen) >= 0x80 }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::super::structure::Structure;
    use super::super::syntax::Syntax;
    use super::*;
    use sluicegate_s3select::request::CsvInput;

    /// Every level that this machine can run.
    pub(crate) fn levels() -> Vec<Level> {
        let mut levels = vec![Level::Scalar, Level::detect()];
        #[cfg(target_arch = "x86_64")]
        if Level::detect() == Level::Avx512 {
            levels.push(Level::Avx2);
        }
        levels
    }

    proptest! {
        #[test]
        fn fields_agree(
            fields in prop::collection::vec(prop_oneof![Just(""), Just("a"), Just("0123456789")], 1..90),
            start in 0usize..70,
            column in 0usize..95,
        ) {
            let mut block = vec![b','; start];
            block.extend_from_slice(fields.join(",").as_bytes());
            let end = block.len();
            block.extend_from_slice(b"\n,,,\n");
            let syntax = Syntax::new(&CsvInput { quote: None, ..CsvInput::default() }).unwrap();
            let mut structure = Structure::new(&syntax);
            structure.index(&block, 0, &syntax);
            let fields_of = Fields {
                words: &structure.words,
                starts: &[start as u32],
                ends: &[end as u32],
                delimiter_bytes: 1,
                block: &block,
                quote: None,
            };
            for level in levels() {
                let mut found = [FieldSpan::NULL];
                find_column(level, &fields_of, column, Rows::All(1), &mut found);
                match fields.get(column) {
                    Some(field) => prop_assert_eq!(found[0].of(&block), field.as_bytes()),
                    None => prop_assert_eq!(found[0], FieldSpan::MISSING),
                }
            }
        }

        #[test]
        fn levels_agree(
            bytes in prop::collection::vec(
                prop_oneof![4 => Just(b','), 2 => Just(b'\n'), 2 => Just(b'"'), 4 => any::<u8>()],
                64 * 5,
            ),
            quoting: bool,
        ) {
            let marks = Marks { field: b',', record: b'\n', quote: quoting.then_some(b'"') };
            let (blocks, _) = bytes.as_chunks();
            let mut expected = Vec::new();
            let seen = index_scalar(blocks, marks, &mut expected);
            for level in levels() {
                let mut words = Vec::new();
                prop_assert_eq!(index_blocks(level, blocks, marks, &mut words), seen);
                prop_assert_eq!(&words, &expected);
            }
        }
    }
}
